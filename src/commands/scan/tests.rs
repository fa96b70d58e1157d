use std::collections::BTreeSet;

use super::*;
use crate::testkit::Kit;

#[test]
fn a_plain_name_is_looked_up_and_a_pattern_is_for_a_worker() {
    let mut kit = Kit::new();
    kit.words(["MSET", "a", "1", "a*b", "2", "axb", "3", "", "4"]);
    assert_eq!(kit.run("KEYS a"), r#"["a"]"#);
    assert!(!kit.moved);
    assert_eq!(kit.words(["KEYS", r"a\xb"]), r#"["axb"]"#);
    assert_eq!(kit.words(["KEYS", ""]), r#"[""]"#);
    assert_eq!(kit.words(["KEYS", "b"]), "[]");
    assert!(!kit.moved);
    assert_eq!(kit.words(["KEYS", r"a\*b"]), r#"["a*b"]"#);
    assert!(kit.moved);
    assert_eq!(kit.run("SET b 1 PX 1 | DEL a axb"), "+OK | :2");
    kit.pass_ms(1);
    assert_eq!(kit.run("KEYS b"), "[]");
    assert_eq!(kit.words(["KEYS", "?*"]), r#"["a*b"]"#);
}

#[test]
fn plain_names_lose_their_escapes_as_patterns_do() {
    for pattern in [&b"abc"[..], br"a\bc", br"\\", br"a\", b"\\\\\\", b""] {
        let name = plain_name(pattern);
        assert!(glob::matches(pattern, &name, false), "{}", pattern.escape_ascii());
    }
}

#[test]
fn cursors_are_read_as_c_reads_them() {
    for (word, cursor) in [
        (&b"0"[..], Some(0)),
        (b"", Some(0)),
        (b"-1", Some(u64::MAX)),
        (b"+7", Some(7)),
        (b"007", Some(7)),
        (b"18446744073709551615", Some(u64::MAX)),
        (b"18446744073709551616", None),
        (b"-18446744073709551616", None),
        (b"1\0abc", Some(1)),
        (b"\0", Some(0)),
        (b" 1", None),
        (b"1 ", None),
        (b"-", None),
        (b"--1", None),
        (b"abc", None),
    ] {
        assert_eq!(super::cursor(word).ok(), cursor, "{}", word.escape_ascii());
    }
}

#[test]
fn a_whole_scan_returns_everything() {
    let mut kit = Kit::new();
    for n in 0..100 {
        kit.run(&format!("SET key:{n} {n}"));
    }
    for count in [1, 7, 99, 100, 1_000] {
        let (mut seen, mut cursor) = (BTreeSet::new(), "0".to_owned());
        loop {
            let reply = kit.run(&format!("SCAN {cursor} COUNT {count} MATCH key:*"));
            assert!(!kit.moved);
            let mut words = reply
                .trim_matches(['[', ']'])
                .split('"')
                .filter(|word| !word.trim_matches([' ', '[']).is_empty());
            cursor = words.next().unwrap().to_owned();
            seen.extend(words.map(str::to_owned));
            if cursor == "0" {
                break;
            }
        }
        assert_eq!(seen.len(), 100, "count {count}");
    }
    kit.run("SCAN 0 COUNT 1001");
    assert!(kit.moved);
}

#[test]
fn types_are_filtered_by_name() {
    let mut kit = Kit::new();
    kit.run("SET a 1");
    assert_eq!(
        kit.run("SCAN 0 TYPE StRiNg | SCAN 0 TYPE list | SCAN 0 TYPE nope"),
        r#"["0" ["a"]] | ["0" []] | ["0" []]"#
    );
    assert_eq!(kit.run("SCAN 0 TYPE string TYPE list | SCAN 0 MATCH * MATCH b"), r#"["0" []] | ["0" []]"#);
}

#[test]
fn random_keys_are_random_and_alive() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("RANDOMKEY"), "nil");
    kit.run("MSET a 1 b 2 c 3 | SET gone 4 PX 1");
    kit.pass_ms(1);
    let seen: BTreeSet<_> = (0..300).map(|_| kit.run("RANDOMKEY")).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [r#""a""#, r#""b""#, r#""c""#]);
}
