//! `struct.unpack(format, data[, position])`.

use std::ffi::c_int;

use super::format::{Format, Item};
use crate::scripting::library::cast::to_u64;
use crate::scripting::stack::Stack;

/// Returns the values and the position behind the last of them.
pub fn unpack(stack: &Stack<'_>) -> c_int {
    // SAFETY: arguments stay on the stack to the end.
    let (mut format, data) = unsafe { (Format::new(stack.check_bytes(1)), stack.check_bytes(2)) };
    let position = stack.optional_integer(3, 1);
    if position == 0 {
        stack.raise_argument(3, c"offset must be 1 or greater");
    }
    // A negative position is one far behind the end.
    let mut at = (position as usize).wrapping_sub(1);
    let mut results = 0;
    while let Some(item) = format.next(stack) {
        at = at.wrapping_add(format.padding(at, item));
        let bytes = part(stack, data, at, item.size());
        stack.check_room(2, c"too many results");
        let mut taken = bytes.len();
        results += 1;
        match item {
            Item::Signed(size) => {
                stack.push_number(sign_extended(integer(bytes, format.is_big_endian), size) as f64);
            }
            Item::Unsigned(_) => stack.push_number(integer(bytes, format.is_big_endian) as f64),
            Item::Float => stack.push_number(f64::from(f32::from_le_bytes(ordered(bytes, &format)))),
            Item::Double => stack.push_number(f64::from_le_bytes(ordered(bytes, &format))),
            Item::Bytes(0) => {
                if results == 1 || !stack.is_number(-1) {
                    stack.raise(format_args!("format 'c0' needs a previous size"));
                }
                taken = to_u64(stack.number(-1)) as usize;
                stack.pop(1);
                results -= 1;
                stack.push_bytes(part(stack, data, at, taken));
            }
            Item::Bytes(_) => stack.push_bytes(bytes),
            Item::ZeroTerminated => {
                let rest = data.get(at..).unwrap_or_default();
                let Some(end) = memchr::memchr(0, rest) else {
                    stack.raise(format_args!("unfinished string in data"));
                };
                stack.push_bytes(rest.get(..end).unwrap_or_default());
                taken = end + 1;
            }
            Item::Padding => results -= 1,
            Item::Control(option) => {
                results -= 1;
                format.apply(stack, option);
            }
        }
        at = at.wrapping_add(taken);
    }
    stack.push_number(at.wrapping_add(1) as i64 as f64);
    results + 1
}

fn part<'d>(stack: &Stack<'_>, data: &'d [u8], at: usize, size: usize) -> &'d [u8] {
    match at.checked_add(size).and_then(|end| data.get(at..end)) {
        Some(part) => part,
        None => stack.raise_argument(2, c"data string too short"),
    }
}

/// Of an integer with more than 64 bits, the lowest.
fn integer(bytes: &[u8], is_big_endian: bool) -> u64 {
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    if is_big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
}

/// The sign of integers with more than 64 bits is where C on x86-64 looks for it: the shift is taken modulo 64.
fn sign_extended(value: u64, size: usize) -> i64 {
    let sign = (8 * size as u32).wrapping_sub(1);
    let mask = u64::MAX.wrapping_shl(sign);
    (if value & mask != 0 { value | mask } else { value }) as i64
}

/// The bytes in little-endian order.
fn ordered<const N: usize>(bytes: &[u8], format: &Format<'_>) -> [u8; N] {
    let mut little_endian: [u8; N] = bytes.try_into().unwrap_or([0; N]);
    if format.is_big_endian {
        little_endian.reverse();
    }
    little_endian
}
