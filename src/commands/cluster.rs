//! CLUSTER on a node that serves every slot, and the commands that cluster clients send along with it.

mod nodes;
mod slots;

use super::help::help;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Keys, SessionFn, Spec, container, read, session};
use crate::encoding::slot::{self, SLOTS};
use crate::error::{Error, Result};
use crate::keyspace::scan;
use crate::reply::Reply;

const ADMIN: Flags = Flags::ADMIN.or(Flags::STALE).or(Flags::NO_ASYNC_LOADING);

const fn asking(name: &'static str, arity: Arity, run: SessionFn) -> Spec {
    session(name, arity, run).group(Group::Cluster).flags(Flags::STALE).since("3.0.0").complexity("O(1)")
}

/// What would change a cluster: who is in it is known, and nobody moves keys.
const fn changing(name: &'static str, arity: Arity) -> Spec {
    session(name, arity, refuse)
        .group(Group::Cluster)
        .flags(ADMIN)
        .since("3.0.0")
        .complexity("O(1)")
        .summary("Is refused: every node serves every slot.")
}

const fn connection(name: &'static str, flags: Flags) -> Spec {
    session(name, Arity::Exactly(1), accept)
        .group(Group::Cluster)
        .flags(flags)
        .fast()
        .acl(&["connection"])
        .since("3.0.0")
        .complexity("O(1)")
}

pub const COMMANDS: &[Spec] = &[
    container("cluster", Arity::AtLeast(2), SUBCOMMANDS)
        .group(Group::Cluster)
        .since("3.0.0")
        .complexity("Depends on subcommand.")
        .summary("Tells about slots and nodes."),
    connection("readonly", Flags::LOADING.or(Flags::STALE))
        .summary("Allows reads from a replica of a cluster; there are none, so it changes nothing."),
    connection("readwrite", Flags::LOADING.or(Flags::STALE)).summary("Takes READONLY back."),
    connection("asking", Flags(0))
        .summary("Announces a command that was redirected here; it changes nothing."),
    read("clusterscan", Arity::AtLeast(2), Keys::NONE, slots::cluster_scan)
        .group(Group::Cluster)
        .acl(&["keyspace"])
        .tips(&["nondeterministic_output", "request_policy:special", "response_policy:special"])
        .since("Valkey 9.1.0")
        .complexity("O(N) where N is the number of keys that are looked at.")
        .summary("Walks all keys of a cluster, with cursors that tell where to go on."),
    session("sflush", Arity::AtLeast(3), slots::sflush)
        .group(Group::Server)
        .flags(Flags::WRITE)
        .acl(&["keyspace", "dangerous"])
        .since("8.0.0")
        .complexity("O(N) where N is the number of keys in the slots.")
        .summary("Removes the keys of ranges of slots."),
];

const SUBCOMMANDS: &[Spec] = &[
    asking("keyslot", Arity::Exactly(3), keyslot)
        .complexity("O(N) where N is the number of bytes in the key")
        .summary("Computes the slot of a key."),
    asking("info", Arity::Exactly(2), nodes::info)
        .tips(&["nondeterministic_output"])
        .summary("Describes the state of the cluster."),
    asking("nodes", Arity::Exactly(2), nodes::nodes)
        .tips(&["nondeterministic_output"])
        .summary("Lists the nodes as lines of text."),
    asking("slots", Arity::Exactly(2), nodes::slots)
        .tips(&["nondeterministic_output"])
        .replaced_by("7.0.0", "`CLUSTER SHARDS`")
        .summary("Lists ranges of slots with their node."),
    asking("shards", Arity::Exactly(2), nodes::shards)
        .tips(&["nondeterministic_output"])
        .since("7.0.0")
        .summary("Lists ranges of slots with their nodes, in more detail."),
    asking("myid", Arity::Exactly(2), myid).summary("Tells the name of the node."),
    asking("myshardid", Arity::Exactly(2), myid)
        .tips(&["nondeterministic_output"])
        .since("7.2.0")
        .summary("Tells the name of the node's shard, which has one node."),
    asking("links", Arity::Exactly(2), nodes::links)
        .tips(&["nondeterministic_output"])
        .since("7.0.0")
        .summary("Lists the connections between this node and others."),
    asking("countkeysinslot", Arity::Exactly(3), countkeysinslot)
        .complexity("O(N) where N is the number of keys in the slot.")
        .summary("Counts the keys of a slot."),
    asking("slot-stats", Arity::AtLeast(4), slots::slot_stats)
        .flags(Flags::LOADING)
        .tips(&["nondeterministic_output", "request_policy:all_shards"])
        .since("8.2.0")
        .complexity("O(N) where N is the number of keys in the slots, all of them with ORDERBY.")
        .summary("Tells of slots how many keys they have."),
    session("flushslot", Arity::AtLeast(3), slots::flush_slot)
        .group(Group::Cluster)
        .flags(Flags::WRITE)
        .acl(&["keyspace", "dangerous"])
        .since("Valkey 9.0.0")
        .complexity("O(N) where N is the number of keys in the slot.")
        .summary("Removes the keys of a slot."),
    asking("getkeysinslot", Arity::Exactly(4), getkeysinslot)
        .tips(&["nondeterministic_output"])
        .complexity("O(N) where N is the number of requested keys.")
        .summary("Lists keys of a slot."),
    session("help", Arity::Exactly(2), help_text)
        .group(Group::Cluster)
        .flags(Flags::LOADING.or(Flags::STALE))
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Describes the subcommands."),
    replicas_of("replicas").since("5.0.0").summary("Lists the replicas of a node: there are none."),
    replicas_of("slaves")
        .replaced_by("5.0.0", "`CLUSTER REPLICAS`")
        .summary("Lists the replicas of a node: there are none."),
    session("count-failure-reports", Arity::Exactly(3), count_failure_reports)
        .group(Group::Cluster)
        .flags(Flags::ADMIN.or(Flags::STALE))
        .tips(&["nondeterministic_output"])
        .since("3.0.0")
        .complexity("O(1)")
        .summary("Counts the nodes that think a node has failed: there are none."),
    session("saveconfig", Arity::Exactly(2), accept)
        .group(Group::Cluster)
        .flags(ADMIN)
        .since("3.0.0")
        .complexity("O(1)")
        .summary("Has nothing to save; kept for tools that call it."),
    changing("addslots", Arity::AtLeast(3)),
    changing("addslotsrange", Arity::AtLeast(4)).since("7.0.0"),
    changing("bumpepoch", Arity::Exactly(2)).tips(&["nondeterministic_output"]),
    changing("delslots", Arity::AtLeast(3)),
    changing("delslotsrange", Arity::AtLeast(4)).since("7.0.0"),
    changing("cancelslotmigrations", Arity::Exactly(2)).since("Valkey 9.0.0"),
    changing("failover", Arity::AtLeast(2)),
    changing("flushslots", Arity::Exactly(2)),
    changing("forget", Arity::Exactly(3)),
    changing("meet", Arity::AtLeast(4)),
    changing("migrateslots", Arity::AtLeast(4)).since("Valkey 9.0.0"),
    changing("migration", Arity::AtLeast(4)).since("8.4.0"),
    asking("getslotmigrations", Arity::Exactly(2), none)
        .since("Valkey 9.0.0")
        .summary("Lists slots that are under way to other nodes: there are none."),
    changing("replicate", Arity::Exactly(3)),
    session("reset", Arity::AtLeast(2), refuse)
        .group(Group::Cluster)
        .flags(Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::STALE))
        .since("3.0.0")
        .complexity("O(1)")
        .summary("Is refused: every node serves every slot."),
    changing("set-config-epoch", Arity::Exactly(3)),
    changing("setslot", Arity::AtLeast(4)),
    changing("syncslots", Arity::AtLeast(3)).since("Valkey 9.0.0"),
];

const fn replicas_of(name: &'static str) -> Spec {
    session(name, Arity::Exactly(3), replicas)
        .group(Group::Cluster)
        .flags(Flags::ADMIN.or(Flags::STALE))
        .tips(&["nondeterministic_output"])
        .since("3.0.0")
        .complexity("O(1)")
}

/// Every one of these commands is refused where the cluster is off, whatever its arguments.
fn check_enabled(cx: &SessionCx<'_>) -> Result<()> {
    if cx.node.cluster_enabled {
        Ok(())
    } else {
        Err(Error::reply("ERR This instance has cluster support disabled").into())
    }
}

fn accept(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    Ok(Reply::OK.into())
}

fn refuse(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    Err(Error::reply("ERR This node serves every slot, its cluster cannot be changed").into())
}

fn keyslot(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    Ok(Reply::Integer(i64::from(slot::of(args.key()?))).into())
}

fn myid(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    Ok(Reply::bulk(cx.node.run_id.clone()).into())
}

fn none(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    Ok(Reply::Array(vec![]).into())
}

fn countkeysinslot(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let slot = valid_slot(args.int()?).ok_or_else(|| Error::reply("ERR Invalid slot"))?;
    Ok(Answer::reading(0, move |cx| {
        let mut count = 0;
        scan::slot_keys(cx, slot, usize::MAX, &mut |_| count += 1)?;
        Ok(Reply::Integer(count))
    }))
}

fn getkeysinslot(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let (slot, limit) = (args.int()?, args.int()?);
    let (Some(slot), Ok(limit)) = (valid_slot(slot), usize::try_from(limit)) else {
        return Err(Error::reply("ERR Invalid slot or number of keys").into());
    };
    Ok(Answer::reading(0, move |cx| {
        let mut keys = Vec::new();
        scan::slot_keys(cx, slot, limit, &mut |key| keys.push(key.to_vec()))?;
        Ok(Reply::bulks(keys))
    }))
}

fn valid_slot(slot: i64) -> Option<u16> {
    u16::try_from(slot).ok().filter(|slot| *slot < SLOTS)
}

fn replicas(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    nodes::known(cx, args.next()?)?;
    Ok(Reply::Array(vec![]).into())
}

fn count_failure_reports(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    nodes::known(cx, args.next()?)?;
    Ok(Reply::Integer(0).into())
}

fn help_text(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    Ok(help(
        "CLUSTER <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "COUNT-FAILURE-REPORTS <node-id>",
            "    Counts the nodes that think a node has failed.",
            "COUNTKEYSINSLOT <slot>",
            "    Counts the keys of a slot.",
            "FLUSHSLOT <slot> [ASYNC|SYNC]",
            "    Removes the keys of a slot.",
            "GETKEYSINSLOT <slot> <count>",
            "    Lists up to so many keys of a slot.",
            "INFO",
            "    Describes the state of the cluster.",
            "KEYSLOT <key>",
            "    Computes the slot of a key.",
            "LINKS",
            "    Lists connections between nodes.",
            "MYID",
            "    Tells the name of the node.",
            "NODES",
            "    Lists the nodes, a line each:",
            "    <id> <ip:port> <flags> <master> <pings> <pongs> <epoch> <link> <slot> ...",
            "REPLICAS <node-id>",
            "    Lists the replicas of a node.",
            "SHARDS",
            "    Lists ranges of slots and the nodes that serve them.",
            "SLOT-STATS SLOTSRANGE <first> <last>",
            "SLOT-STATS ORDERBY key-count [LIMIT <limit>] [ASC|DESC]",
            "    Tells how many keys slots have.",
            "SLOTS",
            "    Lists ranges of slots: start, end, and address, port and name of the node.",
        ],
    ))
}

#[cfg(test)]
mod tests;
