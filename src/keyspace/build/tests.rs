use std::ops::ControlFlow;

use tarn_engine::memory::{Call, Fault, Faults};

use super::*;
use crate::encoding::DATA;
use crate::keyspace::View as _;
use crate::testkit::Kit;

/// Enough for several batches.
const FIELDS: usize = 30_000;

fn open() -> Kit {
    let mut kit = Kit::new();
    for from in (0..FIELDS).step_by(1_000) {
        let pairs = (from..from + 1_000).flat_map(|n| [format!("field:{n}"), format!("value:{n}").repeat(5)]);
        kit.words(["HSET".to_owned(), "h".to_owned()].into_iter().chain(pairs));
    }
    kit
}

fn inject(kit: &Kit, faults: Faults) {
    let AnyEngine::Memory(engine) = &kit.node.engine else { panic!("the engine of a kit") };
    engine.set_faults(faults);
}

/// Element rows of whatever version.
fn rows(kit: &mut Kit) -> usize {
    let count = kit.executor.look(0, |cx| {
        let mut count = 0;
        cx.scan_each(DATA, b"", &[0xff; 8], usize::MAX, &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        })?;
        Ok(count)
    });
    count.expect("a scan")
}

#[test]
fn a_big_copy_is_committed_in_batches() {
    let mut kit = open();
    // A conflict far behind the first commit: there are that many.
    inject(&kit, Faults::none().then(Call::Commit, 3, Fault::Conflict));
    assert_eq!(kit.run("COPY h g"), ":1");
    assert!(kit.moved);
    assert_eq!(
        kit.run("HLEN g | HGET g field:29999 | DBSIZE"),
        format!(":{FIELDS} | {:?} | :2", "value:29999".repeat(5))
    );
    assert!(rows(&mut kit) > 2 * FIELDS, "the first attempt left rows that nobody sees");
}

#[test]
fn what_fails_half_way_changes_nothing() {
    for (skip, fault) in [(0, Fault::Unavailable), (2, Fault::UnknownLost), (2, Fault::UnknownApplied)] {
        let mut kit = open();
        kit.run("SET g before");
        inject(&kit, Faults::none().then(Call::Commit, skip, fault));
        let reply = kit.run("RENAME h g");
        assert!(reply.starts_with("-CLUSTERDOWN") || reply.starts_with("-UNKNOWNOUTCOME"), "{reply}");
        assert_eq!(kit.run("GET g | HLEN h | DBSIZE"), format!("\"before\" | :{FIELDS} | :2"));
        assert_eq!(kit.run("RENAME h g | HLEN g | DBSIZE"), format!("+OK | :{FIELDS} | :1"));
    }
}

#[test]
fn reading_ahead_commits_nothing() {
    let mut kit = open();
    inject(&kit, Faults::none().then(Call::Read, 0, Fault::NotResident));
    assert_eq!(kit.run("COPY h g | HLEN g"), format!(":1 | :{FIELDS}"));
    assert_eq!(rows(&mut kit), 2 * FIELDS);
}

#[test]
fn a_value_that_is_long_and_not_many_is_built_apart_too() {
    let mut kit = Kit::new();
    let long = "x".repeat(BATCH_BYTES / 4);
    for n in 0..8 {
        kit.words(["HSET", "h", &n.to_string(), &long]);
    }
    assert_eq!(kit.run("COPY h g"), ":1");
    assert!(kit.moved, "more than a batch is for a worker");
    assert_eq!(kit.run("HLEN g | HSTRLEN g 7"), format!(":8 | :{}", BATCH_BYTES / 4));
    kit.words(["HSET", "small", "a", &"x".repeat(BATCH_BYTES / 2)]);
    assert_eq!(kit.run("COPY small other"), ":1");
    assert!(!kit.moved);
}
