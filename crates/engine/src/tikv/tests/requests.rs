//! How many requests things take.

use tikv_double::{Call, Counts, Double};

use super::*;
use crate::conformance::QUEUE;
use crate::{Direction, Range};

/// What came in while `work` ran.
fn during(double: &Double, work: impl FnOnce()) -> Counts {
    let before = double.counts();
    work();
    double.counts() - &before
}

fn of(counts: &Counts, calls: &[Call]) -> Vec<u64> {
    calls.iter().map(|call| counts.get(*call)).collect()
}

#[test]
fn a_read_of_a_row_is_one_request_and_many_rows_are_one_too() {
    let (double, engine) = alone();
    for row in 0..20_u8 {
        put(&engine, &[row], &[row]);
    }
    let counts = during(&double, || assert_eq!(committed(&engine, &[3]), Some(vec![3])));
    assert_eq!((counts.tikv(), counts.get(Call::Get), counts.get(Call::Tso)), (1, 1, 1));
    let rows: Vec<[u8; 1]> = (0..30_u8).rev().map(|row| [row]).collect();
    let rows: Vec<&[u8]> = rows.iter().map(<[u8; 1]>::as_slice).collect();
    let counts = during(&double, || {
        let mut found = 0;
        let read = engine.begin_read(Wait::Allowed);
        read.get_many(PLAIN, &rows, &mut |_, value| found += usize::from(value.is_some())).unwrap();
        assert_eq!(found, 20);
        // What was read is not asked for again.
        assert_eq!(get(&read, &[3]), Some(vec![3]));
        assert_eq!(get(&read, &[25]), None);
    });
    assert_eq!((counts.tikv(), counts.get(Call::BatchGet), counts.get(Call::Tso)), (1, 1, 1));
}

#[test]
fn rows_are_fetched_ahead_over_spaces() {
    let (double, engine) = alone();
    put(&engine, b"a", b"1");
    let counts = during(&double, || {
        let mut write = engine.begin_write(Wait::Allowed);
        write.fetch(&[(PLAIN, b"a"), (PLAIN, b"b"), (QUEUE, b"a")]).unwrap();
        assert_eq!(get(&write, b"a"), Some(b"1".to_vec()));
        assert!(!write.get(QUEUE, b"a", &mut Vec::new()).unwrap());
        write.put(PLAIN, b"b", &[b"2"]);
        write.put(QUEUE, b"a", &[b"2"]);
        assert_eq!(get(&write, b"b"), Some(b"2".to_vec()), "its own rows come first");
        write.commit().unwrap();
    });
    assert_eq!(of(&counts, &[Call::BatchGet, Call::Prewrite, Call::Commit, Call::Tso]), [1, 1, 0, 1]);
    assert_eq!(counts.tikv(), 2);
}

#[test]
fn rows_of_one_region_are_committed_in_one_phase_and_of_several_in_two() {
    let (double, engine) = alone();
    let write = |rows: &[&[u8]]| {
        let mut write = engine.begin_write(Wait::Allowed);
        rows.iter().for_each(|row| write.put(PLAIN, row, &[b"v"]));
        write.commit().unwrap();
    };
    write(&[b"a", b"z"]);
    let counts = during(&double, || write(&[b"a", b"z"]));
    assert_eq!(of(&counts, &[Call::Prewrite, Call::Commit]), [1, 0]);
    assert!(double.split(b"alone\0m"));
    write(&[b"a", b"z"]);
    let counts = during(&double, || write(&[b"a", b"z"]));
    assert_eq!(counts.get(Call::Prewrite), 2);
    assert!(counts.get(Call::Commit) >= 1);
    assert_eq!(committed(&engine, b"z"), Some(b"v".to_vec()));
}

#[test]
fn a_scan_takes_few_requests_and_short_ones_one() {
    let (double, engine) = alone();
    let mut write = engine.begin_write(Wait::Allowed);
    for row in 0..3_000_u32 {
        write.put(PLAIN, &row.to_be_bytes(), &[b"value"]);
    }
    write.commit().unwrap();
    // The rows but the first are told of the commit in the background.
    while !double.locks().is_empty() {
        std::thread::yield_now();
    }
    let scan = |limit: usize, direction| {
        let mut rows = 0;
        let read = engine.begin_read(Wait::Allowed);
        let range = Range { start: b"", end: b"\xff" };
        read.scan(PLAIN, range, direction, limit, &mut |_, _| {
            rows += 1;
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        rows
    };
    for direction in [Direction::Forward, Direction::Backward] {
        let counts = during(&double, || assert_eq!(scan(10, direction), 10));
        assert_eq!(counts.tikv(), 1);
        let counts = during(&double, || assert_eq!(scan(usize::MAX, direction), 3_000));
        assert!(counts.tikv() <= 6, "{counts}");
    }
}

#[test]
fn where_waiting_is_not_allowed_nothing_is_asked() {
    let (double, engine) = alone();
    put(&engine, b"a", b"1");
    let counts = during(&double, || {
        let read = engine.begin_read(Wait::Never);
        assert!(matches!(read.get(PLAIN, b"a", &mut Vec::new()), Err(crate::Error::NotResident)));
        let mut write = engine.begin_write(Wait::Never);
        assert!(matches!(write.get(PLAIN, b"a", &mut Vec::new()), Err(crate::Error::NotResident)));
        write.put(PLAIN, b"a", &[b"2"]);
        assert!(matches!(write.commit(), Err(crate::Error::NotResident)));
        engine.prefetch(&[engine.hint_row(PLAIN, b"a"), engine.hint_group(PLAIN, b"a")]);
    });
    assert_eq!((counts.tikv(), counts.pd()), (0, 0));
}
