use std::ops::ControlFlow;

use super::super::{Call, Fault, Faults, Injected, MemoryEngine, Rates};
use super::{committed, put, try_put};
use crate::conformance::{PLAIN, SPACES};
use crate::{Direction, Engine, Error, Range, Read, Wait, Write};

/// One letter per outcome: what happened, as a text to compare.
fn letter<T>(result: &crate::Result<T>) -> char {
    match result {
        Ok(_) => '.',
        Err(Error::Conflict) => 'c',
        Err(Error::Unavailable(_)) => 'u',
        Err(Error::OutcomeUnknown(_)) => '?',
        Err(Error::NotResident) => 'n',
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn scripted_faults_come_at_their_calls() {
    let faults = Faults::none()
        .then(Call::Commit, 1, Fault::Conflict)
        .then(Call::Commit, 0, Fault::UnknownApplied)
        .then(Call::Commit, 2, Fault::UnknownLost)
        .then(Call::Commit, 0, Fault::Unavailable);
    let engine = MemoryEngine::with_faults(SPACES, faults);
    let mut outcomes = String::new();
    for value in 0..8_u8 {
        outcomes.push(letter(&try_put(&engine, &[value], b"v")));
    }
    assert_eq!(outcomes, ".c?..?u.");
    let applied: Vec<_> = (0..8).filter(|key| committed(&engine, &[*key]).is_some()).collect();
    assert_eq!(applied, [0, 2, 3, 4, 7]);
    assert_eq!(
        engine.injected(),
        Injected { conflicts: 1, unavailable: 1, unknown_applied: 1, unknown_lost: 1, ..Injected::default() }
    );
}

#[test]
fn a_scripted_fault_waits_for_a_call_that_it_fits() {
    let faults =
        Faults::none().then(Call::Read, 0, Fault::NotResident).then(Call::Other, 0, Fault::Unavailable);
    let engine = MemoryEngine::with_faults(SPACES, faults);
    put(&engine, b"a", b"1");
    // Whoever may wait never hears of residence.
    assert_eq!(committed(&engine, b"a"), Some(b"1".to_vec()));
    let mut out = b"before".to_vec();
    let result = engine.begin_read(Wait::Never).get(PLAIN, b"a", &mut out);
    assert!(matches!(result, Err(Error::NotResident)));
    assert_eq!(out, b"before");
    assert!(engine.begin_read(Wait::Never).get(PLAIN, b"a", &mut out).unwrap());
    assert!(matches!(engine.snapshot().map(|_| ()), Err(Error::Unavailable(_))));
    engine.snapshot().unwrap();
}

#[test]
fn the_same_seed_gives_the_same_faults() {
    let rates = Rates {
        conflict: 100_000,
        unavailable: 50_000,
        unknown_applied: 50_000,
        unknown_lost: 50_000,
        not_resident: 200_000,
    };
    let history = |seed| {
        let engine = MemoryEngine::with_faults(SPACES, Faults::random(seed, rates));
        let mut outcomes = String::new();
        for value in 0..200_u8 {
            outcomes.push(letter(&try_put(&engine, &[value], b"v")));
            outcomes.push(letter(&engine.begin_read(Wait::Never).get(PLAIN, &[value], &mut Vec::new())));
        }
        (outcomes, engine.injected())
    };
    let (outcomes, injected) = history(7);
    assert_eq!(history(7), (outcomes.clone(), injected));
    assert_ne!(history(8).0, outcomes);
    for kind in ['.', 'c', 'u', '?', 'n'] {
        assert!(outcomes.contains(kind), "no {kind} in {outcomes}");
    }
    let count = |kind| outcomes.chars().filter(|outcome| *outcome == kind).count() as u64;
    assert_eq!(injected.conflicts, count('c'));
    assert_eq!(injected.unavailable, count('u'));
    assert_eq!(injected.unknown_applied + injected.unknown_lost, count('?'));
    assert_eq!(injected.not_resident, count('n'));
}

#[test]
fn faults_happen_always_or_never_at_the_ends_of_the_scale() {
    let engine = MemoryEngine::new(SPACES);
    put(&engine, b"a", b"1");
    let always = Faults::random(1, Rates { unavailable: 1_000_000, ..Rates::default() });
    engine.set_faults(always);
    let read = engine.begin_read(Wait::Allowed);
    assert!(matches!(read.get(PLAIN, b"a", &mut Vec::new()), Err(Error::Unavailable(_))));
    let many = read.get_many(PLAIN, &[b"a"], &mut |_, _| panic!("called before it failed"));
    assert!(matches!(many, Err(Error::Unavailable(_))));
    let range = Range { start: b"", end: b"z" };
    let scan = read.scan(PLAIN, range, Direction::Forward, 1, &mut |_, _| ControlFlow::Continue(()));
    assert!(matches!(scan, Err(Error::Unavailable(_))));
    assert!(matches!(engine.snapshot().map(|_| ()), Err(Error::Unavailable(_))));
    // Commits that were made are not lost.
    engine.flush().unwrap();
    assert!(matches!(engine.begin_write(Wait::Allowed).commit(), Err(Error::Unavailable(_))));
    assert!(matches!(try_put(&engine, b"b", b"1"), Err(Error::Unavailable(_))));
    engine.set_faults(Faults::none());
    assert_eq!(engine.injected().unavailable, 6);
    assert_eq!(committed(&engine, b"a"), Some(b"1".to_vec()));
    assert_eq!(committed(&engine, b"b"), None);
}

#[test]
fn a_commit_of_nothing_neither_collides_nor_gets_lost() {
    let rates = Rates { conflict: 500_000, unknown_lost: 500_000, ..Rates::default() };
    let engine = MemoryEngine::with_faults(SPACES, Faults::random(1, rates));
    engine.begin_write(Wait::Allowed).commit().unwrap();
    assert_eq!(engine.injected(), Injected::default());
    assert!(try_put(&engine, b"a", b"1").is_err());
}

#[test]
fn a_real_conflict_goes_before_an_unknown_outcome() {
    let faults = Faults::none().then(Call::Commit, 1, Fault::UnknownApplied);
    let engine = MemoryEngine::with_faults(SPACES, faults);
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"a", &[b"mine"]);
    put(&engine, b"a", b"theirs");
    assert!(matches!(write.commit(), Err(Error::Conflict)));
    assert_eq!(committed(&engine, b"a"), Some(b"theirs".to_vec()));
}

#[test]
fn faults_are_read_from_words() {
    let faults: Faults = "conflict=10000 not-resident=1000000 seed=7".parse().unwrap();
    let engine = MemoryEngine::with_faults(SPACES, faults);
    assert!(!engine.keeps_resident());
    let hurried = engine.begin_read(Wait::Never).get(PLAIN, b"a", &mut Vec::new());
    assert!(matches!(hurried, Err(Error::NotResident)), "{hurried:?}");
    assert_eq!(committed(&engine, b"a"), None);
    let refused = (0..10_000).filter(|_| try_put(&engine, b"a", b"1").is_err()).count() as u64;
    assert_eq!(refused, engine.injected().conflicts);
    assert!((50..150).contains(&refused), "{refused} of 10000, 100 are wanted");
    for bad in ["conflict", "conflict=", "conflict=-1", "conflict=1000001", "other=1"] {
        assert!(matches!(bad.parse::<Faults>(), Err(Error::Unavailable(_))), "{bad}");
    }
}
