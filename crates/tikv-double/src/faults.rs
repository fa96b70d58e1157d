//! What goes wrong, and when: a script of rules, and rates at which faults happen by chance.

use std::time::Duration;

use crate::counts::Call;
use crate::rng::Rng;

/// What happens to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The leader is said to be elsewhere. With `hint` it is named, which sends the client to the same store again.
    NotLeader {
        hint: bool,
    },
    EpochNotMatch,
    RegionNotFound,
    KeyNotInRegion,
    /// The client does not retry this one.
    ServerIsBusy,
    StaleCommand,
    MaxTimestampNotSynced,
    /// The region's leader really goes to another store before the request is looked at.
    MoveLeader,
    /// The region is really split at a key of the request before that is looked at. Where there are many regions, it is
    /// merged into the one on its left instead.
    Split,
    /// Somebody who began later has been rolled back on the first key that is written: a conflict.
    Conflict,
    /// A client that died has left a lock on the first key.
    AbandonedLock,
    /// The call fails and nothing was done.
    Unavailable,
    /// The call fails although it was carried out.
    UnavailableAfter,
    /// There is no answer and nothing was done.
    TimeoutBefore,
    /// There is no answer although the request was carried out.
    TimeoutAfter,
    /// The request is looked at later.
    Delay(Duration),
    /// There is no answer, and the request is carried out later, whether its client is still there or not.
    Late(Duration),
}

impl Fault {
    /// Whether it makes sense for this call.
    fn suits(&self, call: Call) -> bool {
        let writes = matches!(call, Call::Prewrite | Call::PessimisticLock);
        let reads = matches!(call, Call::Get | Call::BatchGet | Call::Scan);
        match self {
            Self::Conflict => writes,
            Self::AbandonedLock => writes || reads,
            Self::Unavailable
            | Self::UnavailableAfter
            | Self::TimeoutBefore
            | Self::TimeoutAfter
            | Self::Delay(_) => true,
            Self::Late(_) => !call.is_pd(),
            _ => !call.is_pd() && call != Call::UnsafeDestroyRange,
        }
    }
}

/// A fault for certain requests.
#[derive(Clone, Debug)]
pub struct Rule {
    fault: Fault,
    calls: Vec<Call>,
    prefix: Vec<u8>,
    skip: u64,
    times: u64,
}

impl Rule {
    /// For the next request of this call.
    pub fn on(call: Call, fault: Fault) -> Self {
        Self { fault, calls: vec![call], prefix: Vec::new(), skip: 0, times: 1 }
    }

    /// For the next request that goes to TiKV.
    pub fn on_any(fault: Fault) -> Self {
        let calls = Call::ALL.iter().copied().filter(|call| !call.is_pd()).collect();
        Self { fault, calls, prefix: Vec::new(), skip: 0, times: 1 }
    }

    /// Only for requests one of whose keys begins so.
    #[must_use]
    pub fn with_prefix(mut self, prefix: &[u8]) -> Self {
        self.prefix = prefix.to_vec();
        self
    }

    /// Lets so many requests pass first.
    #[must_use]
    pub fn after(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// Until the faults are cleared.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(u64::MAX)
    }

    /// The fault, if it is this request's turn.
    fn strike(&mut self, call: Call, keys: &[&[u8]]) -> Option<Fault> {
        let suits = self.calls.contains(&call)
            && self.fault.suits(call)
            && (self.prefix.is_empty() || keys.iter().any(|key| key.starts_with(&self.prefix)));
        if !suits {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.times = self.times.saturating_sub(1);
        Some(self.fault.clone())
    }
}

/// How often faults happen by chance: probabilities per request to TiKV.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// NotLeader without a hint, EpochNotMatch, RegionNotFound or StaleCommand.
    pub region_error: f64,
    /// ServerIsBusy, which the client does not retry.
    pub busy: f64,
    /// Of commits, and of requests that lock keys.
    pub conflict: f64,
    /// Of requests that read or lock keys.
    pub abandoned_lock: f64,
    pub split: f64,
    pub move_leader: f64,
    pub unavailable: f64,
    pub unavailable_after: f64,
    pub timeout_before: f64,
    pub timeout_after: f64,
    pub late: f64,
    /// Of up to `max_delay`; so is `late`.
    pub delay: f64,
    pub max_delay: Duration,
}

pub struct Faults {
    rules: Vec<Rule>,
    rates: Rates,
    rng: Rng,
    struck: u64,
}

impl Faults {
    pub fn new(seed: u64, rates: Rates) -> Self {
        Self { rules: Vec::new(), rates, rng: Rng::new(seed), struck: 0 }
    }

    pub fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    pub fn set_rates(&mut self, rates: Rates) {
        self.rates = rates;
    }

    pub fn clear(&mut self) {
        self.rules.clear();
        self.rates = Rates::default();
    }

    /// How many requests something happened to.
    pub fn struck(&self) -> u64 {
        self.struck
    }

    /// What is to happen to a request. Rules come before chance, and the oldest first. By chance only what `may_conflict` does.
    pub fn decide(&mut self, call: Call, keys: &[&[u8]], may_conflict: bool) -> Option<Fault> {
        let ruled = self.rules.iter_mut().find_map(|rule| rule.strike(call, keys));
        self.rules.retain(|rule| rule.times > 0);
        let fault = ruled.or_else(|| self.by_chance(call, may_conflict));
        self.struck += u64::from(fault.is_some());
        fault
    }

    fn by_chance(&mut self, call: Call, may_conflict: bool) -> Option<Fault> {
        if call.is_pd() {
            return None;
        }
        let mut rates = self.rates.clone();
        if !may_conflict {
            rates.conflict = 0.0;
        }
        let region_error = match self.rng.below(4) {
            0 => Fault::NotLeader { hint: false },
            1 => Fault::EpochNotMatch,
            2 => Fault::RegionNotFound,
            _ => Fault::StaleCommand,
        };
        let delay = rates.max_delay.mul_f64(self.rng.below(1_000) as f64 / 1_000.0);
        let chances = [
            (rates.region_error, region_error),
            (rates.busy, Fault::ServerIsBusy),
            (rates.conflict, Fault::Conflict),
            (rates.abandoned_lock, Fault::AbandonedLock),
            (rates.split, Fault::Split),
            (rates.move_leader, Fault::MoveLeader),
            (rates.unavailable, Fault::Unavailable),
            (rates.unavailable_after, Fault::UnavailableAfter),
            (rates.timeout_before, Fault::TimeoutBefore),
            (rates.timeout_after, Fault::TimeoutAfter),
            (rates.late, Fault::Late(delay)),
            (rates.delay, Fault::Delay(delay)),
        ];
        chances.into_iter().find(|(rate, fault)| fault.suits(call) && self.rng.happens(*rate)).map(|(_, f)| f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_strikes_where_and_as_often_as_it_says() {
        let mut faults = Faults::new(1, Rates::default());
        faults.add(Rule::on(Call::Get, Fault::ServerIsBusy).with_prefix(b"k").after(1).times(2));
        let mut ask = |call, key: &[u8]| faults.decide(call, &[key], true).is_some();
        assert!(!ask(Call::Get, b"k1"), "one is let pass");
        assert!(!ask(Call::Get, b"other"));
        assert!(!ask(Call::Scan, b"k1"));
        assert!(ask(Call::Get, b"k1"));
        assert!(ask(Call::Get, b"k2"));
        assert!(!ask(Call::Get, b"k3"), "used up");
        assert_eq!(faults.struck(), 2);
    }

    #[test]
    fn chance_keeps_its_rate_and_only_what_locks_can_conflict() {
        let mut faults = Faults::new(2, Rates { conflict: 0.5, ..Rates::default() });
        let mut count =
            |call, may| (0..1_000).filter(|_| faults.decide(call, &[], may) == Some(Fault::Conflict)).count();
        assert!((400..600).contains(&count(Call::Prewrite, true)));
        assert_eq!(count(Call::Prewrite, false), 0);
        assert_eq!(count(Call::Get, true), 0);
        assert_eq!(count(Call::Tso, true), 0);
        faults.clear();
        assert!((0..1_000).all(|_| faults.decide(Call::Prewrite, &[], true).is_none()));
    }
}
