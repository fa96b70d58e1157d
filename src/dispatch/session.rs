//! What a connection is to commands: its database, protocol, name and flags. Never a socket.

use std::sync::Arc;
use std::time::Duration;

use tarn_engine::Read;
use tarn_resp::Protocol;

use super::caller::Caller;
use super::executor::Executor;
use super::fieldsets::Fieldsets;
use super::locks::StripeSet;
use super::multi::Multi;
pub use super::waiters::Ending;
use super::watches::Watch;
use crate::acl::{self, Acl, Login};
use crate::clients::{Client, flag};
use crate::error::{Error, Result};
use crate::keyspace::{ReadCx, WriteCx, libraries, local};
use crate::node::Node;
use crate::pubsub::{Change, Kind, Subscriptions};
use crate::reply::Reply;
use crate::scripting::functions::{Functions, IfTaken, Known, Library};
use crate::tracking::Tracker;

/// Whether replies are sent, as CLIENT REPLY asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyMode {
    #[default]
    On,
    Off,
    /// This command's reply and the next one's are left out.
    SkipNext,
    /// This one's is.
    Skip,
}

#[derive(Debug)]
pub struct Session {
    pub client: Arc<Client>,
    pub db: u16,
    pub protocol: Protocol,
    pub login: Login,
    pub reply_mode: ReplyMode,
    /// Gets a copy of every command.
    pub is_monitor: bool,
    pub no_touch: bool,
    pub subscriptions: Subscriptions,
    /// What was queued since MULTI.
    pub multi: Option<Box<Multi>>,
    /// What WATCH asked for.
    pub watch: Option<Arc<Watch>>,
    /// What CLIENT TRACKING asked for.
    pub tracking: Option<Box<TrackingState>>,
    /// What HIMPORT PREPARE has named.
    pub fieldsets: Option<Box<Fieldsets>>,
    /// The connection ends when what was answered has been sent.
    pub closing: bool,
}

impl Session {
    pub fn new(client: Arc<Client>, login: Login) -> Session {
        client.set_user(login.id());
        Session {
            client,
            db: 0,
            protocol: Protocol::Resp2,
            login,
            reply_mode: ReplyMode::On,
            is_monitor: false,
            no_touch: false,
            subscriptions: Subscriptions::default(),
            multi: None,
            watch: None,
            tracking: None,
            fieldsets: None,
            closing: false,
        }
    }

    /// What gate and handlers see of it.
    #[inline]
    pub fn caller(&self) -> Caller {
        let tracks = self.tracking.as_ref().is_some_and(|tracking| tracking.remembers());
        Caller {
            user: self.login.id(),
            free_at: self.login.free_at(),
            db: self.db,
            protocol: self.protocol,
            client: self.client.id,
            tracks,
        }
    }

    pub fn is_authenticated(&self) -> bool {
        self.login.is_authenticated()
    }

    /// Is another user from now on.
    pub fn set_login(&mut self, login: Login) {
        self.client.set_user(login.id());
        self.login = login;
    }

    /// Looks at the users again, if they have changed. False where this connection has to end: its user is gone, or may not
    /// hear any more what it listens to.
    pub fn follow_users(&mut self, acl: &Acl) -> bool {
        if self.login.is_current(acl) {
            return true;
        }
        let is_there = self.login.follow(acl);
        let user = self.login.user();
        let may_hear = |kind: Kind| {
            let is_pattern = kind == Kind::Pattern;
            self.subscriptions.names(kind).all(|name| acl::may_hear(user, name, is_pattern))
        };
        is_there && Kind::ALL.into_iter().all(may_hear)
    }

    /// Messages come between replies, so that only commands about them may be sent: RESP2 cannot tell one from the other.
    pub fn only_listens(&self) -> bool {
        !self.subscriptions.is_empty() && self.protocol == Protocol::Resp2
    }

    /// MULTI is over; what was queued.
    pub fn end_multi(&mut self) -> Option<Box<Multi>> {
        let multi = self.multi.take()?;
        self.client.set_queued(None);
        Some(multi)
    }

    /// A command was refused: EXEC will refuse everything that is queued.
    pub fn abort_multi(&mut self) {
        if let Some(multi) = &mut self.multi {
            multi.aborted = true;
        }
    }

    /// What it watches.
    pub fn watch(&mut self) -> &Arc<Watch> {
        self.watch.get_or_insert_with(|| Arc::new(Watch::new(&self.client)))
    }

    /// Watches nothing any more. Also called when the connection ends.
    pub fn unwatch(&mut self, node: &Node) {
        if let Some(watch) = self.watch.take() {
            node.watches.remove(&watch);
        }
    }

    /// Tracks nothing any more. Also called when the connection ends.
    pub fn untrack(&mut self, node: &Node) {
        if self.tracking.take().is_some() {
            node.tracking.end(self.client.id);
            self.client.set_flag(flag::TRACKING, false);
            self.client.set_redirect(-1);
        }
    }

    pub fn select(&mut self, db: u16) {
        self.db = db;
        self.client.set_db(db);
    }

    pub fn speak(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.client.set_flag(flag::RESP3, protocol == Protocol::Resp3);
    }

    /// Begins or ends the copying of every command to this connection. Also called when the connection ends.
    pub fn monitor(&mut self, node: &Node, on: bool) {
        if self.is_monitor != on {
            self.is_monitor = on;
            self.client.set_flag(flag::MONITOR, on);
            node.clients.count_monitors(if on { 1 } else { -1 });
        }
    }
}

/// A connection that tracks the keys it reads.
#[derive(Debug)]
pub struct TrackingState {
    pub tracker: Arc<Tracker>,
    /// What CLIENT CACHING has said of the next command.
    pub caching: Option<bool>,
}

impl TrackingState {
    /// Whether the keys of the command that runs next are remembered.
    pub fn remembers(&self) -> bool {
        let options = &self.tracker.options;
        match self.caching {
            _ if options.bcast => false,
            Some(caching) => caching,
            None => !options.optin,
        }
    }
}

/// What a command about the connection or the server works on.
pub struct SessionCx<'a> {
    pub node: &'a Arc<Node>,
    pub session: &'a mut Session,
    pub now_ms: u64,
}

/// Work for a worker thread; only this client waits for it.
pub type Job = Box<dyn FnOnce(&Arc<Node>) -> Result<Reply> + Send>;

/// What a session command answers.
pub enum Answer {
    Reply(Reply),
    /// The reply comes from a worker.
    Worker(Job),
    /// As [`Answer::Worker`], for work that waits for another server: no worker waits for that. Neither does a transaction
    /// or a script, which it is not allowed in.
    Network(Job),
    /// The reply comes when this time has passed; only this client waits.
    After(Duration, Reply),
    /// What the connection listens to changes, for the names in the command; each is confirmed.
    Subscriptions(Change),
    /// All subscriptions end before the reply.
    Unsubscribed(Reply),
    /// The rest of the command works on keys ([`super::spec::Spec::read_only`]).
    OnKeys,
    /// Everything that was queued is to run now.
    Exec(Box<Multi>),
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Answer {
        Answer::Reply(reply)
    }
}

impl Answer {
    /// Reads rows on a worker, without locks: for what need not be of one moment.
    pub fn reading(db: u16, work: impl FnOnce(&mut ReadCx<'_>) -> Result<Reply> + Send + 'static) -> Answer {
        Answer::Worker(Box::new(move |node| read_rows(node, db, work)))
    }
}

/// Reads rows on behalf of a [`Job`], without locks.
pub fn read_rows<T>(node: &Arc<Node>, db: u16, work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>) -> Result<T> {
    Executor::uncounted(node).look(db, work)
}

/// Writes one key on behalf of a [`Job`], under its lock. The job answers only after [`Node::engine`] was flushed.
pub fn write_key<T>(
    node: &Arc<Node>,
    db: u16,
    key: &[u8],
    work: impl FnMut(&mut WriteCx<'_>) -> Result<T>,
) -> Result<T> {
    Executor::uncounted(node).transact(&StripeSet::of(key), db, work)
}

/// Changes the libraries of functions on behalf of a [`Job`]: on record, and once that is safe for everybody.
pub fn change_libraries(node: &Arc<Node>, change: impl Fn(&Functions) -> Result<Known, Error>) -> Result<()> {
    let functions = &node.scripting.functions;
    let _changing = functions.changing.lock();
    loop {
        // Others may have changed them.
        if node.engine.is_shared() {
            load_libraries(node, &node.engine.snapshot()?)?;
        }
        let after = change(functions)?;
        let (gone, come) = functions.difference(&after);
        let known = functions.stamp();
        let stamp = node.engine.timestamp().transpose()?.unwrap_or(known);
        let is_made = Executor::uncounted(node).transact(&StripeSet::default(), 0, |cx| {
            if !libraries::advance(cx, known, stamp)? {
                return Ok(false);
            }
            gone.iter().for_each(|name| libraries::remove(cx, name));
            come.iter().for_each(|library| libraries::put(cx, &library.name, &library.code));
            Ok(true)
        })?;
        if is_made {
            local::sync(&node.engine)?;
            functions.set(after, stamp);
            return Ok(());
        }
    }
}

/// Brings back what is on record, before the first command.
pub fn open_libraries(node: &Arc<Node>) -> Result<()> {
    let _changing = node.scripting.functions.changing.lock();
    load_libraries(node, &node.engine.snapshot()?)
}

/// Takes over what another node has changed.
pub fn follow_libraries(node: &Arc<Node>, read: &impl Read) -> Result<()> {
    let functions = &node.scripting.functions;
    if libraries::stamp(read)? == functions.stamp() {
        return Ok(());
    }
    // Whoever changes them here reads them first, too.
    let Some(_changing) = functions.changing.try_lock() else { return Ok(()) };
    load_libraries(node, read)
}

fn load_libraries(node: &Arc<Node>, read: &impl Read) -> Result<()> {
    let functions = &node.scripting.functions;
    let (mut loaded, mut known) = (Vec::new(), Known::default());
    for code in libraries::load(read)? {
        let with = Library::load(&code).and_then(|library| {
            loaded.push(Arc::new(library));
            functions.with_added(&loaded, IfTaken::Refuse, true)
        });
        match with {
            Ok(with) => known = with,
            // It stays on record.
            Err(error) => {
                loaded.truncate(known.library_count());
                tracing::error!(%error, "a library of functions could not be loaded");
            }
        }
    }
    functions.set(known, libraries::stamp(read)?);
    Ok(())
}
