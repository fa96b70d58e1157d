//! `struct.pack(format, ...)`.

use std::ffi::{CStr, c_int};

use super::format::{Format, Item};
use crate::scripting::library::buffer::Buffer;
use crate::scripting::library::cast::{to_i64, to_u64};
use crate::scripting::stack::Stack;

/// The values, taken one by one.
struct Values<'s> {
    stack: &'s Stack<'s>,
    /// The one that comes next.
    at: c_int,
    last: c_int,
}

impl Values<'_> {
    fn next(&mut self, missing: (&CStr, &CStr)) -> c_int {
        let at = self.at;
        self.at += 1;
        if at > self.last {
            // One nil stands behind the arguments.
            self.stack.raise_argument(at, if at == self.last + 1 { missing.0 } else { missing.1 });
        }
        at
    }

    fn number(&mut self) -> f64 {
        let at = self.next((c"number expected, got nil", c"number expected, got no value"));
        self.stack.check_number(at)
    }

    fn bytes<'b>(&mut self) -> &'b [u8] {
        let at = self.next((c"string expected, got nil", c"string expected, got no value"));
        // SAFETY: arguments stay on the stack to the end.
        unsafe { self.stack.check_bytes(at) }
    }
}

pub fn pack(stack: &Stack<'_>) -> c_int {
    // SAFETY: arguments stay on the stack to the end.
    let mut format = Format::new(unsafe { stack.check_bytes(1) });
    let mut values = Values { stack, at: 2, last: stack.top() };
    let mut packed = Buffer::new(stack);
    while let Some(item) = format.next(stack) {
        for _ in 0..format.padding(packed.len(), item) {
            packed.push(0);
        }
        match item {
            Item::Signed(size) | Item::Unsigned(size) => {
                push_integer(&mut packed, values.number(), size, format.is_big_endian);
            }
            Item::Float => push_ordered(&mut packed, (values.number() as f32).to_le_bytes(), &format),
            Item::Double => push_ordered(&mut packed, values.number().to_le_bytes(), &format),
            Item::Padding => packed.push(0),
            Item::Bytes(size) => {
                let bytes = values.bytes();
                let wanted = if size == 0 { bytes.len() } else { size };
                match bytes.get(..wanted) {
                    Some(bytes) => packed.extend(bytes),
                    // The message names the argument that comes next.
                    None => stack.raise_argument(values.at, c"string too short"),
                }
            }
            Item::ZeroTerminated => {
                packed.extend(values.bytes());
                packed.push(0);
            }
            Item::Control(option) => format.apply(stack, option),
        }
    }
    packed.push_string();
    1
}

/// No integer has more than 64 bits: what a larger one has above them is zero, also if it is negative.
fn push_integer(packed: &mut Buffer<'_>, number: f64, size: usize, is_big_endian: bool) {
    let value = if number < 0.0 { to_i64(number) as u64 } else { to_u64(number) };
    let byte = |place: usize| value.checked_shr(8 * place as u32).unwrap_or(0) as u8;
    for at in 0..size {
        packed.push(byte(if is_big_endian { size - 1 - at } else { at }));
    }
}

fn push_ordered<const N: usize>(packed: &mut Buffer<'_>, mut little_endian: [u8; N], format: &Format<'_>) {
    if format.is_big_endian {
        little_endian.reverse();
    }
    packed.extend(&little_endian);
}
