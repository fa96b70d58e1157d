//! A client's socket: TCP or unix.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Tcp($inner) => $call,
            Stream::Unix($inner) => $call,
        }
    };
}

impl Stream {
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

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        either!(self, s => s.read(into))
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(self, s => s.write(bytes))
    }
}
