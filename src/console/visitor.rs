//! A caller inside the process: commands of somebody who is logged in at the console go through the same gate and the same
//! unit of execution as those of a connection, on a thread that may wait.

use std::sync::Arc;
use std::time::Instant;

use tarn_resp::{Args as Words, Limits, OwnedArgs, Parsed, Parser, Protocol};

use crate::acl::{Context, Login};
use crate::clients::Client;
use crate::commands::acl::note_denied;
use crate::config::{AppendFsync, Config};
use crate::dispatch::args::Args;
use crate::dispatch::executor::{Executor, On, write_error};
use crate::dispatch::gate::{self, Refusal};
use crate::dispatch::monitor;
use crate::dispatch::session::{Answer, Session, SessionCx};
use crate::dispatch::spec::{Flags, Run};
use crate::dispatch::stats::{self, Ended, Notable};
use crate::dispatch::unit::{Atomic, Call, Outcome, Unit, Waits, Why, nil};
use crate::dispatch::watches::Watching;
use crate::error::Error;
use crate::keyspace::{Located, local};
use crate::node::Node;
use crate::reply::Arena;

/// Replies of one request together; what comes behind is not run.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// Commands about a connection, which a visitor does not have: messages come by themselves, transactions span requests.
const NOT_HERE: [&str; 17] = [
    "client|caching",
    "client|reply",
    "client|tracking",
    "discard",
    "exec",
    "hello",
    "monitor",
    "multi",
    "psubscribe",
    "punsubscribe",
    "quit",
    "reset",
    "ssubscribe",
    "subscribe",
    "sunsubscribe",
    "unsubscribe",
    "watch",
];

pub struct Visitor {
    session: Session,
}

impl Visitor {
    pub fn new(node: &Node, address: String) -> Visitor {
        let (id, now_ms) = (node.clients.next_id(), node.clock.now_ms());
        let client = Client::new(id, 0, -1, address, "console".into(), now_ms);
        let mut session = Session::new(Arc::new(client), Login::at_connect(&node.acl));
        session.speak(Protocol::Resp3);
        Visitor { session }
    }

    pub fn is_known(&self) -> bool {
        self.session.is_authenticated()
    }

    /// Runs the commands of a request, one after the other. Their replies, in RESP3; fewer where the bytes are no commands, or
    /// the replies get too long.
    pub fn run_all(&mut self, executor: &mut Executor, db: u16, commands: &[u8]) -> Vec<u8> {
        let limits = Limits {
            max_bulk_len: executor.node.config.current().proto_max_bulk_len,
            authenticated: self.is_known(),
            ..Limits::default()
        };
        let (mut out, mut parser, mut rest) = (Vec::new(), Parser::new(), commands);
        if self.session.db != db {
            let select: OwnedArgs = ["SELECT".to_owned(), db.to_string()].into_iter().collect();
            self.run(executor, select.view(), &mut out);
            if out.first() == Some(&b'-') {
                return out;
            }
            out.clear();
        }
        while !rest.is_empty() && out.len() < MAX_REPLY_BYTES {
            match parser.parse(rest, &limits) {
                Ok(Parsed::Command { consumed }) => {
                    self.run(executor, parser.args(rest), &mut out);
                    rest = rest.get(consumed..).unwrap_or(&[]);
                }
                Ok(Parsed::Empty { consumed }) => rest = rest.get(consumed..).unwrap_or(&[]),
                Ok(Parsed::Incomplete { .. }) => break,
                Err(error) => {
                    error.encode(&mut out);
                    break;
                }
            }
        }
        out
    }

    fn run(&mut self, executor: &mut Executor, words: Words<'_>, out: &mut Vec<u8>) {
        let begin = out.len();
        if let Err(error) = self.try_run(executor, words, out) {
            out.truncate(begin);
            let node = Arc::clone(&executor.node);
            write_error(&node, &executor.counters, &error, out);
        }
    }

    fn try_run(&mut self, executor: &mut Executor, words: Words<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
        let node = Arc::clone(&executor.node);
        let config = node.config.current();
        let (command, named) = gate::find(words)?;
        let call = Call { command, named, words, db: self.session.db, located: Located::default() };
        self.admit(&node, &config, &call)?;
        if NOT_HERE.contains(&command.full_name.as_str()) {
            return Err(Error::reply(format!("ERR '{}' needs a connection of its own", command.full_name)));
        }
        let now_ms = node.clock.now_ms();
        if node.pause.holds(command.spec.flags.has(Flags::WRITE), now_ms).is_some() {
            return Err(Error::reply("ERR clients are paused"));
        }
        monitor::feed(&node, &self.session.client, self.session.db, command, words);
        self.session.client.ran(command.id, now_ms);
        let (begun, before) = (Instant::now(), out.len());
        let answered = match command.spec.run {
            Run::Session(handler) => {
                let mut cx = SessionCx { node: &node, session: &mut self.session, now_ms };
                let answer = handler(&mut cx, Args::new(words, named));
                self.take_answer(&node, answer, out)
            }
            _ => {
                let limits = config.limits();
                let unit = Unit {
                    caller: self.session.caller(),
                    calls: std::iter::once(call),
                    atomic: Atomic::Yes,
                    watching: Watching::No,
                    waits: Waits::No,
                    now_ms,
                    limits: &limits,
                };
                match executor.run(&unit, On::Worker(Why::Cold), out) {
                    Outcome::Replied { wrote: true } => make_durable(&node, config.appendfsync),
                    // Nobody waits here.
                    Outcome::Park(park) => {
                        nil(&park).write(self.session.protocol, &Arena::new(), out);
                        Ok(())
                    }
                    // Somebody has its keys for long. Who clicks can click again.
                    Outcome::Move(_) => Err(Error::reply("TRYAGAIN the key is busy, try again")),
                    _ => Ok(()),
                }
            }
        };
        let nanos = begun.elapsed().as_nanos() as u64;
        let reply_len = out.len().saturating_sub(before);
        let ended = Ended { command, words, client: &self.session.client, now_ms, nanos, reply_len };
        stats::note(&node, &config, &Notable::of(&config), &executor.counters, &ended);
        node.deliver();
        answered
    }

    /// What a connection is asked as well.
    fn admit(&mut self, node: &Node, config: &Config, call: &Call<'_>) -> Result<(), Error> {
        let login = &mut self.session.login;
        let admitted = gate::admit(call, login, node, config);
        match admitted {
            Ok(()) if login.is_free(&node.acl) => Ok(()),
            Ok(()) => gate::permit_patterns(call, login.user(), node),
            Err(Refusal::Error(error)) => Err(error),
            Err(Refusal::Denied(denied)) => {
                note_denied(node, &self.session.client, node.clock.now_ms(), Context::TopLevel, &denied);
                Err(denied.error())
            }
            Err(Refusal::Gone) => Err(Error::reply("NOAUTH There is no such user any more.")),
        }
    }

    fn take_answer(
        &mut self,
        node: &Arc<Node>,
        answer: crate::error::Result<Answer>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let reply = match answer.map_err(crate::error::Stop::into_error)? {
            Answer::Reply(reply) | Answer::After(_, reply) | Answer::Unsubscribed(reply) => reply,
            Answer::Worker(job) | Answer::Network(job) => {
                job(node).map_err(crate::error::Stop::into_error)?
            }
            Answer::Subscriptions(_) | Answer::OnKeys | Answer::Exec(_) => {
                return Err(Error::reply("ERR this command needs a connection of its own"));
            }
        };
        reply.write(self.session.protocol, &Arena::new(), out);
        Ok(())
    }
}

/// As durable as any client's write before it is answered.
fn make_durable(node: &Node, appendfsync: AppendFsync) -> Result<(), Error> {
    match appendfsync {
        AppendFsync::Always => local::sync(&node.engine),
        AppendFsync::EverySec | AppendFsync::No => node.engine.flush().map(|_| ()),
    }
    .map_err(Error::Engine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    fn run(kit: &mut Kit, visitor: &mut Visitor, db: u16, commands: &str) -> String {
        let out = visitor.run_all(&mut kit.executor, db, commands.as_bytes());
        let (replies, used) = tarn_resp::decode::all(&out).unwrap();
        assert_eq!(used, out.len());
        replies.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn commands_run_as_those_of_a_connection() {
        let mut kit = Kit::new();
        let mut visitor = Visitor::new(&kit.node, "127.0.0.1:1".into());
        assert_eq!(run(&mut kit, &mut visitor, 0, "SET a 1\r\nINCR a\r\nGET a\r\n"), "+OK | :2 | \"2\"");
        assert_eq!(
            run(&mut kit, &mut visitor, 3, "GET a\r\nHSET h f v\r\nHGETALL h\r\n"),
            "nil | :1 | {\"f\" \"v\"}"
        );
        assert_eq!(kit.run("GET a"), "\"2\"");
        assert_eq!(run(&mut kit, &mut visitor, 0, "HGET a f\r\nNOPE\r\nGET\r\n").matches('-').count(), 3);
        assert_eq!(run(&mut kit, &mut visitor, 0, "BLPOP l 0\r\n"), "nil");
        assert_eq!(run(&mut kit, &mut visitor, 16, "PING\r\n"), "-ERR DB index is out of range");
        assert_eq!(run(&mut kit, &mut visitor, 0, ""), "");
        assert!(run(&mut kit, &mut visitor, 0, "*1\r\n$x\r\n").starts_with("-ERR Protocol error"));
        for name in ["MULTI", "SUBSCRIBE a", "MONITOR", "HELLO 2", "RESET", "WATCH a", "CLIENT REPLY OFF"] {
            let reply = run(&mut kit, &mut visitor, 0, &format!("{name}\r\n"));
            assert!(reply.starts_with("-ERR") && reply.contains("connection of its own"), "{name}: {reply}");
        }
        let slow = run(
            &mut kit,
            &mut visitor,
            0,
            "CONFIG SET slowlog-log-slower-than 0\r\nECHO x\r\nSLOWLOG LEN\r\n",
        );
        assert!(!slow.ends_with(":0"), "{slow}");
    }

    #[test]
    fn a_password_is_needed_where_there_is_one() {
        let mut kit = Kit::with(&[("requirepass", "sesame")]);
        let mut visitor = Visitor::new(&kit.node, "127.0.0.1:1".into());
        assert!(!visitor.is_known());
        assert_eq!(run(&mut kit, &mut visitor, 0, "GET a\r\n"), "-NOAUTH Authentication required.");
        assert!(run(&mut kit, &mut visitor, 0, "AUTH wrong\r\n").starts_with("-WRONGPASS"));
        assert_eq!(run(&mut kit, &mut visitor, 0, "AUTH sesame\r\nGET a\r\n"), "+OK | nil");
        assert!(visitor.is_known());
    }
}
