//! Where clients come in: TCP addresses and a unix socket, on a thread of its own. A connection is handed to the I/O
//! thread that `balance` chooses, which may hand it on later.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream, UnixListener};
use mio::{Events, Interest, Poll, Token, Waker};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use super::balance;
use super::connection::Connection;
use super::handshake::Handshakes;
use super::loading::Early;
use super::mailbox::{Mailboxes, Message};
use super::transport::Transport;
use crate::acl::Login;
use crate::clients::{Client, flag, is_loopback};
use crate::config::Config;
use crate::dispatch::session::Session;
use crate::metrics::ThreadCounters;
use crate::node::Node;
use crate::tls::certificate::Identity;

const WAKER: Token = Token(usize::MAX);
/// Pause after a failure to accept (no descriptor is left, say), so that the loop does not spin.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

pub const DENIED: &str = "-DENIED Tarn is running in protected mode: no password is set, so only clients on this machine \
are let in. To let others in, set a password (requirepass), or switch the mode off with 'CONFIG SET protected-mode no' \
from this machine or '--protected-mode no' at the start. Do that only where nobody else can reach the port.\r\n";

pub const FULL: &str = "-ERR max number of clients reached\r\n";

pub enum Door {
    Tcp(TcpListener),
    Tls(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// Where a connection is from, and by which address it came.
pub struct Peer {
    /// None of a unix socket.
    remote: Option<SocketAddr>,
    local: String,
}

impl Peer {
    /// As CLIENT LIST shows it.
    pub fn address(&self) -> String {
        self.remote.map_or_else(|| self.local.clone(), |remote| remote.to_string())
    }

    pub fn is_local(&self) -> bool {
        self.remote.is_none_or(|remote| is_loopback(remote.ip()))
    }
}

pub struct Listener {
    pub(super) poll: Poll,
    doors: Vec<Door>,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

/// Ends a listener from another thread.
#[derive(Clone)]
pub struct Stopper {
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

impl Stopper {
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        if let Err(error) = self.waker.wake() {
            tracing::error!(%error, "the listener cannot be woken");
        }
    }

    /// Whoever has it next is not stopped.
    pub fn again(&self) {
        self.stop.store(false, Ordering::Release);
    }
}

impl Listener {
    /// Opens every address of the configuration.
    pub fn open(config: &Config) -> io::Result<Listener> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let mut doors = Vec::new();
        if config.port != 0 {
            doors.extend(open_tcp(config, config.port)?.into_iter().map(Door::Tcp));
        }
        if config.tls_port != 0 {
            doors.extend(open_tcp(config, config.tls_port)?.into_iter().map(Door::Tls));
        }
        if !config.unixsocket.as_os_str().is_empty() {
            doors.push(open_unix(&config.unixsocket, config.unixsocketperm)?);
        }
        for (i, door) in doors.iter_mut().enumerate() {
            match door {
                Door::Tcp(tcp) | Door::Tls(tcp) => {
                    poll.registry().register(tcp, Token(i), Interest::READABLE)?
                }
                Door::Unix(unix, _) => poll.registry().register(unix, Token(i), Interest::READABLE)?,
            }
        }
        Ok(Listener { poll, doors, stop: Arc::default(), waker })
    }

    /// Where other nodes connect to.
    pub fn open_links(config: &Config) -> io::Result<Vec<TcpListener>> {
        let mut doors: Vec<TcpListener> = Vec::new();
        for bind in &config.bind {
            // All of them have the port of the first one, which may be any.
            let first = doors.first().map(TcpListener::local_addr).transpose()?;
            let port = first.map_or(config.link_port(), |address| address.port());
            doors.extend(open_bind(config, bind, port)?);
        }
        if doors.is_empty() {
            return Err(io::Error::other("no address for links of other nodes is available"));
        }
        Ok(doors)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub fn door(&self, index: usize) -> Option<&Door> {
        self.doors.get(index)
    }

    pub fn doors(&self) -> usize {
        self.doors.len()
    }

    /// Who waits in front of a door is told again.
    pub fn look_again(&mut self) -> io::Result<()> {
        for (i, door) in self.doors.iter_mut().enumerate() {
            let registry = self.poll.registry();
            match door {
                Door::Tcp(tcp) | Door::Tls(tcp) => registry.reregister(tcp, Token(i), Interest::READABLE)?,
                Door::Unix(unix, _) => registry.reregister(unix, Token(i), Interest::READABLE)?,
            }
        }
        Ok(())
    }

    pub fn stopper(&self) -> Stopper {
        Stopper { stop: Arc::clone(&self.stop), waker: Arc::clone(&self.waker) }
    }

    /// Accepts until stopped.
    pub fn run(
        mut self,
        node: &Arc<Node>,
        mailboxes: &Mailboxes,
        handshakes: &Handshakes,
        early: Vec<Early>,
    ) -> io::Result<()> {
        let counters = node.metrics.register(0);
        for client in early {
            counters.connections.add(1);
            take_over(node, mailboxes, client);
        }
        let mut events = Events::with_capacity(64);
        while !self.is_stopped() {
            match self.poll.poll(&mut events, None) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            for event in &events {
                let Some(door) = self.doors.get(event.token().0) else { continue };
                while let Some((transport, peer)) = accept(door) {
                    let config = node.config.current();
                    if let Transport::Tcp(tcp) = &transport {
                        prepare(tcp, config.tcp_keepalive_secs);
                    }
                    let is_tls = matches!(door, Door::Tls(_));
                    if !node.clients.admit(config.maxclients as usize) {
                        counters.rejected_connections.add(1);
                        // Before a handshake there are no words.
                        turn_away(transport, if is_tls { "" } else { FULL });
                        continue;
                    }
                    tarn_engine::failpoint::reach("listener");
                    match transport {
                        Transport::Tcp(stream) if is_tls => handshakes.begin(stream, peer),
                        transport => welcome(node, mailboxes, &counters, transport, peer, None),
                    }
                }
            }
        }
        Ok(())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        for door in &self.doors {
            if let Door::Unix(_, path) = door {
                // Somebody may have removed it already.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

fn open_tcp(config: &Config, port: u16) -> io::Result<Vec<TcpListener>> {
    let mut listeners = Vec::new();
    for bind in &config.bind {
        listeners.extend(open_bind(config, bind, port)?);
    }
    if listeners.is_empty() {
        return Err(io::Error::other("no address to listen on is available"));
    }
    Ok(listeners)
}

/// One address to listen on; none where it is optional and not there.
fn open_bind(config: &Config, bind: &str, port: u16) -> io::Result<Option<TcpListener>> {
    // Redis's form: a leading `-` makes an address optional, `*` and `::*` are "all".
    let (optional, name) = match bind.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, bind),
    };
    match address_of(name).and_then(|ip| open_address(SocketAddr::new(ip, port), config.tcp_backlog)) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if optional && is_missing(&error) => {
            tracing::debug!(%error, name, "an optional address is not available");
            Ok(None)
        }
        Err(error) => {
            let words = format!("could not listen on {name} port {port}: {error}");
            Err(io::Error::new(error.kind(), words))
        }
    }
}

/// A name stands for its IPv4 address, as in Redis.
fn address_of(name: &str) -> io::Result<IpAddr> {
    match name {
        "*" => return Ok(IpAddr::from([0, 0, 0, 0])),
        "::*" => return Ok(IpAddr::from([0u16; 8])),
        _ => {}
    }
    if let Ok(ip) = name.parse() {
        return Ok(ip);
    }
    let found = (name, 0).to_socket_addrs().ok().and_then(|mut all| all.find(SocketAddr::is_ipv4));
    found.map(|address| address.ip()).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' is not an address to bind to"))
    })
}

/// The machine does not have the address, or its whole family; one that somebody else listens on is no such thing.
fn is_missing(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    error.kind() == io::ErrorKind::AddrNotAvailable
        || [libc::EAFNOSUPPORT, libc::EPFNOSUPPORT, libc::EPROTONOSUPPORT].contains(&code.unwrap_or_default())
}

fn open_address(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(TcpListener::from_std(socket.into()))
}

fn open_unix(path: &Path, permissions: u32) -> io::Result<Door> {
    // A socket left by an earlier run would refuse the address; anything else at the path is not ours to remove.
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
    if std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket()) {
        std::fs::remove_file(path)?;
    }
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("could not listen on unix socket {}: {error}", path.display()))
    };
    let listener = UnixListener::bind(path).map_err(named)?;
    if permissions != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(permissions)).map_err(named)?;
    }
    Ok(Door::Unix(listener, path.to_owned()))
}

pub fn accept(door: &Door) -> Option<(Transport, Peer)> {
    let accepted = match door {
        Door::Tcp(listener) | Door::Tls(listener) => listener.accept().map(|(stream, remote)| {
            let local = stream.local_addr().map(|a| a.to_string()).unwrap_or_default();
            (Transport::Tcp(stream), Peer { remote: Some(remote), local })
        }),
        Door::Unix(listener, path) => listener.accept().map(|(stream, _)| {
            (Transport::Unix(stream), Peer { remote: None, local: format!("{}:0", path.display()) })
        }),
    };
    match accepted {
        Ok(accepted) => Some(accepted),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            std::thread::sleep(AFTER_FAILURE);
            None
        }
    }
}

pub fn turn_away(mut transport: Transport, words: &str) {
    // A courtesy: a socket that was just accepted takes a line, and if not, the client sees it closed.
    let _ = transport.write(words.as_bytes());
}

/// Gives a connection that can be spoken with to an I/O thread, unless it may not come in. It has been counted among the clients.
pub fn welcome(
    node: &Node,
    mailboxes: &Mailboxes,
    counters: &ThreadCounters,
    transport: Transport,
    peer: Peer,
    certificate: Option<Identity>,
) {
    let config = node.config.current();
    if config.protected_mode && !peer.is_local() && node.acl.users().0.default_user().nopass {
        counters.rejected_connections.add(1);
        node.clients.give_back();
        return turn_away(transport, DENIED);
    }
    let thread = balance::choose(mailboxes, node);
    let client = introduce(node, thread, &transport, peer, certificate);
    mailboxes.send(thread, Message::Connected(transport, client));
}

/// A client that came while the data was loaded goes on where it is.
fn take_over(node: &Node, mailboxes: &Mailboxes, early: Early) {
    let Early { transport, peer, user, input, output, .. } = early;
    let config = node.config.current();
    if let Transport::Tcp(tcp) = &transport {
        prepare(tcp, config.tcp_keepalive_secs);
    }
    if !node.clients.admit(config.maxclients as usize) {
        return turn_away(transport, FULL);
    }
    let (users, seen) = node.acl.users();
    let login = match user.and_then(|name| users.get(&name).cloned()) {
        Some(user) => Login::of(user, true, seen),
        None => Login::at_connect(&node.acl),
    };
    let thread = balance::choose(mailboxes, node);
    let client = introduce(node, thread, &transport, peer, None);
    let mut connection = Connection::new(transport, Session::new(client, login));
    (connection.input, connection.output) = (input, output);
    mailboxes.send(thread, Message::HandedOn(Box::new(connection)));
}

fn introduce(
    node: &Node,
    thread: usize,
    transport: &Transport,
    peer: Peer,
    certificate: Option<Identity>,
) -> Arc<Client> {
    let now_ms = node.clock.now_ms();
    let (id, fd, address) = (node.clients.next_id(), transport.fd(), peer.address());
    let mut client = Client::new(id, thread, fd, address, peer.local, now_ms);
    client.set_flag(flag::UNIX_SOCKET, peer.remote.is_none());
    client.set_flag(flag::TLS, matches!(transport, Transport::Tls(_)));
    client.certificate = certificate.map(Box::new);
    let client = Arc::new(client);
    node.clients.add(&client);
    client
}

fn prepare(tcp: &TcpStream, keepalive_secs: u32) {
    // Slower without, but not wrong.
    if let Err(error) = tcp.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
    if keepalive_secs > 0 {
        let idle = Duration::from_secs(u64::from(keepalive_secs));
        let interval = (idle / 3).max(Duration::from_secs(1));
        let keepalive = TcpKeepalive::new().with_time(idle).with_interval(interval).with_retries(3);
        if let Err(error) = SockRef::from(tcp).set_tcp_keepalive(&keepalive) {
            tracing::debug!(%error, fd = tcp.as_raw_fd(), "no TCP keep-alive");
        }
    }
}
