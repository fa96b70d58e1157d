//! A blocking client, RESP2 and as much of RESP3 as is asked for, just large enough to load, verify and time a server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::Result;

/// Longer than any answer may take; a server that hangs ends the suite with an error.
const TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Simple(Vec<u8>),
    Error(Vec<u8>),
    Integer(i64),
    Bulk(Option<Vec<u8>>),
    Array(Vec<Reply>),
}

pub struct Client {
    reader: BufReader<TcpStream>,
    out: Vec<u8>,
}

impl Client {
    pub fn connect(port: u16) -> Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Client { reader: BufReader::with_capacity(64 << 10, stream), out: Vec::new() })
    }

    /// A command into the buffer; `send` sends it.
    pub fn queue(&mut self, words: &[&[u8]]) {
        append_command(&mut self.out, words);
    }

    pub fn send(&mut self) -> Result<()> {
        self.reader.get_mut().write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    pub fn call(&mut self, words: &[&[u8]]) -> Result<Reply> {
        self.queue(words);
        self.send()?;
        self.reply()
    }

    /// The call must answer +OK.
    pub fn expect_ok(&mut self) -> Result<()> {
        match self.reply()? {
            Reply::Simple(word) if word == b"OK" => Ok(()),
            other => Err(format!("expected OK, got {}", show(&other)).into()),
        }
    }

    pub fn ping(&mut self) -> Result<()> {
        match self.call(&[b"PING"])? {
            Reply::Simple(word) if word == b"PONG" => Ok(()),
            other => Err(format!("expected PONG, got {}", show(&other)).into()),
        }
    }

    pub fn reply(&mut self) -> Result<Reply> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        let Some((&kind, rest)) = line.split_first() else {
            return Err("the server closed the connection".into());
        };
        let rest = rest.strip_suffix(b"\r\n").ok_or("a reply line without an end")?;
        Ok(match kind {
            b'+' => Reply::Simple(rest.to_vec()),
            b'-' => Reply::Error(rest.to_vec()),
            b':' => Reply::Integer(integer(rest)?),
            b'$' => match integer(rest)? {
                -1 => Reply::Bulk(None),
                length => {
                    let mut bulk = vec![0; usize::try_from(length)? + 2];
                    self.reader.read_exact(&mut bulk)?;
                    bulk.truncate(bulk.len() - 2);
                    Reply::Bulk(Some(bulk))
                }
            },
            b'_' => Reply::Bulk(None),
            b'*' | b'%' | b'>' => {
                let count = integer(rest)?.max(0) * if kind == b'%' { 2 } else { 1 };
                Reply::Array((0..count).map(|_| self.reply()).collect::<Result<_>>()?)
            }
            _ => return Err(format!("unknown reply type {:?}", char::from(kind)).into()),
        })
    }
}

/// Which of them have something to be read; waits until one has.
pub fn ready(clients: &[Client]) -> Result<Vec<usize>> {
    let polled = |client: &Client| libc::pollfd {
        fd: client.reader.get_ref().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut polled: Vec<libc::pollfd> = clients.iter().map(polled).collect();
    let timeout_ms = TIMEOUT.as_millis() as libc::c_int;
    // SAFETY: the kernel writes into as many entries as there are.
    let count = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout_ms) };
    if count <= 0 {
        return Err("no client has got an answer".into());
    }
    let found = polled.iter().enumerate().filter(|(_, polled)| polled.revents != 0);
    Ok(found.map(|(place, _)| place).collect())
}

pub fn append_command(out: &mut Vec<u8>, words: &[&[u8]]) {
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

fn integer(text: &[u8]) -> Result<i64> {
    Ok(std::str::from_utf8(text)?.parse()?)
}

pub fn show(reply: &Reply) -> String {
    match reply {
        Reply::Simple(text) | Reply::Error(text) => text.escape_ascii().to_string(),
        Reply::Integer(number) => number.to_string(),
        Reply::Bulk(None) => "nil".into(),
        Reply::Bulk(Some(bytes)) => {
            format!(
                "{} bytes starting with '{}'",
                bytes.len(),
                bytes.get(..bytes.len().min(40)).unwrap_or(&[]).escape_ascii()
            )
        }
        Reply::Array(items) => format!("an array of {}", items.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn commands_and_replies_are_resp() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = vec![0; 20];
            stream.read_exact(&mut got).unwrap();
            stream.write_all(b"*4\r\n$2\r\nab\r\n$-1\r\n:-7\r\n-ERR no\r\n").unwrap();
            got
        });
        let mut client = Client::connect(port).unwrap();
        let reply = client.call(&[b"GET", b"k"]).unwrap();
        let expected = [
            Reply::Bulk(Some(b"ab".to_vec())),
            Reply::Bulk(None),
            Reply::Integer(-7),
            Reply::Error(b"ERR no".to_vec()),
        ];
        assert_eq!(reply, Reply::Array(expected.to_vec()));
        assert_eq!(server.join().unwrap(), b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
    }
}
