//! The golden bytes in docs/on-disk-format.md are the bytes this code writes.

use super::meta::{Body, Header, Kind};
use super::rows::{ExpireKind, collection, expire, meta};
use super::{SPACES, collection as elements, hash, list, stream, string, system, zset};

const DOCUMENT: &str = include_str!("../../docs/on-disk-format.md");

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn header(kind: Kind, expire_at_ms: u64, body: Body, rest: &[u8]) -> Vec<u8> {
    [Header { kind, expire_at_ms, body }.encode().as_slice(), rest].concat()
}

fn element(member: &[u8]) -> Vec<u8> {
    let mut row = collection(1, 0x1234, b"key", 7);
    elements::push_member(&mut row, 0x0102_0304_0506_0708, member);
    row.to_vec()
}

fn by_score(score: f64) -> Vec<u8> {
    let mut row = collection(1, 0x1234, b"key", 7);
    zset::push_score(&mut row, score, b"m");
    row.to_vec()
}

fn field(expire_at_ms: u64, indexed_ms: u64, version: u64, value: &[u8]) -> Vec<u8> {
    [hash::Head { expire_at_ms, indexed_ms, version }.encode().as_slice(), value].concat()
}

fn hash_own() -> Vec<u8> {
    [&[elements::TAIR][..], &elements::Expiring { parts: 1, earliest_ms: 0x0102 }.encode()].concat()
}

fn list_own() -> Vec<u8> {
    [&[0][..], &(list::MIDDLE - 1).to_be_bytes()].concat()
}

fn list_row() -> Vec<u8> {
    let mut row = collection(1, 0x1234, b"key", 7);
    list::push_index(&mut row, list::MIDDLE - 1);
    row.to_vec()
}

const ID: stream::Id = stream::Id::new(0x0102, 3);

fn stream_own() -> Vec<u8> {
    let (max_deleted, first) = (stream::Id::new(1, 2), stream::Id::new(1, 3));
    let state = stream::State { last: ID, max_deleted, first, added: 5, groups: 1 };
    [&[0][..], &state.encode()].concat()
}

fn entry_row() -> Vec<u8> {
    let mut row = collection(1, 0x1234, b"key", 7);
    row.extend_from_slice(&ID.encode());
    row.to_vec()
}

#[test]
fn the_documented_bytes_are_the_written_ones() {
    let golden = [
        meta(1, 0x1234, 0x0102_0304_0506, b"k").to_vec(),
        header(Kind::String, 0, Body::Inline, b"v"),
        header(Kind::String, 0x0102, Body::Inline, b"v"),
        header(Kind::Hash, 0, Body::Rows { version: 7, size: 2 }, &[elements::GROWN]),
        header(Kind::Hash, 0, Body::Rows { version: 7, size: 2 }, &hash_own()),
        header(Kind::List, 0, Body::Rows { version: 7, size: 2 }, &list_own()),
        header(Kind::Stream, 0, Body::Rows { version: 7, size: 2 }, &stream_own()),
        string::piece(&collection(1, 0x1234, b"key", 7), 0x0102).to_vec(),
        element(b"f"),
        field(0, 0, 1, b"v"),
        field(0x0102, 0x0102, 1, b"v"),
        field(0x0102, 0x0102, 9, b"v"),
        field(0x0102, 0x0101, 9, b"v"),
        list_row(),
        entry_row(),
        stream::encode_entry([&b"f"[..], b"vw"].into_iter()),
        zset::value(1.5).to_vec(),
        by_score(1.5),
        by_score(-1.5),
        stream::group_row(b"", b"g").to_vec(),
        stream::GroupState {
            version: 9,
            last: ID,
            read: Some(4),
            pending: 1,
            consumers: 2,
            last_consumer: 3,
            greatest: ID,
        }
        .encode()
        .to_vec(),
        stream::owner_row(b"", 9).to_vec(),
        stream::consumer_row(b"", 1).to_vec(),
        stream::pending_row(b"", ID).to_vec(),
        stream::Pending { consumer: 1, delivered_ms: 0x0102, deliveries: 3 }.encode().to_vec(),
        stream::owned_row(b"", 1, ID).to_vec(),
        stream::delivered_row(b"", 0x0102, ID).to_vec(),
        expire(0x0102, ExpireKind::Key, 1, 0x1234, b"k").to_vec(),
        expire(0x0102, ExpireKind::Parts, 1, 0x1234, b"k").to_vec(),
        hash::due(&collection(1, 0x1234, b"key", 7), 0x0102, b"f").to_vec(),
        system::database(15).to_vec(),
        system::key_count(2, 255).to_vec(),
        system::dropped(3).to_vec(),
        system::dead_rows(2, super::DATA).to_vec(),
        system::garbage(0x0102, 2, 3, b"key").to_vec(),
    ];
    let documented: Vec<&str> = DOCUMENT
        .lines()
        .filter(|line| !line.is_empty() && line.split(' ').all(|part| u8::from_str_radix(part, 16).is_ok()))
        .collect();
    assert_eq!(documented, golden.iter().map(|bytes| hex(bytes)).collect::<Vec<_>>());
}

#[test]
fn the_documented_spaces_are_the_real_ones() {
    for (number, space) in SPACES.iter().enumerate() {
        assert!(DOCUMENT.contains(&format!("| {number} | `{}` |", space.name)), "{}", space.name);
    }
    assert!(DOCUMENT.contains(&format!("Format version: **{}**.", system::FORMAT_VERSION)));
    assert!(DOCUMENT.contains(&format!("up to {} bytes is inline", string::INLINE_MAX)));
    assert!(DOCUMENT.contains(&format!("pieces of {} bytes", string::PIECE_LEN)));
}
