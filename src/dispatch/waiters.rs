//! Blocking commands that found nothing: who waits for which keys, in the order in which they came.
//!
//! A commit that changes a key for which somebody waits runs the commands of the waiters anew, one after the other, as long as
//! they find something. Whoever runs a waiter's command has taken it first, so that it is never run twice at a time; a change
//! that comes meanwhile makes it run once more. A waiter holds no thread and no lock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use rapidhash::fast::RandomState;

use super::caller::Caller;
use super::multi::Queued;
use super::spec::KeyFlags;
use super::unit::Call;
use super::watches::{KeyRef, WatchedKey};
use crate::error::{Error, Park};
use crate::keyspace::Limits;
use crate::node::Node;
use crate::reply::{Arena, Reply};

/// Where others can change keys too, a waiter looks again after so long: that it was woken may have been lost.
const LOOKS_AGAIN_MS: u64 = 1_000;

/// Waits, and may be taken.
const WAITING: u8 = 0;
/// Somebody runs its command.
const TAKEN: u8 = 1;
/// And has to run it again: a key was changed meanwhile.
const AGAIN: u8 = 2;
/// It has its reply, or is gone.
const DONE: u8 = 3;

/// A client that waits in a blocking command.
pub struct Waiter {
    pub queued: Queued,
    pub caller: Caller,
    pub limits: Limits,
    /// The I/O thread that has its connection, and its place there.
    pub thread: usize,
    pub place: usize,
    /// When it looks again though no key has changed; 0: not by itself.
    again_at_ms: AtomicU64,
    state: AtomicU8,
    /// How it is to end once nobody runs its command: [`Ending`], or 0.
    ending: AtomicU8,
}

/// How a wait ends that nobody serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As if its time were over.
    Timeout = 1,
    Error = 2,
    /// The client has left.
    Gone = 3,
}

#[derive(Default)]
pub struct Waiters {
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    by_key: HashMap<WatchedKey, Line, RandomState>,
    /// And where each is to be found.
    by_client: HashMap<u64, (u64, Arc<Waiter>), RandomState>,
}

/// Those who wait for one key, in the order in which they came.
#[derive(Default)]
struct Line {
    waiters: BTreeMap<u64, Arc<Waiter>>,
    /// How many of them wait for what goes with the key too.
    ending: usize,
}

impl Waiter {
    /// For a call that has found nothing, under its locks.
    pub fn new(
        call: &Call<'_>,
        park: &Park,
        caller: Caller,
        limits: Limits,
        (thread, place): (usize, usize),
    ) -> Waiter {
        let queued = call.to_queued().with_words(&park.words);
        let again_at_ms = AtomicU64::new(park.again_at_ms.unwrap_or(0));
        let (state, ending) = (AtomicU8::new(WAITING), AtomicU8::new(0));
        Waiter { queued, caller, limits, thread, place, again_at_ms, state, ending }
    }

    /// For one that has looked where it could not wait. It has to look once more.
    pub fn taken(queued: Queued, caller: Caller, limits: Limits, (thread, place): (usize, usize)) -> Waiter {
        let (again_at_ms, state, ending) = (AtomicU64::new(0), AtomicU8::new(TAKEN), AtomicU8::new(0));
        Waiter { queued, caller, limits, thread, place, again_at_ms, state, ending }
    }

    pub fn again_at_ms(&self) -> Option<u64> {
        Some(self.again_at_ms.load(Ordering::Acquire)).filter(|at_ms| *at_ms != 0)
    }

    /// Whether that is another time than before. It may be told only by who has taken it.
    pub fn set_again_at(&self, at_ms: Option<u64>) -> bool {
        let at_ms = at_ms.unwrap_or(0);
        self.again_at_ms.swap(at_ms, Ordering::AcqRel) != at_ms && at_ms != 0
    }

    fn exchange(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Whether its client has left.
    pub fn is_gone(&self) -> bool {
        self.ending.load(Ordering::SeqCst) == Ending::Gone as u8
    }

    /// Takes it to run its command. If somebody else has, that one will run it again.
    pub fn take(&self) -> bool {
        loop {
            match self.state.load(Ordering::Acquire) {
                WAITING if self.exchange(WAITING, TAKEN) => return true,
                TAKEN if self.exchange(TAKEN, AGAIN) => return false,
                AGAIN | DONE => return false,
                _ => {}
            }
        }
    }

    /// Its command found nothing: it waits again. False if it has to be run once more.
    pub fn release(&self) -> bool {
        self.exchange(TAKEN, WAITING) || {
            self.state.store(TAKEN, Ordering::Release);
            false
        }
    }

    /// Whether it is to be told that its key is gone.
    fn ends_with_key(&self) -> bool {
        self.queued.command.spec.ends_with_key
    }

    /// What it waits for: not where it would put something.
    fn keys(&self) -> impl Iterator<Item = KeyRef<'_>> {
        let words = self.queued.words.view();
        let keys = self.queued.command.spec.keys.positions(words);
        let awaited = keys.filter(|(_, spec)| !spec.flags.has(KeyFlags::INSERT));
        let keys = awaited.filter_map(move |(at, _)| words.get(at));
        keys.map(|key| KeyRef { db: self.queued.db, key })
    }
}

impl Node {
    /// When a waiter looks again though nobody has told it of a change.
    pub fn look_again_at(&self, park: &Park) -> Option<u64> {
        if !self.engine.is_shared() {
            return park.again_at_ms;
        }
        let soon_ms = self.clock.now_ms() + LOOKS_AGAIN_MS;
        Some(park.again_at_ms.map_or(soon_ms, |at_ms| at_ms.min(soon_ms)))
    }

    /// CLIENT UNBLOCK: whether the client was waiting. If somebody runs its command at this moment, it ends behind that.
    pub fn unblock(&self, client: u64, ending: Ending) -> bool {
        let Some(waiter) = self.waiters.of_client(client) else { return false };
        self.end_wait(&waiter, ending);
        true
    }

    /// Ends a wait, if somebody runs its command at this moment behind that.
    pub fn end_wait(&self, waiter: &Waiter, ending: Ending) {
        waiter.ending.store(ending as u8, Ordering::SeqCst);
        self.end_if_asked(waiter);
    }

    /// Ends the wait of who was to be unblocked, or has left, while its command ran. To be called whenever it waits again.
    pub fn end_if_asked(&self, waiter: &Waiter) {
        let ending = waiter.ending.load(Ordering::SeqCst);
        if ending == 0 || !self.waiters.cancel(waiter) || ending == Ending::Gone as u8 {
            return;
        }
        let mut reply = Vec::new();
        if ending == Ending::Error as u8 {
            let error = Error::reply("UNBLOCKED client unblocked via CLIENT UNBLOCK");
            tarn_resp::encode::error_bytes(&mut reply, &error.wire());
        } else {
            Reply::NilArray.write(waiter.caller.protocol, &Arena::new(), &mut reply);
        }
        if let Some(post) = self.post() {
            post.served(waiter, reply);
        }
    }
}

impl Waiters {
    /// For how many keys somebody waits, and for how many of them also to be told that they are gone.
    pub fn totals(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.by_key.len(), state.by_key.values().filter(|line| line.ending > 0).count())
    }

    /// Whether anybody waits.
    #[inline]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) != 0
    }

    /// It waits from now on.
    pub fn add(&self, waiter: Waiter) -> Arc<Waiter> {
        let waiter = Arc::new(waiter);
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        for key in waiter.keys() {
            let line = state.by_key.entry_ref(&key).or_default();
            // A key may be named twice.
            if line.waiters.insert(number, Arc::clone(&waiter)).is_none() {
                line.ending += usize::from(waiter.ends_with_key());
            }
        }
        state.by_client.insert(waiter.caller.client, (number, Arc::clone(&waiter)));
        self.count.fetch_add(1, Ordering::AcqRel);
        waiter
    }

    /// It has its reply.
    pub fn finish(&self, waiter: &Waiter) {
        waiter.state.store(DONE, Ordering::Release);
        self.forget(waiter);
    }

    /// Ends the wait from outside. False if somebody runs its command, or it has its reply already.
    pub fn cancel(&self, waiter: &Waiter) -> bool {
        let is_cancelled = waiter.exchange(WAITING, DONE);
        if is_cancelled {
            self.forget(waiter);
        }
        is_cancelled
    }

    fn forget(&self, waiter: &Waiter) {
        let mut state = self.state.lock();
        let Some((number, _)) = state.by_client.remove(&waiter.caller.client) else { return };
        for key in waiter.keys() {
            if let Some(line) = state.by_key.get_mut(&key) {
                if line.waiters.remove(&number).is_some() {
                    line.ending -= usize::from(waiter.ends_with_key());
                }
                if line.waiters.is_empty() {
                    state.by_key.remove(&key);
                }
            }
        }
        self.count.fetch_sub(1, Ordering::AcqRel);
    }

    pub fn is_awaited(&self, key: &WatchedKey) -> bool {
        self.state.lock().by_key.contains_key(key)
    }

    /// The keys of a database for which somebody waits, those first that somebody has waited for longest.
    pub fn keys_of(&self, db: u16) -> Vec<WatchedKey> {
        let state = self.state.lock();
        let of_db = state.by_key.iter().filter(|(key, _)| key.db == db);
        let mut keys: Vec<_> = of_db.map(|(key, line)| (line.waiters.keys().next(), key)).collect();
        keys.sort_by(|(a, key), (b, other)| a.cmp(b).then_with(|| key.key.cmp(&other.key)));
        keys.into_iter().map(|(_, key)| key.clone()).collect()
    }

    /// Who has waited longest for a key, behind the one with this number. Where the key is gone only those count who wait for what
    /// goes with it.
    pub fn next(&self, key: &WatchedKey, behind: Option<u64>, is_gone: bool) -> Option<(u64, Arc<Waiter>)> {
        let state = self.state.lock();
        let line = state.by_key.get(key).filter(|line| !is_gone || line.ending > 0)?;
        let mut behind = line.waiters.range(behind.map_or(0, |number| number + 1)..);
        let (number, waiter) = behind.find(|(_, waiter)| !is_gone || waiter.ends_with_key())?;
        Some((*number, Arc::clone(waiter)))
    }

    pub fn of_client(&self, client: u64) -> Option<Arc<Waiter>> {
        self.state.lock().by_client.get(&client).map(|(_, waiter)| Arc::clone(waiter))
    }
}
