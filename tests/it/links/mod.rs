//! Several nodes on the same data: they know each other, and what is said on one is heard on the others.

mod dashboard;
mod slots;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tikv_double::{Double, Options as DoubleOptions};

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, eventually, free_port};
use crate::value::Value;

fn double() -> Double {
    Double::start(DoubleOptions::default()).unwrap()
}

fn options(double: &Double) -> Options {
    Options::new(Program::Tikv)
        .with("tikv-pd-addresses", &double.pd_address())
        .with("tikv-prefix", "test")
        .with("cluster-enabled", "yes")
        .with("notify-keyspace-events", "KEA")
}

/// Nodes that have links to each other.
fn start(double: &Double, count: usize) -> Vec<Server> {
    let servers: Vec<Server> = (0..count).map(|_| Server::start(options(double))).collect();
    linked(&servers);
    servers
}

fn linked(servers: &[Server]) {
    let others = (servers.len() - 1) as u64;
    for server in servers {
        let mut conn = server.conn();
        eventually("all are linked", || {
            field(&mut conn, "tikv_nodes") == others + 1
                && field(&mut conn, "tikv_links_to") == others
                && field(&mut conn, "tikv_links_from") == others
        });
    }
}

fn field(conn: &mut Conn, name: &str) -> u64 {
    let report = conn.call(&["INFO", "tikv"]);
    let report = String::from_utf8_lossy(report.bytes().unwrap()).into_owned();
    let line = report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} is missing in {report}")).trim().parse().unwrap()
}

/// Until something that was said on `from` for nobody but the test comes to a subscriber on another node: then the other node's
/// interest is known there.
fn heard(from: &mut Conn, by: &mut Conn, publish: &str, channel: &str, expected: &str) {
    eventually("the subscription is known on the other node", || {
        from.call(&[publish, channel, "probe"]);
        let message = by.try_recv_ready().unwrap();
        message.is_some_and(|message| message.to_string().contains(expected))
    });
}

#[test]
fn nodes_come_and_go() {
    let double = double();
    let mut servers = start(&double, 3);
    let other = Server::start(options(&double).with("tikv-prefix", "other"));
    let mut conn = other.conn();
    eventually("it is known to itself", || field(&mut conn, "tikv_nodes") == 1);
    assert_eq!(field(&mut conn, "tikv_links_to"), 0);
    // One that leaves says so, one that is killed is missed.
    assert_eq!(servers[2].stop().code(), Some(0));
    let mut conn = servers[0].conn();
    eventually("one has left", || field(&mut conn, "tikv_nodes") == 2);
    eventually("its links are gone", || {
        field(&mut conn, "tikv_links_to") == 1 && field(&mut conn, "tikv_links_from") == 1
    });
    servers[1].kill();
    eventually("one was killed", || field(&mut conn, "tikv_nodes") == 1);
    servers[1].restart();
    servers[2].restart();
    linked(&servers);
}

/// Whoever does not know the secret of the data is let in nowhere, holds up nobody and ends nothing.
#[test]
fn strangers_are_turned_away() {
    let double = double();
    let first = Server::start(options(&double));
    let mut conn = first.conn();
    eventually("it is known to itself", || field(&mut conn, "tikv_nodes") == 1);
    let nodes = conn.call(&["CLUSTER", "NODES"]);
    let link_port = link_port(&double);
    for words in [&b"*1\r\n$4\r\nPING\r\n"[..], b"GET / HTTP/1.1\r\n\r\n", &[0xff; 64], &[0; 4096]] {
        let mut stream = TcpStream::connect(("127.0.0.1", link_port)).unwrap();
        stream.set_read_timeout(Some(crate::conn::READ_TIMEOUT)).unwrap();
        // It may be closed while it is still written to.
        let _ = stream.write_all(words);
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{words:?} was answered {answer:?}, {ended:?}");
    }
    // A hello to this node is answered with a challenge; what proves nothing ends it.
    let id = first_id(&nodes);
    let hello = [b"tarnlink\x01", &[b'a'; 40][..], id.as_bytes(), &[7; 32]].concat();
    let mut stream = TcpStream::connect(("127.0.0.1", link_port)).unwrap();
    stream.set_read_timeout(Some(crate::conn::READ_TIMEOUT)).unwrap();
    stream.write_all(&hello).unwrap();
    let mut challenge = [0; 64];
    stream.read_exact(&mut challenge).unwrap();
    stream.write_all(&[9; 32]).unwrap();
    assert_eq!(stream.read(&mut challenge).unwrap_or(0), 0);
    // Silent ones make room for who has something to say.
    let silent: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(("127.0.0.1", link_port)).unwrap()).collect();
    let second = Server::start(options(&double));
    linked(&[first, second]);
    drop(silent);
}

/// The name at the beginning of a line of CLUSTER NODES.
fn first_id(nodes: &Value) -> String {
    let lines = String::from_utf8_lossy(nodes.bytes().unwrap()).into_owned();
    lines.split(' ').next().unwrap().to_owned()
}

/// Where the only node of the data waits for links, as its row says.
fn link_port(double: &Double) -> u16 {
    use tarn_engine::tikv::{Options as EngineOptions, TikvEngine};
    use tarn_engine::{Direction, Engine as _, Range, Read as _, Space, Wait};
    let engine = TikvEngine::open(&EngineOptions {
        pd_addresses: vec![double.pd_address()],
        prefix: "test".to_owned(),
        timeout: Duration::from_secs(10),
        relied: Vec::new(),
    })
    .unwrap();
    engine.wait_connected().unwrap();
    let mut port = None;
    let read = engine.begin_read(Wait::Allowed);
    let range = Range { start: b"m", end: b"n" };
    read.scan(Space(5), range, Direction::Forward, 1, &mut |_, row| {
        port = Some(u16::from_be_bytes(row[20..22].try_into().unwrap()));
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    port.expect("a row of the node")
}

#[test]
fn messages_reach_subscribers_on_other_nodes_in_order() {
    const COUNT: usize = 2_000;
    let double = double();
    let servers = start(&double, 3);
    let mut publisher = servers[0].conn();
    let mut listeners: Vec<Conn> = servers.iter().map(Server::conn).collect();
    for listener in &mut listeners {
        assert_eq!(listener.call(&["SUBSCRIBE", "news"]).to_string(), "[\"subscribe\" \"news\" :1]");
    }
    let mut patterns = servers[2].conn();
    patterns.call(&["PSUBSCRIBE", "n*"]);
    let mut shard = servers[1].conn();
    shard.call(&["SSUBSCRIBE", "s"]);
    for listener in &mut listeners[1..] {
        heard(&mut publisher, listener, "PUBLISH", "news", "probe");
    }
    heard(&mut publisher, &mut patterns, "PUBLISH", "n", "probe");
    heard(&mut publisher, &mut shard, "SPUBLISH", "s", "probe");
    // Only those on the node itself are counted, as in a cluster of Redis.
    let calls: Vec<[String; 3]> =
        (0..COUNT).map(|n| ["PUBLISH".to_owned(), "news".to_owned(), format!("m{n}")]).collect();
    assert!(publisher.call_all(&calls).iter().all(|count| *count == Value::Int(1)));
    for listener in listeners.iter_mut().chain(std::iter::once(&mut patterns)) {
        let next = |listener: &mut Conn| loop {
            let message = listener.recv().to_string();
            if !message.contains("probe") {
                break message;
            }
        };
        for n in 0..COUNT {
            let message = next(listener);
            assert!(message.ends_with(&format!("\"news\" \"m{n}\"]")), "{message} is not the {n}th");
        }
    }
    assert_eq!(publisher.call(&["SPUBLISH", "s", "last"]), Value::Int(0));
    assert_eq!(publisher.call(&["PUBLISH", "nobody:here", "x"]), Value::Int(0));
    loop {
        let message = shard.recv().to_string();
        if !message.contains("probe") {
            assert_eq!(message, "[\"smessage\" \"s\" \"last\"]");
            break;
        }
    }
    assert_eq!(field(&mut publisher, "tikv_messages_dropped"), 0);
    assert!(field(&mut servers[1].conn(), "tikv_messages_received") >= COUNT as u64);
}

/// What nobody has subscribed to is not sent.
#[test]
fn nothing_is_sent_to_nodes_that_have_nobody_to_hear_it() {
    let double = double();
    let servers = start(&double, 2);
    let (mut a, mut b) = (servers[0].conn(), servers[1].conn());
    for _ in 0..100 {
        a.call(&["PUBLISH", "news", "x"]);
    }
    b.call(&["SUBSCRIBE", "other"]);
    heard(&mut a, &mut b, "PUBLISH", "other", "probe");
    // Probes may still be on the way: what comes behind them tells that all are sent.
    a.call(&["PUBLISH", "other", "marker"]);
    while !b.recv().to_string().contains("marker") {}
    let sent = field(&mut a, "tikv_messages_sent");
    for _ in 0..100 {
        a.call(&["PUBLISH", "news", "x"]);
    }
    a.call(&["PUBLISH", "other", "last"]);
    eventually("the last one was sent", || field(&mut a, "tikv_messages_sent") > sent);
    while !b.recv().to_string().contains("last") {}
    assert_eq!(field(&mut a, "tikv_messages_sent"), sent + 1);
    b.call(&["UNSUBSCRIBE"]);
}

/// A client that caches cannot know what a node would have told that is lost.
#[test]
fn who_caches_drops_everything_when_a_link_is_lost() {
    let double = double();
    let mut servers = start(&double, 2);
    let mut conn = servers[0].conn3();
    assert_eq!(conn.call(&["CLIENT", "TRACKING", "ON"]), Value::ok());
    // From now on the other node tells of its changes.
    let dropped = "invalidate\" nil";
    assert!(conn.recv().to_string().contains(dropped));
    servers[1].kill();
    assert!(conn.recv().to_string().contains(dropped));
}

/// Two nodes; the second has no link to the first, since nobody waits at the port that the first tells.
fn deaf(double: &Double) -> (Server, Server) {
    let deaf = Server::start(options(double).with("cluster-announce-bus-port", &free_port().to_string()));
    let other = Server::start(options(double));
    for (server, to, from) in [(&deaf, 1, 0), (&other, 0, 1)] {
        let mut conn = server.conn();
        eventually("there is one link", || {
            field(&mut conn, "tikv_links_to") == to && field(&mut conn, "tikv_links_from") == from
        });
    }
    (deaf, other)
}

/// While a node that is there cannot be heard, nothing stays cached for long.
#[test]
fn who_caches_drops_everything_while_a_node_cannot_be_heard() {
    let double = double();
    let (deaf, _other) = deaf(&double);
    let mut conn = deaf.conn3();
    conn.call(&["CLIENT", "TRACKING", "ON"]);
    for _ in 0..3 {
        assert!(conn.recv().to_string().contains("invalidate\" nil"));
    }
}

/// What does not fit is lost, and counted.
#[test]
fn messages_that_are_too_long_stay_on_their_node() {
    let double = double();
    let servers = start(&double, 2);
    let (mut a, mut b) = (servers[0].conn(), servers[1].conn());
    b.call(&["SUBSCRIBE", "c"]);
    heard(&mut a, &mut b, "PUBLISH", "c", "probe");
    assert_eq!(a.call(&["PUBLISH", "c", &"x".repeat(17 << 20)]), Value::Int(0));
    assert_eq!(field(&mut a, "tikv_messages_dropped"), 1);
    let long = "y".repeat(15 << 20);
    a.call(&["PUBLISH", "c", &long]);
    a.call(&["PUBLISH", "c", "last"]);
    let mut next = || loop {
        let message = b.recv();
        if !message.to_string().contains("probe") {
            break message;
        }
    };
    match next() {
        Value::Array(parts) => assert_eq!(parts[2], Value::bulk(long)),
        other => panic!("{other}"),
    }
    assert_eq!(next().to_string(), "[\"message\" \"c\" \"last\"]");
}
