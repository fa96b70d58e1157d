//! The connections of one I/O thread: where each is, and which of them want something.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::connection::Connection;

#[derive(Default)]
pub struct Connections {
    slots: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    /// To read from in this round.
    ready: Vec<usize>,
    /// Have something to send at the end of this round.
    pub to_send: Vec<usize>,
    /// Their replies wait for durability.
    pub held: Vec<usize>,
    /// When to look again at a connection, by its place and its client.
    timers: BinaryHeap<Reverse<(Instant, usize, u64)>>,
}

impl Connections {
    pub fn get(&self, place: usize) -> Option<&Connection> {
        self.slots.get(place)?.as_deref()
    }

    pub fn get_mut(&mut self, place: usize) -> Option<&mut Connection> {
        self.slots.get_mut(place)?.as_deref_mut()
    }

    /// The connection at a place, if it is still this client's.
    pub fn of_client(&mut self, place: usize, client: u64) -> Option<&mut Connection> {
        self.get_mut(place).filter(|connection| connection.session.client.id == client)
    }

    /// Every connection with its place.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Connection)> {
        let slots = self.slots.iter_mut().enumerate();
        slots.filter_map(|(place, slot)| Some((place, slot.as_deref_mut()?)))
    }

    /// Places are below this.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// A place that nobody has.
    pub fn reserve(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        })
    }

    /// Gives a place back.
    pub fn release(&mut self, place: usize) {
        self.free.push(place);
    }

    /// Takes a connection out; its place stays its own until it is put back or the place is released.
    #[inline]
    pub fn take(&mut self, place: usize) -> Option<Box<Connection>> {
        self.slots.get_mut(place)?.take()
    }

    #[inline]
    pub fn put(&mut self, place: usize, connection: Box<Connection>) {
        if let Some(slot) = self.slots.get_mut(place) {
            *slot = Some(connection);
        }
    }

    /// It is to be read from, or has commands that may go on.
    pub fn enqueue(&mut self, place: usize) {
        if let Some(connection) = self.slots.get_mut(place).and_then(Option::as_mut) {
            mark_ready(&mut self.ready, connection, place);
        }
    }

    /// As [`Connections::enqueue`], of one that was taken out.
    #[inline]
    pub fn enqueue_taken(&mut self, connection: &mut Connection, place: usize) {
        mark_ready(&mut self.ready, connection, place);
    }

    #[inline]
    pub fn take_ready(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.ready)
    }

    /// Gives the room of a list back that was taken, if it is not needed meanwhile.
    #[inline]
    pub fn give_back_ready(&mut self, ready: Vec<usize>) {
        if self.ready.is_empty() {
            self.ready = ready;
        }
    }

    /// Whether something can be done without waiting.
    pub fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.to_send.is_empty()
    }

    pub fn wake_at(&mut self, at: Instant, place: usize, client: u64) {
        self.timers.push(Reverse((at, place, client)));
    }

    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next connection whose time has come: its place and its client.
    pub fn due(&mut self, now: Instant) -> Option<(usize, u64)> {
        self.next_timer().filter(|at| *at <= now)?;
        self.timers.pop().map(|Reverse((_, place, client))| (place, client))
    }
}

fn mark_ready(ready: &mut Vec<usize>, connection: &mut Connection, place: usize) {
    if !connection.queued {
        connection.queued = true;
        ready.push(place);
    }
}
