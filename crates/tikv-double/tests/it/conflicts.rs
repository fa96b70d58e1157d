//! Two transactions that want the same keys.

use tikv_client::TimestampExt;

use crate::harness::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_stays_what_it_was() {
    let bench = start().await;
    bench.put("k", "old").await;
    let now = bench.client.current_timestamp().await.unwrap().version();
    bench.put("k", "new").await;
    let old = bench.snapshot_at(now).get("k".to_owned()).await.unwrap();
    assert_eq!(old.as_deref(), Some(&b"old"[..]));
    assert_eq!(bench.get("k").await.as_deref(), Some("new"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_to_commit_wins() {
    for options in [optimistic(), one_phase()] {
        let bench = start().await;
        bench.put("k", "0").await;
        let mut slow = bench.begin(options.clone()).await;
        let mut fast = bench.begin(options).await;
        // Both read the row first: two blind writes in one phase need not conflict.
        for txn in [&mut slow, &mut fast] {
            assert_eq!(txn.get("k".to_owned()).await.unwrap(), Some(b"0".to_vec()));
        }
        fast.put("k".to_owned(), "fast").await.unwrap();
        fast.commit().await.unwrap();
        slow.put("k".to_owned(), "slow").await.unwrap();
        let error = slow.commit().await.unwrap_err();
        assert!(is_conflict(&error), "{error:?}");
        assert_eq!(bench.get("k").await.as_deref(), Some("fast"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_pessimistic_lock_is_told_of_the_commit() {
    let bench = start().await;
    bench.put("k", "0").await;
    let mut holder = bench.begin(pessimistic()).await;
    holder.get_for_update("k".to_owned()).await.unwrap();
    let mut waiter = bench.begin(pessimistic()).await;
    let waiting = tokio::spawn(async move { waiter.get_for_update("k".to_owned()).await });
    eventually("it waits", || bench.double.waiting() > 0).await;
    holder.put("k".to_owned(), "1").await.unwrap();
    holder.commit().await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(is_conflict(&error), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_wait_for_each_other_are_told() {
    let bench = start().await;
    let (mut one, mut two) = (bench.begin(pessimistic()).await, bench.begin(pessimistic()).await);
    one.get_for_update("a".to_owned()).await.unwrap();
    two.get_for_update("b".to_owned()).await.unwrap();
    let waiting = tokio::spawn(async move {
        let waited = one.get_for_update("b".to_owned()).await;
        (one, waited)
    });
    eventually("it waits", || bench.double.waiting() > 0).await;
    let error = format!("{:?}", two.get_for_update("a".to_owned()).await.unwrap_err());
    assert!(error.contains("deadlock: Some"), "{error}");
    two.rollback().await.unwrap();
    let (_, waited) = waiting.await.unwrap();
    assert!(is_conflict(&waited.unwrap_err()), "whoever waited may try again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_can_be_locked_without_a_write() {
    let bench = start().await;
    bench.put("k", "0").await;
    let mut reader = bench.begin(one_phase()).await;
    reader.get("k".to_owned()).await.unwrap();
    reader.lock_keys(["k".to_owned()]).await.unwrap();
    reader.put("other".to_owned(), "1").await.unwrap();
    bench.put("k", "1").await;
    let error = reader.commit().await.unwrap_err();
    assert!(is_conflict(&error), "{error:?}");
    assert_eq!(bench.get("other").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_insert_of_what_exists_is_refused() {
    let bench = start().await;
    bench.put("k", "0").await;
    for options in [optimistic(), one_phase(), pessimistic()] {
        let mut txn = bench.begin(options).await;
        let inserted = txn.insert("k".to_owned(), "1").await;
        let error = match inserted {
            Ok(()) => txn.commit().await.unwrap_err(),
            Err(error) => error,
        };
        let error = format!("{error:?}");
        assert!(error.contains("already_exist: Some") || error.contains("DuplicateKeyInsertion"), "{error}");
    }
    assert_eq!(bench.get("k").await.as_deref(), Some("0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pessimistic_transaction_commits_over_what_came_before_its_lock() {
    let bench = start().await;
    bench.put("k", "0").await;
    let mut txn = bench.begin(pessimistic()).await;
    bench.put("k", "1").await;
    let seen = txn.get_for_update("k".to_owned()).await.unwrap();
    assert_eq!(seen, Some(b"1".to_vec()), "the latest value, not that of the snapshot");
    txn.put("k".to_owned(), "2").await.unwrap();
    txn.commit().await.unwrap();
    assert_eq!(bench.get("k").await.as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_can_be_had_on_demand() {
    use tikv_double::{Call, Fault, Rule};
    let bench = start().await;
    bench.double.inject(Rule::on(Call::Prewrite, Fault::Conflict));
    let mut txn = bench.begin(one_phase()).await;
    txn.put("k".to_owned(), "1").await.unwrap();
    let error = txn.commit().await.unwrap_err();
    assert!(is_conflict(&error), "{error:?}");
    bench.put("k", "2").await;
    assert_eq!(bench.get("k").await.as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn async_commit_is_one_round() {
    let bench = start().await;
    bench.put("a", "0").await;
    let mut txn = bench.begin(optimistic().use_async_commit()).await;
    txn.put("a".to_owned(), "1").await.unwrap();
    txn.put("b".to_owned(), "1").await.unwrap();
    let commit_ts = txn.commit().await.unwrap().unwrap();
    assert!(commit_ts.version() > txn.start_timestamp().version());
    assert_eq!((bench.get("a").await.as_deref(), bench.get("b").await.as_deref()), (Some("1"), Some("1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_blind_writes_in_one_phase_need_not_conflict() {
    let bench = start().await;
    let mut one = bench.begin(one_phase()).await;
    let mut two = bench.begin(one_phase()).await;
    one.put("k".to_owned(), "1").await.unwrap();
    two.put("k".to_owned(), "2").await.unwrap();
    let first = one.commit().await.unwrap().unwrap();
    assert_eq!(first.version(), one.start_timestamp().version() + 1, "it is computed without PD");
    two.commit().await.unwrap();
    assert_eq!(bench.get("k").await.as_deref(), Some("2"));
}
