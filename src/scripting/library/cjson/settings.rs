//! What scripts can set: each function of the library has the settings, in memory of Lua's, as its upvalue. Called with
//! nothing or nil, the functions here only say what is set.

use std::ffi::{CStr, c_char, c_int};

use mlua::ffi;

use crate::scripting::stack::{Stack, Type};

/// Most digits of a number.
const MOST_PRECISION: c_int = 14;

/// How numbers that JSON has no words for are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidNumbers {
    Refused,
    Written,
    Null,
}

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Whether an array that is too sparse becomes an object. It is refused otherwise.
    pub sparse_convert: c_int,
    /// An array is too sparse if its last index is more than so many times the number of its elements. 0: never.
    pub sparse_ratio: c_int,
    /// An array whose last index is at most this is never too sparse.
    pub sparse_safe: c_int,
    pub encode_max_depth: c_int,
    pub decode_max_depth: c_int,
    encode_invalid_numbers: c_int,
    pub decode_invalid_numbers: c_int,
    pub encode_number_precision: c_int,
    /// Says nothing here: each call has its own buffer.
    encode_keep_buffer: c_int,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            sparse_convert: 0,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_max_depth: 1000,
            decode_max_depth: 1000,
            encode_invalid_numbers: 0,
            decode_invalid_numbers: 1,
            encode_number_precision: MOST_PRECISION,
            encode_keep_buffer: 1,
        }
    }
}

impl Settings {
    /// Pushes memory with the settings of a new library.
    pub fn push(stack: &Stack<'_>) {
        stack.push_memory(size_of::<Settings>());
        Settings::default().store(stack, -1);
    }

    /// Those of the running function.
    pub fn of(stack: &Stack<'_>) -> Settings {
        let memory = stack.memory(ffi::lua_upvalueindex(1)).cast::<Settings>();
        if memory.is_null() {
            return Settings::default();
        }
        // SAFETY: the upvalue is what `push` made, and no script can reach or change it.
        unsafe { memory.read() }
    }

    /// Writes them to the memory at `index`, which `push` made.
    pub fn store(self, stack: &Stack<'_>, index: c_int) {
        let memory = stack.memory(index).cast::<Settings>();
        if !memory.is_null() {
            // SAFETY: it is of the right size, and nobody else has a reference to it.
            unsafe { memory.write(self) };
        }
    }

    pub fn invalid_numbers(self) -> InvalidNumbers {
        match self.encode_invalid_numbers {
            0 => InvalidNumbers::Refused,
            1 => InvalidNumbers::Written,
            _ => InvalidNumbers::Null,
        }
    }
}

/// Changes one of the settings of the running function. What was set before a later argument is refused stays.
fn change(stack: &Stack<'_>, setting: impl Fn(&mut Settings) -> &mut c_int, value: c_int) {
    let mut settings = Settings::of(stack);
    *setting(&mut settings) = value;
    settings.store(stack, ffi::lua_upvalueindex(1));
}

/// Fills the arguments up with nil; more than these are refused.
fn arguments(stack: &Stack<'_>, most: c_int) {
    if stack.top() > most {
        stack.raise_argument(most + 1, c"found too many arguments");
    }
    stack.set_top(most);
}

/// Pushes a number that can be set, after setting it if the argument says so.
fn integer(
    stack: &Stack<'_>,
    argument: c_int,
    least: c_int,
    most: c_int,
    why: &CStr,
    setting: impl Fn(&mut Settings) -> &mut c_int,
) {
    if stack.type_of(argument) != Type::Nil {
        let value = stack.check_integer(argument) as c_int;
        if !(least..=most).contains(&value) {
            // Always the first, whichever it is.
            stack.raise_argument(1, why);
        }
        change(stack, &setting, value);
    }
    stack.push_number(f64::from(*setting(&mut Settings::of(stack))));
}

/// Pushes a setting of two or three words, after setting it if the argument says so. The first two are also false and true.
fn word(stack: &Stack<'_>, argument: c_int, has_null: bool, setting: impl Fn(&mut Settings) -> &mut c_int) {
    const END: *const c_char = std::ptr::null();
    match stack.type_of(argument) {
        Type::Nil => {}
        Type::Boolean => change(stack, &setting, stack.boolean(argument).into()),
        _ => {
            let null = if has_null { c"null".as_ptr() } else { END };
            let value = stack.check_option(argument, &[c"off".as_ptr(), c"on".as_ptr(), null, END]);
            change(stack, &setting, value);
        }
    }
    match *setting(&mut Settings::of(stack)) {
        value @ (0 | 1) => stack.push_boolean(value == 1),
        _ => stack.push_bytes(b"null"),
    }
}

pub fn encode_sparse_array(stack: &Stack<'_>) -> c_int {
    const WHY: &CStr = c"expected integer between 0 and 2147483647";
    arguments(stack, 3);
    word(stack, 1, false, |settings| &mut settings.sparse_convert);
    integer(stack, 2, 0, c_int::MAX, WHY, |settings| &mut settings.sparse_ratio);
    integer(stack, 3, 0, c_int::MAX, WHY, |settings| &mut settings.sparse_safe);
    3
}

fn depth(stack: &Stack<'_>, setting: impl Fn(&mut Settings) -> &mut c_int) -> c_int {
    arguments(stack, 1);
    integer(stack, 1, 1, c_int::MAX, c"expected integer between 1 and 2147483647", setting);
    1
}

pub fn encode_max_depth(stack: &Stack<'_>) -> c_int {
    depth(stack, |settings| &mut settings.encode_max_depth)
}

pub fn decode_max_depth(stack: &Stack<'_>) -> c_int {
    depth(stack, |settings| &mut settings.decode_max_depth)
}

pub fn encode_number_precision(stack: &Stack<'_>) -> c_int {
    arguments(stack, 1);
    integer(stack, 1, 1, MOST_PRECISION, c"expected integer between 1 and 14", |settings| {
        &mut settings.encode_number_precision
    });
    1
}

pub fn encode_keep_buffer(stack: &Stack<'_>) -> c_int {
    arguments(stack, 1);
    word(stack, 1, false, |settings| &mut settings.encode_keep_buffer);
    1
}

pub fn encode_invalid_numbers(stack: &Stack<'_>) -> c_int {
    arguments(stack, 1);
    word(stack, 1, true, |settings| &mut settings.encode_invalid_numbers);
    1
}

pub fn decode_invalid_numbers(stack: &Stack<'_>) -> c_int {
    arguments(stack, 1);
    word(stack, 1, false, |settings| &mut settings.decode_invalid_numbers);
    1
}
