//! Damaged, missing and holey files: a start refuses what it cannot vouch for, names it, and throws nothing away.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;

/// All files of a directory that hold anything, by name; RocksDB's reports and lock files left out.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if !name.starts_with("LOG") && !name.starts_with("OPTIONS") && name != "LOCK" {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(drop).unwrap() }
    }
}

/// The segments that hold records, oldest first.
fn segments(dir: &Path) -> Vec<PathBuf> {
    let log = open::log_dir(dir);
    let mut found: Vec<PathBuf> = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| fs::metadata(path).unwrap().len() > log::record::SEGMENT_HEADER as u64);
    found.sort();
    found
}

fn key(number: u8) -> [u8; 3] {
    [b'k', 0, number]
}

/// Records 1 to `synced` are on the device, those up to `all` are not; the process was killed.
fn killed(dir: &Path, synced: u8, all: u8) {
    let engine = open(dir);
    for number in 1..=all {
        put(&engine, FIXED, &key(number), &[number; 40]);
        engine.flush().unwrap();
        if number == synced {
            engine.sync().unwrap();
        }
    }
    engine.crash();
}

/// Ended in order, with nothing but the log.
fn closed(dir: &Path, all: u8) {
    let engine = open(dir);
    for number in 1..=all {
        put(&engine, FIXED, &key(number), &[number; 40]);
        engine.flush().unwrap();
    }
    engine.close().unwrap();
}

fn rows(engine: &RocksEngine) -> usize {
    scan_from(&engine.begin_read(Wait::Allowed), FIXED, b"k", b"l", Direction::Forward, 1000).len()
}

fn refusal(dir: &Path) -> Option<String> {
    RocksEngine::open(options(dir)).err().map(|error| error.to_string())
}

/// Refused, with the file's name, again and again; what is there stays. The override starts with the first `left` rows, keeps
/// every byte of the log under some name, and the next start needs no override.
#[track_caller]
fn check_refused(dir: &Path, names: &str, left: usize) {
    let log = open::log_dir(dir);
    let contents_of_log = || if log.exists() { contents(&log) } else { BTreeMap::new() };
    let before = contents_of_log();
    for _ in 0..2 {
        let text = refusal(dir).unwrap_or_else(|| panic!("it opened: {names}"));
        assert!(text.contains(names), "{names} is not named: {text}");
        assert!(text.contains("--recover-truncate-log yes"), "{text}");
        assert!(contents_of_log() == before, "something was changed");
    }
    let anyway = || OpenOptions { truncate_damaged_log: true, ..options(dir) };
    let engine = RocksEngine::open(anyway()).unwrap();
    assert_eq!(rows(&engine), left, "{names}");
    put(&engine, FIXED, b"after", b"all");
    engine.sync().unwrap();
    engine.crash();
    let kept: Vec<Vec<u8>> = contents(dir).into_values().collect();
    for (path, bytes) in before.iter().filter(|(_, bytes)| bytes.len() > log::record::SEGMENT_HEADER) {
        let is_same = |file: &Vec<u8>| file == bytes;
        let in_two = || {
            // The good front of a segment stays where it was, the rest of it is beside.
            kept.iter().any(|front| {
                !front.is_empty()
                    && bytes.starts_with(front)
                    && kept
                        .iter()
                        .any(|back| front.len() + back.len() == bytes.len() && bytes.ends_with(back))
            })
        };
        assert!(kept.iter().any(is_same) || in_two(), "{} is gone", path.display());
    }
    let engine = open(dir);
    assert_eq!(get(&engine, FIXED, b"after").unwrap(), b"all");
    assert_eq!(rows(&engine), left);
}

#[test]
fn a_damaged_header_of_the_last_segment_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    killed(&whole, 0, 4);
    for bit in [0, 63, 64, 127, 128, 191, 192, 223] {
        let dir = root.path().join(bit.to_string());
        copy(&whole, &dir);
        let segment = segments(&dir).pop().unwrap();
        let mut bytes = fs::read(&segment).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&segment, bytes).unwrap();
        check_refused(&dir, segment.to_str().unwrap(), 0);
    }
}

#[test]
fn a_zeroed_first_page_or_an_emptied_segment_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for (case, len) in [("zeroed", usize::MAX), ("emptied", 0), ("cut", 27)] {
        let dir = root.path().join(case);
        killed(&dir, 2, 4);
        let segment = segments(&dir).pop().unwrap();
        let mut bytes = fs::read(&segment).unwrap();
        bytes.iter_mut().take(4096).for_each(|byte| *byte = 0);
        bytes.truncate(len);
        fs::write(&segment, bytes).unwrap();
        check_refused(&dir, segment.to_str().unwrap(), 2);
    }
}

#[test]
fn a_missing_log_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for (case, is_closed) in [("killed", false), ("closed", true)] {
        let dir = root.path().join(case);
        if is_closed {
            closed(&dir, 3)
        } else {
            killed(&dir, 1, 3)
        }
        fs::remove_dir_all(open::log_dir(&dir)).unwrap();
        check_refused(&dir, open::log_dir(&dir).to_str().unwrap(), 0);
    }
}

#[test]
fn a_missing_segment_is_refused_whichever_it_is() {
    let root = tempfile::tempdir().unwrap();
    for (case, is_closed, which, left) in
        [("last", false, 1, 2), ("first", false, 0, 0), ("only", true, 0, 0)]
    {
        let dir = root.path().join(case);
        if is_closed {
            closed(&dir, 4)
        } else {
            killed(&dir, 2, 4)
        }
        let segment = segments(&dir).remove(which);
        fs::remove_file(&segment).unwrap();
        check_refused(&dir, "log-", left);
    }
}

#[test]
fn a_damaged_end_after_an_orderly_stop_is_no_torn_one() {
    let root = tempfile::tempdir().unwrap();
    for (case, cut) in [("cut", true), ("flipped", false)] {
        let dir = root.path().join(case);
        closed(&dir, 4);
        let segment = segments(&dir).pop().unwrap();
        let mut bytes = fs::read(&segment).unwrap();
        if cut {
            bytes.truncate(bytes.len() - 5);
        } else {
            *bytes.last_mut().unwrap() ^= 4;
        }
        fs::write(&segment, bytes).unwrap();
        check_refused(&dir, segment.to_str().unwrap(), 3);
    }
}

#[test]
fn a_flipped_bit_in_any_record_is_refused_synced_or_not() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    killed(&whole, 0, 4);
    let segment = segments(&whole).pop().unwrap();
    let bytes = fs::read(&segment).unwrap();
    let record = (bytes.len() - log::record::SEGMENT_HEADER) / 4;
    // Of the last record too: its length, its checksum, its lsn, its rows.
    for (place, left) in [(0, 3), (2, 3), (3, 3), (5, 3), (12, 3), (record - 1, 3)] {
        let dir = root.path().join(place.to_string());
        copy(&whole, &dir);
        let segment = segments(&dir).pop().unwrap();
        let mut bytes = bytes.clone();
        bytes[log::record::SEGMENT_HEADER + 3 * record + place] ^= 1;
        fs::write(&segment, bytes).unwrap();
        check_refused(&dir, segment.to_str().unwrap(), left);
    }
}

/// Zeroes the bytes of one record of the last segment.
fn punch(dir: &Path, records: usize, hole: usize) -> PathBuf {
    let segment = segments(dir).pop().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let header = log::record::SEGMENT_HEADER;
    let record = (bytes.len() - header) / records;
    bytes[header + hole * record..header + (hole + 1) * record].fill(0);
    fs::write(&segment, bytes).unwrap();
    segment
}

#[test]
fn a_hole_in_what_was_never_synced_is_the_end_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    killed(dir.path(), 2, 6);
    punch(dir.path(), 4, 1);
    let engine = open(dir.path());
    assert_eq!(rows(&engine), 3, "two that were synced, and one before the hole");
    put(&engine, FIXED, &key(9), b"new");
    engine.flush().unwrap();
    engine.crash();
    assert_eq!(rows(&open(dir.path())), 4);
    let aside: Vec<_> = contents(&open::log_dir(dir.path()))
        .into_iter()
        .filter(|(path, _)| path.to_str().unwrap().contains("set-aside-"))
        .collect();
    assert_eq!(aside.len(), 1, "what was cut off is kept: {aside:?}");
}

#[test]
fn a_lost_page_of_what_was_never_synced_is_the_end_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    for number in 1..=6 {
        put(&engine, FIXED, &key(number), &[number; 3000]);
        engine.flush().unwrap();
    }
    engine.crash();
    let segment = segments(dir.path()).pop().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[8192..12288].fill(0);
    fs::write(&segment, bytes).unwrap();
    assert_eq!(rows(&open(dir.path())), 2);
}

#[test]
fn a_hole_in_what_was_synced_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let engine =
        RocksEngine::open(OpenOptions { durability: Durability::Always, ..options(dir.path()) }).unwrap();
    for number in 1..=5 {
        put(&engine, FIXED, &key(number), &[number; 40]);
        engine.sync().unwrap();
    }
    engine.crash();
    let segment = punch(dir.path(), 5, 2);
    check_refused(dir.path(), segment.to_str().unwrap(), 2);
}

/// Rows of three units are in the sorted data, those of a fourth in the log.
fn written_back(dir: &Path) {
    let engine = open(dir);
    for unit in 0..3 {
        for number in 0..8 {
            put(&engine, FIXED, &key(unit * 8 + number), &[unit; 40]);
        }
        engine.write_back_now();
    }
    for number in 24..32 {
        put(&engine, FIXED, &key(number), &[3; 40]);
    }
    engine.close().unwrap();
}

fn manifest(dir: &Path) -> PathBuf {
    let sorted = open::sorted_dir(dir);
    let current = fs::read_to_string(sorted.join("CURRENT")).unwrap();
    sorted.join(current.trim_end())
}

#[test]
fn sorted_data_that_went_back_in_time_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    written_back(&whole);
    let len = fs::metadata(manifest(&whole)).unwrap().len() as usize;
    let mut refused = 0;
    for cut in (1..len).step_by(7) {
        let dir = root.path().join(cut.to_string());
        copy(&whole, &dir);
        let bytes = fs::read(manifest(&dir)).unwrap();
        fs::write(manifest(&dir), &bytes[..len - cut]).unwrap();
        let before = contents(&dir);
        match refusal(&dir) {
            Some(_) => {
                refused += 1;
                assert!(contents(&dir) == before, "cut by {cut}: something was changed");
            }
            None => {
                let engine = open(&dir);
                assert_eq!(rows(&engine), 32, "cut by {cut}");
            }
        }
        fs::remove_dir_all(&dir).unwrap();
    }
    assert!(refused > 10, "{refused} of {} were refused", len / 7);
}

#[test]
fn the_override_starts_with_sorted_data_that_went_back_and_keeps_the_old_files() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    written_back(&whole);
    // The shortest cut that takes the third unit away.
    let (dir, text) = (1..)
        .find_map(|cut| {
            let dir = root.path().join(cut.to_string());
            copy(&whole, &dir);
            let bytes = fs::read(manifest(&dir)).unwrap();
            fs::write(manifest(&dir), &bytes[..bytes.len() - cut * 8]).unwrap();
            refusal(&dir).map(|text| (dir, text))
        })
        .unwrap();
    assert!(text.contains("went back in time") && text.contains("--recover-truncate-log yes"), "{text}");
    let before: Vec<_> = contents(&open::sorted_dir(&dir)).into_values().collect();
    let engine = RocksEngine::open(OpenOptions { truncate_damaged_log: true, ..options(&dir) }).unwrap();
    let left = rows(&engine);
    assert!((16..=24).contains(&left), "two units, and what of the third is in files: {left}");
    engine.crash();
    let kept: Vec<_> = contents(&dir).into_values().collect();
    assert!(before.iter().all(|file| kept.contains(file)), "a file of the sorted data is gone");
    assert_eq!(rows(&open(&dir)), left);
}

#[test]
fn a_copy_opens_and_is_held_to_the_same() {
    let root = tempfile::tempdir().unwrap();
    let (dir, copy) = (root.path().join("db"), root.path().join("copy"));
    let engine = open(&dir);
    put(&engine, FIXED, &key(1), b"1");
    engine.checkpoint(&copy).unwrap();
    assert_eq!(rows(&open(&copy)), 1);
    fs::remove_dir_all(open::log_dir(&copy)).unwrap();
    assert!(refusal(&copy).unwrap().contains("log"));
}

#[test]
fn damaged_or_missing_marks_are_refused() {
    let root = tempfile::tempdir().unwrap();
    for (case, len) in [("missing", None), ("cut", Some(40)), ("flipped", Some(44))] {
        let dir = root.path().join(case);
        killed(&dir, 1, 3);
        let path = dir.join("MARKS");
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        match len {
            None => fs::remove_file(&path).unwrap(),
            Some(len) => fs::write(&path, &bytes[..len]).unwrap(),
        }
        check_refused(&dir, "MARKS", 3);
    }
}

#[test]
fn a_store_that_never_opens_is_given_up() {
    let (keep, never) = std::sync::mpsc::channel::<()>();
    let spin = move || never.recv().map_err(|_| Error::Unavailable("ended".to_owned()));
    let error = open::within(std::time::Duration::ZERO, Path::new("sorted"), spin).unwrap_err();
    assert!(error.to_string().contains("RocksDB does not open it within 0 s"), "{error}");
    drop(keep);
}

#[test]
fn a_directory_without_marks_is_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    killed(dir.path(), 1, 3);
    // As the version before left it, which wrote the header with the first record.
    fs::remove_file(dir.path().join("MARKS")).unwrap();
    fs::write(dir.path().join("FORMAT"), "tarn data format 1\n").unwrap();
    for path in fs::read_dir(open::log_dir(dir.path())).unwrap().map(|entry| entry.unwrap().path()) {
        if fs::metadata(&path).unwrap().len() == log::record::SEGMENT_HEADER as u64 {
            fs::write(path, "").unwrap();
        }
    }
    assert_eq!(rows(&open(dir.path())), 3);
    assert_eq!(fs::read_to_string(dir.path().join("FORMAT")).unwrap(), "tarn data format 2\n");
    assert!(dir.path().join("MARKS").exists());
    assert_eq!(rows(&open(dir.path())), 3);
}
