//! A script as a part of a unit: its calls appear while it runs. Each is gated, locks its keys and runs in the transaction of the
//! unit, as calls of clients do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tarn_engine::Error as EngineError;
use tarn_resp::{Args as Words, Protocol, encode};

use super::caller::Caller;
use super::gate;
use super::locks::{Busy, Held, LockSet, StripeSet};
use super::monitor;
use super::redact;
use super::registry::registry;
use super::session::{Answer, Session, SessionCx};
use super::spec::{Flags, Run};
use super::stats;
use super::unit::{Call, nil};
use crate::acl::{Context, Login, User};
use crate::clients::Client;
use crate::commands::acl::note_denied;
use crate::config::Config;
use crate::encoding::slot;
use crate::error::{Error, Result, Stop, Why};
use crate::keyspace::{Effect, Located, Note, Place, View as _, WriteCx, draws, stripe_of};
use crate::metrics::ThreadCounters;
use crate::node::Node;
use crate::pubsub::Kind;
use crate::reply::{Arena, Reply};
use crate::scripting::functions::Found;
use crate::scripting::pace::{Pace, SHORT_MICROS};
use crate::scripting::running::{Kind as ScriptKind, Listed};
use crate::scripting::scripts::Script;
use crate::scripting::shebang::Flags as ScriptFlags;
use crate::scripting::{self, Code, Host, Level, Stopped};

/// The longest that a script may take on an I/O thread; then it is begun again on a worker.
const IO_THREAD_TIME: Duration = Duration::from_micros(500);
/// Calls between two looks at the time.
const CALLS_PER_LOOK: u32 = 16;
/// From then on another worker stands in for the one that a script runs on.
const LONG_TIME: Duration = Duration::from_millis(100);
/// How long a script may have run while the server stops: who waits for it would not stop at all otherwise.
const STOPPING_TIME: Duration = Duration::from_secs(1);
/// Rows that a script may put and delete: all of them are in memory until the commit.
pub const MAX_SCRIPT_CHANGES: usize = 1_000_000;

/// What a command that runs a script asks for.
pub struct ScriptCall<'a> {
    pub what: What,
    /// Its keys, and behind them its arguments.
    pub words: Words<'a>,
    pub keys: usize,
    /// The command allows no writes, whatever the script says.
    pub read_only: bool,
}

/// What is to run.
pub enum What {
    Script(Arc<Script>),
    Function(Found),
}

impl What {
    fn flags(&self) -> ScriptFlags {
        match self {
            What::Script(script) => script.flags,
            What::Function(found) => found.function().map(|function| function.flags).unwrap_or_default(),
        }
    }

    fn pace(&self) -> Option<&Pace> {
        match self {
            What::Script(script) => Some(&script.pace),
            What::Function(found) => found.function().map(|function| &function.pace),
        }
    }

    fn kind(&self) -> ScriptKind {
        match self {
            What::Script(_) => ScriptKind::Script,
            What::Function(_) => ScriptKind::Function,
        }
    }

    fn code(&self) -> Code<'_> {
        match self {
            What::Script(script) => Code::Script(&script.program),
            What::Function(found) => Code::Function(&found.library, found.place),
        }
    }

    /// Whether the command and the server let it run.
    fn admit(&self, read_only: bool, config: &Config) -> Result<()> {
        let flags = self.flags();
        if flags.has(ScriptFlags::OLD) {
            return Ok(());
        }
        if read_only && !flags.has(ScriptFlags::NO_WRITES) {
            let words = "ERR Can not execute a script with write flag using *_ro command.";
            return Err(Error::reply(words).into());
        }
        if config.cluster_enabled && flags.has(ScriptFlags::NO_CLUSTER) {
            let words = "ERR Can not run script on cluster, 'no-cluster' flag is set.";
            return Err(Error::reply(words).into());
        }
        Ok(())
    }
}

/// What a script needs of the run that it is a part of.
pub(super) struct Scene<'t, 'n> {
    pub(super) node: &'n Arc<Node>,
    pub(super) counters: &'t ThreadCounters,
    pub(super) caller: Caller,
    pub(super) held: &'t mut Held<'n>,
    /// Stripes that could not be had at once: the next run begins with them.
    pub(super) missing: &'t mut LockSet,
    /// Whether stripes were locked after the transaction began, and the engine does not allow for that.
    pub(super) locked_late: bool,
}

impl Scene<'_, '_> {
    /// A run that ends has read what was locked late as it was before. That is as good as any other moment, unless it has written
    /// or is told of changes since: then it is run again, under all these locks.
    pub(super) fn check_locks(&mut self, cx: &WriteCx<'_>) -> Result<()> {
        if std::mem::take(&mut self.locked_late) && (cx.changes() > 0 || self.caller.tracks) {
            return Err(EngineError::Conflict.into());
        }
        Ok(())
    }
}

/// Runs the script of a call.
pub(super) fn run(cx: &mut WriteCx<'_>, call: &Call<'_>, scene: &mut Scene<'_, '_>) -> Result<Reply> {
    let Run::Script(find) = call.run() else {
        return Err(Error::Damaged("a script without a handler").into());
    };
    let ScriptCall { what, words, keys, read_only } = find(&scene.node.scripting, call.args())?;
    let (node, flags) = (scene.node, what.flags());
    let config = node.config.current();
    what.admit(read_only, &config)?;
    let on_io_thread = cx.env.place == Place::IoThread;
    if on_io_thread && !what.pace().is_some_and(Pace::is_short) {
        return Err(Stop::Move(Why::Heavy));
    }
    let begun = Instant::now();
    // A script on an I/O thread ends before anybody could want to know of it.
    let listed = (!on_io_thread).then(|| {
        let words = call.words.iter().map(Into::into).collect();
        node.scripting.running.list(what.kind(), what.code().name(), words, begun)
    });
    // All calls of a script are judged by the same rules.
    let caller = &scene.caller;
    let user = if caller.is_free(&node.acl) { None } else { node.acl.restricted(caller.user) };
    let random = draws(cx.env.random).nth(1).unwrap_or_default();
    let (db, located, first_random) = (call.db, cx.env.located, cx.env.random);
    let mut host = ScriptHost {
        read_only: read_only || flags.has(ScriptFlags::NO_WRITES),
        user,
        flags,
        config,
        db,
        begun,
        listed,
        is_long: false,
        busy: false,
        killed: false,
        calls: 0,
        random,
        session: None,
        declared: words.get(0).filter(|key| located.is(key)).map(|key| (key, located)),
        stop: None,
        cx,
        scene,
    };
    let mut reply = Vec::new();
    let program = scripting::Run {
        code: what.code(),
        words,
        keys,
        protocol: host.scene.caller.protocol,
        random: first_random,
    };
    let ran = scripting::run(program, &mut host, &mut reply);
    let stop = host.stop.take();
    let is_killed = host.killed;
    host.end();
    // What follows in the unit is as it was before.
    cx.begin_call(located, first_random);
    cx.select(call.db);
    let micros = begun.elapsed().as_micros().min(u128::from(u32::MAX)) as u32;
    match (ran, stop) {
        (Ok(()), None) => {
            if let Some(pace) = what.pace() {
                pace.took(micros);
            }
            Ok(Reply::Encoded(reply))
        }
        (Err(stopped), None) if is_killed => Err(killed_error(&what, stopped).into()),
        (_, Some(stop)) => {
            if let (Stop::Move(Why::Heavy), Some(pace)) = (&stop, what.pace()) {
                pace.took(micros.max(SHORT_MICROS + 1));
            }
            Err(stop)
        }
        (Err(_), None) => Err(Error::Damaged("a script that ended for no reason").into()),
    }
}

/// One run of a script.
struct ScriptHost<'r, 'c, 't, 'n> {
    cx: &'r mut WriteCx<'c>,
    scene: &'r mut Scene<'t, 'n>,
    config: Arc<Config>,
    /// Whose permissions are asked for; None where everything is allowed.
    user: Option<Arc<User>>,
    flags: ScriptFlags,
    read_only: bool,
    db: u16,
    begun: Instant,
    listed: Option<Listed<'n>>,
    /// Another worker stands in for the one that it runs on.
    is_long: bool,
    /// Others were told that they wait in vain.
    busy: bool,
    killed: bool,
    calls: u32,
    random: u64,
    /// For calls about the connection: one that nobody else sees.
    session: Option<Session>,
    /// The key that it was locked by, if it is one.
    declared: Option<(&'r [u8], Located)>,
    /// Why the script has to end.
    stop: Option<Stop>,
}

impl Host for ScriptHost<'_, '_, '_, '_> {
    fn call(&mut self, words: Words<'_>, protocol: Protocol, reply: &mut Vec<u8>) -> bool {
        self.calls += 1;
        if self.calls.is_multiple_of(CALLS_PER_LOOK) && !self.may_go_on() {
            return false;
        }
        match self.try_call(words, protocol, reply) {
            Ok(()) => true,
            // Not the call's own fault: the whole run ends.
            Err(stop @ Stop::Move(_)) => self.end_with(stop),
            Err(stop) if matches!(stop.refusal(), Some(Error::Engine(_))) => self.end_with(stop),
            Err(Stop::Park(park)) => {
                nil(&park).write(protocol, &Arena::new(), reply);
                true
            }
            Err(Stop::Refuse(error)) => {
                encode::error_bytes(reply, &error.wire());
                true
            }
        }
    }

    fn may_go_on(&mut self) -> bool {
        let time = self.begun.elapsed();
        let Some(listed) = &self.listed else {
            return time <= IO_THREAD_TIME || self.end_with(Stop::Move(Why::Heavy));
        };
        let is_late = time > STOPPING_TIME && self.scene.node.stopping().is_some();
        if is_late || listed.run.is_killed() {
            self.killed = true;
            return false;
        }
        if !self.is_long && time > LONG_TIME {
            self.is_long = true;
            self.scene.node.post().iter().for_each(|post| post.worker_taken());
        }
        let threshold = Duration::from_millis(self.config.busy_reply_threshold_millis);
        if !self.busy && !threshold.is_zero() && time > threshold {
            self.busy = true;
            let busy = self.too_long();
            self.scene.node.locks.mark(self.scene.held, busy);
            let millis = time.as_millis() as u64;
            tracing::warn!(name = listed.run.name, millis, "a script is slow: who wants its keys is told so");
        }
        true
    }

    fn may_call(&mut self, words: Words<'_>) -> Option<bool> {
        let command = registry().lookup(words)?;
        let call = Call { command, named: 1, words, db: self.db, located: Located::default() };
        Some(self.user.as_ref().is_none_or(|user| gate::permit(&call, user, self.scene.node).is_ok()))
    }

    fn log(&mut self, level: Level, text: &[u8]) {
        let text = crate::error::shown(text);
        match level {
            Level::Debug | Level::Verbose => tracing::debug!("script: {text}"),
            Level::Notice => tracing::info!("script: {text}"),
            Level::Warning => tracing::warn!("script: {text}"),
        }
    }
}

impl ScriptHost<'_, '_, '_, '_> {
    fn end_with(&mut self, stop: Stop) -> bool {
        self.stop = Some(stop);
        false
    }

    /// What those are told who want its keys.
    fn too_long(&self) -> Option<Busy> {
        Some(match self.listed.as_ref()?.run.kind {
            _ if !self.busy => Busy::Working,
            ScriptKind::Script => Busy::Script,
            ScriptKind::Function => Busy::Function,
        })
    }

    fn end(self) {
        if self.is_long {
            self.scene.node.post().iter().for_each(|post| post.worker_back());
        }
        if self.busy {
            self.scene.node.locks.mark(self.scene.held, Some(Busy::Working));
        }
    }

    fn try_call(&mut self, words: Words<'_>, protocol: Protocol, reply: &mut Vec<u8>) -> Result<()> {
        let (command, named) = gate::find(words).map_err(|error| in_script(&error))?;
        let call = Call { command, named, words, db: self.db, located: Located::default() };
        self.admit(&call)?;
        if let Run::Session(handler) = command.spec.run {
            let answered = self.answer(&call, handler, protocol, reply);
            self.feed_monitors(&call);
            return answered;
        }
        let located = self.lock(&call)?;
        if self.scene.caller.tracks {
            self.scene.node.remember_call(&self.scene.caller, &call);
        }
        let begun = Instant::now();
        // A mark before what only reads would be for nothing.
        let mark = command.spec.is_write().then(|| self.cx.mark());
        self.random = draws(self.random).next().unwrap_or_default();
        self.cx.begin_call(located, self.random);
        self.cx.select(self.db);
        let answer = call.write(self.cx).and_then(|answer| self.cx.admit().map(|()| answer));
        let nanos = begun.elapsed().as_nanos() as u64;
        if let Some(counters) = self.scene.counters.command(command.id) {
            counters.took(nanos);
            counters.failed.add(u64::from(matches!(&answer, Err(Stop::Refuse(_)))));
        }
        stats::note_in_script(self.scene.node, &self.config, (command, words), nanos);
        match answer {
            Ok(answer) => answer.write_out(protocol, self.cx.arena(), reply, None),
            Err(stop) => {
                let keeps = matches!(&stop, Stop::Park(park) if park.keeps);
                if let Some(mark) = mark.filter(|_| !keeps) {
                    self.cx.undo(mark);
                }
                self.feed_monitors(&call);
                return Err(stop);
            }
        }
        self.feed_monitors(&call);
        if self.cx.changes() > MAX_SCRIPT_CHANGES {
            let words = format!("ERR the script changes more than {MAX_SCRIPT_CHANGES} rows");
            self.end_with(Error::reply(words).into());
            return Err(Error::reply("ERR the script is too large").into());
        }
        Ok(())
    }

    /// Who monitors the server sees the call once the script is committed.
    fn feed_monitors(&mut self, call: &Call<'_>) {
        let node = self.scene.node;
        let flags = call.command.spec.flags;
        if node.clients.monitors() == 0 || flags.has(Flags::SKIP_MONITOR) || flags.has(Flags::ADMIN) {
            return;
        }
        let redacted = redact::redacted(call.command, call.words);
        let words = redacted.as_ref().map_or(call.words, |redacted| redacted.view());
        let line = monitor::line(node.clock.now_us(), self.db, "lua", words);
        self.cx.effects().list.push(Effect::Monitor(line));
    }

    /// What any call of a client has to pass, and what only scripts have to.
    fn admit(&self, call: &Call<'_>) -> Result<()> {
        let Call { command, words, .. } = *call;
        if command.spec.flags.has(Flags::NOSCRIPT) {
            return Err(Error::reply("ERR This Redis command is not allowed from script").into());
        }
        if let Some(user) = &self.user {
            self.permit(call, user)?;
        }
        if self.read_only && command.spec.counts_as_write() {
            return Err(Error::reply("ERR Write commands are not allowed from read-only scripts.").into());
        }
        let allows_slots =
            self.flags.has(ScriptFlags::OLD) || self.flags.has(ScriptFlags::ALLOW_CROSS_SLOT_KEYS);
        match gate::admit_slots(command, &self.config, words) {
            Err(Error::CrossSlot) if allows_slots => Ok(()),
            other => Ok(other?),
        }
    }

    /// The permissions of who runs the script count for each of its calls.
    fn permit(&self, call: &Call<'_>, user: &User) -> Result<()> {
        let node = self.scene.node;
        gate::permit(call, user, node).map_err(|denied| {
            if let Some(client) = node.clients.get(self.scene.caller.client) {
                note_denied(node, &client, self.cx.env.now_ms, Context::Lua, &denied);
            }
            denied.script_error()
        })?;
        Ok(gate::permit_patterns(call, user, node)?)
    }

    /// Locks the keys of a call that the script has not locked yet; where its key is, if it has one.
    fn lock(&mut self, call: &Call<'_>) -> Result<Located> {
        let (spec, mode) = (call.command.spec, call.mode());
        let busy = self.too_long();
        let held = &mut *self.scene.held;
        let locks = &self.scene.node.locks;
        let mut added = false;
        let mut have = |stripe| {
            held.covers(stripe, mode) || {
                let is_added = locks.add_at_once(held, stripe, mode);
                added |= is_added;
                is_added
            }
        };
        let (mut all, mut located) = (true, Located::default());
        if spec.locks_everything {
            all = StripeSet::ALL.iter().all(&mut have);
            if !all {
                *self.scene.missing.set(mode) = StripeSet::ALL;
            }
        } else if let Some(at) = spec.keys.single() {
            let key = call.words.get(at).unwrap_or(&[]);
            located = match self.declared {
                Some((declared, located)) if declared == key => located.again(key),
                _ => Located::new(self.scene.node.keyspace.seed(), key),
            };
            let stripe = stripe_of(located.slot);
            all = have(stripe);
            if !all {
                self.scene.missing.set(mode).insert(stripe);
            }
        } else {
            for (at, _) in spec.keys.positions(call.words) {
                let stripe = stripe_of(slot::of(call.words.get(at).unwrap_or(&[])));
                if !have(stripe) {
                    self.scene.missing.set(mode).insert(stripe);
                    all = false;
                }
            }
        }
        if added && busy.is_some() {
            locks.mark(held, busy);
        }
        self.scene.locked_late |= added && !self.scene.node.engine.locks_may_follow();
        if all { Ok(located) } else { Err(Stop::Move(Why::Contended)) }
    }

    /// A call about the connection or the server.
    fn answer(
        &mut self,
        call: &Call<'_>,
        handler: super::spec::SessionFn,
        protocol: Protocol,
        reply: &mut Vec<u8>,
    ) -> Result<()> {
        let shard = match call.command.spec.name {
            "publish" => Some(false),
            "spublish" => Some(true),
            _ => None,
        };
        if let (Some(shard), [channel, message]) = (shard, [call.words.get(1), call.words.get(2)])
            && let (Some(channel), Some(message)) = (channel, message)
        {
            // Heard of once it is committed, with everything else.
            let kind = if shard { Kind::Shard } else { Kind::Channel };
            let count = self.scene.node.pubsub.reach(kind, channel);
            let note = Note::Message { shard, channel: channel.into(), message: message.into() };
            self.cx.effects().list.push(Effect::Tell(note));
            encode::integer(reply, count as i64);
            return Ok(());
        }
        let node = self.scene.node;
        let caller = self.scene.caller;
        let now_ms = self.cx.env.now_ms;
        let session = self.session.get_or_insert_with(|| {
            let client = Client::new(caller.client, 0, -1, String::new(), String::new(), now_ms);
            let mut session = Session::new(Arc::new(client), Login::at_connect(&node.acl));
            session.db = self.db;
            session
        });
        let answer = handler(&mut SessionCx { node, session, now_ms }, call.args())?;
        self.db = session.db;
        let answer = match answer {
            Answer::Reply(answer) | Answer::After(_, answer) => answer,
            Answer::Worker(job) if self.cx.env.place == Place::Worker => job(node)?,
            Answer::Worker(_) => return Err(Stop::Move(Why::Heavy)),
            _ => return Err(Error::reply("ERR This Redis command is not allowed from script").into()),
        };
        answer.write(protocol, &Arena::new(), reply);
        Ok(())
    }
}

/// What the client hears whose script was stopped.
fn killed_error(what: &What, stopped: Stopped) -> Error {
    let (command, chunk) = match what.kind() {
        ScriptKind::Script => ("SCRIPT KILL", "@user_script"),
        ScriptKind::Function => ("FUNCTION KILL", "@user_function"),
    };
    let place = match stopped.line {
        Some(line) => format!(" script: {}, on {chunk}:{line}.", what.code().name()),
        None => String::new(),
    };
    Error::reply(format!("ERR Script killed by user with {command}...{place}"))
}

/// What a script is told of a command that is not there, or not so.
fn in_script(error: &Error) -> Error {
    match error {
        Error::Arity(_) => Error::reply("ERR Wrong number of args calling Redis command from script"),
        _ => Error::reply("ERR Unknown Redis command called from script"),
    }
}

/// What who wants a script's keys is told, when it has run for too long.
pub(super) fn busy_error(busy: Busy) -> Error {
    Error::reply(match busy {
        Busy::Script | Busy::Working => {
            "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
        }
        Busy::Function => {
            "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
        }
    })
}
