//! Failing disks, damaged files, and directories that must be refused.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::faulty::{Fault, FaultyFiles};
use super::full::until;
use super::*;

/// A tick's commits, then a flush. Returns how many commits were flushed before writes stopped.
fn write_until_stopped(engine: &RocksEngine, ticks: usize) -> (usize, Option<Error>) {
    let mut flushed = 0;
    for tick in 0..ticks {
        for row in 0..3 {
            let mut tx = engine.begin_write(Wait::Allowed);
            tx.put(FIXED, &[b'k', 0, (tick * 3 + row) as u8], &[&[b'v'; 30]]);
            if let Err(error) = tx.commit() {
                return (flushed, Some(error));
            }
        }
        let position = match engine.flush() {
            Ok(position) => position,
            Err(error) => return (flushed, Some(error)),
        };
        while engine.durable() < position {
            if let Some(error) = engine.inner.log.write_error() {
                return (flushed, Some(error));
            }
            std::thread::yield_now();
        }
        flushed = (tick + 1) * 3;
    }
    (flushed, None)
}

fn check_stopped(dir: &Path, durability: Durability, at: usize, fault: Fault, is_healed: bool) {
    let files = FaultyFiles::default();
    let options = || OpenOptions { durability, ..options(dir) };
    let engine = open::open(options(), Arc::new(files.clone()), Steps::default()).unwrap();
    files.fail_from(at, fault);
    let (flushed, error) = write_until_stopped(&engine, 6);
    let Some(error) = error else {
        // Fewer writes than that were made.
        assert_eq!(flushed, 18);
        return;
    };
    let text = error.to_string();
    match fault {
        Fault::Refuse(ErrorKind::StorageFull) | Fault::Tear => {
            assert!(matches!(error, Error::Full(_)), "{error:?}");
        }
        _ => assert!(matches!(error, Error::Io(_)), "{error:?}"),
    }
    assert!(text.contains("log-"), "the file is named: {text}");
    assert_eq!(engine.stats().write_error, Some(text));

    // Writes stay stopped; reads go on.
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.put(FIXED, b"late", &[b"x"]);
    assert!(tx.commit().is_err());
    assert!(engine.flush().is_err());
    assert!(engine.sync().is_err());
    for row in 0..flushed {
        assert_eq!(get(&engine, FIXED, &[b'k', 0, row as u8]).unwrap(), [b'v'; 30]);
    }
    engine.snapshot().unwrap();
    if is_healed {
        // The way back needs no restart.
        files.heal();
        until("writes come back by themselves", || {
            let mut tx = engine.begin_write(Wait::Allowed);
            tx.put(FIXED, b"zback", &[b"x"]);
            tx.commit().is_ok()
        });
        assert_eq!(engine.stats().write_error, None);
        let position = engine.flush().unwrap();
        until("it is durable", || engine.durable() >= position);
        engine.sync().unwrap();
        engine.crash();
        // What the device did not confirm may be lost with the power.
        files.lose_power(|_| 0);
    } else {
        assert!(engine.close().is_err(), "closing tells that not everything is durable");
        drop(engine);
    }

    files.heal();
    let engine = open::open(options(), Arc::new(files), Steps::default()).unwrap();
    assert_eq!(get(&engine, FIXED, b"zback").is_some(), is_healed);
    let found = scan_from(&engine.begin_read(Wait::Allowed), FIXED, b"", b"z", Direction::Forward, 100);
    assert!(found.len() >= flushed, "{} of {flushed} acknowledged rows are left", found.len());
    for (row, (key, _)) in found.iter().enumerate() {
        assert_eq!(key, &[b'k', 0, row as u8], "what is left is a prefix");
    }
    put(&engine, FIXED, b"after", b"all");
    engine.sync().unwrap();
}

#[test]
fn after_any_failed_write_writes_stop_reads_go_on_and_nothing_acknowledged_is_lost() {
    let root = tempfile::tempdir().unwrap();
    let faults =
        [Fault::Refuse(ErrorKind::StorageFull), Fault::Refuse(ErrorKind::PermissionDenied), Fault::Tear];
    for at in 1..=8 {
        let durability = [Durability::EverySecond, Durability::Os, Durability::Always][at % 3];
        for is_healed in [false, true] {
            let dir = root.path().join(format!("{at}-{is_healed}"));
            check_stopped(&dir, durability, at, faults[at % faults.len()], is_healed);
        }
    }
}

#[test]
fn after_any_failed_sync_nothing_is_acknowledged() {
    let root = tempfile::tempdir().unwrap();
    for at in 1..=4 {
        for is_healed in [false, true] {
            let dir = root.path().join(format!("{at}-{is_healed}"));
            check_stopped(&dir, Durability::Always, at, Fault::Sync, is_healed);
        }
    }
}

#[test]
fn a_weaker_setting_does_not_make_durable_what_failed_to_sync() {
    let dir = tempfile::tempdir().unwrap();
    let files = FaultyFiles::default();
    let options = OpenOptions { durability: Durability::Always, ..options(dir.path()) };
    let engine = open::open(options, Arc::new(files.clone()), Steps::default()).unwrap();
    let synced = put(&engine, FIXED, b"a", b"1");
    engine.sync().unwrap();
    files.fail_from(1, Fault::Sync);
    let failed = put(&engine, FIXED, b"b", b"2");
    assert!(engine.sync().is_err());
    for durability in [Durability::EverySecond, Durability::Os, Durability::Always] {
        engine.set_durability(durability);
        assert_eq!(engine.durable(), synced);
        assert!(engine.durable() < failed);
        assert!(engine.flush().is_err());
    }
}

#[test]
fn a_failed_sync_of_write_back_stops_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let files = FaultyFiles::default();
    let options = OpenOptions { durability: Durability::Os, ..options(dir.path()) };
    let engine = open::open(options, Arc::new(files.clone()), Steps::default()).unwrap();
    put(&engine, FIXED, b"a", b"1");
    let turn = engine.inner.write_back_turn.lock();
    let number = engine.inner.freeze().unwrap();
    // So that the next sync is the one of write-back.
    engine.inner.log.prepare_segment().unwrap();
    files.fail_from(1, Fault::Sync);
    drop(turn);
    assert!(engine.inner.wait_for_unit(number).is_err());
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.put(FIXED, b"b", &[b"2"]);
    assert!(matches!(tx.commit(), Err(Error::Io(_))), "nothing is written behind what may be lost");
    assert!(engine.stats().write_error.unwrap().contains("the device failed"));
}

#[test]
fn without_syncs_segments_are_closed_and_removed_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let engine =
        RocksEngine::open(OpenOptions { durability: Durability::Os, ..options(dir.path()) }).unwrap();
    let open_segments = || {
        let links = fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        links.filter(|path| path.starts_with(open::log_dir(dir.path()))).count()
    };
    for number in 0..5 {
        put(&engine, FIXED, &[number], b"value");
        engine.write_back_now();
    }
    assert!(open_segments() <= 2, "{} segments are open", open_segments());
    let files = fs::read_dir(open::log_dir(dir.path())).unwrap().count();
    assert!(files <= 2, "{files} segments are left");
}

#[test]
fn a_failed_write_back_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let failures = Arc::new(AtomicUsize::new(2));
    let left = failures.clone();
    let hook = move |step: &'static str| {
        let fails = step == "rows in the sorted data"
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if fails { Err(Error::Io("no luck".to_owned())) } else { Ok(()) }
    };
    let steps = Steps { hook: Some(Box::new(hook)) };
    let engine = open::open(options(dir.path()), Arc::new(files::OsFiles), steps).unwrap();
    put(&engine, FIXED, b"a", b"1");
    let number = engine.inner.freeze().unwrap();
    let error = engine.inner.wait_for_unit(number).unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error:?}");
    assert_eq!(get(&engine, FIXED, b"a").unwrap(), b"1");
    assert!(engine.stats().write_back_pending);
    put(&engine, FIXED, b"b", b"2");
    while engine.stats().write_backs == 0 {
        engine.inner.background.wake_writer();
        std::thread::yield_now();
    }
    assert_eq!(failures.load(Ordering::SeqCst), 0);
    engine.write_back_now();
    assert_eq!(engine.stats().dirty_rows, 0);
    assert_eq!(get(&engine, FIXED, b"b").unwrap(), b"2");
}

#[test]
fn a_write_back_that_cannot_go_on_stops_commits_once_the_tables_are_full() {
    let dir = tempfile::tempdir().unwrap();
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = is_broken.clone();
    let hook = move |step: &'static str| {
        let fails = step == "synced" && broken.load(Ordering::SeqCst);
        if fails { Err(Error::Full("no room".to_owned())) } else { Ok(()) }
    };
    let memory = MemoryBudget { dirty_bytes: 64 << 10, ..BUDGET };
    let options = OpenOptions { memory, ..options(dir.path()) };
    let engine = open::open(options, Arc::new(files::OsFiles), Steps { hook: Some(Box::new(hook)) }).unwrap();
    let refused = loop {
        let mut tx = engine.begin_write(Wait::Allowed);
        tx.put(FIXED, &engine.inner.log.last().0.to_be_bytes(), &[&[1; 1000]]);
        if let Err(error) = tx.commit() {
            break error;
        }
        engine.inner.background.wake_writer();
        // Once the tables are full, write-back has to come to its end, however long it waits for a core. Then the pressure is gone.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while engine.pressure() >= 2.0 {
            assert!(std::time::Instant::now() < deadline, "commits were never refused");
            std::thread::yield_now();
        }
    };
    assert!(matches!(&refused, Error::Full(text) if text.contains("no room")), "{refused:?}");
    assert_eq!(engine.stats().write_error, Some(refused.to_string()));
    is_broken.store(false, Ordering::SeqCst);
    while engine.stats().write_error.is_some() {
        engine.inner.background.wake_writer();
        std::thread::yield_now();
    }
    put(&engine, FIXED, b"again", b"1");
}

/// A log of one segment with `records` records, left by a process that ended.
fn log_of(dir: &Path, records: u8, is_synced: bool) -> PathBuf {
    let engine = open(dir);
    for number in 0..records {
        put(&engine, FIXED, &[b'k', 0, number], b"value");
        engine.flush().unwrap();
    }
    if is_synced {
        engine.sync().unwrap();
        put(&engine, FIXED, b"k\0\xff", b"value");
        engine.flush().unwrap();
    }
    engine.crash();
    let log = open::log_dir(dir);
    let mut segments: Vec<PathBuf> = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.retain(|path| fs::metadata(path).unwrap().len() > log::record::SEGMENT_HEADER as u64);
    segments.sort();
    segments.remove(0)
}

fn rows_left(engine: &RocksEngine) -> usize {
    scan_from(&engine.begin_read(Wait::Allowed), FIXED, b"", b"z", Direction::Forward, 1000).len()
}

fn refusal(dir: &Path) -> String {
    match RocksEngine::open(options(dir)) {
        Ok(_) => panic!("it opened"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_torn_end_of_the_log_is_cut_off_wherever_it_is_torn() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    let segment = log_of(&whole, 3, false);
    let bytes = fs::read(&segment).unwrap();
    let record = (bytes.len() - log::record::SEGMENT_HEADER) / 3;
    for cut in [28, 29, 28 + record, 28 + record + 5, 28 + 2 * record + 40, bytes.len() - 1] {
        fs::write(&segment, &bytes[..cut]).unwrap();
        let engine = open(&whole);
        assert_eq!(rows_left(&engine), cut.saturating_sub(28) / record, "cut at {cut}");
        engine.crash();
        // The next start finds nothing wrong.
        assert_eq!(rows_left(&open(&whole)), cut.saturating_sub(28) / record);
        fs::remove_dir_all(&whole).unwrap();
        assert_eq!(log_of(&whole, 3, false), segment);
    }
}

#[test]
fn zeroes_behind_the_last_record_are_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let segment = log_of(dir.path(), 3, false);
    let mut bytes = fs::read(&segment).unwrap();
    bytes.resize(bytes.len() + 5000, 0);
    fs::write(&segment, bytes).unwrap();
    assert_eq!(rows_left(&open(dir.path())), 3);
}

#[test]
fn damage_before_whole_records_is_refused_and_cut_off_only_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let segment = log_of(dir.path(), 5, false);
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).unwrap();
    for _ in 0..2 {
        let text = refusal(dir.path());
        assert!(text.contains(segment.to_str().unwrap()), "{text}");
        assert!(text.contains("--recover-truncate-log yes"), "{text}");
    }
    let asked = OpenOptions { truncate_damaged_log: true, ..options(dir.path()) };
    assert_eq!(rows_left(&RocksEngine::open(asked).unwrap()), 2);
    assert_eq!(rows_left(&open(dir.path())), 2);
}

#[test]
fn an_end_that_was_synced_may_not_be_missing() {
    let root = tempfile::tempdir().unwrap();
    for (case, remove_all) in [("cut", false), ("removed", true)] {
        let dir = root.path().join(case);
        let segment = log_of(&dir, 3, true);
        if remove_all {
            fs::remove_file(&segment).unwrap();
        } else {
            let bytes = fs::read(&segment).unwrap();
            fs::write(&segment, &bytes[..bytes.len() - 1]).unwrap();
        }
        let text = refusal(&dir);
        assert!(text.contains("corrupt data in"), "{case}: {text}");
    }
}

#[test]
fn an_end_that_was_not_synced_may_be_missing_before_a_later_segment() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put(&engine, FIXED, b"a", b"1");
    engine.sync().unwrap();
    put(&engine, FIXED, b"b", b"2");
    engine.flush().unwrap();
    // Leaves the segment without having synced it.
    engine.inner.log.prepare_segment().unwrap();
    engine.inner.log.cut().unwrap();
    put(&engine, FIXED, b"c", b"3");
    engine.flush().unwrap();
    engine.crash();
    let mut segments: Vec<PathBuf> =
        fs::read_dir(open::log_dir(dir.path())).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.retain(|path| fs::metadata(path).unwrap().len() > log::record::SEGMENT_HEADER as u64);
    segments.sort();
    assert_eq!(segments.len(), 3);
    let bytes = fs::read(&segments[1]).unwrap();
    fs::write(&segments[1], &bytes[..bytes.len() - 3]).unwrap();
    let engine = open(dir.path());
    assert_eq!(get(&engine, FIXED, b"a").unwrap(), b"1");
    assert_eq!(get(&engine, FIXED, b"b"), None);
    assert_eq!(get(&engine, FIXED, b"c"), None, "what follows a missing commit is not kept");
}

#[test]
fn a_directory_is_opened_by_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let text = refusal(dir.path());
    assert!(text.contains("is in use by another process"), "{text}");
    drop(engine);
    drop(open(dir.path()));
}

#[test]
fn what_is_not_a_database_of_this_format_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("db");
    drop(open(&dir));
    let format = dir.join("FORMAT");
    assert_eq!(fs::read_to_string(&format).unwrap(), "tarn data format 2\n");

    fs::write(&format, "tarn data format 3\n").unwrap();
    let text = refusal(&dir);
    assert!(text.contains("format 3") && text.contains("newer"), "{text}");
    fs::write(&format, "something else").unwrap();
    assert!(refusal(&dir).contains("does not name a format"));
    fs::remove_file(&format).unwrap();
    assert!(refusal(&dir).contains("it is missing"));

    fs::write(&format, "tarn data format 2\n").unwrap();
    fs::remove_file(dir.join("sorted/CURRENT")).unwrap();
    assert!(refusal(&dir).contains("CURRENT"), "lost data is not an empty database");
}

#[test]
fn a_creation_that_was_cut_off_is_done_again() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("db");
    drop(open(&dir));
    fs::remove_file(dir.join("FORMAT")).unwrap();
    fs::write(dir.join("CREATING"), "").unwrap();
    let engine = open(&dir);
    put(&engine, FIXED, b"a", b"1");
    assert!(!dir.join("CREATING").exists());
}

#[test]
fn names_of_new_directories_are_durable() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("a/b");
    let files = FaultyFiles::default();
    let engine = open::open(options(&dir), Arc::new(files.clone()), Steps::default()).unwrap();
    for synced in [root.path(), &root.path().join("a"), &dir] {
        assert!(files.has_synced_dir(synced), "{}", synced.display());
    }
    let copies = root.path().join("elsewhere/copies");
    fs::create_dir_all(&copies).unwrap();
    engine.checkpoint(&copies.join("one")).unwrap();
    for synced in [&copies, &root.path().join("elsewhere")] {
        assert!(files.has_synced_dir(synced), "{}", synced.display());
    }
}

#[test]
fn a_way_back_that_is_cut_off_loses_nothing_acknowledged() {
    let root = tempfile::tempdir().unwrap();
    for (case, step) in ["log written anew", "new log begins"].into_iter().enumerate() {
        for loses_power in [false, true] {
            let dir = root.path().join(format!("{case}-{loses_power}"));
            let files = FaultyFiles::default();
            let reached = Arc::new(AtomicBool::new(false));
            let seen = reached.clone();
            let hook = move |here: &'static str| {
                seen.fetch_or(here == step, Ordering::SeqCst);
                if here == step { Err(Error::Io("cut off".to_owned())) } else { Ok(()) }
            };
            let options = OpenOptions { durability: Durability::Always, ..options(&dir) };
            let steps = Steps { hook: Some(Box::new(hook)) };
            let engine = open::open(options, Arc::new(files.clone()), steps).unwrap();
            // A row in a frozen unit, one that was overwritten, one that was deleted.
            for (key, value) in [(b"a", b"1"), (b"b", b"1"), (b"c", b"1"), (b"b", b"2")] {
                put(&engine, FIXED, key, value);
                engine.snapshot().unwrap();
            }
            let mut tx = engine.begin_write(Wait::Allowed);
            tx.delete(FIXED, b"c");
            tx.commit().unwrap();
            engine.sync().unwrap();
            files.fail(1, Fault::Sync);
            put(&engine, FIXED, b"d", b"unacknowledged");
            assert!(engine.sync().is_err());
            until("the way back is begun", || reached.load(Ordering::SeqCst));
            engine.crash();
            if loses_power {
                files.lose_power(|_| 0);
            }
            let engine = open::open(self::options(&dir), Arc::new(files), Steps::default()).unwrap();
            let case = format!("{step}, power lost: {loses_power}");
            assert_eq!(get(&engine, FIXED, b"a").unwrap(), b"1", "{case}");
            assert_eq!(get(&engine, FIXED, b"b").unwrap(), b"2", "{case}");
            assert_eq!(get(&engine, FIXED, b"c"), None, "{case}");
            put(&engine, FIXED, b"e", b"1");
            engine.sync().unwrap();
            drop(engine);
            assert_eq!(get(&open(&dir), FIXED, b"e").unwrap(), b"1", "{case}");
        }
    }
}
