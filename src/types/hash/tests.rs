//! The index of expiries against the fields' own rows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::dispatch::locks::StripeSet;
use crate::encoding::hash::{Head, due_end, read_due, read_field};
use crate::encoding::meta::Kind;
use crate::encoding::rows::{EXPIRE_BUCKETS, ExpireKind, expire_end, expire_position, read_expire};
use crate::encoding::{EXPIRE, FIELD_EXPIRE};
use crate::keyspace::{View as _, entry, reap};
use crate::testkit::Kit;
use crate::types::collection::Collection;

/// Fields with their heads, as the rows have them, whether they have expired or not.
fn rows(kit: &mut Kit, key: &str) -> BTreeMap<Vec<u8>, Head> {
    let mut found = BTreeMap::new();
    let now_ms = kit.now_ms;
    kit.executor
        .look_at(now_ms, 0, |cx| {
            let entry = entry::find(cx, key.as_bytes())?;
            let Some(meta) = entry.live().or(entry.faded()).copied() else { return Ok(()) };
            if meta.header.kind != Kind::Hash {
                return Ok(());
            }
            let all = Collection::with(cx, entry, &meta)?;
            all.each(cx, &mut |element| {
                found.insert(element.member().to_vec(), read_field(element.value).unwrap().0);
                ControlFlow::Continue(())
            })
        })
        .unwrap();
    found
}

/// Checks the numbers in the metadata and both levels of the index.
fn check(kit: &mut Kit, key: &str) {
    let rows = rows(kit, key);
    let mut expected: Vec<(u64, Vec<u8>)> = rows
        .iter()
        .filter(|(_, head)| head.expire_at_ms != 0)
        .inspect(|(_, head)| assert!(head.indexed_ms != 0 && head.indexed_ms <= head.expire_at_ms))
        .map(|(field, head)| (head.indexed_ms, field.clone()))
        .collect();
    expected.sort();
    let mut first = Vec::new();
    let mut second = Vec::new();
    let now_ms = kit.now_ms;
    let expiring = kit
        .executor
        .look_at(now_ms, 0, |cx| {
            let entry = entry::find(cx, key.as_bytes())?;
            let Some(meta) = entry.live().or(entry.faded()).copied() else { return Ok(None) };
            if meta.header.kind != Kind::Hash {
                return Ok(None);
            }
            let all = Collection::with(cx, entry, &meta)?;
            assert_eq!(all.size(), rows.len() as u64, "the size of {key}");
            let prefix = all.prefix().to_vec();
            cx.scan_each(FIELD_EXPIRE, &prefix, &due_end(&prefix), usize::MAX, &mut |row, _| {
                let (at_ms, field) = read_due(&row[prefix.len()..]).unwrap();
                second.push((at_ms, field.to_vec()));
                ControlFlow::Continue(())
            })?;
            Ok(Some(meta.expiring))
        })
        .unwrap();
    kit.executor
        .look_at(now_ms, 0, |cx| {
            for bucket in 0..EXPIRE_BUCKETS {
                let (start, end) = (expire_position(bucket, 0), expire_end(bucket));
                cx.scan_each(EXPIRE, &start, &end, usize::MAX, &mut |row, _| {
                    let row = read_expire(row).unwrap();
                    if row.kind == ExpireKind::Parts && row.key == key.as_bytes() {
                        first.push(row.at_ms);
                    }
                    ControlFlow::Continue(())
                })?;
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(second, expected, "level two of {key}");
    let Some(expiring) = expiring else { return assert!(first.is_empty(), "level one of {key}") };
    assert_eq!(expiring.parts, expected.len() as u64);
    match expected.first() {
        None => assert_eq!((expiring.earliest_ms, first), (0, vec![])),
        Some((earliest_ms, _)) => {
            assert!(expiring.earliest_ms <= *earliest_ms && expiring.earliest_ms != 0);
            assert_eq!(first, [expiring.earliest_ms], "level one of {key}");
        }
    }
}

fn run(kit: &mut Kit, line: &str) -> String {
    let replies = kit.run(line);
    check(kit, "h");
    check(kit, "g");
    replies
}

#[test]
fn the_index_follows_the_rows() {
    let mut kit = Kit::new();
    for line in [
        "HSET h a 1 b 2",
        "HEXPIRE h 100 FIELDS 1 a",
        "HEXPIRE h 50 FIELDS 1 a",
        "HEXPIRE h 200 FIELDS 2 a b",
        "HPERSIST h FIELDS 1 a",
        "HSETEX h EX 10 FIELDS 2 a 1 c 1",
        "HSET h a 3",
        "HDEL h b",
        "EXHSET h d 1 EX 5",
        "EXHSET h d 1 KEEPTTL",
        "EXHINCRBY h d 1 PX 700",
        "EXHPERSIST h d",
        "EXHEXPIRE h d 3",
        "EXHMSETWITHOPTS h d 1 0 9 e 1 0 8",
        "COPY h g",
        "RENAME g h",
        "RENAME h g",
        "SET h x",
        "DEL h",
        "HGETEX g PX 100 FIELDS 1 a",
        "HGETDEL g FIELDS 1 a",
        "EXHSET g z 1 EX 0",
        "HSET g y 1",
        "EXPIRE g 100",
        "DEL g",
    ] {
        run(&mut kit, line);
    }
    assert_eq!(kit.run("DBSIZE"), ":0");
}

#[test]
fn a_write_takes_three_due_fields_along() {
    let mut kit = Kit::new();
    run(&mut kit, "HSET h keep 1 | HSETEX h PX 10 FIELDS 5 a 1 b 1 c 1 d 1 e 1");
    kit.pass_ms(11);
    assert_eq!(run(&mut kit, "HLEN h"), ":1");
    assert_eq!(rows(&mut kit, "h").len(), 6);
    run(&mut kit, "HSET h keep 2");
    assert_eq!(rows(&mut kit, "h").len(), 3);
    assert_eq!(run(&mut kit, "HSETNX h keep 2 | HLEN h"), ":0 | :1");
    assert_eq!(rows(&mut kit, "h").len(), 3, "what writes nothing removes nothing");
    run(&mut kit, "HDEL h nosuch");
    assert_eq!(rows(&mut kit, "h").len(), 1);
    assert_eq!(kit.node.keyspace.parts.expired().next(), Some((0, 5)));
}

#[test]
fn a_hash_that_has_faded_is_written_anew() {
    let mut kit = Kit::new();
    run(&mut kit, "EXHMSETWITHOPTS h a 1 0 1 b 1 0 1 c 1 0 1 d 1 0 1 e 1 0 1 | EXPIRE h 1000");
    kit.pass_ms(1_001);
    assert_eq!(
        run(&mut kit, "EXISTS h | HSET h b 2 | TYPE h | TTL h | HLEN h"),
        ":0 | :1 | +hash | :-1 | :1"
    );
    assert_eq!(run(&mut kit, "EXHGETWITHVER h b | HKEYS h"), r#"["2" :1] | ["b"]"#);
    assert_eq!(run(&mut kit, "HDEL h b | EXISTS h | DBSIZE"), ":1 | :0 | :0");
    run(&mut kit, "SADD h x");
    assert_eq!(kit.run("DBSIZE"), ":1");
}

/// Reaps every hash that is due, in steps of `limit`.
fn reap_all(kit: &mut Kit, limit: usize) -> u64 {
    let now_ms = kit.now_ms;
    let mut total = 0;
    for bucket in 0..EXPIRE_BUCKETS {
        let due = kit.executor.look_at(now_ms, 0, |cx| reap::due(cx, bucket, 0, 100)).unwrap();
        for due in due.iter().filter(|due| due.kind == ExpireKind::Parts) {
            let mut row = Some((due.row.as_slice(), due.at_ms));
            loop {
                let reaped = kit
                    .executor
                    .transact_at(now_ms, &StripeSet::ALL, 0, |cx| {
                        reap::reap_parts(cx, (due.db, &due.key), row, limit)
                    })
                    .unwrap();
                row = None;
                total += reaped.parts;
                if reaped.places < limit as u64 {
                    break;
                }
            }
        }
    }
    total
}

#[test]
fn the_reaper_removes_what_is_due_and_nothing_else() {
    for limit in [1, 2, 3, 100] {
        let mut kit = Kit::new();
        run(&mut kit, "HSETEX h PX 10 FIELDS 3 a 1 b 1 c 1 | HSETEX h PX 20 FIELDS 1 d 1 | HSET h e 1");
        run(&mut kit, "HSETEX g PX 10 FIELDS 2 a 1 b 1");
        assert_eq!(reap_all(&mut kit, limit), 0);
        kit.pass_ms(10);
        assert_eq!(reap_all(&mut kit, limit), 5);
        check(&mut kit, "h");
        check(&mut kit, "g");
        assert_eq!(kit.run("HLEN h | DBSIZE"), ":2 | :1");
        assert_eq!(reap_all(&mut kit, limit), 0);
        kit.pass_ms(10);
        assert_eq!(reap_all(&mut kit, limit), 1);
        assert_eq!(run(&mut kit, "HGETALL h | DBSIZE"), r#"["e" "1"] | :1"#);
        assert_eq!(reap_all(&mut kit, limit), 0);
    }
}

#[test]
fn an_expiry_that_is_put_off_moves_when_its_place_is_due() {
    let mut kit = Kit::new();
    run(&mut kit, "HSETEX h PX 10 FIELDS 2 a 1 b 1 | HSETEX g PX 10 FIELDS 1 a 1");
    run(&mut kit, "HSETEX h PX 500 FIELDS 1 a 2 | HEXPIRE g 500 FIELDS 1 a");
    let indexed = |kit: &mut Kit, field: &[u8]| rows(kit, "h")[field].indexed_ms;
    assert_eq!(indexed(&mut kit, b"a"), indexed(&mut kit, b"b"), "nothing was moved");
    kit.pass_ms(10);
    assert_eq!(
        run(&mut kit, "HLEN h | HKEYS h | EXISTS g | HLEN g | EXISTS h"),
        r#":1 | ["a"] | :1 | :1 | :1"#
    );
    assert_eq!(reap_all(&mut kit, 2), 1);
    check(&mut kit, "h");
    check(&mut kit, "g");
    assert_eq!(rows(&mut kit, "h")[&b"a"[..]].indexed_ms, rows(&mut kit, "h")[&b"a"[..]].expire_at_ms);
    assert_eq!(run(&mut kit, "HLEN h | HLEN g | HPEXPIRE h 3 FIELDS 1 a"), ":1 | :1 | [:1]");
    kit.pass_ms(3);
    assert_eq!(run(&mut kit, "HLEN h | EXISTS h"), ":0 | :0");
    assert_eq!(reap_all(&mut kit, 2), 1);
    kit.pass_ms(500_000);
    assert_eq!(run(&mut kit, "EXISTS g"), ":0");
    assert_eq!(reap_all(&mut kit, 2), 1);
    assert_eq!(kit.run("DBSIZE"), ":0");
}

#[test]
fn the_row_of_a_hash_that_is_another_one_now_is_dropped() {
    let mut kit = Kit::new();
    kit.run("HSETEX h PX 10 FIELDS 1 a 1");
    kit.pass_ms(10);
    let now_ms = kit.now_ms;
    let due: Vec<_> = (0..EXPIRE_BUCKETS)
        .flat_map(|bucket| kit.executor.look_at(now_ms, 0, |cx| reap::due(cx, bucket, 0, 10)).unwrap())
        .collect();
    assert_eq!(due.len(), 1);
    run(&mut kit, "DEL h | HSETEX h PX 500 FIELDS 1 a 2");
    let row = Some((due[0].row.as_slice(), due[0].at_ms));
    let reaped = kit
        .executor
        .transact_at(now_ms, &StripeSet::ALL, 0, |cx| reap::reap_parts(cx, (due[0].db, b"h"), row, 10))
        .unwrap();
    assert_eq!(reaped.parts, 0);
    assert_eq!(run(&mut kit, "HGET h a"), r#""2""#);
}
