//! LATENCY: the spikes of late, by event. Kept only where `latency-monitor-threshold` asks for it.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;

/// Samples per event; one per second at most, the worst of it.
const MAX_SAMPLES: usize = 160;

#[derive(Debug, Default)]
pub struct Spikes {
    events: Mutex<BTreeMap<&'static str, Event>>,
}

#[derive(Debug, Default, Clone)]
struct Event {
    samples: VecDeque<Sample>,
    max_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub at_secs: u64,
    pub millis: u64,
}

/// An event and its latest and worst spikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latest {
    pub event: &'static str,
    pub sample: Sample,
    pub max_ms: u64,
}

impl Spikes {
    pub fn add(&self, event: &'static str, at_secs: u64, millis: u64) {
        let mut events = self.events.lock();
        let event = events.entry(event).or_default();
        event.max_ms = event.max_ms.max(millis);
        match event.samples.back_mut() {
            Some(last) if last.at_secs == at_secs => last.millis = last.millis.max(millis),
            _ => {
                if event.samples.len() == MAX_SAMPLES {
                    event.samples.pop_front();
                }
                event.samples.push_back(Sample { at_secs, millis });
            }
        }
    }

    pub fn latest(&self) -> Vec<Latest> {
        let events = self.events.lock();
        let latest = events.iter().filter_map(|(name, event)| {
            event.samples.back().map(|sample| Latest { event: name, sample: *sample, max_ms: event.max_ms })
        });
        latest.collect()
    }

    /// Oldest first.
    pub fn history(&self, event: &[u8]) -> Vec<Sample> {
        let events = self.events.lock();
        let found = events.iter().find(|(name, _)| name.as_bytes() == event);
        found.map(|(_, event)| event.samples.iter().copied().collect()).unwrap_or_default()
    }

    /// Forgets an event; whether it was known.
    pub fn forget(&self, event: &[u8]) -> bool {
        let mut events = self.events.lock();
        let before = events.len();
        events.retain(|name, _| name.as_bytes() != event);
        events.len() < before
    }

    /// Forgets all; how many there were.
    pub fn forget_all(&self) -> usize {
        std::mem::take(&mut *self.events.lock()).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_one_sample_and_old_ones_go() {
        let spikes = Spikes::default();
        spikes.add("command", 5, 10);
        spikes.add("command", 5, 30);
        spikes.add("command", 5, 20);
        assert_eq!(spikes.history(b"command"), [Sample { at_secs: 5, millis: 30 }]);
        for second in 0..MAX_SAMPLES as u64 {
            spikes.add("command", 10 + second, 1);
        }
        let history = spikes.history(b"command");
        assert_eq!((history.len(), history.first().unwrap().at_secs), (MAX_SAMPLES, 10));
        let latest = Sample { at_secs: 9 + MAX_SAMPLES as u64, millis: 1 };
        assert_eq!(spikes.latest(), [Latest { event: "command", sample: latest, max_ms: 30 }]);
    }

    #[test]
    fn events_are_forgotten_by_name_or_all() {
        let spikes = Spikes::default();
        spikes.add("command", 1, 1);
        spikes.add("expire-cycle", 1, 1);
        assert!(spikes.forget(b"command") && !spikes.forget(b"command"));
        assert_eq!(spikes.forget_all(), 1);
        assert_eq!(spikes.latest(), []);
    }
}
