//! `cjson.encode(value)`.

use std::ffi::c_int;

use super::number;
use super::settings::{InvalidNumbers, Settings};
use crate::scripting::library::buffer::Buffer;
use crate::scripting::library::cast::to_i32;
use crate::scripting::library::frames::Frames;
use crate::scripting::stack::{Stack, Type};

/// A table that is being written, which is on the stack.
#[derive(Debug, Clone, Copy)]
enum Open {
    Array {
        done: c_int,
        last: c_int,
    },
    /// The key of what is being written is on the stack.
    Object {
        is_empty: bool,
    },
}

pub fn encode(stack: &Stack<'_>) -> c_int {
    if stack.top() != 1 {
        stack.raise_argument(1, c"expected 1 argument");
    }
    let mut encoder =
        Encoder { stack, settings: Settings::of(stack), json: Buffer::new(stack), open: Frames::new() };
    stack.push_copy(1);
    encoder.run();
    encoder.json.push_string();
    1
}

struct Encoder<'s> {
    stack: &'s Stack<'s>,
    settings: Settings,
    json: Buffer<'s>,
    open: Frames<Open>,
}

impl Encoder<'_> {
    /// Writes the value on top and takes it from the stack.
    fn run(&mut self) {
        loop {
            self.value();
            if !self.next() {
                return;
            }
        }
    }

    /// Writes the value on top and pops it; of a table, only the bracket, and leaves it there.
    fn value(&mut self) {
        let stack = self.stack;
        match stack.type_of(-1) {
            Type::String => self.string(-1),
            Type::Number => self.number(-1),
            Type::Boolean => self.json.extend(if stack.boolean(-1) { b"true" } else { b"false" }),
            Type::Nil => self.json.extend(b"null"),
            Type::LightUserdata if stack.is_null(-1) => self.json.extend(b"null"),
            Type::Table => return self.table(),
            _ => self.refuse(-1, "type not supported"),
        }
        stack.pop(1);
    }

    fn table(&mut self) {
        let depth = self.open.len() as c_int + 1;
        // Key and value, and what the buffer needs.
        let fits = depth <= self.settings.encode_max_depth && self.stack.has_room(3);
        let last = if fits { self.last_index() } else { 0 };
        let table = match last {
            1.. => Open::Array { done: 0, last },
            _ => Open::Object { is_empty: true },
        };
        if !fits || !self.open.push(self.stack, table) {
            self.stack.raise(format_args!("Cannot serialise, excessive nesting ({depth})"));
        }
        if last > 0 {
            self.json.push(b'[');
        } else {
            self.json.push(b'{');
            self.stack.push_nil();
        }
    }

    /// Pushes what is to be written next, after its key. Closes the tables that have nothing more. False at the end.
    fn next(&mut self) -> bool {
        let stack = self.stack;
        loop {
            let closes = match self.open.last() {
                None => return false,
                Some(Open::Array { done, last }) if *done < *last => {
                    if *done > 0 {
                        self.json.push(b',');
                    }
                    *done += 1;
                    stack.push_element(-1, *done);
                    return true;
                }
                Some(Open::Array { .. }) => b']',
                Some(Open::Object { is_empty }) => {
                    let is_first = std::mem::replace(is_empty, false);
                    if stack.next(-2) {
                        if !is_first {
                            self.json.push(b',');
                        }
                        self.key();
                        return true;
                    }
                    b'}'
                }
            };
            self.json.push(closes);
            self.open.pop();
            stack.pop(1);
        }
    }

    fn key(&mut self) {
        match self.stack.type_of(-2) {
            Type::Number => {
                self.json.push(b'"');
                self.number(-2);
                self.json.push(b'"');
            }
            Type::String => self.string(-2),
            _ => self.refuse(-2, "table key must be a number or string"),
        }
        self.json.push(b':');
    }

    fn number(&mut self, index: c_int) {
        let number = self.stack.number(index);
        match self.settings.invalid_numbers() {
            InvalidNumbers::Refused if !number.is_finite() => self.refuse(index, "must not be NaN or Inf"),
            InvalidNumbers::Null if !number.is_finite() => self.json.extend(b"null"),
            InvalidNumbers::Written if number.is_nan() => self.json.extend(b"nan"),
            _ => number::write(&mut self.json, number, self.settings.encode_number_precision),
        }
    }

    fn string(&mut self, index: c_int) {
        // SAFETY: the string stays on the stack while it is written.
        let mut rest = unsafe { self.stack.bytes(index) };
        self.json.push(b'"');
        while let Some(len) = rest.iter().position(|byte| escape(*byte) != PLAIN) {
            let (plain, escaped) = rest.split_at_checked(len).unwrap_or_default();
            self.json.extend(plain);
            let Some((byte, behind)) = escaped.split_first() else { break };
            match escape(*byte) {
                b'u' => {
                    let digit =
                        |value: u8| b"0123456789abcdef".get(usize::from(value)).copied().unwrap_or(b'0');
                    self.json.extend(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
                }
                letter => self.json.extend(&[b'\\', letter]),
            }
            rest = behind;
        }
        self.json.extend(rest);
        self.json.push(b'"');
    }

    /// The last index of a table whose keys are all positive and whole; otherwise no positive number. Raises if the array
    /// is too sparse to be written, so that a few elements cannot become a long text.
    fn last_index(&self) -> c_int {
        let stack = self.stack;
        let (mut last, mut count): (c_int, c_int) = (0, 0);
        stack.push_nil();
        while stack.next(-2) {
            let key = stack.number(-2);
            if stack.type_of(-2) != Type::Number || key.floor() != key || key < 1.0 {
                stack.pop(2);
                return -1;
            }
            if key > f64::from(last) {
                // Of a key that is too large this makes a negative number, and the table becomes an object.
                last = to_i32(key);
            }
            count += 1;
            stack.pop(1);
        }
        let Settings { sparse_ratio, sparse_safe, sparse_convert, .. } = self.settings;
        if sparse_ratio > 0 && last > count.wrapping_mul(sparse_ratio) && last > sparse_safe {
            if sparse_convert == 0 {
                self.refuse(-1, "excessively sparse array");
            }
            return -1;
        }
        last
    }

    fn refuse(&self, index: c_int, why: &str) -> ! {
        let kind = self.stack.type_name(index);
        self.stack.raise(format_args!("Cannot serialise {kind}: {why}"));
    }
}

/// What [`escape`] says of a byte that stands for itself.
const PLAIN: u8 = 0;

/// The letter behind the backslash; `u` is followed by four digits.
fn escape(byte: u8) -> u8 {
    LETTERS.get(usize::from(byte)).copied().unwrap_or(PLAIN)
}

static LETTERS: [u8; 256] = letters();

/// Compile time only: a wrong index does not compile.
#[allow(clippy::indexing_slicing)]
const fn letters() -> [u8; 256] {
    let mut letters = [PLAIN; 256];
    let mut byte = 0;
    while byte < letters.len() {
        letters[byte] = letter(byte as u8);
        byte += 1;
    }
    letters
}

const fn letter(byte: u8) -> u8 {
    match byte {
        8 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        12 => b'f',
        b'\r' => b'r',
        0..0x20 | 0x7f => b'u',
        b'"' | b'\\' | b'/' => byte,
        _ => PLAIN,
    }
}
