//! The connection to another server. Only threads that may wait use it.

use std::io::{BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::node::Node;

/// Longest line of an answer that is read; Redis cuts them off here, too.
const MAX_LINE_LEN: usize = 1024;
/// Bytes that must be taken within the time of one step.
const CHUNK_LEN: usize = 64 * 1024;

/// Longest wait for a connection, and for bytes before the time is looked at again: so long the end of the process may be delayed.
const MAX_CONNECT: Duration = Duration::from_secs(5);
const MAX_WAIT: Duration = Duration::from_millis(50);

const CONNECTING: &str = "IOERR error or timeout connecting to the client";
const WRITING: &str = "IOERR error or timeout writing to target instance";
const READING: &str = "IOERR error or timeout reading to target instance";

pub struct Target<'n> {
    stream: BufReader<TcpStream>,
    timeout: Duration,
    /// Whose end is not kept waiting.
    node: &'n Node,
}

/// Appends a command.
pub fn encode<'w>(out: &mut Vec<u8>, words: impl IntoIterator<Item = &'w [u8]>) {
    let words: Vec<&[u8]> = words.into_iter().collect();
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

impl<'n> Target<'n> {
    pub fn connect(node: &'n Node, host: &[u8], port: u16, timeout: Duration) -> Result<Target<'n>, Error> {
        if node.stopping().is_some() {
            return Err(Error::reply(CONNECTING));
        }
        let host = std::str::from_utf8(host).map_err(|_| Error::reply(CONNECTING))?;
        let addresses = (host, port).to_socket_addrs().map_err(|_| Error::reply(CONNECTING))?;
        let mut failed = CONNECTING;
        for address in addresses {
            match connect_to(&address, timeout.min(MAX_CONNECT)) {
                Ok(stream) => return Ok(Target { stream: BufReader::new(stream), timeout, node }),
                // Redis hears of it when it begins to write.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => failed = WRITING,
                Err(_) => failed = CONNECTING,
            }
        }
        Err(Error::reply(failed))
    }

    pub fn send<'w>(&mut self, words: impl IntoIterator<Item = &'w [u8]>) -> Result<(), Error> {
        let mut bytes = Vec::new();
        encode(&mut bytes, words);
        self.write(&bytes)
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for mut left in bytes.chunks(CHUNK_LEN) {
            let until = Instant::now() + self.timeout;
            while !left.is_empty() {
                let written = self.step(until, |stream| stream.get_mut().write(left));
                left = written.and_then(|count| left.get(count..)).ok_or_else(|| Error::reply(WRITING))?;
            }
        }
        Ok(())
    }

    /// The next answer: that it was done, or the words of a refusal.
    pub fn answer(&mut self) -> Result<Result<(), Vec<u8>>, Error> {
        let line = self.line().ok_or_else(|| Error::reply(READING))?;
        Ok(match line.split_first() {
            Some((b'-', words)) => Err(words.to_vec()),
            _ => Ok(()),
        })
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let until = Instant::now() + self.timeout;
        let mut line = Vec::new();
        while line.len() < MAX_LINE_LEN {
            let mut byte = [0];
            self.step(until, |stream| stream.read(&mut byte))?;
            match byte {
                [b'\n'] => break,
                [b'\r'] => {}
                _ => line.extend_from_slice(&byte),
            }
        }
        Some(line)
    }

    /// Reads or writes something. None where the time is over, the other side has gone or the process ends.
    fn step(
        &mut self,
        until: Instant,
        mut act: impl FnMut(&mut BufReader<TcpStream>) -> std::io::Result<usize>,
    ) -> Option<usize> {
        loop {
            match act(&mut self.stream) {
                Ok(0) => return None,
                Ok(count) => return Some(count),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(_) => return None,
            }
            if Instant::now() >= until || self.node.stopping().is_some() {
                return None;
            }
        }
    }
}

fn connect_to(address: &SocketAddr, timeout: Duration) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(address, timeout)?;
    stream.set_nodelay(true)?;
    let wait = timeout.min(MAX_WAIT);
    stream.set_read_timeout(Some(wait))?;
    stream.set_write_timeout(Some(wait))?;
    Ok(stream)
}
