//! A port that can be closed and opened again.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};

use hyper::server::conn::Http;
use hyper::service::service_fn;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinSet};

use super::{Role, route};
use crate::cluster::Shared;

const BACKLOG: i32 = 1024;
/// What TiKV grants a connection.
const MAX_STREAMS: u32 = 1024;
const WINDOW_BYTES: u32 = 4 << 20;

pub struct Listener {
    address: SocketAddr,
    role: Role,
    /// Bound but deaf: it keeps the port from being taken by others while nobody listens.
    _reserved: Socket,
    open: Option<Open>,
}

/// A port that listens.
struct Open {
    accepting: AbortHandle,
    /// Ends when the port and all its connections have gone: each has a sender that is never used.
    gone: Receiver<()>,
}

impl Listener {
    /// Takes the port; nobody listens yet.
    pub fn bind(address: SocketAddr, role: Role) -> io::Result<Self> {
        let reserved = socket(address)?;
        let address = reserved.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { address, role, _reserved: reserved, open: None })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Listens. Does nothing if it does already.
    pub fn open(&mut self, runtime: &Handle, shared: &Shared) -> io::Result<()> {
        if self.open.is_some() {
            return Ok(());
        }
        let socket = socket(self.address)?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        let (present, gone) = channel();
        let accepting = runtime.spawn(accept(socket.into(), self.role, shared.clone(), present));
        self.open = Some(Open { accepting: accepting.abort_handle(), gone });
        Ok(())
    }

    /// Breaks all connections and refuses new ones. Requests that are being carried out are, but nobody hears of it.
    pub fn close(&mut self) {
        if let Some(Open { accepting, gone }) = self.open.take() {
            accepting.abort();
            // An error is what it waits for: nobody is left who could send.
            let _ = gone.recv();
        }
    }
}

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

async fn accept(listener: TcpListener, role: Role, shared: Shared, present: Sender<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream, role, shared.clone(), present.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, role: Role, shared: Shared, _present: Sender<()>) {
    // A connection without it is slower, but one.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| route(role, shared.clone(), request));
    let served = Http::new()
        .http2_only(true)
        .http2_max_concurrent_streams(MAX_STREAMS)
        .http2_initial_stream_window_size(WINDOW_BYTES)
        .http2_initial_connection_window_size(WINDOW_BYTES)
        .serve_connection(stream, service)
        .await;
    // The client went away: that is its own matter.
    drop(served);
}
