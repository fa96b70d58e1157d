//! MIGRATE: keys go to another server.
//!
//! Nobody waits for the other server but the client that asked: no lock is held and no transaction is open while bytes are under
//! way. So a key may be changed meanwhile, and what was sent is then not what it holds. That is watched, as WATCH does: the key
//! goes only if it is still what was sent, looked at and deleted under its lock. Otherwise it stays and the client is told. A key is
//! in two places at worst, and never in none.
//!
//! Keys are sent in batches of bounded memory, each read at one moment.

mod target;

use std::sync::Arc;
use std::time::Duration;

use crate::config::AppendFsync;
use crate::dispatch::executor::Executor;
use crate::dispatch::locks::StripeSet;
use crate::dispatch::watches::Watch;
use crate::error::{Error, Result, shown};
use crate::keyspace::{View as _, entry, local};
use crate::node::Node;
use crate::reply::Reply;
use crate::types::dump;
use target::Target;

/// Bytes of payloads that are sent before their answers are read, and keys.
const BATCH_BYTES: usize = 1 << 20;
const BATCH_KEYS: usize = 64;

/// What is to be done.
#[derive(Debug)]
pub struct Order {
    pub host: Box<[u8]>,
    pub port: u16,
    /// Of the other server.
    pub to_db: i64,
    /// How long each step of the way may take.
    pub timeout: Duration,
    /// The keys stay here.
    pub copy: bool,
    /// What the other server has under their names goes.
    pub replace: bool,
    /// The words behind AUTH; none: it does not ask who we are.
    pub auth: Vec<Box<[u8]>>,
    pub keys: Vec<Box<[u8]>>,
    /// Of this server.
    pub db: u16,
}

/// A key that was sent.
struct Sent<'o> {
    key: &'o [u8],
    watch: Arc<Watch>,
}

/// What went wrong with single keys; the first of it is told.
#[derive(Default)]
struct Troubles(Option<Error>);

impl Troubles {
    fn note(&mut self, error: impl FnOnce() -> Error) {
        self.0.get_or_insert_with(error);
    }
}

pub fn run(node: &Arc<Node>, order: &Order) -> Result<Reply> {
    let mut executor = Executor::uncounted(node);
    let keys = executor.look(order.db, |cx| {
        let mut there = Vec::new();
        for key in &order.keys {
            if entry::find_aside(cx, key)?.exists() {
                there.push(&**key);
            }
            cx.arena().clear();
        }
        Ok(there)
    })?;
    if keys.is_empty() {
        return Ok(Reply::Simple("NOKEY"));
    }
    let mut target = Target::connect(node, &order.host, order.port, order.timeout)?;
    if !order.auth.is_empty() {
        let words = std::iter::once(&b"AUTH"[..]).chain(order.auth.iter().map(|word| &**word));
        target.send(words)?;
        target.answer()?.map_err(refused)?;
    }
    target.send([&b"SELECT"[..], order.to_db.to_string().as_bytes()])?;
    target.answer()?.map_err(refused)?;
    let (mut left, mut troubles) = (keys.as_slice(), Troubles::default());
    while !left.is_empty() {
        let batch = left.get(..BATCH_KEYS).unwrap_or(left);
        let watched: Vec<(&[u8], Arc<Watch>)> = batch.iter().map(|key| (*key, Arc::default())).collect();
        let moved = move_batch(&mut executor, &mut target, order, &watched, &mut troubles);
        watched.iter().for_each(|(_, watch)| node.watches.remove(watch));
        left = left.get(moved?..).unwrap_or_default();
    }
    match troubles.0 {
        Some(error) => Err(error.into()),
        None => Ok(Reply::OK),
    }
}

/// Moves the first keys of these; how many that were.
fn move_batch(
    executor: &mut Executor,
    target: &mut Target<'_>,
    order: &Order,
    watched: &[(&[u8], Arc<Watch>)],
    troubles: &mut Troubles,
) -> Result<usize> {
    let (mut sent, mut bytes) = (Vec::new(), Vec::new());
    let taken = executor.look_watching(order.db, watched, |cx| {
        for (place, (key, watch)) in watched.iter().enumerate() {
            if bytes.len() >= BATCH_BYTES {
                return Ok(place);
            }
            cx.arena().clear();
            let found = entry::find(cx, key)?;
            if !found.exists() {
                continue;
            }
            let payload = dump::dump(cx, &found)?;
            let ttl_ms = match found.expire_at_ms() {
                0 => 0,
                at_ms => at_ms.saturating_sub(cx.env.now_ms).max(1),
            };
            let command: &[u8] = if cx.env.cluster_enabled { b"RESTORE-ASKING" } else { b"RESTORE" };
            let ttl = ttl_ms.to_string();
            let words = [command, key, ttl.as_bytes(), &payload];
            let replace = order.replace.then_some(&b"REPLACE"[..]);
            target::encode(&mut bytes, words.into_iter().chain(replace));
            sent.push(Sent { key, watch: Arc::clone(watch) });
        }
        Ok(watched.len())
    })?;
    target.write(&bytes)?;
    let (mut acknowledged, mut failure) = (Vec::new(), None);
    for sent in sent {
        match target.answer() {
            Ok(Ok(())) => acknowledged.push(sent),
            Ok(Err(words)) => troubles.note(|| refused(words)),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    // What was taken over goes, whatever became of the others.
    if !order.copy {
        delete(executor, order, &acknowledged, troubles)?;
    }
    failure.map_or(Ok(taken), |error| Err(error.into()))
}

/// Deletes keys that are still what was sent.
fn delete(
    executor: &mut Executor,
    order: &Order,
    acknowledged: &[Sent<'_>],
    troubles: &mut Troubles,
) -> Result<()> {
    if acknowledged.is_empty() {
        return Ok(());
    }
    for Sent { key, watch } in acknowledged {
        let deleted = executor.transact(&StripeSet::of(key), order.db, |cx| {
            if watch.is_changed(cx)? {
                return Ok(false);
            }
            let found = entry::find(cx, key)?;
            entry::remove(cx, &found)?;
            Ok(true)
        })?;
        if !deleted {
            troubles.note(|| {
                Error::about(
                    "TRYAGAIN Key '",
                    key,
                    "' was changed while it was migrated: it stays, the target has an older one",
                )
            });
        }
    }
    let node = &executor.node;
    node.engine.flush()?;
    if node.config.current().appendfsync == AppendFsync::Always {
        local::sync(&node.engine)?;
    }
    Ok(())
}

/// The other server did not want it.
fn refused(words: Vec<u8>) -> Error {
    Error::reply(format!("ERR Target instance replied with error: {}", shown(&words)))
}
