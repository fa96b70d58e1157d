//! One thing at a time.

use super::*;

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
