use std::collections::BTreeMap;

use super::order::{Collected, Want};
use super::rows::Rows;
use super::*;
use crate::rocksdb::hash::Hasher;
use crate::{Direction, Groups, Space, SpaceDef, Wait};

const DEF: SpaceDef =
    SpaceDef { name: "s", group_len: |key| key.len().min(2), queue_like: false, groups: Groups::Plain };

struct Fixture {
    hasher: Hasher,
    table: Table,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { hasher: Hasher::new(), table: Table::default() }
    }

    fn set(&mut self, key: &[u8], value: Option<&[u8]>) -> usize {
        let hash = self.hasher.row(&DEF, Space(0), key);
        self.table.set(0, key, &hash, value)
    }

    /// None where the table knows nothing, Some(None) for a tombstone.
    fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let hash = self.hasher.row(&DEF, Space(0), key);
        self.table.get(0, key, &hash).map(|row| row.value)
    }

    fn want<'a>(&self, group: &'a [u8], start: &'a [u8], end: &'a [u8], direction: Direction) -> Want<'a> {
        Want {
            id: self.hasher.group_id(Space(0), group),
            start,
            end,
            direction,
            max_rows: usize::MAX,
            max_bytes: usize::MAX / 2,
            wait: Wait::Allowed,
        }
    }

    fn order(&mut self, group: &[u8]) {
        self.table.order_group(self.hasher.group_id(Space(0), group));
    }
}

fn keys(rows: &Rows) -> Vec<Vec<u8>> {
    (0..rows.len()).map(|index| rows.key(index).unwrap().to_vec()).collect()
}

#[test]
fn rows_of_all_sizes_are_found_after_all_changes() {
    let mut fixture = Fixture::new();
    let mut model: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
    for round in 0..4_usize {
        for number in 0..3000_u32 {
            let key = [&b"gr"[..], &number.to_be_bytes()].concat();
            let len = (number as usize * 31 + round * 977) % 200 + if number % 500 == 0 { 40_000 } else { 0 };
            let value = (number as usize % 7 != round).then(|| vec![round as u8; len]);
            fixture.set(&key, value.as_deref());
            model.insert(key, value);
        }
    }
    assert_eq!(fixture.table.len(), 3000);
    for (key, value) in &model {
        assert_eq!(fixture.get(key), Some(value.as_deref()));
    }
    assert_eq!(fixture.get(b"gr"), None);
    let hash = fixture.hasher.row(&DEF, Space(1), b"gr\0\0\0\0");
    assert!(fixture.table.get(1, b"gr\0\0\0\0", &hash).is_none(), "spaces are apart");
}

#[test]
fn a_value_that_fits_is_changed_where_it_stands() {
    let mut fixture = Fixture::new();
    assert!(fixture.set(b"key", Some(b"12345678")) > 0);
    assert_eq!(fixture.set(b"key", Some(b"8765")), 0);
    assert_eq!(fixture.set(b"key", None), 0);
    assert_eq!(fixture.get(b"key"), Some(None));
    assert_eq!(fixture.set(b"key", Some(b"abcdefgh")), 0);
    assert_eq!(fixture.get(b"key"), Some(Some(&b"abcdefgh"[..])));
    // One that grows step by step is moved a few times, not each time.
    let moves = (9..2000).filter(|len| fixture.set(b"key", Some(&vec![1; *len])) > 0).count();
    assert!(moves < 20, "{moves}");
    let (from, to) = (b"ke".to_vec(), b"kf".to_vec());
    let want = fixture.want(b"ke", &from, &to, Direction::Forward);
    let mut rows = Rows::default();
    assert_eq!(fixture.table.collect(&want, 0, &mut rows), Collected::All);
    assert_eq!(keys(&rows), [b"key"], "places it has left do not count");
    assert_eq!(rows.value(0).unwrap().unwrap().len(), 1999);
}

#[test]
fn a_group_is_collected_in_order_with_and_without_an_index() {
    let mut fixture = Fixture::new();
    for number in (0..order::CHAIN_LIMIT as u16).rev() {
        fixture.set(&[&b"aa"[..], &number.to_be_bytes()].concat(), Some(b"v"));
        fixture.set(&[&b"ab"[..], &number.to_be_bytes()].concat(), Some(b"v"));
    }
    let (start, end) = (b"aa\0\x05".to_vec(), b"aa\0\x0a".to_vec());
    let wanted: Vec<Vec<u8>> = (5..10_u8).map(|number| vec![b'a', b'a', 0, number]).collect();
    let check = |fixture: &Fixture| {
        for direction in [Direction::Forward, Direction::Backward] {
            let mut rows = Rows::default();
            let want = fixture.want(b"aa", &start, &end, direction);
            assert_eq!(fixture.table.collect(&want, 0, &mut rows), Collected::All);
            let mut wanted = wanted.clone();
            if direction == Direction::Backward {
                wanted.reverse();
            }
            assert_eq!(keys(&rows), wanted);

            let mut rows = Rows::default();
            let two = Want { max_rows: 2, ..want };
            assert_eq!(fixture.table.collect(&two, 0, &mut rows), Collected::Some);
            assert_eq!(keys(&rows), wanted[..2]);
        }
    };
    check(&fixture);

    // One more makes the chain too long to be sorted by each scan.
    fixture.set(b"aa\xff\xff", Some(b"v"));
    let want = fixture.want(b"aa", &start, &end, Direction::Forward);
    assert_eq!(fixture.table.collect(&want, 0, &mut Rows::default()), Collected::NeedsOrder);
    fixture.order(b"aa");
    check(&fixture);

    // Later rows, and rows that move, are kept in order.
    fixture.set(b"aa\0\x07\0", Some(b"new"));
    fixture.set(b"aa\0\x06", Some(&[b'x'; 100]));
    fixture.set(b"aa\0\x08", None);
    let want = fixture.want(b"aa", &start, &end, Direction::Forward);
    let mut rows = Rows::default();
    assert_eq!(fixture.table.collect(&want, 0, &mut rows), Collected::All);
    let mut with_new = wanted.clone();
    with_new.insert(3, b"aa\0\x07\0".to_vec());
    assert_eq!(keys(&rows), with_new);
    assert_eq!(rows.value(1), Some(Some(&[b'x'; 100][..])));
    assert_eq!(rows.value(4), Some(None));
}

#[test]
fn a_sealed_table_sorts_a_long_group_once_asked() {
    let mut fixture = Fixture::new();
    for number in 0..1000_u16 {
        fixture.set(&[&b"aa"[..], &number.wrapping_mul(777).to_be_bytes()].concat(), Some(b"v"));
    }
    let (start, end) = (b"aa".to_vec(), b"ab".to_vec());
    let want = fixture.want(b"aa", &start, &end, Direction::Forward);
    assert_eq!(fixture.table.collect(&want, 0, &mut Rows::default()), Collected::NeedsOrder);
    fixture.table.sort_group(want.id);
    let mut rows = Rows::default();
    assert_eq!(fixture.table.collect(&want, 0, &mut rows), Collected::All);
    let found = keys(&rows);
    assert_eq!(found.len(), 1000);
    assert!(found.is_sorted());
}

#[test]
fn a_group_of_an_ordered_space_never_waits_for_its_order() {
    let def = SpaceDef { groups: Groups::Ordered, ..DEF };
    let mut fixture = Fixture::new();
    let mut counted = 0;
    for number in 0..2000_u16 {
        for group in [b"aa", b"ab"] {
            let key = [&group[..], &number.wrapping_mul(777).to_be_bytes()].concat();
            let hash = fixture.hasher.row(&def, Space(0), &key);
            counted += fixture.table.set(0, &key, &hash, Some(b"v"));
        }
        let (start, end) = (b"aa".to_vec(), b"ab".to_vec());
        let want = fixture.want(b"aa", &start, &end, Direction::Forward);
        let mut rows = Rows::default();
        assert_eq!(fixture.table.collect(&want, 0, &mut rows), Collected::All);
        assert_eq!(rows.len(), usize::from(number) + 1);
        assert!(keys(&rows).is_sorted());
    }
    assert_eq!(fixture.table.bytes(), counted, "the order is counted as it is made");
}

#[test]
fn rows_keep_the_newest_of_each_key() {
    let mut rows = Rows::default();
    rows.push(b"b", Some(b"old"), 2);
    rows.push(b"a", Some(b"1"), 1);
    rows.push(b"b", None, 0);
    rows.push(b"b", Some(b"older"), 3);
    rows.push(b"c", Some(b"3"), 1);
    rows.sort_and_dedup(Direction::Backward);
    assert_eq!(keys(&rows), [b"c", b"b", b"a"]);
    assert_eq!(rows.value(1), Some(None));
    rows.cut(b"b", Direction::Backward);
    assert_eq!(keys(&rows), [b"c", b"b"]);
    rows.compact();
    assert_eq!(keys(&rows), [b"c", b"b"]);
    assert_eq!(rows.value(0), Some(Some(&b"3"[..])));
}
