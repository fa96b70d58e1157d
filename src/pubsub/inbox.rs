//! What waits for the connections of one I/O thread.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tarn_engine::Position;
use tarn_resp::Protocol;

use super::registry::{Kind, Name};

/// What waits, in order.
#[derive(Debug, Default)]
pub struct Queue {
    items: Vec<Item>,
    /// Messages one behind the other, as RESP2 has them.
    bytes: Vec<u8>,
    /// Where each message begins.
    starts: Vec<usize>,
}

#[derive(Debug)]
pub enum Item {
    Run(Run),
    /// A connection that comes from another thread with its subscriptions: it gets what is behind it, and has got what is
    /// in front of it. What it is only the threads know.
    Arrival(Box<dyn Any + Send>),
}

/// Messages in a row that the same subscribers get.
#[derive(Debug)]
pub struct Run {
    pub kind: Kind,
    pub name: Name,
    /// They may be sent once commits up to here are as durable as asked for.
    pub at: Position,
    bytes: Range<usize>,
    starts: Range<usize>,
}

/// A queue larger than this is given back once it is empty.
const KEEP_BYTES: usize = 1 << 20;
/// In place of the first byte of a message, for RESP3 clients.
const PUSH: u8 = b'>';

impl Queue {
    /// The bytes of a run, and where in them messages begin.
    pub fn messages(&self, run: &Run) -> Messages<'_> {
        let bytes = self.bytes.get(run.bytes.clone()).unwrap_or(&[]);
        let starts = self.starts.get(run.starts.clone()).unwrap_or(&[]);
        Messages { bytes, starts, base: run.bytes.start }
    }

    /// The items in order; they are gone afterwards.
    pub fn take_items(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.items)
    }

    /// Empties the queue and gives it the room of its items back.
    pub fn clear(&mut self, mut items: Vec<Item>) {
        items.clear();
        self.items = items;
        self.starts.clear();
        self.bytes.clear();
        if self.bytes.capacity() > KEEP_BYTES {
            *self = Queue::default();
        }
    }
}

/// Messages of a [`Run`].
#[derive(Debug, Clone, Copy)]
pub struct Messages<'a> {
    bytes: &'a [u8],
    starts: &'a [usize],
    base: usize,
}

impl Messages<'_> {
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    pub fn write(&self, protocol: Protocol, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(self.bytes);
        if protocol == Protocol::Resp3 {
            for start in self.starts {
                if let Some(first) = out.get_mut(begin + start - self.base) {
                    *first = PUSH;
                }
            }
        }
    }
}

#[derive(Debug, Default)]
pub struct Inbox {
    queue: Mutex<Queue>,
    some: AtomicBool,
}

impl Inbox {
    /// Whether the inbox was empty before. Called under the lock of the registry, so nobody comes between.
    pub(super) fn push(&self, kind: Kind, name: &Name, at: Position, encode: &dyn Fn(&mut Vec<u8>)) -> bool {
        let mut queue = self.queue.lock();
        let queue = &mut *queue;
        let (begin, number) = (queue.bytes.len(), queue.starts.len());
        encode(&mut queue.bytes);
        queue.starts.push(begin);
        let (end, was_empty) = (queue.bytes.len(), queue.items.is_empty());
        match queue.items.last_mut() {
            Some(Item::Run(last)) if last.kind == kind && Arc::ptr_eq(&last.name, name) => {
                last.at = last.at.max(at);
                last.bytes.end = end;
                last.starts.end = number + 1;
            }
            _ => {
                let (bytes, starts) = (begin..end, number..number + 1);
                queue.items.push(Item::Run(Run { kind, name: Arc::clone(name), at, bytes, starts }));
            }
        }
        self.note_first(was_empty)
    }

    pub(super) fn arrive(&self, connection: Box<dyn Any + Send>) -> bool {
        let mut queue = self.queue.lock();
        let was_empty = queue.items.is_empty();
        queue.items.push(Item::Arrival(connection));
        self.note_first(was_empty)
    }

    fn note_first(&self, was_empty: bool) -> bool {
        if was_empty {
            self.some.store(true, Ordering::Release);
        }
        was_empty
    }

    pub(super) fn has_some(&self) -> bool {
        self.some.load(Ordering::Acquire)
    }

    /// Whether there was something to take.
    pub(super) fn take(&self, into: &mut Queue) -> bool {
        if !self.has_some() {
            return false;
        }
        let mut queue = self.queue.lock();
        std::mem::swap(&mut *queue, into);
        self.some.store(false, Ordering::Release);
        true
    }
}
