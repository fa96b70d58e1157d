//! CONFIG: options at run time.

use super::help::help;
use crate::config::option::Section;
use crate::config::table;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Spec, container, session};
use crate::error::{Error, Result, shown};
use crate::node::Node;
use crate::reply::Reply;

const ADMIN: Flags = Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE);

pub const COMMANDS: &[Spec] = &[container("config", Arity::AtLeast(2), SUBCOMMANDS)
    .group(Group::Server)
    .since("2.0.0")
    .complexity("Depends on subcommand.")
    .summary("Groups the commands about options.")];

const SUBCOMMANDS: &[Spec] = &[
    session("get", Arity::AtLeast(3), get)
        .group(Group::Server)
        .since("2.0.0")
        .flags(ADMIN)
        .complexity("O(N) when N is the number of configuration parameters provided")
        .summary("Shows the options that match one of the patterns."),
    session("set", Arity::AtLeast(4), set)
        .group(Group::Server)
        .since("2.0.0")
        .flags(ADMIN)
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .complexity("O(N) when N is the number of configuration parameters provided")
        .summary("Sets options, all of them or none."),
    session("resetstat", Arity::Exactly(2), reset_stat)
        .group(Group::Server)
        .since("2.0.0")
        .flags(ADMIN)
        .complexity("O(1)")
        .summary("Sets the counters of INFO to zero."),
    session("rewrite", Arity::Exactly(2), rewrite)
        .group(Group::Server)
        .since("2.8.0")
        .flags(ADMIN)
        .complexity("O(1)")
        .summary("Writes the options into the file that the server was started with."),
    session("help", Arity::Exactly(2), help_text)
        .group(Group::Server)
        .since("5.0.0")
        .flags(Flags::LOADING.or(Flags::STALE))
        .complexity("O(1)")
        .summary("Lists the subcommands."),
];

fn get(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let patterns: Vec<&[u8]> = args.rest().collect();
    let found = cx.node.config.get(&patterns).into_iter();
    Ok(Reply::Map(found.map(|(name, value)| (Reply::bulk(name), Reply::bulk(value))).collect()).into())
}

fn set(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let pairs = args.rest_in_pairs().ok_or(Error::Syntax)?;
    let pairs: Vec<(&[u8], &[u8])> = pairs.collect();
    let local = cx.session.client.is_local();
    if pairs.iter().any(|(name, _)| table::find(name).is_some_and(|option| option.section == Section::Tls)) {
        // They name files, and the disk may be slow.
        let pairs: Vec<(Vec<u8>, Vec<u8>)> =
            pairs.into_iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        return Ok(Answer::Worker(Box::new(move |node| {
            let pairs: Vec<(&[u8], &[u8])> =
                pairs.iter().map(|(name, value)| (name.as_slice(), value.as_slice())).collect();
            change(node, &pairs, local)
        })));
    }
    change(cx.node, &pairs, local).map(Answer::from)
}

fn change(node: &Node, pairs: &[(&[u8], &[u8])], local: bool) -> Result<Reply> {
    let changed = node.config.set(pairs, local);
    changed.map_err(|error| Error::reply(format!("ERR {}", shown(&error.message()))))?;
    // Also where it is the same as before: the default user may have got another one.
    let password = pairs.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"requirepass"));
    if let Some((_, password)) = password {
        node.acl.set_default_password(password);
    }
    Ok(Reply::OK)
}

fn reset_stat(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    cx.node.metrics.reset();
    cx.node.keyspace.parts.reset();
    Ok(Reply::OK.into())
}

/// The disk may be slow.
fn rewrite(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Worker(Box::new(|node| {
        let users = node.acl.lines_for(&node.config.current());
        node.config.rewrite(&users).map_err(|error| Error::reply(format!("ERR {error}")))?;
        Ok(Reply::OK)
    })))
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "GET <pattern> [<pattern> ...]",
            "    Options that match, and their values.",
            "SET <option> <value> [<option> <value> ...]",
            "    Sets options, all or none.",
            "RESETSTAT",
            "    Sets the counters of INFO to zero.",
            "REWRITE",
            "    Writes the options into the configuration file.",
        ],
    ))
}

#[cfg(test)]
mod tests {
    use crate::testkit::Kit;

    #[test]
    fn all_options_are_set_or_none() {
        let mut kit = Kit::new();
        assert_eq!(
            kit.run("CONFIG SET timeout 5 hz 20 | CONFIG GET timeout hz"),
            "+OK | [\"timeout\" \"5\" \"hz\" \"20\"]"
        );
        let refused = kit.run("CONFIG SET timeout 6 hz abc");
        assert!(
            refused.starts_with("-ERR CONFIG SET failed (possibly related to argument 'hz') - "),
            "{refused}"
        );
        assert_eq!(kit.run("CONFIG GET timeout"), "[\"timeout\" \"5\"]");
        assert_eq!(kit.run("CONFIG SET timeout"), "-ERR wrong number of arguments for 'config|set' command");
        assert_eq!(kit.run("CONFIG SET timeout 1 hz"), "-ERR syntax error");
    }

    #[test]
    fn without_a_file_there_is_nothing_to_rewrite() {
        let mut kit = Kit::new();
        assert_eq!(kit.run("CONFIG REWRITE"), "-ERR The server is running without a config file");
        assert!(kit.moved);
    }
}
