//! Regions that move under the client, and stores that go away.

use std::sync::Arc;
use std::time::Duration;

use tikv_client::{Error, TimestampExt};
use tikv_double::{Call, Fault, Options, Rates, Rule};

use crate::harness::*;

/// Region errors after which the client tries again.
const RETRIED: [Fault; 8] = [
    Fault::NotLeader { hint: true },
    Fault::NotLeader { hint: false },
    Fault::EpochNotMatch,
    Fault::RegionNotFound,
    Fault::KeyNotInRegion,
    Fault::StaleCommand,
    Fault::MoveLeader,
    Fault::Split,
];

#[tokio::test(flavor = "multi_thread")]
async fn every_region_error_is_survived_by_every_call() {
    let bench = start().await;
    for fault in RETRIED {
        for call in [Call::Get, Call::Prewrite, Call::Commit] {
            let struck = bench.double.faults_struck();
            bench.double.inject(Rule::on(call, fault.clone()));
            let mut txn = bench.begin(optimistic()).await;
            txn.get("k".to_owned()).await.unwrap();
            txn.put("k".to_owned(), format!("{fault:?}")).await.unwrap();
            txn.commit().await.unwrap();
            assert_eq!(bench.double.faults_struck(), struck + 1, "{call:?} {fault:?}");
            assert_eq!(bench.get("k").await, Some(format!("{fault:?}")));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_store_is_not_asked_again() {
    let bench = start().await;
    bench.double.inject(Rule::on(Call::Get, Fault::ServerIsBusy));
    let error = bench.snapshot().await.get("k".to_owned()).await.unwrap_err();
    assert!(matches!(&error, Error::RegionError(error) if error.server_is_busy.is_some()), "{error:?}");
    assert_eq!(bench.get("k").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn regions_split_when_they_grow_and_merge_when_told() {
    let bench = start_with(Options { split_keys: 20, ..Options::default() }).await;
    for index in 0..200 {
        bench.put(&format!("key{index:03}"), "v").await;
    }
    let regions = bench.double.regions();
    assert!(regions.len() >= 10, "{regions:?}");
    let leaders: std::collections::HashSet<u64> = regions.iter().map(|region| region.leader).collect();
    assert!(leaders.len() > 1, "{regions:?}");
    let mut snapshot = bench.snapshot().await;
    let scanned = snapshot.scan("key".to_owned().., 1_000).await.unwrap();
    assert_eq!(scanned.count(), 200);
    while bench.double.merge(b"zzz") {}
    assert_eq!(bench.double.regions().len(), 1);
    assert_eq!(snapshot.scan("key".to_owned().., 1_000).await.unwrap().count(), 200);
    assert_eq!(bench.get("key100").await.as_deref(), Some("v"));
}

/// Counters that several tasks increment while the cluster is shaken.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_while_regions_split_and_leaders_move() {
    const TASKS: usize = 4;
    const INCREMENTS: usize = 50;
    let rates = Rates { split: 0.05, move_leader: 0.05, region_error: 0.05, ..Rates::default() };
    let bench = Arc::new(start_with(Options { rates, ..Options::default() }).await);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let bench = Arc::clone(&bench);
            tokio::spawn(async move {
                for round in 0..INCREMENTS {
                    increment(&bench, &format!("counter{}", (task + round) % 3)).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    bench.double.clear_faults();
    let mut sum = 0;
    for key in ["counter0", "counter1", "counter2"] {
        sum += bench.get(key).await.unwrap().parse::<usize>().unwrap();
    }
    assert_eq!(sum, TASKS * INCREMENTS);
    assert!(bench.double.faults_struck() > 10);
}

/// Adds one. Conflicts are tried again; anything else fails the test.
async fn increment(bench: &Bench, key: &str) {
    loop {
        let mut txn = bench.begin(one_phase()).await;
        let old = txn.get(key.to_owned()).await.unwrap();
        let old = old.map_or(0, |old| String::from_utf8(old).unwrap().parse::<u64>().unwrap());
        txn.put(key.to_owned(), (old + 1).to_string()).await.unwrap();
        match txn.commit().await {
            Ok(_) => return,
            Err(error) if is_conflict(&error) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_gone_is_left_for_another() {
    let bench = start().await;
    bench.put("k", "1").await;
    let leader = bench.double.leader_of(b"k");
    bench.double.stop_store(leader);
    let now = bench.client.current_timestamp().await.unwrap();
    let once = optimistic().no_resolve_regions();
    assert!(bench.client.snapshot(now, once).get("k".to_owned()).await.is_err());
    bench.double.move_leaders_off(leader);
    assert_eq!(bench.get("k").await.as_deref(), Some("1"));
    bench.put("k", "2").await;
    bench.double.start_store(leader).unwrap();
    assert!(bench.double.move_leader(b"k", leader));
    assert_eq!(bench.get("k").await.as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_outlives_pd() {
    let bench = start().await;
    bench.put("k", "1").await;
    let now = bench.double.timestamp();
    bench.double.stop_pd();
    let known = bench.snapshot_at(now).get("k".to_owned()).await.unwrap();
    assert_eq!(known.as_deref(), Some(&b"1"[..]), "a region that is known needs no PD");
    bench.double.start_pd().unwrap();
    // The client connects anew no earlier than a second after it did the last time.
    let mut ts = bench.client.current_timestamp().await;
    for _ in 0..1_000 {
        if ts.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        ts = bench.client.current_timestamp().await;
    }
    assert!(ts.unwrap().version() > now);
    assert_eq!(bench.get("k").await.as_deref(), Some("1"));
}
