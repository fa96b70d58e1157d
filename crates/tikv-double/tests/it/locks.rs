//! Locks that others have left behind.

use std::time::Duration;

use tikv_double::{Call, Fault, Lock, LockKind, Options, Rule, WriteKind};

use crate::harness::*;

fn left(primary: &str, start_ts: u64, ttl_ms: u64) -> Lock {
    Lock {
        kind: LockKind::Put,
        primary: primary.into(),
        start_ts,
        ttl_ms,
        value: b"left".to_vec(),
        for_update_ts: 0,
        txn_size: 1,
        min_commit_ts: 0,
        async_commit: false,
        secondaries: Vec::new(),
        rollback_ts: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_lock_is_resolved_by_a_reader_and_by_a_writer() {
    let bench = start().await;
    bench.put("k", "old").await;
    // Not at the very timestamp that the commit before has computed.
    bench.double.advance_clock(Duration::from_millis(1));
    bench.double.leave_lock(b"k", left("k", bench.double.timestamp(), 1_000));
    bench.double.advance_clock(Duration::from_secs(2));
    assert_eq!(bench.get("k").await.as_deref(), Some("old"));
    assert!(bench.double.locks().is_empty());
    assert_eq!(bench.double.history(b"k").last().unwrap().kind, WriteKind::Rollback);
    bench.double.leave_lock(b"k", left("k", bench.double.timestamp(), 1_000));
    bench.double.advance_clock(Duration::from_secs(2));
    bench.put("k", "new").await;
    assert_eq!(bench.get("k").await.as_deref(), Some("new"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_lock_is_waited_for_until_it_expires() {
    let bench = start().await;
    bench.put("k", "old").await;
    bench.double.leave_lock(b"k", left("k", bench.double.timestamp(), 60_000));
    let mut snapshot = bench.snapshot().await;
    let reading = tokio::spawn(async move { snapshot.get("k".to_owned()).await });
    eventually("the lock is looked at", || bench.double.counts().get(Call::CheckTxnStatus) >= 2).await;
    assert_eq!(bench.double.locks().len(), 1);
    bench.double.advance_clock(Duration::from_secs(61));
    assert_eq!(reading.await.unwrap().unwrap(), Some(b"old".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_never_goes_is_an_error_in_the_end() {
    let bench = start().await;
    bench.double.leave_lock(b"k", left("k", bench.double.timestamp(), 3_600_000));
    let options = optimistic().retry_options(tikv_client::RetryOptions {
        lock_backoff: tikv_client::Backoff::no_jitter_backoff(1, 1, 3),
        region_backoff: tikv_client::Backoff::no_jitter_backoff(1, 1, 3),
    });
    let now = bench.client.current_timestamp().await.unwrap();
    let error = bench.client.snapshot(now, options).get("k".to_owned()).await.unwrap_err();
    assert!(format!("{error:?}").contains("ResolveLockError"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_dies_before_its_commit_has_changed_nothing() {
    let bench = start().await;
    bench.put("k", "old").await;
    bench.double.inject(Rule::on(Call::Commit, Fault::TimeoutBefore).always());
    let mut txn = bench.begin(optimistic()).await;
    txn.put("k".to_owned(), "new").await.unwrap();
    let dying = tokio::spawn(async move { txn.commit().await });
    eventually("the commit is sent", || bench.double.counts().get(Call::Commit) >= 1).await;
    dying.abort();
    assert!(dying.await.is_err_and(|error| error.is_cancelled()));
    bench.double.clear_faults();
    assert_eq!(bench.double.locks().len(), 1);
    bench.double.advance_clock(Duration::from_secs(60));
    assert_eq!(bench.get("k").await.as_deref(), Some("old"));
    assert!(bench.double.locks().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_dies_after_the_commit_of_its_primary_has_committed() {
    let bench = start_with(Options { split_at: vec![b"b".to_vec()], ..Options::default() }).await;
    bench.double.inject(Rule::on(Call::Commit, Fault::TimeoutBefore).with_prefix(b"b").always());
    let mut txn = bench.begin(optimistic()).await;
    txn.put("a".to_owned(), "1").await.unwrap();
    txn.put("b".to_owned(), "2").await.unwrap();
    txn.commit().await.unwrap();
    assert_eq!(bench.double.locks().len(), 1, "the second key is still to be committed");
    assert_eq!(bench.get("b").await.as_deref(), Some("2"));
    assert_eq!(bench.double.value(b"b"), Some(b"2".to_vec()));
    assert!(bench.double.locks().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn abandoned_locks_are_in_nobodys_way() {
    let bench = start().await;
    bench.double.inject(Rule::on_any(Fault::AbandonedLock).times(20));
    for round in 0..20 {
        bench.double.advance_clock(Duration::from_millis(5));
        bench.put("k", &round.to_string()).await;
        assert_eq!(bench.get("k").await, Some(round.to_string()));
    }
    assert_eq!(bench.double.faults_struck(), 20);
    assert!(bench.double.history(b"k").iter().any(|write| write.kind == WriteKind::Rollback));
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_are_found_and_cleaned_up_and_the_safe_point_rises() {
    let bench = start_with(Options { split_at: vec![b"m".to_vec()], ..Options::default() }).await;
    bench.put("k", "1").await;
    bench.put("k", "2").await;
    let start_ts = bench.double.timestamp();
    for key in ["a", "z"] {
        bench.double.leave_lock(key.as_bytes(), left("a", start_ts, 60_000));
    }
    let now = bench.client.current_timestamp().await.unwrap();
    let locks = bench.client.scan_locks(&now, .., 10).await.unwrap();
    assert_eq!(locks.len(), 2);
    assert!(bench.client.gc(now.clone()).await.unwrap());
    assert!(bench.double.locks().is_empty());
    assert_eq!(bench.double.safe_point(), tikv_client::TimestampExt::version(&now));
    assert_eq!(bench.double.history(b"k").len(), 1, "what nobody can read any more is gone");
    assert_eq!(bench.get("k").await.as_deref(), Some("2"));
}
