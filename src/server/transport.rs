//! A client's bytes: a TCP or unix socket, and whatever stands between it and the commands.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

pub enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
}

macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Transport::Tcp($inner) => $call,
            Transport::Unix($inner) => $call,
        }
    };
}

impl Transport {
    pub fn fd(&self) -> RawFd {
        either!(self, s => s.as_raw_fd())
    }

    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        either!(self, s => s.register(registry, token, Interest::READABLE | Interest::WRITABLE))
    }

    pub fn deregister(&mut self, registry: &Registry) {
        // The descriptor is closed right after; an error here changes nothing.
        let _ = either!(self, s => s.deregister(registry));
    }

    /// Whether bytes have been taken from the socket that nobody has read yet. The socket does not tell of them again.
    pub fn has_buffered(&self) -> bool {
        match self {
            Transport::Tcp(_) | Transport::Unix(_) => false,
        }
    }

    /// Whether bytes that were written are still to go to the socket.
    pub fn wants_write(&self) -> bool {
        match self {
            Transport::Tcp(_) | Transport::Unix(_) => false,
        }
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        either!(self, s => s.read(into))
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(self, s => s.write(bytes))
    }
}
