//! Payloads that servers of others wrote, and those of old ones made by hand: each is what its commands make.

use crate::check::split_words;
use crate::conn::Conn;
use crate::harness::{ENGINES, pool};
use crate::value::Value;

const FIXTURES: [(&str, &str); 4] = [
    ("redis-server 7.0", include_str!("../../fixtures/dump/redis-7.0.txt")),
    ("redis-server 8.0", include_str!("../../fixtures/dump/redis-8.0.txt")),
    ("valkey-server 9.1", include_str!("../../fixtures/dump/valkey-9.1.txt")),
    ("older servers", include_str!("../../fixtures/dump/old.txt")),
];

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect()
}

/// All that is to be known of a key, without times that pass.
pub fn content(conn: &mut Conn, key: &str) -> Vec<Value> {
    let kind = conn.call(&["TYPE", key]);
    let sorted = |value: Value, per: usize| {
        let mut elements: Vec<Vec<Value>> =
            value.items().unwrap().chunks(per).map(<[Value]>::to_vec).collect();
        elements.sort();
        Value::Array(elements.into_iter().map(Value::Array).collect())
    };
    let mut found = vec![kind.clone()];
    match kind.to_string().as_str() {
        "+string" => found.push(conn.call(&["GET", key])),
        "+list" => found.push(conn.call(&["LRANGE", key, "0", "-1"])),
        "+set" => found.push(sorted(conn.call(&["SMEMBERS", key]), 1)),
        "+zset" => found.push(conn.call(&["ZRANGE", key, "0", "-1", "WITHSCORES"])),
        "+hash" => {
            let fields = sorted(conn.call(&["HGETALL", key]), 2);
            let names: Vec<Vec<u8>> = fields
                .items()
                .unwrap()
                .iter()
                .map(|pair| pair.items().unwrap()[0].bytes().unwrap().to_vec())
                .collect();
            let count = names.len().to_string();
            let mut words =
                ["HPEXPIRETIME", key, "FIELDS", &count].map(|word| word.as_bytes().to_vec()).to_vec();
            words.extend(names);
            found.extend([fields, conn.call(&words)]);
        }
        "+stream" => {
            found.push(conn.call(&["XRANGE", key, "-", "+"]));
            let info = conn.call(&["XINFO", "STREAM", key]);
            let info = info.items().unwrap().chunks(2).filter(|pair| !pair[0].to_string().contains("radix"));
            found.extend(info.flatten().cloned());
            let groups = conn.call(&["XINFO", "GROUPS", key]);
            found.push(groups.clone());
            for group in groups.items().unwrap() {
                let name = group.items().unwrap()[1].bytes().unwrap().to_vec();
                let words = [
                    b"XPENDING".to_vec(),
                    key.into(),
                    name.clone(),
                    b"-".to_vec(),
                    b"+".to_vec(),
                    b"100".to_vec(),
                ];
                // Ids, consumers and deliveries; idle times pass.
                for entry in conn.call(&words).items().unwrap() {
                    let parts = entry.items().unwrap();
                    found.extend([&parts[0], &parts[1], &parts[3]].into_iter().cloned());
                }
                let consumers = conn.call(&[b"XINFO".to_vec(), b"CONSUMERS".to_vec(), key.into(), name]);
                for consumer in consumers.items().unwrap() {
                    found.extend(consumer.items().unwrap()[..4].iter().cloned());
                }
            }
        }
        other => panic!("{key} is {other}"),
    }
    found
}

#[test]
fn payloads_of_other_servers() {
    for program in ENGINES {
        let lease = pool::take(program);
        let mut conn = lease.server.conn();
        for (server, text) in FIXTURES {
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                let (commands, payload) = line.split_once('\t').expect("commands and a payload");
                conn.call(&["FLUSHALL"]);
                for command in commands.split(" | ") {
                    let reply = conn.call(&split_words(command));
                    assert!(!reply.is_error(), "{command}: {reply}");
                }
                let payload = unhex(payload);
                let restore = [&b"RESTORE"[..], b"restored", b"0", &payload];
                assert_eq!(conn.call(&restore), Value::ok(), "{server}: {commands}");
                assert_eq!(content(&mut conn, "restored"), content(&mut conn, "k"), "{server}: {commands}");
                // And once more by way of our own payload.
                let dumped = conn.call(&["DUMP", "restored"]);
                let dumped = dumped.bytes().expect("a payload");
                let restore = [&b"RESTORE"[..], b"again", b"0", dumped];
                assert_eq!(conn.call(&restore), Value::ok(), "{server}: {commands}");
                assert_eq!(content(&mut conn, "again"), content(&mut conn, "k"), "{server}: {commands}");
            }
        }
    }
}
