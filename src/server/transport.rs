//! A client's bytes: a TCP or unix socket, and whatever stands between it and the commands.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use crate::tls::stream::TlsStream;

pub enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// Its handshake is done.
    Tls(Box<TlsStream>),
}

/// The socket below.
macro_rules! socket {
    ($stream:expr, $socket:ident => $call:expr) => {
        match $stream {
            Transport::Tcp($socket) => $call,
            Transport::Unix($socket) => $call,
            Transport::Tls(tls) => {
                let $socket = tls.socket_mut();
                $call
            }
        }
    };
}

impl Transport {
    pub fn fd(&self) -> RawFd {
        match self {
            Transport::Tcp(stream) => stream.as_raw_fd(),
            Transport::Unix(stream) => stream.as_raw_fd(),
            Transport::Tls(tls) => tls.socket().as_raw_fd(),
        }
    }

    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        socket!(self, s => s.register(registry, token, Interest::READABLE | Interest::WRITABLE))
    }

    pub fn deregister(&mut self, registry: &Registry) {
        // The descriptor is closed right after; an error here changes nothing.
        let _ = socket!(self, s => s.deregister(registry));
    }

    /// Whether there may be bytes to read that the socket does not tell of again.
    pub fn has_buffered(&self) -> bool {
        match self {
            Transport::Tcp(_) | Transport::Unix(_) => false,
            Transport::Tls(tls) => tls.has_buffered(),
        }
    }

    /// Whether bytes that were written are still to go to the socket; a write of nothing sends them.
    pub fn wants_write(&self) -> bool {
        match self {
            Transport::Tcp(_) | Transport::Unix(_) => false,
            Transport::Tls(tls) => tls.wants_write(),
        }
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Tcp(stream) => stream.read(into),
            Transport::Unix(stream) => stream.read(into),
            Transport::Tls(tls) => tls.read(into),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Tcp(stream) => stream.write(bytes),
            Transport::Unix(stream) => stream.write(bytes),
            Transport::Tls(tls) => tls.write(bytes),
        }
    }
}
