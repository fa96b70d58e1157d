use crate::keyspace::{Env, draws};
use crate::rdb;
use crate::testkit::Kit;

const FIXTURES: [&str; 3] = [
    include_str!("../../../tests/fixtures/dump/redis-7.0.txt"),
    include_str!("../../../tests/fixtures/dump/redis-8.0.txt"),
    include_str!("../../../tests/fixtures/dump/valkey-9.1.txt"),
];

fn payloads() -> Vec<Vec<u8>> {
    let lines = FIXTURES.iter().flat_map(|text| text.lines());
    lines.map(|line| unhex(line.split('\t').nth(1).expect("a payload"))).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect()
}

fn restore(kit: &mut Kit, key: &str, payload: &[u8]) -> String {
    kit.words([b"RESTORE", key.as_bytes(), b"0", payload, b"REPLACE"])
}

fn bulk(kit: &mut Kit, words: &[&str]) -> Vec<u8> {
    let words: tarn_resp::OwnedArgs = words.iter().collect();
    let out = kit.bytes(words.view());
    let begin = out.windows(2).position(|pair| pair == b"\r\n").expect("a bulk") + 2;
    out[begin..out.len() - 2].to_vec()
}

/// Everything that is to be known of a key, by commands that read it in different ways. None of them may fail.
fn examine(kit: &mut Kit, key: &str) {
    let name = kit.run(&format!("TYPE {key}"));
    let count = |shown: &str| shown.trim_start_matches(':').parse::<usize>().expect("a count");
    let lines: &[&str] = match name.as_str() {
        "+string" => &["STRLEN", "GET"],
        "+list" => &["LLEN", "LRANGE 0 -1"],
        "+set" => &["SCARD", "SMEMBERS"],
        "+zset" => &["ZCARD", "ZRANGE 0 -1"],
        "+hash" | "+tairhash-" => &["HLEN", "HKEYS"],
        "+stream" => &["XLEN", "XRANGE - +", "XREVRANGE + -", "XINFO STREAM FULL", "XINFO GROUPS"],
        other => panic!("{other}"),
    };
    let mut replies = lines.iter().map(|line| {
        let mut words: Vec<&str> = line.split(' ').collect();
        let place = if line.starts_with("XINFO") { 2 } else { 1 };
        words.insert(place, key);
        let words: tarn_resp::OwnedArgs = words.iter().collect();
        let out = kit.bytes(words.view());
        let (replies, _) = tarn_resp::decode::all(&out).expect("replies that decode");
        let text = replies[0].to_string();
        assert!(!text.starts_with('-'), "{line}: {text}");
        (out, text)
    });
    let (_, size) = replies.next().unwrap();
    let (all, _) = replies.next().unwrap();
    if name != "+string" {
        let len: usize = std::str::from_utf8(&all[1..all.iter().position(|byte| *byte == b'\r').unwrap()])
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(len, count(&size), "{name}");
    }
    replies.for_each(drop);
}

/// Payloads that were changed at random and have the right checksum: taken or refused, never half of them.
#[test]
fn payloads_that_lie_are_refused_or_whole() {
    let mut kit = Kit::new();
    let payloads = payloads();
    let mut random = draws(20_261_117);
    let mut draw = |below: usize| (random.next().unwrap() % below.max(1) as u64) as usize;
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let payload = &payloads[draw(payloads.len())];
        let (content, version) = rdb::open(payload).expect("a payload");
        let mut content = content.to_vec();
        for _ in 0..1 + draw(3) {
            let at = draw(content.len());
            match draw(6) {
                0 => content[at] ^= 1 << draw(8),
                1 => content[at] = [0, 1, 0x7f, 0x80, 0x81, 0xc0, 0xc3, 0xf0, 0xfe, 0xff][draw(10)],
                2 => content.insert(at, draw(256) as u8),
                3 => drop(content.remove(at)),
                4 => content.truncate(at.max(1)),
                _ => {
                    let piece: Vec<u8> = content[at..].iter().copied().take(1 + draw(20)).collect();
                    let to = draw(content.len());
                    content.splice(to..to, piece);
                }
            }
            if content.is_empty() {
                content.push(0);
            }
        }
        let version = if draw(4) == 0 { [6, 9, 10, 11, 12, 14, 16, 80][draw(8)] } else { version };
        let mut payload = content;
        rdb::seal(&mut payload, version);
        kit.run("SET k before");
        match restore(&mut kit, "k", &payload).as_str() {
            "+OK" => {
                taken += 1;
                if kit.run("EXISTS k") == ":0" {
                    // Its fields had expired.
                    continue;
                }
                examine(&mut kit, "k");
                let again = bulk(&mut kit, &["DUMP", "k"]);
                assert_eq!(restore(&mut kit, "k2", &again), "+OK");
                if kit.run("TYPE k") != "+tairhash-" {
                    assert_eq!(bulk(&mut kit, &["DUMP", "k2"]), again);
                }
                assert_eq!(kit.run("DEL k k2"), ":2");
            }
            "-ERR Bad data format" => {
                refused += 1;
                assert_eq!(kit.run("GET k"), "\"before\"");
            }
            other => panic!("{other}"),
        }
    }
    assert!(taken > 1_000 && refused > 5_000, "{taken} were taken, {refused} refused");
}

/// As [`bulk`] of DUMP, with its footer made anew.
fn sealed(content: &[u8]) -> Vec<u8> {
    let mut payload = content.to_vec();
    rdb::seal(&mut payload, 11);
    payload
}

#[test]
fn names_that_come_twice_are_refused() {
    let mut kit = Kit::new();
    for content in [
        &b"\x02\x02\x01a\x01a"[..],
        b"\x04\x02\x01a\x01x\x01a\x01y",
        b"\x05\x02\x01a\0\0\0\0\0\0\0\0\x01a\0\0\0\0\0\0\0\0",
        b"\x02\x00",
        b"\x01\x00",
        b"\x04\x00",
        b"\x05\x00",
    ] {
        assert_eq!(restore(&mut kit, "k", &sealed(content)), "-ERR Bad data format", "{content:?}");
        assert_eq!(kit.run("EXISTS k"), ":0");
    }
    // Elements of a list may.
    assert_eq!(restore(&mut kit, "k", &sealed(b"\x01\x02\x01a\x01a")), "+OK");
}

#[test]
fn a_length_that_lies_takes_no_memory() {
    let mut kit = Kit::new();
    let most = b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff";
    for number in
        [0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 29, 31]
    {
        for behind in [
            &most[..],
            &most[..].repeat(4),
            &[&[0; 8][..], most].concat(),
            &[&b"\xc3\x05"[..], most, b"abcde"].concat(),
        ] {
            let content = [&[number], behind].concat();
            assert_eq!(restore(&mut kit, "k", &sealed(&content)), "-ERR Bad data format", "{content:?}");
        }
    }
}

#[test]
fn much_of_it_is_done_by_a_worker() {
    let mut kit = Kit::new();
    let members: Vec<String> = (0..5 * Env::IO_THREAD_MAX_ROWS).map(|n| format!("member-{n}")).collect();
    let value = "x".repeat(100);
    for (key, make) in [("s", "SADD"), ("l", "RPUSH"), ("z", "ZADD"), ("h", "HSET")] {
        for part in members.chunks(500) {
            let words = part.iter().flat_map(|member| match key {
                "z" => vec!["1", member.as_str()],
                "h" => vec![member.as_str(), value.as_str()],
                _ => vec![member.as_str()],
            });
            kit.words([make, key].into_iter().chain(words));
        }
        let payload = bulk(&mut kit, &["DUMP", key]);
        assert!(kit.moved, "{key}");
        assert_eq!(restore(&mut kit, "copy", &payload), "+OK");
        assert!(kit.moved, "{key}");
        assert_eq!(bulk(&mut kit, &["DUMP", "copy"]), payload, "{key}");
    }
    kit.words(["SET", "big", &"x".repeat(10 * Env::IO_THREAD_MAX_BYTES)]);
    let payload = bulk(&mut kit, &["DUMP", "big"]);
    assert!(kit.moved);
    assert!(payload.len() < 100_000, "it is compressed");
    assert_eq!(restore(&mut kit, "copy", &payload), "+OK");
    assert!(kit.moved);
    assert_eq!(kit.run("STRLEN copy"), format!(":{}", 10 * Env::IO_THREAD_MAX_BYTES));
}

#[test]
fn what_is_too_long_to_be_sent_back_is_not_dumped() {
    let mut kit = Kit::with(&[("proto-max-bulk-len", "1mb")]);
    let value = "0123456789abcdef".repeat(4096);
    for n in 0..40 {
        // Random digits, which cannot be compressed much.
        let noise: String = draws(n).take(4_000).map(|number| format!("{number:016x}")).collect();
        kit.words(["RPUSH", "l", &noise]);
        kit.words(["HSET", "h", &n.to_string(), &noise]);
    }
    for key in ["l", "h"] {
        assert_eq!(kit.words(["DUMP", key]), "-ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    }
    kit.words(["SET", "s", &value]);
    assert!(!kit.words(["DUMP", "s"]).starts_with('-'));
    // Nor is what would be too long restored.
    let mut payload = Kit::new();
    payload.words(["SET", "s", &"x".repeat(2 << 20)]);
    let payload = bulk(&mut payload, &["DUMP", "s"]);
    assert_eq!(restore(&mut kit, "k", &payload), "-ERR Bad data format");
}
