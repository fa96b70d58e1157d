use tarn_engine::{Range, Read as _, Wait};

use super::*;
use crate::dispatch::locks::StripeSet;
use crate::encoding::meta::{Body, Header, Kind};
use crate::encoding::rows::EXPIRE_BUCKETS;
use crate::encoding::{DATA, FIELD_EXPIRE, SCORE, SPACES};
use crate::keyspace::{Db, entry, shared};
use crate::testkit::Kit;

/// Rows of every space, the ones that describe the database itself left out.
fn rows_left(kit: &Kit) -> usize {
    let read = kit.node.engine.begin_read(Wait::Allowed);
    let mut rows = 0;
    for space in 0..SPACES.len() as u8 {
        let range = Range { start: &[], end: &[0xff; 64] };
        read.scan(Space(space), range, tarn_engine::Direction::Forward, usize::MAX, &mut |key, _| {
            let describes = Space(space) == SYSTEM && !matches!(key.first(), Some(b'k' | b'x'));
            rows += usize::from(!describes);
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    rows
}

fn put(kit: &mut Kit, db: u16, key: &[u8], expire_at_ms: u64) {
    kit.executor
        .transact(&StripeSet::ALL, db, |cx| {
            let found = entry::find(cx, key)?;
            let version = cx.new_version()?;
            let header = Header { kind: Kind::Hash, expire_at_ms, body: Body::Rows { version, size: 1 } };
            let mut element = entry::element_prefix(&found, version);
            element.push(b'f');
            for space in [DATA, SCORE, FIELD_EXPIRE] {
                cx.put(space, &element, &[b"v"]);
            }
            entry::store(cx, &found, &header, &[])
        })
        .unwrap();
}

fn flush(kit: &mut Kit, db: u16) {
    let found = kit.node.keyspace.shared.database(db).unwrap();
    kit.executor.transact(&StripeSet::ALL, db, |cx| shared::flush(cx, found)).unwrap();
}

/// What the server does in the background.
fn remove_dropped(kit: &mut Kit) {
    let numbers = kit.executor.look(0, |cx| dropped(cx)).unwrap();
    for db in &numbers {
        for doomed in ranges(*db) {
            let range = Range { start: &doomed.start, end: &doomed.end };
            crate::keyspace::local::delete_ranges(&kit.node.engine, &[(doomed.space, range)]).unwrap();
        }
    }
    for bucket in 0..EXPIRE_BUCKETS {
        let mut place = Some(Place::bucket(bucket));
        while let Some(from) = place {
            let step = |cx: &mut WriteCx<'_>| expiries(cx, &numbers, bucket, &from, 2);
            place = kit.executor.transact(&StripeSet::ALL, 0, step).unwrap();
        }
    }
    for db in numbers {
        let step = |cx: &mut WriteCx<'_>| {
            finish(cx, db);
            Ok(())
        };
        kit.executor.transact(&StripeSet::default(), 0, step).unwrap();
    }
}

#[test]
fn a_flushed_database_leaves_nothing_behind_and_takes_nothing_along() {
    let mut kit = Kit::new();
    let far = 1 << 45;
    for n in 0..20 {
        put(&mut kit, 0, format!("a{n}").as_bytes(), far + n);
        put(&mut kit, 1, format!("a{n}").as_bytes(), far + n % 3);
    }
    let other = kit
        .executor
        .look(1, |cx| {
            let db = cx.env.db;
            shared::key_count(cx, db)
        })
        .unwrap();
    let both = rows_left(&kit);
    flush(&mut kit, 0);
    put(&mut kit, 0, b"new", far);
    assert_eq!(
        kit.executor
            .look(0, |cx| {
                let db = cx.env.db;
                shared::key_count(cx, db)
            })
            .unwrap(),
        1
    );
    assert_eq!(kit.executor.look(0, |cx| dropped(cx)).unwrap(), [0]);
    remove_dropped(&mut kit);
    assert_eq!(kit.executor.look(0, |cx| dropped(cx)).unwrap(), []);
    assert_eq!(
        kit.executor
            .look(1, |cx| {
                let db = cx.env.db;
                shared::key_count(cx, db)
            })
            .unwrap(),
        other
    );
    assert_eq!(
        kit.executor
            .look(0, |cx| {
                let db = cx.env.db;
                shared::key_count(cx, db)
            })
            .unwrap(),
        1
    );
    // Half of what there was, and six rows of the new key: four of its own, its expiry and its counter.
    assert_eq!(rows_left(&kit), both / 2 + 6);
    flush(&mut kit, 0);
    flush(&mut kit, 1);
    remove_dropped(&mut kit);
    assert_eq!(rows_left(&kit), 0);
}

#[test]
fn a_number_is_never_used_again() {
    let mut kit = Kit::new();
    let mut seen = vec![];
    for _ in 0..5 {
        flush(&mut kit, 3);
        let Db { physical, .. } = kit.node.keyspace.shared.database(3).unwrap();
        assert!(!seen.contains(&physical) && physical >= 1 << 16);
        seen.push(physical);
    }
    assert_eq!(kit.executor.look(0, |cx| dropped(cx)).unwrap().len(), 5);
}
