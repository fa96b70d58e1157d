//! What the cluster may answer, by what it means.

use tikv_double::{Call, Fault, Lock, LockKind, Rates, Rule};

use super::super::{HOLD_AFTER, LOGICAL_BITS};
use super::*;
use crate::{Contended, Error};

#[test]
fn region_errors_are_nobodys_business() {
    let (double, engine) = alone();
    put(&engine, b"a", b"0");
    for (round, fault) in [
        Fault::NotLeader { hint: false },
        Fault::NotLeader { hint: true },
        Fault::EpochNotMatch,
        Fault::RegionNotFound,
        Fault::StaleCommand,
        Fault::ServerIsBusy,
        Fault::MaxTimestampNotSynced,
        Fault::MoveLeader,
        Fault::Split,
        Fault::Unavailable,
    ]
    .into_iter()
    .enumerate()
    {
        for call in [Call::Get, Call::Prewrite] {
            let value = round.to_string().into_bytes();
            double.inject(Rule::on(call, fault.clone()));
            put(&engine, b"a", &value);
            assert_eq!(committed(&engine, b"a"), Some(value), "{fault:?} of {call:?}");
        }
    }
    assert!(double.faults_struck() >= 20);
}

#[test]
fn an_answer_that_is_lost_is_asked_for_again_and_nothing_is_done_twice() {
    let (double, engine) = alone();
    put(&engine, b"n", &0_u64.to_be_bytes());
    let count = || {
        let mut write = engine.begin_write(Wait::Allowed);
        let before = u64::from_be_bytes(get(&write, b"n").unwrap().try_into().unwrap());
        write.put(PLAIN, b"n", &[&(before + 1).to_be_bytes()]);
        write.commit()
    };
    for fault in [Fault::UnavailableAfter, Fault::Unavailable] {
        double.inject(Rule::on(Call::Prewrite, fault));
        count().unwrap();
    }
    assert_eq!(committed(&engine, b"n"), Some(2_u64.to_be_bytes().to_vec()));
}

/// A commit in one phase whose answer is lost is sent again, and finds its rows in two regions by then, or those of two in one.
#[test]
fn a_region_may_split_or_be_merged_between_two_tries_of_a_commit() {
    for (call, tries) in [(Call::Prewrite, 1), (Call::Prewrite, 3), (Call::Commit, 1), (Call::Commit, 3)] {
        for (round, fault) in [Fault::UnavailableAfter, Fault::Unavailable].into_iter().enumerate() {
            let (double, engine) = alone();
            let value = round.to_string().into_bytes();
            let is_one = call == Call::Prewrite;
            assert!(is_one || double.split(b"alone\0m"));
            let mut write = engine.begin_write(Wait::Allowed);
            get(&write, b"a");
            write.put(PLAIN, b"a", &[&value]);
            write.put(PLAIN, b"z", &[&value]);
            let before = double.faults_struck();
            double.inject(Rule::on(call, fault.clone()).times(tries));
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    while double.faults_struck() == before {
                        std::thread::yield_now();
                    }
                    assert!(if is_one { double.split(b"alone\0m") } else { double.merge(b"alone\0m") });
                });
                write.commit().unwrap();
            });
            for key in [b"a", b"z"] {
                assert_eq!(committed(&engine, key), Some(value.clone()), "{fault:?} of {call:?}");
            }
        }
    }
}

#[test]
fn a_commit_without_an_answer_has_an_unknown_outcome() {
    let double = start(DoubleOptions::default());
    let engine = open_with(&double, "alone", Duration::from_millis(700));
    put(&engine, b"a", b"0");
    for (fault, left) in [(Fault::TimeoutAfter, "1"), (Fault::TimeoutBefore, "1")] {
        double.inject(Rule::on(Call::Prewrite, fault.clone()).always());
        let refused = try_put(&engine, b"a", b"1");
        assert!(matches!(refused, Err(Error::OutcomeUnknown(_))), "{fault:?}: {refused:?}");
        double.clear_faults();
        assert_eq!(committed(&engine, b"a"), Some(left.as_bytes().to_vec()), "{fault:?}");
    }
    assert_eq!(engine.stats().remote.unwrap().unknown_outcomes, 2);
    // A task of the library may still send what nobody waits for any more, now that it is let through.
    engine.settle().unwrap();
    // The commit of a transaction in two phases.
    assert!(double.split(b"alone\0m"));
    double.inject(Rule::on(Call::Commit, Fault::TimeoutAfter).always());
    let mut write = engine.begin_write(Wait::Allowed);
    get(&write, b"a");
    write.put(PLAIN, b"a", &[b"2"]);
    write.put(PLAIN, b"z", &[b"2"]);
    let refused = write.commit();
    assert!(matches!(refused, Err(Error::OutcomeUnknown(_))), "{refused:?}");
    double.clear_faults();
    assert_eq!(committed(&engine, b"z"), Some(b"2".to_vec()));
}

#[test]
fn a_read_without_an_answer_is_unavailable() {
    let double = start(DoubleOptions::default());
    let engine = open_with(&double, "alone", Duration::from_millis(300));
    put(&engine, b"a", b"0");
    double.inject(Rule::on(Call::Get, Fault::TimeoutBefore).always());
    let refused = engine.begin_read(Wait::Allowed).get(PLAIN, b"a", &mut Vec::new());
    assert!(matches!(&refused, Err(Error::Unavailable(why)) if why.contains("300 ms")), "{refused:?}");
    double.clear_faults();
    assert_eq!(committed(&engine, b"a"), Some(b"0".to_vec()));
}

#[test]
fn conflicts_are_told_and_leave_no_locks() {
    let (double, engine) = alone();
    put(&engine, b"a", b"0");
    double.inject(Rule::on(Call::Prewrite, Fault::Conflict));
    assert!(matches!(try_put(&engine, b"a", b"1"), Err(Error::Conflict)));
    put(&engine, b"a", b"2");
    assert_eq!(committed(&engine, b"a"), Some(b"2".to_vec()));
    assert_eq!(engine.stats().remote.unwrap().conflicts, 1);
}

#[test]
fn locks_of_those_who_died_are_resolved() {
    let (double, engine) = alone();
    put(&engine, b"a", b"0");
    double.inject(Rule::on(Call::Get, Fault::AbandonedLock));
    assert_eq!(committed(&engine, b"a"), Some(b"0".to_vec()));
    double.inject(Rule::on(Call::Prewrite, Fault::AbandonedLock));
    // A conflict is allowed: whoever died may have been before.
    let mut written = try_put(&engine, b"a", b"1");
    for _ in 0..10 {
        if written.is_ok() {
            break;
        }
        assert!(matches!(written, Err(Error::Conflict)), "{written:?}");
        written = try_put(&engine, b"a", b"1");
    }
    written.unwrap();
    assert_eq!(committed(&engine, b"a"), Some(b"1".to_vec()));
}

/// Of a transaction all rows have arrived but the one that decides, which nobody knows of: its owner died before it sent that.
#[test]
fn locks_without_an_owner_are_ended() {
    let double = start(DoubleOptions::default());
    let engine = open_with(&double, "alone", Duration::from_secs(3));
    put(&engine, b"a", b"0");
    let key_of = |row: &[u8]| engine.shared.keys.row(PLAIN, row).unwrap();
    let leave = |age: Duration| {
        let start_ts = double.timestamp() - ((age.as_millis() as u64) << LOGICAL_BITS);
        double.leave_lock(
            &key_of(b"a"),
            Lock {
                kind: LockKind::Put,
                primary: key_of(b"z"),
                start_ts,
                ttl_ms: 3_000,
                value: b"lost".to_vec(),
                for_update_ts: 0,
                txn_size: 2,
                min_commit_ts: 0,
                async_commit: false,
                secondaries: Vec::new(),
                rollback_ts: Vec::new(),
            },
        );
    };
    // Whoever has left it may still be there.
    let hasty = open_with(&double, "alone", Duration::from_millis(300));
    leave(Duration::ZERO);
    assert!(matches!(
        hasty.begin_read(Wait::Allowed).get(PLAIN, b"a", &mut Vec::new()),
        Err(Error::Unavailable(_))
    ));
    double.advance_clock(Duration::from_secs(10));
    assert_eq!(committed(&engine, b"a"), Some(b"0".to_vec()), "a get");
    assert!(double.locks().is_empty());
    leave(Duration::from_secs(10));
    let mut rows = 0;
    let each = &mut |_: &[u8], _: &[u8]| {
        rows += 1;
        std::ops::ControlFlow::Continue(())
    };
    let range = crate::Range { start: b"", end: b"b" };
    engine.begin_read(Wait::Allowed).scan(PLAIN, range, crate::Direction::Forward, 10, each).unwrap();
    assert_eq!(rows, 1);
    leave(Duration::from_secs(10));
    let witness = engine.witness(&[(PLAIN, b"a")]).unwrap().unwrap();
    assert!(witness.is_unchanged().unwrap());
    leave(Duration::from_secs(10));
    put(&engine, b"a", b"1");
    leave(Duration::from_secs(10));
    let contended = Contended { conflicts: HOLD_AFTER, rows: vec![(PLAIN, b"a".as_slice().into())] };
    let mut write = engine.begin_again(Wait::Allowed, &contended);
    write.put(PLAIN, b"a", &[b"2"]);
    write.commit().unwrap();
    assert_eq!(committed(&engine, b"a"), Some(b"2".to_vec()));
    assert!(double.locks().is_empty());
}

fn write_both(engine: &TikvEngine, value: &[u8]) -> Result<Position> {
    let mut write = engine.begin_write(Wait::Allowed);
    get(&write, b"a");
    write.put(PLAIN, b"a", &[value]);
    write.put(PLAIN, b"z", &[value]);
    write.commit()
}

/// In two regions, of which one is busy: what the commit has locked in the other is taken back, and not waited for.
#[test]
fn a_commit_does_not_wait_for_its_own_locks() {
    let (double, engine) = alone();
    assert!(double.split(b"alone\0m"));
    write_both(&engine, b"0").unwrap();
    for row in [b"a", b"z"] {
        let prefix = engine.shared.keys.row(PLAIN, row).unwrap();
        double.inject(Rule::on(Call::Prewrite, Fault::ServerIsBusy).with_prefix(&prefix));
        let before = double.counts();
        let refused = write_both(&engine, b"1");
        assert!(matches!(refused, Ok(_) | Err(Error::Conflict)), "{refused:?}");
        let counts = double.counts() - &before;
        assert_eq!(counts.get(Call::Get) + counts.get(Call::BatchGet), 1, "it reads once: {counts}");
        write_both(&engine, b"2").unwrap();
        assert_eq!(committed(&engine, b"z"), Some(b"2".to_vec()));
    }
    assert_eq!(engine.stats().remote.unwrap().unknown_outcomes, 0);
}

/// Whoever meets a lock gives back what it has locked itself, so that two do not wait for each other.
#[test]
fn a_commit_that_meets_a_lock_gives_up_its_own() {
    let (double, engine) = alone();
    assert!(double.split(b"alone\0m"));
    write_both(&engine, b"0").unwrap();
    let key = engine.shared.keys.row(PLAIN, b"z").unwrap();
    let start_ts = double.timestamp();
    double.leave_lock(
        &key,
        Lock {
            kind: LockKind::Put,
            primary: key.clone(),
            start_ts,
            ttl_ms: 60_000,
            value: b"theirs".to_vec(),
            for_update_ts: 0,
            txn_size: 1,
            min_commit_ts: 0,
            async_commit: false,
            secondaries: Vec::new(),
            rollback_ts: Vec::new(),
        },
    );
    assert!(matches!(write_both(&engine, b"1"), Err(Error::Conflict)));
    assert_eq!(double.locks().len(), 1, "only theirs");
    assert_eq!(committed(&engine, b"a"), Some(b"0".to_vec()));
}

/// The row that decides is committed, and nobody has heard of it: the other one follows, at the same moment.
#[test]
fn a_lost_commit_leaves_no_locks() {
    let double = start(DoubleOptions::default());
    let engine = open_with(&double, "alone", Duration::from_millis(700));
    assert!(double.split(b"alone\0m"));
    write_both(&engine, b"0").unwrap();
    for (fault, left) in [(Fault::TimeoutAfter, b"1"), (Fault::TimeoutBefore, b"1")] {
        double.inject(Rule::on(Call::Commit, fault).always());
        assert!(matches!(write_both(&engine, b"1"), Err(Error::OutcomeUnknown(_))));
        double.clear_faults();
        while !double.locks().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(committed(&engine, b"a"), Some(left.to_vec()));
        assert_eq!(committed(&engine, b"z"), Some(left.to_vec()));
    }
}

/// The answer of the row that decides is lost, and the store is busy when it is asked again: nothing is committed at two moments.
#[test]
fn a_commit_is_decided_once() {
    let (double, engine) = alone();
    assert!(double.split(b"alone\0m"));
    write_both(&engine, b"0").unwrap();
    // The second row is committed behind the answer.
    while !double.locks().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    double.inject(Rule::on(Call::Commit, Fault::UnavailableAfter));
    double.inject(Rule::on(Call::Commit, Fault::ServerIsBusy));
    let written = write_both(&engine, b"1");
    assert!(matches!(written, Ok(_) | Err(Error::OutcomeUnknown(_))), "{written:?}");
    assert_eq!(committed(&engine, b"a"), Some(b"1".to_vec()));
    assert_eq!(committed(&engine, b"z"), Some(b"1".to_vec()));
    assert!(double.locks().is_empty());
}

/// Two nodes count in one row. Who has met conflicts holds the row from its beginning, and nobody comes between.
#[test]
fn after_conflicts_the_rows_are_held() {
    const COUNTS: u64 = 100;
    let double = start(DoubleOptions::default());
    let engines = [open(&double, "same"), open(&double, "same")];
    put(&engines[0], b"n", &0_u64.to_be_bytes());
    let most = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for engine in engines.iter().chain(&engines) {
            threads.spawn(|| {
                for _ in 0..COUNTS {
                    let mut contended = Contended::default();
                    loop {
                        let mut write = engine.begin_again(Wait::Allowed, &contended);
                        let mut value = Vec::new();
                        let counted = write.get(PLAIN, b"n", &mut value).and_then(|_| {
                            let before = u64::from_be_bytes(value.try_into().unwrap());
                            write.put(PLAIN, b"n", &[&(before + 1).to_be_bytes()]);
                            contended.note(&write);
                            write.commit()
                        });
                        match counted {
                            Ok(_) => break,
                            Err(Error::Conflict) => contended.conflicts += 1,
                            Err(other) => panic!("{other}"),
                        }
                    }
                    most.fetch_max(contended.conflicts as usize, Ordering::SeqCst);
                }
            });
        }
    });
    let counted = committed(&engines[1], b"n").unwrap();
    assert_eq!(u64::from_be_bytes(counted.try_into().unwrap()), 4 * COUNTS);
    println!("most conflicts of one: {}", most.load(Ordering::SeqCst));
}

/// A run that holds rows may put others that it has not read, and none that it has.
#[test]
fn who_holds_rows_relies_on_no_others() {
    let (_double, engine) = alone();
    put(&engine, b"a", b"0");
    put(&engine, b"b", b"0");
    let contended = Contended { conflicts: HOLD_AFTER, rows: vec![(PLAIN, b"a"[..].into())] };
    let mut write = engine.begin_again(Wait::Allowed, &contended);
    get(&write, b"a");
    write.put(PLAIN, b"a", &[b"1"]);
    write.put(PLAIN, b"new", &[b"1"]);
    let mut relied = Vec::new();
    write.each_relied(&mut |space, row| relied.push((space, row.to_vec())));
    assert_eq!(relied, [(PLAIN, b"a".to_vec())]);
    write.commit().unwrap();
    let mut write = engine.begin_again(Wait::Allowed, &contended);
    get(&write, b"b");
    write.put(PLAIN, b"b", &[b"2"]);
    assert!(matches!(write.commit(), Err(Error::Conflict)));
    assert_eq!(committed(&engine, b"new"), Some(b"1".to_vec()));
    assert_eq!(committed(&engine, b"b"), Some(b"0".to_vec()));
}

#[test]
fn a_cluster_that_goes_away_is_missed_and_found_again() {
    let double = start(DoubleOptions::default());
    let engine = open_with(&double, "alone", Duration::from_millis(500));
    put(&engine, b"a", b"1");
    double.stop_pd();
    double.store_ids().into_iter().for_each(|id| double.stop_store(id));
    for _ in 0..3 {
        let refused = engine.begin_read(Wait::Allowed).get(PLAIN, b"a", &mut Vec::new());
        assert!(matches!(&refused, Err(Error::Unavailable(_))), "{refused:?}");
        assert!(matches!(try_put(&engine, b"a", b"2"), Err(Error::Unavailable(_))));
    }
    assert!(engine.stats().remote.unwrap().trouble.is_some());
    double.store_ids().into_iter().for_each(|id| double.start_store(id).unwrap());
    double.start_pd().unwrap();
    while try_put(&engine, b"a", b"3").is_err() {
        std::thread::yield_now();
    }
    assert_eq!(committed(&engine, b"a"), Some(b"3".to_vec()));
    assert!(engine.stats().remote.unwrap().trouble.is_none());
}

#[test]
fn an_engine_starts_before_its_cluster() {
    let double = start(DoubleOptions::default());
    double.stop_pd();
    let options = Options {
        pd_addresses: vec![double.pd_address()],
        prefix: "early".to_owned(),
        timeout: Duration::from_millis(300),
        relied: Vec::new(),
    };
    let engine = TikvEngine::open(&options).unwrap();
    assert!(matches!(engine.wait_connected(), Err(Error::Unavailable(_))));
    assert!(matches!(try_put(&engine, b"a", b"1"), Err(Error::Unavailable(_))));
    double.start_pd().unwrap();
    while try_put(&engine, b"a", b"1").is_err() {
        std::thread::yield_now();
    }
}

/// Whatever goes wrong on the way: what was acknowledged is there, once.
#[test]
fn counts_are_right_under_faults_at_random() {
    let rates = Rates {
        region_error: 0.02,
        busy: 0.02,
        conflict: 0.02,
        abandoned_lock: 0.005,
        split: 0.005,
        move_leader: 0.01,
        unavailable: 0.01,
        unavailable_after: 0.01,
        ..Rates::default()
    };
    let double = start(DoubleOptions { seed: 7, ..DoubleOptions::default() });
    let engine = open(&double, "random");
    for thread in 0..3_u8 {
        put(&engine, &[thread], &0_u64.to_be_bytes());
    }
    double.set_rates(rates);
    let sums: Vec<(u64, u64)> = std::thread::scope(|threads| {
        let counting: Vec<_> = (0..3_u8)
            .map(|thread| {
                let engine = &engine;
                threads.spawn(move || {
                    let (mut done, mut unknown) = (0, 0);
                    for _ in 0..150 {
                        let mut write = engine.begin_write(Wait::Allowed);
                        let mut value = Vec::new();
                        match write.get(PLAIN, &[thread], &mut value).and_then(|_| {
                            let before = u64::from_be_bytes(value.try_into().unwrap());
                            write.put(PLAIN, &[thread], &[&(before + 1).to_be_bytes()]);
                            write.put(PLAIN, &[0xf0, thread], &[&before.to_be_bytes()]);
                            write.commit()
                        }) {
                            Ok(_) => done += 1,
                            Err(Error::OutcomeUnknown(_)) => unknown += 1,
                            Err(Error::Conflict) => {}
                            Err(other) => panic!("{other}"),
                        }
                    }
                    (done, unknown)
                })
            })
            .collect();
        counting.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    double.clear_faults();
    for (thread, (done, unknown)) in (0..3_u8).zip(sums) {
        let counted = u64::from_be_bytes(committed(&engine, &[thread]).unwrap().try_into().unwrap());
        assert!((done..=done + unknown).contains(&counted), "{counted} of {done} and {unknown} unknown");
        assert_eq!(committed(&engine, &[0xf0, thread]), Some((counted - 1).to_be_bytes().to_vec()));
    }
    assert!(double.faults_struck() > 50);
}
