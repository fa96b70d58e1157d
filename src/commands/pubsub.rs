//! Channels: subscribing to them, publishing to them, asking about them.

use super::help::help;
use super::subcommand_syntax;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Channels, Flags, Group, KeyFlags, Keys, Spec, container, session};
use crate::error::Result;
use crate::glob;
use crate::pubsub::{Change, Kind};
use crate::reply::Reply;

const ANYTIME: Flags = Flags::LOADING.or(Flags::STALE);
const ASK: Flags = Flags::PUBSUB.or(ANYTIME);
const CHANGE: Flags = ASK.or(Flags::NOSCRIPT);

const fn change(name: &'static str, arity: Arity, run: crate::dispatch::spec::SessionFn) -> Spec {
    session(name, arity, run).group(Group::PubSub).flags(CHANGE).since("2.0.0")
}

const fn ask(name: &'static str, arity: Arity, run: crate::dispatch::spec::SessionFn) -> Spec {
    session(name, arity, run).group(Group::PubSub).flags(ASK).since("2.8.0")
}

/// Channels of a slot stand where keys do.
const SHARDS: Keys = Keys::range(1, -1, 1, KeyFlags::NOT_KEY);

pub const COMMANDS: &[Spec] = &[
    change("subscribe", Arity::AtLeast(2), subscribe)
        .talks(Channels::Subscribe)
        .complexity("O(N) where N is the number of channels.")
        .summary("Listens to channels."),
    change("unsubscribe", Arity::AtLeast(1), unsubscribe)
        .complexity("O(N) where N is the number of channels.")
        .summary("Stops listening to channels, or to all of them."),
    change("psubscribe", Arity::AtLeast(2), psubscribe)
        .talks(Channels::SubscribePatterns)
        .complexity("O(N) where N is the number of patterns.")
        .summary("Listens to all channels that match one of the patterns."),
    change("punsubscribe", Arity::AtLeast(1), punsubscribe)
        .complexity("O(N) where N is the number of patterns.")
        .summary("Stops listening to patterns, or to all of them."),
    change("ssubscribe", Arity::AtLeast(2), ssubscribe)
        .talks(Channels::Subscribe)
        .channels(SHARDS)
        .since("7.0.0")
        .complexity("O(N) where N is the number of channels.")
        .summary("Listens to channels that belong to a slot."),
    change("sunsubscribe", Arity::AtLeast(1), sunsubscribe)
        .channels(SHARDS)
        .since("7.0.0")
        .complexity("O(N) where N is the number of channels.")
        .summary("Stops listening to channels that belong to a slot, or to all of them."),
    ask("publish", Arity::Exactly(3), publish)
        .talks(Channels::Publish)
        .flags(Flags::MAY_REPLICATE)
        .fast()
        .since("2.0.0")
        .complexity("O(N+M) where N is the number of subscribers and M the number of patterns that anybody listens to.")
        .summary("Sends a message to everybody who listens to a channel; replies with how many subscriptions it reached."),
    ask("spublish", Arity::Exactly(3), spublish)
        .talks(Channels::Publish)
        .flags(Flags::MAY_REPLICATE)
        .channels(Keys::at(1, KeyFlags::NOT_KEY))
        .fast()
        .since("7.0.0")
        .complexity("O(N) where N is the number of subscribers.")
        .summary("Sends a message to everybody who listens to a channel that belongs to a slot."),
    container("pubsub", Arity::AtLeast(2), SUBCOMMANDS)
        .group(Group::PubSub)
        .since("2.8.0")
        .complexity("Depends on subcommand.")
        .summary("Groups the commands that ask about channels."),
];

const SUBCOMMANDS: &[Spec] = &[
    ask("channels", Arity::AtLeast(2), channels)
        .complexity("O(N) where N is the number of channels.")
        .summary("Lists the channels that somebody listens to."),
    ask("help", Arity::Exactly(2), help_text)
        .set_flags(ANYTIME)
        .since("6.2.0")
        .complexity("O(1)")
        .summary("Lists the subcommands."),
    ask("numpat", Arity::Exactly(2), numpat)
        .complexity("O(1)")
        .summary("Counts the patterns that somebody listens to."),
    ask("numsub", Arity::AtLeast(2), numsub)
        .complexity("O(N) where N is the number of channels that are named.")
        .summary("Counts the subscribers of channels, those of patterns aside."),
    ask("shardchannels", Arity::AtLeast(2), shardchannels)
        .since("7.0.0")
        .complexity("O(N) where N is the number of channels.")
        .summary("Lists the channels of slots that somebody listens to."),
    ask("shardnumsub", Arity::AtLeast(2), shardnumsub)
        .since("7.0.0")
        .complexity("O(N) where N is the number of channels that are named.")
        .summary("Counts the subscribers of channels that belong to slots."),
];

fn subscribe(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Subscriptions(Change { kind: Kind::Channel, subscribes: true }))
}

fn unsubscribe(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Subscriptions(Change { kind: Kind::Channel, subscribes: false }))
}

fn psubscribe(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Subscriptions(Change { kind: Kind::Pattern, subscribes: true }))
}

fn punsubscribe(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Subscriptions(Change { kind: Kind::Pattern, subscribes: false }))
}

fn ssubscribe(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Subscriptions(Change { kind: Kind::Shard, subscribes: true }))
}

fn sunsubscribe(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Subscriptions(Change { kind: Kind::Shard, subscribes: false }))
}

fn publish(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    send(cx, args, Kind::Channel)
}

fn spublish(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    send(cx, args, Kind::Shard)
}

fn send(cx: &mut SessionCx<'_>, mut args: Args<'_>, kind: Kind) -> Result<Answer> {
    let (channel, message) = (args.next()?, args.next()?);
    Ok(Reply::Integer(cx.node.publish(kind, channel, message) as i64).into())
}

fn channels(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    names(cx, args, Kind::Channel)
}

fn shardchannels(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    names(cx, args, Kind::Shard)
}

fn names(cx: &mut SessionCx<'_>, args: Args<'_>, kind: Kind) -> Result<Answer> {
    if args.left() > 1 {
        return Err(subcommand_syntax("PUBSUB", args).into());
    }
    let registry = cx.node.pubsub.registry();
    let wanted = registry
        .iter(kind)
        .filter(|name| args.peek().is_none_or(|pattern| glob::matches(pattern, name, false)));
    Ok(Reply::Array(wanted.map(|name| Reply::bulk(&name[..])).collect()).into())
}

fn numsub(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    counts(cx, args, Kind::Channel)
}

fn shardnumsub(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    counts(cx, args, Kind::Shard)
}

fn counts(cx: &mut SessionCx<'_>, args: Args<'_>, kind: Kind) -> Result<Answer> {
    let registry = cx.node.pubsub.registry();
    let pairs = args
        .rest()
        .flat_map(|name| [Reply::bulk(name), Reply::Integer(registry.subscribers(kind, name) as i64)]);
    Ok(Reply::Array(pairs.collect()).into())
}

fn numpat(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::Integer(cx.node.pubsub.registry().names(Kind::Pattern) as i64).into())
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "CHANNELS [<pattern>]",
            "    The channels that somebody listens to and that match (default: all).",
            "NUMPAT",
            "    How many patterns somebody listens to.",
            "NUMSUB [<channel> ...]",
            "    How many subscribers the channels have, those of patterns aside.",
            "SHARDCHANNELS [<pattern>]",
            "    The channels of slots that somebody listens to and that match (default: all).",
            "SHARDNUMSUB [<shardchannel> ...]",
            "    How many subscribers the channels of slots have.",
        ],
    ))
}
