use crate::reply::Arena;
use std::collections::BTreeSet;

use tarn_engine::{AnyRead, Wait, Write as _};

use super::*;
use crate::encoding::meta::{Body, Kind};
use crate::encoding::{SYSTEM, system};
use crate::keyspace::{Limits, Located, ReadCx, Source};
use crate::testkit::{Kit, START_MS};

/// A key at a place of our choice, whatever its real hash is.
fn put(kit: &Kit, slot: u16, hash48: u64, key: &[u8], expire_at_ms: u64) {
    let mut txn = kit.node.engine.begin_write(Wait::Allowed);
    let header = Header { kind: Kind::String, expire_at_ms, body: Body::Inline };
    txn.put(META, &rows::meta(0, slot, hash48, key), &[header.encode().as_slice(), b"value"]);
    change_count(&mut txn, slot, 1);
    txn.commit().unwrap();
}

fn remove(kit: &Kit, slot: u16, hash48: u64, key: &[u8]) {
    let mut txn = kit.node.engine.begin_write(Wait::Allowed);
    txn.delete(META, &rows::meta(0, slot, hash48, key));
    change_count(&mut txn, slot, -1);
    txn.commit().unwrap();
}

fn change_count(txn: &mut tarn_engine::AnyWrite<'_>, slot: u16, by: i64) {
    use tarn_engine::Read as _;
    let row = system::key_count(0, stripe_of(slot));
    let mut value = vec![];
    let mut counts = match txn.get(SYSTEM, &row, &mut value).unwrap() {
        true => system::Counts::decode(&value).unwrap(),
        false => system::Counts::default(),
    };
    counts.keys = counts.keys.checked_add(by).unwrap();
    txn.put(SYSTEM, &row, &[&counts.encode()]);
}

fn view<'a>(kit: &'a Kit, arena: &'a mut Arena, random: u64, place: Place) -> ReadCx<'a> {
    let read: AnyRead<'a> = kit.node.engine.begin_read(Wait::Allowed);
    let env = Env {
        keyspace: &kit.node.keyspace,
        db: Db { logical: 0, physical: 0 },
        map_epoch: 0,
        now_ms: START_MS,
        place,
        located: Located::default(),
        limits: &Limits::DEFAULT,
        events: Default::default(),
        random,
        woken: false,
        notes_order: false,
        cluster_enabled: false,
        sorts_fields: true,
    };
    ReadCx::new(env, Source::Live(read), arena)
}

/// One call of SCAN: the keys and the next cursor.
fn one_page(kit: &Kit, cursor: u64, count: usize) -> (Vec<Vec<u8>>, u64) {
    let (mut arena, mut keys) = (Arena::new(), vec![]);
    let mut cx = view(kit, &mut arena, 0, Place::Worker);
    let next = page(&mut cx, cursor, count, &mut |found| keys.push(found.key.to_vec())).unwrap();
    (keys, next)
}

fn whole_scan(kit: &Kit, count: usize) -> Vec<Vec<u8>> {
    let (mut all, mut cursor) = (vec![], 0);
    loop {
        let (keys, next) = one_page(kit, cursor, count);
        all.extend(keys);
        if next == 0 {
            return all;
        }
        assert!(next > cursor, "a scan goes forward");
        cursor = next;
    }
}

const CORNERS: [(u16, u64); 9] = [
    (0, 0),
    (0, HASH48_MAX),
    (1, 0),
    (63, HASH48_MAX),
    (64, 0),
    (64, 1),
    (9_000, 77),
    (SLOTS - 1, 0),
    (SLOTS - 1, HASH48_MAX),
];

#[test]
fn every_key_comes_once_in_any_step() {
    let kit = Kit::new();
    for (n, (slot, hash48)) in CORNERS.into_iter().enumerate() {
        put(&kit, slot, hash48, &[n as u8], 0);
    }
    let all: Vec<_> = (0..CORNERS.len()).map(|n| vec![n as u8]).collect();
    for count in 1..=CORNERS.len() + 1 {
        assert_eq!(whole_scan(&kit, count), all, "count {count}");
    }
    assert_eq!(one_page(&kit, 0, CORNERS.len()).1, 0, "the end is seen without another call");
    let (mut arena, mut keys) = (Arena::new(), vec![]);
    let mut cx = view(&kit, &mut arena, 0, Place::Worker);
    every_key(&mut cx, &mut |found| {
        keys.push(found.key.to_vec());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(keys, all);
}

#[test]
fn every_slot_is_walked() {
    let kit = Kit::new();
    for slot in 0..SLOTS {
        put(&kit, slot, u64::from(slot), &slot.to_be_bytes(), 0);
    }
    assert_eq!(whole_scan(&kit, 1_000).len(), usize::from(SLOTS));
    assert_eq!(whole_scan(&kit, usize::MAX).len(), usize::from(SLOTS));
}

#[test]
fn keys_of_one_hash_are_never_split() {
    let kit = Kit::new();
    put(&kit, 5, 41, b"before", 0);
    let equal: BTreeSet<Vec<u8>> = (0..2_000u32).map(|n| n.to_be_bytes().to_vec()).collect();
    for key in &equal {
        put(&kit, 5, 42, key, 0);
    }
    put(&kit, 5, 43, b"behind", 0);
    let (first, next) = one_page(&kit, 0, 1);
    assert_eq!(first, [b"before"]);
    let (keys, next) = one_page(&kit, next, 1);
    assert_eq!(keys.into_iter().collect::<BTreeSet<_>>(), equal);
    assert_eq!(one_page(&kit, next, 1), (vec![b"behind".to_vec()], 0));
    // A page that begins in the middle of nothing, right at the hash, has them all too.
    assert_eq!(one_page(&kit, 5 << 48 | 42, 1).0.len(), equal.len());
}

#[test]
fn what_has_expired_is_hidden_and_still_counts_as_work() {
    let kit = Kit::new();
    for n in 0..10 {
        put(&kit, 5, n, &[n as u8], if n % 2 == 0 { START_MS } else { START_MS + 1 });
    }
    assert_eq!(whole_scan(&kit, 3), [[1], [3], [5], [7], [9]]);
    assert_eq!(one_page(&kit, 0, 1).0, Vec::<Vec<u8>>::new());
}

#[test]
fn any_cursor_a_client_invents_is_answered() {
    let kit = Kit::new();
    assert_eq!(one_page(&kit, 0, 10), (vec![], 0), "an empty database");
    put(&kit, 100, 9, b"k", 0);
    for cursor in [u64::MAX, u64::MAX - 1, u64::from(SLOTS) << 48, 1 << 63] {
        assert_eq!(one_page(&kit, cursor, 10), (vec![], 0), "{cursor}");
    }
    assert_eq!(one_page(&kit, 100 << 48 | 9, 10), (vec![b"k".to_vec()], 0));
    assert_eq!(one_page(&kit, 100 << 48 | 10, 10), (vec![], 0));
    for cursor in draws(1).take(1_000) {
        let before = cursor >> 48 < 100 || cursor >> 48 == 100 && cursor & HASH48_MAX <= 9;
        assert_eq!(one_page(&kit, cursor, 10).0.len(), usize::from(before), "{cursor}");
    }
}

#[test]
fn what_exists_throughout_is_returned_whatever_comes_and_goes() {
    for seed in 0..20 {
        let mut random = draws(seed);
        let mut next = |below: u64| random.next().unwrap() % below;
        let kit = Kit::new();
        let mut lasting = BTreeSet::new();
        for n in 0..60u8 {
            let key = vec![b'l', n];
            put(&kit, next(4) as u16 * 60, next(50), &key, 0);
            lasting.insert(key);
        }
        let mut passing: Vec<(u16, u64, Vec<u8>)> = vec![];
        let (mut seen, mut cursor) = (BTreeSet::new(), 0);
        loop {
            for _ in 0..3 {
                let (slot, hash48, key) = (next(4) as u16 * 60, next(50), vec![b'p', next(30) as u8]);
                match passing.iter().position(|(.., old)| *old == key) {
                    Some(at) => {
                        let (slot, hash48, key) = passing.swap_remove(at);
                        remove(&kit, slot, hash48, &key);
                    }
                    None => {
                        put(&kit, slot, hash48, &key, 0);
                        passing.push((slot, hash48, key));
                    }
                }
            }
            let (keys, to) = one_page(&kit, cursor, 1 + next(7) as usize);
            seen.extend(keys);
            cursor = to;
            if cursor == 0 {
                break;
            }
        }
        assert!(seen.is_superset(&lasting), "seed {seed}");
    }
}

#[test]
fn slots_list_their_own_keys() {
    let kit = Kit::new();
    put(&kit, 5, 1, b"a", 0);
    put(&kit, 5, 2, b"gone", 1);
    put(&kit, 5, 3, b"b", 0);
    put(&kit, 6, 0, b"c", 0);
    let keys = |slot, limit| {
        let (mut arena, mut keys) = (Arena::new(), vec![]);
        let mut cx = view(&kit, &mut arena, 0, Place::Worker);
        slot_keys(&mut cx, slot, limit, &mut |key| keys.push(key.to_vec())).unwrap();
        keys
    };
    assert_eq!(keys(5, 10), [b"a", b"b"]);
    assert_eq!(keys(5, 1), [b"a"]);
    assert_eq!(keys(6, 1), [b"c"]);
    assert!(keys(5, 0).is_empty() && keys(7, 1).is_empty() && keys(SLOTS - 1, 1).is_empty());
}

fn picks(kit: &Kit, times: u64, place: Place) -> Vec<Result<Option<Vec<u8>>>> {
    let mut arena = Arena::new();
    (0..times)
        .map(|random| {
            let mut picked = None;
            let mut cx = view(kit, &mut arena, random, place);
            pick(&mut cx, &mut |key| picked = Some(key.to_vec())).map(|found| {
                assert_eq!(found, picked.is_some());
                picked
            })
        })
        .collect()
}

#[test]
fn few_keys_are_picked_evenly() {
    let kit = Kit::new();
    // One slot's keys are crowded, the other's far apart: neither must matter.
    for n in 0..9 {
        put(&kit, 5, n, &[n as u8], 0);
    }
    put(&kit, 5, HASH48_MAX, &[9], 0);
    let mut counts = [0; 10];
    for picked in picks(&kit, 10_000, Place::IoThread) {
        counts[usize::from(picked.unwrap().unwrap()[0])] += 1;
    }
    assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
}

#[test]
fn keys_of_a_crowded_slot_are_all_picked() {
    let kit = Kit::new();
    let hashes: Vec<u64> = draws(3).take(200).map(|random| random & HASH48_MAX).collect();
    for (n, hash48) in hashes.iter().enumerate() {
        put(&kit, 130, *hash48, &[n as u8], 0);
    }
    let picked: BTreeSet<_> =
        picks(&kit, 20_000, Place::IoThread).into_iter().map(|p| p.unwrap().unwrap()).collect();
    assert!(picked.len() > 190, "{}", picked.len());
}

#[test]
fn only_what_is_alive_is_picked() {
    let kit = Kit::new();
    assert!(picks(&kit, 10, Place::IoThread).into_iter().all(|picked| picked.unwrap().is_none()));
    for n in 0..50 {
        put(&kit, 5, n, &[n as u8], 1);
    }
    assert!(picks(&kit, 10, Place::IoThread).into_iter().all(|picked| picked.unwrap().is_none()));
    put(&kit, 900, 1, b"alive", 0);
    let alive = |picked: Result<Option<Vec<u8>>>| picked.unwrap().as_deref() == Some(b"alive");
    assert!(picks(&kit, 100, Place::IoThread).into_iter().all(alive));
    for n in 0..=Env::IO_THREAD_MAX_ROWS as u64 {
        put(&kit, 6, n, &n.to_be_bytes(), 1);
    }
    let on_io_thread = picks(&kit, 100, Place::IoThread);
    assert!(on_io_thread.iter().any(|picked| matches!(picked, Err(Stop::Move(Why::Heavy)))));
    assert!(picks(&kit, 100, Place::Worker).into_iter().all(alive));
}
