//! `struct`: values packed as the structures of C.

mod format;
mod pack;
mod unpack;

use super::set_function;
use crate::scripting::stack::Stack;

pub fn push(stack: &Stack<'_>) {
    stack.push_table(3);
    // SAFETY: none of the functions owns anything.
    unsafe {
        set_function(stack, c"pack", pack::pack);
        set_function(stack, c"unpack", unpack::unpack);
        set_function(stack, c"size", format::size);
    }
}
