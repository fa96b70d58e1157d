//! Transactions at random, whose messages come twice, late or never: increments of two counters each. None may be lost, none may
//! be half there, and what a client was told must be so.

use std::collections::HashMap;

use super::*;
use crate::proto::kvrpcpb::{CheckTxnStatusRequest, Mutation, PrewriteRequest};
use crate::rng::Rng;

const KEYS: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Committed,
    Refused,
}

struct Txn {
    start_ts: u64,
    primary: Vec<u8>,
    secondary: Vec<u8>,
    values: [u64; 2],
    one_phase: bool,
    told: Told,
    /// Prewrites that were confirmed, of the two keys.
    prewritten: [bool; 2],
}

#[derive(Clone, Copy)]
enum Message {
    /// Of both keys at once, or of one.
    Prewrite {
        txn: usize,
        key: Option<usize>,
    },
    Commit {
        txn: usize,
        key: usize,
        commit_ts: u64,
    },
}

struct World {
    mvcc: Mvcc,
    max_ts: u64,
    tso: u64,
    rng: Rng,
    txns: Vec<Txn>,
    network: Vec<Message>,
}

impl World {
    fn ts(&mut self) -> u64 {
        self.tso += 1;
        self.tso
    }

    /// It may come twice, or not at all.
    fn send(&mut self, message: Message) {
        for _ in 0..[1, 1, 1, 1, 1, 1, 2, 0][self.rng.below(8) as usize] {
            self.network.push(message);
        }
    }

    fn read(&mut self, key: &[u8], ts: u64) -> Option<u64> {
        self.max_ts = self.max_ts.max(ts);
        match self.mvcc.get(key, &View { ts, resolved: &[] }) {
            Ok(value) => Some(value.map_or(0, |value| String::from_utf8(value).unwrap().parse().unwrap())),
            Err(_) => {
                if self.rng.below(2) == 0 {
                    self.resolve(key);
                }
                None
            }
        }
    }

    fn begin(&mut self) {
        let start_ts = self.ts();
        let first = self.rng.below(KEYS);
        let second = (first + 1 + self.rng.below(KEYS - 1)) % KEYS;
        let [primary, secondary] = [first, second].map(|index| format!("k{index}").into_bytes());
        let (Some(a), Some(b)) = (self.read(&primary, start_ts), self.read(&secondary, start_ts)) else {
            return;
        };
        let one_phase = self.rng.below(2) == 0;
        let txn = self.txns.len();
        self.txns.push(Txn {
            start_ts,
            primary,
            secondary,
            values: [a + 1, b + 1],
            one_phase,
            told: Told::Nothing,
            prewritten: [false; 2],
        });
        if one_phase || self.rng.below(2) == 0 {
            self.send(Message::Prewrite { txn, key: None });
        } else {
            self.send(Message::Prewrite { txn, key: Some(0) });
            self.send(Message::Prewrite { txn, key: Some(1) });
        }
    }

    fn deliver(&mut self) {
        if self.network.is_empty() {
            return;
        }
        let at = self.rng.below(self.network.len() as u64) as usize;
        match self.network.swap_remove(at) {
            Message::Prewrite { txn, key } => self.prewrite(txn, key),
            Message::Commit { txn, key, commit_ts } => self.commit(txn, key, commit_ts),
        }
    }

    fn prewrite(&mut self, index: usize, key: Option<usize>) {
        let txn = &self.txns[index];
        let put = |at: usize| Mutation {
            key: [&txn.primary, &txn.secondary][at].clone(),
            value: txn.values[at].to_string().into_bytes(),
            ..Mutation::default()
        };
        let request = PrewriteRequest {
            mutations: key.map_or_else(|| vec![put(0), put(1)], |at| vec![put(at)]),
            primary_lock: txn.primary.clone(),
            start_version: txn.start_ts,
            try_one_pc: txn.one_phase,
            ..PrewriteRequest::default()
        };
        let response = self.mvcc.prewrite(&request, &mut self.max_ts);
        let lost = self.rng.below(8) == 0;
        let txn = &mut self.txns[index];
        if lost || txn.told != Told::Nothing {
            return;
        }
        if response.errors.iter().any(|error| error.conflict.is_some()) {
            txn.told = Told::Refused;
        } else if let Some(locked) = response.errors.first().and_then(|error| error.locked.clone()) {
            self.resolve(&locked.key);
            self.send(Message::Prewrite { txn: index, key });
        } else if txn.one_phase {
            assert!(response.one_pc_commit_ts > txn.start_ts);
            txn.told = Told::Committed;
        } else {
            if txn.prewritten == [true; 2] {
                return;
            }
            let done = key.map_or([true; 2], |at| [at == 0, at == 1]);
            for (prewritten, now) in txn.prewritten.iter_mut().zip(done) {
                *prewritten |= now;
            }
            if txn.prewritten == [true; 2] {
                let commit_ts = self.ts();
                self.send(Message::Commit { txn: index, key: 0, commit_ts });
            }
        }
    }

    fn commit(&mut self, index: usize, key: usize, commit_ts: u64) {
        let txn = &self.txns[index];
        let keys = [[&txn.primary, &txn.secondary][key].clone()];
        let done = self.mvcc.commit(&keys, txn.start_ts, commit_ts);
        if key == 1 {
            done.expect("the primary is committed");
        } else if done.is_ok() && self.rng.below(8) > 0 {
            self.txns[index].told = Told::Committed;
            self.send(Message::Commit { txn: index, key: 1, commit_ts });
        }
    }

    /// What a client does that meets a lock which has expired.
    fn resolve(&mut self, key: &[u8]) {
        let Some(lock) = self.mvcc.lock(key).cloned() else { return };
        let request = CheckTxnStatusRequest {
            primary_key: lock.primary.clone(),
            lock_ts: lock.start_ts,
            current_ts: u64::MAX,
            rollback_if_not_exist: true,
            verify_is_primary: true,
            ..CheckTxnStatusRequest::default()
        };
        let status = self.mvcc.check_txn_status(&request, &mut self.max_ts).unwrap();
        assert_eq!(status.lock_ttl, 0, "all locks count as expired");
        let outcomes = [(lock.start_ts, status.commit_version)].into();
        let everything = Range { start: Vec::new(), end: Vec::new() };
        self.mvcc.resolve_locks(&outcomes, &everything, &[]).unwrap();
    }

    fn check(&self) {
        let mut committed: HashMap<u64, Vec<u64>> = HashMap::new();
        for index in 0..KEYS {
            let Some(row) = self.mvcc.row(format!("k{index}").as_bytes()) else { continue };
            let puts = row.writes().iter().filter(|write| write.kind == WriteKind::Put);
            for (number, write) in (1..).zip(puts) {
                assert_eq!(write.value, u64::to_string(&number).into_bytes(), "an increment is lost");
                committed.entry(write.start_ts).or_default().push(write.commit_ts);
            }
        }
        for txn in &self.txns {
            let commits = committed.get(&txn.start_ts).map_or(&[][..], Vec::as_slice);
            match txn.told {
                Told::Committed => assert_eq!(commits.len(), 2),
                Told::Refused => assert_eq!(commits.len(), 0),
                Told::Nothing => assert!([0, 2].contains(&commits.len())),
            }
            if let [a, b] = commits {
                assert_eq!(a, b, "committed at two times");
            }
        }
    }
}

#[test]
fn increments_are_exact_whatever_the_network_does() {
    let mut commits = 0;
    for seed in 1..=50 {
        let mut world = World {
            mvcc: Mvcc::default(),
            max_ts: 0,
            tso: 0,
            rng: Rng::new(seed),
            txns: Vec::new(),
            network: Vec::new(),
        };
        for _ in 0..1_000 {
            match world.rng.below(10) {
                0..3 => world.begin(),
                3 => {
                    let key = format!("k{}", world.rng.below(KEYS));
                    world.resolve(key.as_bytes());
                }
                _ => world.deliver(),
            }
        }
        while !world.network.is_empty() {
            world.deliver();
        }
        for index in 0..KEYS {
            world.resolve(format!("k{index}").as_bytes());
        }
        world.check();
        commits += world.txns.iter().filter(|txn| txn.told == Told::Committed).count();
    }
    assert!(commits > 1_000, "{commits}");
}
