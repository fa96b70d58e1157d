//! Replies as Lua values, and Lua values as replies.

use std::os::raw::c_int;

use tarn_resp::{Protocol, encode};

use super::stack::{Stack, Type};

/// How deep a result may be nested; what is deeper becomes an error in its place. As deep as Redis's stack allows.
const MAX_DEPTH: usize = 7_995;
/// How deep replies of commands are: a limit for the stack, far from what any of them needs.
const MAX_REPLY_DEPTH: usize = 32;

/// The names of fields with a meaning, as upvalues of the function, in this order.
pub const NAMES: [&str; 11] = [
    "err",
    "ok",
    "double",
    "map",
    "set",
    "big_number",
    "verbatim_string",
    "format",
    "string",
    "source",
    "line",
];

const ERR: c_int = 1;
const OK: c_int = 2;
const DOUBLE: c_int = 3;
const MAP: c_int = 4;
const SET: c_int = 5;
const BIG_NUMBER: c_int = 6;
const VERBATIM: c_int = 7;
const FORMAT: c_int = 8;
const STRING: c_int = 9;
const SOURCE: c_int = 10;
const LINE: c_int = 11;

/// Puts a reply on the stack; the bytes behind it. Allocates: keeps nothing that would have to be dropped.
pub fn push<'b>(stack: &Stack<'_>, bytes: &'b [u8]) -> &'b [u8] {
    push_nested(stack, bytes, 0)
}

fn push_nested<'b>(stack: &Stack<'_>, bytes: &'b [u8], depth: usize) -> &'b [u8] {
    let (line, rest) = split_line(bytes);
    let Some((kind, text)) = line.split_first() else { return rest };
    if depth > MAX_REPLY_DEPTH || !stack.has_room(4) {
        stack.push_nil();
        return &[];
    }
    match kind {
        b':' => stack.push_number(number(text) as f64),
        b'$' => match usize::try_from(number(text)) {
            Ok(len) => {
                stack.push_bytes(rest.get(..len).unwrap_or_default());
                return rest.get(len + 2..).unwrap_or_default();
            }
            // Nil of RESP2 is false in Lua, so that it can stand in an array.
            Err(_) => stack.push_boolean(false),
        },
        b'+' => push_named(stack, OK, text),
        b'-' => push_named(stack, ERR, text),
        b'_' => stack.push_nil(),
        b'#' => stack.push_boolean(text == b"t"),
        b',' => {
            stack.push_table(1);
            stack.push_own_upvalue(DOUBLE);
            stack.push_number(double(text));
            stack.raw_set(-3);
        }
        b'(' => push_named(stack, BIG_NUMBER, text),
        b'=' => {
            let len = usize::try_from(number(text)).unwrap_or_default();
            let whole = rest.get(..len).unwrap_or_default();
            let (format, text) = whole.split_at_checked(3).unwrap_or_default();
            stack.push_table(1);
            stack.push_own_upvalue(VERBATIM);
            stack.push_table(2);
            stack.push_own_upvalue(FORMAT);
            stack.push_bytes(format);
            stack.raw_set(-3);
            stack.push_own_upvalue(STRING);
            stack.push_bytes(text.get(1..).unwrap_or_default());
            stack.raw_set(-3);
            stack.raw_set(-3);
            return rest.get(len + 2..).unwrap_or_default();
        }
        b'*' | b'>' => match usize::try_from(number(text)) {
            Ok(len) => return push_items(stack, len, rest, depth),
            Err(_) => stack.push_boolean(false),
        },
        b'%' => {
            let len = usize::try_from(number(text)).unwrap_or_default();
            stack.push_table(1);
            stack.push_own_upvalue(MAP);
            stack.push_table(fields(len.min(rest.len())));
            let mut rest = rest;
            for _ in 0..len {
                rest = push_nested(stack, rest, depth + 1);
                rest = push_nested(stack, rest, depth + 1);
                stack.raw_set(-3);
            }
            stack.raw_set(-3);
            return rest;
        }
        b'~' => {
            let len = usize::try_from(number(text)).unwrap_or_default();
            stack.push_table(1);
            stack.push_own_upvalue(SET);
            stack.push_table(fields(len.min(rest.len())));
            let mut rest = rest;
            for _ in 0..len {
                rest = push_nested(stack, rest, depth + 1);
                stack.push_boolean(true);
                stack.raw_set(-3);
            }
            stack.raw_set(-3);
            return rest;
        }
        _ => stack.push_nil(),
    }
    rest
}

fn push_items<'b>(stack: &Stack<'_>, len: usize, bytes: &'b [u8], depth: usize) -> &'b [u8] {
    stack.push_array(len.min(bytes.len()));
    let mut rest = bytes;
    for index in 1..=len {
        rest = push_nested(stack, rest, depth + 1);
        stack.set_element(-2, fields(index));
    }
    rest
}

fn fields(count: usize) -> c_int {
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

/// A table with one string.
fn push_named(stack: &Stack<'_>, name: c_int, text: &[u8]) {
    stack.push_table(1);
    stack.push_own_upvalue(name);
    stack.push_bytes(text);
    stack.raw_set(-3);
}

/// A line without its end, and what is behind it.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b'\r', bytes).unwrap_or(bytes.len());
    (bytes.get(..end).unwrap_or_default(), bytes.get(end + 2..).unwrap_or_default())
}

fn number(text: &[u8]) -> i64 {
    crate::number::parse_i64(text).unwrap_or(-1)
}

fn double(text: &[u8]) -> f64 {
    match text {
        b"inf" => f64::INFINITY,
        b"-inf" => f64::NEG_INFINITY,
        b"nan" => f64::NAN,
        _ => crate::number::double::parse(text).unwrap_or(f64::NAN),
    }
}

/// What is left to be written of a table that holds others.
#[derive(Debug)]
enum Level {
    /// The items from this one to the last.
    Items { next: usize, last: usize },
    /// The pairs of a map or, without the values, the members of a set. The key last written is on the stack, and above it, if
    /// its turn is next, its value.
    Pairs { with_values: bool, value_is_next: bool },
}

/// Writes results. Kept between runs, so that nothing of it is lost where Lua leaves a function early.
#[derive(Debug, Default)]
pub struct Writer {
    pub out: Vec<u8>,
    levels: Vec<Level>,
}

/// Which protocols a result is written for.
#[derive(Debug, Clone, Copy)]
pub struct Protocols {
    pub caller: Protocol,
    /// What the script has set.
    pub script: Protocol,
}

impl Writer {
    /// Writes the value on top of the stack, and takes it away.
    pub fn write(&mut self, stack: &Stack<'_>, protocols: Protocols) {
        self.levels.clear();
        self.value(stack, protocols);
        while let Some(level) = self.levels.last_mut() {
            match level {
                Level::Items { next, last } if *next <= *last => {
                    let index = *next;
                    *next += 1;
                    stack.push_element(-1, fields(index));
                    self.value(stack, protocols);
                }
                Level::Pairs { with_values: true, value_is_next: value_is_next @ true } => {
                    *value_is_next = false;
                    self.value(stack, protocols);
                }
                Level::Pairs { with_values, value_is_next } => {
                    if stack.next(-2) {
                        if *with_values {
                            *value_is_next = true;
                            // The key stays for the next one; it is written from a copy that goes below the value.
                            stack.push_copy(-2);
                        } else {
                            stack.pop(1);
                            stack.push_copy(-1);
                        }
                        self.value(stack, protocols);
                    } else {
                        stack.pop(1);
                        self.levels.pop();
                    }
                }
                Level::Items { .. } => {
                    stack.pop(1);
                    self.levels.pop();
                }
            }
        }
    }

    /// Writes the error on top of the stack that ended a script of this name, and takes it away.
    pub fn write_error(&mut self, stack: &Stack<'_>, script: &str) {
        let mut words = Vec::new();
        if stack.type_of(-1) == Type::Table {
            words.extend_from_slice(self.text_field(stack, ERR).unwrap_or(b"ERR unknown error"));
            let source = self.text_field(stack, SOURCE);
            if let Some(source) = source
                && self.field(stack, LINE, Type::Number)
            {
                let line = integer(stack.number(-1));
                stack.pop(1);
                words.extend_from_slice(format!(" script: {script}, on ").as_bytes());
                words.extend_from_slice(source);
                words.extend_from_slice(format!(":{line}.").as_bytes());
            }
        } else {
            // Without a place: the memory of the machine is used up, or its handler of errors failed.
            words.extend_from_slice(b"ERR ");
            // SAFETY: the string is on the stack.
            words.extend_from_slice(unsafe { stack.bytes(-1) });
        }
        encode::error_bytes(&mut self.out, &one_line(&words));
        stack.pop(1);
    }

    /// One value from the top: a table that holds others stays there and becomes a level.
    fn value(&mut self, stack: &Stack<'_>, protocols: Protocols) {
        let Protocols { caller, script } = protocols;
        match stack.type_of(-1) {
            // SAFETY: the string is on the stack.
            Type::String => encode::bulk(&mut self.out, unsafe { stack.bytes(-1) }),
            Type::Number => encode::integer(&mut self.out, integer(stack.number(-1))),
            Type::Boolean if script == Protocol::Resp3 => {
                encode::boolean(&mut self.out, caller, stack.boolean(-1));
            }
            Type::Boolean if stack.boolean(-1) => encode::integer(&mut self.out, 1),
            Type::Table => {
                if self.levels.len() >= MAX_DEPTH || !stack.has_room(4) {
                    encode::error(&mut self.out, "ERR reached lua stack limit");
                } else if self.table(stack, caller) {
                    return;
                }
            }
            Type::Boolean | Type::Nil | Type::None | Type::LightUserdata | Type::Other => {
                encode::null(&mut self.out, caller)
            }
        }
        stack.pop(1);
    }

    /// A table on top. Whether it stays there, with others to be written.
    fn table(&mut self, stack: &Stack<'_>, caller: Protocol) -> bool {
        if let Some(words) = self.text_field(stack, ERR) {
            encode::error_bytes(&mut self.out, &one_line(words));
            return false;
        }
        if let Some(words) = self.text_field(stack, OK) {
            self.out.push(b'+');
            self.out.extend_from_slice(&one_line(words));
            self.out.extend_from_slice(b"\r\n");
            return false;
        }
        if self.field(stack, DOUBLE, Type::Number) {
            encode::double(&mut self.out, caller, stack.number(-1));
            stack.pop(1);
            return false;
        }
        for (name, with_values) in [(MAP, true), (SET, false)] {
            if self.field(stack, name, Type::Table) {
                let len = count(stack);
                match with_values {
                    true => encode::map_len(&mut self.out, caller, len),
                    false => encode::set_len(&mut self.out, caller, len),
                }
                // In place of the table that it is a field of.
                stack.replace(-2);
                stack.push_nil();
                self.levels.push(Level::Pairs { with_values, value_is_next: false });
                return true;
            }
        }
        if let Some(digits) = self.text_field(stack, BIG_NUMBER) {
            let digits = one_line(digits);
            encode::big_number(&mut self.out, caller, std::str::from_utf8(&digits).unwrap_or("0"));
            return false;
        }
        if self.field(stack, VERBATIM, Type::Table) {
            let format = self.text_field(stack, FORMAT);
            let text = self.text_field(stack, STRING);
            stack.pop(1);
            if let (Some(format), Some(text)) = (format, text) {
                let format = format.first_chunk().unwrap_or(b"txt");
                encode::verbatim(&mut self.out, caller, format, text);
                return false;
            }
        }
        let mut last = 0;
        loop {
            stack.push_element(-1, fields(last + 1));
            let is_nil = stack.type_of(-1) == Type::Nil;
            stack.pop(1);
            if is_nil {
                break;
            }
            last += 1;
        }
        encode::array_len(&mut self.out, last);
        self.levels.push(Level::Items { next: 1, last });
        true
    }

    /// The string that a field of the table on top holds. It stays valid as long as the table does.
    fn text_field<'a>(&self, stack: &Stack<'_>, name: c_int) -> Option<&'a [u8]> {
        if !self.field(stack, name, Type::String) {
            return None;
        }
        // SAFETY: the table holds the string, and is on the stack as long as the caller uses it.
        let text = unsafe { stack.bytes(-1) };
        stack.pop(1);
        Some(text)
    }

    /// Puts a field of the table on top above it, if it is of this type.
    fn field(&self, stack: &Stack<'_>, name: c_int, wanted: Type) -> bool {
        stack.push_own_upvalue(name);
        stack.raw_get(-2);
        let is_wanted = stack.type_of(-1) == wanted;
        if !is_wanted {
            stack.pop(1);
        }
        is_wanted
    }
}

/// How many pairs the table on top has.
fn count(stack: &Stack<'_>) -> usize {
    let mut count = 0;
    stack.push_nil();
    while stack.next(-2) {
        stack.pop(1);
        count += 1;
    }
    count
}

/// As C converts it on the machines that Redis runs on.
fn integer(number: f64) -> i64 {
    // The bounds are exact: both are powers of two.
    if number >= -(2_f64.powi(63)) && number < 2_f64.powi(63) { number as i64 } else { i64::MIN }
}

/// Line ends would end the reply.
fn one_line(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }).collect()
}
