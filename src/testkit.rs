//! For unit tests of handlers: a node over the in-memory engine, a client, and commands as lines of text.
//!
//! `kit.run("SET a 1 | GET a")` plays the commands through gate, locks, transaction and commit, as an I/O thread and
//! its workers would, and returns the replies as text: `+OK | "1"`. The time stands still until [`Kit::pass_ms`].

use std::sync::Arc;

use tarn_engine::AnyEngine;
use tarn_engine::memory::MemoryEngine;
use tarn_resp::{Args as Words, Limits, OwnedArgs, Parser, Protocol};

use crate::acl::Login;
use crate::clients::Client;
use crate::clock::Clock;
use crate::config::{Config, Live, parse, table};
use crate::dispatch::args::Args;
use crate::dispatch::executor::{Executor, On, write_error};
use crate::dispatch::gate::{self, Refusal};
use crate::dispatch::registry::registry;
use crate::dispatch::session::{Answer, Session, SessionCx};
use crate::dispatch::spec::Run;
use crate::dispatch::unit::{Atomic, Call, Outcome, Unit, Waits};
use crate::dispatch::watches::Watching;
use crate::encoding::SPACES;
use crate::error::Error;
use crate::keyspace::{Located, start};
use crate::node::Node;
use crate::pubsub::Queue;
use crate::reply::Arena;

/// When a kit's time begins.
pub const START_MS: u64 = 1_700_000_000_000;

pub struct Kit {
    pub node: Arc<Node>,
    pub executor: Executor,
    pub session: Session,
    pub now_ms: u64,
    /// Whether the last command went to a worker.
    pub moved: bool,
}

impl Default for Kit {
    fn default() -> Kit {
        Kit::new()
    }
}

impl Kit {
    pub fn new() -> Kit {
        Kit::with(&[])
    }

    /// With options as on the command line.
    pub fn with(options: &[(&str, &str)]) -> Kit {
        Kit::over(MemoryEngine::new(SPACES).into(), options)
    }

    pub fn over(engine: AnyEngine, options: &[(&str, &str)]) -> Kit {
        let mut config = Config::default();
        for (name, value) in options {
            let option = table::find(name.as_bytes()).expect("an option");
            parse::apply(&mut config, option, &[value.as_bytes()], parse::Source::Set).expect("a value");
        }
        let (keyspace, floor_ms) =
            start::open(&engine, crate::types::PARTS, config.databases as u16, 42).expect("a fresh engine");
        let run_id = "0123456789abcdef0123456789abcdef01234567".to_owned();
        let node =
            Arc::new(Node::new(Live::new(config), engine, keyspace, Clock::not_before(floor_ms), run_id));
        node.acl.open(&node.config.current()).expect("users of the options");
        Kit::of(&node)
    }

    /// Another client of the same node.
    pub fn of(node: &Arc<Node>) -> Kit {
        let counters = node.metrics.register(registry().total());
        let client = Client::new(1, 0, 7, "127.0.0.1:50000".into(), "127.0.0.1:6379".into(), START_MS);
        let session = Session::new(Arc::new(client), Login::at_connect(&node.acl));
        Kit {
            executor: Executor::new(Arc::clone(node), counters),
            node: Arc::clone(node),
            session,
            now_ms: START_MS,
            moved: false,
        }
    }

    pub fn pass_ms(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    /// Plays commands that are parted by ` | `, quoted as in redis-cli, and returns the replies parted likewise.
    pub fn run(&mut self, line: &str) -> String {
        let replies = line.split(" | ").map(|command| {
            let mut parser = Parser::new();
            let bytes = format!("{command}\r\n").into_bytes();
            parser.parse(&bytes, &Limits::default()).expect("a command");
            let words = parser.args(&bytes).to_owned_args();
            self.call(words.view())
        });
        replies.collect::<Vec<_>>().join(" | ")
    }

    /// One command of any bytes.
    pub fn words<A: AsRef<[u8]>>(&mut self, words: impl IntoIterator<Item = A>) -> String {
        let words: OwnedArgs = words.into_iter().collect();
        self.call(words.view())
    }

    fn call(&mut self, words: Words<'_>) -> String {
        let out = self.bytes(words);
        let replies = tarn_resp::decode::all(&out).expect("replies that decode");
        assert_eq!(replies.1, out.len(), "a whole number of replies");
        replies.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    /// One command; the bytes of its reply.
    pub fn bytes(&mut self, words: Words<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        self.moved = false;
        let config = self.node.config.current();
        let found = gate::find(words).and_then(|(command, named)| {
            let call = Call { command, named, words, db: self.session.db, located: Located::default() };
            gate::admit(&call, &mut self.session.login, &self.node, &config).map_err(
                |refusal| match refusal {
                    Refusal::Error(error) => error,
                    Refusal::Denied(denied) => denied.error(),
                    Refusal::Gone => Error::reply("ERR the connection was closed"),
                },
            )?;
            if self.session.only_listens() {
                gate::admit_listening(command)?;
            }
            Ok((command, named))
        });
        let (command, named) = match found {
            Ok(found) => found,
            Err(error) => {
                write_error(&self.node, &self.executor.counters, &error, &mut out);
                return out;
            }
        };
        if let Run::Session(handler) = command.spec.run {
            let mut cx = SessionCx { node: &self.node, session: &mut self.session, now_ms: self.now_ms };
            let answer = match handler(&mut cx, Args::new(words, named)) {
                Ok(Answer::Reply(reply) | Answer::After(_, reply)) => Ok(reply),
                Ok(Answer::Subscriptions(change)) => {
                    let Session { subscriptions, protocol, .. } = &mut self.session;
                    self.node.pubsub.change(0, &mut Queue::default(), |registry| {
                        subscriptions.change(registry, 0, change, words.skip(1), (*protocol, &mut out));
                    });
                    return out;
                }
                Ok(Answer::Unsubscribed(reply)) => {
                    let subscriptions = &mut self.session.subscriptions;
                    self.node.pubsub.change(0, &mut Queue::default(), |registry| {
                        subscriptions.clear(registry, 0);
                    });
                    Ok(reply)
                }
                Ok(Answer::Worker(job) | Answer::Network(job)) => {
                    self.moved = true;
                    job(&self.node)
                }
                Ok(Answer::OnKeys | Answer::Exec(_)) => panic!("a connection is needed"),
                Err(error) => Err(error),
            };
            match answer {
                Ok(reply) => reply.write(self.session.protocol, &Arena::new(), &mut out),
                Err(stop) => write_error(&self.node, &self.executor.counters, &stop.into_error(), &mut out),
            }
            return out;
        }
        let limits = config.limits();
        let call = Call { command, named, words, db: self.session.db, located: Located::default() };
        let unit = Unit {
            caller: self.session.caller(),
            calls: std::iter::once(call),
            atomic: Atomic::Yes,
            watching: Watching::No,
            waits: Waits::No,
            now_ms: self.now_ms,
            limits: &limits,
        };
        if let Outcome::Move(why) = self.executor.run(&unit, On::IoThread, &mut out) {
            self.moved = true;
            self.executor.run(&unit, On::Worker(why), &mut out);
        }
        out
    }

    /// Commands in one unit, on an I/O thread; the bytes of the replies of those that had room in it, or None where a worker
    /// has to do it.
    pub fn unit(&mut self, commands: &[OwnedArgs], atomic: Atomic) -> Option<Vec<u8>> {
        let limits = self.node.config.current().limits();
        let calls = commands.iter().map(|words| {
            let (command, named) = gate::find(words.view()).expect("a command");
            let located = Located::new(self.node.keyspace.seed(), words.view().get(1).expect("a key"));
            Call { command, named, words: words.view(), db: self.session.db, located }
        });
        let unit = Unit {
            caller: self.session.caller(),
            calls,
            atomic,
            watching: Watching::No,
            waits: Waits::No,
            now_ms: self.now_ms,
            limits: &limits,
        };
        let mut out = Vec::new();
        match self.executor.run(&unit, On::IoThread, &mut out) {
            Outcome::Move(_) | Outcome::Aborted | Outcome::Park(_) => {
                assert!(out.is_empty());
                None
            }
            Outcome::Replied { .. } => {
                assert_eq!(self.executor.steps.last().map(|step| step.end), Some(out.len()));
                Some(out)
            }
        }
    }

    pub fn resp3(&mut self) {
        self.session.protocol = Protocol::Resp3;
    }
}
