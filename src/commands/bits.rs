//! Strings as bits.

use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, Group, KeyFlags, Keys, Spec, read, write};
use crate::error::{Error, Result};
use crate::keyspace::{Env, ReadCx, WriteCx, entry};
use crate::number;
use crate::reply::Reply;
use crate::types::bits::field::{self, Action, Field, Overflow, Step};
use crate::types::bits::{self, Operation};
use crate::types::string;

const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const CHANGE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);

pub const COMMANDS: &[Spec] = &[
    read("bitcount", Arity::AtLeast(2), Keys::at(1, READ), bitcount)
        .group(Group::Bitmap)
        .since("2.6.0")
        .complexity("O(N)")
        .summary("Counts the bits that are set in a string or a part of it."),
    write("bitfield", Arity::AtLeast(2), Keys::at(1, CHANGE.or(KeyFlags::VARIABLE_FLAGS)), bitfield)
        .key_note("This command allows both access and modification of the key")
        .group(Group::Bitmap)
        .denyoom()
        .since("3.2.0")
        .complexity("O(1) for each subcommand.")
        .summary("Reads, sets and increments integers of any width at any bit of a string."),
    read("bitfield_ro", Arity::AtLeast(2), Keys::at(1, READ), bitfield_ro)
        .group(Group::Bitmap)
        .fast()
        .since("6.0.0")
        .complexity("O(1) for each subcommand.")
        .summary("Reads integers of any width at any bit of a string."),
    write(
        "bitop",
        Arity::AtLeast(4),
        Keys::at(2, KeyFlags::OW.or(KeyFlags::UPDATE)).and(Keys::range(3, -1, 1, READ)),
        bitop,
    )
    .group(Group::Bitmap)
    .denyoom()
    .since("2.6.0")
    .complexity("O(N)")
    .summary("Combines strings bit by bit and stores the result."),
    read("bitpos", Arity::AtLeast(3), Keys::at(1, READ), bitpos)
        .group(Group::Bitmap)
        .since("2.8.7")
        .complexity("O(N)")
        .summary("Finds the first set or clear bit in a string or a part of it."),
    read("getbit", Arity::Exactly(3), Keys::at(1, READ), getbit)
        .group(Group::Bitmap)
        .fast()
        .since("2.2.0")
        .complexity("O(1)")
        .summary("Returns one bit of a string."),
    write("setbit", Arity::Exactly(4), Keys::at(1, CHANGE), setbit)
        .group(Group::Bitmap)
        .denyoom()
        .since("2.2.0")
        .complexity("O(1)")
        .summary("Sets or clears one bit of a string, which grows as needed."),
];

/// The place of a bit. With `width`, `#n` is the n-th field of that width.
fn offset(env: &Env<'_>, text: &[u8], width: Option<u32>) -> Result<u64> {
    let place = match (text, width) {
        ([b'#', rest @ ..], Some(width)) => {
            number::parse_i64(rest).and_then(|n| n.checked_mul(i64::from(width)))
        }
        _ => number::parse_i64(text),
    };
    place
        .and_then(|place| u64::try_from(place).ok())
        .filter(|place| place / 8 < env.limits.max_string_len as u64)
        .ok_or_else(|| Error::reply("ERR bit offset is not an integer or out of range").into())
}

fn setbit(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let at = offset(&cx.env, args.next()?, None)?;
    let on = match args.next()? {
        b"0" => false,
        b"1" => true,
        _ => return Err(Error::reply("ERR bit is not an integer or out of range").into()),
    };
    Ok(Reply::flag(bits::set(cx, key, at, on)?))
}

fn getbit(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let at = offset(&cx.env, args.next()?, None)?;
    let found = entry::find_counted(cx, key)?;
    let value = string::value(&found)?;
    Ok(Reply::flag(bits::get(cx, value.as_ref(), at)?))
}

/// BIT or BYTE, as the last word; bits per unit.
fn unit(args: &mut Args<'_>) -> Result<i64> {
    let unit = if args.keyword("BIT") {
        1
    } else if args.keyword("BYTE") {
        8
    } else {
        return Err(Error::Syntax.into());
    };
    args.end().map(|()| unit)
}

/// A range in units, with negative places counted from the end, as a range of bits inside the string.
fn bit_range(len: u64, start: i64, end: i64, unit: i64) -> Option<std::ops::RangeInclusive<u64>> {
    let total = len as i64 * 8 / unit;
    let place = |at: i64| if at < 0 { at.saturating_add(total).max(0) } else { at };
    let (start, end) = (place(start), place(end).min(total - 1));
    (start <= end).then(|| (start * unit) as u64..=(end * unit + unit - 1) as u64)
}

fn bitcount(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find_counted(cx, args.key()?)?;
    // An absent key is empty, whatever follows.
    let Some(value) = string::value(&found)? else { return Ok(Reply::Integer(0)) };
    let range = match args.left() {
        0 => bit_range(value.len(), 0, -1, 8),
        1 => bit_range(value.len(), args.int()?, -1, 8),
        2 | 3 => {
            let (start, end) = (args.int()?, args.int()?);
            if start < 0 && end < 0 && start > end {
                return Ok(Reply::Integer(0));
            }
            let unit = if args.is_empty() { 8 } else { unit(&mut args)? };
            bit_range(value.len(), start, end, unit)
        }
        _ => return Err(Error::Syntax.into()),
    };
    let count = range.map_or(Ok(0), |range| bits::count(cx, &value, range))?;
    Ok(Reply::Integer(count as i64))
}

fn bitpos(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let on = match args.int()? {
        0 => false,
        1 => true,
        _ => return Err(Error::reply("ERR The bit argument must be 1 or 0.").into()),
    };
    let found = entry::find_counted(cx, key)?;
    // An absent key is an endless row of clear bits.
    let Some(value) = string::value(&found)? else { return Ok(Reply::Integer(if on { -1 } else { 0 })) };
    let words = args.left();
    let range = match words {
        0 => bit_range(value.len(), 0, -1, 8),
        1 => bit_range(value.len(), args.int()?, -1, 8),
        2 => bit_range(value.len(), args.int()?, args.int()?, 8),
        3 => {
            let start = args.int()?;
            let mut last = args;
            last.next()?;
            let unit = unit(&mut last)?;
            bit_range(value.len(), start, args.int()?, unit)
        }
        _ => return Err(Error::Syntax.into()),
    };
    let Some(range) = range else { return Ok(Reply::Integer(-1)) };
    let position = bits::position(cx, &value, on, range)?;
    // Without an end, clear bits follow the string.
    let behind = (!on && words < 2).then(|| value.len() * 8);
    Ok(Reply::Integer(position.or(behind).map_or(-1, |at| at as i64)))
}

fn bitop(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    const WORDS: [(&str, Operation); 8] = [
        ("AND", Operation::And),
        ("OR", Operation::Or),
        ("XOR", Operation::Xor),
        ("NOT", Operation::Not),
        ("DIFF", Operation::Diff),
        ("DIFF1", Operation::Diff1),
        ("ANDOR", Operation::AndOr),
        ("ONE", Operation::One),
    ];
    let known = WORDS.into_iter().find(|(word, _)| args.keyword(word));
    let (word, operation) = known.ok_or(Error::Syntax)?;
    let to = args.key()?;
    match operation {
        Operation::Not if args.left() != 1 => {
            return Err(Error::reply("ERR BITOP NOT must be called with a single source key.").into());
        }
        Operation::Diff | Operation::Diff1 | Operation::AndOr if args.left() < 2 => {
            let refusal = format!("ERR BITOP {word} must be called with at least two source keys.");
            return Err(Error::reply(refusal).into());
        }
        _ => {}
    }
    let mut operands = Vec::with_capacity(args.left());
    for mut found in entry::find_each(cx, args.rest())? {
        entry::meet(cx, &mut found)?;
        operands.push(string::value(&found)?);
    }
    let to = entry::find(cx, to)?;
    Ok(Reply::Integer(bits::combine(cx, operation, &to, &operands)? as i64))
}

fn bitfield(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let steps = steps(&cx.env, args)?;
    let results = if steps.iter().all(|step| step.action == Action::Get) {
        let found = entry::find_counted(cx, key)?;
        field::read(cx, string::value(&found)?.as_ref(), &steps)?
    } else {
        field::run(cx, key, &steps)?
    };
    Ok(integers(results))
}

fn bitfield_ro(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let steps = steps(&cx.env, args)?;
    if steps.iter().any(|step| step.action != Action::Get) {
        return Err(Error::reply("ERR BITFIELD_RO only supports the GET subcommand").into());
    }
    let found = entry::find_counted(cx, key)?;
    Ok(integers(field::read(cx, string::value(&found)?.as_ref(), &steps)?))
}

fn integers(results: Vec<Option<i64>>) -> Reply {
    Reply::Array(results.into_iter().map(|result| result.map_or(Reply::Nil, Reply::Integer)).collect())
}

/// The subcommands of BITFIELD.
fn steps(env: &Env<'_>, mut args: Args<'_>) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut overflow = Overflow::Wrap;
    while !args.is_empty() {
        // A subcommand that lacks words is a syntax error before any of its words is looked at.
        let follow = args.left() - 1;
        if follow >= 1 && args.keyword("OVERFLOW") {
            overflow = if args.keyword("WRAP") {
                Overflow::Wrap
            } else if args.keyword("SAT") {
                Overflow::Saturate
            } else if args.keyword("FAIL") {
                Overflow::Fail
            } else {
                return Err(Error::reply("ERR Invalid OVERFLOW type specified").into());
            };
            continue;
        }
        let action: fn(i64) -> Action = if follow >= 2 && args.keyword("GET") {
            |_| Action::Get
        } else if follow >= 3 && args.keyword("SET") {
            Action::Set
        } else if follow >= 3 && args.keyword("INCRBY") {
            Action::Increment
        } else {
            return Err(Error::Syntax.into());
        };
        let field = Field::parse(args.next()?).ok_or_else(|| Error::reply(
            "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
        ))?;
        let at = offset(env, args.next()?, Some(field.width))?;
        let number = if action(0) == Action::Get { 0 } else { args.int()? };
        steps.push(Step { field, at, action: action(number), overflow });
    }
    Ok(steps)
}
