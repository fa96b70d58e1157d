//! As much of HTTP/1.1 as the console needs: one request per connection, bounded in size and time.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest request line and headers together.
pub const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Longest body: the largest value that can be written from the console is a little less.
pub const MAX_BODY_BYTES: usize = 4 << 20;
/// A client has so long for its request, and so long for each piece of the answer.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// Behind the question mark.
    pub query: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Why there is no request: a status to answer with, or nothing where nobody listens.
#[derive(Debug)]
pub enum Bad {
    Status(&'static str),
    Gone,
}

impl From<io::Error> for Bad {
    fn from(_: io::Error) -> Bad {
        Bad::Gone
    }
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A number out of the query, `name=5`.
    pub fn number(&self, name: &str) -> Option<u64> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(known, _)| *known == name).find_map(|(_, value)| value.parse().ok())
    }

    pub fn read(stream: &mut TcpStream) -> Result<Request, Bad> {
        let deadline = Instant::now() + PATIENCE;
        let mut bytes = Vec::new();
        let head_len = loop {
            if let Some(at) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
                break at;
            }
            if bytes.len() > MAX_HEAD_BYTES {
                break bytes.len();
            }
            take_more(stream, deadline, &mut bytes)?;
        };
        if head_len > MAX_HEAD_BYTES {
            return Err(Bad::Status("431 Request Header Fields Too Large"));
        }
        let mut request =
            parse_head(bytes.get(..head_len).unwrap_or(&[])).ok_or(Bad::Status("400 Bad Request"))?;
        let length = match request.header("content-length").map(str::parse::<usize>) {
            None => 0,
            Some(Ok(length)) => length,
            Some(Err(_)) => return Err(Bad::Status("400 Bad Request")),
        };
        if request.header("transfer-encoding").is_some() {
            return Err(Bad::Status("411 Length Required"));
        }
        if length > MAX_BODY_BYTES {
            return Err(Bad::Status("413 Content Too Large"));
        }
        let mut body = bytes.split_off(head_len + 4);
        while body.len() < length {
            take_more(stream, deadline, &mut body)?;
        }
        body.truncate(length);
        request.body = body;
        Ok(request)
    }
}

fn take_more(stream: &mut TcpStream, deadline: Instant, into: &mut Vec<u8>) -> Result<(), Bad> {
    let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
    stream.set_read_timeout(Some(left.ok_or(Bad::Gone)?))?;
    let mut piece = [0; 16 * 1024];
    match stream.read(&mut piece)? {
        0 => Err(Bad::Gone),
        n => {
            into.extend_from_slice(piece.get(..n).unwrap_or(&[]));
            Ok(())
        }
    }
}

fn parse_head(head: &[u8]) -> Option<Request> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if !version.starts_with("HTTP/1.") || words.next().is_some() || !target.starts_with('/') {
        return None;
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Some(Request { method: method.into(), path: path.into(), query: query.into(), headers, body: Vec::new() })
}

/// What every answer says to the browser: nothing from elsewhere is loaded, nothing is kept, no other page may hold this one.
const GUARDS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'\r\n\
    X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n";

pub fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{GUARDS}\r\n",
        body.len()
    );
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

/// A client that was refused in the middle of its request is read from for a moment: closed at once, it would not see the
/// answer.
pub fn hear_out(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut piece = [0; 16 * 1024];
    for _ in 0..MAX_BODY_BYTES / piece.len() {
        if stream.read(&mut piece)? == 0 {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_or_refused() {
        let request = parse_head(b"POST /api/run?db=5&x HTTP/1.1\r\nHost: a:1\r\nX-Y:  z ").unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/api/run"));
        assert_eq!((request.number("db"), request.number("x"), request.number("y")), (Some(5), None, None));
        assert_eq!(
            (request.header("host"), request.header("x-y"), request.header("z")),
            (Some("a:1"), Some("z"), None)
        );
        for bad in [
            &b""[..],
            b"GET",
            b"GET /",
            b"GET / HTTP/2",
            b"GET x HTTP/1.1",
            b"GET / HTTP/1.1\r\nno",
            b"G\xff / HTTP/1.1",
        ] {
            assert_eq!(parse_head(bad), None, "{bad:?}");
        }
    }
}
