//! A double and a client of it.

use std::time::Duration;

use tikv_client::transaction::HeartbeatOption;
use tikv_client::{
    CheckLevel, Config, Error, Snapshot, Timestamp, TimestampExt, Transaction, TransactionClient,
    TransactionOptions,
};
use tikv_double::{Double, Options};

pub struct Bench {
    pub double: Double,
    pub client: TransactionClient,
}

pub async fn start() -> Bench {
    start_with(Options::default()).await
}

pub async fn start_with(options: Options) -> Bench {
    let double = Double::start(options).unwrap();
    let client = connect(&double).await;
    Bench { double, client }
}

pub async fn connect(double: &Double) -> TransactionClient {
    let config = Config::default().with_timeout(Duration::from_millis(500));
    TransactionClient::new_with_config(vec![double.pd_address()], config).await.unwrap()
}

pub fn optimistic() -> TransactionOptions {
    TransactionOptions::new_optimistic()
        .drop_check(CheckLevel::None)
        .heartbeat_option(HeartbeatOption::NoHeartbeat)
}

pub fn one_phase() -> TransactionOptions {
    optimistic().try_one_pc()
}

pub fn pessimistic() -> TransactionOptions {
    TransactionOptions::new_pessimistic()
        .drop_check(CheckLevel::None)
        .heartbeat_option(HeartbeatOption::NoHeartbeat)
}

impl Bench {
    pub async fn begin(&self, options: TransactionOptions) -> Transaction {
        self.client.begin_with_options(options).await.unwrap()
    }

    pub fn snapshot_at(&self, ts: u64) -> Snapshot {
        self.client.snapshot(Timestamp::from_version(ts), optimistic())
    }

    pub async fn snapshot(&self) -> Snapshot {
        let now = self.client.current_timestamp().await.unwrap();
        self.client.snapshot(now, optimistic())
    }

    /// Writes in a transaction of its own.
    pub async fn put(&self, key: &str, value: &str) {
        let mut txn = self.begin(one_phase()).await;
        txn.put(key.to_owned(), value).await.unwrap();
        txn.commit().await.unwrap();
    }

    pub async fn get(&self, key: &str) -> Option<String> {
        let value = self.snapshot().await.get(key.to_owned()).await.unwrap();
        value.map(|value| String::from_utf8(value).unwrap())
    }
}

/// Whether it says that somebody else has written, however deep that stands.
pub fn is_conflict(error: &Error) -> bool {
    match error {
        Error::KeyError(error) => error.conflict.is_some(),
        Error::MultipleKeyErrors(errors) | Error::ExtractedErrors(errors) => errors.iter().any(is_conflict),
        Error::PessimisticLockError { inner, .. } => is_conflict(inner),
        _ => false,
    }
}

/// Waits until it is so. What takes longer than any test may is a failure.
pub async fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("never: {what}");
}
