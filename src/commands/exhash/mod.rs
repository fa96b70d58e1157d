//! EXH*: hashes in TairHash's vocabulary, whose fields have versions and expiries.

mod expire;
mod options;
mod read;
mod write;

#[cfg(test)]
mod tests;

use crate::dispatch::spec::{Arity, Group, KeyFlags, Keys, ReadFn, Spec, WriteFn, session};
use crate::dispatch::spec::{read as reads, write as writes};

const LOOK: KeyFlags = KeyFlags::RO;
const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const UPDATE: KeyFlags = KeyFlags::RW.or(KeyFlags::UPDATE);
const CHANGE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);
const INSERT: KeyFlags = KeyFlags::RW.or(KeyFlags::INSERT);
const REMOVE: KeyFlags = KeyFlags::RW.or(KeyFlags::DELETE);

const WHOLE: &str = "O(N) where N is the number of fields.";
const NAMED: &str = "O(N) where N is the number of fields that are named.";
const ANY_ORDER: &[&str] = &["nondeterministic_output_order"];

/// Of one field, in constant time.
const fn changes(name: &'static str, arity: Arity, flags: KeyFlags, run: WriteFn) -> Spec {
    writes(name, arity, Keys::at(1, flags), run).element_at(2).group(Group::Hash).denyoom().complexity("O(1)")
}

const fn looks(name: &'static str, arity: Arity, flags: KeyFlags, run: ReadFn) -> Spec {
    reads(name, arity, Keys::at(1, flags), run).group(Group::Hash).fast().complexity("O(1)")
}

pub const COMMANDS: &[Spec] = &[
    changes("exhset", Arity::AtLeast(4), UPDATE, write::exhset)
        .summary("Sets a field, with an expiry, a condition and a check of its version if asked for."),
    looks("exhget", Arity::Exactly(3), READ, read::exhget)
        .element_at(2)
        .summary("Returns the value of a field."),
    changes("exhmset", Arity::AtLeast(2), UPDATE, write::exhmset)
        .complexity(NAMED)
        .summary("Sets fields; their expiries stay."),
    changes("exhmsetwithopts", Arity::AtLeast(2), UPDATE, write::exhmsetwithopts)
        .complexity(NAMED)
        .summary("Sets fields, each with a check of its version and an expiry, all of them or none."),
    changes("exhsetnx", Arity::Exactly(4), INSERT, write::exhsetnx).summary("Sets a field unless it exists."),
    changes("exhpexpireat", Arity::AtLeast(4), UPDATE, expire::exhpexpireat)
        .summary("Lets a field expire at a time in milliseconds since 1970."),
    changes("exhpexpire", Arity::AtLeast(4), UPDATE, expire::exhpexpire)
        .summary("Lets a field expire after so many milliseconds."),
    changes("exhexpireat", Arity::AtLeast(4), UPDATE, expire::exhexpireat)
        .summary("Lets a field expire at a time in seconds since 1970."),
    changes("exhexpire", Arity::AtLeast(4), UPDATE, expire::exhexpire)
        .summary("Lets a field expire after so many seconds."),
    changes("exhpersist", Arity::Exactly(3), UPDATE, expire::exhpersist)
        .summary("Removes the expiry of a field."),
    looks("exhpttl", Arity::Exactly(3), READ, expire::exhpttl)
        .element_at(2)
        .summary("Tells in how many milliseconds a field expires."),
    looks("exhttl", Arity::Exactly(3), READ, expire::exhttl)
        .element_at(2)
        .summary("Tells in how many seconds a field expires."),
    looks("exhver", Arity::Exactly(3), READ, read::exhver)
        .element_at(2)
        .summary("Tells the version of a field."),
    changes("exhsetver", Arity::Exactly(4), UPDATE, write::exhsetver).summary("Sets the version of a field."),
    changes("exhincrby", Arity::AtLeast(4), CHANGE, write::exhincrby)
        .summary("Adds a number to the integer that a field spells, within bounds if asked for."),
    changes("exhincrbyfloat", Arity::AtLeast(4), CHANGE, write::exhincrbyfloat).summary(
        "Adds a number to the floating point number that a field spells, within bounds if asked for.",
    ),
    looks("exhgetwithver", Arity::Exactly(3), READ, read::exhgetwithver)
        .element_at(2)
        .summary("Returns the value and the version of a field."),
    looks("exhmget", Arity::AtLeast(3), READ, read::exhmget)
        .complexity(NAMED)
        .summary("Returns the values of several fields."),
    looks("exhmgetwithver", Arity::AtLeast(3), READ, read::exhmgetwithver)
        .complexity(NAMED)
        .summary("Returns the values and versions of several fields."),
    changes("exhdel", Arity::AtLeast(3), REMOVE, write::exhdel)
        .complexity(NAMED)
        .summary("Deletes fields; replies with how many there were. The key goes with its last field."),
    changes("exhdelwithver", Arity::AtLeast(4), REMOVE, write::exhdelwithver)
        .complexity(NAMED)
        .summary("Deletes those of the fields that have the versions given."),
    looks("exhlen", Arity::AtLeast(2), LOOK, read::exhlen).summary("Counts the fields of a hash."),
    looks("exhexists", Arity::Exactly(3), LOOK, read::exhexists)
        .element_at(2)
        .summary("Tells whether a hash has a field."),
    looks("exhstrlen", Arity::Exactly(3), LOOK, read::exhstrlen)
        .element_at(2)
        .summary("Tells the length of the value of a field."),
    looks("exhkeys", Arity::Exactly(2), READ, read::exhkeys)
        .tips(ANY_ORDER)
        .complexity(WHOLE)
        .summary("Returns all fields of a hash, as of one moment."),
    looks("exhvals", Arity::Exactly(2), READ, read::exhvals)
        .tips(ANY_ORDER)
        .complexity(WHOLE)
        .summary("Returns all values of a hash, as of one moment."),
    looks("exhgetall", Arity::Exactly(2), READ, read::exhgetall)
        .tips(ANY_ORDER)
        .complexity(WHOLE)
        .summary("Returns all fields and values of a hash, as of one moment."),
    looks("exhgetallwithver", Arity::Exactly(2), READ, read::exhgetallwithver)
        .tips(ANY_ORDER)
        .complexity(WHOLE)
        .summary("Returns all fields, values and versions of a hash, as of one moment."),
    looks("exhscan", Arity::AtLeast(3), READ, read::exhscan)
        .tips(&["nondeterministic_output"])
        .complexity("O(1) for every call, O(N) for a walk over all N fields.")
        .summary("Walks the fields of a hash in steps; what is there throughout is returned."),
    session("exhexpireinfo", Arity::Exactly(1), expire::exhexpireinfo)
        .group(Group::Hash)
        .complexity("O(N) where N is the number of databases.")
        .summary("Tells how many fields have expired, and what their removal costs."),
];
