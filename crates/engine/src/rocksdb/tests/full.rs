//! A disk that is full, and has room again.

use super::faulty::FaultyFiles;
use super::*;

const CAPACITY: u64 = 8 << 20;

fn key(number: usize) -> Vec<u8> {
    format!("k{}{number:06}", number % 7).into_bytes()
}

/// One row, or what the commit is refused with.
fn try_put(engine: &RocksEngine, number: usize) -> Result<Position> {
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.put(FIXED, &key(number), &[&[number as u8; 1000]]);
    tx.commit()
}

fn try_delete(engine: &RocksEngine, number: usize) -> Result<Position> {
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.delete(FIXED, &key(number));
    tx.frees();
    tx.commit()
}

/// Writes until the disk is full. Returns how many rows were taken.
fn fill(engine: &RocksEngine) -> usize {
    for number in 0.. {
        if let Err(error) = try_put(engine, number) {
            assert!(matches!(error, Error::Full(_)), "{error:?}");
            return number;
        }
        engine.flush().unwrap();
    }
    unreachable!()
}

pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

/// An engine whose write-back finds no room while the flag is set, on a small disk.
fn on_small_disk(dir: &Path, files: &FaultyFiles, durability: Durability) -> (RocksEngine, Arc<AtomicBool>) {
    let has_no_room = Arc::new(AtomicBool::new(true));
    let flag = has_no_room.clone();
    let hook = move |step: &'static str| {
        let fails = step == "synced" && flag.load(Ordering::SeqCst);
        if fails { Err(Error::Full("no room".to_owned())) } else { Ok(()) }
    };
    let options = OpenOptions { durability, ..options(dir) };
    let steps = Steps { hook: Some(Box::new(hook)) };
    (open::open(options, Arc::new(files.clone()), steps).unwrap(), has_no_room)
}

#[test]
fn a_full_disk_refuses_before_anybody_sees_takes_deletes_and_passes() {
    let root = tempfile::tempdir().unwrap();
    for (index, durability) in
        [Durability::EverySecond, Durability::Os, Durability::Always].into_iter().enumerate()
    {
        let dir = root.path().join(index.to_string());
        let files = FaultyFiles::default();
        files.set_capacity(CAPACITY);
        let (engine, has_no_room) = on_small_disk(&dir, &files, durability);
        let taken = fill(&engine);
        assert!(taken > 100, "{taken} rows were taken");
        let stats = engine.stats();
        assert!(stats.disk_full && stats.write_error.is_some(), "{stats:?}");
        assert!(engine.pressure() < 0.5, "nobody waits for room");

        // Nothing of what is refused is seen, then or later.
        for number in taken..taken + 10 {
            assert!(matches!(try_put(&engine, number), Err(Error::Full(_))));
            assert_eq!(get(&engine, FIXED, &key(number)), None);
        }
        // Reads and deletes go on, and are durable.
        for number in 0..taken {
            assert_eq!(get(&engine, FIXED, &key(number)).unwrap(), [number as u8; 1000]);
            if number % 2 == 0 {
                let position = try_delete(&engine, number).unwrap();
                engine.flush().unwrap();
                until("a delete is durable", || engine.durable() >= position);
            }
        }
        assert!(engine.stats().disk_full, "write-back has not gone on");
        has_no_room.store(false, Ordering::SeqCst);
        until("writes come back by themselves", || try_put(&engine, taken).is_ok());
        let stats = engine.stats();
        assert!(!stats.disk_full && stats.write_error.is_none(), "{stats:?}");
        engine.sync().unwrap();
        engine.crash();

        let (engine, _) = on_small_disk(&dir, &files, durability);
        for number in 0..taken {
            assert_eq!(get(&engine, FIXED, &key(number)).is_some(), number % 2 == 1, "row {number}");
        }
        assert_eq!(get(&engine, FIXED, &key(taken)).unwrap(), [taken as u8; 1000]);
        assert_eq!(get(&engine, FIXED, &key(taken + 1)), None);
    }
}

#[test]
fn a_start_on_a_full_disk_serves_reads_and_takes_deletes() {
    let dir = tempfile::tempdir().unwrap();
    let files = FaultyFiles::default();
    files.set_capacity(CAPACITY);
    let (engine, _) = on_small_disk(dir.path(), &files, Durability::EverySecond);
    let taken = fill(&engine);
    engine.sync().unwrap();
    engine.crash();
    // Somebody else has taken the rest.
    files.occupy(files.free());
    assert_eq!(files.free(), 0);
    let (engine, has_no_room) = on_small_disk(dir.path(), &files, Durability::EverySecond);
    assert!(engine.stats().disk_full);
    assert!(matches!(try_put(&engine, taken), Err(Error::Full(_))));
    for number in 0..taken {
        assert_eq!(get(&engine, FIXED, &key(number)).unwrap(), [number as u8; 1000]);
    }
    try_delete(&engine, 0).unwrap();
    engine.flush().unwrap();
    has_no_room.store(false, Ordering::SeqCst);
    files.occupy(0);
    until("writes come back by themselves", || try_put(&engine, taken).is_ok());
    assert_eq!(get(&engine, FIXED, &key(0)), None);
}

#[test]
fn one_commit_that_is_too_large_does_not_stop_others() {
    let dir = tempfile::tempdir().unwrap();
    let files = FaultyFiles::default();
    files.set_capacity(CAPACITY);
    let (engine, _) = on_small_disk(dir.path(), &files, Durability::EverySecond);
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.put(FIXED, b"large", &[&vec![1; CAPACITY as usize]]);
    assert!(matches!(tx.commit(), Err(Error::Full(_))));
    assert_eq!(get(&engine, FIXED, b"large"), None);
    assert!(!engine.stats().disk_full);
    try_put(&engine, 1).unwrap();
    // One that is larger than what is set aside at a time fits.
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.put(FIXED, b"large", &[&vec![1; 1 << 20]]);
    tx.commit().unwrap();
    engine.sync().unwrap();
}

#[test]
fn units_that_wait_are_written_back_as_one_without_what_was_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let files = FaultyFiles::default();
    files.set_capacity(1 << 40);
    let (engine, has_no_room) = on_small_disk(dir.path(), &files, Durability::EverySecond);
    for number in 0..100 {
        try_put(&engine, number).unwrap();
    }
    let first = engine.inner.freeze().unwrap();
    assert!(matches!(engine.inner.wait_for_unit(first), Err(Error::Full(_))));
    for number in 0..100 {
        try_delete(&engine, number).unwrap();
    }
    let queued = || engine.inner.units.lock().queue.iter().map(|unit| unit.sets.len()).collect::<Vec<_>>();
    until("the deletions join the unit", || {
        engine.inner.background.wake_writer();
        queued() == [2]
    });
    has_no_room.store(false, Ordering::SeqCst);
    until("it is written back", || queued().is_empty());
    assert_eq!(engine.stats().dirty_rows, 0);
    for number in 0..100 {
        assert_eq!(get(&engine, FIXED, &key(number)), None);
    }
    until("writes come back by themselves", || try_put(&engine, 1).is_ok());
}
