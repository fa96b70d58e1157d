//! The connection to another server. Only threads that may wait use it.

use std::io::{BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use crate::error::Error;

/// Longest line of an answer that is read; Redis cuts them off here, too.
const MAX_LINE_LEN: usize = 1024;
/// Bytes that must be taken within the time of one step.
const CHUNK_LEN: usize = 64 * 1024;

const CONNECTING: &str = "IOERR error or timeout connecting to the client";
const WRITING: &str = "IOERR error or timeout writing to target instance";
const READING: &str = "IOERR error or timeout reading to target instance";

pub struct Target {
    stream: BufReader<TcpStream>,
    timeout: Duration,
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

impl Target {
    pub fn connect(host: &[u8], port: u16, timeout: Duration) -> Result<Target, Error> {
        let host = std::str::from_utf8(host).map_err(|_| Error::reply(CONNECTING))?;
        let addresses = (host, port).to_socket_addrs().map_err(|_| Error::reply(CONNECTING))?;
        let mut failed = CONNECTING;
        for address in addresses {
            match Target::connect_to(&address, timeout) {
                Ok(stream) => return Ok(Target { stream: BufReader::new(stream), timeout }),
                // Redis hears of it when it begins to write.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => failed = WRITING,
                Err(_) => failed = CONNECTING,
            }
        }
        Err(Error::reply(failed))
    }

    fn connect_to(address: &SocketAddr, timeout: Duration) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(address, timeout)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(stream)
    }

    pub fn send<'w>(&mut self, words: impl IntoIterator<Item = &'w [u8]>) -> Result<(), Error> {
        let mut bytes = Vec::new();
        encode(&mut bytes, words);
        self.write(&bytes)
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let stream = self.stream.get_mut();
        let mut chunks = bytes.chunks(CHUNK_LEN);
        chunks.try_for_each(|chunk| stream.write_all(chunk)).map_err(|_| Error::reply(WRITING))
    }

    /// The next answer: that it was done, or the words of a refusal.
    pub fn answer(&mut self) -> Result<Result<(), Vec<u8>>, Error> {
        let line = self.line().ok_or(Error::reply(READING))?;
        Ok(match line.split_first() {
            Some((b'-', words)) => Err(words.to_vec()),
            _ => Ok(()),
        })
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let until = Instant::now() + self.timeout;
        let mut line = Vec::new();
        while line.len() < MAX_LINE_LEN {
            let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
            self.stream.get_ref().set_read_timeout(Some(left)).ok()?;
            let mut byte = [0];
            self.stream.read_exact(&mut byte).ok()?;
            match byte {
                [b'\n'] => break,
                [b'\r'] => {}
                _ => line.extend_from_slice(&byte),
            }
        }
        Some(line)
    }
}
