//! `GET /metrics` over HTTP/1.1, with or without TLS, and nothing else: nobody can change anything here.
//!
//! One thread per address accepts, and each visitor has a thread for its one request, bounded in size and time. There are
//! few at a time: beyond that, the one that has been silent longest makes room for the next.

mod access;
mod visitors;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustls::ServerConnection;

use super::prometheus;
use crate::node::Node;
use visitors::{Timed, Visitor, Visitors};

/// Longest request, headers included.
const MAX_REQUEST_BYTES: usize = 8 * 1024;
/// A client has so long for its request and for taking the reply.
const PATIENCE: Duration = Duration::from_secs(5);

/// The threads that accept.
pub struct Exporter {
    stopping: Arc<AtomicBool>,
    visitors: Arc<Visitors>,
    threads: Vec<(SocketAddr, JoinHandle<()>)>,
}

/// Listens on `metrics-bind` and `metrics-port`; on nothing if the port is 0.
pub fn start(node: &Arc<Node>) -> io::Result<Exporter> {
    let config = node.config.current();
    let mut exporter = Exporter::new();
    if config.metrics_port == 0 {
        return Ok(exporter);
    }
    for host in &config.metrics_bind {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("metrics on {host}:{}: {error}", config.metrics_port))
        };
        // As in `bind`: an address that begins with `-` may be missing on the machine.
        let (host, optional) = host.strip_prefix('-').map_or((host.as_str(), false), |host| (host, true));
        match listen(host, config.metrics_port) {
            Ok(listener) => exporter.serve(node, listener).map_err(named)?,
            Err(_) if optional => {}
            Err(error) => return Err(named(error)),
        }
    }
    if config.metrics_password.is_empty() && exporter.addresses().any(|address| !address.ip().is_loopback()) {
        tracing::warn!("anybody who reaches metrics-port can read /metrics: there is no metrics-password");
    }
    Ok(exporter)
}

pub fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    let host = match host {
        "*" => "0.0.0.0",
        "::*" => "::",
        other => other,
    };
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    TcpListener::bind(addresses.as_slice())
}

impl Exporter {
    fn new() -> Exporter {
        Exporter { stopping: Arc::default(), visitors: Arc::default(), threads: Vec::new() }
    }

    fn serve(&mut self, node: &Arc<Node>, listener: TcpListener) -> io::Result<()> {
        let address = listener.local_addr()?;
        let (node, stopping, visitors) =
            (Arc::clone(node), Arc::clone(&self.stopping), Arc::clone(&self.visitors));
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if stopping.load(Ordering::Acquire) {
                    return;
                }
                tarn_engine::failpoint::reach("metrics");
                let Some(visitor) = stream.ok().and_then(|stream| visitors.admit(stream)) else { continue };
                let node = Arc::clone(&node);
                let begun = std::thread::Builder::new().name("metrics-visitor".to_owned()).spawn(move || {
                    // A client that went away, or dawdles, is its own loss.
                    let _ = answer(&node, &visitor);
                });
                if let Err(error) = begun {
                    tracing::warn!(%error, "a request for metrics was not answered");
                }
            }
        })?;
        self.threads.push((address, thread));
        Ok(())
    }

    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.threads.iter().map(|(address, _)| *address)
    }

    /// Lets requests that are being answered end.
    pub fn stop(self) {
        self.stopping.store(true, Ordering::Release);
        for (address, thread) in self.threads {
            if wake(address) && thread.join().is_err() {
                tracing::error!("the thread for metrics ended by a panic");
            }
        }
        self.visitors.end(PATIENCE);
    }
}

/// Has a thread that listens here look whether it is to stop.
pub fn wake(mut address: SocketAddr) -> bool {
    if address.ip().is_unspecified() {
        let local = if address.is_ipv4() { "127.0.0.1" } else { "::1" };
        if let Ok(ip) = local.parse() {
            address.set_ip(ip);
        }
    }
    TcpStream::connect_timeout(&address, PATIENCE).is_ok()
}

fn answer(node: &Arc<Node>, visitor: &Visitor) -> io::Result<()> {
    let mut stream = Timed { stream: &visitor.stream, deadline: Instant::now() + PATIENCE };
    if !node.config.current().metrics_tls {
        return converse(node, visitor, &mut stream);
    }
    let config = node.tls.current().ok_or(io::ErrorKind::NotConnected)?;
    let mut session = ServerConnection::new(config).map_err(io::Error::other)?;
    converse(node, visitor, &mut rustls::Stream::new(&mut session, &mut stream))?;
    session.send_close_notify();
    session.complete_io(&mut stream).map(|_| ())
}

fn converse(node: &Arc<Node>, visitor: &Visitor, stream: &mut (impl Read + Write)) -> io::Result<()> {
    let request = read_request(stream)?;
    visitor.is_answered();
    stream.write_all(&respond(node, &request))?;
    stream.flush()
}

/// Everything up to the empty line, or what came until a limit was met.
fn read_request(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !is_complete(&request) && request.len() <= MAX_REQUEST_BYTES {
        match stream.read(&mut piece)? {
            0 => break,
            n => request.extend_from_slice(piece.get(..n).unwrap_or(&[])),
        }
    }
    Ok(request)
}

fn is_complete(request: &[u8]) -> bool {
    request.windows(4).any(|end| end == b"\r\n\r\n") || request.windows(2).any(|end| end == b"\n\n")
}

fn respond(node: &Arc<Node>, request: &[u8]) -> Vec<u8> {
    if request.len() > MAX_REQUEST_BYTES {
        return response("431 Request Header Fields Too Large", "", "the request is too long\n");
    }
    let line = request.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or(&[]);
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if !is_complete(request) || !version.is_some_and(|version| version.starts_with(b"HTTP/1.")) {
        return response("400 Bad Request", "", "this is not a request of HTTP/1.1\n");
    }
    if !access::is_allowed(&node.config.current().metrics_password, request) {
        let ask = "WWW-Authenticate: Basic realm=\"metrics\"\r\n";
        return response("401 Unauthorized", ask, "metrics-password is needed\n");
    }
    let path = target.and_then(|target| target.split(|byte| *byte == b'?').next()).unwrap_or(&[]);
    match (method, path) {
        (Some(b"GET" | b"HEAD"), b"/metrics") => match prometheus::text(node) {
            Ok(page) => response("200 OK", "", if method == Some(b"HEAD") { "" } else { &page }),
            Err(error) => response("503 Service Unavailable", "", &format!("{error}\n")),
        },
        (Some(b"GET" | b"HEAD"), _) => response("404 Not Found", "", "metrics are at /metrics\n"),
        _ => response("405 Method Not Allowed", "", "only GET is answered\n"),
    }
}

fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         {headers}Connection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

#[cfg(test)]
mod tests;
