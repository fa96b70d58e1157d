//! Commands of a pipeline that stay with one key: one lock, one transaction and one commit serve them all. Each of them reads what
//! those before it have put; nobody else sees any of it before the commit.
//!
//! Handlers are pure until then. So whatever is out of the ordinary (a refusal, a row that is on the disk, a lock that is
//! held, a conflict) is not dealt with here: nothing has happened, and each command runs on its own.

use tarn_engine::{Error as EngineError, Wait, Write as _};

use super::args::Args;
use super::execute::{Call, Lane, conclude, lock, write_error};
use super::locks::{Mode, Patience};
use super::spec::Run;
use crate::error::Error;
use crate::keyspace::{Place, View as _, WriteCx, draws};

/// Rows put and deleted from which on no further command joins: a lock is not held for long.
const MOST_CHANGES: usize = 512;

/// One of the commands has run: where its reply ends, and whether it wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub end: usize,
    pub wrote: bool,
}

/// What became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Together {
    /// Their replies are in the buffer.
    Replied { wrote: bool },
    /// Nothing has happened.
    Apart,
}

impl Lane {
    /// Runs commands that write one key, on an I/O thread: as many of them as there are steps afterwards.
    pub fn run_together<'c>(
        &mut self,
        first: &Call<'c>,
        calls: impl Iterator<Item = Call<'c>> + Clone,
        out: &mut Vec<u8>,
        steps: &mut Vec<Step>,
    ) -> Together {
        let begin = out.len();
        steps.clear();
        let committed = self.commit_together(first, calls.clone(), out, steps);
        self.rest();
        match committed {
            Some(Ok(wrote)) => {
                let settled = self.settle(Patience::Short, Wait::Never);
                Together::Replied { wrote: wrote || settled }
            }
            None | Some(Err(EngineError::Conflict)) => {
                out.truncate(begin);
                Together::Apart
            }
            // It may have been committed all the same, so that nothing may run again.
            Some(Err(error)) => {
                out.truncate(begin);
                let error = Error::from(error);
                let ran = std::mem::take(steps).len();
                for call in calls.take(ran) {
                    if let Some(counters) = self.counters.command(call.command.id) {
                        counters.failed.add(1);
                    }
                    write_error(&self.node, &self.counters, &error, out);
                    steps.push(Step { end: out.len(), wrote: false });
                }
                Together::Replied { wrote: false }
            }
        }
    }

    /// Whether anything was written; None where nothing was committed because one of them is out of the ordinary.
    fn commit_together<'c>(
        &mut self,
        first: &Call<'c>,
        calls: impl Iterator<Item = Call<'c>>,
        out: &mut Vec<u8>,
        steps: &mut Vec<Step>,
    ) -> Option<tarn_engine::Result<bool>> {
        let Lane { node, counters, arena, random, notes, crowding } = self;
        notes.clear();
        let (held, located) = lock(node, first, Mode::Exclusive, Patience::Short)?;
        let env = node.env(first, Place::IoThread, *random, located)?;
        if !env.events.is_empty() {
            return None;
        }
        arena.clear();
        let txn = node.engine.begin_write(Wait::Never);
        let mut cx = WriteCx::new(env, txn, Some(&node.engine), None, arena);
        let (mut writes, mut changes) = (0, 0);
        for call in calls {
            let Run::Write(handler) = call.command.spec.run else { return None };
            *random = draws(*random).next().unwrap_or_default();
            cx.next(if steps.is_empty() { located } else { call.located }, *random, !steps.is_empty());
            let reply = handler(&mut cx, Args::new(call.words, call.named)).ok()?;
            reply.write_out(call.protocol, cx.arena(), out);
            let wrote = cx.changes() > changes;
            changes = cx.changes();
            writes += u64::from(wrote);
            steps.push(Step { end: out.len(), wrote });
            if changes >= MOST_CHANGES {
                break;
            }
        }
        let (txn, effects, tally) = cx.finish();
        if changes > 0
            && let Err(error) = txn.commit()
        {
            return Some(Err(error));
        }
        conclude(node, counters, env.db, (effects, tally), notes);
        counters.writes.add(writes);
        crowding.locked += 1;
        crowding.waited += u64::from(held.waited());
        Some(Ok(changes > 0))
    }
}

#[cfg(test)]
mod tests {
    use tarn_engine::AnyEngine;
    use tarn_engine::memory::{Call, Fault, Faults};
    use tarn_resp::OwnedArgs;
    use tarn_resp::decode;

    use super::MOST_CHANGES;
    use crate::dispatch::registry::registry;
    use crate::testkit::Kit;

    /// The replies, parted by ` | `; None where they have to run apart.
    fn together(kit: &mut Kit, line: &str) -> Option<String> {
        let commands: Vec<OwnedArgs> =
            line.split(" | ").map(|command| command.split(' ').collect()).collect();
        let bytes = kit.together(&commands)?;
        let (replies, used) = decode::all(&bytes).unwrap();
        assert_eq!(used, bytes.len());
        Some(replies.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "))
    }

    fn fail_next_commit(kit: &Kit, fault: Fault) {
        let AnyEngine::Memory(engine) = &kit.node.engine else { panic!("the engine in memory") };
        engine.set_faults(Faults::none().then(Call::Commit, 0, fault));
    }

    fn writes(kit: &Kit) -> u64 {
        kit.lane.counters.writes.get()
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
        ] {
            assert_eq!(together(&mut kit, line).as_deref(), Some(replies), "{line}");
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
        assert_eq!(together(&mut kit, "SADD s a | SADD s a | SADD s b").as_deref(), Some(":1 | :0 | :1"));
        assert_eq!(writes(&kit), before + 2);
        assert_eq!(together(&mut kit, "SREM s x | SREM s y").as_deref(), Some(":0 | :0"));
        assert_eq!(writes(&kit), before + 2);
    }

    #[test]
    fn what_is_out_of_the_ordinary_changes_nothing() {
        let mut kit = Kit::new();
        kit.run("SET text x | SADD s a b c");
        for line in [
            // A refusal, at once and behind something.
            "LPUSH text a | LPUSH text b",
            "INCR n | INCRBY n x",
            "SADD s d | HSET s f v",
            // Rows in order behind rows that are put: a random pick of the memory engine goes by rank.
            "SADD s d | SPOP s",
        ] {
            assert_eq!(together(&mut kit, line), None, "{line}");
        }
        assert_eq!(kit.run("GET text | SCARD s | EXISTS n"), "\"x\" | :3 | :0");
        fail_next_commit(&kit, Fault::Conflict);
        assert_eq!(together(&mut kit, "INCR n | INCR n"), None);
        assert_eq!(kit.run("EXISTS n"), ":0");
    }

    #[test]
    fn no_transaction_is_long() {
        let mut kit = Kit::new();
        let members: Vec<String> = (0..MOST_CHANGES - 100).map(|member| member.to_string()).collect();
        let many = |key: &str| {
            format!("SADD s {}", members.iter().map(|m| format!("{key}{m} ")).collect::<String>())
        };
        let line = format!("{}| {}| SADD s x", many("a"), many("b"));
        let count = members.len();
        assert_eq!(together(&mut kit, &line).as_deref(), Some(&*format!(":{count} | :{count}")));
        assert_eq!(kit.run("SCARD s"), format!(":{}", 2 * count));
    }

    #[test]
    fn where_the_outcome_is_unknown_nothing_runs_again() {
        for (fault, left) in [(Fault::UnknownApplied, "\"2\""), (Fault::UnknownLost, "nil")] {
            let mut kit = Kit::new();
            fail_next_commit(&kit, fault);
            let replies = together(&mut kit, "INCR n | INCR n").unwrap();
            assert_eq!(replies.matches("UNKNOWNOUTCOME").count(), 2, "{replies}");
            assert_eq!(kit.run("GET n"), left);
            assert_eq!(kit.run("INFO errorstats").matches("errorstat_UNKNOWNOUTCOME:count=2").count(), 1);
        }
    }

    #[test]
    fn where_somebody_listens_each_is_told_of_on_its_own() {
        let mut kit = Kit::with(&[("notify-keyspace-events", "KEA")]);
        assert!(together(&mut kit, "INCR n | INCR n").is_some());
        kit.run("SUBSCRIBE __keyevent@0__:incrby");
        assert_eq!(together(&mut kit, "INCR n | INCR n"), None);
    }

    #[test]
    fn only_little_work_on_one_key_joins() {
        let joins = |name: &str| registry().find(name.as_bytes()).unwrap().joins;
        for name in ["lpush", "rpop", "hset", "hdel", "sadd", "spop", "zadd", "incr", "expire"] {
            assert!(joins(name), "{name}");
        }
        for name in ["get", "del", "zpopmin", "lrem", "sinterstore", "flushall", "smove", "ping", "sort"] {
            assert!(!joins(name), "{name}");
        }
    }
}
