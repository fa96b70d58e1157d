//! `bit`: operations on the 32 bits of a number.

use std::ffi::c_int;

use super::set_function;
use crate::scripting::stack::{Stack, Type};

/// 2^52 + 2^51. A double of this size has no bits for fractions, so adding it leaves the rounded number in the lowest bits,
/// modulo 2^32, whatever its sign.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// Digits of a number in hexadecimal.
const HEX_DIGITS: u32 = 8;

pub fn push(stack: &Stack<'_>) {
    stack.push_table(12);
    // SAFETY: none of the functions owns anything.
    unsafe {
        set_function(stack, c"tobit", |stack| answer(stack, bits(stack, 1)));
        set_function(stack, c"bnot", |stack| answer(stack, !bits(stack, 1)));
        set_function(stack, c"band", |stack| fold(stack, |a, b| a & b));
        set_function(stack, c"bor", |stack| fold(stack, |a, b| a | b));
        set_function(stack, c"bxor", |stack| fold(stack, |a, b| a ^ b));
        set_function(stack, c"lshift", |stack| shift(stack, |bits, by| bits << by));
        set_function(stack, c"rshift", |stack| shift(stack, |bits, by| bits >> by));
        set_function(stack, c"arshift", |stack| shift(stack, |bits, by| (bits as i32 >> by) as u32));
        set_function(stack, c"rol", |stack| shift(stack, u32::rotate_left));
        set_function(stack, c"ror", |stack| shift(stack, u32::rotate_right));
        set_function(stack, c"bswap", |stack| answer(stack, bits(stack, 1).swap_bytes()));
        set_function(stack, c"tohex", to_hex);
    }
}

fn bits(stack: &Stack<'_>, argument: c_int) -> u32 {
    let bits = (stack.number(argument) + ROUNDING).to_bits() as u32;
    if bits == 0 && !stack.is_number(argument) {
        stack.raise_type(argument, c"number");
    }
    bits
}

/// Results are signed.
fn answer(stack: &Stack<'_>, bits: u32) -> c_int {
    stack.push_number(f64::from(bits as i32));
    1
}

/// The last argument is looked at before the second, which decides who is complained about.
fn fold(stack: &Stack<'_>, operation: impl Fn(u32, u32) -> u32) -> c_int {
    let first = bits(stack, 1);
    let all =
        (2..=stack.top()).rev().fold(first, |result, argument| operation(result, bits(stack, argument)));
    answer(stack, all)
}

/// Only the lowest five bits of the second argument count.
fn shift(stack: &Stack<'_>, operation: impl Fn(u32, u32) -> u32) -> c_int {
    let value = bits(stack, 1);
    let by = bits(stack, 2) & 31;
    answer(stack, operation(value, by))
}

/// The second argument says how many digits, at most eight; if it is negative, they are capital.
fn to_hex(stack: &Stack<'_>) -> c_int {
    let value = bits(stack, 1);
    let wanted = if stack.type_of(2) == Type::None { HEX_DIGITS as i32 } else { bits(stack, 2) as i32 };
    let digits = if wanted < 0 { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let count = wanted.unsigned_abs().min(HEX_DIGITS);
    let mut text = [0; HEX_DIGITS as usize];
    for (place, digit) in (0..count).rev().zip(&mut text) {
        *digit = digits.get((value >> (4 * place)) as usize & 15).copied().unwrap_or(b'0');
    }
    stack.push_bytes(text.get(..count as usize).unwrap_or_default());
    1
}
