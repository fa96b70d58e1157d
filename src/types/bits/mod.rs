//! Strings as rows of bits: the first bit is the highest one of the first byte.

pub mod field;

use std::ops::{ControlFlow, RangeInclusive};

use super::string::{self, Draft, Pieces, Value};
use crate::encoding::DATA;
use crate::encoding::string::{INLINE_MAX, PIECE_LEN};
use crate::error::Result;
use crate::keyspace::build::Builder;
use crate::keyspace::{Entry, Env, Event, View, WriteCx, entry};

/// The bit at a place; behind the end of the string all bits are clear.
pub fn get(cx: &mut impl View, value: Option<&Value>, at: u64) -> Result<bool> {
    let Some(value) = value else { return Ok(false) };
    let span = value.read_range(cx, at / 8..at / 8 + 1)?;
    Ok(cx.bytes(span).first().is_some_and(|byte| byte & mask(at) != 0))
}

/// Sets or clears a bit of the string, which grows as needed. The old bit.
pub fn set(cx: &mut WriteCx<'_>, key: &[u8], at: u64, on: bool) -> Result<bool> {
    let found = entry::find(cx, key)?;
    let grows = string::value(&found)?.is_none_or(|value| value.len() <= at / 8);
    let mut draft = Draft::open(cx, found, at / 8 + 1)?;
    let mut byte = [0];
    draft.read(cx, at / 8, &mut byte)?;
    let was = byte[0] & mask(at) != 0;
    if was != on {
        draft.write(cx, at / 8, &[byte[0] ^ mask(at)])?;
    }
    draft.finish(cx)?;
    if grows || was != on {
        cx.notify(Event::SETBIT, key);
    }
    Ok(was)
}

fn mask(at: u64) -> u8 {
    0x80 >> (at % 8)
}

/// A byte without the bits that lie outside of the range.
fn clipped(byte: u8, number: u64, bits: &RangeInclusive<u64>) -> u8 {
    let mut byte = byte;
    if number == bits.start() / 8 {
        byte &= 0xff >> (bits.start() % 8);
    }
    if number == bits.end() / 8 {
        byte &= 0xffu8 << (7 - bits.end() % 8);
    }
    byte
}

fn bytes_of(bits: &RangeInclusive<u64>) -> std::ops::Range<u64> {
    bits.start() / 8..bits.end() / 8 + 1
}

fn move_if_long(env: &Env<'_>, bits: &RangeInclusive<u64>) -> Result<()> {
    let bytes = bytes_of(bits);
    env.move_if_heavy((bytes.end - bytes.start) as usize, Env::IO_THREAD_MAX_BYTES)
}

/// How many bits are set in a range that lies inside of the string.
pub fn count(cx: &mut impl View, value: &Value, bits: RangeInclusive<u64>) -> Result<u64> {
    move_if_long(cx.env(), &bits)?;
    let mut total = 0;
    value.each(cx, bytes_of(&bits), &mut |at, bytes| {
        total += ones(bytes);
        // Only the first and the last byte of the range can have bits outside of it.
        let last = at + bytes.len() as u64 - 1;
        let outside = |number: u64, byte: u8| u64::from((byte ^ clipped(byte, number, &bits)).count_ones());
        total -= bytes.first().map_or(0, |byte| outside(at, *byte));
        if bytes.len() > 1 {
            total -= bytes.last().map_or(0, |byte| outside(last, *byte));
        }
        ControlFlow::Continue(())
    })?;
    Ok(total)
}

fn ones(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let in_words: u64 = words.iter().map(|word| u64::from(u64::from_be_bytes(*word).count_ones())).sum();
    in_words + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

/// The first bit of this kind in a range that lies inside of the string.
pub fn position(
    cx: &mut impl View,
    value: &Value,
    on: bool,
    bits: RangeInclusive<u64>,
) -> Result<Option<u64>> {
    move_if_long(cx.env(), &bits)?;
    let range = bytes_of(&bits);
    let mut found = None;
    // Bytes up to here have been looked at.
    let mut seen = range.start;
    // A byte that holds nothing of interest, and what makes an interesting bit a set one.
    let (dull, flip) = if on { (0, 0) } else { (0xff, 0xff) };
    value.each(cx, range.clone(), &mut |at, bytes| {
        if !on && at > seen {
            return ControlFlow::Break(());
        }
        for (number, byte) in (at..).zip(bytes) {
            if *byte != dull {
                let byte = clipped(byte ^ flip, number, &bits);
                if byte != 0 {
                    found = Some(number * 8 + u64::from(byte.leading_zeros()));
                    return ControlFlow::Break(());
                }
            }
        }
        seen = at + bytes.len() as u64;
        ControlFlow::Continue(())
    })?;
    // What is not on record is zeros.
    Ok(found.or_else(|| (!on && seen < range.end).then(|| (seen * 8).max(*bits.start()))))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    And,
    Or,
    Xor,
    Not,
    /// Set in the first operand and in none of the others.
    Diff,
    /// Set in one of the others, but not in the first.
    Diff1,
    /// Set in the first and in one of the others.
    AndOr,
    /// Set in one operand only.
    One,
}

impl Operation {
    /// Works a further operand into the result; it ends where it ends, and is zeros from there on. `beside` holds what
    /// [`Operation::finish`] needs: bits of any further operand, or of more than one.
    fn apply(self, result: &mut [u8], beside: &mut [u8], operand: &[u8]) {
        let pairs = result.iter_mut().zip(operand);
        match self {
            Operation::And => {
                pairs.for_each(|(a, b)| *a &= b);
                if let Some(rest) = result.get_mut(operand.len()..) {
                    rest.fill(0);
                }
            }
            Operation::Or => pairs.for_each(|(a, b)| *a |= b),
            Operation::Xor => pairs.for_each(|(a, b)| *a ^= b),
            Operation::Not => {}
            Operation::Diff | Operation::Diff1 | Operation::AndOr => {
                beside.iter_mut().zip(operand).for_each(|(any, b)| *any |= b);
            }
            Operation::One => pairs.zip(beside).for_each(|((seen, b), twice)| {
                *twice |= *seen & b;
                *seen |= b;
            }),
        }
    }

    fn finish(self, result: &mut [u8], beside: &[u8]) {
        let pairs = result.iter_mut().zip(beside);
        match self {
            Operation::And | Operation::Or | Operation::Xor => {}
            Operation::Not => result.iter_mut().for_each(|byte| *byte = !*byte),
            Operation::Diff | Operation::One => pairs.for_each(|(a, beside)| *a &= !beside),
            Operation::Diff1 => pairs.for_each(|(a, any)| *a = any & !*a),
            Operation::AndOr => pairs.for_each(|(a, any)| *a &= any),
        }
    }
}

/// Makes `to` the combination of the operands, each as if followed by zeros to the length of the longest. The length
/// of the result; when it is empty there is no key.
pub fn combine(
    cx: &mut WriteCx<'_>,
    operation: Operation,
    to: &Entry<'_>,
    operands: &[Option<Value>],
) -> Result<u64> {
    let len = operands.iter().flatten().map(Value::len).max().unwrap_or(0);
    let bytes: u64 = operands.iter().flatten().map(Value::len).sum();
    cx.env.move_if_heavy(usize::try_from(bytes).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_BYTES)?;
    if len == 0 {
        entry::remove(cx, to)?;
        return Ok(0);
    }
    entry::tell_overwritten(cx, to, string::KIND);
    let mut work = Work::default();
    if len <= INLINE_MAX as u64 {
        work.part(cx, operation, operands, 0..len)?;
        string::set(cx, to, &work.result, 0)?;
        cx.notify(Event::SET, to.key);
        return Ok(len);
    }
    let pieces = Pieces::new(to, cx.new_version()?, len);
    // In steps, so that memory does not grow with the operands.
    let step = Env::IO_THREAD_MAX_BYTES as u64;
    let mut number = 0;
    let mut build = Builder::begin(&cx.env, len / PIECE_LEN as u64)?;
    for start in (0..len).step_by(Env::IO_THREAD_MAX_BYTES) {
        work.part(cx, operation, operands, start..(start + step).min(len))?;
        for bytes in work.result.chunks(PIECE_LEN) {
            // Zeros need no row.
            if bytes.iter().any(|byte| *byte != 0) {
                build.put(cx, DATA, &pieces.row(number), &[bytes])?;
            }
            number += 1;
        }
    }
    build.finish(cx)?;
    string::store_pieces(cx, to, &pieces, 0)?;
    cx.notify(Event::SET, to.key);
    Ok(len)
}

/// What is in memory of a combination.
#[derive(Default)]
struct Work {
    result: Vec<u8>,
    operand: Vec<u8>,
    beside: Vec<u8>,
}

impl Work {
    /// One part of the combination, into `result`.
    fn part(
        &mut self,
        cx: &WriteCx<'_>,
        operation: Operation,
        operands: &[Option<Value>],
        range: std::ops::Range<u64>,
    ) -> Result<()> {
        let Work { result, operand, beside } = self;
        let len = (range.end - range.start) as usize;
        result.clear();
        beside.clear();
        beside.resize(len, 0);
        for (i, value) in operands.iter().enumerate() {
            operand.clear();
            if let Some(value) = value {
                value.read_into(cx, range.clone(), operand)?;
            }
            if i == 0 {
                result.extend_from_slice(operand);
                result.resize(len, 0);
            } else {
                operation.apply(result, beside, operand);
            }
        }
        operation.finish(result, beside);
        Ok(())
    }
}
