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
    assert_eq!(status(&kit, &padded(MAX_REQUEST_BYTES + 1)), "HTTP/1.1 431 Request Header Fields Too Large");
}

#[test]
fn it_answers_over_a_socket_and_stops() {
    let kit = Kit::new();
    let mut exporter = Exporter::new();
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

fn scrape(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn silent_clients_keep_nobody_waiting() {
    let kit = Kit::new();
    let mut exporter = Exporter::new();
    exporter.serve(&kit.node, listen("127.0.0.1", 0).unwrap()).unwrap();
    let address = exporter.addresses().next().unwrap();
    let mut silent: Vec<TcpStream> = Vec::new();
    for _ in 0..3 * visitors::MAX_VISITORS {
        silent.push(TcpStream::connect(address).unwrap());
        assert!(scrape(address).starts_with("HTTP/1.1 200 OK\r\n"));
    }
    // The first of them had to make room long before its time was over.
    assert_eq!(silent[0].read(&mut [0; 8]).unwrap(), 0);
    exporter.stop();
    assert_eq!(silent.last_mut().unwrap().read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_password_is_asked_for_where_there_is_one() {
    let kit = Kit::with(&[("metrics-password", "sesame")]);
    let reply = String::from_utf8(respond(&kit.node, b"GET /metrics HTTP/1.1\r\n\r\n")).unwrap();
    assert!(reply.starts_with("HTTP/1.1 401 Unauthorized\r\n") && !reply.contains("tarn_"), "{reply}");
    assert!(reply.contains("\r\nWWW-Authenticate: Basic realm=\"metrics\"\r\n"));
    assert_eq!(status(&kit, b"GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 401 Unauthorized");
    let right = b"GET /metrics HTTP/1.1\r\nAuthorization: Bearer sesame\r\n\r\n";
    assert_eq!(status(&kit, right), "HTTP/1.1 200 OK");
    kit.node.config.set(&[(b"metrics-password", b"other")], true).unwrap();
    assert_eq!(status(&kit, right), "HTTP/1.1 401 Unauthorized");
}

#[test]
fn it_is_off_unless_it_has_a_port() {
    assert_eq!(start(&Kit::new().node).unwrap().addresses().count(), 0);
}
