//! Integers of 1 to 64 bits at any bit of a string.

use crate::error::Result;
use crate::keyspace::{Env, Event, View, WriteCx, entry};
use crate::types::string::{self, Draft, Value};

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

    /// [`Field::fit`] for a number that was given to store. Redis looks at it as unsigned for an unsigned field, and its
    /// arithmetic goes round for numbers far below a signed one: both saturate at the upper end.
    fn fit_given(self, value: i64, overflow: Overflow) -> Option<i64> {
        let wide = i128::from(value);
        let upwards =
            if self.signed { self.width < 64 && self.max() - wide > i128::from(i64::MAX) } else { value < 0 };
        if upwards && overflow == Overflow::Saturate {
            return Some(self.max() as i64);
        }
        self.fit(wide, overflow)
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
            Action::Set(value) => match self.field.fit_given(value, self.overflow) {
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
    cx.env().move_if_heavy(steps.len(), Env::IO_THREAD_MAX_ROWS)?;
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
    cx.env.move_if_heavy(steps.len(), Env::IO_THREAD_MAX_ROWS)?;
    let found = entry::find(cx, key)?;
    let written = steps.iter().filter(|step| step.action != Action::Get);
    let end = written.map(|step| step.at + u64::from(step.field.width)).max().unwrap_or(0);
    let grows = string::value(&found)?.is_none_or(|value| value.len() < end.div_ceil(8));
    let mut draft = Draft::open(cx, found, end.div_ceil(8))?;
    let mut changed = false;
    let mut results = Vec::with_capacity(steps.len());
    for step in steps {
        let mut bytes = [0; MAX_BYTES];
        let (at, len) = step.place();
        let bytes = bytes.get_mut(..len).unwrap_or(&mut []);
        draft.read(cx, at, bytes)?;
        let old = step.get(bytes);
        let (result, new) = step.outcome(old);
        changed |= new.is_some() && grows;
        // The same number again is no change of the key: who watches it is not told.
        if let Some(new) = new.filter(|new| *new != old) {
            changed = true;
            step.put(bytes, new);
            draft.write(cx, at, bytes)?;
        }
        results.push(result);
    }
    draft.finish(cx)?;
    if changed {
        cx.notify(Event::SETBIT, key);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        for (text, width) in [("u1", 1), ("u63", 63), ("i1", 1), ("i64", 64)] {
            assert_eq!(Field::parse(text.as_bytes()).map(|field| field.width), Some(width), "{text}");
        }
        for text in ["u0", "u64", "i0", "i65", "u", "", "8", "u08", "u-1", "U8", "x8", "u8 "] {
            assert_eq!(Field::parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn a_field_keeps_to_its_bits() {
        for signed in [false, true] {
            for width in 1..=if signed { 64 } else { 63 } {
                for at in 0..8 {
                    let field = Field { signed, width };
                    let step = Step { field, at, action: Action::Get, overflow: Overflow::Wrap };
                    let len = step.place().1;
                    for (before, value) in [(0xff, 0), (0x00, -1), (0xa5, 0x5a5a_5a5a_5a5a_5a5a)] {
                        let mut bytes = vec![before; len];
                        step.put(&mut bytes, value);
                        assert_eq!(step.get(&bytes), field.value_of(value as u64), "{field:?} at {at}");
                        let outside = |bytes: &[u8]| joined(bytes) & !step.mask() & ((1 << (8 * len)) - 1);
                        assert_eq!(outside(&bytes), outside(&vec![before; len]), "{field:?} at {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit() {
        let i64s = Field { signed: true, width: 64 };
        let above = i128::from(i64::MAX) + 1;
        assert_eq!(i64s.fit(above, Overflow::Wrap), Some(i64::MIN));
        assert_eq!(i64s.fit(above, Overflow::Saturate), Some(i64::MAX));
        assert_eq!(i64s.fit(above, Overflow::Fail), None);
        assert_eq!(i64s.fit(above - 1, Overflow::Fail), Some(i64::MAX));
        let u63s = Field { signed: false, width: 63 };
        assert_eq!(u63s.fit(-1, Overflow::Wrap), Some(i64::MAX));
        assert_eq!(u63s.fit(-1, Overflow::Saturate), Some(0));
        assert_eq!(u63s.fit(above, Overflow::Wrap), Some(0));
        let u8s = Field { signed: false, width: 8 };
        assert_eq!(u8s.fit_given(-1, Overflow::Saturate), Some(255));
        assert_eq!(u8s.fit_given(-1, Overflow::Fail), None);
        let i6s = Field { signed: true, width: 6 };
        assert_eq!(i6s.fit_given(-100, Overflow::Saturate), Some(-32));
        assert_eq!(i6s.fit_given(i64::MIN + 32, Overflow::Saturate), Some(-32));
        assert_eq!(i6s.fit_given(i64::MIN + 31, Overflow::Saturate), Some(31));
        assert_eq!((u8s.fit(255, Overflow::Fail), u8s.fit(256, Overflow::Fail)), (Some(255), None));
    }
}
