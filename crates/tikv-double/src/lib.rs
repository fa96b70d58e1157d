#![doc = include_str!("../README.md")]
#![allow(clippy::result_large_err, reason = "tonic's status and a region error are as large as they are")]

mod clock;
mod cluster;
mod codec;
mod control;
mod counts;
mod faults;
mod mvcc;
mod options;
mod proto;
mod region;
mod rng;
mod server;
mod waits;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use cluster::{Cluster, Shared};
pub use control::obey;
pub use counts::{Call, Counts};
pub use faults::{Fault, Rates, Rule};
use mvcc::Range;
pub use mvcc::{Lock, LockKind, Write, WriteKind};
pub use options::{Flags, Options, USAGE};
pub use region::Region;
use server::{Listener, Role};

/// A cluster of PD and stores on loopback. It is gone when this is dropped.
pub struct Double {
    shared: Shared,
    pd: Mutex<Listener>,
    stores: Vec<Mutex<Listener>>,
    runtime: Option<Runtime>,
}

impl Double {
    /// Starts PD and all stores. They answer when this returns.
    pub fn start(options: Options) -> io::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(2).thread_name("tikv-double").enable_all().build()?;
        let address = options.listen.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let pd = Listener::bind(address, Role::Pd)?;
        let mut stores = Vec::new();
        for id in 1..=options.stores {
            stores.push(Listener::bind(SocketAddr::new(address.ip(), 0), Role::Store(id))?);
        }
        let addresses = (1..).zip(stores.iter().map(|store| store.address().to_string())).collect();
        let shared = Shared::new(Cluster::new(options, pd.address().to_string(), addresses));
        let double = Self {
            shared,
            pd: Mutex::new(pd),
            stores: stores.into_iter().map(Mutex::new).collect(),
            runtime: Some(runtime),
        };
        for id in double.store_ids() {
            double.start_store(id)?;
        }
        double.start_pd()?;
        Ok(double)
    }

    /// What clients are told to connect to.
    pub fn pd_address(&self) -> String {
        self.shared.lock().pd_address.clone()
    }

    pub fn store_ids(&self) -> Vec<u64> {
        self.shared.lock().stores.iter().map(|(id, _)| *id).collect()
    }

    /// How many requests of each kind have come in.
    pub fn counts(&self) -> Counts {
        self.shared.lock().counts.clone()
    }

    /// How many requests a fault has struck.
    pub fn faults_struck(&self) -> u64 {
        self.shared.lock().faults.struck()
    }

    /// Adds a rule to the script of faults.
    pub fn inject(&self, rule: Rule) {
        self.shared.lock().faults.add(rule);
    }

    pub fn set_rates(&self, rates: Rates) {
        self.shared.lock().faults.set_rates(rates);
    }

    pub fn clear_faults(&self) {
        self.shared.lock().faults.clear();
    }

    /// False if there is a bound already.
    pub fn split(&self, key: &[u8]) -> bool {
        self.shared.lock().regions.split(key).is_some()
    }

    /// Merges the region of the key into the one on its left.
    pub fn merge(&self, key: &[u8]) -> bool {
        self.shared.lock().merge(key)
    }

    /// The regions, by their keys.
    pub fn regions(&self) -> Vec<Region> {
        self.shared.lock().regions.all().cloned().collect()
    }

    /// The store that leads the region of the key.
    pub fn leader_of(&self, key: &[u8]) -> u64 {
        self.shared.lock().regions.of_key(key).map_or(0, |region| region.leader)
    }

    /// False if there is no such store.
    pub fn move_leader(&self, key: &[u8], store: u64) -> bool {
        let mut cluster = self.shared.lock();
        let region = cluster.regions.of_key(key).map(|region| region.id);
        region.is_some_and(|region| cluster.move_leader(region, store))
    }

    /// The other peers elect leaders among them.
    pub fn move_leaders_off(&self, store: u64) {
        self.shared.lock().move_leaders_off(store);
    }

    /// Spreads the leaders over all stores.
    pub fn spread_leaders(&self) {
        self.shared.lock().spread_leaders();
    }

    /// Breaks all connections of a store and refuses new ones. Its leaders stay where they are until they are moved.
    pub fn stop_store(&self, id: u64) {
        if let Some(store) = self.store(id) {
            store.lock().close();
        }
    }

    pub fn start_store(&self, id: u64) -> io::Result<()> {
        match (self.store(id), &self.runtime) {
            (Some(store), Some(runtime)) => store.lock().open(runtime.handle(), &self.shared),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub fn stop_pd(&self) {
        self.pd.lock().close();
    }

    pub fn start_pd(&self) -> io::Result<()> {
        match &self.runtime {
            Some(runtime) => self.pd.lock().open(runtime.handle(), &self.shared),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Lets time pass for PD, so that locks expire.
    pub fn advance_clock(&self, by: Duration) {
        self.shared.lock().clock.advance(by.as_millis() as u64);
    }

    /// A timestamp of PD.
    pub fn timestamp(&self) -> u64 {
        self.shared.lock().clock.take(1)
    }

    pub fn safe_point(&self) -> u64 {
        self.shared.lock().safe_point
    }

    /// The value of a key as of now, whoever holds it.
    pub fn value(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.shared.lock().mvcc.row(key)?.value(u64::MAX).map(<[u8]>::to_vec)
    }

    /// What was written to a key, oldest first.
    pub fn history(&self, key: &[u8]) -> Vec<Write> {
        self.shared.lock().mvcc.row(key).map(|row| row.writes().to_vec()).unwrap_or_default()
    }

    /// Everybody's locks, by key.
    pub fn locks(&self) -> Vec<(Vec<u8>, Lock)> {
        let cluster = self.shared.lock();
        let everything = Range { start: Vec::new(), end: Vec::new() };
        let locks =
            cluster.mvcc.rows(&everything).filter_map(|(key, row)| Some((key.clone(), row.lock.clone()?)));
        locks.collect()
    }

    /// Puts a lock on a key, as a client would that dies right after. Replaces the one that is there.
    pub fn leave_lock(&self, key: &[u8], lock: Lock) {
        self.shared.lock().mvcc.put_lock(key, lock);
    }

    /// How many requests wait for pessimistic locks.
    pub fn waiting(&self) -> usize {
        self.shared.lock().waits.len()
    }

    /// How many requests are still to be carried out although nobody waits for their answers.
    pub fn late(&self) -> usize {
        self.shared.lock().late
    }

    fn store(&self, id: u64) -> Option<&Mutex<Listener>> {
        self.stores.get(usize::try_from(id).ok()?.checked_sub(1)?)
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped inside another runtime, where nothing may wait.
            runtime.shutdown_background();
        }
    }
}
