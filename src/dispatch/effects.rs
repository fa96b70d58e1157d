//! Carrying out the effects of commits, in the order of the commits.
//!
//! Whoever commits something that subscribers hear of says so before ([`Backlog::begin`]) and hands the effects in after
//! it ([`Backlog::end`]). No lock is held across the commit. Effects wait only for those of earlier commits that are
//! under way on other threads: a commit that began after another one was handed in has a later position, so that what
//! is handed in may be told as soon as everybody who began before has handed in as well. Where nobody listens there are
//! no such effects, and nobody comes here.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use parking_lot::Mutex;
use smallvec::SmallVec;
use tarn_engine::Position;

use crate::config::Events;
use crate::keyspace::{Effect, Note};
use crate::node::Node;
use crate::pubsub::Kind;

/// Effects that need no commit.
const AT_ONCE: Position = Position(0);

#[derive(Debug, Default)]
pub struct Backlog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of the next commit that begins.
    next: u64,
    /// Commits that have begun and are not handed in.
    under_way: SmallVec<[u64; 8]>,
    waiting: BinaryHeap<Reverse<Entry>>,
    /// Behind everything that waits.
    last: Position,
}

/// What a commit has to tell.
#[derive(Debug)]
struct Entry {
    position: Position,
    /// Tells apart what has no position of its own.
    order: u64,
    /// Whoever began later has a later position.
    began_before: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Effects(Events, Vec<Effect>),
    Message(Kind, Box<[u8]>, Box<[u8]>),
}

impl Entry {
    fn place(&self) -> (Position, u64) {
        (self.position, self.order)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// A commit that is under way.
#[derive(Debug)]
#[must_use]
pub struct Begun(u64);

impl State {
    fn push(&mut self, position: Position, what: What) {
        let order = self.next;
        self.next += 1;
        self.last = self.last.max(position);
        self.waiting.push(Reverse(Entry { position, order, began_before: order, what }));
    }

    /// The next one whose turn it is.
    fn pop(&mut self) -> Option<Entry> {
        let Reverse(first) = self.waiting.peek()?;
        if self.under_way.iter().any(|begun| *begun < first.began_before) {
            return None;
        }
        self.waiting.pop().map(|Reverse(entry)| entry)
    }
}

impl Backlog {
    /// A commit begins that has something to tell.
    pub fn begin(&self) -> Begun {
        let mut state = self.0.lock();
        let number = state.next;
        state.next += 1;
        state.under_way.push(number);
        Begun(number)
    }

    /// The commit has been made at a position, or has failed; `tell` is called for whatever has its turn now.
    fn end(&self, begun: Begun, made: Option<(Position, What)>, tell: &mut dyn FnMut(Entry)) {
        let mut state = self.0.lock();
        state.under_way.retain(|number| *number != begun.0);
        if let Some((position, what)) = made {
            state.push(position, what);
        }
        // Under the lock, so that nobody overtakes.
        while let Some(entry) = state.pop() {
            tell(entry);
        }
    }

    /// Behind everything that waits; at once where nothing does.
    fn follow(&self, what: What, tell: impl FnOnce(What)) {
        let mut state = self.0.lock();
        match state.waiting.is_empty() {
            true => tell(what),
            false => {
                let position = state.last;
                state.push(position, what);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.0.lock().waiting.is_empty()
    }
}

impl Node {
    /// Makes a commit, and tells subscribers of its effects when it is their turn. What need not be told is handed back.
    pub(super) fn commit_and_tell(
        &self,
        events: Events,
        effects: Vec<Effect>,
        commit: impl FnOnce() -> tarn_engine::Result<Position>,
    ) -> tarn_engine::Result<Vec<Effect>> {
        let (told, others): (Vec<Effect>, Vec<Effect>) =
            effects.into_iter().partition(|effect| matches!(effect, Effect::Tell(_)));
        let begun = self.backlog.begin();
        let committed = commit();
        let made = committed.as_ref().ok().map(|position| (*position, What::Effects(events, told)));
        self.backlog.end(begun, made, &mut |entry| self.tell(entry.position, entry.what));
        committed.map(|_| others)
    }

    /// Tells what needs no commit.
    pub(super) fn tell_without_commit(&self, events: Events, effects: Vec<Effect>) {
        self.backlog.follow(What::Effects(events, effects), |what| self.tell(AT_ONCE, what));
    }

    /// PUBLISH: how many subscriptions it reaches.
    pub fn publish(&self, kind: Kind, channel: &[u8], message: &[u8]) -> usize {
        // Whatever this publisher's commits had to tell is told already, or waits.
        if self.backlog.is_empty() {
            return self.hand_out(kind, channel, message, AT_ONCE);
        }
        let message = What::Message(kind, channel.into(), message.into());
        self.backlog.follow(message, |what| self.tell(AT_ONCE, what));
        self.pubsub.reach(kind, channel)
    }

    /// To subscribers here and on other nodes. Those here are counted.
    fn hand_out(&self, kind: Kind, channel: &[u8], message: &[u8], at: Position) -> usize {
        self.nodes.publish(kind, channel, message);
        self.pubsub.publish(kind, channel, message, at)
    }

    fn tell(&self, at: Position, what: What) {
        match what {
            What::Message(kind, channel, message) => {
                self.hand_out(kind, &channel, &message, at);
            }
            What::Effects(events, effects) => {
                for effect in effects {
                    if let Effect::Tell(note) = effect {
                        let shard = matches!(note, Note::Message { shard: true, .. });
                        let kind = if shard { Kind::Shard } else { Kind::Channel };
                        note.each_message(events, &mut |channel, message| {
                            self.hand_out(kind, channel, message, at);
                        });
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyspace::{Event, Note};
    use crate::pubsub::{Item, Queue};
    use crate::testkit::Kit;

    fn what(name: &[u8]) -> What {
        let note = Note::Message { shard: false, channel: name.into(), message: b""[..].into() };
        What::Effects(Events::default(), vec![Effect::Tell(note)])
    }

    fn name(entry: &Entry) -> String {
        let channel = match &entry.what {
            What::Message(_, channel, _) => channel,
            What::Effects(_, effects) => match effects.first() {
                Some(Effect::Tell(Note::Message { channel, .. })) => channel,
                other => panic!("{other:?}"),
            },
        };
        channel.escape_ascii().to_string()
    }

    fn end(backlog: &Backlog, begun: Begun, made: Option<(u64, &[u8])>) -> Vec<String> {
        let mut told = Vec::new();
        let made = made.map(|(position, name)| (Position(position), what(name)));
        backlog.end(begun, made, &mut |entry| told.push(name(&entry)));
        told
    }

    #[test]
    fn a_later_commit_waits_for_an_earlier_one_that_is_under_way() {
        let backlog = Backlog::default();
        let (first, second) = (backlog.begin(), backlog.begin());
        assert_eq!(end(&backlog, second, Some((6, b"b"))), [""; 0]);
        assert_eq!(end(&backlog, first, Some((5, b"a"))), ["a", "b"]);
        let (third, fourth) = (backlog.begin(), backlog.begin());
        assert_eq!(end(&backlog, third, Some((7, b"c"))), [""; 0]);
        // Began when the other one was handed in: it cannot be earlier.
        let fifth = backlog.begin();
        assert_eq!(end(&backlog, fourth, None), ["c"]);
        assert_eq!(end(&backlog, fifth, Some((8, b"d"))), ["d"]);
    }

    #[test]
    fn one_that_fails_holds_up_nobody() {
        let backlog = Backlog::default();
        let (first, second) = (backlog.begin(), backlog.begin());
        assert_eq!(end(&backlog, second, Some((6, b"b"))), [""; 0]);
        assert_eq!(end(&backlog, first, None), ["b"]);
    }

    #[test]
    fn a_message_does_not_overtake_what_waits() {
        let backlog = Backlog::default();
        let (first, second) = (backlog.begin(), backlog.begin());
        let follow = |name: &[u8]| {
            let mut is_told = false;
            backlog.follow(what(name), |_| is_told = true);
            is_told
        };
        assert!(backlog.is_empty() && follow(b"at once"));
        assert_eq!(end(&backlog, second, Some((6, b"b"))), [""; 0]);
        assert!(!backlog.is_empty() && !follow(b"m") && !follow(b"n"));
        assert_eq!(end(&backlog, first, Some((5, b"a"))), ["a", "b", "m", "n"]);
        assert!(follow(b"at once"));
    }

    #[test]
    fn events_are_told_with_their_commits_or_not_at_all() {
        let mut kit = Kit::with(&[("notify-keyspace-events", "Eg$")]);
        kit.run("PSUBSCRIBE *");
        let effects = || {
            let key = Note::Key { event: Event::SET, db: 0, key: b"k"[..].into(), fields: Vec::new() };
            let message = Note::Message { shard: false, channel: b"c"[..].into(), message: b"m"[..].into() };
            let renumbered = Effect::Renumber(crate::keyspace::Db { logical: 1, physical: 2 });
            vec![Effect::Tell(key), renumbered, Effect::Tell(message)]
        };
        let events = kit.node.pubsub.to_note();
        let failed = kit.node.commit_and_tell(events, effects(), || Err(tarn_engine::Error::Conflict));
        assert!(matches!(failed, Err(tarn_engine::Error::Conflict)));
        assert!(!kit.node.pubsub.has_some(0));
        let left = kit.node.commit_and_tell(events, effects(), || Ok(Position(7))).unwrap();
        assert!(matches!(left[..], [Effect::Renumber(_)]));
        let mut queue = Queue::default();
        kit.node.pubsub.take(0, &mut queue);
        let items = queue.take_items();
        let [Item::Run(run)] = &items[..] else { panic!("one run for one pattern: {}", items.len()) };
        assert_eq!(run.at, Position(7));
        let mut out = Vec::new();
        queue.messages(run).write(tarn_resp::Protocol::Resp2, &mut out);
        let shown = out.escape_ascii().to_string();
        assert!(shown.contains(r"__keyevent@0__:set\r\n$1\r\nk\r\n"), "{shown}");
        assert!(shown.ends_with(r"$1\r\nc\r\n$1\r\nm\r\n"), "{shown}");
    }

    #[test]
    fn threads_tell_in_the_order_of_positions() {
        let backlog = Backlog::default();
        let positions = std::sync::atomic::AtomicU64::new(1);
        let told = Mutex::new(Vec::new());
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..2_000 {
                        let begun = backlog.begin();
                        let position = positions.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        let made = (Position(position), what(b"x"));
                        backlog.end(begun, Some(made), &mut |entry| told.lock().push(entry.position.0));
                    }
                });
            }
        });
        assert_eq!(told.into_inner(), (1..=8_000).collect::<Vec<u64>>());
    }
}
