//! A client that hides nothing: it sends bytes and reads replies, and never waits longer than [`READ_TIMEOUT`].

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::value::{Value, decode};

/// Long enough for a busy machine; a test that gets here has failed.
pub const READ_TIMEOUT: Duration = Duration::from_secs(10);

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

pub struct Conn {
    stream: Stream,
    buf: Vec<u8>,
    at: usize,
    pub resp3: bool,
}

#[derive(Debug)]
pub enum RecvError {
    Closed,
    Timeout,
    /// Something that is not RESP.
    Garbage(String),
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvError::Closed => f.write_str("the connection was closed"),
            RecvError::Timeout => write!(f, "nothing came for {READ_TIMEOUT:?}"),
            RecvError::Garbage(why) => write!(f, "not RESP: {why}"),
        }
    }
}

/// A command as an array of strings.
pub fn encode<A: AsRef<[u8]>>(args: &[A]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        let arg = arg.as_ref();
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
    out
}

impl Conn {
    pub fn connect(port: u16) -> io::Result<Conn> {
        Conn::from_stream(TcpStream::connect(("127.0.0.1", port))?)
    }

    /// The same for who waits longer for a reply.
    pub fn connect_patient(port: u16, patience: Duration) -> io::Result<Conn> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        let same = stream.try_clone()?;
        let conn = Conn::from_stream(stream)?;
        same.set_read_timeout(Some(patience))?;
        Ok(conn)
    }

    pub fn from_stream(stream: TcpStream) -> io::Result<Conn> {
        prepare(&stream)?;
        Ok(Conn::over(Stream::Tcp(stream)))
    }

    /// Over TLS. The handshake is done, but in TLS 1.3 the server may still refuse the certificate: the first reply tells.
    pub fn connect_tls(port: u16, config: &Arc<ClientConfig>) -> io::Result<Conn> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        prepare(&stream)?;
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let mut session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        while session.is_handshaking() {
            session.complete_io(&mut stream)?;
        }
        Ok(Conn::over(Stream::Tls(Box::new(StreamOwned::new(session, stream)))))
    }

    /// This side's address, as the server lists it.
    pub fn address(&self) -> String {
        let address = match &self.stream {
            Stream::Tcp(stream) => stream.local_addr(),
            Stream::Tls(stream) => stream.sock.local_addr(),
            Stream::Unix(_) => panic!("a unix socket has no address"),
        };
        address.unwrap().to_string()
    }

    /// What TLS knows of this connection.
    pub fn tls(&self) -> &ClientConnection {
        match &self.stream {
            Stream::Tls(stream) => &stream.conn,
            _ => panic!("this is no connection over TLS"),
        }
    }

    /// Everything up to the end, as text.
    pub fn read_text(&mut self, text: &mut String) -> io::Result<usize> {
        match &mut self.stream {
            Stream::Tcp(stream) => stream.read_to_string(text),
            Stream::Unix(stream) => stream.read_to_string(text),
            Stream::Tls(stream) => stream.read_to_string(text),
        }
    }

    pub fn connect_unix(path: &Path) -> io::Result<Conn> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        stream.set_write_timeout(Some(READ_TIMEOUT))?;
        Ok(Conn::over(Stream::Unix(stream)))
    }

    fn over(stream: Stream) -> Conn {
        Conn { stream, buf: Vec::new(), at: 0, resp3: false }
    }

    /// Switches to RESP3.
    pub fn hello3(&mut self) {
        let reply = self.call(&["HELLO", "3"]);
        assert!(matches!(reply, Value::Map(_)), "HELLO 3 answered {reply}");
        self.resp3 = true;
    }

    pub fn try_send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.try_send_raw(bytes).expect("the server takes the bytes");
    }

    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        self.send_raw(&encode(args));
    }

    pub fn try_recv(&mut self) -> Result<Value, RecvError> {
        loop {
            match decode(&self.buf[self.at..]) {
                Ok(Some((value, used))) => {
                    self.at += used;
                    if self.at == self.buf.len() {
                        self.buf.clear();
                        self.at = 0;
                    }
                    return Ok(value);
                }
                Ok(None) => self.fill()?,
                Err(why) => return Err(RecvError::Garbage(why)),
            }
        }
    }

    /// Whether something has come that was not received yet. Over TCP.
    pub fn has_bytes(&self) -> bool {
        let Stream::Tcp(stream) = &self.stream else { panic!("over TCP only") };
        stream.set_nonblocking(true).unwrap();
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false).unwrap();
        self.at < self.buf.len() || peeked.is_ok()
    }

    /// A reply that has come already; it does not wait.
    pub fn try_recv_ready(&mut self) -> Result<Option<Value>, RecvError> {
        loop {
            if let Some((value, used)) = decode(&self.buf[self.at..]).map_err(RecvError::Garbage)? {
                self.at += used;
                return Ok(Some(value));
            }
            self.set_blocking(false);
            let filled = self.fill();
            self.set_blocking(true);
            match filled {
                Ok(()) => {}
                Err(RecvError::Timeout) => return Ok(None),
                Err(why) => return Err(why),
            }
        }
    }

    fn set_blocking(&self, blocking: bool) {
        match &self.stream {
            Stream::Tcp(stream) => stream.set_nonblocking(!blocking),
            Stream::Unix(stream) => stream.set_nonblocking(!blocking),
            Stream::Tls(stream) => stream.sock.set_nonblocking(!blocking),
        }
        .expect("the socket is open");
    }

    fn fill(&mut self) -> Result<(), RecvError> {
        let mut chunk = [0; 64 * 1024];
        let read = match &mut self.stream {
            Stream::Tcp(stream) => stream.read(&mut chunk),
            Stream::Unix(stream) => stream.read(&mut chunk),
            Stream::Tls(stream) => stream.read(&mut chunk),
        };
        match read {
            Ok(0) => Err(RecvError::Closed),
            Ok(n) => {
                self.buf.drain(..self.at);
                self.at = 0;
                self.buf.extend_from_slice(&chunk[..n]);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Err(RecvError::Timeout)
            }
            // A close with unread input on the server's side arrives as a reset.
            Err(_) => Err(RecvError::Closed),
        }
    }

    #[track_caller]
    pub fn recv(&mut self) -> Value {
        match self.try_recv() {
            Ok(value) => value,
            Err(why) => panic!("no reply: {why}"),
        }
    }

    #[track_caller]
    pub fn call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Value {
        self.send(args);
        self.recv()
    }

    pub fn try_call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Result<Value, RecvError> {
        self.try_send_raw(&encode(args)).map_err(|_| RecvError::Closed)?;
        self.try_recv()
    }

    /// Sends all before it reads: one round trip. For few and short commands, or both sides would wait to be read from.
    pub fn try_call_all<C: AsRef<[A]>, A: AsRef<[u8]>>(
        &mut self,
        commands: &[C],
    ) -> Result<Vec<Value>, RecvError> {
        let bytes: Vec<u8> = commands.iter().flat_map(|args| encode(args.as_ref())).collect();
        self.try_send_raw(&bytes).map_err(|_| RecvError::Closed)?;
        commands.iter().map(|_| self.try_recv()).collect()
    }

    #[track_caller]
    pub fn call_all<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Vec<Value> {
        match self.try_call_all(commands) {
            Ok(values) => values,
            Err(why) => panic!("no reply: {why}"),
        }
    }

    /// True when the server closes the connection without a further reply.
    pub fn closes(&mut self) -> bool {
        matches!(self.try_recv(), Err(RecvError::Closed))
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    stream.set_write_timeout(Some(READ_TIMEOUT))
}
