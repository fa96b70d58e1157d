//! What happened to keys, noted by whoever did it and told to subscribers after the commit, in the order of commits.
//!
//! A handler notes an event with [`WriteCx::notify`] and need not ask whether anybody listens: where nobody does, that is
//! one test of a flag. What a run notes that is not committed is forgotten with it. Some events note themselves: `new`
//! where a key is stored that was not there, `del` where one is removed ([`super::entry::remove`], also with the last
//! element of a collection), `expired` where its time has come, `keymiss` where [`super::entry::find_counted`] finds nothing,
//! `overwritten` and `type_changed` where a collection takes the place of something else.

use super::context::{Db, Env, View, WriteCx};
use super::effects::Effect;
use crate::config::Events;

/// An event of one class, by the name Redis gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub class: Events,
    pub name: &'static str,
}

macro_rules! events {
    ($($class:ident: $($constant:ident $name:literal),+;)+) => {
        impl Event {
            $($(pub const $constant: Event = Event { class: Events::$class, name: $name };)+)+
        }
    };
}

events! {
    GENERIC: DEL "del", EXPIRE "expire", PERSIST "persist", RENAME_FROM "rename_from", RENAME_TO "rename_to",
        MOVE_FROM "move_from", MOVE_TO "move_to", COPY_TO "copy_to", RESTORE "restore";
    STRING: SET "set", SETRANGE "setrange", APPEND "append", INCRBY "incrby",
        INCRBYFLOAT "incrbyfloat", SETBIT "setbit", PFADD "pfadd";
    LIST: LPUSH "lpush", RPUSH "rpush", LPOP "lpop", RPOP "rpop", LINSERT "linsert", LSET "lset", LREM "lrem",
        LTRIM "ltrim", SORTSTORE "sortstore";
    SET: SADD "sadd", SREM "srem", SPOP "spop", SINTERSTORE "sinterstore", SUNIONSTORE "sunionstore",
        SDIFFSTORE "sdiffstore";
    HASH: HSET "hset", HDEL "hdel", HINCRBY "hincrby", HINCRBYFLOAT "hincrbyfloat", HEXPIRE "hexpire",
        HEXPIRED "hexpired", HPERSIST "hpersist";
    ZSET: ZADD "zadd", ZINCR "zincr", ZREM "zrem", ZPOPMIN "zpopmin", ZPOPMAX "zpopmax",
        ZREMRANGEBYRANK "zremrangebyrank", ZREMRANGEBYSCORE "zremrangebyscore", ZREMRANGEBYLEX "zremrangebylex",
        ZRANGESTORE "zrangestore", ZUNIONSTORE "zunionstore", ZINTERSTORE "zinterstore", ZDIFFSTORE "zdiffstore",
        GEOSEARCHSTORE "geosearchstore", GEORADIUSSTORE "georadiusstore";
    STREAM: XADD "xadd", XDEL "xdel", XTRIM "xtrim", XSETID "xsetid", XGROUP_CREATE "xgroup-create",
        XGROUP_CREATECONSUMER "xgroup-createconsumer", XGROUP_DELCONSUMER "xgroup-delconsumer",
        XGROUP_DESTROY "xgroup-destroy", XGROUP_SETID "xgroup-setid";
    EXPIRED: EXPIRED "expired";
    NEW: NEW "new";
    KEY_MISS: KEY_MISS "keymiss";
    OVERWRITTEN: OVERWRITTEN "overwritten";
    TYPE_CHANGED: TYPE_CHANGED "type_changed";
    EVICTED: EVICTED "evicted";
}

/// Something to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    Key {
        event: Event,
        db: u16,
        key: Box<[u8]>,
        /// The fields it happened to, each behind its length as subkey notifications spell it; empty: they are not asked for.
        fields: Vec<Box<[u8]>>,
    },
    Message {
        /// Of a channel that belongs to a slot.
        shard: bool,
        channel: Box<[u8]>,
        message: Box<[u8]>,
    },
}

/// Expired keys that one command remembers; the sweeper finds the others.
const MAX_LAPSED: usize = 16;

impl Env<'_> {
    /// Whether anybody subscribes to anything: what [`WriteCx::publish`] is given need not be made otherwise.
    #[inline]
    pub fn has_subscribers(&self) -> bool {
        self.events.contains(Events::SUBSCRIBED)
    }
}

impl WriteCx<'_> {
    /// Something happened to a key of the context's database.
    #[inline]
    pub fn notify(&mut self, event: Event, key: &[u8]) {
        if self.env.events.contains(event.class) {
            let db = self.env.db;
            note(self, event, db, key);
        }
    }

    /// Something happened to a key of any database.
    #[inline]
    pub fn notify_in(&mut self, db: Db, event: Event, key: &[u8]) {
        if self.env.events.contains(event.class) {
            note(self, event, db, key);
        }
    }

    /// Whether somebody asks for the fields that such an event happens to.
    pub fn tells_fields(&self, event: Event) -> bool {
        self.env.events.contains(event.class) && self.env.events.intersects(Events::SUBKEY_CHANNELS)
    }

    /// As [`WriteCx::notify`], with the fields it happened to, in order; duplicates stay. Call it once per event: it tells
    /// those who ask for keys as well.
    #[inline]
    pub fn notify_fields<'f>(
        &mut self,
        event: Event,
        key: &[u8],
        fields: impl IntoIterator<Item = &'f [u8]>,
    ) {
        let db = self.env.db;
        self.notify_fields_in(db, event, key, fields);
    }

    /// As [`WriteCx::notify_fields`], of a key of any database.
    #[inline]
    pub fn notify_fields_in<'f>(
        &mut self,
        db: Db,
        event: Event,
        key: &[u8],
        fields: impl IntoIterator<Item = &'f [u8]>,
    ) {
        if self.env.events.contains(event.class) {
            let asked = self.tells_fields(event);
            let fields = if asked { fields.into_iter().map(Box::from).collect() } else { Vec::new() };
            note_fields(self, event, db, key, fields);
        }
    }

    /// A message to a channel, whatever `notify-keyspace-events` says. See [`Env::has_subscribers`].
    pub fn publish(&mut self, channel: &[u8], message: &[u8]) {
        if self.env.has_subscribers() {
            let message = Note::Message { shard: false, channel: channel.into(), message: message.into() };
            self.effects.list.push(Effect::Tell(message));
        }
    }
}

#[cold]
fn note(cx: &mut impl View, event: Event, db: Db, key: &[u8]) {
    note_fields(cx, event, db, key, Vec::new());
}

fn note_fields(cx: &mut impl View, event: Event, db: Db, key: &[u8], fields: Vec<Box<[u8]>>) {
    let (db, effects) = (db.logical, cx.effects());
    let (first, list) = (effects.call, &mut effects.list);
    let noted = Effect::Tell(Note::Key { event, db, key: key.into(), fields });
    // A key that goes with its last element is deleted behind what took the element.
    let last = list.iter().rposition(|effect| matches!(effect, Effect::Tell(_)));
    match last {
        Some(at) if at >= first && list.get(at).is_some_and(|last| last.is(Event::DEL, db, key)) => {
            list.insert(at, noted)
        }
        _ => list.push(noted),
    }
}

/// A read found no such key.
#[inline]
pub(super) fn missed(cx: &mut impl View, key: &[u8]) {
    if cx.env().events.contains(Events::KEY_MISS) {
        let db = cx.env().db;
        note(cx, Event::KEY_MISS, db, key);
    }
}

/// Remembers a key whose time has come, if anybody wants to know that it is gone.
#[cold]
pub(super) fn remember_lapsed(cx: &mut impl View, db: Db, key: &[u8]) {
    let wanted = cx.env().events.contains(Events::EXPIRED);
    let lapsed = &mut cx.effects().lapsed;
    if wanted && lapsed.len() < MAX_LAPSED {
        lapsed.push((db.logical, key.into()));
    }
}

impl Effect {
    fn is(&self, wanted: Event, in_db: u16, of: &[u8]) -> bool {
        let Effect::Tell(Note::Key { event, db, key, .. }) = self else { return false };
        *event == wanted && *db == in_db && **key == *of
    }
}

impl Note {
    /// Shows the messages that this is, to those who ask for these classes: first the channel, then what is said there.
    pub fn each_message(&self, classes: Events, each: &mut dyn FnMut(&[u8], &[u8])) {
        match self {
            Note::Message { channel, message, .. } => each(channel, message),
            Note::Key { event, db, key, fields } => {
                let name = event.name.as_bytes();
                if classes.contains(Events::KEYSPACE) {
                    each(&channel("__keyspace@", *db, &[key]), name);
                }
                if classes.contains(Events::KEYEVENT) {
                    each(&channel("__keyevent@", *db, &[name]), key);
                }
                if !fields.is_empty() {
                    each_field_message(classes, *db, name, key, fields, each);
                }
            }
        }
    }
}

fn each_field_message(
    classes: Events,
    db: u16,
    name: &[u8],
    key: &[u8],
    fields: &[Box<[u8]>],
    each: &mut dyn FnMut(&[u8], &[u8]),
) {
    let mut listed = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        listed.extend_from_slice(if i == 0 { b"" } else { b"," });
        push_counted(&mut listed, field);
    }
    if classes.contains(Events::SUBKEYSPACE) {
        each(&channel("__subkeyspace@", db, &[key]), &[name, b"|", &listed].concat());
    }
    if classes.contains(Events::SUBKEYEVENT) {
        let mut message = Vec::new();
        push_counted(&mut message, key);
        message.push(b'|');
        message.extend_from_slice(&listed);
        each(&channel("__subkeyevent@", db, &[name]), &message);
    }
    // The line end parts key and field, so a key that holds one is left out, as Redis leaves it out.
    if classes.contains(Events::SUBKEYSPACEITEM) && !key.contains(&b'\n') {
        for field in fields {
            each(&channel("__subkeyspaceitem@", db, &[key, b"\n", field]), name);
        }
    }
    if classes.contains(Events::SUBKEYSPACEEVENT) {
        each(&channel("__subkeyspaceevent@", db, &[name, b"|", key]), &listed);
    }
}

fn push_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(itoa::Buffer::new().format(bytes.len()).as_bytes());
    out.push(b':');
    out.extend_from_slice(bytes);
}

fn channel(prefix: &str, db: u16, rest: &[&[u8]]) -> Vec<u8> {
    let mut name = Vec::with_capacity(prefix.len() + 8 + rest.iter().map(|part| part.len()).sum::<usize>());
    name.extend_from_slice(prefix.as_bytes());
    name.extend_from_slice(itoa::Buffer::new().format(db).as_bytes());
    name.extend_from_slice(b"__:");
    rest.iter().for_each(|part| name.extend_from_slice(part));
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(classes: &str, note: &Note) -> Vec<String> {
        let mut shown = Vec::new();
        note.each_message(Events::parse(classes.as_bytes()).unwrap(), &mut |channel, message| {
            shown.push(format!("{} {}", channel.escape_ascii(), message.escape_ascii()));
        });
        shown
    }

    #[test]
    fn an_event_is_told_to_keys_and_to_events() {
        let key = |fields: &[&str]| Note::Key {
            event: Event::HSET,
            db: 3,
            key: b"a|b"[..].into(),
            fields: fields.iter().map(|field| field.as_bytes().into()).collect(),
        };
        assert_eq!(messages("KEh", &key(&[])), ["__keyspace@3__:a|b hset", "__keyevent@3__:hset a|b"]);
        assert_eq!(messages("Eh", &key(&[])), ["__keyevent@3__:hset a|b"]);
        assert_eq!(messages("h", &key(&["f"])), [""; 0]);
        assert_eq!(
            messages("STIVh", &key(&["f", "g,h", "f"])),
            [
                "__subkeyspace@3__:a|b hset|1:f,3:g,h,1:f",
                "__subkeyevent@3__:hset 3:a|b|1:f,3:g,h,1:f",
                r"__subkeyspaceitem@3__:a|b\nf hset",
                r"__subkeyspaceitem@3__:a|b\ng,h hset",
                r"__subkeyspaceitem@3__:a|b\nf hset",
                "__subkeyspaceevent@3__:hset|a|b 1:f,3:g,h,1:f",
            ]
        );
        let lined =
            Note::Key { event: Event::HDEL, db: 0, key: b"a\nb"[..].into(), fields: vec![b"f"[..].into()] };
        assert_eq!(messages("Ih", &lined), [""; 0]);
    }

    #[test]
    fn a_message_is_told_whatever_is_asked_for() {
        let note = Note::Message { shard: false, channel: b"c"[..].into(), message: b""[..].into() };
        assert_eq!(messages("", &note), ["c "]);
    }
}
