//! Connections over TLS: who is let in, what certificates do, and that commands do not notice.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

use crate::certs::{Authority, Files, Pair};
use crate::check::check_over_tls;
use crate::conn::{Conn, READ_TIMEOUT, RecvError};
use crate::harness::{Options, Program, Server, eventually, free_port, run_to_end};
use crate::value::Value;

fn files() -> Arc<Files> {
    Arc::new(Files::new())
}

fn pong() -> Value {
    Value::Simple(b"PONG".to_vec())
}

fn start(files: &Arc<Files>, more: &[(&str, &str)]) -> Server {
    let options = Options::new(Program::Memory).with_tls(files);
    Server::start(more.iter().fold(options, |options, (name, value)| options.with(name, value)))
}

#[track_caller]
fn connect(server: &Server, files: &Files) -> Conn {
    Conn::connect_tls(server.tls_port(), &files.connector()).expect("the handshake succeeds")
}

/// Whether a client with this certificate gets an answer.
fn is_let_in(server: &Server, authority: &Authority, pair: Option<&Pair>) -> bool {
    let conn = Conn::connect_tls(server.tls_port(), &authority.client(pair));
    conn.is_ok_and(|mut conn| conn.try_call(&["PING"]).is_ok())
}

#[test]
fn lines_are_answered_as_without() {
    check_over_tls(
        &files(),
        &[
            ("PING | ECHO hello | SET k v | GET k | GET missing", r#"+PONG | "hello" | +OK | "v" | nil"#),
            (
                r#"SET k "x"*300000 | GET k | STRLEN k | APPEND k y"#,
                r#"+OK | "x"*300000 | :300000 | :300001"#,
            ),
            ("MULTI | INCR n | INCR n | EXEC", "+OK | +QUEUED | +QUEUED | [:1 :2]"),
            (
                "NOSUCH a | GET",
                r#"-"ERR unknown command 'NOSUCH', with args beginning with: 'a' " | -ERR wrong number of arguments for 'get' command"#,
            ),
            ("BLPOP l 0.01 | @b RPUSH l a | BLPOP l 0", r#"nil[] | :1 | ["l" "a"]"#),
            ("EVAL \"return {KEYS[1],ARGV[1]}\" 1 a b", r#"["a" "b"]"#),
            (
                "CLIENT LIST",
                r#"%"id=... addr=127.0.0.1:... laddr=127.0.0.1:... cmd=client|list user=default ...\n""#,
            ),
            ("QUIT | !recv", "+OK | closed"),
            (r#"!raw "*1\r\n$4\r\nPI" | !raw "NG\r\n""#, "none | +PONG"),
            (r#"!raw "*1\r\n$x\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed"),
        ],
    );
}

#[test]
fn long_values_and_pipelines_come_in_many_records() {
    let files = files();
    let server = start(&files, &[]);
    let mut conn = connect(&server, &files);
    let value: Vec<u8> = (0..9_000_000_usize).map(|at| (at % 251) as u8).collect();
    assert_eq!(conn.call(&[b"SET", b"big", value.as_slice()]), Value::ok());
    assert!(conn.call(&["GET", "big"]) == Value::bulk(&value));
    // More replies than a socket holds, while the commands are still being sent.
    let mut sender = connect(&server, &files);
    let commands = 20_000;
    let bytes: Vec<u8> = (0..commands)
        .flat_map(|n| crate::conn::encode(&["SET".to_owned(), format!("k{n}"), "v".repeat(n % 700)]))
        .collect();
    for piece in bytes.chunks(100_003) {
        sender.send_raw(piece);
    }
    for _ in 0..commands {
        assert_eq!(sender.recv(), Value::ok());
    }
    assert_eq!(conn.call(&["STRLEN", "k699"]), Value::Int(699));
    // A reader that is slow: the rest waits, and comes.
    for _ in 0..5 {
        conn.send(&["GET", "big"]);
    }
    assert_eq!(sender.call(&["PING"]), pong());
    for _ in 0..5 {
        assert!(conn.recv() == Value::bulk(&value));
    }
    // Byte by byte: each byte is a record.
    for byte in crate::conn::encode(&["ECHO", "slowly"]) {
        conn.send_raw(&[byte]);
    }
    assert_eq!(conn.recv(), Value::bulk("slowly"));
}

#[test]
fn subscribers_hear_over_tls() {
    let files = files();
    let server = start(&files, &[]);
    let mut listener = connect(&server, &files);
    listener.call(&["SUBSCRIBE", "c"]);
    let mut publisher = server.conn();
    let words = "x".repeat(50_000);
    for n in 0..50 {
        assert_eq!(publisher.call(&["PUBLISH", "c", &format!("{n}{words}")]), Value::Int(1));
    }
    for n in 0..50 {
        let message = [Value::bulk("message"), Value::bulk("c"), Value::bulk(format!("{n}{words}"))];
        assert_eq!(listener.recv(), Value::Array(message.into()));
    }
}

#[test]
fn clients_show_a_certificate_where_they_must() {
    let files = files();
    let other = Authority::new("other");
    let stranger = other.sign("client");
    let expired = files.authority.sign_with("client", |params| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    });
    for (mode, without, with_strange) in
        [("yes", false, false), ("optional", true, false), ("no", true, true)]
    {
        let server = start(&files, &[("tls-auth-clients", mode)]);
        assert!(is_let_in(&server, &files.authority, Some(&files.client)), "{mode}");
        assert_eq!(is_let_in(&server, &files.authority, None), without, "{mode}");
        assert_eq!(is_let_in(&server, &files.authority, Some(&stranger)), with_strange, "{mode}");
        assert_eq!(is_let_in(&server, &files.authority, Some(&expired)), with_strange, "{mode}");
        // A client that does not trust the server goes away by itself, and the server goes on.
        assert!(!is_let_in(&server, &other, Some(&files.client)));
        assert!(is_let_in(&server, &files.authority, Some(&files.client)), "{mode}");
    }
}

#[test]
fn a_certificate_names_its_user() {
    let files = files();
    let server = start(&files, &[("tls-auth-clients-user", "CN"), ("tls-auth-clients", "optional")]);
    let mut admin = server.conn();
    let whoami = || connect(&server, &files).call(&["ACL", "WHOAMI"]);
    assert_eq!(whoami(), Value::bulk("default"));
    admin.call(&["ACL", "SETUSER", "client", "on", ">secret", "+@all", "~*"]);
    assert_eq!(whoami(), Value::bulk("client"));
    admin.call(&["ACL", "SETUSER", "client", "off"]);
    assert_eq!(whoami(), Value::bulk("default"));
    admin.call(&["CONFIG", "SET", "requirepass", "secret"]);
    assert!(whoami().is_error(), "the default user has a password now");
    admin.call(&["ACL", "SETUSER", "client", "on", "-@all", "+acl|whoami"]);
    assert_eq!(whoami(), Value::bulk("client"));
    let mut conn = connect(&server, &files);
    assert_eq!(
        conn.call(&["GET", "k"]),
        Value::Error(b"NOPERM User client has no permissions to run the 'get' command".to_vec())
    );
    let mut without = Conn::connect_tls(server.tls_port(), &files.authority.client(None)).unwrap();
    assert!(without.call(&["ACL", "WHOAMI"]).is_error());
    // The names of the other kind.
    assert_eq!(admin.call(&["CONFIG", "SET", "tls-auth-clients-user", "URI"]), Value::ok());
    assert!(whoami().is_error());
    admin.call(&["ACL", "SETUSER", "urn:tarn:client", "on", "+@all"]);
    assert_eq!(whoami(), Value::bulk("urn:tarn:client"));
    assert_eq!(admin.call(&["CONFIG", "SET", "tls-auth-clients-user", "off"]), Value::ok());
    assert!(whoami().is_error());
}

#[test]
fn certificates_are_exchanged_as_a_whole_or_not_at_all() {
    let files = files();
    let server = start(&files, &[]);
    let mut old = connect(&server, &files);
    let other = Authority::new("other");
    files.write("next", &other.sign("server"));
    let mut admin = server.conn();
    let refused = |name: &str| {
        Value::Error(
            format!(
                "ERR CONFIG SET failed (possibly related to argument '{name}') - Unable to update TLS configuration. \
                 Check server logs."
            )
            .into_bytes(),
        )
    };
    let (cert, key) = (files.text("next.pem"), files.text("next.key"));
    assert_eq!(admin.call(&["CONFIG", "SET", "tls-cert-file", "/nonexistent"]), refused("tls-cert-file"));
    assert_eq!(admin.call(&["CONFIG", "SET", "tls-cert-file", &cert]), refused("tls-cert-file"));
    assert_eq!(admin.call(&["CONFIG", "SET", "timeout", "1", "TLS-key-file", &key]), refused("TLS-key-file"));
    for (name, value) in [
        ("tls-protocols", "foo"),
        ("tls-protocols", "TLSv1.1"),
        ("tls-ciphers", "foo"),
        ("tls-ciphersuites", "foo"),
        ("tls-ca-cert-file", ""),
    ] {
        assert_eq!(admin.call(&["CONFIG", "SET", name, value]), refused(name));
    }
    assert_eq!(
        admin.call(&["CONFIG", "GET", "tls-cert-file", "timeout", "tls-protocols"]).to_string(),
        format!(r#"["tls-cert-file" "{}" "timeout" "0" "tls-protocols" ""]"#, files.text("server.pem"))
    );
    assert!(is_let_in(&server, &files.authority, Some(&files.client)));
    assert_eq!(admin.call(&["CONFIG", "SET", "tls-cert-file", &cert, "tls-key-file", &key]), Value::ok());
    assert!(
        !is_let_in(&server, &files.authority, Some(&files.client)),
        "the server's authority is another one"
    );
    assert!(is_let_in(&server, &other, Some(&files.client)));
    assert_eq!(old.call(&["PING"]), pong(), "who is connected stays");
    // Inside of a transaction too.
    let (cert, key) = (files.text("server.pem"), files.text("server.key"));
    admin.call(&["MULTI"]);
    admin.call(&["CONFIG", "SET", "tls-cert-file", &cert, "tls-key-file", &key]);
    assert_eq!(admin.call(&["EXEC"]), Value::Array(vec![Value::ok()]));
    assert!(is_let_in(&server, &files.authority, Some(&files.client)));
}

#[test]
fn files_that_change_are_taken_into_use() {
    let files = files();
    let server = start(&files, &[("tls-auto-reload-interval", "1")]);
    assert!(is_let_in(&server, &files.authority, Some(&files.client)));
    let other = Authority::new("other");
    files.write("server", &other.sign("server"));
    eventually("the new certificate is shown", || is_let_in(&server, &other, Some(&files.client)));
    // Whom the server trusts changes with the file too.
    let friend = other.sign("friend");
    assert!(!is_let_in(&server, &other, Some(&friend)));
    std::fs::write(files.path("ca.pem"), other.pem()).unwrap();
    eventually("the new authority is trusted", || is_let_in(&server, &other, Some(&friend)));
    assert!(!is_let_in(&server, &other, Some(&files.client)));
    // Half of a new pair, or rubbish, changes nothing.
    std::fs::write(files.path("server.pem"), "rubbish").unwrap();
    eventually("the log tells", || server.log().contains("the old certificates stay in use"));
    assert!(is_let_in(&server, &other, Some(&friend)));
}

#[test]
fn bytes_that_are_not_tls_are_refused() {
    let files = files();
    let server = start(&files, &[]);
    for bytes in [
        &b"PING\r\n"[..],
        b"*1\r\n$4\r\nPING\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        &[0x16, 3, 1, 0xff, 0xff, 0, 0],
    ] {
        let mut plain = TcpStream::connect(("127.0.0.1", server.tls_port())).unwrap();
        plain.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        plain.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // Ended in order or by a reset, but never with words in plain.
        let _ = plain.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer[0] == 0x15, "an alert at most: {answer:?}");
    }
    // And TLS on the plain port is an inline command that is none.
    let hello = Conn::connect_tls(server.port(), &files.connector());
    assert!(hello.is_err());
    eventually("it is logged", || server.log().contains("Error accepting a client connection"));
    assert!(is_let_in(&server, &files.authority, Some(&files.client)));
}

#[test]
fn handshakes_that_do_not_end_are_limited() {
    let files = files();
    let server = start(&files, &[("tls-max-handshakes", "8"), ("tls-handshake-timeout", "2")]);
    let silent: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(("127.0.0.1", server.tls_port())).unwrap()).collect();
    assert!(is_let_in(&server, &files.authority, Some(&files.client)));
    for mut one in silent {
        one.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        // Those that were displaced, and the last ones when their time is over.
        assert_eq!(one.read(&mut [0; 64]).unwrap_or(0), 0);
    }
    let mut conn = connect(&server, &files);
    eventually("their places are free again", || {
        let Value::Bulk(info) = conn.call(&["INFO", "clients"]) else { panic!("INFO is text") };
        String::from_utf8_lossy(&info).contains("connected_clients:1\r\n")
    });
}

#[test]
fn handshakes_count_as_clients() {
    let files = files();
    let server = start(&files, &[("maxclients", "3")]);
    // Who waits for the start was a client as well.
    let mut conn = connect(&server, &files);
    eventually("it is alone", || conn.call(&["CLIENT", "LIST"]).to_string().matches("id=").count() == 1);
    let halves: Vec<TcpStream> =
        (0..2).map(|_| TcpStream::connect(("127.0.0.1", server.tls_port())).unwrap()).collect();
    eventually("all places are taken", || {
        let refused = Conn::connect(server.port()).unwrap().try_call(&["PING"]);
        matches!(refused, Ok(Value::Error(_)) | Err(RecvError::Closed))
    });
    drop(halves);
    eventually("there is room again", || {
        Conn::connect(server.port()).unwrap().try_call(&["PING"]).is_ok_and(|reply| reply == pong())
    });
}

#[test]
fn versions_and_ciphers_are_those_of_the_options() {
    let files = files();
    let server =
        start(&files, &[("tls-protocols", "TLSv1.3"), ("tls-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256")]);
    let connect = |versions: &[&'static rustls::SupportedProtocolVersion], provider: CryptoProvider| {
        let config = files.authority.client_with(Some(&files.client), versions, provider);
        Conn::connect_tls(server.tls_port(), &config)
    };
    let conn = connect(rustls::ALL_VERSIONS, ring::default_provider()).unwrap();
    assert_eq!(
        conn.tls().negotiated_cipher_suite().unwrap().suite(),
        rustls::CipherSuite::TLS13_CHACHA20_POLY1305_SHA256
    );
    assert!(connect(&[&rustls::version::TLS12], ring::default_provider()).is_err());
    let mut admin = server.conn();
    let set = [
        "CONFIG",
        "SET",
        "tls-protocols",
        "TLSv1.2",
        "tls-ciphers",
        "ECDHE-ECDSA-AES128-GCM-SHA256:AES256-SHA",
    ];
    assert_eq!(admin.call(&set), Value::ok());
    let mut conn = connect(rustls::ALL_VERSIONS, ring::default_provider()).unwrap();
    assert_eq!(conn.tls().protocol_version(), Some(rustls::ProtocolVersion::TLSv1_2));
    let suite = conn.tls().negotiated_cipher_suite().unwrap().suite();
    assert_eq!(suite, rustls::CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256);
    assert_eq!(conn.call(&["PING"]), pong());
}

#[test]
fn sessions_are_resumed_unless_they_may_not() {
    for (caching, kind) in [("yes", rustls::HandshakeKind::Resumed), ("no", rustls::HandshakeKind::Full)] {
        let files = files();
        let server = start(&files, &[("tls-session-caching", caching)]);
        let config = files.connector();
        for n in 0..3 {
            let mut conn = Conn::connect_tls(server.tls_port(), &config).unwrap();
            // The tickets come with the first reply.
            assert_eq!(conn.call(&["PING"]), pong());
            let expected = if n == 0 { rustls::HandshakeKind::Full } else { kind };
            assert_eq!(conn.tls().handshake_kind(), Some(expected), "{caching}");
        }
    }
}

#[test]
fn the_tls_port_may_be_the_only_one() {
    let files = files();
    let options =
        Options::new(Program::Memory).over_tls(&files).with("port", "0").with("cluster-enabled", "yes");
    let server = Server::start(options);
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_err());
    let mut conn = server.conn();
    let port = server.tls_port();
    let Value::Bulk(info) = conn.call(&["INFO", "server"]) else { panic!("INFO is text") };
    assert!(String::from_utf8_lossy(&info).contains(&format!("\r\ntcp_port:{port}\r\n")));
    assert!(conn.call(&["CLUSTER", "SLOTS"]).to_string().contains(&format!(":{port} ")));
    let shards = conn.call(&["CLUSTER", "SHARDS"]).to_string();
    assert!(shards.contains(&format!(r#""tls-port" :{port} "#)) && !shards.contains(r#""port""#), "{shards}");
}

#[test]
fn a_start_without_usable_certificates_is_refused() {
    let files = files();
    let dir = tempfile::tempdir().unwrap();
    let port = free_port().to_string();
    let (cert, key, ca) = (files.text("server.pem"), files.text("server.key"), files.text("ca.pem"));
    let other = files.text("client.key");
    for (options, reason) in [
        (vec![], "No tls-cert-file configured!"),
        (vec![("tls-cert-file", "/nonexistent")], "tls-cert-file /nonexistent: No such file or directory"),
        (vec![("tls-cert-file", cert.as_str())], "tls-key-file"),
        (
            vec![("tls-cert-file", &cert), ("tls-key-file", &key)],
            "Either tls-ca-cert-file or tls-ca-cert-dir must be",
        ),
        (
            vec![("tls-cert-file", &cert), ("tls-key-file", &other), ("tls-ca-cert-file", &ca)],
            "tls-key-file is not the key of the certificate in tls-cert-file",
        ),
    ] {
        let options =
            options.iter().fold(Options::new(Program::Memory), |o, (name, value)| o.with(name, value));
        let (status, output) = run_to_end(&options.with("tls-port", &port), free_port(), dir.path());
        assert_eq!(status.code(), Some(1));
        assert!(output.contains("could not configure TLS: ") && output.contains(reason), "{output}");
    }
}

#[test]
fn metrics_are_served_over_tls() {
    let files = files();
    let port = free_port();
    let server = start(
        &files,
        &[("metrics-port", &port.to_string()), ("metrics-tls", "yes"), ("metrics-password", "sesame")],
    );
    let scrape = |config, header: &str| {
        let mut conn = Conn::connect_tls(port, config).ok()?;
        conn.try_send_raw(format!("GET /metrics HTTP/1.1\r\n{header}\r\n").as_bytes()).ok()?;
        let mut page = String::new();
        conn.read_text(&mut page).ok()?;
        Some(page)
    };
    let config = files.connector();
    let page = scrape(&config, "Authorization: Bearer sesame\r\n").unwrap();
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\n")
            && page.contains("tarn_tls_handshakes_total{outcome=\"completed\"}")
    );
    assert!(scrape(&config, "").unwrap().starts_with("HTTP/1.1 401 Unauthorized\r\n"));
    assert_eq!(
        scrape(&files.authority.client(None), "Authorization: Bearer sesame\r\n").unwrap_or_default(),
        ""
    );
    let mut plain = TcpStream::connect(("127.0.0.1", port)).unwrap();
    plain.write_all(b"GET /metrics HTTP/1.1\r\nAuthorization: Bearer sesame\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.windows(5).any(|bytes| bytes == b"tarn_"));
    drop(server);
}

#[test]
fn redis_cli_connects() {
    let files = files();
    let server = start(&files, &[]);
    let cli = |more: &[&str]| {
        let output = Command::new("redis-cli")
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &server.tls_port().to_string(),
                "--tls",
                "--cacert",
                &files.text("ca.pem"),
            ])
            .args(more)
            .output()
            .expect("redis-cli is needed for this test");
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (cert, key) = (files.text("client.pem"), files.text("client.key"));
    let known = ["--cert", cert.as_str(), "--key", key.as_str()];
    assert_eq!(cli(&[&known[..], &["SET", "k", "v"]].concat()).0, "OK\n");
    assert_eq!(cli(&[&known[..], &["GET", "k"]].concat()).0, "v\n");
    assert_eq!(
        cli(&[&known[..], &["--tls-ciphersuites", "TLS_AES_128_GCM_SHA256", "PING"]].concat()).0,
        "PONG\n"
    );
    let (out, error) = cli(&["PING"]);
    assert!(out.is_empty() && !error.is_empty(), "{out} {error}");
}
