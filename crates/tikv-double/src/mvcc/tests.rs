//! Commands on rows, without a network: what TiKV's own rules say.

use super::*;
use crate::clock::compose;
use crate::proto::kvrpcpb::{
    Action, Assertion, AssertionLevel, CheckTxnStatusRequest, ConflictReason, KeyError, Mutation, Op,
    PessimisticAction, PessimisticLockRequest, PrewriteRequest, PrewriteResponse,
};

#[derive(Default)]
struct Store {
    mvcc: Mvcc,
    max_ts: u64,
}

fn mutation(op: Op, key: &str, value: &str) -> Mutation {
    Mutation { op: op.into(), key: key.into(), value: value.into(), assertion: 0 }
}

fn put(key: &str, value: &str) -> Mutation {
    mutation(Op::Put, key, value)
}

fn prewrite(mutations: Vec<Mutation>, start_version: u64) -> PrewriteRequest {
    let primary_lock = mutations.first().map(|first| first.key.clone()).unwrap_or_default();
    PrewriteRequest { mutations, primary_lock, start_version, lock_ttl: 3_000, ..PrewriteRequest::default() }
}

fn keys(keys: &[&str]) -> Vec<Vec<u8>> {
    keys.iter().map(|key| key.as_bytes().to_vec()).collect()
}

impl Store {
    fn send(&mut self, request: &PrewriteRequest) -> PrewriteResponse {
        self.mvcc.prewrite(request, &mut self.max_ts)
    }

    /// The only error.
    fn refused(&mut self, request: &PrewriteRequest) -> KeyError {
        let mut response = self.send(request);
        assert_eq!(response.errors.len(), 1, "{response:?}");
        response.errors.remove(0)
    }

    #[track_caller]
    fn accepted(&mut self, request: &PrewriteRequest) -> PrewriteResponse {
        let response = self.send(request);
        assert!(response.errors.is_empty(), "{response:?}");
        response
    }

    fn write(&mut self, key: &str, value: &str, start_ts: u64, commit_ts: u64) {
        self.accepted(&prewrite(vec![put(key, value)], start_ts));
        self.mvcc.commit(&keys(&[key]), start_ts, commit_ts).unwrap();
    }

    fn get(&self, key: &str, ts: u64) -> Result<Option<String>, Error> {
        let value = self.mvcc.get(key.as_bytes(), &View { ts, resolved: &[] })?;
        Ok(value.map(|value| String::from_utf8(value).unwrap()))
    }

    fn status(&mut self, request: CheckTxnStatusRequest) -> Result<(Action, u64, u64), Error> {
        let response = self.mvcc.check_txn_status(&request, &mut self.max_ts)?;
        Ok((Action::try_from(response.action).unwrap(), response.lock_ttl, response.commit_version))
    }

    fn lock(&mut self, key: &str, start_ts: u64, for_update_ts: u64) -> Result<Option<Vec<u8>>, Error> {
        let request = PessimisticLockRequest {
            mutations: vec![mutation(Op::PessimisticLock, key, "")],
            primary_lock: key.into(),
            start_version: start_ts,
            lock_ttl: 3_000,
            for_update_ts,
            return_values: true,
            ..PessimisticLockRequest::default()
        };
        Ok(self.mvcc.pessimistic_lock(&request, &mut self.max_ts)?.remove(0))
    }
}

#[test]
fn a_reader_sees_what_was_committed_at_its_time() {
    let mut store = Store::default();
    store.write("k", "a", 10, 20);
    store.write("k", "b", 30, 40);
    let seen: Vec<_> = [19, 20, 39, 40, 99].iter().map(|&ts| store.get("k", ts).unwrap()).collect();
    assert_eq!(seen, [None, Some("a".into()), Some("a".into()), Some("b".into()), Some("b".into())]);
}

#[test]
fn a_lock_stops_readers_after_it_unless_it_cannot_matter() {
    let mut store = Store::default();
    store.accepted(&prewrite(vec![put("k", "a")], 10));
    assert_eq!(store.get("k", 9), Ok(None));
    assert!(matches!(store.get("k", 10), Err(Error::Locked(lock)) if lock.lock_version == 10));
    let resolved = View { ts: 11, resolved: &[10] };
    assert_eq!(store.mvcc.get(b"k", &resolved), Ok(None));
    assert_eq!(store.get("k", u64::MAX), Ok(None), "the latest value of a primary key");
    store.accepted(&prewrite(vec![mutation(Op::Lock, "l", "")], 10));
    assert_eq!(store.get("l", 11), Ok(None), "nothing will be written");
    store.lock("p", 10, 10).unwrap();
    assert_eq!(store.get("p", 11), Ok(None));
}

#[test]
fn scans_go_both_ways_and_report_locks_in_place() {
    let mut store = Store::default();
    for key in ["a", "b", "c", "d"] {
        store.write(key, key, 10, 20);
    }
    store.accepted(&prewrite(vec![mutation(Op::Del, "b", "")], 21));
    store.mvcc.commit(&keys(&["b"]), 21, 22).unwrap();
    store.accepted(&prewrite(vec![put("c", "new")], 30));
    let range = Range { start: b"a".to_vec(), end: b"e".to_vec() };
    let scan = |ts, limit, reverse| {
        let pairs = store.mvcc.scan(&range, limit, false, reverse, &View { ts, resolved: &[] });
        let pairs = pairs.into_iter().map(|pair| {
            let mark = if pair.error.is_some() { "!" } else { "" };
            format!("{}{mark}", String::from_utf8(pair.key).unwrap())
        });
        pairs.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(scan(20, 9, false), "a b c d");
    assert_eq!(scan(29, 9, false), "a c d");
    assert_eq!(scan(30, 9, false), "a c! d");
    assert_eq!(scan(29, 2, true), "d c");
    assert_eq!(scan(29, 0, false), "");
}

#[test]
fn the_second_of_two_writers_conflicts() {
    let mut store = Store::default();
    store.write("k", "a", 10, 20);
    let conflict = store.refused(&prewrite(vec![put("k", "b")], 15)).conflict.unwrap();
    assert_eq!((conflict.start_ts, conflict.conflict_ts, conflict.conflict_commit_ts), (15, 10, 20));
    assert_eq!(conflict.reason, i32::from(ConflictReason::Optimistic));
    store.accepted(&prewrite(vec![put("k", "c")], 20));
}

#[test]
fn a_lock_without_a_write_conflicts_too_and_so_does_a_rollback() {
    let mut store = Store::default();
    store.accepted(&prewrite(vec![mutation(Op::Lock, "k", "")], 10));
    store.mvcc.commit(&keys(&["k"]), 10, 20).unwrap();
    assert!(store.refused(&prewrite(vec![put("k", "b")], 15)).conflict.is_some());
    store.mvcc.batch_rollback(&keys(&["k"]), 30).unwrap();
    assert!(store.refused(&prewrite(vec![put("k", "b")], 25)).conflict.is_some());
    let own = store.refused(&prewrite(vec![put("k", "b")], 30)).conflict.unwrap();
    assert_eq!(own.reason, i32::from(ConflictReason::SelfRolledBack));
}

#[test]
fn nothing_is_written_if_one_key_is_locked() {
    let mut store = Store::default();
    store.accepted(&prewrite(vec![put("b", "x")], 10));
    let response = store.send(&prewrite(vec![put("a", "y"), put("b", "y"), put("c", "y")], 11));
    assert_eq!(response.errors.len(), 1);
    assert!(response.errors[0].locked.is_some());
    assert!(store.mvcc.lock(b"a").is_none() && store.mvcc.lock(b"c").is_none());
}

#[test]
fn a_commit_is_all_or_nothing_and_can_be_repeated() {
    let mut store = Store::default();
    store.accepted(&prewrite(vec![put("a", "1"), put("b", "2")], 10));
    let error = KeyError::from(store.mvcc.commit(&keys(&["a", "c"]), 10, 20).unwrap_err());
    assert!(error.retryable.contains("TxnLockNotFound"), "{error:?}");
    assert!(store.mvcc.lock(b"a").is_some());
    store.mvcc.commit(&keys(&["a", "b"]), 10, 20).unwrap();
    store.mvcc.commit(&keys(&["a", "b"]), 10, 20).unwrap();
    assert_eq!(store.get("b", 20), Ok(Some("2".into())));
    assert!(store.mvcc.batch_rollback(&keys(&["a"]), 10).is_err(), "it is committed");
    assert!(store.mvcc.commit(&keys(&["a"]), 10, 10).is_err(), "no time has passed");
}

#[test]
fn one_phase_commits_right_after_the_newest_read() {
    let mut store = Store::default();
    let request = PrewriteRequest { try_one_pc: true, ..prewrite(vec![put("a", "1"), put("b", "2")], 10) };
    assert_eq!(store.accepted(&request).one_pc_commit_ts, 11);
    assert_eq!(store.get("b", 11), Ok(Some("2".into())));
    assert!(store.mvcc.lock(b"a").is_none());
    store.max_ts = 50;
    let later = PrewriteRequest { start_version: 12, ..request.clone() };
    assert_eq!(store.accepted(&later).one_pc_commit_ts, 51);
    // Sent again after its answer was lost.
    assert_eq!(store.accepted(&request).one_pc_commit_ts, 11);
    // One that began at the commit's timestamp does not conflict.
    let blind = PrewriteRequest { start_version: 51, ..request.clone() };
    assert_eq!(store.accepted(&blind).one_pc_commit_ts, 52);
    let capped = PrewriteRequest { start_version: 60, max_commit_ts: 60, ..request };
    assert_eq!(store.accepted(&capped).one_pc_commit_ts, 0);
    assert!(store.mvcc.lock(b"a").is_some(), "it has become one in two phases");
}

#[test]
fn async_commit_tells_its_secondaries_and_is_decided_by_them() {
    let mut store = Store { max_ts: 15, ..Store::default() };
    let mut request = prewrite(vec![put("a", "1")], 10);
    request.use_async_commit = true;
    request.secondaries = keys(&["b"]);
    assert_eq!(store.accepted(&request).min_commit_ts, 16);
    let asked = CheckTxnStatusRequest {
        primary_key: b"a".to_vec(),
        lock_ts: 10,
        current_ts: u64::MAX,
        ..CheckTxnStatusRequest::default()
    };
    assert_eq!(store.status(asked.clone()), Ok((Action::Nothing, 3_000, 0)), "expired, but nobody knows");
    let secondaries = store.mvcc.check_secondary_locks(&keys(&["b"]), 10, &mut store.max_ts);
    assert!(secondaries.locks.is_empty() && secondaries.commit_ts == 0, "the second key never came");
    let mut late = PrewriteRequest { mutations: vec![put("b", "2")], ..request };
    late.secondaries.clear();
    assert!(store.refused(&late).conflict.is_some(), "and now it may not");
    let forced = CheckTxnStatusRequest { force_sync_commit: true, ..asked };
    assert_eq!(store.status(forced), Ok((Action::TtlExpireRollback, 0, 0)));
}

#[test]
fn inserts_and_assertions_look_at_what_is_there() {
    let mut store = Store::default();
    store.write("k", "a", 10, 20);
    assert!(store.refused(&prewrite(vec![mutation(Op::Insert, "k", "b")], 30)).already_exist.is_some());
    assert!(
        store.refused(&prewrite(vec![mutation(Op::CheckNotExists, "k", "")], 30)).already_exist.is_some()
    );
    store.accepted(&prewrite(vec![mutation(Op::CheckNotExists, "n", "")], 30));
    assert!(store.mvcc.lock(b"n").is_none(), "it only looks");
    let asserted = |key, assertion: Assertion| PrewriteRequest {
        assertion_level: AssertionLevel::Strict.into(),
        ..prewrite(vec![Mutation { assertion: assertion.into(), ..put(key, "b") }], 30)
    };
    let failed = store.refused(&asserted("k", Assertion::NotExist)).assertion_failed.unwrap();
    assert_eq!((failed.existing_start_ts, failed.existing_commit_ts), (10, 20));
    assert!(store.refused(&asserted("n", Assertion::Exist)).assertion_failed.is_some());
    store.accepted(&asserted("k", Assertion::Exist));
}

#[test]
fn an_expired_lock_is_rolled_back_by_whoever_asks() {
    let mut store = Store::default();
    let start = compose(1_000, 0);
    store.accepted(&prewrite(vec![put("a", "1"), put("b", "2")], start));
    let ask = |current_ms| CheckTxnStatusRequest {
        primary_key: b"a".to_vec(),
        lock_ts: start,
        caller_start_ts: start + 5,
        current_ts: compose(current_ms, 0),
        verify_is_primary: true,
        ..CheckTxnStatusRequest::default()
    };
    assert_eq!(store.status(ask(4_000)), Ok((Action::Nothing, 3_000, 0)));
    let wrong = CheckTxnStatusRequest { primary_key: b"b".to_vec(), ..ask(4_000) };
    assert!(KeyError::from(store.status(wrong).unwrap_err()).primary_mismatch.is_some());
    assert_eq!(store.mvcc.heart_beat(b"a", start, 5_000), Ok(5_000));
    assert_eq!(store.status(ask(4_001)), Ok((Action::Nothing, 5_000, 0)));
    assert_eq!(store.status(ask(6_001)), Ok((Action::TtlExpireRollback, 0, 0)));
    assert_eq!(store.status(ask(6_001)), Ok((Action::Nothing, 0, 0)), "it is rolled back for good");
    let outcomes = [(start, 0)].into();
    store.mvcc.resolve_locks(&outcomes, &Range { start: Vec::new(), end: Vec::new() }, &[]).unwrap();
    assert!(store.mvcc.lock(b"b").is_none());
    assert!(store.mvcc.commit(&keys(&["a"]), start, start + 9).is_err());
    assert!(store.mvcc.heart_beat(b"a", start, 1).is_err());
}

#[test]
fn a_transaction_that_is_not_there_is_kept_from_coming_if_asked() {
    let mut store = Store::default();
    let ask = |rollback_if_not_exist, resolving_pessimistic_lock| CheckTxnStatusRequest {
        primary_key: b"a".to_vec(),
        lock_ts: 10,
        rollback_if_not_exist,
        resolving_pessimistic_lock,
        ..CheckTxnStatusRequest::default()
    };
    assert!(KeyError::from(store.status(ask(false, false)).unwrap_err()).txn_not_found.is_some());
    assert_eq!(store.status(ask(true, true)), Ok((Action::LockNotExistDoNothing, 0, 0)));
    assert_eq!(store.status(ask(true, false)), Ok((Action::LockNotExistRollback, 0, 0)));
    assert!(store.refused(&prewrite(vec![put("a", "1")], 10)).conflict.is_some());
}

#[test]
fn a_pushed_transaction_commits_later() {
    let mut store = Store::default();
    let request = PrewriteRequest { min_commit_ts: 11, ..prewrite(vec![put("a", "1")], 10) };
    store.accepted(&request);
    let ask = CheckTxnStatusRequest {
        primary_key: b"a".to_vec(),
        lock_ts: 10,
        caller_start_ts: 20,
        current_ts: 22,
        ..CheckTxnStatusRequest::default()
    };
    assert_eq!(store.status(ask), Ok((Action::MinCommitTsPushed, 3_000, 0)));
    assert_eq!(store.get("a", 20), Ok(None), "it cannot commit below");
    let error = KeyError::from(store.mvcc.commit(&keys(&["a"]), 10, 21).unwrap_err());
    assert_eq!(error.commit_ts_expired.unwrap().min_commit_ts, 22);
    store.mvcc.commit(&keys(&["a"]), 10, 22).unwrap();
}

#[test]
fn a_pessimistic_transaction_locks_first_and_cannot_conflict_later() {
    let mut store = Store::default();
    store.write("k", "a", 10, 20);
    assert!(matches!(store.lock("k", 15, 15), Err(Error::Conflict(_))), "it must try at a later time");
    assert_eq!(store.lock("k", 15, 25), Ok(Some(b"a".to_vec())));
    assert_eq!(store.lock("k", 15, 25), Ok(Some(b"a".to_vec())), "sent twice");
    assert!(matches!(store.lock("k", 30, 30), Err(Error::Locked(_))));
    let mut request = prewrite(vec![put("k", "b")], 15);
    request.for_update_ts = 25;
    request.pessimistic_actions = vec![PessimisticAction::ExpectLock.into()];
    store.accepted(&request);
    store.mvcc.commit(&keys(&["k"]), 15, 40).unwrap();
    assert_eq!(store.get("k", 40), Ok(Some("b".into())));
    let retried = store.send(&request);
    assert!(retried.errors.is_empty(), "sent again after the commit: {retried:?}");
    let lost = PrewriteRequest { start_version: 35, for_update_ts: 36, ..request };
    assert!(store.refused(&lost).abort.contains("PessimisticLockNotFound"));
}

#[test]
fn a_pessimistic_lock_that_is_given_back_leaves_no_trace() {
    let mut store = Store::default();
    store.lock("k", 10, 12).unwrap();
    store.mvcc.pessimistic_rollback(&keys(&["k"]), 10, 11);
    assert!(store.mvcc.lock(b"k").is_some(), "it was locked for a later statement");
    store.mvcc.pessimistic_rollback(&keys(&["k"]), 10, 12);
    assert!(store.mvcc.lock(b"k").is_none());
    store.accepted(&prewrite(vec![put("k", "a")], 9));
}

#[test]
fn keys_above_the_limit_are_refused_and_at_it_are_not() {
    let mut store = Store::default();
    // 910 groups of eight, the last of them partly padding: 8190 bytes once encoded.
    let fits = "k".repeat(909 * 8 + 7);
    store.accepted(&prewrite(vec![put(&fits, "")], 10));
    let too_long = "k".repeat(910 * 8);
    assert!(store.refused(&prewrite(vec![put(&too_long, "")], 10)).abort.contains("KeyTooLarge"));
}

#[test]
fn garbage_goes_and_what_readers_need_stays() {
    let mut store = Store::default();
    let everything = Range { start: Vec::new(), end: Vec::new() };
    store.write("k", "a", 10, 20);
    store.write("k", "b", 30, 40);
    store.write("d", "x", 10, 20);
    store.accepted(&prewrite(vec![mutation(Op::Del, "d", "")], 30));
    store.mvcc.commit(&keys(&["d"]), 30, 40).unwrap();
    store.mvcc.collect_garbage(&everything, 35);
    assert_eq!(store.get("k", 35), Ok(Some("a".into())));
    store.mvcc.collect_garbage(&everything, 45);
    assert_eq!(store.get("k", 45), Ok(Some("b".into())));
    assert_eq!(store.mvcc.row(b"k").unwrap().writes().len(), 1);
    assert!(store.mvcc.row(b"d").is_none(), "nothing is left of a deleted key");
    store.mvcc.destroy(&Range { start: b"k".to_vec(), end: b"l".to_vec() });
    assert_eq!(store.get("k", 45), Ok(None));
}

#[test]
fn only_the_newest_rollback_is_kept_unless_it_must_be() {
    let mut store = Store::default();
    for ts in [10, 11, 12] {
        store.mvcc.batch_rollback(&keys(&["k"]), ts).unwrap();
    }
    assert_eq!(store.mvcc.row(b"k").unwrap().writes().len(), 1);
    store.mvcc.cleanup(b"k", 13, 0).unwrap();
    store.mvcc.batch_rollback(&keys(&["k"]), 14).unwrap();
    let kept: Vec<u64> = store.mvcc.row(b"k").unwrap().writes().iter().map(|write| write.start_ts).collect();
    assert_eq!(kept, [12, 13, 14], "one that is protected stays, and what was before it");
}

#[test]
fn a_rollback_at_the_time_of_another_commit_is_not_lost() {
    let mut store = Store::default();
    store.write("k", "a", 10, 20);
    store.mvcc.cleanup(b"k", 20, 0).unwrap();
    assert_eq!(store.get("k", 20), Ok(Some("a".into())), "the commit stands");
    assert!(store.refused(&prewrite(vec![put("k", "b")], 20)).conflict.is_some(), "and so does the rollback");
}

#[test]
fn a_commit_that_was_computed_is_not_overwritten_by_a_rollback_at_its_time() {
    let mut store = Store::default();
    let request = PrewriteRequest { try_one_pc: true, ..prewrite(vec![put("k", "a")], 10) };
    assert_eq!(store.accepted(&request).one_pc_commit_ts, 11);
    store.mvcc.put_rollback(b"k", 11);
    store.mvcc.batch_rollback(&keys(&["k"]), 11).unwrap();
    assert_eq!(store.get("k", 11), Ok(Some("a".into())));
}
