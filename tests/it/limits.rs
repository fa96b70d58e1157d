//! What a client may ask of the server, and what happens to one that asks for more.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};

use crate::conn::{Conn, encode};
use crate::harness::{ENGINES, Options, Program, Server, eventually};
use crate::rng::Rng;
use crate::value::Value;

/// Limits do not depend on the engine.
fn server(options: &[(&str, &str)]) -> Server {
    let program = if std::env::var("TARN_CHECK_AGAINST").is_ok() { Program::Redis } else { Program::Memory };
    Server::start(options.iter().fold(Options::new(program), |o, (name, value)| o.with(name, value)))
}

#[test]
fn one_client_too_many() {
    let server = server(&[("maxclients", "5")]);
    // The harness's own connections are closed, but perhaps not yet noticed.
    let mut first = server.conn();
    eventually("only one client is connected", || {
        let list = first.call(&["CLIENT", "LIST"]);
        list.bytes().unwrap().iter().filter(|b| **b == b'\n').count() == 1
    });
    let mut clients = vec![first];
    for _ in 1..5 {
        let mut conn = server.conn();
        assert_eq!(conn.call(&["PING"]), Value::Simple(b"PONG".to_vec()));
        clients.push(conn);
    }
    let mut refused = server.conn();
    assert_eq!(refused.recv(), Value::Error(b"ERR max number of clients reached".to_vec()));
    assert!(refused.closes());
    for conn in &mut clients {
        assert_eq!(conn.call(&["PING"]), Value::Simple(b"PONG".to_vec()));
    }
    drop(clients.pop());
    eventually("there is room again", || {
        server.conn().try_call(&["PING"]).is_ok_and(|reply| reply == Value::Simple(b"PONG".to_vec()))
    });
}

/// Of few descriptors, files have theirs, and clients get the rest.
#[test]
fn clients_do_not_take_the_descriptors_of_files() {
    let (files, clients) = (640, 40);
    let server = Server::start(Options::new(Program::Rocksdb).with_open_files(files + clients));
    let mut conn = server.conn();
    let lowered = format!(r#"["maxclients" "{clients}"]"#);
    assert_eq!(conn.call(&["CONFIG", "GET", "maxclients"]).to_string(), lowered);
    eventually("the log tells", || server.log().contains("maxclients is 40 instead of 10000"));
    let refused = format!(
        "ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able to handle the \
         specified number of clients, try with {clients}"
    );
    let set = |conn: &mut Conn, count: u64| conn.call(&["CONFIG", "SET", "maxclients", &count.to_string()]);
    assert_eq!(set(&mut conn, clients + 1), Value::Error(refused.into_bytes()));
    assert_eq!(conn.call(&["CONFIG", "GET", "maxclients"]).to_string(), lowered);
    assert_eq!(set(&mut conn, clients - 1), Value::ok());
    assert_eq!(set(&mut conn, clients), Value::ok());
    // Strangers take every place that they can get, and the data is served all the same.
    let many: Vec<TcpStream> =
        (0..3 * files).map(|_| TcpStream::connect(("127.0.0.1", server.port())).unwrap()).collect();
    for n in 0..20 {
        assert_eq!(conn.call(&["SET", &format!("k{n}"), &"v".repeat(10_000)]), Value::ok());
        assert_eq!(conn.call(&["SAVE"]), Value::ok());
    }
    drop(many);
}

#[test]
fn an_idle_client_is_closed() {
    let server = server(&[("timeout", "1")]);
    let mut idle = server.conn();
    assert_eq!(idle.call(&["PING"]), Value::Simple(b"PONG".to_vec()));
    assert!(idle.closes());
    // A server that closed everybody at once would not have answered this.
    assert_eq!(server.conn().call(&["PING"]), Value::Simple(b"PONG".to_vec()));
}

/// The end of a connection comes together with its last bytes, and must not be missed.
#[test]
fn a_client_that_leaves_in_the_middle_of_a_command_is_forgotten() {
    let server = server(&[]);
    let mut control = server.conn();
    for bytes in [&b"*3\r\n$3\r\nSET"[..], b"PING", b"*", b"*1\r\n$4\r\nPING\r\n*1\r\n"] {
        let mut leaving = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        leaving.write_all(bytes).unwrap();
        drop(leaving);
    }
    eventually("only one client is connected", || {
        let list = control.call(&["CLIENT", "LIST"]);
        list.bytes().unwrap().iter().filter(|b| **b == b'\n').count() == 1
    });
}

/// A client that has closed its half still reads.
#[test]
fn a_client_that_has_said_everything_is_answered() {
    let server = server(&[]);
    let mut writer = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let mut reader = Conn::from_stream(writer.try_clone().unwrap()).unwrap();
    writer.write_all(&encode(&["SET", "k", "v"])).unwrap();
    writer.write_all(&encode(&["GET", "k"])).unwrap();
    writer.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(reader.recv(), Value::ok());
    assert_eq!(reader.recv(), Value::bulk("v"));
    assert!(reader.closes());
}

#[test]
fn a_client_that_does_not_read_is_closed() {
    let server = server(&[("client-output-buffer-limit", "normal 1mb 0 0")]);
    let mut control = server.conn();
    let big = "x".repeat(16 * 1024 * 1024);
    assert_eq!(control.call(&["SET", "big", &big]), Value::ok());
    let mut greedy = server.conn();
    greedy.call(&["CLIENT", "SETNAME", "greedy"]);
    greedy.send_raw(&encode(&["GET", "big"]).repeat(8));
    eventually("the greedy client is gone", || {
        let list = control.call(&["CLIENT", "LIST"]);
        !String::from_utf8_lossy(list.bytes().unwrap()).contains("name=greedy")
    });
}

#[test]
fn clients_that_hold_too_much_together_are_closed_the_largest_first() {
    let server = server(&[("maxmemory-clients", "1300000")]);
    let mut control = server.conn();
    // Commands short enough not to be counted before their bytes come.
    let names = ["first", "second", "third", "fourth", "fifth", "small", "large"];
    let mut holders = names.map(|name| {
        let mut conn = server.conn();
        conn.call(&["CLIENT", "SETNAME", name]);
        conn
    });
    for protected in holders.iter_mut().take(5) {
        assert_eq!(protected.call(&["CLIENT", "NO-EVICT", "ON"]), Value::ok());
    }
    for (conn, bytes) in
        holders.iter_mut().zip([240_000, 240_000, 240_000, 240_000, 240_000, 50_000, 200_000])
    {
        conn.send_raw(b"*2\r\n$4\r\nECHO\r\n$250000\r\n");
        let _ = conn.try_send_raw(&vec![b'x'; bytes]);
    }
    eventually("the largest that may go is gone", || {
        let info = control.call(&["INFO", "stats"]);
        String::from_utf8_lossy(info.bytes().unwrap()).contains("evicted_clients:1\r\n")
    });
    assert!(holders[6].closes());
    let list = control.call(&["CLIENT", "LIST"]);
    let list = String::from_utf8_lossy(list.bytes().unwrap()).into_owned();
    let are_there = names[..6].iter().all(|name| list.contains(&format!("name={name}")));
    assert!(are_there && !list.contains("name=large"), "{list}");
}

#[test]
fn long_commands_that_do_not_fit_together_are_refused_before_their_bytes_are_kept() {
    // A tenth of it is for clients, a little more for one command alone.
    let server = server(&[("maxmemory", "100mb")]);
    let oom = || Value::Error(b"OOM command not allowed when used memory > 'maxmemory'.".to_vec());
    let set = |bytes: usize| encode(&["SET", "k", &"x".repeat(bytes)]);
    const MIB: usize = 1 << 20;
    let mut alone = server.conn();
    alone.send_raw(&set(11 * MIB));
    assert_eq!(alone.recv(), Value::ok());
    alone.send_raw(&set(13 * MIB));
    assert_eq!(alone.recv(), oom());
    assert_eq!(alone.call(&["STRLEN", "k"]), Value::Int(11 * MIB as i64), "nothing has changed");
    // Two that have begun, and no room for a third.
    let mut begun = [server.conn(), server.conn()];
    for conn in &mut begun {
        conn.send_raw(&set(4 * MIB)[..MIB]);
    }
    let mut third = server.conn();
    eventually("both are counted", || {
        third.send_raw(&set(4 * MIB));
        third.recv() == oom()
    });
    let pipeline = [set(4 * MIB), encode(&["PING"]), encode(&["MULTI"]), set(4 * MIB), encode(&["EXEC"])];
    third.send_raw(&pipeline.concat());
    assert_eq!(third.recv(), oom());
    assert_eq!(third.recv(), Value::Simple(b"PONG".to_vec()));
    assert_eq!(third.recv(), Value::ok());
    assert_eq!(third.recv(), oom());
    assert!(matches!(third.recv(), Value::Error(text) if text.starts_with(b"EXECABORT")));
    // One ends, one leaves: there is room again.
    let [mut first, second] = begun;
    first.send_raw(&set(4 * MIB)[MIB..]);
    assert_eq!(first.recv(), Value::ok());
    drop(second);
    eventually("there is room again", || {
        third.send_raw(&set(8 * MIB));
        third.recv() == Value::ok()
    });
}

#[test]
fn many_short_words_count_together() {
    let server = server(&[("maxmemory", "40mb")]);
    let mut conn = server.conn();
    let words: Vec<String> = (0..700_000).map(|word| format!("word:{word}")).collect();
    let mut command = vec!["DEL"];
    command.extend(words.iter().map(String::as_str));
    let bytes = encode(&command);
    assert!(bytes.len() > 11 << 20, "more than an eighth of the budget");
    conn.send_raw(&bytes);
    let reply = conn.recv();
    assert!(matches!(&reply, Value::Error(text) if text.starts_with(b"OOM ")), "{reply}");
    assert_eq!(conn.call(&["DEL", "word:1"]), Value::Int(0));
}

/// As Redis: who leaves while it waits for the end of a pause has sent nothing.
#[test]
fn the_command_of_a_paused_client_that_left_does_not_run() {
    let server = server(&[]);
    let mut control = server.conn();
    let mut leaving = server.conn();
    leaving.call(&["CLIENT", "SETNAME", "leaving"]);
    assert_eq!(control.call(&["CLIENT", "PAUSE", "100000", "WRITE"]), Value::ok());
    leaving.send(&["SET", "k", "v"]);
    let list = |control: &mut Conn| {
        String::from_utf8_lossy(control.call(&["CLIENT", "LIST"]).bytes().unwrap()).into_owned()
    };
    eventually("it waits", || {
        list(&mut control).lines().any(|line| line.contains("name=leaving") && !line.contains(" qbuf=0 "))
    });
    drop(leaving);
    eventually("it is forgotten", || !list(&mut control).contains("name=leaving"));
    assert_eq!(control.call(&["CLIENT", "UNPAUSE"]), Value::ok());
    assert_eq!(control.call(&["EXISTS", "k"]), Value::Int(0));
}

#[test]
fn a_command_longer_than_the_query_buffer_is_not_gathered() {
    let server = server(&[("client-query-buffer-limit", "1mb")]);
    let mut greedy = server.conn();
    greedy.send_raw(b"*2\r\n$4\r\nECHO\r\n$3000000\r\n");
    let _ = greedy.try_send_raw(&vec![b'x'; 2_000_000]);
    assert!(greedy.closes());
    assert_eq!(server.conn().call(&["PING"]), Value::Simple(b"PONG".to_vec()));
}

/// An address of this machine that is not the loopback's; nothing is sent to find it.
fn other_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[test]
fn protected_mode_serves_only_this_machine() {
    let Some(address) = other_address() else {
        println!("this machine has no address but the loopback's: nothing to protect against");
        return;
    };
    let ask = |server: &Server| {
        let stream = TcpStream::connect(SocketAddr::new(address, server.port())).unwrap();
        let mut conn = Conn::from_stream(stream).unwrap();
        (conn.try_call(&["PING"]), conn)
    };
    let open = server(&[("bind", "0.0.0.0"), ("protected-mode", "no")]);
    assert_eq!(ask(&open).0.unwrap(), Value::Simple(b"PONG".to_vec()));
    let protected = server(&[("bind", "0.0.0.0")]);
    let (reply, mut conn) = ask(&protected);
    let reply = reply.unwrap();
    assert!(matches!(&reply, Value::Error(text) if text.starts_with(b"DENIED ")), "{reply}");
    assert!(conn.closes());
    assert_eq!(protected.conn().call(&["PING"]), Value::Simple(b"PONG".to_vec()));
    // A password is protection enough.
    let secret = server(&[("bind", "0.0.0.0"), ("requirepass", "sesame")]);
    assert_eq!(ask(&secret).0.unwrap(), Value::Error(b"NOAUTH Authentication required.".to_vec()));
}

#[test]
fn a_unix_socket_serves_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tarn.sock");
    let server = server(&[("unixsocket", path.to_str().unwrap()), ("unixsocketperm", "700")]);
    let mut conn = Conn::connect_unix(&path).unwrap();
    assert_eq!(conn.call(&["SET", "k", "v"]), Value::ok());
    assert_eq!(server.conn().call(&["GET", "k"]), Value::bulk("v"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o700);
    conn.hello3();
    assert_eq!(conn.call(&["GET", "missing"]), Value::Null);
}

/// Commands arrive as the network cuts them.
#[test]
fn commands_may_be_split_anywhere() {
    let seed = Rng::fresh_seed();
    println!("seed {seed}");
    let programs: &[Program] =
        if std::env::var("TARN_CHECK_AGAINST").is_ok() { &[Program::Redis] } else { &ENGINES };
    for program in programs {
        let mut rng = Rng::new(seed);
        let server = Server::start(Options::new(*program));
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for i in 0..10_000_u32 {
            let key = format!("key:{}", i % 10);
            let value = format!("{i}\r\n$5\r\n").repeat(rng.below(20));
            match i % 4 {
                0 => {
                    bytes.extend(encode(&["SET", &key, &value]));
                    bytes.extend(encode(&["GET", &key]));
                    expected.extend([Value::ok(), Value::bulk(&value)]);
                }
                1 => {
                    bytes.extend(encode(&["ECHO", &value]));
                    expected.push(Value::bulk(&value));
                }
                2 => {
                    bytes.extend(b"PING inline\r\n");
                    expected.push(Value::bulk("inline"));
                }
                _ => {
                    bytes.extend(encode(&["INCR", "counter"]));
                    expected.push(Value::Int(i64::from(i / 4) + 1));
                }
            }
        }
        let mut conn = server.conn();
        let mut writer = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        writer.set_nodelay(true).unwrap();
        let mut reader = Conn::from_stream(writer.try_clone().unwrap()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let longest = *rng.pick(&[2, 20, 200, 20_000]);
                    let (now, later) = rest.split_at(rest.len().min(1 + rng.below(longest)));
                    writer.write_all(now).unwrap();
                    rest = later;
                }
            });
            for (i, expected) in expected.iter().enumerate() {
                let reply = reader.recv();
                assert_eq!(&reply, expected, "reply {i}, seed {seed}");
            }
        });
        assert_eq!(conn.call(&["GET", "counter"]), Value::bulk("2500"));
    }
}
