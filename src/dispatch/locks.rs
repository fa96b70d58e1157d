//! One striped lock table. A command's stripes are locked in ascending order, so that a command over many keys is
//! atomic and no two commands can wait for each other.
//!
//! Who has much work to do under its locks says so ([`Locks::mark`]). Whoever wants them then gives up and leaves word
//! ([`Locks::park`]) instead of a thread that waits.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::encoding::slot;
use crate::keyspace::{STRIPES, stripe_of};

/// Attempts before a lock counts as held for long by somebody else.
const SPINS: u32 = 200;
/// And after that, the longest an I/O thread sleeps for it.
const PATIENCE: Duration = Duration::from_micros(200);

/// Times that whoever may wait gives back what it has got, because a stripe behind it is held for long. After that it keeps what it
/// has while it waits: otherwise it might wait for ever where others always come first.
const ROUNDS: u32 = 32;

/// Time between two looks at whether it is worth waiting.
const LOOK: Duration = Duration::from_millis(20);

pub struct Locks {
    stripes: Vec<CachePadded<RwLock<()>>>,
    /// [`Busy`], by stripe; 0 is nobody.
    busy: Vec<AtomicU8>,
    /// Who wants stripes that somebody has for long, in the order in which they came.
    parked: Mutex<Vec<Parked>>,
}

struct Parked {
    wanted: StripeSet,
    wake: Wake,
}

/// Tells somebody that it is worth trying again.
pub type Wake = Box<dyn FnOnce() + Send>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Shared,
    Exclusive,
}

/// Whether a thread may wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Whoever has other locks and may wait for this one without them.
    None,
    /// An I/O thread: gives up soon, the command then goes to a worker.
    Short,
    /// A worker, for a client: gives up if who has the lock has it for long ([`Locks::mark`]).
    UntilBusy,
    Unlimited,
}

/// Who has a lock that others need not wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// A script that has run for too long: others are refused.
    Script = 1,
    Function = 2,
    /// Much work: others are parked.
    Working = 3,
}

/// The stripes of a command, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StripeSet([u64; STRIPES / 64]);

impl StripeSet {
    pub const ALL: StripeSet = StripeSet([u64::MAX; STRIPES / 64]);

    /// The stripe of one key.
    pub fn of(key: &[u8]) -> StripeSet {
        let mut set = StripeSet::default();
        set.insert(stripe_of(slot::of(key)));
        set
    }

    pub fn insert(&mut self, stripe: u16) {
        if let Some(word) = self.0.get_mut(usize::from(stripe / 64)) {
            *word |= 1 << (stripe % 64);
        }
    }

    pub fn contains(&self, stripe: u16) -> bool {
        self.0.get(usize::from(stripe / 64)).is_some_and(|word| word & (1 << (stripe % 64)) != 0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn meets(&self, other: &StripeSet) -> bool {
        self.0.iter().zip(other.0).any(|(word, other)| word & other != 0)
    }

    pub fn union(&self, other: &StripeSet) -> StripeSet {
        let mut both = *self;
        both.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
        both
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.iter().zip(0u16..).flat_map(|(word, i)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros() as u16;
                rest &= rest - 1;
                Some(i * 64 + bit)
            })
        })
    }
}

/// What several calls lock together. A stripe that is in both sets is held exclusively.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockSet {
    pub shared: StripeSet,
    pub exclusive: StripeSet,
}

impl LockSet {
    pub fn of(stripes: StripeSet, mode: Mode) -> LockSet {
        match mode {
            Mode::Shared => LockSet { shared: stripes, exclusive: StripeSet::default() },
            Mode::Exclusive => LockSet { shared: StripeSet::default(), exclusive: stripes },
        }
    }

    pub fn union(&self, other: &LockSet) -> LockSet {
        LockSet {
            shared: self.shared.union(&other.shared),
            exclusive: self.exclusive.union(&other.exclusive),
        }
    }

    pub fn set(&mut self, mode: Mode) -> &mut StripeSet {
        match mode {
            Mode::Shared => &mut self.shared,
            Mode::Exclusive => &mut self.exclusive,
        }
    }

    fn both(&self) -> StripeSet {
        self.shared.union(&self.exclusive)
    }

    fn mode(&self, stripe: u16) -> Mode {
        if self.exclusive.contains(stripe) { Mode::Exclusive } else { Mode::Shared }
    }
}

/// A stripe that is held.
enum Guard<'a> {
    Shared(#[allow(dead_code)] RwLockReadGuard<'a, ()>), // kept for its drop
    Exclusive(#[allow(dead_code)] RwLockWriteGuard<'a, ()>),
}

/// Held stripes, released on drop.
#[derive(Default)]
pub struct Held<'a> {
    /// Most commands have one.
    first: Option<(u16, Guard<'a>)>,
    others: Vec<(u16, Guard<'a>)>,
    /// Somebody else held one of them.
    waited: bool,
}

impl<'a> Held<'a> {
    /// Whether a stripe is held so that it can be used in this way.
    pub fn covers(&self, stripe: u16, mode: Mode) -> bool {
        self.first.iter().chain(&self.others).any(|(held, guard)| {
            *held == stripe && (mode == Mode::Shared || matches!(guard, Guard::Exclusive(_)))
        })
    }

    pub fn stripes(&self) -> impl Iterator<Item = u16> + '_ {
        self.first.iter().chain(&self.others).map(|(stripe, _)| *stripe)
    }

    #[inline]
    fn add(&mut self, stripe: u16, guard: Guard<'a>) {
        match self.first {
            None => self.first = Some((stripe, guard)),
            Some(_) => self.others.push((stripe, guard)),
        }
    }

    pub fn waited(&self) -> bool {
        self.waited
    }

    /// Releases the other stripes.
    pub fn keep_only(&mut self, stripes: &StripeSet) {
        self.first.take_if(|(stripe, _)| !stripes.contains(*stripe));
        self.others.retain(|(stripe, _)| stripes.contains(*stripe));
    }
}

impl Default for Locks {
    fn default() -> Locks {
        Locks {
            stripes: (0..STRIPES).map(|_| CachePadded::new(RwLock::new(()))).collect(),
            busy: (0..STRIPES).map(|_| AtomicU8::new(0)).collect(),
            parked: Mutex::default(),
        }
    }
}

impl Locks {
    /// Locks one stripe; None when patience ends.
    #[inline(always)]
    pub fn one(&self, stripe: u16, mode: Mode, patience: Patience) -> Option<Held<'_>> {
        let mut held = Held::default();
        self.add(&mut held, stripe, mode, patience).then_some(held)
    }

    /// Locks all stripes of the sets, ascending; None, with nothing held, when patience ends.
    ///
    /// A stripe that is held for long is waited for with nothing held: a command that locks everything behind somebody's long write
    /// must not keep those waiting who want neither's keys.
    pub fn many(&self, wanted: &LockSet, patience: Patience) -> Option<Held<'_>> {
        let mut waited = false;
        for _ in 0..ROUNDS {
            // Who may wait does so with nothing held, not for a moment either: with many who want several each, the moments add up.
            let at_once = if patience == Patience::Short { Patience::Short } else { Patience::None };
            match self.at_once(wanted, at_once) {
                Ok(mut held) => {
                    held.waited |= waited;
                    return Some(held);
                }
                Err(_) if patience == Patience::Short => return None,
                Err(stripe) => drop(self.one(stripe, wanted.mode(stripe), patience)?),
            }
            waited = true;
        }
        let mut held = Held { waited, ..Held::default() };
        let mut add = |stripe| self.add(&mut held, stripe, wanted.mode(stripe), patience);
        wanted.both().iter().all(&mut add).then_some(held)
    }

    /// As [`Locks::many`], without waiting for long: then nothing is held, and it says for which stripe.
    fn at_once(&self, wanted: &LockSet, patience: Patience) -> Result<Held<'_>, u16> {
        let mut held =
            Held { others: Vec::with_capacity(wanted.both().len().saturating_sub(1)), ..Held::default() };
        let mut add = |stripe: &u16| self.add(&mut held, *stripe, wanted.mode(*stripe), patience);
        match wanted.both().iter().find(|stripe| !add(stripe)) {
            None => Ok(held),
            Some(stripe) => Err(stripe),
        }
    }

    /// Tells those who want what is held that it will take long; None takes it back, before it is released.
    pub fn mark(&self, held: &Held<'_>, busy: Option<Busy>) {
        let mut marked = StripeSet::default();
        for stripe in held.stripes() {
            marked.insert(stripe);
            if let Some(place) = self.busy.get(usize::from(stripe)) {
                place.store(busy.map_or(0, |busy| busy as u8), Ordering::Relaxed);
            }
        }
        if busy != Some(Busy::Working) {
            self.wake(&marked);
        }
    }

    /// Who keeps one of these from others for long; who is to be refused before who is to be parked.
    pub fn busy(&self, wanted: &LockSet) -> Option<Busy> {
        let mut found = None;
        for stripe in wanted.both().iter() {
            match self.busy_at(stripe) {
                None => {}
                Some(Busy::Working) => found = Some(Busy::Working),
                refused => return refused,
            }
        }
        found
    }

    fn busy_at(&self, stripe: u16) -> Option<Busy> {
        match self.busy.get(usize::from(stripe))?.load(Ordering::Relaxed) {
            1 => Some(Busy::Script),
            2 => Some(Busy::Function),
            3 => Some(Busy::Working),
            _ => None,
        }
    }

    /// Leaves word for who wants these: `wake` is called once nobody has them for long any more, at once if that is so now.
    pub fn park(&self, wanted: &LockSet, wake: Wake) {
        let mut parked = self.parked.lock();
        // Marks are taken back before those are woken who are here, so none is missed.
        if self.busy(wanted) == Some(Busy::Working) {
            parked.push(Parked { wanted: wanted.shared.union(&wanted.exclusive), wake });
            return;
        }
        drop(parked);
        wake();
    }

    fn wake(&self, stripes: &StripeSet) {
        let mut parked = self.parked.lock();
        if parked.is_empty() {
            return;
        }
        let woken: Vec<Parked> = parked.extract_if(.., |parked| parked.wanted.meets(stripes)).collect();
        drop(parked);
        woken.into_iter().for_each(|parked| (parked.wake)());
    }

    /// Locks one more stripe, if nobody else holds it: out of order, so it may not wait.
    pub fn add_at_once<'a>(&'a self, held: &mut Held<'a>, stripe: u16, mode: Mode) -> bool {
        // What is held shared cannot be had exclusively as well.
        let is_held = held.stripes().any(|other| other == stripe);
        let Some(lock) = self.stripes.get(usize::from(stripe)).filter(|_| !is_held) else { return false };
        let guard = match mode {
            Mode::Shared => lock.try_read().map(Guard::Shared),
            Mode::Exclusive => lock.try_write().map(Guard::Exclusive),
        };
        guard.map(|guard| held.add(stripe, guard)).is_some()
    }

    #[inline(always)]
    fn add<'a>(&'a self, held: &mut Held<'a>, stripe: u16, mode: Mode, patience: Patience) -> bool {
        let Some(lock) = self.stripes.get(usize::from(stripe)) else { return false };
        let guard = match mode {
            Mode::Shared => lock.try_read().map(Guard::Shared),
            Mode::Exclusive => lock.try_write().map(Guard::Exclusive),
        };
        let guard = guard.or_else(|| {
            held.waited = true;
            wait_for(lock, mode, patience, &|| self.busy_at(stripe).is_some())
        });
        guard.map(|guard| held.add(stripe, guard)).is_some()
    }
}

/// For a lock that somebody else holds.
#[cold]
fn wait_for<'a>(
    lock: &'a RwLock<()>,
    mode: Mode,
    patience: Patience,
    is_busy: &dyn Fn() -> bool,
) -> Option<Guard<'a>> {
    let attempt = |time: Option<Duration>| match (mode, time) {
        (Mode::Shared, None) => lock.try_read().map(Guard::Shared),
        (Mode::Shared, Some(time)) => lock.try_read_for(time).map(Guard::Shared),
        (Mode::Exclusive, None) => lock.try_write().map(Guard::Exclusive),
        (Mode::Exclusive, Some(time)) => lock.try_write_for(time).map(Guard::Exclusive),
    };
    for _ in 0..SPINS {
        std::hint::spin_loop();
        if let Some(guard) = attempt(None) {
            return Some(guard);
        }
    }
    match patience {
        Patience::None => None,
        Patience::Short if is_busy() => None,
        Patience::Short => attempt(Some(PATIENCE)),
        Patience::UntilBusy => {
            while !is_busy() {
                if let Some(guard) = attempt(Some(LOOK)) {
                    return Some(guard);
                }
            }
            None
        }
        Patience::Unlimited => Some(match mode {
            Mode::Shared => Guard::Shared(lock.read()),
            Mode::Exclusive => Guard::Exclusive(lock.write()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_stripes_is_ascending() {
        let mut set = StripeSet::default();
        for stripe in [255, 0, 64, 63, 0, 128] {
            set.insert(stripe);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 128, 255]);
        assert_eq!(StripeSet::ALL.iter().count(), STRIPES);
    }

    #[test]
    fn writers_exclude_and_readers_share() {
        let locks = Locks::default();
        let first = locks.one(3, Mode::Shared, Patience::Short);
        assert!(first.is_some());
        assert!(locks.one(3, Mode::Shared, Patience::Short).is_some_and(|held| !held.waited()));
        assert!(locks.one(3, Mode::Exclusive, Patience::Short).is_none());
        assert!(locks.one(4, Mode::Exclusive, Patience::Short).is_some());
        drop(first);
        assert!(locks.many(&LockSet::of(StripeSet::ALL, Mode::Exclusive), Patience::Short).is_some());
    }

    #[test]
    fn a_stripe_that_is_read_and_written_is_held_exclusively() {
        let locks = Locks::default();
        let mut wanted = LockSet::default();
        assert!(wanted.shared.is_empty());
        [1, 200].into_iter().for_each(|stripe| wanted.set(Mode::Shared).insert(stripe));
        [200, 7].into_iter().for_each(|stripe| wanted.set(Mode::Exclusive).insert(stripe));
        assert!(!wanted.shared.is_empty());
        let _held = locks.many(&wanted, Patience::Short).expect("nobody holds any");
        let can = |stripe, mode| locks.one(stripe, mode, Patience::Short).is_some();
        assert!(can(1, Mode::Shared) && !can(1, Mode::Exclusive));
        assert!(!can(7, Mode::Shared) && !can(200, Mode::Shared));
        assert!(can(8, Mode::Exclusive));
    }

    #[test]
    fn who_wants_everything_holds_nothing_while_it_waits() {
        let locks = Locks::default();
        let everything = LockSet::of(StripeSet::ALL, Mode::Exclusive);
        let long = locks.one(200, Mode::Exclusive, Patience::Short);
        assert_eq!(locks.at_once(&everything, Patience::None).err(), Some(200));
        assert!(locks.one(3, Mode::Exclusive, Patience::Short).is_some(), "what it got first is free again");
        std::thread::scope(|scope| {
            let all = scope.spawn(|| locks.many(&everything, Patience::Unlimited).map(|held| held.waited()));
            // With stripe 3 held until stripe 200 is free, this would never end.
            (0..50).for_each(|_| drop(locks.one(3, Mode::Exclusive, Patience::Unlimited)));
            drop(long);
            assert!(all.join().expect("a thread").is_some());
        });
    }

    #[test]
    fn who_never_finds_everything_free_keeps_what_it_has() {
        let locks = Locks::default();
        let mut wanted = LockSet::default();
        [1, 2].into_iter().for_each(|stripe| wanted.set(Mode::Exclusive).insert(stripe));
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Long holders, one after the other, of one stripe or of the other.
            for stripe in [1, 2] {
                let (locks, stop) = (&locks, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let held = locks.one(stripe, Mode::Exclusive, Patience::Unlimited);
                        std::thread::sleep(2 * PATIENCE);
                        drop(held);
                    }
                });
            }
            assert!(locks.many(&wanted, Patience::Unlimited).is_some());
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn whoever_waited_knows() {
        let locks = Locks::default();
        let first = locks.one(3, Mode::Exclusive, Patience::Short);
        std::thread::scope(|scope| {
            let second =
                scope.spawn(|| locks.one(3, Mode::Shared, Patience::Unlimited).map(|held| held.waited()));
            std::thread::sleep(Duration::from_millis(50));
            drop(first);
            assert_eq!(second.join().expect("a thread"), Some(true));
        });
    }

    #[test]
    fn who_wants_what_is_held_for_long_leaves_word() {
        let locks = Locks::default();
        let woken = std::sync::Arc::new(AtomicU8::new(0));
        let wake = |bit: u8| -> Wake {
            let woken = std::sync::Arc::clone(&woken);
            Box::new(move || {
                woken.fetch_or(bit, Ordering::Relaxed);
            })
        };
        let is_woken = || woken.load(Ordering::Relaxed);
        let wants = |stripe| {
            let mut wanted = LockSet::default();
            wanted.shared.insert(stripe);
            wanted
        };
        let held = locks.one(3, Mode::Exclusive, Patience::Short).expect("nobody holds it");
        locks.park(&wants(3), wake(1));
        assert_eq!(is_woken(), 1, "it may be had soon");
        locks.mark(&held, Some(Busy::Working));
        assert!(locks.one(3, Mode::Shared, Patience::UntilBusy).is_none());
        assert_eq!((locks.busy(&wants(3)), locks.busy(&wants(4))), (Some(Busy::Working), None));
        locks.park(&wants(3), wake(2));
        locks.park(&wants(4), wake(4));
        assert_eq!(is_woken(), 5);
        locks.mark(&held, Some(Busy::Script));
        assert_eq!(is_woken(), 7, "it is to be refused");
        locks.mark(&held, Some(Busy::Working));
        locks.park(&wants(3), wake(8));
        locks.mark(&held, None);
        drop(held);
        assert_eq!(is_woken(), 15);
        assert!(locks.one(3, Mode::Shared, Patience::UntilBusy).is_some());
    }

    #[test]
    fn some_stripes_are_released_before_the_others() {
        let locks = Locks::default();
        let free = |stripe| locks.one(stripe, Mode::Exclusive, Patience::Short).is_some();
        for mode in [Mode::Shared, Mode::Exclusive] {
            let mut held = locks.many(&LockSet::of(StripeSet::ALL, mode), Patience::Short).expect("all");
            let mut kept = StripeSet::default();
            [3, 64].into_iter().for_each(|stripe| kept.insert(stripe));
            held.keep_only(&kept);
            assert_eq!((0..STRIPES as u16).filter(|stripe| !free(*stripe)).collect::<Vec<_>>(), [3, 64]);
        }
    }
}
