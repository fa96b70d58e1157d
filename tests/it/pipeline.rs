//! Pipelines that stay with one key: their commands may be committed together, which nobody must be able to tell.

use std::collections::BTreeSet;

use crate::conn::Conn;
use crate::harness::{ENGINES, Options, Server};
use crate::value::Value;

/// Replies to commands that are sent in one go, parted by ` | `.
fn pipeline(conn: &mut Conn, line: &str) -> String {
    let commands: Vec<Vec<&str>> = line.split(" | ").map(|command| command.split(' ').collect()).collect();
    let replies = conn.call_all(&commands);
    replies.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}

fn servers(options: &[(&str, &str)]) -> impl Iterator<Item = Server> {
    let options = options.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let options: Vec<_> = options.collect();
    ENGINES.into_iter().map(move |engine| {
        let with = |all: Options, (name, value): &(String, String)| all.with(name, value);
        Server::start(options.iter().fold(Options::new(engine), with))
    })
}

#[test]
fn an_error_stands_where_its_command_does() {
    for server in servers(&[]) {
        let mut conn = server.conn();
        for _ in 0..2 {
            assert_eq!(
                pipeline(
                    &mut conn,
                    "RPUSH l a | RPUSH l b | INCR l | RPUSH l c | SADD l x | LPOP l | LLEN l"
                ),
                ":1 | :2 | -WRONGTYPE Operation against a key holding the wrong kind of value | :3 | \
                 -WRONGTYPE Operation against a key holding the wrong kind of value | \"a\" | :2"
            );
            assert_eq!(
                pipeline(&mut conn, "INCR n | INCRBY n x | INCR n | INCRBY n 9223372036854775807 | GET n"),
                ":1 | -ERR value is not an integer or out of range | :2 | \
                 -ERR increment or decrement would overflow | \"2\""
            );
            assert_eq!(pipeline(&mut conn, "DEL l n"), ":2");
        }
    }
}

#[test]
fn pops_of_a_pipeline_give_each_member_once() {
    const MEMBERS: usize = 5_000;
    for server in servers(&[]) {
        let mut conn = server.conn();
        for _ in 0..2 {
            for start in (0..MEMBERS).step_by(1_000) {
                let members = (start..start + 1_000).map(|member| member.to_string());
                let words: Vec<_> = ["SADD".to_owned(), "s".to_owned()].into_iter().chain(members).collect();
                assert_eq!(conn.call(&words), Value::Int(1_000));
            }
            let mut seen = BTreeSet::new();
            while seen.len() < MEMBERS {
                // More than are looked at together, and now and then more than are left.
                let replies = conn.call_all(&vec![["SPOP", "s"]; 47]);
                let popped = replies.iter().filter(|reply| !reply.is_nil());
                for reply in popped {
                    assert!(seen.insert(reply.to_string()), "{reply} came twice");
                }
            }
            assert_eq!(pipeline(&mut conn, "SPOP s | EXISTS s"), "nil | :0");
        }
    }
}

#[test]
fn each_command_is_counted_and_told_of() {
    for server in servers(&[("notify-keyspace-events", "KEA")]) {
        let mut conn = server.conn();
        assert_eq!(pipeline(&mut conn, "CONFIG RESETSTAT | INCR n | INCR n | INCR n"), "+OK | :1 | :2 | :3");
        let stats = conn.call(&["INFO", "commandstats"]).to_string();
        assert!(stats.contains("cmdstat_incr:calls=3,"), "{stats}");
        let mut listener = server.conn();
        listener.call(&["SUBSCRIBE", "__keyspace@0__:n"]);
        let mut monitor = server.conn();
        monitor.call(&["MONITOR"]);
        assert_eq!(pipeline(&mut conn, "INCR n | DECR n | EXPIRE n 100"), ":4 | :3 | :1");
        for event in ["incrby", "incrby", "expire"] {
            let message = listener.recv().to_string();
            assert!(message.contains(&format!("\"{event}\"")), "{message} is not about {event}");
        }
        for command in ["\"INCR\" \"n\"", "\"DECR\" \"n\"", "\"EXPIRE\" \"n\" \"100\""] {
            let line = monitor.recv().to_string().replace('\\', "");
            assert!(line.contains(command), "{line} is not {command}");
        }
    }
}

#[test]
fn replies_that_are_not_wanted_do_not_come() {
    for server in servers(&[]) {
        let mut conn = server.conn();
        conn.send_raw(b"CLIENT REPLY SKIP\r\nINCR n\r\nINCR n\r\nINCR n\r\n");
        assert_eq!((conn.recv(), conn.recv()), (Value::Int(2), Value::Int(3)));
        conn.send_raw(b"CLIENT REPLY OFF\r\nINCR n\r\nINCR n\r\nCLIENT REPLY ON\r\nINCR n\r\nINCR n\r\n");
        let replies = [conn.recv(), conn.recv(), conn.recv()].map(|reply| reply.to_string());
        assert_eq!(replies, ["+OK", ":6", ":7"]);
    }
}

#[test]
fn what_was_committed_together_is_there_after_a_kill() {
    let mut server = Server::start(Options::new(crate::harness::Program::Rocksdb));
    let mut conn = server.conn();
    for round in 0..20 {
        let line: Vec<String> = (0..100).map(|n| format!("RPUSH l {}", round * 100 + n)).collect();
        pipeline(&mut conn, &line.join(" | "));
        assert_eq!(pipeline(&mut conn, "LPOP l | RPOP l"), format!("\"{round}\" | \"{}\"", round * 100 + 99));
    }
    let before = conn.call(&["LRANGE", "l", "0", "-1"]);
    server.kill();
    server.restart();
    let mut conn = server.conn();
    assert_eq!(conn.call(&["LLEN", "l"]), Value::Int(20 * 98));
    assert_eq!(conn.call(&["LRANGE", "l", "0", "-1"]), before);
}
