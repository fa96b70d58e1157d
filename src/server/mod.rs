//! From a socket to commands and back: the process's threads, how they start and how they end.
//!
//! One listener thread accepts; each I/O thread owns its connections and runs their commands to completion; workers
//! take what may be long; the sweeper cares for the keyspace in the background and the cleaner removes what flushed
//! databases left behind.

mod balance;
mod batch;
mod blocking;
mod cleaner;
mod combine;
mod connection;
mod connections;
mod data_dir;
mod descriptors;
mod eviction;
mod evictor;
mod exec;
mod handshake;
mod io_thread;
mod listener;
mod loading;
mod long_output;
mod mailbox;
mod opening;
mod permission;
mod pipeline;
mod stand_ins;
mod subscriptions;
mod sweeper;
mod throttle;
mod together;
mod transport;
mod turns;
mod waiting;
mod workers;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select};
use mio::{Poll, Waker};
use signal_hook::consts::{SIGINT, SIGTERM};
use tarn_engine::memory::{Isolation, MemoryEngine};
use tarn_engine::rocksdb::{OpenOptions, Progress, RocksEngine};
use tarn_engine::{AnyEngine, Durability, Filter, failpoint};

use crate::acl::Acl;
use crate::clock::Clock;
use crate::config::{AppendFsync, Config, EngineKind, Live};
use crate::console;
use crate::dispatch::session::open_libraries;
use crate::encoding::SPACES;
use crate::error::Error;
use crate::fatal;
use crate::keyspace::filter::Garbage;
use crate::keyspace::{self, Keyspace};
use crate::metrics;
use crate::node::{Node, Stop};
use crate::nodes;
use crate::oom_score;
use crate::supervision::Supervisor;
use handshake::Handshakes;
use io_thread::IoThread;
use listener::Listener;
use loading::{Doorkeeper, Early};
use mailbox::{Mailbox, Mailboxes, Message};
use stand_ins::StandIns;

/// How often a long start says how far it is.
const TELL_PROGRESS: Duration = Duration::from_secs(5);

/// Why the server did not start, or ended early. The text is for the operator.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("could not open the data directory {dir}: {reason}")]
    Open { dir: String, reason: String },
    #[error("could not configure TLS: {0}")]
    Tls(String),
    #[error("{0}")]
    DataDir(String),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the users could not be loaded: {0}")]
    Users(String),
    #[error("the data could not be closed in order: {0}")]
    Close(tarn_engine::Error),
}

/// How a run that went well ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything is closed.
    InOrder,
    /// While the data was loaded: nothing was changed, and a thread is still at it.
    WhileLoading,
}

/// Runs until SIGTERM, SIGINT or SHUTDOWN.
pub fn run(mut config: Config, supervisor: &mut Supervisor) -> Result<Ended, ServerError> {
    oom_score::apply(&config);
    descriptors::reserve(&mut config)?;
    let certificates = crate::tls::open(&config).map_err(ServerError::Tls)?;
    data_dir::check(&config).map_err(ServerError::DataDir)?;
    // The port first: a second server on it must not touch the data.
    let listener = Listener::open(&config)?;
    let links = match config.engine {
        EngineKind::Tikv => Some(Listener::open_links(&config)?),
        EngineKind::RocksDb | EngineKind::Memory => None,
    };
    let (stop, stopped) = bounded(1);
    let signals = Signals::catch(stop.clone())?;
    supervisor.loading();
    let seed = random_u64()?;
    let Some((node, doorkeeper)) = load(config, listener, seed, &stop, &stopped)? else {
        supervisor.stopping();
        return Ok(Ended::WhileLoading);
    };
    node.tls.begin(certificates);
    follow_config(&node);
    let exporter = metrics::http::start(&node)?;
    let console = console::start(&node)?;
    let (listener, early) = doorkeeper.end()?;
    let threads = start(&node, listener, early, stop, seed)?;
    let links = links.map(|doors| nodes::start(&node, doors)).transpose()?;
    signals.connect(&node);
    let config = node.config.current();
    metrics::memory::Parts::note_startup(&node);
    tracing::info!(port = config.port, tls_port = config.tls_port, "ready to accept connections");
    supervisor.ready();
    let reason = wait(&node, &stopped);
    tracing::info!(?reason, "stopping");
    supervisor.stopping();
    threads.end();
    // Once this node is known to be gone the others wait for nothing of it, so nothing may be on its way any more.
    if let Some(links) = links {
        links.leave().end();
    }
    exporter.stop();
    console.stop();
    node.engine.close().map_err(ServerError::Close)?;
    tracing::info!("everything is on disk, bye");
    Ok(Ended::InOrder)
}

/// Loads the data while clients are told so. None where somebody asked for a stop before it was there.
fn load(
    config: Config,
    listener: Listener,
    seed: u64,
    stop: &Sender<()>,
    stopped: &Receiver<()>,
) -> Result<Option<(Arc<Node>, Doorkeeper)>, ServerError> {
    let progress = Arc::new(metrics::info::Loading::begin(Clock::default().now_ms()));
    let acl = Acl::default();
    acl.open(&config).map_err(ServerError::Users)?;
    let doorkeeper =
        Doorkeeper::start(listener, Arc::new(config.clone()), acl, Arc::clone(&progress), stop.clone())?;
    let (done, loaded) = bounded(1);
    let loading = Arc::clone(&progress);
    spawn("loader".to_owned(), move || {
        // Nobody waits for it after a stop.
        let _ = done.send(open_node(config, seed, &loading));
    })?;
    loop {
        select! {
            recv(loaded) -> node => {
                match node.unwrap_or_else(|_| Err(io::Error::other("the loading thread ended").into())) {
                    Ok(node) => {
                        tracing::info!("the data was loaded in {:.1} s", progress.elapsed().as_secs_f64());
                        return Ok(Some((node, doorkeeper)));
                    }
                    Err(error) => {
                        doorkeeper.end()?;
                        return Err(error);
                    }
                }
            }
            recv(stopped) -> _ => {
                tracing::info!("stopping before the data is loaded; it is as it was");
                doorkeeper.end()?;
                return Ok(None);
            }
            default(TELL_PROGRESS) => {
                let (read, total) = progress.engine.log_bytes();
                tracing::info!("loading: {} of {} MB of the log are read", read >> 20, total >> 20);
            }
        }
    }
}

fn open_node(config: Config, seed: u64, progress: &metrics::info::Loading) -> Result<Arc<Node>, ServerError> {
    let dir = config.dir.display().to_string();
    let failed = |reason: String| ServerError::Open { dir: dir.clone(), reason };
    let databases = config.databases as u16;
    let garbage = Arc::new(Garbage::default());
    let engine =
        open_engine(&config, &garbage, &progress.engine).map_err(|error| failed(error.to_string()))?;
    let opened = match engine.is_shared() {
        // The cluster may be away.
        true => Ok((Keyspace::waiting(&engine, crate::types::PARTS, databases), 0)),
        false => keyspace::start::open(&engine, crate::types::PARTS, databases, seed),
    };
    let (keyspace, floor_ms) = opened.map_err(|stop| match stop.into_error() {
        Error::Reply(words) => failed(words.into_owned()),
        other => failed(other.to_string()),
    })?;
    let keyspace = Arc::new(keyspace);
    garbage.begin(Arc::clone(&keyspace));
    let run_id = run_id()?;
    let node = Arc::new(Node::new(Live::new(config), engine, keyspace, Clock::not_before(floor_ms), run_id));
    node.acl.open(&node.config.current()).map_err(ServerError::Users)?;
    if node.engine.is_shared() {
        opening::wait(&node, seed);
    } else {
        open_libraries(&node).map_err(|stop| failed(stop.to_string()))?;
    }
    Ok(node)
}

fn open_engine(
    config: &Config,
    garbage: &Arc<Garbage>,
    progress: &Progress,
) -> tarn_engine::Result<AnyEngine> {
    let filter = Arc::clone(garbage) as Arc<dyn Filter>;
    if config.engine == EngineKind::Memory {
        let engine = MemoryEngine::new(SPACES);
        engine.set_filter(filter)?;
        if !config.memory_engine_faults.is_empty() {
            engine.set_isolation(Isolation::Snapshot);
            engine.set_faults(config.memory_engine_faults.parse()?);
        }
        return Ok(AnyEngine::Memory(engine));
    }
    if config.engine == EngineKind::Tikv {
        return open_tikv(config);
    }
    let options = OpenOptions {
        dir: config.dir.clone(),
        spaces: SPACES,
        durability: durability(config.appendfsync),
        memory: config.memory().engine,
        filter: Some(filter),
        truncate_damaged_log: config.recover_truncate_log,
    };
    RocksEngine::open_telling(options, progress).map(AnyEngine::RocksDb)
}

#[cfg(feature = "tikv")]
fn open_tikv(config: &Config) -> tarn_engine::Result<AnyEngine> {
    use tarn_engine::tikv::{Options, TikvEngine};
    TikvEngine::open(&Options {
        pd_addresses: config.tikv_pd_addresses.clone(),
        prefix: config.tikv_prefix.clone(),
        timeout: std::time::Duration::from_millis(config.tikv_timeout_millis),
        // Whoever writes a key, or because of a key, has read its metadata.
        relied: vec![crate::encoding::META],
    })
    .map(AnyEngine::Tikv)
}

#[cfg(not(feature = "tikv"))]
fn open_tikv(_: &Config) -> tarn_engine::Result<AnyEngine> {
    let words = "this server was built without engine tikv; build it with the cargo feature 'tikv', as in \
                 `make run TIKV=yes`";
    Err(tarn_engine::Error::Unavailable(words.to_owned()))
}

fn durability(appendfsync: AppendFsync) -> Durability {
    match appendfsync {
        AppendFsync::Always => Durability::Always,
        AppendFsync::EverySec => Durability::EverySecond,
        AppendFsync::No => Durability::Os,
    }
}

/// What CONFIG SET changes outside the I/O threads, which look by themselves.
fn follow_config(node: &Arc<Node>) {
    crate::tls::follow_config(&node.tls, &node.config);
    descriptors::follow_config(node);
    let weak = Arc::downgrade(node);
    node.config.on_change(Box::new(move |old, new| {
        let Some(node) = weak.upgrade() else { return };
        if old.appendfsync != new.appendfsync {
            keyspace::local::set_durability(&node.engine, durability(new.appendfsync));
        }
        if old.memory() != new.memory() {
            keyspace::local::set_memory(&node.engine, new.memory().engine);
        }
        if old.notify_keyspace_events != new.notify_keyspace_events {
            node.pubsub.set_classes(new.notify_keyspace_events);
        }
        if (old.oom_score_adj, old.oom_score_adj_values) != (new.oom_score_adj, new.oom_score_adj_values) {
            oom_score::apply(new);
        }
        if old.loglevel != new.loglevel {
            crate::logging::set_level(new.loglevel);
        }
    }));
}

struct Threads {
    mailboxes: Arc<Mailboxes>,
    listener: listener::Stopper,
    listening: JoinHandle<()>,
    handshakes: Arc<Handshakes>,
    handshake_threads: Vec<JoinHandle<()>>,
    io: Vec<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
    sweeper: JoinHandle<()>,
    cleaner: JoinHandle<()>,
    opener: Option<JoinHandle<()>>,
    evictor: JoinHandle<()>,
    sweeping: Sender<()>,
}

fn start(
    node: &Arc<Node>,
    listener: Listener,
    early: Vec<Early>,
    stop: Sender<()>,
    seed: u64,
) -> Result<Threads, ServerError> {
    let config = node.config.current();
    let mut polls = Vec::new();
    let mut boxes = Vec::new();
    for _ in 0..config.io_thread_count().max(1) {
        let poll = Poll::new()?;
        boxes.push(Arc::new(Mailbox::new(Waker::new(poll.registry(), io_thread::WAKER)?)));
        polls.push(poll);
    }
    // A second request to stop finds the channel full; one is enough.
    let on_stop = Box::new(move || {
        let _ = stop.try_send(());
    });
    let mailboxes = Arc::new(Mailboxes {
        threads: boxes,
        contended_until_ms: AtomicU64::new(0),
        stand_ins: StandIns::default(),
        on_stop,
    });
    node.connect(Arc::clone(&mailboxes) as Arc<dyn crate::node::Post>);
    let (workers, worker_threads) = workers::start(node, &mailboxes, config.worker_thread_count())?;
    let mut io = Vec::new();
    for (index, (poll, mailbox)) in polls.into_iter().zip(&mailboxes.threads).enumerate() {
        let wake = Arc::clone(mailbox);
        node.engine.notify_durable(Arc::new(move || wake.durable()));
        let thread = IoThread::new(
            index,
            Arc::clone(node),
            poll,
            Arc::clone(&mailboxes),
            Arc::clone(mailbox),
            workers.clone(),
        );
        io.push(spawn(format!("io-{index}"), move || {
            if let Err(error) = thread.run() {
                fatal::end(&format!("an I/O thread ended: {error}"));
            }
        })?);
    }
    let (handshakes, handshake_threads) = handshake::start(node, &mailboxes)?;
    let handshakes = Arc::new(handshakes);
    let stopper = listener.stopper();
    let (listening_node, listening_boxes) = (Arc::clone(node), Arc::clone(&mailboxes));
    let beginning = Arc::clone(&handshakes);
    let listening = spawn("listener".to_owned(), move || {
        if let Err(error) = listener.run(&listening_node, &listening_boxes, &beginning, early) {
            fatal::end(&format!("the listener ended: {error}"));
        }
    })?;
    let (sweeping, sweep_until) = bounded(0);
    let sweeping_node = Arc::clone(node);
    let (cleaning_node, clean_until) = (Arc::clone(node), sweep_until.clone());
    let (opening_node, open_until) = (Arc::clone(node), sweep_until.clone());
    let opener = match node.engine.is_shared() {
        true => Some(spawn("opener".to_owned(), move || opening::run(&opening_node, seed, &open_until))?),
        false => None,
    };
    let (evicting_node, evict_until) = (Arc::clone(node), sweep_until.clone());
    let sweeper = spawn("sweeper".to_owned(), move || sweeper::run(sweeping_node, &sweep_until))?;
    let cleaner = spawn("cleaner".to_owned(), move || cleaner::run(&cleaning_node, &clean_until))?;
    let evictor = spawn("evictor".to_owned(), move || evictor::run(&evicting_node, &evict_until))?;
    Ok(Threads {
        mailboxes,
        listener: stopper,
        listening,
        handshakes,
        handshake_threads,
        io,
        workers: worker_threads,
        sweeper,
        cleaner,
        opener,
        evictor,
        sweeping,
    })
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(body)
}

impl Threads {
    /// No new clients; what is running ends; replies that are ready go out.
    fn end(self) {
        self.listener.stop();
        join(self.listening);
        self.handshakes.stop();
        self.handshake_threads.into_iter().for_each(join);
        drop(self.sweeping);
        join(self.sweeper);
        join(self.cleaner);
        self.opener.into_iter().for_each(join);
        join(self.evictor);
        for mailbox in &self.mailboxes.threads {
            mailbox.send(Message::Stop);
        }
        self.io.into_iter().for_each(join);
        // The I/O threads held the last handles of the workers' queue.
        self.workers.into_iter().for_each(join);
        self.mailboxes.stand_ins.threads().into_iter().for_each(join);
    }
}

fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("a thread ended by a panic");
    }
}

/// SIGTERM and SIGINT, from the first moment on.
struct Signals(Arc<SignalState>);

#[derive(Default)]
struct SignalState {
    came: AtomicBool,
    node: OnceLock<Weak<Node>>,
}

impl Signals {
    fn catch(stop: Sender<()>) -> io::Result<Signals> {
        let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
        let state = Arc::new(SignalState::default());
        let shared = Arc::clone(&state);
        spawn("signals".to_owned(), move || {
            for signal in signals.forever() {
                failpoint::reach("signals");
                tracing::info!(signal, "received a signal to stop");
                shared.came.store(true, Ordering::SeqCst);
                match shared.node.get().map(Weak::upgrade) {
                    Some(Some(node)) => node.request_stop(Stop::Signal),
                    Some(None) => return,
                    // A second one finds the channel full; one is enough.
                    None => drop(stop.try_send(())),
                }
            }
        })?;
        Ok(Signals(state))
    }

    /// From now on the node is asked to stop.
    fn connect(&self, node: &Arc<Node>) {
        let _ = self.0.node.set(Arc::downgrade(node));
        // One may have come between the loading and this.
        if self.0.came.load(Ordering::SeqCst) {
            node.request_stop(Stop::Signal);
        }
    }
}

fn wait(node: &Node, stopped: &Receiver<()>) -> Option<Stop> {
    // An error means that nobody is left to ask for a stop, which is one.
    let _ = stopped.recv();
    node.stopping()
}

fn random_u64() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

/// 40 hex digits, new at every start.
fn run_id() -> io::Result<String> {
    let mut id = String::new();
    for _ in 0..3 {
        id.push_str(&format!("{:016x}", random_u64()?));
    }
    id.truncate(40);
    Ok(id)
}
