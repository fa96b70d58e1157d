//! `GET /metrics` over HTTP/1.1, and nothing else: one thread per address, one request at a time, bounded in size and time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::prometheus;
use crate::node::Node;

/// Longest request, headers included.
const MAX_REQUEST_BYTES: usize = 8 * 1024;
/// A client has so long to send its request, and so long to take the reply.
const PATIENCE: Duration = Duration::from_secs(5);

/// The threads that answer.
pub struct Exporter {
    stopping: Arc<AtomicBool>,
    threads: Vec<(SocketAddr, JoinHandle<()>)>,
}

/// Listens on `metrics-bind` and `metrics-port`; on nothing if the port is 0.
pub fn start(node: &Arc<Node>) -> io::Result<Exporter> {
    let config = node.config.current();
    let stopping = Arc::new(AtomicBool::new(false));
    let mut exporter = Exporter { stopping, threads: Vec::new() };
    if config.metrics_port == 0 {
        return Ok(exporter);
    }
    for host in &config.metrics_bind {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("metrics on {host}:{}: {error}", config.metrics_port))
        };
        // As in `bind`: an address that begins with `-` may be missing on the machine.
        let (host, optional) = host.strip_prefix('-').map_or((host.as_str(), false), |host| (host, true));
        match listen(host, config.metrics_port) {
            Ok(listener) => exporter.serve(node, listener).map_err(named)?,
            Err(_) if optional => {}
            Err(error) => return Err(named(error)),
        }
    }
    Ok(exporter)
}

fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    let host = match host {
        "*" => "0.0.0.0",
        "::*" => "::",
        other => other,
    };
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    TcpListener::bind(addresses.as_slice())
}

impl Exporter {
    fn serve(&mut self, node: &Arc<Node>, listener: TcpListener) -> io::Result<()> {
        let address = listener.local_addr()?;
        let (node, stopping) = (Arc::clone(node), Arc::clone(&self.stopping));
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if stopping.load(Ordering::Acquire) {
                    return;
                }
                tarn_engine::failpoint::reach("metrics");
                // A client that went away, or dawdles, is its own loss.
                let _ = stream.and_then(|stream| answer(&node, stream));
            }
        })?;
        self.threads.push((address, thread));
        Ok(())
    }

    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.threads.iter().map(|(address, _)| *address)
    }

    /// Lets the request that is being answered end.
    pub fn stop(self) {
        self.stopping.store(true, Ordering::Release);
        for (mut address, thread) in self.threads {
            if address.ip().is_unspecified() {
                let local = if address.is_ipv4() { "127.0.0.1" } else { "::1" };
                if let Ok(ip) = local.parse() {
                    address.set_ip(ip);
                }
            }
            // Wakes the thread, which then sees that it is to stop.
            if TcpStream::connect_timeout(&address, PATIENCE).is_ok() && thread.join().is_err() {
                tracing::error!("the thread for metrics ended by a panic");
            }
        }
    }
}

fn answer(node: &Arc<Node>, mut stream: TcpStream) -> io::Result<()> {
    let request = read_request(&mut stream)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&respond(node, &request))
}

/// Everything up to the empty line, or what came until a limit was met.
fn read_request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !is_complete(&request) && request.len() <= MAX_REQUEST_BYTES {
        let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        match stream.read(&mut piece)? {
            0 => break,
            n => request.extend_from_slice(piece.get(..n).unwrap_or(&[])),
        }
    }
    Ok(request)
}

fn is_complete(request: &[u8]) -> bool {
    request.windows(4).any(|end| end == b"\r\n\r\n") || request.windows(2).any(|end| end == b"\n\n")
}

fn respond(node: &Arc<Node>, request: &[u8]) -> Vec<u8> {
    if request.len() > MAX_REQUEST_BYTES {
        return response("431 Request Header Fields Too Large", "the request is too long\n");
    }
    let line = request.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or(&[]);
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if !is_complete(request) || !version.is_some_and(|version| version.starts_with(b"HTTP/1.")) {
        return response("400 Bad Request", "this is not a request of HTTP/1.1\n");
    }
    let path = target.and_then(|target| target.split(|byte| *byte == b'?').next()).unwrap_or(&[]);
    match (method, path) {
        (Some(b"GET" | b"HEAD"), b"/metrics") => match prometheus::text(node) {
            Ok(page) => response("200 OK", if method == Some(b"HEAD") { "" } else { &page }),
            Err(error) => response("503 Service Unavailable", &format!("{error}\n")),
        },
        (Some(b"GET" | b"HEAD"), _) => response("404 Not Found", "metrics are at /metrics\n"),
        _ => response("405 Method Not Allowed", "only GET is answered\n"),
    }
}

fn response(status: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    fn status(kit: &Kit, request: &[u8]) -> String {
        let reply = String::from_utf8(respond(&kit.node, request)).unwrap();
        reply.lines().next().unwrap().to_owned()
    }

    #[test]
    fn only_one_page_is_served() {
        let kit = Kit::new();
        let page =
            String::from_utf8(respond(&kit.node, b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n")).unwrap();
        let (head, body) = page.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\n")
                && head.contains(&format!("Content-Length: {}\r\n", body.len()))
        );
        assert!(body.contains("tarn_uptime_seconds "));
        assert_eq!(status(&kit, b"GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
        assert_eq!(status(&kit, b"POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
        for bad in [
            &b""[..],
            b"GET",
            b"GET /metrics\r\n\r\n",
            b"GET /metrics HTTP/2\r\n\r\n",
            b"GET /metrics HTTP/1.1\r\n",
        ] {
            assert_eq!(status(&kit, bad), "HTTP/1.1 400 Bad Request", "{bad:?}");
        }
    }

    #[test]
    fn a_request_has_a_longest_size() {
        let kit = Kit::new();
        let padded = |len: usize| {
            let fixed = b"GET /metrics HTTP/1.1\r\nA: \r\n\r\n".len();
            format!("GET /metrics HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(len - fixed)).into_bytes()
        };
        assert_eq!(status(&kit, &padded(MAX_REQUEST_BYTES)), "HTTP/1.1 200 OK");
        assert_eq!(
            status(&kit, &padded(MAX_REQUEST_BYTES + 1)),
            "HTTP/1.1 431 Request Header Fields Too Large"
        );
    }

    #[test]
    fn it_answers_over_a_socket_and_stops() {
        let kit = Kit::new();
        let mut exporter = Exporter { stopping: Arc::default(), threads: Vec::new() };
        exporter.serve(&kit.node, listen("127.0.0.1", 0).unwrap()).unwrap();
        let address = exporter.addresses().next().unwrap();
        for _ in 0..2 {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
            stream.write_all(b"Host: a\r\n\r\n").unwrap();
            let mut reply = String::new();
            stream.read_to_string(&mut reply).unwrap();
            assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.contains("tarn_connected_clients 0\n"));
        }
        exporter.stop();
        assert!(TcpStream::connect(address).is_err());
    }

    #[test]
    fn it_is_off_unless_it_has_a_port() {
        assert_eq!(start(&Kit::new().node).unwrap().addresses().count(), 0);
    }
}
