//! A client as a line of CLIENT LIST.

use std::io::Write as _;

use crate::acl::{DEFAULT_NAME, Users};
use crate::clients::{Client, flag};
use crate::dispatch::registry::registry;

/// Names by [`crate::dispatch::registry::Registered::id`], to be made once per list.
pub fn command_names() -> Vec<&'static str> {
    registry().all().map(|command| command.full_name.as_str()).collect()
}

/// Appends the line. Numbers that Redis shows and that mean nothing here are what an idle client of Redis has.
pub fn describe(client: &Client, commands: &[&str], users: &Users, now_ms: u64, out: &mut Vec<u8>) {
    let labels = client.labels();
    let [channels, patterns, shards] = client.subscriptions();
    let secs_since = |ms: u64| now_ms.saturating_sub(ms) / 1000;
    let (query, reply, queued) = (client.query_bytes(), client.reply_bytes(), client.queued_bytes());
    let total = size_of::<Client>() + query + reply + queued + labels.name.len();
    let command = commands.get(client.command()).copied().unwrap_or("NULL");
    // Writing into a vector does not fail.
    let _ = write!(
        out,
        "id={} addr={} laddr={} fd={} name=",
        client.id, client.addr, client.local_addr, client.fd
    );
    out.extend_from_slice(&labels.name);
    let _ = write!(
        out,
        " age={} idle={} flags={} db={} sub={channels} psub={patterns} ssub={shards} multi={} watch={} qbuf={query} qbuf-free=0 argv-mem=0 multi-mem={queued} \
         rbs=0 rbp=0 obl={reply} oll=0 omem={reply} tot-mem={total} events={} cmd={command} user=",
        secs_since(client.created_ms),
        secs_since(client.last_active_ms()),
        flags(client),
        client.db(),
        client.queued(),
        client.watched(),
        if reply > 0 { "rw" } else { "r" },
    );
    out.extend_from_slice(users.by_id(client.user()).map_or(DEFAULT_NAME, |user| &user.name));
    let resp = if client.has(flag::RESP3) { 3 } else { 2 };
    let _ = write!(out, " redir={} resp={resp}", client.redirect());
    for (name, label) in [("lib-name", &labels.lib_name), ("lib-ver", &labels.lib_ver)] {
        // Redis 7.0 has no such field: it is shown once a client makes use of it.
        if !label.is_empty() {
            let _ = write!(out, " {name}=");
            out.extend_from_slice(label);
        }
    }
    if client.has(flag::FOLLOWS_REDIRECTS) {
        out.extend_from_slice(b" capa=r");
    }
    out.push(b'\n');
}

pub fn flags(client: &Client) -> String {
    let letters = [
        (flag::MONITOR, 'O'),
        (flag::PUBSUB, 'P'),
        (flag::MULTI, 'x'),
        (flag::TRACKING, 't'),
        (flag::BCAST, 'B'),
        (flag::BLOCKED, 'b'),
        (flag::WATCH_CHANGED, 'd'),
        (flag::CLOSE_AFTER_REPLY, 'c'),
        (flag::UNIX_SOCKET, 'U'),
        (flag::READONLY, 'r'),
        (flag::NO_EVICT, 'e'),
        (flag::NO_TOUCH, 'T'),
    ];
    let mut shown: String =
        letters.iter().filter(|(bit, _)| client.has(*bit)).map(|(_, letter)| *letter).collect();
    if client.is_killed() {
        shown.push('A');
    }
    if shown.is_empty() { "N".to_owned() } else { shown }
}
