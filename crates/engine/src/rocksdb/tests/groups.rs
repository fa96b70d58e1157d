//! Cached groups say what the tables and the sorted data say.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use super::random::Random;
use super::*;
use crate::rocksdb::groups::Lookup;

fn key(group: u8, number: u32) -> Vec<u8> {
    [&[b'g', group][..], &number.to_be_bytes()].concat()
}

fn scan(engine: &RocksEngine, group: u8, direction: Direction) -> Pairs {
    let read = engine.begin_read(Wait::Allowed);
    scan_from(&read, FIXED, &[b'g', group], &[b'g', group + 1], direction, usize::MAX)
}

fn lookup(engine: &RocksEngine, group: u8, is_it: fn(&Lookup<'_>) -> bool) -> bool {
    let name = [b'g', group];
    let id = engine.inner.hasher.group_id(FIXED, &name);
    let shard = engine.inner.shards.read(id.shard()).unwrap();
    is_it(&shard.groups.lookup(id))
}

fn is_following(engine: &RocksEngine, group: u8) -> bool {
    lookup(engine, group, |found| matches!(found, Lookup::Following(_)))
}

fn is_lagging(engine: &RocksEngine, group: u8) -> bool {
    lookup(engine, group, |found| matches!(found, Lookup::Lagging))
}

/// The thread that loads has no deadline; a test that waits for it in vain fails.
fn wait_until_following(engine: &RocksEngine, group: u8) {
    let begun = Instant::now();
    while !is_following(engine, group) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the group is never loaded");
        for _ in 0..16 {
            scan(engine, group, Direction::Forward);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn put_many(engine: &RocksEngine, group: u8, count: u32, value: &[u8]) {
    let mut tx = engine.begin_write(Wait::Allowed);
    for number in 0..count {
        tx.put(FIXED, &key(group, number), &[value]);
    }
    tx.commit().unwrap();
}

/// Puts or deletes a row, here and in the map.
fn change(engine: &RocksEngine, random: &mut Random, map: &mut BTreeMap<Vec<u8>, Vec<u8>>, key: &[u8]) {
    let mut tx = engine.begin_write(Wait::Allowed);
    if random.below(3) > 0 {
        let value = vec![b'x'; random.below(40)];
        tx.put(FIXED, key, &[&value]);
        map.insert(key.to_vec(), value);
    } else {
        tx.delete(FIXED, key);
        map.remove(key);
    }
    tx.commit().unwrap();
}

#[test]
fn a_small_group_follows_once_scanned_and_stays_true() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let mut random = Random::new(5);
    let mut map = BTreeMap::new();
    let mut seen_following = 0;
    for step in 0..4000 {
        let key = key(1, random.below(60) as u32);
        change(&engine, &mut random, &mut map, &key);
        match step % 500 {
            100 => drop(engine.inner.freeze().unwrap()),
            200 => engine.write_back_now(),
            300 => engine.inner.shards.forget_clean(),
            _ => {}
        }
        assert_eq!(get(&engine, FIXED, &key), map.get(&key).cloned());
        if random.below(8) == 0 {
            let mut want: Pairs = map.clone().into_iter().collect();
            assert_eq!(scan(&engine, 1, Direction::Forward), want);
            want.reverse();
            assert_eq!(scan(&engine, 1, Direction::Backward), want);
            seen_following += usize::from(is_following(&engine, 1));
        }
    }
    assert!(seen_following > 300, "following at {seen_following} scans only");
}

#[test]
fn a_large_group_is_loaded_in_the_background_while_it_is_written_to() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_many(&engine, 1, 12_000, b"old");
    engine.write_back_now();
    let is_done = AtomicBool::new(false);
    let last = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut number = 0_u32;
            while !is_done.load(Ordering::SeqCst) {
                number += 1;
                let key = key(1, number.wrapping_mul(7_919) % 12_000);
                if number.is_multiple_of(3) {
                    let mut tx = engine.begin_write(Wait::Allowed);
                    tx.delete(FIXED, &key);
                    tx.commit().unwrap();
                } else {
                    put(&engine, FIXED, &key, &number.to_be_bytes());
                }
            }
            number
        });
        wait_until_following(&engine, 1);
        is_done.store(true, Ordering::SeqCst);
        writer.join().unwrap()
    });
    let pairs = scan(&engine, 1, Direction::Forward);
    assert!(is_following(&engine, 1));
    engine.inner.shards.forget_clean();
    assert_eq!(pairs, scan(&engine, 1, Direction::Forward), "not what the tables say after {last} writes");
}

#[test]
fn a_scan_within_a_scan_of_the_same_group_is_right() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_many(&engine, 1, 50, b"value");
    scan(&engine, 1, Direction::Forward);
    assert!(is_following(&engine, 1));
    let read = engine.begin_read(Wait::Allowed);
    let mut inner_rows = 0;
    read.scan(FIXED, Range { start: b"g\x01", end: b"g\x02" }, Direction::Forward, 10, &mut |_, _| {
        inner_rows += scan(&engine, 1, Direction::Backward).len();
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(inner_rows, 500);
}

#[test]
fn a_group_that_is_only_written_to_stops_following() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_many(&engine, 1, 20, b"value");
    scan(&engine, 1, Direction::Forward);
    assert!(is_following(&engine, 1));
    for number in 0..200 {
        put(&engine, FIXED, &key(1, number % 20), b"other");
    }
    assert!(!is_following(&engine, 1));
    assert_eq!(scan(&engine, 1, Direction::Forward).len(), 20);
}

#[test]
fn memory_is_counted_and_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    for group in 0..200 {
        put_many(&engine, group, 50, &[0; 100]);
        scan(&engine, group, Direction::Forward);
    }
    let used = engine.stats().row_cache_bytes;
    assert!(used > 200 * 50 * 100, "{used} bytes");
    engine.inner.set_memory(MemoryBudget { row_cache_bytes: 256 << 10, ..BUDGET });
    let used = engine.stats().row_cache_bytes;
    assert!(used <= 256 << 10, "{used} bytes");
    assert!((0..200).any(|group| !is_following(&engine, group)));
    engine.inner.shards.forget_clean();
    assert_eq!(engine.stats().row_cache_bytes, 0);
}

#[test]
fn deleting_a_range_forgets_the_groups_in_it_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    for group in 1..6 {
        put_many(&engine, group, 30, b"value");
        scan(&engine, group, Direction::Forward);
    }
    engine.delete_range(FIXED, Range { start: &key(2, 10), end: &key(4, 10) }).unwrap();
    let following: Vec<bool> = (1..6).map(|group| is_following(&engine, group)).collect();
    assert_eq!(following, [true, false, false, false, true]);
    let left: Vec<usize> = (1..6).map(|group| scan(&engine, group, Direction::Forward).len()).collect();
    assert_eq!(left, [30, 10, 0, 20, 30]);
}

#[test]
fn a_large_group_is_the_only_copy_of_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    let memory = MemoryBudget { row_cache_bytes: 64 << 20, ..BUDGET };
    let engine = RocksEngine::open(OpenOptions { memory, ..options(dir.path()) }).unwrap();
    let cached = |number: u32| {
        let hash = engine.inner.rehash(FIXED.0, &key(2, number));
        let shard = engine.inner.shards.read(hash.shard()).unwrap();
        (
            shard.cache.get(FIXED.0, &key(2, number), &hash).is_some(),
            shard.groups.is_only_copy(FIXED.0, &key(2, number), &hash),
        )
    };
    put_many(&engine, 2, 5000, b"old");
    engine.write_back_now();
    assert_eq!(cached(17), (true, false), "rows that were written back are clean ones");
    put_many(&engine, 2, 4000, b"new");
    wait_until_following(&engine, 2);
    let begun = Instant::now();
    while cached(17) != (false, true) || cached(4999) != (false, true) {
        assert!(begun.elapsed() < Duration::from_secs(60), "its clean rows are never forgotten");
        thread::sleep(Duration::from_millis(1));
    }
    let value = |number: u32| get(&engine, FIXED, &key(2, number));
    // Writing back rows of a cached group leaves no clean rows either, and nothing that is out of date once it has left.
    put(&engine, FIXED, &key(2, 17), b"newer");
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.delete(FIXED, &key(2, 4999));
    tx.commit().unwrap();
    engine.write_back_now();
    assert_eq!(cached(17), (false, true));
    let (hash, group) = (engine.inner.rehash(FIXED.0, &key(2, 0)), [b'g', 2]);
    {
        let mut shard = engine.inner.shards.write(hash.shard()).unwrap();
        let range = Range { start: &group, end: b"g\x03" };
        shard.groups.forget(FIXED.0, range, &engine.inner.shards.budget);
    }
    assert_eq!(value(17).unwrap(), b"newer");
    assert_eq!(value(18).unwrap(), b"new");
    assert_eq!(value(4998).unwrap(), b"old");
    assert_eq!(value(4999), None);
    assert_eq!(scan(&engine, 2, Direction::Forward).len(), 4999);
}

#[test]
fn a_small_group_is_cached_as_lagging_when_all_of_it_was_written_back() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_many(&engine, 1, 20, b"one");
    put_many(&engine, 2, 1, b"single");
    put_many(&engine, 3, 600, b"many");
    engine.write_back_now();
    assert_eq!([1, 2, 3].map(|group| is_lagging(&engine, group)), [true, false, false]);
    // Nothing is read from the sorted data: neither what is there nor what is not.
    let read = engine.begin_read(Wait::Never);
    let misses = engine.stats().row_cache_misses;
    assert_eq!(get_from(&read, FIXED, &key(1, 7)), Some(b"one".to_vec()));
    assert_eq!(get_from(&read, FIXED, &key(1, 77)), None);
    assert_eq!(engine.stats().row_cache_misses, misses);
    // What is written leaves it lagging; whoever scans sees it.
    put(&engine, FIXED, &key(1, 7), b"two");
    put(&engine, FIXED, &key(1, 70), b"new");
    engine.inner.freeze().unwrap();
    put(&engine, FIXED, &key(1, 70), b"newer");
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.delete(FIXED, &key(1, 8));
    tx.commit().unwrap();
    assert!(is_lagging(&engine, 1));
    let mut want: Pairs = (0..20).map(|number| (key(1, number), b"one".to_vec())).collect();
    want[7].1 = b"two".to_vec();
    want.remove(8);
    want.push((key(1, 70), b"newer".to_vec()));
    assert_eq!(scan(&engine, 1, Direction::Forward), want);
    assert!(is_following(&engine, 1) && !is_lagging(&engine, 1));
    // Written to for long, it lags again, and leaves when it has grown.
    for number in 0..100 {
        put(&engine, FIXED, &key(1, 19), &[number]);
    }
    assert!(is_lagging(&engine, 1));
    for number in 100..1100 {
        put(&engine, FIXED, &key(1, number), b"more");
    }
    engine.write_back_now();
    assert!(!is_lagging(&engine, 1));
    let misses = engine.stats().row_cache_misses;
    assert_eq!(get(&engine, FIXED, &key(1, 0)), Some(b"one".to_vec()), "what it held stays in memory");
    assert_eq!(engine.stats().row_cache_misses, misses);
    assert_eq!(scan(&engine, 1, Direction::Forward).len(), want.len() + 1000);
}

#[test]
fn a_group_that_the_sorted_data_holds_already_is_not_cached_as_lagging() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put(&engine, FIXED, &key(1, 50), b"older");
    engine.write_back_now();
    put_many(&engine, 1, 20, b"one");
    engine.write_back_now();
    assert!(!is_lagging(&engine, 1));
    assert_eq!(scan(&engine, 1, Direction::Forward).len(), 21);
    // Nor is one whose rows are gone but may still be met.
    put_many(&engine, 2, 20, b"two");
    engine.write_back_now();
    engine.inner.shards.forget_clean();
    engine.delete_range(FIXED, Range { start: &[b'g', 2], end: &[b'g', 3] }).unwrap();
    assert_eq!(scan(&engine, 2, Direction::Forward), []);
}

#[test]
fn groups_that_lag_and_catch_up_say_what_a_map_says() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let mut random = Random::new(17);
    let mut map = BTreeMap::new();
    let (mut lagging, mut caught_up) = (0, 0);
    for step in 0..12_000 {
        let group = random.below(12) as u8;
        let number = random.below(40) as u32;
        let key = key(group, number);
        change(&engine, &mut random, &mut map, &key);
        match random.below(400) {
            0 => drop(engine.inner.freeze().unwrap()),
            1 => engine.write_back_now(),
            2 => drop(engine.snapshot().unwrap()),
            // A database that has just been opened.
            3 if random.below(4) == 0 => engine.inner.shards.forget_clean(),
            4 if random.below(4) == 0 => {
                let range = Range { start: &[b'g', group], end: &[b'g', group + 1] };
                engine.delete_range(FIXED, range).unwrap();
                map.retain(|key, _| key[1] != group);
            }
            _ => {}
        }
        let other = self::key(group, random.below(40) as u32);
        assert_eq!(get(&engine, FIXED, &other), map.get(&other).cloned(), "step {step}");
        if random.below(50) == 0 {
            let was_lagging = is_lagging(&engine, group);
            let end = [b'g', group + 1];
            let want: Pairs = map
                .range([b'g', group].to_vec()..end.to_vec())
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            assert_eq!(scan(&engine, group, Direction::Forward), want, "step {step}");
            lagging += usize::from(was_lagging);
            caught_up += usize::from(was_lagging && is_following(&engine, group));
        }
    }
    assert!(lagging > 20 && caught_up > 20, "{lagging} lagged, {caught_up} caught up");
}

#[test]
fn a_pick_is_a_row_of_a_following_group_and_of_no_other() {
    for count in [20, 5000] {
        let dir = tempfile::tempdir().unwrap();
        let engine = open(dir.path());
        put_many(&engine, 1, count, b"value");
        put_many(&engine, 2, count, b"another");
        let mut random = Random::new(7);
        let mut pick = |read: &dyn Fn(&mut dyn FnMut() -> u64, &mut dyn FnMut(&[u8], &[u8])) -> bool| {
            let mut picked = None;
            let is_picked = read(&mut || random.next(), &mut |key, value| {
                picked = Some((key.to_vec(), value.to_vec()));
            });
            assert_eq!(is_picked, picked.is_some());
            picked
        };
        let read = engine.begin_read(Wait::Allowed);
        let of_group = |draw: &mut dyn FnMut() -> u64, show: &mut dyn FnMut(&[u8], &[u8])| {
            read.pick(FIXED, &[b'g', 1], draw, show).unwrap()
        };
        assert_eq!(pick(&of_group), None, "not cached yet");
        wait_until_following(&engine, 1);
        let mut left: BTreeMap<_, _> = scan(&engine, 1, Direction::Forward).into_iter().collect();
        let mut missed = 0;
        while !left.is_empty() {
            // Where few are left in much room, a pick may not come about.
            let Some((key, value)) = pick(&of_group) else {
                missed += 1;
                assert!(missed < 1_000, "{} rows were never picked", left.len());
                continue;
            };
            assert_eq!(left.remove(&key), Some(value));
            let mut tx = engine.begin_write(Wait::Allowed);
            tx.delete(FIXED, &key);
            let own = |draw: &mut dyn FnMut() -> u64, show: &mut dyn FnMut(&[u8], &[u8])| {
                tx.pick(FIXED, &[b'g', 1], draw, show).unwrap()
            };
            if let Some((key, value)) = pick(&own) {
                assert_eq!(left.remove(&key), Some(value), "what the transaction deleted is gone for it");
                tx.delete(FIXED, &key);
            }
            tx.commit().unwrap();
            if !is_following(&engine, 1) {
                wait_until_following(&engine, 1);
            }
        }
        assert_eq!(pick(&of_group), None, "nothing is left");
    }
}

#[test]
fn picks_of_a_transaction_are_even_among_what_it_left() {
    const COUNT: usize = 40;
    const PICKS: usize = 40_000;
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_many(&engine, 1, COUNT as u32, b"value");
    wait_until_following(&engine, 1);
    let all = scan(&engine, 1, Direction::Forward);
    let mut tx = engine.begin_write(Wait::Allowed);
    // Of another group, which does not matter.
    tx.put(FIXED, &key(2, 7), &[b"other"]);
    for (key, _) in all.iter().step_by(2) {
        tx.delete(FIXED, key);
    }
    let mut random = Random::new(11);
    let mut seen = BTreeMap::<Vec<u8>, usize>::new();
    let mut missed = 0;
    for _ in 0..PICKS {
        let mut picked = None;
        let group = [b'g', 1];
        let mut draw = || random.next();
        if !tx.pick(FIXED, &group, &mut draw, &mut |key, _| picked = Some(key.to_vec())).unwrap() {
            missed += 1;
        }
        if let Some(key) = picked {
            *seen.entry(key).or_default() += 1;
        }
    }
    let left: Vec<_> = all.iter().skip(1).step_by(2).map(|(key, _)| key.clone()).collect();
    assert_eq!(seen.keys().cloned().collect::<Vec<_>>(), left);
    assert!(missed < PICKS / 100, "{missed} picks met what is gone again and again");
    let want = (PICKS - missed) as f64 / left.len() as f64;
    let chi_square: f64 = seen.values().map(|count| (*count as f64 - want).powi(2) / want).sum();
    // 19 degrees of freedom: beyond 43.8 once in a thousand.
    assert!(chi_square < 43.8, "{chi_square}: {seen:?}");
    tx.put(FIXED, &key(1, 99_999), &[b"new"]);
    let mut draw = || random.next();
    let is_picked =
        tx.pick(FIXED, &[b'g', 1], &mut draw, &mut |_, _| panic!("what is put is not in the group"));
    assert!(!is_picked.unwrap());
}

#[test]
fn ranks_are_known_at_once_where_the_group_is_following() {
    const COUNT: u32 = 5_000;
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_many(&engine, 1, COUNT, b"value");
    let ask = |read: &dyn Read, from: u32, to: u32, rank: usize| {
        let mut shown = None;
        let (start, end) = (key(1, from), key(1, to));
        let range = Range { start: &start, end: &end };
        let ranked = read.nth_at_once(FIXED, range, rank, &mut |key, _| shown = Some(key.to_vec())).unwrap();
        (ranked, shown)
    };
    let read = engine.begin_read(Wait::Never);
    assert_eq!(ask(&read, 0, COUNT, 7), (Ranked::Unknown, None), "nobody has asked before");
    let begun = Instant::now();
    while ask(&read, 0, COUNT, 7).0 == Ranked::Unknown {
        assert!(begun.elapsed() < Duration::from_secs(60), "who asks again and again is never answered");
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(ask(&read, 10, COUNT, 4_000), (Ranked::Shown, Some(key(1, 4_010))));
    assert_eq!(ask(&read, 10, 4_010, 4_000), (Ranked::Only(4_000), None));
    assert_eq!(ask(&read, 0, COUNT, usize::MAX), (Ranked::Only(COUNT as usize), None));
    let mut tx = engine.begin_write(Wait::Never);
    assert_eq!(ask(&tx, 0, COUNT, 4_000), (Ranked::Shown, Some(key(1, 4_000))));
    tx.delete(FIXED, &key(1, 100));
    assert_eq!(ask(&tx, 0, COUNT, 4_000), (Ranked::Unknown, None), "its own rows would have to be merged");
    assert_eq!(ask(&tx, 101, COUNT, 4_000), (Ranked::Shown, Some(key(1, 4_101))));
    tx.commit().unwrap();
    assert_eq!(ask(&read, 0, COUNT, 4_000), (Ranked::Shown, Some(key(1, 4_001))));
    let snapshot = engine.snapshot().unwrap();
    assert_eq!(
        ask(&snapshot, 0, COUNT, 7),
        (Ranked::Unknown, None),
        "it may be older than what is in memory"
    );
}
