//! HOTKEYS: which keys cost most, in time and in bytes, while somebody wants to know.
//!
//! Costs are summed in a table of bounded size. When it is full the cheaper half of it is forgotten, so that keys that cost much stay.
//! Where nobody asks, a command costs the test of a flag.

use std::cell::Cell;
use std::hash::RandomState;
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;

use crate::dispatch::stats::Ended;
use crate::encoding::slot::{self, SLOTS};

/// Keys whose costs are summed at a time.
const MAX_KEYS: usize = 4096;
/// Longer keys are left out.
pub const MAX_KEY_LEN: usize = 4096;

#[derive(Debug, Default)]
pub struct Hotkeys {
    is_on: AtomicBool,
    state: Mutex<Option<State>>,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub cpu: bool,
    pub net: bool,
    /// Keys that are shown.
    pub count: usize,
    /// One of so many commands is looked at.
    pub sample: u32,
    pub until_ms: Option<u64>,
    /// Sorted; empty where all slots are.
    pub slots: Vec<u16>,
}

/// What commands have cost together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    pub micros: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    nanos: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, nanos: u64, bytes: u64) {
        self.nanos += nanos;
        self.bytes += bytes;
    }

    fn cost(&self) -> Cost {
        Cost { micros: self.nanos / 1_000, bytes: self.bytes }
    }
}

/// A session, from START to RESET.
#[derive(Debug, Clone)]
pub struct State {
    pub wanted: Wanted,
    pub started_ms: u64,
    /// None while it runs.
    pub stopped_ms: Option<u64>,
    /// What the process had used by then: user and system time in milliseconds, and bytes of the network.
    pub before: (u64, u64, u64),
    /// The same at its end.
    pub after: Option<(u64, u64, u64)>,
    all: Sum,
    selected: Sum,
    sampled: Sum,
    keys: HashMap<Box<[u8]>, Sum, RandomState>,
}

/// A key and what it has cost.
pub type Hot = (Box<[u8]>, u64);

impl State {
    pub fn all(&self) -> Cost {
        self.all.cost()
    }

    /// Of the slots that were chosen.
    pub fn selected(&self) -> Cost {
        self.selected.cost()
    }

    /// And of those commands that were looked at.
    pub fn sampled(&self) -> Cost {
        self.sampled.cost()
    }

    /// The keys that cost most.
    pub fn hottest(&self, of: impl Fn(&Cost) -> u64) -> Vec<Hot> {
        let mut keys: Vec<Hot> = self.keys.iter().map(|(key, sum)| (key.clone(), of(&sum.cost()))).collect();
        keys.retain(|(_, cost)| *cost > 0);
        keys.sort_unstable_by(|(one, a), (other, b)| b.cmp(a).then_with(|| one.cmp(other)));
        keys.truncate(self.wanted.count);
        keys
    }

    /// Forgets the cheaper half.
    #[cold]
    fn make_room(&mut self) {
        let mut costs: Vec<(u64, u64)> = self.keys.values().map(|sum| (sum.nanos, sum.bytes)).collect();
        let middle = costs.len() / 2;
        let nanos = costs.select_nth_unstable_by_key(middle, |cost| cost.0).1.0;
        let bytes = costs.select_nth_unstable_by_key(middle, |cost| cost.1).1.1;
        let Wanted { cpu, net, .. } = self.wanted;
        self.keys.retain(|_, sum| cpu && sum.nanos > nanos || net && sum.bytes > bytes);
    }

    fn is_selected(&self, slot: u16) -> bool {
        self.wanted.slots.is_empty() || self.wanted.slots.binary_search(&slot).is_ok()
    }

    fn note(&mut self, keys: &[&[u8]], nanos: u64, bytes: u64, is_sampled: bool) {
        self.all.add(nanos, bytes);
        let keys: Vec<&[u8]> = keys.iter().filter(|key| self.is_selected(slot::of(key))).copied().collect();
        if keys.is_empty() {
            return;
        }
        self.selected.add(nanos, bytes);
        if !is_sampled {
            return;
        }
        self.sampled.add(nanos, bytes);
        for key in keys.iter().filter(|key| key.len() <= MAX_KEY_LEN) {
            if self.keys.len() >= MAX_KEYS && !self.keys.contains_key(*key) {
                self.make_room();
            }
            let shares = keys.len() as u64;
            self.keys.entry_ref(*key).or_default().add(nanos / shares, bytes / shares);
        }
    }
}

impl Hotkeys {
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// A command has ended that took so many bytes on the wire.
    #[cold]
    pub fn note(&self, ended: &Ended<'_>, wire_len: usize) {
        let keys = ended.command.spec.keys.positions(ended.words);
        let keys: Vec<&[u8]> = keys.filter_map(|(at, _)| ended.words.get(at)).collect();
        let mut state = self.state.lock();
        let Some(state) = state.as_mut().filter(|state| state.stopped_ms.is_none()) else { return };
        if let Some(until_ms) = state.wanted.until_ms.filter(|until_ms| *until_ms <= ended.now_ms) {
            state.stopped_ms = Some(until_ms);
            self.is_on.store(false, Ordering::Relaxed);
            return;
        }
        let is_sampled = state.wanted.sample <= 1 || draw().is_multiple_of(u64::from(state.wanted.sample));
        state.note(&keys, ended.nanos, (wire_len + ended.reply_len) as u64, is_sampled);
    }

    /// False where one is under way.
    pub fn start(&self, wanted: Wanted, now_ms: u64, before: (u64, u64, u64)) -> bool {
        let mut state = self.state.lock();
        if state.as_ref().is_some_and(|state| state.runs(now_ms)) {
            return false;
        }
        *state = Some(State {
            wanted,
            started_ms: now_ms,
            stopped_ms: None,
            before,
            after: None,
            all: Sum::default(),
            selected: Sum::default(),
            sampled: Sum::default(),
            keys: HashMap::default(),
        });
        self.is_on.store(true, Ordering::Relaxed);
        true
    }

    /// Whether there is one.
    pub fn stop(&self, now_ms: u64, after: (u64, u64, u64)) -> bool {
        let mut state = self.state.lock();
        self.is_on.store(false, Ordering::Relaxed);
        let Some(state) = state.as_mut() else { return false };
        if state.after.is_none() {
            state.stopped_ms = Some(state.end_ms(now_ms));
            state.after = Some(after);
        }
        true
    }

    /// False while one is under way.
    pub fn reset(&self, now_ms: u64) -> bool {
        let mut state = self.state.lock();
        if state.as_ref().is_some_and(|state| state.runs(now_ms)) {
            return false;
        }
        *state = None;
        true
    }

    pub fn get(&self) -> Option<State> {
        self.state.lock().clone()
    }
}

impl State {
    /// Whether it is under way.
    pub fn runs(&self, now_ms: u64) -> bool {
        self.stopped_ms.is_none() && self.wanted.until_ms.is_none_or(|until_ms| now_ms < until_ms)
    }

    /// When it ended, or now.
    pub fn end_ms(&self, now_ms: u64) -> u64 {
        self.stopped_ms
            .unwrap_or_else(|| self.wanted.until_ms.map_or(now_ms, |until_ms| until_ms.min(now_ms)))
    }

    /// Ranges of the slots that were chosen.
    pub fn slot_ranges(&self) -> Vec<(u16, u16)> {
        let mut ranges: Vec<(u16, u16)> = Vec::new();
        for slot in &self.wanted.slots {
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(*slot) => *last = *slot,
                _ => ranges.push((*slot, *slot)),
            }
        }
        if ranges.is_empty() { vec![(0, SLOTS - 1)] } else { ranges }
    }
}

/// A random number; which one does not matter.
fn draw() -> u64 {
    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }
    let seed = STATE.get().wrapping_add(1);
    STATE.set(seed);
    crate::keyspace::draws(seed).next().unwrap_or(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(sample: u32, slots: &[u16]) -> Wanted {
        Wanted { cpu: true, net: true, count: 2, sample, until_ms: None, slots: slots.to_vec() }
    }

    fn state(hotkeys: &Hotkeys) -> State {
        hotkeys.get().unwrap()
    }

    fn note(hotkeys: &Hotkeys, key: &str, micros: u64, bytes: u64) {
        let mut state = hotkeys.state.lock();
        state.as_mut().unwrap().note(&[key.as_bytes()], micros * 1_000, bytes, true);
    }

    #[test]
    fn what_costs_most_is_kept_however_many_keys_there_are() {
        let hotkeys = Hotkeys::default();
        assert!(!hotkeys.is_on() && hotkeys.start(wanted(1, &[]), 5, (0, 0, 0)) && hotkeys.is_on());
        assert!(!hotkeys.start(wanted(1, &[]), 5, (0, 0, 0)) && !hotkeys.reset(5));
        for n in 0..10 * MAX_KEYS {
            note(&hotkeys, &format!("k{n}"), 1, 10);
            if n % 100 == 0 {
                note(&hotkeys, "slow", 50, 1);
                note(&hotkeys, "big", 1, 5_000);
            }
        }
        assert!(state(&hotkeys).keys.len() <= MAX_KEYS);
        let names =
            |hot: Vec<Hot>| hot.iter().map(|(key, _)| key.escape_ascii().to_string()).collect::<Vec<_>>();
        assert_eq!(names(state(&hotkeys).hottest(|cost| cost.micros))[0], "slow");
        assert_eq!(names(state(&hotkeys).hottest(|cost| cost.bytes))[0], "big");
        assert_eq!(state(&hotkeys).hottest(|cost| cost.bytes).len(), 2);
        assert!(
            hotkeys.stop(9, (0, 0, 0)) && !hotkeys.is_on() && hotkeys.reset(9) && hotkeys.get().is_none()
        );
        assert!(!hotkeys.stop(9, (0, 0, 0)));
    }

    #[test]
    fn slots_are_chosen_and_shown_as_ranges() {
        let hotkeys = Hotkeys::default();
        let a = slot::of(b"a");
        assert!(hotkeys.start(wanted(1, &[0, 1, 2, 100, a]), 5, (0, 0, 0)));
        note(&hotkeys, "a", 3, 3);
        note(&hotkeys, "b", 4, 4);
        let state = state(&hotkeys);
        assert_eq!(state.slot_ranges(), [(0, 2), (100, 100), (a, a)]);
        assert_eq!((state.all().bytes, state.selected().bytes, state.sampled().micros), (7, 3, 3));
        assert_eq!(state.hottest(|cost| cost.bytes), [(b"a"[..].into(), 3)]);
    }

    #[test]
    fn it_ends_by_itself() {
        let hotkeys = Hotkeys::default();
        assert!(hotkeys.start(Wanted { until_ms: Some(10), ..wanted(1, &[]) }, 5, (0, 0, 0)));
        let state = state(&hotkeys);
        assert!(state.runs(9) && !state.runs(10));
        assert_eq!((state.end_ms(7), state.end_ms(70)), (7, 10));
        assert!(hotkeys.start(wanted(1, &[]), 10, (0, 0, 0)));
    }
}
