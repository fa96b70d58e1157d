use super::*;
use crate::dispatch::locks::StripeSet;
use crate::encoding::rows::EXPIRE_BUCKETS;
use crate::testkit::Kit;

/// What is due in any bucket.
fn all_due(kit: &mut Kit, limit: usize) -> Vec<Due> {
    (0..EXPIRE_BUCKETS)
        .flat_map(|bucket| kit.executor.look(0, |cx| due(cx, bucket, 0, limit)).unwrap())
        .collect()
}

fn reap_one(kit: &mut Kit, found: &Due) -> bool {
    kit.executor.transact(&StripeSet::ALL, 0, |cx| reap(cx, found)).unwrap()
}

/// Long past by the clock that `look` and `transact` go by, and ahead of the kit's own.
const SOON: &str = "PX 1000";

#[test]
fn what_is_due_is_reaped_in_every_database() {
    let mut kit = Kit::new();
    kit.run(&format!("SET a 1 {SOON} | SET b 2 EX 99999999999 | SET c 3 | SELECT 3 | SET a 4 {SOON}"));
    let found = all_due(&mut kit, 10);
    assert_eq!(
        found.iter().map(|due| (due.db, due.key.as_slice())).collect::<Vec<_>>(),
        [(0, &b"a"[..]), (3, b"a")]
    );
    for found in &found {
        assert!(reap_one(&mut kit, found));
        assert!(!reap_one(&mut kit, found), "once");
    }
    assert!(all_due(&mut kit, 10).is_empty());
    assert_eq!(kit.run("DBSIZE | SELECT 0 | DBSIZE | KEYS *"), r#":0 | +OK | :2 | ["b" "c"]"#);
}

#[test]
fn a_key_that_was_given_more_time_meanwhile_stays() {
    let mut kit = Kit::new();
    kit.run(&format!("SET a 1 {SOON} | SET b 2 {SOON} | SET c 3 {SOON}"));
    let found = all_due(&mut kit, 10);
    assert_eq!(found.len(), 3);
    kit.run("EXPIRE a 99999999999 | PERSIST b | DEL c");
    assert!(found.iter().all(|found| !reap_one(&mut kit, found)));
    assert_eq!(kit.run("GET a | GET b | DBSIZE"), r#""1" | "2" | :2"#);
    assert!(all_due(&mut kit, 10).is_empty());
}

#[test]
fn expiries_of_a_flushed_database_are_removed_with_no_key() {
    let mut kit = Kit::new();
    kit.run(&format!("SET a 1 {SOON} | FLUSHALL | SET a 2"));
    let found = all_due(&mut kit, 10);
    assert_eq!(found.len(), 1);
    assert!(!reap_one(&mut kit, &found[0]));
    assert!(all_due(&mut kit, 10).is_empty());
    assert_eq!(kit.run("GET a"), r#""2""#);
}

#[test]
fn a_bucket_gives_up_to_the_limit_oldest_first_from_its_mark_on() {
    let mut kit = Kit::new();
    for n in 0..5 {
        kit.run(&format!("SET {{t}}{n} x PX {}", 1_000 - n));
    }
    let found = all_due(&mut kit, 2);
    assert_eq!(found.iter().map(|due| due.key.as_slice()).collect::<Vec<_>>(), [b"{t}4", b"{t}3"]);
    let bucket = (found[1].slot >> 8) as u8;
    let rest = kit.executor.look(0, |cx| due(cx, bucket, found[1].at_ms + 1, 10)).unwrap();
    assert_eq!(rest.len(), 3);
}
