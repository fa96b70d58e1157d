//! The conformance suite over a double of the cluster, and what is this engine's own.

mod faults;
mod limits;
mod requests;
mod witness;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tikv_double::{Double, Options as DoubleOptions};

use super::{Options, TikvEngine};
use crate::conformance::{GROUPED, Harness, PLAIN, Promise};
use crate::{Engine, Position, Read, Result, Wait, Write};

/// Engines of one cluster with prefixes of their own are apart, so that the suite needs only one.
static SHARED: LazyLock<Double> = LazyLock::new(|| start(DoubleOptions::default()));

static NEXT_PREFIX: AtomicUsize = AtomicUsize::new(0);

fn start(options: DoubleOptions) -> Double {
    Double::start(options).unwrap()
}

fn fresh_prefix() -> String {
    format!("test-{}-{}", std::process::id(), NEXT_PREFIX.fetch_add(1, Ordering::Relaxed))
}

/// The environment may name a real cluster instead.
fn shared_address() -> String {
    std::env::var("TARN_TIKV_PD").unwrap_or_else(|_| SHARED.pd_address())
}

fn open(double: &Double, prefix: &str) -> TikvEngine {
    open_with(double, prefix, Duration::from_secs(10))
}

fn open_with(double: &Double, prefix: &str, timeout: Duration) -> TikvEngine {
    open_at(double.pd_address(), prefix, timeout)
}

fn open_at(address: String, prefix: &str, timeout: Duration) -> TikvEngine {
    let pd_addresses = vec![address];
    let options = Options { pd_addresses, prefix: prefix.to_owned(), timeout, relied: vec![GROUPED] };
    let engine = TikvEngine::open(&options).unwrap();
    engine.wait_connected().unwrap();
    engine
}

/// A cluster of one's own, and an engine on it.
fn alone() -> (Double, TikvEngine) {
    let double = start(DoubleOptions::default());
    let engine = open(&double, "alone");
    (double, engine)
}

fn try_put(engine: &TikvEngine, key: &[u8], value: &[u8]) -> Result<Position> {
    let mut write = engine.begin_write(Wait::Allowed);
    write.get(PLAIN, key, &mut Vec::new())?;
    write.put(PLAIN, key, &[value]);
    write.commit()
}

fn put(engine: &TikvEngine, key: &[u8], value: &[u8]) {
    try_put(engine, key, value).unwrap();
}

fn get(read: &impl Read, key: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    read.get(PLAIN, key, &mut out).unwrap().then_some(out)
}

fn committed(engine: &TikvEngine, key: &[u8]) -> Option<Vec<u8>> {
    get(&engine.begin_read(Wait::Allowed), key)
}

/// Keeps the prefix, to come back to the same rows.
struct OnCluster(Arc<std::sync::Mutex<String>>);

impl OnCluster {
    fn new() -> OnCluster {
        OnCluster(Arc::default())
    }
}

impl Harness for OnCluster {
    type Engine = TikvEngine;

    fn promises(&self) -> &'static [Promise] {
        &[Promise::Lasting, Promise::Conflicts]
    }

    fn open(&self) -> TikvEngine {
        let prefix = fresh_prefix();
        self.0.lock().unwrap().clone_from(&prefix);
        open_at(shared_address(), &prefix, Duration::from_secs(10))
    }

    fn reopen(&self, engine: TikvEngine) -> TikvEngine {
        drop(engine);
        open_at(shared_address(), &self.0.lock().unwrap(), Duration::from_secs(10))
    }
}

mod conformance {
    use super::*;

    crate::conformance_suite!(
        OnCluster::new(),
        promised: [Lasting, Conflicts],
        not_promised: [Local, Blind, Fresh, Serialisable]
    );
}
