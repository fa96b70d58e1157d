//! The libraries that scripts are given beside Lua's own: `cjson`, `cmsgpack`, `struct` and `bit`.
//!
//! They answer as those of redis-server do, to the byte: results, messages of errors, and the order in which a table is
//! walked. None of them does I/O, none calls back into a script, and all memory that they take is the VM's, so that its
//! limit holds for them too. What C leaves open and a script can see (a number cast to an integer too small for it) is as on
//! x86-64: see [`cast`].

use std::ffi::{CStr, c_int};

use mlua::{Lua, ffi};

use super::stack::{Stack, native};

mod bit;
mod buffer;
mod cast;
mod cjson;
mod cmsgpack;
mod frames;
mod structs;

/// Sets the globals `cjson`, `cmsgpack`, `struct` and `bit`: tables that nothing protects yet.
pub fn install(lua: &Lua) -> mlua::Result<()> {
    // SAFETY: the closure owns nothing, and leaves the stack as it was.
    unsafe {
        lua.exec_raw((), |state| {
            let stack = Stack::new(state);
            let libraries: [(&CStr, fn(&Stack<'_>)); 4] = [
                (c"cjson", cjson::push),
                (c"struct", structs::push),
                (c"cmsgpack", cmsgpack::push),
                (c"bit", bit::push),
            ];
            for (name, push) in libraries {
                push(&stack);
                stack.set_field(ffi::LUA_GLOBALSINDEX, name);
            }
        })
    }
}

/// Pushes the settings of `cjson`, for [`reset`].
pub fn push_settings(stack: &Stack<'_>) {
    cjson::push_settings(stack);
}

/// Settings of `cjson` that scripts have changed are again as in a new VM. The settings are at `index`.
pub fn reset(stack: &Stack<'_>, index: c_int) {
    cjson::reset(stack, index);
}

/// Sets a function of the library on top of the stack.
///
/// # Safety
///
/// That of [`native`].
unsafe fn set_function<F: Fn(&Stack<'_>) -> c_int + Copy>(stack: &Stack<'_>, name: &CStr, function: F) {
    // SAFETY: of the caller.
    stack.push_function(unsafe { native(function) }, 0);
    stack.set_field(-2, name);
}
