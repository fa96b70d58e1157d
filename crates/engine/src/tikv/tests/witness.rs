//! Changes that others make, rows that are relied on, and commits that come late.

use tikv_double::{Call, Fault, Rule};

use super::*;
use crate::{Error, Space};

fn witness(engine: &TikvEngine, rows: &[(Space, &[u8])]) -> super::super::Witness {
    engine.witness(rows).unwrap().unwrap()
}

fn delete(engine: &TikvEngine, key: &[u8]) {
    let mut write = engine.begin_write(Wait::Allowed);
    write.get(PLAIN, key, &mut Vec::new()).unwrap();
    write.delete(PLAIN, key);
    write.commit().unwrap();
}

#[test]
fn a_witness_knows_what_others_have_changed() {
    let (double, engine) = alone();
    let other = open(&double, "alone");
    put(&engine, b"there", b"0");
    let both: [(Space, &[u8]); 2] = [(PLAIN, b"there"), (PLAIN, b"missing")];
    let changes: [(&str, &dyn Fn()); 5] = [
        ("a row is put", &|| put(&other, b"there", b"1")),
        ("a row is put as it was", &|| put(&other, b"there", b"1")),
        ("a row comes and goes", &|| {
            put(&other, b"missing", b"");
            delete(&other, b"missing");
        }),
        ("a row goes and comes", &|| {
            delete(&other, b"there");
            put(&other, b"there", b"1");
        }),
        ("a row is locked", &|| {
            let mut write = other.begin_write(Wait::Allowed);
            write.get(PLAIN, b"there", &mut Vec::new()).unwrap();
            write.lock(PLAIN, b"there");
            write.put(PLAIN, b"elsewhere", &[]);
            write.commit().unwrap();
        }),
    ];
    for (what, change) in changes {
        let before = witness(&engine, &both);
        put(&other, b"another", b"1");
        // It may be asked as often as one likes, and is in nobody's way.
        assert!(before.is_unchanged().unwrap(), "{what}: nothing yet");
        assert!(before.is_unchanged().unwrap(), "{what}: nothing yet, asked again");
        change();
        assert!(!before.is_unchanged().unwrap(), "{what}");
        assert!(!before.is_unchanged().unwrap(), "{what}, asked again");
        assert!(witness(&engine, &both).is_unchanged().unwrap(), "{what}: it was before");
    }
}

#[test]
fn a_witness_is_asked_again_where_the_answer_is_lost() {
    let (double, engine) = alone();
    put(&engine, b"a", b"0");
    for fault in
        [Fault::Unavailable, Fault::UnavailableAfter, Fault::MoveLeader, Fault::Split, Fault::ServerIsBusy]
    {
        let witness = witness(&engine, &[(PLAIN, b"a"), (PLAIN, b"b")]);
        double.inject(Rule::on(Call::Prewrite, fault.clone()));
        assert!(witness.is_unchanged().unwrap(), "{fault:?}");
        put(&engine, b"b", b"1");
        double.inject(Rule::on(Call::Prewrite, fault.clone()));
        assert!(!witness.is_unchanged().unwrap(), "{fault:?}");
    }
}

#[test]
fn what_was_read_in_a_relied_space_must_not_change() {
    let (double, engine) = alone();
    let other = open(&double, "alone");
    let write_elsewhere = |read: Space| {
        let mut write = engine.begin_write(Wait::Allowed);
        write.get(read, b"k", &mut Vec::new()).unwrap();
        write.put(PLAIN, b"elsewhere", &[b"x"]);
        let mut change = other.begin_write(Wait::Allowed);
        change.get(read, b"k", &mut Vec::new()).unwrap();
        change.put(read, b"k", &[b"y"]);
        change.commit().unwrap();
        let mut relied = Vec::new();
        write.each_relied(&mut |space, row| relied.push((space, row.to_vec())));
        (write.commit(), relied)
    };
    let (refused, relied) = write_elsewhere(GROUPED);
    assert!(matches!(refused, Err(Error::Conflict)), "{refused:?}");
    assert_eq!(relied, [(GROUPED, b"k".to_vec())]);
    let (made, relied) = write_elsewhere(PLAIN);
    assert!(made.is_ok(), "{made:?}");
    assert_eq!(relied, []);
    // Who writes nothing relies on nothing: it has read one moment.
    let write = engine.begin_write(Wait::Allowed);
    write.get(GROUPED, b"k", &mut Vec::new()).unwrap();
    let mut change = other.begin_write(Wait::Allowed);
    change.put(GROUPED, b"k", &[b"z"]);
    change.commit().unwrap();
    assert!(write.commit().is_ok());
}

/// A request that was held up on its way arrives when its client has long given up.
#[test]
fn what_is_settled_is_not_made_later() {
    for two_phases in [false, true] {
        let double = start(DoubleOptions::default());
        let engine = open_with(&double, "alone", Duration::from_millis(700));
        put(&engine, b"a", b"0");
        let mut write = engine.begin_write(Wait::Allowed);
        write.get(PLAIN, b"a", &mut Vec::new()).unwrap();
        write.put(PLAIN, b"a", &[b"late"]);
        let padding = vec![b'p'; 40 << 10];
        if two_phases {
            write.put(PLAIN, b"padding", &[&padding]);
        }
        double.inject(Rule::on(Call::Prewrite, Fault::Late(Duration::from_millis(2_500))).always());
        let lost = write.commit();
        assert!(matches!(lost, Err(Error::OutcomeUnknown(_))), "{lost:?}");
        double.clear_faults();
        while engine.settle().is_err() {}
        let settled = committed(&engine, b"a");
        while double.late() > 0 {
            std::thread::yield_now();
        }
        assert_eq!(committed(&engine, b"a"), settled, "two phases: {two_phases}");
        put(&engine, b"a", b"1");
    }
}

/// What is only locked is made with the rest, and known again where the answer was lost.
#[test]
fn an_answer_that_is_lost_is_found_again_with_locks() {
    let (double, engine) = alone();
    put(&engine, b"a", b"0");
    for (round, fault) in
        [Fault::UnavailableAfter, Fault::Unavailable, Fault::MoveLeader].into_iter().enumerate()
    {
        let mut write = engine.begin_write(Wait::Allowed);
        write.get(GROUPED, b"k", &mut Vec::new()).unwrap();
        write.get(PLAIN, b"a", &mut Vec::new()).unwrap();
        write.put(PLAIN, b"a", &[round.to_string().as_bytes()]);
        double.inject(Rule::on(Call::Prewrite, fault.clone()));
        let made = write.commit();
        assert!(made.is_ok(), "{fault:?}: {made:?}");
        assert_eq!(committed(&engine, b"a"), Some(round.to_string().into_bytes()), "{fault:?}");
    }
}

#[test]
fn old_versions_are_dropped_and_not_read() {
    let (double, engine) = alone();
    put(&engine, b"a", b"0");
    let snapshot = engine.snapshot().unwrap();
    let before = witness(&engine, &[(PLAIN, b"a")]);
    assert_eq!(get(&snapshot, b"a"), Some(b"0".to_vec()));
    engine.drop_old_versions(Duration::from_secs(600)).unwrap();
    let safe_point = double.safe_point();
    assert!(safe_point > 0 && safe_point < double.timestamp());
    double.advance_clock(Duration::from_secs(700));
    put(&engine, b"a", b"1");
    engine.drop_old_versions(Duration::from_secs(600)).unwrap();
    assert!(double.safe_point() > safe_point);
    let refused = snapshot.get(PLAIN, b"a", &mut Vec::new());
    assert!(matches!(&refused, Err(Error::Unavailable(why)) if why.contains("at most 540 s")), "{refused:?}");
    assert!(!before.is_unchanged().unwrap());
    assert_eq!(committed(&engine, b"a"), Some(b"1".to_vec()));
}
