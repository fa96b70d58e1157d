//! Which clients CLIENT LIST shows and CLIENT KILL closes: filters that all must match. Most of them have an opposite, with
//! `NOT-` in front of its name.

use super::Class;
use super::describe::flags;
use crate::acl::UserId;
use crate::clients::{Client, flag};
use crate::dispatch::args::Args;
use crate::dispatch::session::SessionCx;
use crate::error::{Error, Result};
use crate::number;

/// Letters of flags that a client of Valkey can have.
const FLAGS: &[u8] = b"ABEIMNOPRSTUbcdeirtux";
/// Letters of what clients can say that they understand.
const CAPABILITIES: &[u8] = b"r";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Ids(Vec<u64>),
    Addr(Vec<u8>),
    LocalAddr(Vec<u8>),
    Ip(Vec<u8>),
    Class(Class),
    User(UserId),
    Name(Vec<u8>),
    LibName(Vec<u8>),
    LibVer(Vec<u8>),
    Db(u16),
    Flags(Vec<u8>),
    Capabilities(Vec<u8>),
    /// Seconds, at least.
    Idle(u64),
    Age(u64),
}

impl Test {
    fn matches(&self, client: &Client, now_ms: u64) -> bool {
        let secs_since = |ms: u64| now_ms.saturating_sub(ms) / 1000;
        match self {
            Test::Ids(ids) => ids.contains(&client.id),
            Test::Addr(addr) => addr == client.addr.as_bytes(),
            Test::LocalAddr(addr) => addr == client.local_addr.as_bytes(),
            Test::Ip(ip) => client.addr.rsplit_once(':').is_some_and(|(own, _)| own.as_bytes() == ip),
            Test::Class(class) => *class == Class::of(client),
            Test::User(user) => *user == client.user(),
            Test::Name(name) => *name == client.labels().name,
            Test::LibName(name) => *name == client.labels().lib_name,
            Test::LibVer(version) => *version == client.labels().lib_ver,
            Test::Db(db) => *db == client.db(),
            Test::Flags(wanted) => {
                let own = flags(client);
                wanted.iter().all(|letter| own.as_bytes().contains(letter))
            }
            Test::Capabilities(wanted) => wanted.is_empty() || client.has(flag::FOLLOWS_REDIRECTS),
            Test::Idle(secs) => secs_since(client.last_active_ms()) >= *secs,
            Test::Age(secs) => secs_since(client.created_ms) >= *secs,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Each with whether it must not match.
    tests: Vec<(Test, bool)>,
    /// Whether the client that asks is left out, if it said so.
    pub spares_self: Option<bool>,
}

impl Filter {
    /// The client with this address.
    pub fn of_addr(addr: &[u8]) -> Filter {
        Filter { tests: vec![(Test::Addr(addr.to_vec()), false)], spares_self: None }
    }

    /// `lists_ids`: as CLIENT LIST takes ID.
    pub fn parse(cx: &SessionCx<'_>, mut args: Args<'_>, lists_ids: bool) -> Result<Filter> {
        let mut filter = Filter::default();
        while let Some(option) = args.peek() {
            args.next()?;
            let option = option.to_ascii_lowercase();
            let (name, negated) = match option.strip_prefix(b"not-") {
                Some(name) => (name, true),
                None => (option.as_slice(), false),
            };
            if name == b"skipme" && !negated {
                filter.spares_self = Some(yes_or_no(args.next()?)?);
                continue;
            }
            let test = test(cx, name, negated, &mut args, lists_ids)?;
            // The last one of a kind counts.
            let kind = std::mem::discriminant(&test);
            filter.tests.retain(|(other, not)| std::mem::discriminant(other) != kind || *not != negated);
            filter.tests.push((test, negated));
        }
        Ok(filter)
    }

    pub fn matches(&self, client: &Client, now_ms: u64) -> bool {
        self.tests.iter().all(|(test, negated)| test.matches(client, now_ms) != *negated)
    }

    /// The clients that are named, where nothing but their numbers was said.
    pub fn only_ids(&self) -> Option<&[u64]> {
        match (self.tests.as_slice(), self.spares_self) {
            ([(Test::Ids(ids), false)], None) => Some(ids),
            _ => None,
        }
    }
}

fn test(
    cx: &SessionCx<'_>,
    name: &[u8],
    negated: bool,
    args: &mut Args<'_>,
    lists_ids: bool,
) -> Result<Test> {
    if name == b"id" {
        return ids(args, lists_ids && !negated).map(Test::Ids);
    }
    let value = args.next()?;
    Ok(match name {
        b"addr" => Test::Addr(value.to_vec()),
        b"laddr" => Test::LocalAddr(value.to_vec()),
        b"ip" => Test::Ip(value.to_vec()),
        b"type" => Test::Class(Class::parse(value)?),
        b"user" => match cx.node.acl.users().0.get(value) {
            Some(user) => Test::User(user.id),
            None => return Err(Error::about("ERR No such user '", value, "'").into()),
        },
        b"name" => Test::Name(value.to_vec()),
        b"lib-name" => Test::LibName(value.to_vec()),
        b"lib-ver" => Test::LibVer(value.to_vec()),
        b"db" => Test::Db(database(cx, value)?),
        b"flags" => Test::Flags(letters(value, FLAGS, "flags", negated)?),
        b"capa" => Test::Capabilities(letters(value, CAPABILITIES, "capa", negated)?),
        b"idle" if !negated => Test::Idle(seconds(value, "idle")?),
        b"maxage" if !negated => Test::Age(seconds(value, "maxage")?),
        _ => return Err(Error::Syntax.into()),
    })
}

fn yes_or_no(word: &[u8]) -> Result<bool> {
    match word.to_ascii_lowercase().as_slice() {
        b"yes" => Ok(true),
        b"no" => Ok(false),
        _ => Err(Error::Syntax.into()),
    }
}

/// One number or more. A list may name what no client has; what is to be closed must be one.
fn ids(args: &mut Args<'_>, lists_ids: bool) -> Result<Vec<u64>> {
    let mut ids = Vec::new();
    if args.is_empty() {
        return Err(Error::Syntax.into());
    }
    while let Some(word) = args.peek() {
        match number::parse_i64(word) {
            Some(id) if id > 0 || lists_ids => ids.push(u64::try_from(id).unwrap_or(0)),
            None if !ids.is_empty() => break,
            None if lists_ids => return Err(Error::reply("ERR Invalid client ID").into()),
            _ => return Err(Error::reply("ERR client-id should be greater than 0").into()),
        }
        args.next()?;
    }
    Ok(ids)
}

fn seconds(word: &[u8], name: &str) -> Result<u64> {
    let unknown = || Error::reply(format!("ERR {name} is not an integer or out of range"));
    let secs = number::parse_i64(word).ok_or_else(unknown)?;
    let positive = u64::try_from(secs).ok().filter(|secs| *secs > 0);
    positive.ok_or_else(|| Error::reply(format!("ERR {name} should be greater than 0")).into())
}

fn database(cx: &SessionCx<'_>, word: &[u8]) -> Result<u16> {
    let unknown = Error::reply("ERR DB is not an integer or out of range");
    let number = number::parse_i64(word).ok_or(unknown)?;
    let count = cx.node.keyspace.shared.database_count();
    let known = u16::try_from(number).ok().filter(|number| usize::from(*number) < count);
    let last = count.saturating_sub(1);
    known.ok_or_else(|| Error::reply(format!("ERR DB number should be between 0 and {last}")).into())
}

fn letters(word: &[u8], known: &[u8], what: &str, negated: bool) -> Result<Vec<u8>> {
    let unknown: Vec<u8> = word.iter().copied().filter(|letter| !known.contains(letter)).collect();
    if unknown.is_empty() {
        return Ok(word.to_vec());
    }
    let place =
        if negated { format!("NOT-{} filter", what.to_uppercase()) } else { "provided filter".into() };
    Err(Error::about(&format!("ERR Unknown {what} found in the {place}: "), &unknown, "").into())
}
