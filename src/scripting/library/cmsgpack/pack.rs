//! `cmsgpack.pack(...)`: each value, one behind the other.

use std::ffi::c_int;

use crate::scripting::library::buffer::Buffer;
use crate::scripting::library::cast::{to_i32, to_i64};
use crate::scripting::stack::{Stack, Type};

/// A table so deep in others is packed as nil, so that a table that holds itself comes to an end.
const MOST_NESTED: u32 = 16;

pub fn pack(stack: &Stack<'_>) -> c_int {
    let arguments = stack.top();
    if arguments == 0 {
        stack.raise_argument(0, c"MessagePack pack needs input.");
    }
    if !stack.has_room(arguments) {
        stack.raise_argument(0, c"Too many arguments for MessagePack pack.");
    }
    let mut packed = Buffer::new(stack);
    for argument in 1..=arguments {
        stack.push_copy(argument);
        value(stack, &mut packed, 0);
        stack.pop(1);
    }
    packed.push_string();
    1
}

/// Packs the value on top and leaves it there.
fn value(stack: &Stack<'_>, packed: &mut Buffer<'_>, depth: u32) {
    match stack.type_of(-1) {
        // SAFETY: the string stays on the stack.
        Type::String => string(packed, unsafe { stack.bytes(-1) }),
        Type::Boolean => packed.push(if stack.boolean(-1) { 0xc3 } else { 0xc2 }),
        Type::Number => number(packed, stack.number(-1)),
        Type::Table if depth < MOST_NESTED => match elements(stack) {
            Some(count) => array(stack, packed, count, depth),
            None => map(stack, packed, depth),
        },
        _ => packed.push(0xc0),
    }
}

fn string(packed: &mut Buffer<'_>, bytes: &[u8]) {
    match bytes.len() {
        len @ 0..32 => packed.push(0xa0 | len as u8),
        len @ 32..0x100 => packed.extend(&[0xd9, len as u8]),
        len => head(packed, len, 0xda, 0xdb),
    }
    packed.extend(bytes);
}

/// A length in two bytes or, if it does not fit, in four.
fn head(packed: &mut Buffer<'_>, len: usize, two: u8, four: u8) {
    if let Ok(len) = u16::try_from(len) {
        packed.push(two);
        packed.extend(&len.to_be_bytes());
    } else {
        packed.push(four);
        packed.extend(&(len as u32).to_be_bytes());
    }
}

/// Whole numbers are integers, in as few bytes as they need.
fn number(packed: &mut Buffer<'_>, number: f64) {
    let whole = to_i64(number);
    if whole as f64 != number {
        return float(packed, number);
    }
    match whole {
        -32..=0x7f => packed.push(whole as u8),
        0x80..=0xff => packed.extend(&[0xcc, whole as u8]),
        0x100..=0xffff => prefixed(packed, 0xcd, (whole as u16).to_be_bytes()),
        0x1_0000..=0xffff_ffff => prefixed(packed, 0xce, (whole as u32).to_be_bytes()),
        0x1_0000_0000.. => prefixed(packed, 0xcf, whole.to_be_bytes()),
        -0x80..-32 => packed.extend(&[0xd0, whole as u8]),
        -0x8000..-0x80 => prefixed(packed, 0xd1, (whole as u16).to_be_bytes()),
        -0x8000_0000..-0x8000 => prefixed(packed, 0xd2, (whole as u32).to_be_bytes()),
        ..-0x8000_0000 => prefixed(packed, 0xd3, whole.to_be_bytes()),
    }
}

/// In four bytes if that says the same.
fn float(packed: &mut Buffer<'_>, number: f64) {
    let short = number as f32;
    if f64::from(short) == number {
        prefixed(packed, 0xca, short.to_be_bytes());
    } else {
        prefixed(packed, 0xcb, number.to_be_bytes());
    }
}

fn prefixed<const N: usize>(packed: &mut Buffer<'_>, kind: u8, bytes: [u8; N]) {
    packed.push(kind);
    packed.extend(&bytes);
}

/// How many elements the table on top has if its keys are exactly 1, 2, ... up to that.
fn elements(stack: &Stack<'_>) -> Option<c_int> {
    // Key and value, and what the buffer needs.
    stack.check_room(3, c"in function table_is_an_array");
    let (mut count, mut greatest) = (0, 0);
    stack.push_nil();
    while stack.next(-2) {
        stack.pop(1);
        let key = stack.number(-1);
        let index = to_i32(key);
        if stack.type_of(-1) != Type::Number || f64::from(index) != key || index <= 0 {
            stack.pop(1);
            return None;
        }
        greatest = greatest.max(index);
        count += 1;
    }
    (count == greatest).then_some(count)
}

fn array(stack: &Stack<'_>, packed: &mut Buffer<'_>, count: c_int, depth: u32) {
    match count {
        0..16 => packed.push(0x90 | count as u8),
        _ => head(packed, count as usize, 0xdc, 0xdd),
    }
    for index in 1..=count {
        stack.push_element(-1, index);
        value(stack, packed, depth + 1);
        stack.pop(1);
    }
}

fn map(stack: &Stack<'_>, packed: &mut Buffer<'_>, depth: u32) {
    // Key, value and the key again, and what the buffer needs.
    stack.check_room(4, c"in function mp_encode_lua_table_as_map");
    let mut count = 0;
    stack.push_nil();
    while stack.next(-2) {
        stack.pop(1);
        count += 1;
    }
    match count {
        0..16 => packed.push(0x80 | count as u8),
        _ => head(packed, count, 0xde, 0xdf),
    }
    stack.push_nil();
    while stack.next(-2) {
        stack.push_copy(-2);
        value(stack, packed, depth + 1);
        stack.pop(1);
        value(stack, packed, depth + 1);
        stack.pop(1);
    }
}
