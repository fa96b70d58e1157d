//! Reads, writes, and what they cost.

use tikv_double::{Call, Options};

use crate::harness::*;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_read() {
    let bench = start().await;
    assert_eq!(bench.get("k").await, None);
    bench.put("k", "1").await;
    assert_eq!(bench.get("k").await.as_deref(), Some("1"));
    let mut txn = bench.begin(optimistic()).await;
    txn.put("a".to_owned(), "2").await.unwrap();
    txn.delete("k".to_owned()).await.unwrap();
    txn.commit().await.unwrap();
    assert_eq!((bench.get("k").await, bench.get("a").await.as_deref()), (None, Some("2")));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_counted() {
    let bench = start().await;
    bench.put("k", "1").await;
    let before = bench.double.counts();
    assert_eq!(bench.get("k").await.as_deref(), Some("1"));
    let calls = bench.double.counts() - &before;
    assert_eq!(calls.to_string(), "Tso=1 KvGet=1");
    let before = bench.double.counts();
    bench.put("k", "2").await;
    assert_eq!((bench.double.counts() - &before).to_string(), "Tso=1 KvPrewrite=1");
    let before = bench.double.counts();
    let mut txn = bench.begin(optimistic()).await;
    txn.put("k".to_owned(), "3").await.unwrap();
    txn.commit().await.unwrap();
    let calls = bench.double.counts() - &before;
    assert_eq!(calls.to_string(), "Tso=2 KvPrewrite=1 KvCommit=1");
}

#[tokio::test(flavor = "multi_thread")]
async fn regions_on_several_stores_are_one_cluster() {
    let bounds = [b"b".to_vec(), b"c".to_vec(), b"d".to_vec()].to_vec();
    let bench = start_with(Options { split_at: bounds, ..Options::default() }).await;
    let keys: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let leaders: Vec<u64> = keys.iter().map(|key| bench.double.leader_of(key.as_bytes())).collect();
    assert_eq!(leaders, [1, 2, 3, 1]);
    let mut txn = bench.begin(one_phase()).await;
    for key in &keys {
        txn.put(key.clone(), key.clone()).await.unwrap();
    }
    txn.commit().await.unwrap();
    let mut snapshot = bench.snapshot().await;
    let pairs: Vec<_> = snapshot.batch_get(keys.clone()).await.unwrap().collect();
    assert_eq!(pairs.len(), 4);
    let scanned: Vec<_> = snapshot.scan("a".to_owned().."e".to_owned(), 10).await.unwrap().collect();
    assert_eq!(scanned.len(), 4);
    let back: Vec<_> = snapshot.scan_reverse("a".to_owned().."d".to_owned(), 2).await.unwrap().collect();
    let back: Vec<_> = back.into_iter().map(|pair| Vec::from(pair.key().clone())).collect();
    assert_eq!(back, [b"c".to_vec(), b"b".to_vec()]);
    assert!(bench.double.counts().get(Call::Scan) >= 4);
}
