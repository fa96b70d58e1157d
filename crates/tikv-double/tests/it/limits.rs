//! Sizes.

use tikv_client::Error;
use tikv_double::Call;

use crate::harness::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_too_long_is_refused() {
    let bench = start().await;
    let mut txn = bench.begin(one_phase()).await;
    txn.put("k".repeat(7_280), "v").await.unwrap();
    let error = format!("{:?}", txn.commit().await.unwrap_err());
    assert!(error.contains("KeyTooLarge"), "{error}");
    bench.put(&"k".repeat(7_279), "v").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_raft_does_not_take_is_refused() {
    let bench = start().await;
    let mut txn = bench.begin(one_phase()).await;
    txn.put("k".to_owned(), vec![b'v'; 9 << 20]).await.unwrap();
    let error = txn.commit().await.unwrap_err();
    let too_large = matches!(&error, Error::RegionError(error) if error.raft_entry_too_large.is_some());
    assert!(too_large, "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_transaction_is_committed_in_two_phases() {
    let bench = start().await;
    bench.put("warm", "1").await;
    let before = bench.double.counts();
    let mut txn = bench.begin(one_phase()).await;
    for index in 0..40 {
        txn.put(format!("key{index:02}"), vec![b'v'; 1_000]).await.unwrap();
    }
    txn.commit().await.unwrap();
    let calls = bench.double.counts() - &before;
    assert!(calls.get(Call::Prewrite) > 1, "{calls}");
    assert!(calls.get(Call::Commit) >= 1, "{calls}");
    let mut snapshot = bench.snapshot().await;
    assert_eq!(snapshot.scan("key".to_owned().."kez".to_owned(), 100).await.unwrap().count(), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_can_be_destroyed() {
    let bench = start().await;
    for key in ["a", "b", "c"] {
        bench.put(key, "1").await;
    }
    bench.client.unsafe_destroy_range("b".to_owned().."c".to_owned()).await.unwrap();
    assert_eq!(bench.double.counts().get(Call::UnsafeDestroyRange), 3, "every store is told");
    assert_eq!(
        (bench.get("a").await.is_some(), bench.get("b").await, bench.get("c").await.is_some()),
        (true, None, true)
    );
}
