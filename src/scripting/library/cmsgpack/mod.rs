//! `cmsgpack`: MessagePack.

mod pack;
mod unpack;

use super::set_function;
use crate::scripting::stack::Stack;

pub fn push(stack: &Stack<'_>) {
    stack.push_table(0);
    // SAFETY: none of the functions owns anything.
    unsafe {
        set_function(stack, c"pack", pack::pack);
        set_function(stack, c"unpack", unpack::unpack);
        set_function(stack, c"unpack_one", unpack::unpack_one);
        set_function(stack, c"unpack_limit", unpack::unpack_limit);
    }
    // What scripts of Redis find there.
    let about = [
        (c"_NAME", "cmsgpack"),
        (c"_VERSION", "lua-cmsgpack 0.4.0"),
        (c"_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo"),
        (c"_DESCRIPTION", "MessagePack C implementation for Lua"),
    ];
    for (name, value) in about {
        stack.push_bytes(value.as_bytes());
        stack.set_field(-2, name);
    }
}
