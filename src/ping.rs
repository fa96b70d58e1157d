//! `tarn ping`: whether a server answers, for health checks where there is no redis-cli.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(3);
/// The longest reply that says something.
const MAX_REPLY: usize = 512;

/// `target` is a port of this machine, `host:port`, or the path of a unix socket. The first line of the reply; an error where
/// the server does not serve.
pub fn ping(target: &str) -> Result<String, String> {
    let reply = ask(target).map_err(|error| format!("{target}: {error}"))?;
    // It serves whoever has the password.
    if reply == "+PONG" || reply.starts_with("-NOAUTH") {
        Ok(reply)
    } else {
        Err(format!("{target}: {reply}"))
    }
}

fn ask(target: &str) -> io::Result<String> {
    if target.contains('/') {
        let stream = UnixStream::connect(target)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        return converse(stream);
    }
    let target = if target.contains(':') { target.to_owned() } else { format!("127.0.0.1:{target}") };
    let address = target.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    converse(stream)
}

fn converse(mut stream: impl Read + Write) -> io::Result<String> {
    stream.write_all(b"PING\r\n")?;
    let mut reply = Vec::new();
    let mut byte = [0];
    while reply.len() < MAX_REPLY && stream.read(&mut byte)? == 1 && byte != *b"\r" {
        reply.extend_from_slice(&byte);
    }
    if reply.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(reply.escape_ascii().to_string())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// What `ping` says of a server with this reply.
    fn of(reply: &'static [u8]) -> Result<String, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 6];
            stream.read_exact(&mut asked).unwrap();
            assert_eq!(asked, *b"PING\r\n");
            stream.write_all(reply).unwrap();
        });
        let said = ping(&port.to_string()).map_err(|why| why.replace(&format!("{port}: "), ""));
        server.join().unwrap();
        said
    }

    #[test]
    fn a_server_that_serves_is_told_from_others() {
        assert_eq!(of(b"+PONG\r\n"), Ok("+PONG".into()));
        assert_eq!(
            of(b"-NOAUTH Authentication required.\r\n"),
            Ok("-NOAUTH Authentication required.".into())
        );
        assert_eq!(of(b"-LOADING Redis is loading\r\n"), Err("-LOADING Redis is loading".into()));
        assert_eq!(of(b"HTTP/1.1 400 \x1b\r\n"), Err("HTTP/1.1 400 \\x1b".into()));
        assert!(of(b"").is_err());
        assert!(ping("/no/such/socket").is_err() && ping("no-number").is_err());
    }
}
