//! Who is in the cluster, and which slots clients are to send to whom: this node alone, or all that are there on the same data.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use super::check_enabled;
use crate::clients::flag;
use crate::config::limits::BUS_PORT_OFFSET;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::encoding::slot::SLOTS;
use crate::encoding::system::Member as Row;
use crate::error::{Error, Result};
use crate::nodes::slots::share;
use crate::reply::Reply;

/// The epoch of a cluster that has never changed.
const EPOCH: u64 = 1;

/// A node as clients are told of it.
struct Shown {
    id: String,
    is_own: bool,
    /// Whether this node has a link to it.
    is_linked: bool,
    /// Empty where it is not known: clients then use the address they connected to.
    ip: String,
    hostname: String,
    /// Of the kind that the client came by.
    port: u16,
    /// With TLS and without; zero for none.
    tls_port: u16,
    plain_port: u16,
    bus_port: u32,
    slots: Option<RangeInclusive<u16>>,
}

/// Everybody who is there, by name.
fn all(cx: &SessionCx<'_>) -> Vec<Shown> {
    let members = cx.node.nodes.members();
    if members.len() < 2 {
        return vec![alone(cx)];
    }
    let links = cx.node.nodes.shown();
    let shown = members.iter().enumerate().map(|(place, member)| {
        let is_linked = links.iter().any(|link| link.is_own && link.id == member.id);
        let slots = share(place, members.len());
        shown(cx, member.name().to_owned(), &member.row, u32::from(member.row.link_port), is_linked, slots)
    });
    shown.collect()
}

fn alone(cx: &SessionCx<'_>) -> Shown {
    let config = cx.node.config.current();
    let announced = |announced: u16, own: u16| if announced == 0 { own } else { announced };
    let row = Row {
        port: announced(config.cluster_announce_port, config.port),
        tls_port: announced(config.cluster_announce_tls_port, config.tls_port),
        host: config.cluster_announce_ip.clone(),
        hostname: config.cluster_announce_hostname.clone(),
        ..Row::default()
    };
    let mut shown = shown(cx, cx.node.run_id.clone(), &row, 0, true, share(0, 1));
    shown.bus_port = u32::from(shown.port) + u32::from(BUS_PORT_OFFSET);
    shown
}

fn shown(
    cx: &SessionCx<'_>,
    id: String,
    row: &Row,
    bus_port: u32,
    is_linked: bool,
    slots: Option<RangeInclusive<u16>>,
) -> Shown {
    let is_own = id == cx.node.run_id;
    Shown {
        is_own,
        id,
        is_linked: is_linked || is_own,
        ip: row.host.clone(),
        hostname: row.hostname.clone(),
        port: if cx.session.client.has(flag::TLS) { row.tls_port } else { row.port },
        tls_port: row.tls_port,
        plain_port: row.port,
        bus_port,
        slots,
    }
}

pub fn info(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let nodes = all(cx).len();
    let counters = &cx.node.nodes.counters;
    let (sent, received) = (counters.sent.load(Ordering::Relaxed), counters.received.load(Ordering::Relaxed));
    let text = format!(
        "cluster_state:ok\r\ncluster_slots_assigned:{SLOTS}\r\ncluster_slots_ok:{SLOTS}\r\ncluster_slots_pfail:0\r\n\
         cluster_slots_fail:0\r\ncluster_known_nodes:{nodes}\r\ncluster_size:{nodes}\r\ncluster_current_epoch:{EPOCH}\r\n\
         cluster_my_epoch:{EPOCH}\r\ncluster_stats_messages_sent:{sent}\r\ncluster_stats_messages_received:{received}\r\n\
         total_cluster_links_buffer_limit_exceeded:0\r\n"
    );
    Ok(Reply::Verbatim(b"txt", text.into()).into())
}

pub fn nodes(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let mut lines = String::new();
    for node in all(cx) {
        let Shown { id, ip, hostname, port, bus_port, .. } = &node;
        let comma = if hostname.is_empty() { "" } else { "," };
        let myself = if node.is_own { "myself," } else { "" };
        let state = if node.is_linked { "connected" } else { "disconnected" };
        let slots = node.slots.as_ref().map(|slots| format!(" {}-{}", slots.start(), slots.end()));
        let slots = slots.unwrap_or_default();
        lines += &format!(
            "{id} {ip}:{port}@{bus_port}{comma}{hostname} {myself}master - 0 0 {EPOCH} {state}{slots}\n"
        );
    }
    Ok(Reply::Verbatim(b"txt", lines.into()).into())
}

pub fn slots(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let ranges = all(cx).into_iter().filter_map(|Shown { id, ip, hostname, port, slots, .. }| {
        let slots = slots?;
        let more =
            if hostname.is_empty() { vec![] } else { vec![(Reply::text("hostname"), Reply::bulk(hostname))] };
        let node = Reply::Array(vec![
            Reply::bulk(ip),
            Reply::Integer(i64::from(port)),
            Reply::bulk(id),
            Reply::Map(more),
        ]);
        let [first, last] = [slots.start(), slots.end()].map(|slot| Reply::Integer(i64::from(*slot)));
        Some(Reply::Array(vec![first, last, node]))
    });
    Ok(Reply::Array(ranges.collect()).into())
}

pub fn shards(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let shards =
        all(cx).into_iter().map(|Shown { id, ip, hostname, tls_port, plain_port, slots, .. }| {
            let mut node = vec![(Reply::text("id"), Reply::bulk(id))];
            for (name, port) in [("port", plain_port), ("tls-port", tls_port)] {
                if port != 0 {
                    node.push((Reply::text(name), Reply::Integer(i64::from(port))));
                }
            }
            node.extend([
                (Reply::text("ip"), Reply::bulk(ip.clone())),
                (Reply::text("endpoint"), Reply::bulk(ip)),
            ]);
            if !hostname.is_empty() {
                node.push((Reply::text("hostname"), Reply::bulk(hostname)));
            }
            node.extend([
                (Reply::text("role"), Reply::text("master")),
                (Reply::text("replication-offset"), Reply::Integer(0)),
                (Reply::text("health"), Reply::text("online")),
            ]);
            let ends = slots.into_iter().flat_map(|slots| [*slots.start(), *slots.end()]);
            Reply::Map(vec![
                (Reply::text("slots"), Reply::Array(ends.map(|slot| Reply::Integer(slot.into())).collect())),
                (Reply::text("nodes"), Reply::Array(vec![Reply::Map(node)])),
            ])
        });
    Ok(Reply::Array(shards.collect()).into())
}

pub fn links(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let nodes = &cx.node.nodes;
    let links = nodes.shown().into_iter().map(|link| {
        let waiting = if link.is_own { nodes.waiting_bytes(&link.id) as i64 } else { 0 };
        Reply::Map(vec![
            (Reply::text("direction"), Reply::bulk(if link.is_own { "to" } else { "from" })),
            (Reply::text("node"), Reply::bulk(&link.id[..])),
            (Reply::text("create-time"), Reply::Integer(link.since_ms as i64)),
            (Reply::text("events"), Reply::bulk(if waiting > 0 { "rw" } else { "r" })),
            (Reply::text("send-buffer-allocated"), Reply::Integer(waiting)),
            (Reply::text("send-buffer-used"), Reply::Integer(waiting)),
        ])
    });
    Ok(Reply::Array(links.collect()).into())
}

/// Only nodes that are there are known.
pub fn known(cx: &SessionCx<'_>, id: &[u8]) -> Result<()> {
    let is_known = |node: &Shown| node.id.as_bytes() == id;
    if all(cx).iter().any(is_known) { Ok(()) } else { Err(Error::about("ERR Unknown node ", id, "").into()) }
}
