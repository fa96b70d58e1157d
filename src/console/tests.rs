use std::io::Write as _;

use super::*;
use crate::testkit::Kit;

struct Site {
    address: SocketAddr,
    console: Option<Console>,
}

impl Site {
    fn new(kit: &Kit) -> Site {
        let mut console = Console { stopping: Arc::default(), threads: Vec::new() };
        console.serve(&Room::new(&kit.node), TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        Site { address: console.threads[0].0, console: Some(console) }
    }

    /// Status line and body.
    fn send(&self, head: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let head = head.replace("@HOST@", &self.address.to_string()).replace('\n', "\r\n");
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().replace("HTTP/1.1 ", ""), body.to_owned())
    }

    fn post(&self, path: &str, token: &str, body: &str) -> (String, String) {
        self.send(&format!("POST {path} HTTP/1.1\nHost: @HOST@\nX-Tarn-Console: {token}"), body)
    }

    fn login(&self, body: &str) -> String {
        let (status, reply) = self.post("/api/open", "-", body);
        assert_eq!(status, "200 OK");
        reply.strip_prefix("$64\r\n").map_or(reply.clone(), |token| token.trim_end().to_owned())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.console.take().unwrap().stop();
    }
}

const FORBIDDEN: &str = "403 Forbidden";

#[test]
fn pages_are_served_and_load_nothing_from_elsewhere() {
    let kit = Kit::new();
    let site = Site::new(&kit);
    for (path, _, page) in PAGES {
        let (status, body) = site.send(&format!("GET {path} HTTP/1.1\nHost: @HOST@"), "");
        assert_eq!((status.as_str(), body.as_str()), ("200 OK", page));
        let foreign = page
            .split(['"', '\'', '`', '('])
            .filter(|word| word.starts_with("http") || word.starts_with("//cdn"));
        assert_eq!(
            foreign.filter(|word| !word.starts_with("http://www.w3.org/2000/svg")).count(),
            0,
            "{path}"
        );
    }
    for (request, status) in [
        ("GET /nope HTTP/1.1\nHost: @HOST@", "404 Not Found"),
        ("GET /api/run HTTP/1.1\nHost: @HOST@", "404 Not Found"),
        ("PUT / HTTP/1.1\nHost: @HOST@", "405 Method Not Allowed"),
        ("GET / HTTP/1.1\nX: y", "400 Bad Request"),
        ("GET / HTTP/3\nHost: @HOST@", "400 Bad Request"),
    ] {
        assert_eq!(site.send(request, "").0, status, "{request}");
    }
}

#[test]
fn commands_run_for_who_is_logged_in() {
    let kit = Kit::new();
    let site = Site::new(&kit);
    let token = site.login("");
    assert_eq!(token.len(), 64);
    let run = |db: u16, body: &str| site.post(&format!("/api/run?db={db}"), &token, body).1;
    assert_eq!(run(2, "SET a 1\r\nGET a\r\n"), "+OK\r\n$1\r\n1\r\n");
    assert_eq!(run(0, "GET a\r\n"), "_\r\n");
    assert!(site.post("/api/options", &token, "").1.contains("appendfsync"));
    assert_eq!(site.post("/api/run", "other", "PING\r\n").0, "401 Unauthorized");
    assert_eq!(site.post("/api/options", "other", "").0, "401 Unauthorized");
    assert_eq!(site.post("/api/close", &token, "").1, "+OK\r\n");
    assert_eq!(site.post("/api/run", &token, "PING\r\n").0, "401 Unauthorized");
}

#[test]
fn a_password_is_asked_for() {
    let kit = Kit::with(&[("requirepass", "sesame")]);
    let site = Site::new(&kit);
    assert_eq!(site.login(""), "-NOAUTH Authentication required.\r\n");
    assert!(site.login("AUTH default wrong\r\n").starts_with("-WRONGPASS"));
    let token = site.login("AUTH default sesame\r\n");
    assert_eq!(site.post("/api/run", &token, "PING\r\n").1, "+PONG\r\n");
    // A name is no danger where a password is asked for.
    assert_eq!(site.send("GET / HTTP/1.1\nHost: db.example", "").0, "200 OK");
}

#[test]
fn other_sites_are_kept_out() {
    let kit = Kit::new();
    let site = Site::new(&kit);
    for head in [
        // A form, which cannot send the header.
        "POST /api/open HTTP/1.1\nHost: @HOST@",
        "POST /api/open HTTP/1.1\nHost: @HOST@\nX-Tarn-Console: -\nOrigin: http://evil.example",
        "POST /api/open HTTP/1.1\nHost: @HOST@\nX-Tarn-Console: -\nOrigin: null",
        "POST /api/open HTTP/1.1\nHost: @HOST@\nX-Tarn-Console: -\nSec-Fetch-Site: cross-site",
        // A name that was pointed here.
        "POST /api/open HTTP/1.1\nHost: evil.example\nX-Tarn-Console: -\nOrigin: http://evil.example",
        "GET / HTTP/1.1\nHost: evil.example",
    ] {
        assert_eq!(site.send(head, "").0, FORBIDDEN, "{head}");
    }
    let same = "POST /api/open HTTP/1.1\nHost: @HOST@\nX-Tarn-Console: -\nOrigin: http://@HOST@\nSec-Fetch-Site: same-origin";
    assert_eq!(site.send(same, "").0, "200 OK");
    for (host, is) in [
        ("localhost:1", true),
        ("127.0.0.1", true),
        ("[::1]:80", true),
        ("10.0.0.1:8080", true),
        ("a.example", false),
        ("localhost.evil.example:1", false),
        ("127.0.0.1.evil.example", false),
    ] {
        assert_eq!(is_address(host), is, "{host}");
    }
}

#[test]
fn requests_have_a_largest_size() {
    let kit = Kit::new();
    let site = Site::new(&kit);
    let long = format!("GET / HTTP/1.1\nHost: @HOST@\nX: {}", "x".repeat(http::MAX_HEAD_BYTES));
    assert_eq!(site.send(&long, "").0, "431 Request Header Fields Too Large");
    let mut stream = TcpStream::connect(site.address).unwrap();
    let length = http::MAX_BODY_BYTES + 1;
    write!(stream, "POST /api/run HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 413 "), "{reply}");
}

#[test]
fn only_so_many_are_remembered() {
    let kit = Kit::new();
    let site = Site::new(&kit);
    let first = site.login("");
    let tokens: Vec<String> = (0..MAX_VISITORS).map(|_| site.login("")).collect();
    assert_eq!(site.post("/api/run", &first, "PING\r\n").0, "401 Unauthorized");
    assert_eq!(site.post("/api/run", &tokens[0], "PING\r\n").0, "200 OK");
}

#[test]
fn it_is_off_unless_it_has_a_port() {
    assert_eq!(start(&Kit::new().node).unwrap().threads.len(), 0);
}
