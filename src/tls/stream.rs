//! One connection over TLS: a socket that never blocks, and rustls between it and the commands.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::{ServerConfig, ServerConnection};

use super::certificate::Identity;

/// More than the longest record. So much of a record may have come before, and is read together with what comes now.
const RECORD_BYTES: usize = 20 * 1024;

pub struct TlsStream {
    socket: TcpStream,
    session: ServerConnection,
    /// Bytes of commands that rustls holds.
    buffered: usize,
    /// The socket has been read to the end of what it had when it last told of something.
    dry: bool,
    /// Nothing more comes.
    is_closed: bool,
    /// What came was not TLS, or was changed on its way. Said once what came before it has been read.
    is_broken: bool,
}

/// What a handshake waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Done,
    /// The other side, or room in the socket.
    Waiting,
}

impl TlsStream {
    pub fn new(socket: TcpStream, config: Arc<ServerConfig>) -> Result<TlsStream, rustls::Error> {
        let mut session = ServerConnection::new(config)?;
        // The caller gives no more than it is willing to have waiting, and nothing before the last has gone.
        session.set_buffer_limit(None);
        Ok(TlsStream { socket, session, buffered: 0, dry: false, is_closed: false, is_broken: false })
    }

    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub fn socket_mut(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Goes on with the handshake as far as it can.
    pub fn handshake(&mut self) -> io::Result<Progress> {
        loop {
            match self.flush() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if !self.session.is_handshaking() {
                return Ok(Progress::Done);
            }
            if self.session.wants_write() {
                return Ok(Progress::Waiting);
            }
            match self.session.read_tls(&mut self.socket) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => self.process()?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Progress::Waiting),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Who the client's certificate says it is; None if it showed none.
    pub fn identity(&self) -> Option<Identity> {
        self.session.peer_certificates()?.first().map(Identity::of)
    }

    /// Whether there may be more to read although the socket does not tell of it.
    pub fn has_buffered(&self) -> bool {
        self.buffered > 0 || !self.dry || self.is_closed || self.is_broken
    }

    pub fn wants_write(&self) -> bool {
        self.session.wants_write()
    }

    /// Bytes of commands. As of a socket: 0 is the end, and `WouldBlock` is nothing for now.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.buffered > 0 {
                // The socket may have told of more meanwhile.
                self.dry = false;
                return self.take(into);
            }
            if self.is_broken {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if self.is_closed {
                return Ok(0);
            }
            let read = if into.len() > 2 * RECORD_BYTES { self.read_much(into) } else { self.read_little() };
            match read {
                Ok(0) => {}
                other => return other,
            }
        }
    }

    /// One piece from the socket; what it brings is for [`TlsStream::take`].
    fn read_little(&mut self) -> io::Result<usize> {
        match self.session.read_tls(&mut self.socket) {
            Ok(0) => self.is_closed = true,
            Ok(_) => {
                self.dry = false;
                self.process()?;
            }
            Err(error) => {
                self.dry = true;
                return Err(error);
            }
        }
        Ok(0)
    }

    /// Many records with one call: rustls alone would read 4 KiB at a time. They go through the buffer that is to be filled, behind
    /// a record's length: what has been read of commands is never more than what was taken of records and that.
    fn read_much(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let room = into.get_mut(RECORD_BYTES..).unwrap_or(&mut []);
        let end = match self.socket.read(room) {
            Ok(0) => {
                self.is_closed = true;
                return Ok(0);
            }
            Ok(n) => {
                self.dry = n < room.len();
                RECORD_BYTES + n
            }
            Err(error) => {
                self.dry = true;
                return Err(error);
            }
        };
        let (mut fed, mut plain) = (RECORD_BYTES, 0);
        while fed < end && !self.is_closed && !self.is_broken {
            let mut records = into.get(fed..end).unwrap_or(&[]);
            match self.session.read_tls(&mut records)? {
                0 => break,
                n => fed += n,
            }
            if let Err(error) = self.process() {
                return if plain > 0 { Ok(plain) } else { Err(error) };
            }
            while self.buffered > 0 && plain < fed {
                plain += self.take(into.get_mut(plain..fed).unwrap_or(&mut []))?;
            }
        }
        Ok(plain)
    }

    /// Bytes that rustls holds.
    fn take(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.session.reader().read(into)?;
        self.buffered = if n == 0 { 0 } else { self.buffered.saturating_sub(n) };
        Ok(n)
    }

    /// Has rustls look at what was read.
    fn process(&mut self) -> io::Result<()> {
        match self.session.process_new_packets() {
            Ok(state) => {
                self.buffered = state.plaintext_bytes_to_read();
                self.is_closed |= state.peer_has_closed();
                Ok(())
            }
            Err(error) => {
                // The other side is told why, if its socket takes a few bytes.
                let _ = self.flush();
                self.is_broken = true;
                // Commands that came before are still good.
                self.buffered = self.session.reader().fill_buf().map_or(0, <[u8]>::len);
                if self.buffered > 0 {
                    Ok(())
                } else {
                    Err(io::Error::new(io::ErrorKind::InvalidData, error))
                }
            }
        }
    }

    /// Takes bytes to send. All that is taken is on its way, but maybe not in the socket yet: see [`TlsStream::wants_write`].
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let n = self.session.writer().write(bytes)?;
        match self.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(n),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Says that this is the end, so that the other side knows that nothing was cut off. If the socket is full it is cut off.
impl Drop for TlsStream {
    fn drop(&mut self) {
        if !self.session.is_handshaking() {
            self.session.send_close_notify();
            let _ = self.flush();
        }
    }
}
