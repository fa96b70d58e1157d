//! Where the bytes of a string lie, and that a change touches only what it must.

use std::ops::ControlFlow;

use crate::encoding::DATA;
use crate::encoding::rows::read_element;
use crate::encoding::string::{INLINE_MAX, PIECE_LEN};
use crate::keyspace::View as _;
use crate::testkit::Kit;

/// The rows of all pieces on record: piece number and length.
fn pieces(kit: &mut Kit, key: &[u8]) -> Vec<(u32, usize)> {
    let mut found: Vec<(u64, u32, usize)> = Vec::new();
    kit.executor
        .look(0, |cx| {
            cx.scan_each(DATA, &[0], &[0xff], usize::MAX, &mut |row, value| {
                let row = read_element(row).unwrap();
                if row.key == key {
                    let number = u32::from_be_bytes(row.sub.try_into().unwrap());
                    found.push((row.version, number, value.len()));
                }
                ControlFlow::Continue(())
            })
        })
        .unwrap();
    let newest = found.iter().map(|(version, ..)| *version).max();
    found.into_iter().filter(|f| Some(f.0) == newest).map(|(_, number, len)| (number, len)).collect()
}

fn filled(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8 + 1).collect()
}

#[test]
fn a_string_leaves_its_metadata_row_above_the_limit() {
    let mut kit = Kit::new();
    kit.words([b"SET", b"k".as_slice(), &filled(INLINE_MAX)]);
    assert_eq!(pieces(&mut kit, b"k"), []);
    kit.words([b"SET", b"k".as_slice(), &filled(INLINE_MAX + 1)]);
    assert_eq!(pieces(&mut kit, b"k"), [(0, PIECE_LEN), (1, 1)]);
    assert_eq!(kit.run("STRLEN k | SET k short | GET k"), r#":4097 | +OK | "short""#);
}

#[test]
fn what_lies_between_is_not_written() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("SET k abc | SETRANGE k 536870911 z | STRLEN k"), "+OK | :536870912 | :536870912");
    assert!(!kit.moved);
    let last = (536_870_912 / PIECE_LEN - 1) as u32;
    assert_eq!(pieces(&mut kit, b"k"), [(0, 3), (last, PIECE_LEN)]);
    assert_eq!(kit.run("GETRANGE k 1 4 | GETRANGE k -2 -1"), r#""bc\x00\x00" | "\x00z""#);
    assert_eq!(kit.run("SETBIT m 4294967295 1 | GETBIT m 4294967295 | BITCOUNT m"), ":0 | :1 | :1");
    assert_eq!(pieces(&mut kit, b"m").len(), 1);
    assert_eq!(kit.run("BITPOS m 1 | BITPOS m 0 | BITPOS k 1 3"), ":4294967295 | :0 | :4294967289");
}

#[test]
fn changes_touch_only_their_pieces() {
    let mut kit = Kit::new();
    let mut expected = filled(3 * PIECE_LEN + 10);
    kit.words([b"SET", b"k".as_slice(), &expected]);
    let change = |kit: &mut Kit, expected: &mut Vec<u8>, at: usize, bytes: &[u8]| {
        kit.words([b"SETRANGE", b"k".as_slice(), at.to_string().as_bytes(), bytes]);
        expected.resize(expected.len().max(at + bytes.len()), 0);
        expected[at..at + bytes.len()].copy_from_slice(bytes);
        let whole = kit.words(["GET", "k"]);
        let shown = kit.words([b"ECHO".as_slice(), expected]);
        assert!(shown.starts_with("-ERR") || whole == shown);
        for (start, end) in
            [(0, 3), (PIECE_LEN - 2, PIECE_LEN + 2), (at.saturating_sub(2), at + bytes.len() + 2)]
        {
            let got = kit.words(["GETRANGE", "k", &start.to_string(), &end.to_string()]);
            let end = expected.len().min(end + 1);
            assert_eq!(got, format!("\"{}\"", escape(&expected[start..end])), "{start}..{end}");
        }
    };
    change(&mut kit, &mut expected, 5, b"hello");
    change(&mut kit, &mut expected, PIECE_LEN - 2, b"over the edge");
    change(&mut kit, &mut expected, PIECE_LEN, &filled(PIECE_LEN));
    change(&mut kit, &mut expected, PIECE_LEN + 7, &filled(2 * PIECE_LEN));
    change(&mut kit, &mut expected, 5 * PIECE_LEN + 1, b"far");
    assert_eq!(
        pieces(&mut kit, b"k"),
        [(0, PIECE_LEN), (1, PIECE_LEN), (2, PIECE_LEN), (3, 10), (5, 4)],
        "piece 4 is a hole and piece 3 is short"
    );
    let len = expected.len();
    assert_eq!(kit.words([b"APPEND", b"k".as_slice(), b"tail"]), format!(":{}", len + 4));
    assert_eq!(kit.run("GETRANGE k -7 -1"), r#""fartail""#);
}

fn escape(bytes: &[u8]) -> String {
    tarn_resp::decode::Value::Bulk(bytes.to_vec()).to_string().trim_matches('"').to_owned()
}

#[test]
fn long_values_go_to_a_worker() {
    let mut kit = Kit::new();
    let long = filled(300_000);
    kit.words([b"SET", b"k".as_slice(), &long]);
    assert!(kit.moved);
    kit.run("STRLEN k");
    assert!(!kit.moved);
    kit.run("GETRANGE k 0 100");
    assert!(!kit.moved);
    kit.run("APPEND k x");
    assert!(!kit.moved);
    kit.run("GET k");
    assert!(kit.moved);
    assert_eq!(
        kit.run("BITOP NOT d k | BITOP XOR e d k | STRLEN e | BITPOS e 0"),
        ":300001 | :300001 | :300001 | :2400008"
    );
}

#[test]
fn the_longest_string() {
    let mut kit = Kit::with(&[("proto-max-bulk-len", "1mb")]);
    let too_long = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)";
    assert_eq!(kit.run("SETRANGE k 1048575 x | STRLEN k"), ":1048576 | :1048576");
    assert_eq!(
        kit.run("SETRANGE k 1048576 x | APPEND k x | STRLEN k"),
        format!("{too_long} | {too_long} | :1048576")
    );
    assert_eq!(kit.run("SETRANGE k 9223372036854775807 x"), too_long);
    assert_eq!(
        kit.run("SETBIT b 8388607 1 | SETBIT b 8388608 1"),
        ":0 | -ERR bit offset is not an integer or out of range"
    );
}

#[test]
fn a_copy_has_the_same_pieces_and_holes() {
    let mut kit = Kit::new();
    kit.run("SETRANGE k 5000 abc | SETRANGE k 1000000 z");
    let rows = pieces(&mut kit, b"k");
    assert_eq!(rows.len(), 2);
    assert_eq!(kit.run("COPY k copy | APPEND k tail | STRLEN copy"), ":1 | :1000005 | :1000001");
    assert_eq!(pieces(&mut kit, b"copy"), rows);
    assert_eq!(kit.run("RENAME copy renamed | EXISTS copy | STRLEN renamed"), "+OK | :0 | :1000001");
    assert!(kit.run("GETRANGE renamed 4999 5003").ends_with(r#""\x00abc\x00""#));
    assert_eq!(pieces(&mut kit, b"renamed"), rows);
}
