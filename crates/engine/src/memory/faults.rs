//! Failures on purpose: what a distributed engine may answer, at random by a seed or at chosen calls.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::{Error, Wait};

/// A failure that can be injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A commit is refused and not applied.
    Conflict,
    /// The call fails and has no effect.
    Unavailable,
    /// There is no room for a commit, and it is not applied.
    Full,
    /// A commit is applied and its outcome not told.
    UnknownApplied,
    /// A commit is not applied and its outcome not told.
    UnknownLost,
    /// A row is not in memory. Only where the transaction may not wait.
    NotResident,
}

impl Fault {
    pub(super) fn error(self) -> Error {
        match self {
            Fault::Conflict => Error::Conflict,
            Fault::Full => Error::Full("injected".to_owned()),
            Fault::Unavailable => Error::Unavailable("injected".to_owned()),
            Fault::UnknownApplied | Fault::UnknownLost => Error::OutcomeUnknown("injected".to_owned()),
            Fault::NotResident => Error::NotResident,
        }
    }

    fn fits(self, call: Call, wait: Wait) -> bool {
        match self {
            Fault::Unavailable => true,
            Fault::Conflict | Fault::Full | Fault::UnknownApplied | Fault::UnknownLost => {
                call == Call::Commit
            }
            Fault::NotResident => call == Call::Read && wait == Wait::Never,
        }
    }
}

/// The calls that faults tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// A get, a get of many or a scan.
    Read,
    Commit,
    /// Whatever else of an engine can fail.
    Other,
}

/// How often each fault is injected, out of a million calls that it fits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rates {
    pub conflict: u32,
    pub unavailable: u32,
    pub unknown_applied: u32,
    pub unknown_lost: u32,
    pub not_resident: u32,
}

const PER: u64 = 1_000_000;

/// Which faults to inject: scripted ones at their calls, and others at random.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    seed: u64,
    rates: Rates,
    script: VecDeque<(Call, u64, Fault)>,
}

impl Faults {
    pub fn none() -> Faults {
        Faults::default()
    }

    /// Faults at random; the same calls in the same order with the same seed fail in the same way.
    pub fn random(seed: u64, rates: Rates) -> Faults {
        Faults { seed, rates, script: VecDeque::new() }
    }

    /// Injects `fault` into a call of this kind, after `skip` calls of the kind went by since the scripted fault
    /// before it. Scripted faults come in the order in which they were added.
    pub fn then(mut self, call: Call, skip: u64, fault: Fault) -> Faults {
        self.script.push_back((call, skip, fault));
        self
    }
}

/// Faults at random as words: `conflict=10000 not-resident=1000000 seed=7`, out of a million calls.
impl std::str::FromStr for Faults {
    type Err = Error;

    fn from_str(text: &str) -> Result<Faults, Error> {
        let (mut seed, mut rates) = (0, Rates::default());
        for word in text.split_whitespace() {
            let refused = || Error::Unavailable(format!("'{word}' is no fault of the in-memory engine"));
            let (name, number) = word.split_once('=').ok_or_else(refused)?;
            let number: u32 = number.parse().ok().filter(|n| u64::from(*n) <= PER).ok_or_else(refused)?;
            match name {
                "seed" => seed = u64::from(number),
                "conflict" => rates.conflict = number,
                "unavailable" => rates.unavailable = number,
                "unknown-applied" => rates.unknown_applied = number,
                "unknown-lost" => rates.unknown_lost = number,
                "not-resident" => rates.not_resident = number,
                _ => return Err(refused()),
            }
        }
        Ok(Faults::random(seed, rates))
    }
}

/// How many faults were injected, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Injected {
    pub conflicts: u64,
    pub unavailable: u64,
    pub full: u64,
    pub unknown_applied: u64,
    pub unknown_lost: u64,
    pub not_resident: u64,
}

#[derive(Default)]
pub(super) struct Injector {
    faults: Mutex<Faults>,
    draws: AtomicU64,
    injected: Mutex<Injected>,
}

impl Injector {
    pub(super) fn set(&self, faults: Faults) {
        let mut current = self.faults.lock();
        *current = faults;
        self.draws.store(0, Ordering::Relaxed);
    }

    pub(super) fn refuses_all_reads(&self) -> bool {
        u64::from(self.faults.lock().rates.not_resident) >= PER
    }

    pub(super) fn injected(&self) -> Injected {
        *self.injected.lock()
    }

    /// The fault of this call, if it is to have one.
    pub(super) fn draw(&self, call: Call, wait: Wait) -> Option<Fault> {
        let fault = {
            let mut faults = self.faults.lock();
            faults.scripted(call, wait).or_else(|| {
                let draw = self.draws.fetch_add(1, Ordering::Relaxed);
                faults.at_random(draw, call, wait)
            })?
        };
        let mut injected = self.injected.lock();
        let count = match fault {
            Fault::Conflict => &mut injected.conflicts,
            Fault::Unavailable => &mut injected.unavailable,
            Fault::Full => &mut injected.full,
            Fault::UnknownApplied => &mut injected.unknown_applied,
            Fault::UnknownLost => &mut injected.unknown_lost,
            Fault::NotResident => &mut injected.not_resident,
        };
        *count += 1;
        Some(fault)
    }
}

impl Faults {
    fn scripted(&mut self, call: Call, wait: Wait) -> Option<Fault> {
        let (at, skip, fault) = self.script.front_mut()?;
        if *at != call || !fault.fits(call, wait) {
            return None;
        }
        if *skip > 0 {
            *skip -= 1;
            return None;
        }
        self.script.pop_front().map(|(_, _, fault)| fault)
    }

    fn at_random(&self, draw: u64, call: Call, wait: Wait) -> Option<Fault> {
        let rates = self.rates;
        let mut dice = mix(self.seed ^ mix(draw)) % PER;
        let kinds = [
            (Fault::Conflict, rates.conflict),
            (Fault::Unavailable, rates.unavailable),
            (Fault::UnknownApplied, rates.unknown_applied),
            (Fault::UnknownLost, rates.unknown_lost),
            (Fault::NotResident, rates.not_resident),
        ];
        for (fault, rate) in kinds {
            if !fault.fits(call, wait) {
                continue;
            }
            if dice < u64::from(rate) {
                return Some(fault);
            }
            dice -= u64::from(rate);
        }
        None
    }
}

/// Spreads a counter over all bits: the finaliser of splitmix64, after its increment.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
