//! Sorted sets: the table.

mod algebra;
mod member;
mod pop;
mod range;
mod remove;

#[cfg(test)]
mod tests;

use crate::dispatch::spec::{
    Arity, ElementHint, Flags, Group, KeyFlags, Keys, ReadFn, Spec, WriteFn, read, write,
};
use crate::reply::{Arena, Packer, Reply, Shape};
use crate::types::zset::Scored;

pub use member::add;

const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const CHANGE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);
const UPDATE: KeyFlags = KeyFlags::RW.or(KeyFlags::UPDATE);
const DELETE: KeyFlags = KeyFlags::RW.or(KeyFlags::DELETE);
const TAKE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE);
const OVERWRITE: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);

/// A command that reads one sorted set.
const fn looks(name: &'static str, arity: Arity, run: ReadFn) -> Spec {
    read(name, arity, Keys::at(1, READ), run).group(Group::SortedSet)
}

/// A command that changes one sorted set.
const fn changes(name: &'static str, arity: Arity, flags: KeyFlags, run: WriteFn) -> Spec {
    write(name, arity, Keys::at(1, flags), run).group(Group::SortedSet)
}

/// A command that combines several.
const fn combines(name: &'static str, run: ReadFn) -> Spec {
    read(name, Arity::AtLeast(3), Keys::counted(1, READ), run).group(Group::SortedSet)
}

/// A command that combines several into one.
const fn stores(name: &'static str, run: WriteFn) -> Spec {
    write(name, Arity::AtLeast(4), Keys::at(1, OVERWRITE).and(Keys::counted(2, READ)), run)
        .group(Group::SortedSet)
        .denyoom()
        .reads_sources()
}

const COUNT_COST: &str = "O(N) where N is the number of members in the range, or of those outside it if they are \
                          fewer; counted on a worker if there are many.";
const RANK_COST: &str = "O(N) where N is the distance of the member from the nearer end.";
const RANGE_COST: &str =
    "O(N+M) where N is the number of members that are skipped and M the number of those returned.";
const REMOVE_COST: &str = "O(N) where N is the number of members removed; O(1) if all of them are.";
const UNION_COST: &str = "O(N+M*log(M)) where N is the number of all members and M that of the result.";
const INTER_COST: &str =
    "O(N*K+M*log(M)) where N is the size of the smallest, K the number of keys, M that of the result.";
const DIFF_COST: &str =
    "O(N*K+M*log(M)) where N is the size of the first, K the number of keys, M that of the result.";

const fn blocks(name: &'static str, arity: Arity, keys: Keys, run: WriteFn) -> Spec {
    write(name, arity, keys, run).group(Group::SortedSet).flags(Flags::BLOCKING)
}

pub const COMMANDS: &[Spec] = &[
    changes("zadd", Arity::AtLeast(4), UPDATE, member::zadd)
        .element_at(3)
        .denyoom()
        .fast()
        .since("1.2.0")
        .complexity("O(log(N)) for each member, where N is the size of the sorted set.")
        .summary("Adds members to a sorted set, or gives them another score."),
    read("zcard", Arity::Exactly(2), Keys::at(1, KeyFlags::RO), member::zcard)
        .group(Group::SortedSet)
        .fast()
        .since("1.2.0")
        .complexity("O(1)")
        .summary("Counts the members of a sorted set."),
    looks("zcount", Arity::Exactly(4), range::zcount)
        .hint(ElementHint::AnyScore)
        .fast()
        .since("2.0.0")
        .complexity(COUNT_COST)
        .summary("Counts the members of a sorted set whose scores lie in a range."),
    combines("zdiff", algebra::zdiff)
        .since("6.2.0")
        .complexity(DIFF_COST)
        .summary("Returns the members of the first sorted set that are in none of the others."),
    stores("zdiffstore", algebra::zdiffstore)
        .since("6.2.0")
        .complexity(DIFF_COST)
        .summary("Stores the members of the first sorted set that are in none of the others."),
    changes("zincrby", Arity::Exactly(4), CHANGE, member::zincrby)
        .element_at(3)
        .denyoom()
        .fast()
        .since("1.2.0")
        .complexity("O(log(N)) where N is the size of the sorted set.")
        .summary("Adds a number to the score of a member."),
    combines("zinter", algebra::zinter)
        .since("6.2.0")
        .complexity(INTER_COST)
        .summary("Returns the members that are in all of several sorted sets."),
    combines("zintercard", algebra::zintercard)
        .since("7.0.0")
        .complexity(
            "O(N*K) where N is the size of the smallest and K the number of keys; LIMIT ends it early.",
        )
        .summary("Counts the members that are in all of several sorted sets."),
    stores("zinterstore", algebra::zinterstore)
        .since("2.0.0")
        .complexity(INTER_COST)
        .summary("Stores the members that are in all of several sorted sets."),
    looks("zlexcount", Arity::Exactly(4), range::zlexcount)
        .fast()
        .since("2.8.9")
        .complexity(COUNT_COST)
        .summary("Counts the members of a sorted set whose names lie in a range."),
    blocks("bzmpop", Arity::AtLeast(5), Keys::counted(2, TAKE), pop::bzmpop)
        .since("7.0.0")
        .complexity("O(K+M) where K is the number of keys and M the number of members removed.")
        .summary("As ZMPOP; waits for a sorted set where there is none."),
    blocks("bzpopmax", Arity::AtLeast(3), Keys::range(1, -2, 1, TAKE), pop::bzpopmax)
        .fast()
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Removes the member with the greatest score of the first sorted set that there is; waits where there is none."),
    blocks("bzpopmin", Arity::AtLeast(3), Keys::range(1, -2, 1, TAKE), pop::bzpopmin)
        .fast()
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Removes the member with the least score of the first sorted set that there is; waits where there is none."),
    write("zmpop", Arity::AtLeast(4), Keys::counted(1, TAKE), pop::zmpop)
        .group(Group::SortedSet)
        .since("7.0.0")
        .complexity("O(K+M) where K is the number of keys and M the number of members removed.")
        .summary(
            "Removes the members with the least or greatest scores from the first sorted set that there is.",
        ),
    looks("zmscore", Arity::AtLeast(3), member::zmscore)
        .fast()
        .since("6.2.0")
        .complexity("O(N) where N is the number of members asked for.")
        .summary("Returns the scores of several members."),
    changes("zpopmax", Arity::AtLeast(2), TAKE, pop::zpopmax)
        .hint(ElementHint::AnyScore)
        .fast()
        .since("5.0.0")
        .complexity("O(M) where M is the number of members removed.")
        .summary("Removes and returns the members with the greatest scores."),
    changes("zpopmin", Arity::AtLeast(2), TAKE, pop::zpopmin)
        .hint(ElementHint::AnyScore)
        .fast()
        .since("5.0.0")
        .complexity("O(M) where M is the number of members removed.")
        .summary("Removes and returns the members with the least scores."),
    looks("zrandmember", Arity::AtLeast(2), member::zrandmember)
        .tips(&["nondeterministic_output"])
        .since("6.2.0")
        .complexity("O(N) where N is the number of members returned.")
        .summary("Picks members of a sorted set at random."),
    looks("zrange", Arity::AtLeast(4), range::zrange)
        .hint(ElementHint::AnyScore)
        .since("1.2.0")
        .complexity(RANGE_COST)
        .summary("Returns members of a sorted set by rank, score or name."),
    looks("zrangebylex", Arity::AtLeast(4), range::zrangebylex)
        .since("2.8.9")
        .complexity(RANGE_COST)
        .summary("Returns the members of a sorted set whose names lie in a range.")
        .replaced_by("6.2.0", "`ZRANGE` with the `BYLEX` argument"),
    looks("zrangebyscore", Arity::AtLeast(4), range::zrangebyscore)
        .hint(ElementHint::AnyScore)
        .since("1.0.5")
        .complexity(RANGE_COST)
        .summary("Returns the members of a sorted set whose scores lie in a range.")
        .replaced_by("6.2.0", "`ZRANGE` with the `BYSCORE` argument"),
    write(
        "zrangestore",
        Arity::AtLeast(5),
        Keys::at(1, OVERWRITE).and(Keys::at(2, READ)),
        range::zrangestore,
    )
    .group(Group::SortedSet)
    .denyoom()
    .reads_sources()
    .since("6.2.0")
    .complexity(RANGE_COST)
    .summary("Stores members of a sorted set by rank, score or name."),
    looks("zrank", Arity::AtLeast(3), member::zrank)
        .element_at(2)
        .fast()
        .since("2.0.0")
        .complexity(RANK_COST)
        .summary("Tells how many members have a lower place than a member, and with WITHSCORE its score."),
    changes("zrem", Arity::AtLeast(3), DELETE, member::zrem)
        .element_at(2)
        .fast()
        .since("1.2.0")
        .complexity("O(M) where M is the number of members named.")
        .summary("Removes members from a sorted set."),
    changes("zremrangebylex", Arity::Exactly(4), DELETE, remove::zremrangebylex)
        .since("2.8.9")
        .complexity(REMOVE_COST)
        .summary("Removes the members of a sorted set whose names lie in a range."),
    changes("zremrangebyrank", Arity::Exactly(4), DELETE, remove::zremrangebyrank)
        .since("2.0.0")
        .complexity(REMOVE_COST)
        .summary("Removes the members of a sorted set between two ranks."),
    changes("zremrangebyscore", Arity::Exactly(4), DELETE, remove::zremrangebyscore)
        .since("1.2.0")
        .complexity(REMOVE_COST)
        .summary("Removes the members of a sorted set whose scores lie in a range."),
    looks("zrevrange", Arity::AtLeast(4), range::zrevrange)
        .hint(ElementHint::AnyScore)
        .since("1.2.0")
        .complexity(RANGE_COST)
        .summary("Returns members of a sorted set by rank, the greatest score first.")
        .replaced_by("6.2.0", "`ZRANGE` with the `REV` argument"),
    looks("zrevrangebylex", Arity::AtLeast(4), range::zrevrangebylex)
        .since("2.8.9")
        .complexity(RANGE_COST)
        .summary("Returns the members of a sorted set whose names lie in a range, the last first.")
        .replaced_by("6.2.0", "`ZRANGE` with the `REV` and `BYLEX` arguments"),
    looks("zrevrangebyscore", Arity::AtLeast(4), range::zrevrangebyscore)
        .hint(ElementHint::AnyScore)
        .since("2.2.0")
        .complexity(RANGE_COST)
        .summary("Returns the members of a sorted set whose scores lie in a range, the greatest first.")
        .replaced_by("6.2.0", "`ZRANGE` with the `REV` and `BYSCORE` arguments"),
    looks("zrevrank", Arity::AtLeast(3), member::zrevrank)
        .element_at(2)
        .fast()
        .since("2.0.0")
        .complexity(RANK_COST)
        .summary("Tells how many members have a higher place than a member, and with WITHSCORE its score."),
    looks("zscan", Arity::AtLeast(3), member::zscan)
        .tips(&["nondeterministic_output"])
        .since("2.8.0")
        .complexity("O(1) for every call, O(N) for a walk over all N members.")
        .summary("Walks the members of a sorted set in steps; what exists throughout is returned."),
    looks("zscore", Arity::Exactly(3), member::zscore)
        .element_at(2)
        .fast()
        .since("1.2.0")
        .complexity("O(1)")
        .summary("Returns the score of a member."),
    combines("zunion", algebra::zunion)
        .since("6.2.0")
        .complexity(UNION_COST)
        .summary("Returns the members that are in any of several sorted sets."),
    stores("zunionstore", algebra::zunionstore)
        .since("2.0.0")
        .complexity(UNION_COST)
        .summary("Stores the members that are in any of several sorted sets."),
];

/// Members on their way into a reply, with their scores or without.
struct Listing {
    packer: Packer,
    with_scores: bool,
}

impl Listing {
    fn begin(arena: &mut Arena, with_scores: bool) -> Listing {
        Listing { packer: Packer::begin(arena), with_scores }
    }

    fn push(&mut self, Scored { member, score }: Scored<'_>) {
        self.packer.push(member);
        if self.with_scores {
            self.packer.push_double(score);
        }
    }

    fn finish(self, arena: &mut Arena) -> Reply {
        let shape = if self.with_scores { Shape::Pairs } else { Shape::Array };
        self.packer.finish(arena, shape)
    }
}
