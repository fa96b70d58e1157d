//! The unit of execution: calls of one caller in one transaction. A plain command is a unit of one call, commands of a
//! pipeline that write few keys or only read are a unit of several. All of them are run by [`super::executor::Executor::run`].

use tarn_resp::Args as Words;

use super::args::Args;
use super::caller::Caller;
use super::locks::{LockSet, Mode, StripeSet};
use super::multi::Queued;
use super::registry::Registered;
use super::spec::{Flags, Run};
use super::watches::Watching;
use crate::encoding::slot;
use crate::error::{Error, Result};
pub use crate::error::{Park, Why};
use crate::keyspace::{Limits, Located, ReadCx, WriteCx, stripe_of};
use crate::reply::Reply;

/// A command with its words.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub command: &'static Registered,
    /// How many of the words name the command.
    pub named: usize,
    pub words: Words<'a>,
    /// Its database.
    pub db: u16,
    /// Its key, where that was looked at before.
    pub located: Located,
}

/// Calls in the order in which they run.
pub trait Calls<'a>: Iterator<Item = Call<'a>> + Clone {}

impl<'a, C: Iterator<Item = Call<'a>> + Clone> Calls<'a> for C {}

/// Whether all calls of a unit have to be in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    /// All or none.
    Yes,
    /// They only came together, and are little work: they write few keys, or only read ([`super::spec::Spec::batch`]). A call that
    /// must go elsewhere ends the unit before it.
    No,
    /// The same, and all write one key.
    OneKey,
}

/// What becomes of a blocking command that finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Whoever ran it sees to that.
    No,
    /// It waits, as the client at this place of this I/O thread ([`super::executor::Executor::parked`]).
    As { thread: usize, place: usize },
    /// It has waited for its keys, and does again.
    Woken,
}

/// One or more calls of one caller.
pub struct Unit<'u, C> {
    pub caller: Caller,
    pub calls: C,
    pub atomic: Atomic,
    pub watching: Watching,
    pub waits: Waits,
    /// The moment they all run at.
    pub now_ms: u64,
    pub limits: &'u Limits,
}

/// What became of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The replies are in the buffer; [`super::executor::Executor::steps`] says of which calls.
    Replied { wrote: bool },
    /// Nothing has happened; a worker must do it.
    Move(Why),
    /// Nothing has happened: a watched key was changed.
    Aborted,
    /// Nothing has happened: a blocking command waits for its keys.
    Park(Box<Park>),
}

/// What a call answers that found nothing and may not wait.
pub fn nil(park: &Park) -> Reply {
    if park.is_array { Reply::NilArray } else { Reply::Nil }
}

/// One of the calls has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Where its reply ends.
    pub end: usize,
    pub wrote: bool,
    /// The reply is an error.
    pub failed: bool,
}

impl<'a> Call<'a> {
    #[inline]
    pub(super) fn run(&self) -> Run {
        self.command.spec.run_of(self.words)
    }

    #[inline]
    pub fn args(&self) -> Args<'a> {
        Args::new(self.words, self.named)
    }

    #[inline]
    pub(super) fn mode(&self) -> Mode {
        match self.run() {
            Run::Write(_) => Mode::Exclusive,
            Run::Script(_) if self.command.spec.is_write() => Mode::Exclusive,
            _ => Mode::Shared,
        }
    }

    #[inline(always)]
    pub(super) fn read(&self, cx: &mut ReadCx<'_>) -> Result<Reply> {
        match self.run() {
            Run::Read(handler) => handler(cx, self.args()),
            _ => Err(Error::Damaged("a command without a handler").into()),
        }
    }

    /// In a transaction that may write.
    #[inline]
    pub(super) fn write(&self, cx: &mut WriteCx<'_>) -> Result<Reply> {
        match self.run() {
            Run::Write(handler) => handler(cx, self.args()),
            _ => cx.reading(|cx| self.read(cx)),
        }
    }

    /// Whether it takes next to no room, so that it may run on a full disk: those that Redis runs beyond its memory, but for
    /// scripts, of which nobody knows.
    pub(super) fn frees(&self) -> bool {
        !self.command.spec.flags.has(Flags::DENYOOM) && !matches!(self.run(), Run::Script(_))
    }

    /// A copy to be kept.
    pub fn to_queued(&self) -> Queued {
        let Call { command, named, words, db, located } = *self;
        let words = words.to_owned_args();
        let key = command
            .spec
            .keys
            .single_of(self.words)
            .and_then(|at| Some((self.words.get(at)?, words.view().get(at)?)));
        let located = match key {
            Some((key, copy)) if located.is(key) => located.again(copy),
            _ => Located::default(),
        };
        Queued { command, named, words, located, db, refused: None }
    }

    /// Adds what it locks.
    fn lock(&self, wanted: &mut LockSet) {
        let (spec, mode) = (self.command.spec, self.mode());
        if spec.locks_everything {
            *wanted.set(mode) = StripeSet::ALL;
            return;
        }
        // The only one it has.
        if self.located.is_known() {
            wanted.set(mode).insert(stripe_of(self.located.slot));
            return;
        }
        for (at, _) in spec.keys.positions(self.words) {
            let key = self.words.get(at).unwrap_or(&[]);
            wanted.set(mode).insert(stripe_of(slot::of(key)));
        }
    }
}

impl<C> Unit<'_, C> {
    /// The database of its first call.
    #[inline]
    pub(super) fn first_db<'a>(&self) -> u16
    where
        C: Calls<'a>,
    {
        self.calls.clone().next().map_or(self.caller.db, |call| call.db)
    }

    /// The only call, if there is one.
    #[inline]
    pub(super) fn single<'a>(&self) -> Option<Call<'a>>
    where
        C: Calls<'a>,
    {
        if matches!(self.watching, Watching::Check(_)) {
            return None;
        }
        let mut calls = self.calls.clone();
        let first = calls.next()?;
        calls.next().is_none().then_some(first)
    }

    /// Whether a call of it is a script.
    pub(super) fn has_script<'a>(&self) -> bool
    where
        C: Calls<'a>,
    {
        self.calls.clone().any(|call| matches!(call.command.spec.run, Run::Script(_)))
    }

    /// Whether a call of it always goes to a worker.
    #[inline]
    pub(super) fn is_long<'a>(&self) -> bool
    where
        C: Calls<'a>,
    {
        self.calls.clone().any(|call| call.command.spec.long)
    }

    /// What all its calls lock, and whether any of them writes.
    pub(super) fn locks<'a>(&self) -> (LockSet, bool)
    where
        C: Calls<'a>,
    {
        let (mut wanted, mut writes) = (LockSet::default(), false);
        if let Watching::Check(watch) = &self.watching {
            for (watched, _) in watch.keys() {
                wanted.set(Mode::Shared).insert(stripe_of(slot::of(&watched.key)));
            }
        }
        for call in self.calls.clone() {
            call.lock(&mut wanted);
            writes |= matches!(call.run(), Run::Write(_) | Run::Script(_));
        }
        (wanted, writes)
    }
}

#[cfg(test)]
mod tests {
    use tarn_engine::AnyEngine;
    use tarn_engine::memory::{Call as EngineCall, Fault, Faults};
    use tarn_resp::OwnedArgs;
    use tarn_resp::decode;

    use super::Atomic;
    use crate::dispatch::registry::registry;
    use crate::dispatch::spec::Batch;
    use crate::dispatch::transaction::{MAX_BATCH_CHANGES, MAX_BATCH_REPLY_BYTES};
    use crate::pubsub::{Item, Queue};
    use crate::testkit::Kit;

    /// The replies, parted by ` | `; None where a worker has to do it.
    fn batch(kit: &mut Kit, line: &str) -> Option<String> {
        unit(kit, line, Atomic::No)
    }

    fn unit(kit: &mut Kit, line: &str, atomic: Atomic) -> Option<String> {
        let commands: Vec<OwnedArgs> =
            line.split(" | ").map(|command| command.split(' ').collect()).collect();
        let bytes = kit.unit(&commands, atomic)?;
        let (replies, used) = decode::all(&bytes).unwrap();
        assert_eq!(used, bytes.len());
        Some(replies.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "))
    }

    fn fail_next_commit(kit: &Kit, fault: Fault) {
        let AnyEngine::Memory(engine) = &kit.node.engine else { panic!("the engine in memory") };
        engine.set_faults(Faults::none().then(EngineCall::Commit, 0, fault));
    }

    fn writes(kit: &Kit) -> u64 {
        kit.executor.counters.writes.get()
    }

    #[test]
    fn each_sees_what_those_before_it_did() {
        let mut kit = Kit::new();
        for (line, replies) in [
            (
                "RPUSH l a b | LPUSH l c | RPOP l | LPOP l | LPOP l | LPOP l",
                ":2 | :3 | \"b\" | \"c\" | \"a\" | nil",
            ),
            ("RPUSH l a | RPOP l | RPUSH l b c", ":1 | \"a\" | :2"),
            ("HSET h f 1 | HINCRBY h f 2 | HDEL h f | HSETNX h f 3 | HSET h g 4", ":1 | :3 | :1 | :1 | :1"),
            ("SADD s a b | SADD s a | SREM s b c | SADD s b", ":2 | :0 | :1 | :1"),
            ("ZADD z 1 a | ZINCRBY z 2 a | ZADD z XX GT 1 a | ZREM z a b", ":1 | \"3\" | :0 | :1"),
            ("INCR n | INCRBY n 5 | DECR n", ":1 | :6 | :5"),
            ("EXPIRE n 100 | PERSIST n | PERSIST n", ":1 | :1 | :0"),
            (
                "SET a 1 | INCR b | SET a 2 | INCR a | HSET k f v | APPEND b 0",
                "+OK | :1 | +OK | :3 | :1 | :2",
            ),
        ] {
            assert_eq!(batch(&mut kit, line).as_deref(), Some(replies), "{line}");
        }
        assert_eq!(
            kit.run("LRANGE l 0 -1 | HGETALL h | SMEMBERS s | EXISTS z | GET n"),
            "[\"b\" \"c\"] | [\"f\" \"3\" \"g\" \"4\"] | [\"a\" \"b\"] | :0 | \"5\""
        );
    }

    #[test]
    fn those_that_write_are_counted() {
        let mut kit = Kit::new();
        let before = writes(&kit);
        assert_eq!(batch(&mut kit, "SADD s a | SADD s a | SADD s b").as_deref(), Some(":1 | :0 | :1"));
        assert_eq!(writes(&kit), before + 2);
        assert_eq!(batch(&mut kit, "SREM s x | SREM s y").as_deref(), Some(":0 | :0"));
        assert_eq!(writes(&kit), before + 2);
    }

    #[test]
    fn a_refused_call_leaves_nothing_and_the_others_stand() {
        let mut kit = Kit::new();
        kit.run("SET text x | SADD s a b c");
        for (line, replies) in [
            ("LPUSH text a | INCR text | APPEND text y", "-WRONGTYPE | -ERR | :2"),
            ("INCR n | INCRBY n x | INCR n", ":1 | -ERR | :2"),
            ("SADD s d | HSET s f v | SADD s e", ":1 | -WRONGTYPE | :1"),
            ("RPUSH l a b | LINSERT l BEFORE b x | LSET l 9 z | LPOP l", ":2 | :3 | -ERR | \"a\""),
            ("SET other 1 | LPUSH text a | INCR other | SADD l x", "+OK | -WRONGTYPE | :2 | -WRONGTYPE"),
        ] {
            let found = batch(&mut kit, line).unwrap();
            let short: Vec<&str> = found
                .split(" | ")
                .map(|reply| if reply.starts_with('-') { reply.split(' ').next().unwrap() } else { reply })
                .collect();
            assert_eq!(short.join(" | "), replies, "{line}");
        }
        assert_eq!(
            kit.run("GET text | SCARD s | GET n | LRANGE l 0 -1 | GET other"),
            "\"xy\" | :5 | \"2\" | [\"x\" \"b\"] | \"2\""
        );
        assert_eq!(kit.run("INFO errorstats").matches("errorstat_WRONGTYPE:count=4").count(), 1);
    }

    #[test]
    fn where_there_is_no_room_for_all_each_is_tried_by_itself() {
        let mut kit = Kit::new();
        kit.run("RPUSH l a b");
        fail_next_commit(&kit, Fault::Full);
        assert_eq!(batch(&mut kit, "LPOP l | SET a 1"), None);
        assert_eq!(kit.run("LRANGE l 0 -1 | EXISTS a"), "[\"a\" \"b\"] | :0");
        // What is one unit by the client's will is refused as one.
        fail_next_commit(&kit, Fault::Full);
        let replies = unit(&mut kit, "LPOP l | SET a 1", Atomic::Yes).unwrap();
        assert!(replies.split(" | ").all(|reply| reply.starts_with('-')), "{replies}");
        assert_eq!(kit.run("LRANGE l 0 -1 | EXISTS a"), "[\"a\" \"b\"] | :0");
    }

    #[test]
    fn scans_ranks_and_picks_see_what_was_put() {
        let mut kit = Kit::new();
        for (line, replies) in [
            ("SADD s a | SPOP s | SCARD s", ":1 | \"a\" | :0"),
            ("SADD s a b | SREM s a | SRANDMEMBER s | SMEMBERS s", ":2 | :1 | \"b\" | [\"b\"]"),
            (
                "ZADD z 1 a 2 b 3 c | ZPOPMIN z | ZRANK z c | ZRANGE z 0 -1",
                ":3 | [\"a\" \"1\"] | :1 | [\"b\" \"c\"]",
            ),
            ("HSET h f 1 | HGETALL h | HDEL h f | EXISTS h", ":1 | [\"f\" \"1\"] | :1 | :0"),
            ("RPUSH l a b c | LREM l 1 b | LRANGE l 0 -1", ":3 | :1 | [\"a\" \"c\"]"),
            (
                "SET a 1 | COPY a b | GET b | RENAME b c | MGET a b c",
                "+OK | :1 | \"1\" | +OK | [\"1\" nil \"1\"]",
            ),
            ("SADD x 1 2 | SADD y 2 3 | SINTERSTORE d x y | SMEMBERS d", ":2 | :2 | :1 | [\"2\"]"),
        ] {
            assert_eq!(unit(&mut kit, line, Atomic::Yes).as_deref(), Some(replies), "{line}");
        }
    }

    #[test]
    fn an_atomic_unit_is_all_or_nothing_and_others_end_before_what_must_move() {
        let mut kit = Kit::new();
        let many: String = (0..2_000).map(|n| format!(" m{n}")).collect();
        let line = format!("SADD s x | SADD s{many}");
        assert_eq!(unit(&mut kit, &line, Atomic::Yes), None);
        assert_eq!(kit.run("EXISTS s"), ":0");
        assert_eq!(batch(&mut kit, &line).as_deref(), Some(":1"));
        assert_eq!(kit.run("SMEMBERS s"), "[\"x\"]");
        // A conflict runs it again, and nobody hears of it.
        fail_next_commit(&kit, Fault::Conflict);
        assert_eq!(unit(&mut kit, "INCR n | INCR n", Atomic::Yes).as_deref(), Some(":1 | :2"));
    }

    #[test]
    fn no_transaction_is_long() {
        let mut kit = Kit::new();
        let members: Vec<String> = (0..MAX_BATCH_CHANGES - 100).map(|member| member.to_string()).collect();
        let many = |key: &str| {
            format!("SADD s {}", members.iter().map(|m| format!("{key}{m} ")).collect::<String>())
        };
        let line = format!("{}| {}| SADD s x", many("a"), many("b"));
        let count = members.len();
        assert_eq!(batch(&mut kit, &line).as_deref(), Some(&*format!(":{count} | :{count}")));
        assert_eq!(kit.run("SCARD s"), format!(":{}", 2 * count));
    }

    #[test]
    fn where_the_outcome_is_unknown_nothing_runs_again() {
        for (fault, left) in [(Fault::UnknownApplied, "\"2\""), (Fault::UnknownLost, "nil")] {
            let mut kit = Kit::new();
            fail_next_commit(&kit, fault);
            let replies = batch(&mut kit, "INCR n | INCR n").unwrap();
            assert_eq!(replies.matches("UNKNOWNOUTCOME").count(), 2, "{replies}");
            assert_eq!(kit.run("GET n"), left);
            assert_eq!(kit.run("INFO errorstats").matches("errorstat_UNKNOWNOUTCOME:count=2").count(), 1);
        }
    }

    #[test]
    fn what_storage_fails_to_read_fails_all_calls_of_a_transaction() {
        let mut kit = Kit::new();
        kit.run("SET a 1 | SET b 2");
        let down = "-CLUSTERDOWN the storage is unavailable: injected";
        for (atomic, replies) in [(Atomic::Yes, [down, down]), (Atomic::No, ["\"1\"", down])] {
            let AnyEngine::Memory(engine) = &kit.node.engine else { panic!("the engine in memory") };
            engine.set_faults(Faults::none().then(EngineCall::Read, 1, Fault::Unavailable));
            assert_eq!(unit(&mut kit, "GET a | GET b", atomic), Some(replies.join(" | ")));
        }
    }

    #[test]
    fn events_of_all_calls_are_told_with_the_one_commit() {
        let mut kit = Kit::with(&[("notify-keyspace-events", "KEA")]);
        kit.run("SUBSCRIBE __keyevent@0__:incrby");
        let replies = batch(&mut kit, "INCR n | INCRBY n x | INCR n");
        assert_eq!(replies.as_deref(), Some(":1 | -ERR value is not an integer or out of range | :2"));
        let mut queue = Queue::default();
        kit.node.pubsub.take(0, &mut queue);
        let items = queue.take_items();
        let [Item::Run(run)] = &items[..] else { panic!("one commit: {}", items.len()) };
        assert_eq!(queue.messages(run).count(), 2, "the refused one has done nothing");
    }

    #[test]
    fn what_runs_again_because_another_was_refused_is_told_once() {
        for atomic in [Atomic::Yes, Atomic::No] {
            let mut kit = Kit::with(&[("notify-keyspace-events", "KEAm")]);
            kit.run("SET text x | PSUBSCRIBE __keyevent*");
            let replies = unit(&mut kit, "SET new 1 GET | INCR text | SET new 2", atomic).unwrap();
            assert_eq!(replies, "nil | -ERR value is not an integer or out of range | +OK");
            let mut queue = Queue::default();
            kit.node.pubsub.take(0, &mut queue);
            let mut out = Vec::new();
            for item in queue.take_items() {
                let Item::Run(run) = &item else { panic!("events") };
                queue.messages(run).write(tarn_resp::Protocol::Resp2, &mut out);
            }
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.matches("keyevent@0__:keymiss").count(), 1, "{text}");
            assert_eq!(text.matches("keyevent@0__:set").count(), 2, "{text}");
        }
    }

    #[test]
    fn each_call_has_its_own_events_in_its_own_order() {
        let mut kit = Kit::with(&[("notify-keyspace-events", "KEA")]);
        kit.run("PSUBSCRIBE __keyspace*");
        batch(&mut kit, "RPUSH l a | LPOP l | RPUSH l b");
        let mut queue = Queue::default();
        kit.node.pubsub.take(0, &mut queue);
        let items = queue.take_items();
        let [Item::Run(run)] = &items[..] else { panic!("one commit: {}", items.len()) };
        let mut out = Vec::new();
        queue.messages(run).write(tarn_resp::Protocol::Resp2, &mut out);
        let events: Vec<String> = decode::all(&out)
            .unwrap()
            .0
            .iter()
            .map(|message| message.to_string().split('"').rev().nth(1).unwrap_or_default().to_owned())
            .collect();
        assert_eq!(events, ["rpush", "lpop", "del", "rpush"]);
    }

    #[test]
    fn only_little_work_on_single_keys_batches() {
        let batch = |name: &str| registry().find(name.as_bytes()).unwrap().batch;
        for name in [
            "set", "lpush", "rpop", "hset", "hdel", "sadd", "spop", "zadd", "incr", "expire", "pfadd",
            "pfcount",
        ] {
            assert_eq!(batch(name), Batch::Writes, "{name}");
        }
        for name in ["get", "hget", "sismember", "zscore", "ttl", "llen", "type"] {
            assert_eq!(batch(name), Batch::Reads, "{name}");
        }
        let never = [
            "del",
            "zpopmin",
            "lrem",
            "sinterstore",
            "flushall",
            "smove",
            "ping",
            "sort",
            "lrange",
            "mget",
            "xread",
        ];
        for name in never {
            assert_eq!(batch(name), Batch::None, "{name}");
        }
    }

    #[test]
    fn reads_of_several_keys_are_one_unit_and_end_before_what_must_move() {
        let mut kit = Kit::new();
        kit.run("SET a 1 | HSET h f 2 | SADD s x");
        assert_eq!(
            batch(&mut kit, "GET a | HGET h f | GET nosuch | GET h | SISMEMBER s x | STRLEN a").as_deref(),
            Some(
                "\"1\" | \"2\" | nil | -WRONGTYPE Operation against a key holding the wrong kind of value | :1 | :1"
            )
        );
        let AnyEngine::Memory(engine) = &kit.node.engine else { panic!("the engine in memory") };
        engine.set_faults(Faults::none().then(EngineCall::Read, 2, Fault::NotResident));
        assert_eq!(batch(&mut kit, "GET a | STRLEN a | GET a | GET a").as_deref(), Some("\"1\" | :1"));
        let AnyEngine::Memory(engine) = &kit.node.engine else { panic!("the engine in memory") };
        engine.set_faults(Faults::none().then(EngineCall::Read, 0, Fault::NotResident));
        assert_eq!(batch(&mut kit, "GET a | STRLEN a"), None, "the first one itself");
    }

    #[test]
    fn no_batch_has_long_replies() {
        let mut kit = Kit::new();
        let replies = |kit: &mut Kit| batch(kit, "STRLEN a | GET a | GET a | GET a").unwrap();
        kit.run(&format!("SET a {}", "x".repeat(MAX_BATCH_REPLY_BYTES / 2)));
        assert_eq!(replies(&mut kit).matches(" | ").count(), 2);
        kit.run(&format!("SET a {}", "x".repeat(MAX_BATCH_REPLY_BYTES / 4)));
        assert_eq!(replies(&mut kit).matches(" | ").count(), 3);
    }
}
