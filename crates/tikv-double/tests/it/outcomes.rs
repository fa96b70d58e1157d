//! What a client knows of a commit whose answer did not come.

use tikv_client::Error;
use tikv_double::{Call, Fault, Rule};

use crate::harness::*;

/// The faults after which the request has been carried out.
const APPLIED: [Fault; 2] = [Fault::TimeoutAfter, Fault::UnavailableAfter];
const NOT_APPLIED: [Fault; 2] = [Fault::TimeoutBefore, Fault::Unavailable];

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_tries_again_finds_its_commit() {
    for (options, call) in
        [(optimistic(), Call::Prewrite), (optimistic(), Call::Commit), (one_phase(), Call::Prewrite)]
    {
        for fault in APPLIED.iter().chain(&NOT_APPLIED) {
            let bench = start().await;
            bench.double.inject(Rule::on(call, fault.clone()));
            let mut txn = bench.begin(options.clone()).await;
            txn.put("k".to_owned(), "1").await.unwrap();
            txn.commit().await.unwrap();
            assert_eq!(bench.double.counts().get(call), 2, "{call:?} {fault:?}");
            assert_eq!(bench.get("k").await.as_deref(), Some("1"));
            let commits = bench.double.history(b"k");
            assert_eq!(commits.len(), 1, "{call:?} {fault:?}: {commits:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_does_not_know_the_outcome() {
    for (options, call) in [(optimistic(), Call::Commit), (one_phase(), Call::Prewrite)] {
        for (faults, applied) in [(APPLIED, true), (NOT_APPLIED, false)] {
            for fault in faults {
                let bench = start().await;
                bench.double.inject(Rule::on(call, fault.clone()));
                let mut txn = bench.begin(options.clone().no_resolve_regions()).await;
                txn.put("k".to_owned(), "1").await.unwrap();
                let error = txn.commit().await.unwrap_err();
                assert!(is_transport(&error), "{error:?}");
                assert_eq!(bench.double.value(b"k").is_some(), applied, "{call:?} {fault:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_can_be_carried_out_after_its_client_has_gone() {
    let bench = start().await;
    let late = Fault::Late(std::time::Duration::from_millis(1_500));
    bench.double.inject(Rule::on(Call::Prewrite, late));
    let mut txn = bench.begin(one_phase().no_resolve_regions()).await;
    txn.put("k".to_owned(), "1").await.unwrap();
    let error = txn.commit().await.unwrap_err();
    assert!(is_transport(&error), "{error:?}");
    assert_eq!((bench.double.late(), bench.double.value(b"k")), (1, None));
    eventually("it is carried out", || bench.double.late() == 0).await;
    assert_eq!(bench.get("k").await.as_deref(), Some("1"));
}

/// Neither a yes nor a no.
fn is_transport(error: &Error) -> bool {
    match error {
        Error::GrpcAPI(_) | Error::Grpc(_) => true,
        Error::ExtractedErrors(errors) | Error::MultipleKeyErrors(errors) => errors.iter().any(is_transport),
        Error::UndeterminedError(inner) => is_transport(inner),
        _ => false,
    }
}
