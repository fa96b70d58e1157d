//! What an I/O thread does for its subscribers: handing them what waits in its inbox, and changing what they listen to.

use std::any::Any;
use std::sync::Arc;

use tarn_resp::{Args as Words, Protocol, encode};

use super::connection::{Connection, State};
use super::io_thread::IoThread;
use crate::config::{Config, OutputLimit};
use crate::pubsub::{Change, Changed, Item, Kind, Name, Queue, Registry, Subscribers, Subscriptions};
use crate::tracking::{Item as NewsItem, News};

/// What an I/O thread keeps for its subscribers.
#[derive(Default)]
pub(super) struct Deliveries {
    /// Which connections listen to what.
    subscribers: Subscribers,
    /// Messages on their way from the inbox to connections; empty in between.
    received: Queue,
}

/// What has waited for the reply of a worker.
pub(super) fn write_what_is_late(connection: &mut Connection) {
    let is_listening = !connection.session.subscriptions.is_empty();
    for item in std::mem::take(&mut connection.late_news) {
        write_news(&item, connection.session.protocol, is_listening, &mut connection.output);
    }
    let messages = std::mem::take(&mut connection.late_messages);
    connection.output.extend_from_slice(&messages);
}

/// What a client is told of keys that it caches. RESP2 has no messages but those of channels.
fn write_news(item: &NewsItem, protocol: Protocol, is_listening: bool, out: &mut Vec<u8>) {
    if protocol == Protocol::Resp3 {
        encode::push_len(out, protocol, 2);
        if let News::RedirectBroken(other) = &item.news {
            encode::bulk(out, b"tracking-redir-broken");
            return encode::integer(out, *other as i64);
        }
        encode::bulk(out, b"invalidate");
    } else if item.redirected && is_listening {
        encode::array_len(out, 3);
        encode::bulk(out, b"message");
        encode::bulk(out, INVALIDATED.as_bytes());
    } else {
        return;
    }
    match &item.news {
        News::Changed(keys) => {
            encode::array_len(out, keys.len());
            keys.iter().for_each(|key| encode::bulk(out, key));
        }
        News::Flushed | News::RedirectBroken(_) => encode::null(out, protocol),
    }
}

/// The channel on which clients of RESP2 are told.
const INVALIDATED: &str = "__redis__:invalidate";

/// The connection that is being served, and its place: it is not among the others meanwhile.
pub(super) type Served<'s> = Option<(&'s mut Connection, usize)>;

impl IoThread {
    /// Tells this thread's clients which keys that they cache were changed.
    pub(super) fn invalidate(&mut self, mut served: Served<'_>) {
        for item in self.node.tracking.take(self.index) {
            let (place, id) = (item.client.place(), item.client.id);
            let connection = match &mut served {
                Some((connection, _)) if connection.session.client.id == id => Some(&mut **connection),
                _ => self.connections.of_client(place, id),
            };
            let Some(connection) = connection else {
                // It is on its way to another thread, or gone.
                if self.node.clients.get(id).is_some() {
                    self.node.tracking.put(item);
                    self.node.deliver();
                }
                continue;
            };
            // It may have read the key before it was changed, and its reply has not come yet.
            if matches!(connection.state, State::Working) {
                connection.late_news.push(item);
                continue;
            }
            let waiting = connection.unsent();
            let is_listening = !connection.session.subscriptions.is_empty();
            write_news(&item, connection.session.protocol, is_listening, &mut connection.output);
            if waiting == 0 {
                self.connections.to_send.push(place);
            }
        }
    }

    /// Hands on what waits for this thread's subscribers.
    pub(super) fn deliver(&mut self, mut served: Served<'_>) {
        if self.node.tracking.has_some(self.index) {
            self.invalidate(served.as_mut().map(|(connection, place)| (&mut **connection, *place)));
        }
        if self.node.pubsub.has_some(self.index) {
            let mut queue = std::mem::take(&mut self.deliveries.received);
            self.node.pubsub.take(self.index, &mut queue);
            self.hand_out(&mut queue, served);
            self.deliveries.received = queue;
        }
    }

    fn hand_out(&mut self, queue: &mut Queue, mut served: Served<'_>) {
        let durable = self.node.engine.durable();
        let mut items = queue.take_items();
        for item in items.drain(..) {
            let run = match item {
                Item::Run(run) => run,
                Item::Arrival(connection) => {
                    self.welcome(connection);
                    continue;
                }
            };
            // Sent at the end of the round, when these commits will have been handed on.
            self.pipeline.wrote |= run.at > durable;
            let messages = queue.messages(&run);
            for place in self.deliveries.subscribers.of(run.kind, &run.name) {
                let connection = match &mut served {
                    Some((connection, its)) if *its == place => &mut **connection,
                    _ => match self.connections.get_mut(place) {
                        Some(connection) => connection,
                        None => continue,
                    },
                };
                if !connection.session.follow_users(&self.node.acl) {
                    connection.dead = true;
                    self.connections.to_send.push(place);
                    continue;
                }
                let waiting = connection.unsent();
                // What a command told its own client comes behind its reply, which a worker has.
                let out = match connection.state {
                    State::Working => &mut connection.late_messages,
                    _ => &mut connection.output,
                };
                messages.write(connection.session.protocol, out);
                // What waits already is on a list, unless it is too much.
                if waiting == 0 || connection.is_over(&self.config.client_output_buffer_limit.pubsub) {
                    self.connections.to_send.push(place);
                }
            }
        }
        queue.clear(items);
    }

    /// A connection that has come from another thread with its subscriptions.
    fn welcome(&mut self, connection: Box<dyn Any + Send>) {
        let Ok(connection) = connection.downcast::<Connection>() else { return };
        let subscribed = subscribed(&connection);
        if let Some(place) = self.adopt(connection) {
            for (kind, name) in &subscribed {
                self.deliveries.subscribers.add(*kind, name, place);
            }
            return;
        }
        // It is gone, and so is who was counted on this thread.
        let mut queue = Queue::default();
        let thread = self.index;
        self.node.pubsub.change(thread, &mut queue, |registry| {
            subscribed.iter().for_each(|(kind, name)| registry.remove(*kind, name, thread));
        });
        self.hand_out(&mut queue, None);
    }

    /// Hands a connection that listens on to another thread.
    pub(super) fn hand_over(&mut self, place: usize, thread: usize) {
        let Some(connection) = self.connections.get(place) else { return };
        let (subscribed, node) = (subscribed(connection), Arc::clone(&self.node));
        let mut queue = std::mem::take(&mut self.deliveries.received);
        node.pubsub.hand_over(
            (self.index, thread),
            &subscribed,
            |waiting| {
                self.hand_out(waiting, None);
                for (kind, name) in &subscribed {
                    self.deliveries.subscribers.remove(*kind, name, place);
                }
                let connection = self.release(place, thread)?;
                Some(connection as Box<dyn Any + Send>)
            },
            &mut queue,
        );
        self.deliveries.received = queue;
    }

    /// Changes what a connection listens to and confirms it. Everything that was published before is handed out first.
    pub(super) fn change_subscriptions(
        &mut self,
        connection: &mut Connection,
        place: usize,
        change: Change,
        names: Words<'_>,
    ) {
        let mut confirmations = Vec::new();
        let (protocol, thread) = (connection.session.protocol, self.index);
        let changed = self.alter(connection, place, |subscriptions, registry| {
            subscriptions.change(registry, thread, change, names, (protocol, &mut confirmations))
        });
        for Changed { kind, name } in &changed {
            if change.subscribes {
                self.deliveries.subscribers.add(*kind, name, place);
            } else {
                self.deliveries.subscribers.remove(*kind, name, place);
            }
        }
        connection.output.extend_from_slice(&confirmations);
    }

    /// Ends all subscriptions of a connection, without a word to it.
    pub(super) fn end_subscriptions(&mut self, connection: &mut Connection, place: usize) {
        if connection.session.subscriptions.is_empty() {
            return;
        }
        let thread = self.index;
        let changed =
            self.alter(connection, place, |subscriptions, registry| subscriptions.clear(registry, thread));
        for Changed { kind, name } in &changed {
            self.deliveries.subscribers.remove(*kind, name, place);
        }
    }

    fn alter(
        &mut self,
        connection: &mut Connection,
        place: usize,
        change: impl FnOnce(&mut Subscriptions, &mut Registry) -> Vec<Changed>,
    ) -> Vec<Changed> {
        let mut queue = std::mem::take(&mut self.deliveries.received);
        let subscriptions = &mut connection.session.subscriptions;
        let changed =
            self.node.pubsub.change(self.index, &mut queue, |registry| change(subscriptions, registry));
        self.node.nodes.want_anew();
        // To those who listened until now: messages that come later are not in this queue.
        self.hand_out(&mut queue, Some((connection, place)));
        self.deliveries.received = queue;
        let counts = Kind::ALL.map(|kind| connection.session.subscriptions.count(kind));
        connection.session.client.set_subscriptions(counts);
        changed
    }
}

/// Everything a connection listens to.
fn subscribed(connection: &Connection) -> Vec<(Kind, Name)> {
    let subscriptions = &connection.session.subscriptions;
    let names = |kind: Kind| subscriptions.names(kind).map(move |name| (kind, Name::clone(name)));
    Kind::ALL.into_iter().flat_map(names).collect()
}

/// How much may wait for a connection.
pub(super) fn output_limit<'c>(config: &'c Config, connection: &Connection) -> &'c OutputLimit {
    let limits = &config.client_output_buffer_limit;
    if connection.session.subscriptions.is_empty() { &limits.normal } else { &limits.pubsub }
}
