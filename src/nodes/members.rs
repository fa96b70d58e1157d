//! The registry of nodes: a row for each on the cluster, written anew every second. Who has not written its own for some seconds is
//! gone; who leaves in order removes it. The rows also tell where each is reached.
//!
//! The row is the node's lease, too: as long as it counts, the node may rely on the map of databases that it has read behind it.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, never, select};
use tarn_engine::{AnyEngine, Direction, Range, Read, Wait, Write as _};

use super::Id;
use super::remap;
use super::secret::{SECRET_LEN, Secret};
use crate::config::Config;
use crate::dispatch::session::follow_libraries;
use crate::encoding::SYSTEM;
use crate::encoding::system::{self, Member as Row};
use crate::error::{Error, Result};
use crate::keyspace::shared::lease::LASTS;
use crate::node::Node;

/// How often a node's row is written anew.
pub const BEAT: Duration = Duration::from_secs(1);
/// How long a row counts that is not.
const LASTS_MS: u64 = LASTS.as_millis() as u64;
/// So long after that it is removed by whoever finds it.
const FORGOTTEN_AFTER_MS: u64 = 60_000;
/// Conflicts with others that remove the same rows, before the next beat is waited for.
const MAX_CONFLICTS: u32 = 8;
/// Until what this node was changing itself is read again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Between two tries to reach the cluster.
const AFTER_FAILURE: Duration = Duration::from_millis(200);
/// Bits of a timestamp below the milliseconds.
const LOGICAL_BITS: u32 = 18;

/// A node that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: Id,
    pub row: Row,
    /// Where it waits for links, if that can be told.
    pub link: Option<SocketAddr>,
}

impl Member {
    pub fn name(&self) -> &str {
        std::str::from_utf8(&self.id).unwrap_or_default()
    }
}

/// Runs until `stop` is closed, then removes the node's row.
pub fn run(node: &Arc<Node>, id: &Id, link_port: u16, stop: &Receiver<()>) {
    let mut last_error = String::new();
    loop {
        let pause = match beat(node, id, link_port) {
            Ok(is_known) => {
                last_error.clear();
                if is_known { BEAT } else { LOOK_AGAIN }
            }
            Err(error) => {
                let words = error.to_string();
                if words != last_error {
                    tracing::warn!(%error, "the other nodes cannot be told of this one; it is tried again");
                    last_error = words;
                }
                AFTER_FAILURE
            }
        };
        let look = node.nodes.looks().unwrap_or_else(never);
        select! {
            recv(stop) -> _ => break,
            recv(look) -> _ => {}
            default(pause) => {}
        }
    }
    if let Err(error) = leave(node, id) {
        tracing::warn!(%error, "the other nodes could not be told that this one leaves; they see it in some seconds");
    }
}

/// The time of the cluster.
pub fn millis(engine: &AnyEngine) -> Result<u64> {
    Ok(engine.timestamp().transpose()?.unwrap_or(0) >> LOGICAL_BITS)
}

/// The rows of all nodes. What a later version has written is left out.
pub fn rows(read: &impl Read) -> Result<Vec<(Id, Row)>> {
    let (mut found, (start, end)) = (Vec::new(), system::all_members());
    let range = Range { start: &start, end: &end };
    read.scan(SYSTEM, range, Direction::Forward, usize::MAX, &mut |row, value| {
        let id = system::read_member(row).ok().and_then(|id| Id::try_from(id).ok());
        found.extend(id.zip(Row::decode(value).ok()));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Writes the node's row anew, reads those of the others, and what may be relied on while it counts. False where this node was changing it
/// meanwhile, so that it has to be read again.
fn beat(node: &Arc<Node>, id: &Id, link_port: u16) -> Result<bool> {
    // What is on record has to be known before anything else.
    if !node.keyspace.is_open() {
        return Ok(true);
    }
    let lease = &node.keyspace.shared.lease;
    let began = Instant::now();
    write_row(node, id, link_port, 0)?;
    let marks = (lease.mark(0), lease.mark(1));
    let snapshot = node.engine.snapshot()?;
    follow_libraries(node, &snapshot)?;
    match remap::announced(&snapshot)? {
        // A change that this node has given up.
        Some(row) if row.node[..] == id[..] && !node.nodes.is_remapping(row.number) => {
            remap::withdraw(node, row.number)?;
            return beat(node, id, link_port);
        }
        Some(row) if row.node[..] != id[..] => {
            remap::let_go(node, &row, &|number| write_row(node, id, link_port, number))?;
            return beat(node, id, link_port);
        }
        // Nobody else changes it meanwhile.
        Some(_) => {
            let is_held = marks.1.is_some_and(|mark| lease.held_since(began, mark, 1));
            return Ok(is_held || lease.extend(began));
        }
        None => {}
    }
    let followed = marks.0.map(|mark| remap::follow(node, &snapshot, mark, 0)).transpose()?.flatten();
    // A node that changes the map all the time never gets to follow, and need not.
    Ok(followed.is_some_and(|mark| lease.held_since(began, mark, 0)) || lease.extend(began))
}

fn write_row(node: &Node, id: &Id, link_port: u16, let_go: u64) -> Result<()> {
    for _ in 0..MAX_CONFLICTS {
        match write_row_once(node, id, link_port, let_go) {
            Err(stop) if stop.is_conflict() => {}
            other => return other,
        }
    }
    Err(tarn_engine::Error::Conflict.into())
}

fn write_row_once(node: &Node, id: &Id, link_port: u16, let_go: u64) -> Result<()> {
    let now_ms = millis(&node.engine)?;
    let mut txn = node.engine.begin_write(Wait::Allowed);
    let others: Vec<(Id, Row)> = rows(&txn)?.into_iter().filter(|(other, _)| other != id).collect();
    let shared = &node.keyspace.shared;
    let is_taken = |seat: u16| others.iter().any(|(_, row)| row.seat == seat && row.until_ms > now_ms);
    // Two that take the same at once only get into each other's way.
    let seat = shared.seat().or_else(|| (0..u16::MAX).find(|seat| !is_taken(*seat))).unwrap_or_default();
    let own = Row {
        seat,
        first_version: shared.first_version(),
        let_go,
        ..own_row(&node.config.current(), node.started_ms, now_ms + LASTS_MS, link_port)
    };
    txn.put(SYSTEM, &system::member(id), &[&own.encode()]);
    let mut members = vec![member(*id, own)];
    for (other, row) in others {
        if row.until_ms + FORGOTTEN_AFTER_MS < now_ms {
            txn.delete(SYSTEM, &system::member(&other));
        } else if row.until_ms > now_ms {
            members.push(member(other, row));
        }
    }
    let secret = secret(&mut txn)?;
    txn.commit()?;
    shared.set_seat(seat);
    members.sort_unstable_by_key(|member| member.id);
    let place = members.iter().position(|member| member.id == *id).unwrap_or_default();
    shared.set_place(place as u32, members.len() as u32);
    node.nodes.know(id, Secret::new(&secret), members);
    Ok(())
}

/// The secret on record; whoever comes first makes it. Two that do so at the same time meet in a conflict.
fn secret(txn: &mut tarn_engine::AnyWrite<'_>) -> Result<[u8; SECRET_LEN]> {
    let mut value = Vec::new();
    if txn.get(SYSTEM, &system::link_secret(), &mut value)? {
        let words = "the row of the nodes' secret is damaged";
        return <[u8; SECRET_LEN]>::try_from(&value[..]).map_err(|_| Error::reply(words).into());
    }
    let mut fresh = [0; SECRET_LEN];
    getrandom::fill(&mut fresh).map_err(|error| Error::reply(format!("no random numbers: {error}")))?;
    txn.put(SYSTEM, &system::link_secret(), &[&fresh]);
    Ok(fresh)
}

fn leave(node: &Node, id: &Id) -> Result<()> {
    node.engine.settle()?;
    let mut txn = node.engine.begin_write(Wait::Allowed);
    txn.delete(SYSTEM, &system::member(id));
    txn.commit()?;
    Ok(())
}

fn member(id: Id, row: Row) -> Member {
    let address = (row.link_host.as_str(), row.link_port).to_socket_addrs();
    let link = address.ok().and_then(|mut found| found.next());
    Member { id, row, link }
}

fn own_row(config: &Config, started_ms: u64, until_ms: u64, link_port: u16) -> Row {
    let announced = |announced: u16, own: u16| if announced == 0 { own } else { announced };
    let host = own_host(config);
    Row {
        until_ms,
        started_ms,
        port: announced(config.cluster_announce_port, config.port),
        tls_port: announced(config.cluster_announce_tls_port, config.tls_port),
        host: host.clone(),
        hostname: config.cluster_announce_hostname.clone(),
        link_port: announced(config.cluster_announce_bus_port, link_port),
        link_host: host,
        ..Row::default()
    }
}

/// The address that others reach this node by: what is announced, else what is listened on, else the one that packets to the cluster
/// are sent from.
fn own_host(config: &Config) -> String {
    if !config.cluster_announce_ip.is_empty() {
        return config.cluster_announce_ip.clone();
    }
    let mut bound = config.bind.iter().filter_map(|name| name.trim_start_matches('-').parse::<IpAddr>().ok());
    match bound.find(|ip| !ip.is_unspecified()) {
        Some(ip) => ip.to_string(),
        None => config.tikv_pd_addresses.iter().find_map(|pd| source_address(pd)).unwrap_or_default(),
    }
}

/// Nothing is sent: the system only chooses a way.
fn source_address(to: &str) -> Option<String> {
    let target = to.to_socket_addrs().ok()?.next()?;
    let any: SocketAddr = if target.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(target).ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_tells_where_it_is() {
        let mut config = Config::default();
        config.port = 7000;
        config.tikv_pd_addresses = vec!["127.0.0.1:2379".to_owned()];
        let row = own_row(&config, 1, 2, 17_000);
        assert_eq!((row.host.as_str(), row.port, row.tls_port), ("127.0.0.1", 7000, 0));
        assert_eq!((row.link_host.as_str(), row.link_port), ("127.0.0.1", 17_000));
        config.bind = vec!["-::1".to_owned(), "10.9.8.7".to_owned()];
        assert_eq!(own_host(&config), "::1");
        config.bind = vec!["0.0.0.0".to_owned(), "10.9.8.7".to_owned()];
        assert_eq!(own_host(&config), "10.9.8.7");
        config.cluster_announce_ip = "10.0.0.9".to_owned();
        config.cluster_announce_port = 1;
        config.cluster_announce_bus_port = 2;
        let row = own_row(&config, 1, 2, 17_000);
        assert_eq!((row.host.as_str(), row.port, row.link_port), ("10.0.0.9", 1, 2));
    }

    #[test]
    fn a_member_without_an_address_cannot_be_linked_to() {
        let row = Row { link_host: "127.0.0.1".to_owned(), link_port: 9, ..Row::default() };
        assert_eq!(member([b'a'; 40], row).link, Some(([127, 0, 0, 1], 9).into()));
        let row = Row { link_host: "no such address".to_owned(), ..Row::default() };
        assert_eq!(member([b'a'; 40], row).link, None);
    }
}
