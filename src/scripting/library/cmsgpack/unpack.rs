//! `cmsgpack.unpack(data)`, `unpack_one(data[, offset])` and `unpack_limit(data, limit[, offset])`: values out of bytes that
//! may hold many.

use std::ffi::c_int;

use crate::scripting::library::frames::Frames;
use crate::scripting::stack::Stack;

/// All values.
pub fn unpack(stack: &Stack<'_>) -> c_int {
    unpack_some(stack, 0, 0)
}

/// The next value, behind the offset of the one that follows it, or -1.
pub fn unpack_one(stack: &Stack<'_>) -> c_int {
    let offset = stack.optional_integer(2, 0);
    stack.set_top(stack.top().min(1));
    unpack_some(stack, 1, offset)
}

/// As many values as the limit says, behind the offset of the one that follows them, or -1.
pub fn unpack_limit(stack: &Stack<'_>) -> c_int {
    let limit = stack.check_integer(2);
    let offset = stack.optional_integer(3, 0);
    stack.set_top(1);
    unpack_some(stack, limit, offset)
}

/// No limit and no offset: all values, and no offset before them.
fn unpack_some(stack: &Stack<'_>, limit: i64, offset: i64) -> c_int {
    let all = limit == 0 && offset == 0;
    // SAFETY: the argument stays on the stack.
    let data = unsafe { stack.check_bytes(1) };
    // Messages have room for 32 bits. The first one says the length where it means the limit.
    let (shown_offset, shown_len) = (offset as i32, data.len() as i32);
    if offset < 0 || limit < 0 {
        stack.raise(format_args!(
            "Invalid request to unpack with offset of {shown_offset} and limit of {shown_len}."
        ));
    }
    let Some(rest) = data.get(offset as usize..) else {
        stack.raise(format_args!("Start offset {shown_offset} greater than input length {shown_len}."));
    };
    let limit = if all { i64::from(i32::MAX) } else { limit };
    let mut unpacker = Unpacker { stack, rest, open: Frames::new() };
    let mut results = 0;
    while !unpacker.rest.is_empty() && i64::from(results) < limit {
        match unpacker.value() {
            Ok(()) => results += 1,
            Err(Bad::TooShort) => stack.raise(format_args!("Missing bytes in input.")),
            Err(Bad::Format) => stack.raise(format_args!("Bad data format in input.")),
        }
    }
    if all {
        return results;
    }
    stack.check_room(1, c"in function mp_unpack_full");
    let next = data.len() - unpacker.rest.len();
    stack.push_number(if unpacker.rest.is_empty() { -1.0 } else { next as f64 });
    stack.insert(2);
    results + 1
}

#[derive(Debug, Clone, Copy)]
enum Bad {
    TooShort,
    Format,
}

/// A table in the making, which is on the stack. Above it is the key of what is read next, if that is known.
#[derive(Debug, Clone, Copy)]
enum Open {
    Array { left: u32, index: u32 },
    Map { left: u32, has_key: bool },
}

struct Unpacker<'s> {
    stack: &'s Stack<'s>,
    rest: &'s [u8],
    open: Frames<Open>,
}

impl<'s> Unpacker<'s> {
    /// Pushes the next value, with all that is in it.
    fn value(&mut self) -> Result<(), Bad> {
        loop {
            if let Some(table) = self.token()? {
                self.stack.push_table(0);
                if !self.open.push(self.stack, table) {
                    self.stack.check_room(c_int::MAX, c"too many nested values");
                }
            } else {
                self.store();
            }
            while self.is_full() {
                self.open.pop();
                self.store();
            }
            match self.open.last() {
                None => return Ok(()),
                Some(Open::Map { .. }) => {}
                Some(Open::Array { index, .. }) => {
                    self.stack.check_room(1, c"in function mp_decode_to_lua_array");
                    self.stack.push_number(f64::from(*index));
                }
            }
        }
    }

    /// Whether the innermost table has all its values.
    fn is_full(&mut self) -> bool {
        matches!(self.open.last(), Some(Open::Array { left: 0, .. } | Open::Map { left: 0, has_key: false }))
    }

    /// The value on top is complete: it belongs to the table that it is in, if any.
    fn store(&mut self) {
        match self.open.last() {
            None => return,
            Some(Open::Array { left, index }) => {
                *left -= 1;
                *index = index.wrapping_add(1);
            }
            Some(Open::Map { has_key: has_key @ false, .. }) => {
                *has_key = true;
                return;
            }
            Some(Open::Map { left, has_key }) => {
                *left -= 1;
                *has_key = false;
            }
        }
        self.stack.raw_set(-3);
    }

    /// Pushes the next value or returns the table that begins. Of a table, nothing is made yet.
    fn token(&mut self) -> Result<Option<Open>, Bad> {
        let stack = self.stack;
        let kind = *self.rest.first().ok_or(Bad::TooShort)?;
        stack.check_room(1, c"too many return values at once; use unpack_one or unpack_limit instead.");
        self.rest = self.rest.get(1..).unwrap_or_default();
        match kind {
            0x00..=0x7f => stack.push_number(f64::from(kind)),
            0x80..=0x8f => return Ok(Some(map(u32::from(kind & 0xf)))),
            0x90..=0x9f => return Ok(Some(array(u32::from(kind & 0xf)))),
            0xa0..=0xbf => self.string(u32::from(kind & 0x1f))?,
            0xc0 => stack.push_nil(),
            0xc2 => stack.push_boolean(false),
            0xc3 => stack.push_boolean(true),
            0xca => stack.push_number(f64::from(f32::from_be_bytes(self.take()?))),
            0xcb => stack.push_number(f64::from_be_bytes(self.take()?)),
            0xcc => stack.push_number(f64::from(u8::from_be_bytes(self.take()?))),
            0xcd => stack.push_number(f64::from(u16::from_be_bytes(self.take()?))),
            0xce => stack.push_number(f64::from(u32::from_be_bytes(self.take()?))),
            // An unsigned integer of 64 bits is read as a signed one.
            0xcf | 0xd3 => stack.push_number(i64::from_be_bytes(self.take()?) as f64),
            0xd0 => stack.push_number(f64::from(i8::from_be_bytes(self.take()?))),
            0xd1 => stack.push_number(f64::from(i16::from_be_bytes(self.take()?))),
            0xd2 => stack.push_number(f64::from(i32::from_be_bytes(self.take()?))),
            0xd9 => self.take().and_then(|len| self.string(u8::from_be_bytes(len).into()))?,
            0xda => self.take().and_then(|len| self.string(u16::from_be_bytes(len).into()))?,
            0xdb => self.take().and_then(|len| self.string(u32::from_be_bytes(len)))?,
            0xdc => return Ok(Some(array(u16::from_be_bytes(self.take()?).into()))),
            0xdd => return Ok(Some(array(u32::from_be_bytes(self.take()?)))),
            0xde => return Ok(Some(map(u16::from_be_bytes(self.take()?).into()))),
            0xdf => return Ok(Some(map(u32::from_be_bytes(self.take()?)))),
            0xe0..=0xff => stack.push_number(f64::from(kind as i8)),
            0xc1 | 0xc4..=0xc9 | 0xd4..=0xd8 => return Err(Bad::Format),
        }
        Ok(None)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Bad> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Bad::TooShort)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn string(&mut self, len: u32) -> Result<(), Bad> {
        let (taken, rest) = self.rest.split_at_checked(len as usize).ok_or(Bad::TooShort)?;
        self.rest = rest;
        self.stack.push_bytes(taken);
        Ok(())
    }
}

fn array(left: u32) -> Open {
    Open::Array { left, index: 1 }
}

fn map(left: u32) -> Open {
    Open::Map { left, has_key: false }
}
