//! COMMAND GETKEYS and GETKEYSANDFLAGS: where the keys of a whole command stand.

use crate::dispatch::args::Args;
use crate::dispatch::registry::{Registered, registry};
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Find, Flags, KeySpec};
use crate::error::{Error, Result};
use crate::reply::Reply;

pub fn get_keys(_: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let (command, words) = parse(args)?;
    let keys = found(command, words)?.into_iter().map(|(at, _)| Reply::bulk(words.get(at).unwrap_or(&[])));
    Ok(Reply::Array(keys.collect()).into())
}

pub fn get_keys_and_flags(_: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let (command, words) = parse(args)?;
    let keys = found(command, words)?.into_iter().map(|(at, spec)| {
        let flags = command.key_flags(spec, words);
        let flags = Reply::Set(flags.words().map(Reply::Simple).collect());
        Reply::Array(vec![Reply::bulk(words.get(at).unwrap_or(&[])), flags])
    });
    Ok(Reply::Array(keys.collect()).into())
}

/// The command that the arguments are, and its words.
fn parse(args: Args<'_>) -> Result<(&'static Registered, tarn_resp::Args<'_>)> {
    let words = args.words().skip(args.words().len() - args.left());
    let invalid = || Error::reply("ERR Invalid command specified");
    let command = registry().called(words.get(0).unwrap_or(&[])).ok_or_else(invalid)?;
    let command = match words.get(1) {
        Some(word) if !command.subcommands.is_empty() => command.subcommand(word).ok_or_else(invalid)?,
        _ => command,
    };
    if command.spec.keys.is_none() {
        return Err(Error::reply("ERR The command has no key arguments").into());
    }
    if !command.spec.arity.admits(words.len()) {
        return Err(Error::reply("ERR Invalid number of arguments specified for command").into());
    }
    Ok((command, words))
}

/// Positions of the keys. Where a count of keys is wrong there are none, and a command that needs some is refused.
fn found(command: &'static Registered, words: tarn_resp::Args<'_>) -> Result<Vec<(usize, &'static KeySpec)>> {
    let keys = &command.spec.keys;
    let found: Vec<_> = if keys.specs().all(|spec| is_count_right(spec, words)) {
        keys.positions(words).collect()
    } else {
        Vec::new()
    };
    if found.is_empty() && !command.spec.flags.has(Flags::NO_MANDATORY_KEYS) {
        return Err(Error::reply("ERR Invalid arguments specified for command").into());
    }
    Ok(found)
}

fn is_count_right(spec: &KeySpec, words: tarn_resp::Args<'_>) -> bool {
    let Find::Counted { step } = spec.find else { return true };
    let at = usize::from(spec.first);
    let room = words.len().saturating_sub(at + 1) / usize::from(step.max(1));
    let count =
        words.get(at).and_then(crate::number::parse_i64).and_then(|count| usize::try_from(count).ok());
    count.is_some_and(|count| (1..=room).contains(&count))
}
