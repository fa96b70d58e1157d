//! One thing at a time.

use super::*;
use crate::MAX_KEY_BYTES;

#[test]
fn rows_are_there_after_commit_after_write_back_and_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put(&engine, FIXED, b"aakey", b"value");
    put(&engine, QUEUE, b"q1", b"");
    assert_eq!(get(&engine, FIXED, b"aakey").unwrap(), b"value");
    assert_eq!(get(&engine, QUEUE, b"q1").unwrap(), b"");
    assert_eq!(get(&engine, FIXED, b"q1"), None);
    engine.flush().unwrap();
    assert_eq!(engine.durable(), Position(2));
    engine.crash();

    let engine = open(dir.path());
    assert_eq!(get(&engine, FIXED, b"aakey").unwrap(), b"value");
    assert_eq!(engine.stats().dirty_rows, 2);
    engine.write_back_now();
    assert_eq!(engine.stats().dirty_rows, 0);
    assert_eq!(engine.stats().log_segments, 0);
    assert_eq!(get(&engine, FIXED, b"aakey").unwrap(), b"value");
    engine.inner.shards.forget_clean();
    assert_eq!(get(&engine, FIXED, b"aakey").unwrap(), b"value");
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.delete(FIXED, b"aakey");
    tx.commit().unwrap();
    assert_eq!(get(&engine, FIXED, b"aakey"), None);
    drop(engine);

    let engine = open(dir.path());
    assert_eq!(get(&engine, FIXED, b"aakey"), None);
    assert_eq!(get(&engine, QUEUE, b"q1").unwrap(), b"");
    assert_eq!(
        scan_from(&engine.begin_read(Wait::Allowed), QUEUE, b"", b"z", Direction::Forward, 10),
        vec![(b"q1".to_vec(), b"".to_vec())]
    );
}

#[test]
fn a_space_that_was_never_written_back_is_not_asked() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put(&engine, FIXED, b"aakey", b"value");
    let may_have = |engine: &RocksEngine| [FIXED, QUEUE].map(|space| engine.inner.store.may_have(space));
    let misses = |engine: &RocksEngine| engine.stats().row_cache_misses;
    assert_eq!(may_have(&engine), [false, false]);
    let hurried = engine.begin_read(Wait::Never);
    assert_eq!(get_from(&hurried, FIXED, b"aaother"), None);
    hurried.get_many(FIXED, &[b"aa1", b"aakey"], &mut |at, row| assert_eq!(row.is_some(), at == 1)).unwrap();
    let rows = vec![(b"aakey".to_vec(), b"value".to_vec())];
    assert_eq!(scan_from(&hurried, FIXED, b"aa", b"ab", Direction::Backward, 10), rows);
    assert_eq!(misses(&engine), 0);
    let snapshot = engine.snapshot().unwrap();

    engine.write_back_now();
    engine.inner.shards.forget_clean();
    assert_eq!(may_have(&engine), [true, false]);
    assert_eq!(get(&engine, FIXED, b"aakey").unwrap(), b"value");
    assert_eq!(get(&engine, FIXED, b"aaother"), None);
    assert_eq!(misses(&engine), 2);
    for read in [&engine.begin_read(Wait::Allowed) as &dyn Read, &snapshot] {
        let mut seen = Vec::new();
        let range = Range { start: b"aa", end: b"ab" };
        read.scan(FIXED, range, Direction::Forward, 10, &mut |key, value| {
            seen.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(seen, rows);
    }
    drop(snapshot);
    drop(engine);
    assert_eq!(may_have(&open(dir.path())), [true, false], "its files are still there");
}

#[test]
fn keys_have_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let (longest, longer) = (vec![b'k'; MAX_KEY_BYTES], vec![b'k'; MAX_KEY_BYTES + 1]);
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(FIXED, &longest, &[b"v"]);
    assert!(write.refusal().is_none());
    write.commit().unwrap();
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(FIXED, b"short", &[b"v"]);
    let savepoint = write.savepoint();
    write.put(FIXED, &longer, &[b"v"]);
    assert!(matches!(write.refusal(), Some(Error::TooLarge(_))));
    write.rollback_to(savepoint);
    assert!(write.refusal().is_none(), "it was undone");
    write.delete(FIXED, &longer);
    write.commit().unwrap();
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(FIXED, &longer, &[b"v"]);
    write.put(FIXED, b"with it", &[b"v"]);
    assert!(matches!(write.commit(), Err(Error::TooLarge(_))));
    let mut value = Vec::new();
    let read = engine.begin_read(Wait::Allowed);
    assert!(read.get(FIXED, &longest, &mut value).unwrap() && read.get(FIXED, b"short", &mut value).unwrap());
    assert!(
        !read.get(FIXED, &longer, &mut value).unwrap() && !read.get(FIXED, b"with it", &mut value).unwrap()
    );
}
