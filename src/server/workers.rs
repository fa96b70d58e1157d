//! Threads for what may take long: cold reads, long commands, jobs of the server. Only the client that asked waits.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use tarn_engine::Position;
use tarn_resp::OwnedArgs;

use super::combine::{self, Lines};
use super::exec::{note_calls, without_waiting};
use super::mailbox::{ConnectionId, Mailboxes, Message};
use super::together;
use crate::client_memory::Reserved;
use crate::clients::Client;
use crate::dispatch::caller::Caller;
use crate::dispatch::executor::{Executor, On, Served, write_error};
use crate::dispatch::hints;
use crate::dispatch::multi::{Exec, Queued};
use crate::dispatch::registry::{Registered, registry};
use crate::dispatch::session::Job;
use crate::dispatch::spec::Flags;
use crate::dispatch::stats::{self, Ended, Notable};
use crate::dispatch::unit::{Atomic, Call, Outcome, Park, Unit, Waits, Why};
use crate::dispatch::waiters::Waiter;
use crate::dispatch::watches::{WatchedKey, Watching};
use crate::error::Error;
use crate::keyspace::{Limits, Located};
use crate::node::Node;
use crate::reply::{Arena, Chunks};

/// Threads for jobs where the others wait for a cluster.
const JOB_THREADS: usize = 2;

/// A command that left its I/O thread.
pub struct Task {
    pub connection: ConnectionId,
    pub client: Arc<Client>,
    pub caller: Caller,
    pub command: &'static Registered,
    pub words: OwnedArgs,
    pub work: Work,
    /// For its words, where they are long.
    pub reserved: Reserved,
    /// How long it may wait for room for its reply, once it has to.
    pub room_until: Option<Instant>,
}

impl Task {
    /// Why it was moved, or is to run again.
    fn why(&self) -> Option<Why> {
        match &self.work {
            Work::Keys { why, .. } | Work::Exec { why, .. } => Some(*why),
            _ => None,
        }
    }
}

pub enum Work {
    /// The command works on keys.
    Keys {
        named: usize,
        limits: Limits,
        why: Why,
        /// Its key and those of the commands behind it, to be read into memory together.
        load: OwnedArgs,
        watching: Watching,
    },
    /// Commands that came together, each by itself.
    Together {
        calls: Vec<Queued>,
        limits: Limits,
    },
    /// What was queued for EXEC.
    Exec {
        exec: Box<Exec>,
        limits: Limits,
        why: Why,
        watching: Watching,
    },
    Job(Job),
    /// As [`Work::Job`]; it waits for another server.
    Network(Job),
}

/// Threads that wait for other servers, so that no worker does. What is more waits for its turn: Redis does such work one by
/// one.
const NETWORK_THREADS: usize = 2;

/// How long a reply waits for room before its client is told that there is none.
const LONGEST_WAIT_FOR_ROOM: Duration = Duration::from_secs(10);

enum Order {
    Task(Box<Task>),
    Serve(Arc<Waiter>, Why),
    Ready(Vec<(WatchedKey, bool)>),
    Free(Chunks),
}

#[derive(Clone)]
pub struct Workers {
    queue: Arc<Sender<Order>>,
    network: Arc<Sender<Order>>,
    /// For what asks nothing of the keyspace, where those who do may all be waiting.
    jobs: Arc<Sender<Order>>,
}

impl Workers {
    pub fn submit(&self, task: Task) {
        let queue = match task.work {
            Work::Network(_) => &self.network,
            Work::Job(_) => &self.jobs,
            _ => &self.queue,
        };
        send(queue, Order::Task(Box::new(task)));
    }

    /// Frees what is left of a long reply: it takes its time.
    pub fn free(&self, chunks: Chunks) {
        if !chunks.is_empty() {
            send(&self.queue, Order::Free(chunks));
        }
    }

    /// Has the command of a client that waits run.
    pub fn serve(&self, waiter: Arc<Waiter>, why: Why) {
        send(&self.queue, Order::Serve(waiter, why));
    }

    /// Has those served who wait for keys that were changed elsewhere, and may be gone.
    pub fn ready(&self, keys: Vec<(WatchedKey, bool)>) {
        send(&self.queue, Order::Ready(keys));
    }
}

fn send(queue: &Sender<Order>, order: Order) {
    // The receivers live as long as the process takes commands.
    if queue.send(order).is_err() {
        tracing::warn!("a command came after the workers had ended");
    }
}

/// Starts the pool. It ends when the last [`Workers`] is dropped.
pub fn start(
    node: &Arc<Node>,
    mailboxes: &Arc<Mailboxes>,
    count: usize,
) -> std::io::Result<(Workers, Vec<JoinHandle<()>>)> {
    let (queue, tasks) = unbounded();
    let (network, network_tasks) = unbounded();
    let (queue, network) = (Arc::new(queue), Arc::new(network));
    let lines = Arc::new(Lines::default());
    let (jobs, job_tasks, job_count) = match node.engine.is_shared() {
        true => {
            let (jobs, tasks) = unbounded();
            (Arc::new(jobs), tasks, JOB_THREADS)
        }
        false => (Arc::clone(&queue), tasks.clone(), 0),
    };
    mailboxes.stand_ins.begin_with(stand_in(node, mailboxes, &tasks, &queue, &lines));
    let named = (0..count.max(1)).map(|i| (format!("worker-{i}"), &tasks, &queue));
    let threads = named
        .chain((0..job_count).map(|i| (format!("job-{i}"), &job_tasks, &jobs)))
        .chain((0..NETWORK_THREADS).map(|i| (format!("network-{i}"), &network_tasks, &network)))
        .map(|(name, tasks, queue)| {
            let (node, mailboxes, tasks) = (Arc::clone(node), Arc::clone(mailboxes), tasks.clone());
            let (queue, lines) = (Arc::downgrade(queue), Arc::clone(&lines));
            std::thread::Builder::new().name(name).spawn(move || {
                serve(node, &tasks, &Pool { mailboxes: &mailboxes, queue, lines: &lines });
            })
        })
        .collect::<std::io::Result<Vec<_>>>()?;
    Ok((Workers { queue, network, jobs }, threads))
}

/// Begins a worker beside the others. It holds nobody: it is kept by what it would hold.
fn stand_in(
    node: &Arc<Node>,
    mailboxes: &Arc<Mailboxes>,
    tasks: &Receiver<Order>,
    queue: &Arc<Sender<Order>>,
    lines: &Arc<Lines>,
) -> Box<dyn Fn() -> Option<JoinHandle<()>> + Send + Sync> {
    let (node, mailboxes, queue) = (Arc::downgrade(node), Arc::downgrade(mailboxes), Arc::downgrade(queue));
    let (tasks, lines) = (tasks.clone(), Arc::clone(lines));
    Box::new(move || {
        let (node, mailboxes) = (node.upgrade()?, mailboxes.upgrade()?);
        let (tasks, queue, lines) = (tasks.clone(), Weak::clone(&queue), Arc::clone(&lines));
        let body = move || {
            serve(node, &tasks, &Pool { mailboxes: &mailboxes, queue, lines: &lines });
        };
        let begun = std::thread::Builder::new().name("stand-in".to_owned()).spawn(body);
        begun.inspect_err(|error| tracing::warn!(%error, "a worker could not be begun")).ok()
    })
}

/// What a thread of the pool has beside its executor.
struct Pool<'p> {
    mailboxes: &'p Mailboxes,
    /// Not held: the pool ends with the last of those who can give it orders.
    queue: Weak<Sender<Order>>,
    lines: &'p Lines,
}

fn serve(node: Arc<Node>, orders: &Receiver<Order>, pool: &Pool<'_>) {
    let counters = node.metrics.register(registry().total());
    let mut executor = Executor::new(node, counters);
    while let Ok(order) = orders.recv() {
        match order {
            Order::Task(task) if executor.node.engine.keeps_resident() => run(&mut executor, *task, pool),
            Order::Task(task) => run_in_line(&mut executor, *task, pool),
            Order::Serve(waiter, why) => {
                executor.begin_long(false, false);
                let served = executor.serve_alone(&waiter, On::Worker(why));
                drop(executor.end_long());
                executor.node.deliver();
                if let Served::Moved(why) = served {
                    put_off(&executor, &pool.queue, Order::Serve(waiter, why));
                }
            }
            Order::Ready(keys) => {
                executor.begin_long(false, false);
                executor.serve_changed(keys);
                drop(executor.end_long());
                executor.node.deliver();
            }
            Order::Free(chunks) => drop(chunks),
        }
    }
}

/// Runs a task where others may wait for the same stripe, and those that came meanwhile.
fn run_in_line(executor: &mut Executor, task: Task, pool: &Pool<'_>) {
    let Some((task, stripe)) = pool.lines.enter(task) else { return };
    run(executor, task, pool);
    while let Some(tasks) = stripe.and_then(|stripe| pool.lines.next(stripe)) {
        let ran = combine::run(executor, pool.mailboxes, &tasks);
        tasks.into_iter().skip(ran).for_each(|task| run(executor, task, pool));
    }
}

/// Runs a task by itself, and has its client told.
fn run(executor: &mut Executor, task: Task, pool: &Pool<'_>) {
    // Nothing is taken for a client that has left before its command could begin to wait.
    if task.command.spec.flags.has(Flags::BLOCKING) && executor.node.clients.get(task.client.id).is_none() {
        return;
    }
    let connection = task.connection;
    let mut reply = Vec::new();
    let is_patient = task.room_until.is_none_or(|until| Instant::now() < until);
    let is_together = matches!(task.work, Work::Together { .. });
    executor.begin_long(is_patient && !is_together, matches!(task.work, Work::Keys { .. }));
    let performed = perform(executor, task, &mut reply);
    let mut long = executor.end_long();
    let Performed { outcome, mut exec, queued } = match performed {
        Ok(performed) => performed,
        Err(task) if task.why() == Some(Why::Room) => {
            let asked = long.asked;
            drop(long);
            return wait_for_room(executor, &pool.queue, task, asked);
        }
        Err(task) => return put_off(executor, &pool.queue, Order::Task(task)),
    };
    let wrote = match &outcome {
        Outcome::Replied { wrote } => *wrote,
        Outcome::Park(park) => park.keeps,
        Outcome::Move(_) | Outcome::Aborted => false,
    };
    let wrote = hand_on(executor, wrote).unwrap_or_else(|error| {
        reply.clear();
        long.chunks.clear();
        match &mut exec {
            Some(exec) => exec.refuse(&error),
            None => write_error(&executor.node, &executor.counters, &error, &mut reply),
        }
        None
    });
    executor.node.deliver();
    let parked = match (&outcome, queued) {
        (Outcome::Park(park), Some(queued)) => Some(Box::new((queued, Park::clone(park)))),
        _ => None,
    };
    pool.mailboxes.send(
        connection.thread,
        Message::Completed {
            connection,
            reply,
            long: Box::new(long),
            wrote,
            exec: exec.map(|exec| (exec, outcome)),
            parked,
        },
    );
}

/// A worker commits alone, so it also hands its commit on alone.
pub(super) fn hand_on(executor: &Executor, wrote: bool) -> Result<Option<Position>, Error> {
    let position = wrote.then(|| executor.node.engine.flush()).transpose();
    position.map_err(Error::Engine)
}

/// Somebody has for long what an order needs: it is run again behind that, and holds no thread until then.
fn put_off(executor: &Executor, queue: &Weak<Sender<Order>>, order: Order) {
    let queue = Weak::clone(queue);
    let again = move || {
        if let Some(queue) = queue.upgrade() {
            send(&queue, order);
        }
    };
    executor.node.locks.park(&executor.wanted, Box::new(again));
}

/// There is no room for its reply: it is run again when others are sent. It may need more than it had when it was stopped, so that it waits
/// for more.
fn wait_for_room(executor: &mut Executor, queue: &Weak<Sender<Order>>, mut task: Box<Task>, asked: usize) {
    let until = *task.room_until.get_or_insert_with(|| Instant::now() + LONGEST_WAIT_FOR_ROOM);
    let queue = Weak::clone(queue);
    let go_on = move || {
        if let Some(queue) = queue.upgrade() {
            send(&queue, Order::Task(task));
        }
    };
    let budget = executor.reply_budget();
    executor.node.reply_memory.wait(asked.saturating_mul(2), budget, until, Box::new(go_on));
}

/// What became of a task.
struct Performed {
    outcome: Outcome,
    /// EXEC, if it was one.
    exec: Option<Box<Exec>>,
    /// What is to wait.
    queued: Option<Queued>,
}

/// Runs a task; gives it back where it has to be run later.
fn perform(executor: &mut Executor, task: Task, reply: &mut Vec<u8>) -> Result<Performed, Box<Task>> {
    let Task { connection, client, caller, command, words, work, reserved, room_until } = task;
    let named = if let Work::Keys { named, .. } = &work { *named } else { 1 };
    let begun = Instant::now();
    let now_ms = executor.node.clock.now_ms();
    let (outcome, exec) = match work {
        Work::Keys { named, limits, why, load, watching } => {
            if executor.node.engine.keeps_resident() {
                hints::load_keys(&executor.node, command.spec, caller.db, load.view());
            }
            let (db, located) = (caller.db, Located::default());
            let call = Call { command, named, words: words.view(), db, located };
            if let Some(refusal) = executor.refuse_late(&caller, &call) {
                reply.extend_from_slice(&refusal);
                return Ok(Performed {
                    outcome: Outcome::Replied { wrote: false },
                    exec: None,
                    queued: None,
                });
            }
            let (calls, begun) = (std::iter::once(call), watching.clone());
            let unit = Unit {
                caller,
                calls,
                atomic: Atomic::Yes,
                watching: begun,
                waits: Waits::No,
                now_ms,
                limits: &limits,
            };
            let outcome = executor.run(&unit, On::Worker(why), reply);
            if let Outcome::Move(why) = outcome {
                let work = Work::Keys { named, limits, why, load: OwnedArgs::default(), watching };
                return Err(Box::new(Task {
                    connection,
                    client,
                    caller,
                    command,
                    words,
                    work,
                    reserved,
                    room_until,
                }));
            }
            (outcome, None)
        }
        Work::Together { calls, limits } => {
            let wrote = together::run(executor, (caller, &client), &calls, &limits, reply);
            return Ok(Performed { outcome: Outcome::Replied { wrote }, exec: None, queued: None });
        }
        Work::Exec { mut exec, limits, why, watching } => {
            let mut replies = Vec::new();
            let outcome = {
                let (calls, checked) = (exec.calls(), watching.clone());
                let unit = Unit {
                    caller,
                    calls,
                    atomic: Atomic::Yes,
                    watching: checked,
                    waits: Waits::No,
                    now_ms,
                    limits: &limits,
                };
                executor.run(&unit, On::Worker(why), &mut replies)
            };
            if let Outcome::Move(why) = outcome {
                let work = Work::Exec { exec, limits, why, watching };
                return Err(Box::new(Task {
                    connection,
                    client,
                    caller,
                    command,
                    words,
                    work,
                    reserved,
                    room_until,
                }));
            }
            exec.replies = replies;
            exec.steps.clone_from(&executor.steps);
            let outcome = without_waiting(&mut exec, outcome, caller.protocol);
            let config = executor.node.config.current();
            let times = (now_ms, begun.elapsed().as_nanos() as u64);
            note_calls(executor, (&config, &Notable::of(&config)), &exec, &client, times);
            (outcome, Some(exec))
        }
        Work::Job(job) | Work::Network(job) => {
            match job(&executor.node) {
                Ok(answer) => answer.write(caller.protocol, &Arena::new(), reply),
                Err(stop) => {
                    if let Some(counters) = executor.counters.command(command.id) {
                        counters.failed.add(1);
                    }
                    write_error(&executor.node, &executor.counters, &stop.into_error(), reply);
                }
            }
            (Outcome::Replied { wrote: false }, None)
        }
    };
    let nanos = begun.elapsed().as_nanos() as u64;
    let reply_len = reply.len() + executor.long_len();
    let ended = Ended { command, words: words.view(), client: &client, now_ms, nanos, reply_len };
    let config = executor.node.config.current();
    stats::note(&executor.node, &config, &Notable::of(&config), &executor.counters, &ended);
    let is_parked = matches!(outcome, Outcome::Park(_));
    let queued = is_parked.then_some(Queued {
        command,
        named,
        words,
        located: Located::default(),
        db: caller.db,
        refused: None,
    });
    Ok(Performed { outcome, exec, queued })
}
