//! Integers of 1 to 64 bits at any bit of a string.

use crate::error::Result;
use crate::keyspace::{View, WriteCx, entry};
use crate::types::string::{Draft, Value};

/// Bytes that a field can touch: 64 bits that begin inside a byte.
const MAX_BYTES: usize = 9;

/// How an integer is stored. An unsigned one has at most 63 bits, so that every value is an i64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub signed: bool,
    pub width: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    Wrap,
    Saturate,
    /// Nothing is changed.
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Get,
    Set(i64),
    Increment(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub field: Field,
    /// The first bit.
    pub at: u64,
    pub action: Action,
    pub overflow: Overflow,
}

impl Field {
    /// `u8`, `i16` and the like.
    pub fn parse(text: &[u8]) -> Option<Field> {
        let (signed, digits) = match text {
            [b'i', digits @ ..] => (true, digits),
            [b'u', digits @ ..] => (false, digits),
            _ => return None,
        };
        let width = u32::try_from(crate::number::parse_i64(digits)?).ok()?;
        let max = if signed { 64 } else { 63 };
        (1..=max).contains(&width).then_some(Field { signed, width })
    }

    fn min(self) -> i128 {
        if self.signed { -(1 << (self.width - 1)) } else { 0 }
    }

    fn max(self) -> i128 {
        let bits = if self.signed { self.width - 1 } else { self.width };
        (1 << bits) - 1
    }

    /// The value that these bits spell.
    fn value_of(self, bits: u64) -> i64 {
        let unused = 64 - self.width;
        if self.signed { (bits << unused) as i64 >> unused } else { (bits << unused >> unused) as i64 }
    }

    /// The value as it fits the field; None if it does not and must.
    fn fit(self, value: i128, overflow: Overflow) -> Option<i64> {
        if (self.min()..=self.max()).contains(&value) {
            return Some(value as i64);
        }
        match overflow {
            Overflow::Wrap => Some(self.value_of(value as u64)),
            Overflow::Saturate => Some(value.clamp(self.min(), self.max()) as i64),
            Overflow::Fail => None,
        }
    }
}

impl Step {
    /// The byte the field begins in, and how many it touches.
    fn place(&self) -> (u64, usize) {
        (self.at / 8, (self.at as usize % 8 + self.field.width as usize).div_ceil(8))
    }

    /// How far the field's lowest bit is from the lowest bit of its last byte.
    fn shift(&self) -> u32 {
        let end = self.at % 8 + u64::from(self.field.width);
        (8 - end % 8) as u32 % 8
    }

    fn mask(&self) -> u128 {
        ((1 << self.field.width) - 1) << self.shift()
    }

    fn get(&self, bytes: &[u8]) -> i64 {
        self.field.value_of((joined(bytes) >> self.shift()) as u64)
    }

    fn put(&self, bytes: &mut [u8], value: i64) {
        let bits = (value as u64 as u128) << self.shift() & self.mask();
        let mut joined = joined(bytes) & !self.mask() | bits;
        for byte in bytes.iter_mut().rev() {
            *byte = joined as u8;
            joined >>= 8;
        }
    }

    /// The number to reply with and, unless nothing is to change, the number to store.
    fn outcome(&self, old: i64) -> (Option<i64>, Option<i64>) {
        match self.action {
            Action::Get => (Some(old), None),
            Action::Set(value) => match self.field.fit(i128::from(value), self.overflow) {
                Some(new) => (Some(old), Some(new)),
                None => (None, None),
            },
            Action::Increment(by) => {
                let new = self.field.fit(i128::from(old) + i128::from(by), self.overflow);
                (new, new)
            }
        }
    }
}

fn joined(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |joined, byte| joined << 8 | u128::from(*byte))
}

/// Runs steps that only read.
pub fn read(cx: &mut impl View, value: Option<&Value>, steps: &[Step]) -> Result<Vec<Option<i64>>> {
    let mut results = Vec::with_capacity(steps.len());
    let start = cx.arena().len();
    for step in steps {
        let mut bytes = [0; MAX_BYTES];
        let (at, len) = step.place();
        if let Some(value) = value {
            let span = value.read_range(cx, at..at + len as u64)?;
            for (to, from) in bytes.iter_mut().zip(cx.bytes(span)) {
                *to = *from;
            }
            // Many steps must not pile up what they have read.
            cx.arena().truncate(start);
        }
        results.push(step.outcome(step.get(bytes.get(..len).unwrap_or(&[]))).0);
    }
    Ok(results)
}

/// Runs steps of which some write. The string grows to the farthest field that is written, even if that one then fails.
pub fn run(cx: &mut WriteCx<'_>, key: &[u8], steps: &[Step]) -> Result<Vec<Option<i64>>> {
    let found = entry::find(cx, key)?;
    let written = steps.iter().filter(|step| step.action != Action::Get);
    let end = written.map(|step| step.at + u64::from(step.field.width)).max().unwrap_or(0);
    let mut draft = Draft::open(cx, found, end.div_ceil(8))?;
    let mut results = Vec::with_capacity(steps.len());
    for step in steps {
        let mut bytes = [0; MAX_BYTES];
        let (at, len) = step.place();
        let bytes = bytes.get_mut(..len).unwrap_or(&mut []);
        draft.read(cx, at, bytes)?;
        let (result, new) = step.outcome(step.get(bytes));
        if let Some(new) = new {
            step.put(bytes, new);
            draft.write(cx, at, bytes)?;
        }
        results.push(result);
    }
    draft.finish(cx)?;
    Ok(results)
}
