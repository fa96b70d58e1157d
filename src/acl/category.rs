//! Categories of commands. They follow from the flags and the family of a command, as in Redis; where they do not, the
//! table of the family says so.

use crate::dispatch::spec::{Flags, Group, Run, Spec};

/// With their mark, in the order of replies.
const MARKED: [&str; 21] = [
    "@keyspace",
    "@read",
    "@write",
    "@set",
    "@sortedset",
    "@list",
    "@hash",
    "@string",
    "@bitmap",
    "@hyperloglog",
    "@geo",
    "@stream",
    "@pubsub",
    "@admin",
    "@fast",
    "@slow",
    "@blocking",
    "@dangerous",
    "@connection",
    "@transaction",
    "@scripting",
];

/// A set of categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Categories(u32);

impl Categories {
    /// All names, without their mark.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MARKED.iter().map(|marked| marked.trim_start_matches('@'))
    }

    /// The category of this name, in any case.
    pub fn named(name: &[u8]) -> Option<Categories> {
        let at = Categories::names().position(|known| known.as_bytes().eq_ignore_ascii_case(name))?;
        Some(Categories(1 << at))
    }

    /// Those of a command.
    pub fn of(spec: &Spec) -> Categories {
        let bits = Categories::names().enumerate().filter(|(_, name)| is_in(spec, name));
        Categories(bits.fold(0, |bits, (at, _)| bits | 1 << at))
    }

    pub fn has(self, other: Categories) -> bool {
        self.0 & other.0 == other.0
    }

    /// Names with their mark.
    pub fn marked(self) -> impl Iterator<Item = &'static str> {
        MARKED.iter().enumerate().filter(move |(at, _)| self.0 & 1 << at != 0).map(|(_, marked)| *marked)
    }
}

fn is_in(spec: &Spec, category: &str) -> bool {
    let flag = |flag: Flags| spec.flags.has(flag);
    let is_container = matches!(spec.run, Run::Container);
    spec.acl.contains(&category)
        || match category {
            // Nobody knows what a script reads.
            "read" => flag(Flags::READONLY) && !matches!(spec.run, Run::Script(_)),
            "write" => flag(Flags::WRITE),
            "admin" | "dangerous" => flag(Flags::ADMIN),
            "pubsub" => flag(Flags::PUBSUB),
            "blocking" => flag(Flags::BLOCKING),
            "fast" => flag(Flags::FAST),
            "slow" => !flag(Flags::FAST),
            "string" => spec.group == Group::String,
            "hash" => spec.group == Group::Hash,
            "set" => spec.group == Group::Set,
            "list" => spec.group == Group::List,
            "sortedset" => spec.group == Group::SortedSet,
            "bitmap" => spec.group == Group::Bitmap,
            "hyperloglog" => spec.group == Group::HyperLogLog,
            "geo" => spec.group == Group::Geo,
            "stream" => spec.group == Group::Stream && !is_container,
            "connection" => spec.group == Group::Connection && !is_container,
            _ => false,
        }
}
