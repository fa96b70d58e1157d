//! `cjson`: JSON.

mod decode;
mod encode;
mod lexer;
mod number;
mod settings;

use std::ffi::{CStr, c_int};

use mlua::ffi;

use self::settings::Settings;
use crate::scripting::stack::{Stack, native};

/// Where the registry of Lua has the settings of the global library.
const GLOBAL_SETTINGS: &CStr = c"tarn.cjson";

/// The library with settings of its own, which the registry remembers.
pub fn push(stack: &Stack<'_>) {
    new(stack);
    stack.push_field(-1, c"encode");
    stack.push_upvalue(-1);
    stack.set_field(ffi::LUA_REGISTRYINDEX, GLOBAL_SETTINGS);
    stack.pop(1);
}

/// Pushes the settings of the global library.
pub fn push_settings(stack: &Stack<'_>) {
    stack.push_field(ffi::LUA_REGISTRYINDEX, GLOBAL_SETTINGS);
}

/// Puts these settings back.
pub fn reset(stack: &Stack<'_>, index: c_int) {
    Settings::default().store(stack, index);
}

/// `cjson.new()`: the same library once more, with settings of its own.
fn new(stack: &Stack<'_>) -> c_int {
    stack.push_table(0);
    Settings::push(stack);
    // SAFETY: none of the functions owns anything.
    let functions = unsafe {
        [
            (c"encode", native(encode::encode)),
            (c"decode", native(decode::decode)),
            (c"encode_sparse_array", native(settings::encode_sparse_array)),
            (c"encode_max_depth", native(settings::encode_max_depth)),
            (c"decode_max_depth", native(settings::decode_max_depth)),
            (c"encode_number_precision", native(settings::encode_number_precision)),
            (c"encode_keep_buffer", native(settings::encode_keep_buffer)),
            (c"encode_invalid_numbers", native(settings::encode_invalid_numbers)),
            (c"decode_invalid_numbers", native(settings::decode_invalid_numbers)),
            (c"new", native(new)),
        ]
    };
    for (name, function) in functions {
        stack.push_copy(-1);
        stack.push_function(function, 1);
        stack.set_field(-3, name);
    }
    stack.pop(1);
    stack.push_null();
    stack.set_field(-2, c"null");
    for (name, value) in [(c"_NAME", "cjson"), (c"_VERSION", "2.1.0")] {
        stack.push_bytes(value.as_bytes());
        stack.set_field(-2, name);
    }
    1
}
