use super::super::{Isolation, MemoryEngine, RECLAIM_AFTER_WRITE_ROWS};
use super::{committed, delete, get, put};
use crate::conformance::{PLAIN, SPACES};
use crate::{Engine, Error, Read, Space, Wait, Write};

#[test]
fn nothing_is_kept_without_a_reader() {
    let engine = MemoryEngine::new(SPACES);
    for round in 0..10_u8 {
        put(&engine, b"a", &[round]);
        delete(&engine, b"b");
        put(&engine, b"b", b"x");
    }
    delete(&engine, b"b");
    assert_eq!(engine.superseded(), 0);
    let one_row = engine.stats().memtable_bytes;
    delete(&engine, b"a");
    assert!(one_row > 0);
    assert_eq!(engine.stats().memtable_bytes, 0);
}

#[test]
fn old_versions_go_with_the_snapshot_that_sees_them() {
    let engine = MemoryEngine::new(SPACES);
    put(&engine, b"a", &[0; 100]);
    put(&engine, b"b", &[0; 100]);
    let before = engine.stats().memtable_bytes;
    let snapshot = engine.snapshot().unwrap();
    for round in 0..50 {
        put(&engine, b"a", &[round; 100]);
    }
    delete(&engine, b"b");
    assert_eq!(engine.superseded(), 51);
    // Only the newest and the one that the snapshot sees.
    assert_eq!(engine.stats().memtable_bytes, before + 100);
    assert_eq!(get(&snapshot, b"a"), Some(vec![0; 100]));
    assert_eq!(get(&snapshot, b"b"), Some(vec![0; 100]));
    drop(snapshot);
    assert_eq!(engine.superseded(), 0);
    delete(&engine, b"a");
    assert_eq!(engine.stats().memtable_bytes, 0);
}

#[test]
fn a_younger_snapshot_keeps_no_more_than_it_sees() {
    let engine = MemoryEngine::new(SPACES);
    put(&engine, b"a", b"first");
    let old = engine.snapshot().unwrap();
    put(&engine, b"a", b"second");
    let young = engine.snapshot().unwrap();
    put(&engine, b"a", b"third");
    assert_eq!(get(&old, b"a"), Some(b"first".to_vec()));
    drop(old);
    assert_eq!(engine.superseded(), 1);
    assert_eq!(get(&young, b"a"), Some(b"second".to_vec()));
    drop(young);
    assert_eq!(engine.superseded(), 0);
    assert_eq!(committed(&engine, b"a"), Some(b"third".to_vec()));
}

#[test]
fn writes_that_overlap_reclaim_what_they_leave() {
    let engine = MemoryEngine::new(SPACES);
    let mut open = engine.begin_write(Wait::Allowed);
    for round in 0..1000_u32 {
        let mut write = engine.begin_write(Wait::Allowed);
        for row in 0..100_u8 {
            write.put(PLAIN, &[row], &[&round.to_be_bytes()]);
        }
        write.commit().unwrap();
        open = engine.begin_write(Wait::Allowed);
        assert!(engine.superseded() <= 300, "{} after {round} rounds", engine.superseded());
    }
    drop(open);
    while engine.superseded() > 0 {
        let before = engine.superseded();
        drop(engine.begin_write(Wait::Allowed));
        assert!(engine.superseded() <= before.saturating_sub(RECLAIM_AFTER_WRITE_ROWS));
    }
}

#[test]
fn a_space_that_does_not_exist_is_refused() {
    let engine = MemoryEngine::new(SPACES);
    let last = Space(SPACES.len() as u8 - 1);
    let none = Space(SPACES.len() as u8);
    for (space, exists) in [(last, true), (none, false), (Space(255), false)] {
        let mut write = engine.begin_write(Wait::Allowed);
        write.put(PLAIN, b"beside", &[b"v"]);
        write.put(space, b"a", &[b"v"]);
        let result = write.commit();
        assert_eq!(matches!(result, Err(Error::Unavailable(_))), !exists, "{space:?}: {result:?}");
        let read = engine.begin_read(Wait::Allowed).get(space, b"a", &mut Vec::new());
        assert_eq!(matches!(read, Ok(true)), exists, "{space:?}: {read:?}");
        if !exists {
            assert_eq!(committed(&engine, b"beside"), None, "nothing of it was applied");
        }
        delete(&engine, b"beside");
    }
}

#[test]
fn snapshot_isolation_lets_write_skew_pass_and_no_lost_update() {
    for (isolation, skew_passes) in [(Isolation::Snapshot, true), (Isolation::Serialisable, false)] {
        let engine = MemoryEngine::new(SPACES);
        engine.set_isolation(isolation);
        assert_eq!(engine.locks_may_follow(), !skew_passes, "{isolation:?}");
        let mut first = engine.begin_write(Wait::Allowed);
        let mut second = engine.begin_write(Wait::Allowed);
        let mut third = engine.begin_write(Wait::Allowed);
        assert_eq!((get(&first, b"b"), get(&second, b"a")), (None, None));
        first.put(PLAIN, b"a", &[b"1"]);
        second.put(PLAIN, b"b", &[b"1"]);
        third.put(PLAIN, b"a", &[b"3"]);
        first.commit().unwrap();
        assert_eq!(second.commit().is_ok(), skew_passes, "{isolation:?}");
        assert!(matches!(third.commit(), Err(Error::Conflict)), "{isolation:?}");
    }
}
