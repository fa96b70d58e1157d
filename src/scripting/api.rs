//! What the sandbox is given of the server: functions that scripts reach through `redis`, and those that make the sandbox.

use std::os::raw::c_int;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaString, Table, Value, ffi, lua_State};
use tarn_resp::{Args as Words, Protocol};

use super::Level;
use super::current::{Called, with_current};
use super::random::Random;
use super::reply::{NAMES, push};
use super::sha1;
use super::shebang::Flags;
use super::stack::{Stack, Type};
use super::vm::message;
use crate::error::shown;

/// What compiled code begins with.
const BINARY: u8 = 0x1b;
/// Which Redis scripts see.
const VERSION: &str = "8.6.2";
const VERSION_NUMBER: u32 = 8 << 16 | 6 << 8 | 2;

/// What the sandbox is given.
pub fn host_functions(lua: &Lua) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    host.raw_set("call", c_function(lua, call)?)?;
    host.raw_set("pcall", c_function(lua, protected_call)?)?;
    host.raw_set("catch", c_function(lua, catch)?)?;
    host.raw_set("catch_with", c_function(lua, catch_with)?)?;
    host.raw_set("unpack", c_function(lua, unpack)?)?;
    let wrap = |lua: &Lua, function: Function| {
        // SAFETY: the function is on the stack, and becomes the only upvalue.
        unsafe { lua.exec_raw::<Function>(function, |state| ffi::lua_pushcclosure(state, forward, 1)) }
    };
    host.raw_set("wrap", lua.create_function(wrap)?)?;
    host.raw_set("check", c_function(lua, check)?)?;
    let stopped = |_: &Lua, ()| Ok(with_current(|current| current.stopped).unwrap_or(false));
    host.raw_set("stopped", lua.create_function(stopped)?)?;
    let draw = |_: &Lua, ()| Ok(with_current(|current| current.random.draw()).unwrap_or(0.0));
    host.raw_set("random", lua.create_function(draw)?)?;
    let seed = |_: &Lua, seed: f64| {
        with_current(|current| current.random = Random::seeded(seed as i64 as u32));
        Ok(())
    };
    host.raw_set("seed", lua.create_function(seed)?)?;
    let sha1hex = |_: &Lua, text: LuaString| Ok(sha1::hex(&sha1::of(&text.as_bytes())));
    host.raw_set("sha1hex", lua.create_function(sha1hex)?)?;
    let log = |_: &Lua, (level, text): (u8, LuaString)| {
        let level = match level {
            0 => Level::Debug,
            1 => Level::Verbose,
            2 => Level::Notice,
            _ => Level::Warning,
        };
        with_current(|current| current.host.log(level, &text.as_bytes()));
        Ok(())
    };
    host.raw_set("log", lua.create_function(log)?)?;
    let setresp = |_: &Lua, version: u8| {
        let protocol = if version == 3 { Protocol::Resp3 } else { Protocol::Resp2 };
        with_current(|current| current.script = protocol);
        Ok(())
    };
    host.raw_set("setresp", lua.create_function(setresp)?)?;
    host.raw_set("load", lua.create_function(load)?)?;
    host.raw_set("where", lua.create_function(place_of_error)?)?;
    let is_flag = |_: &Lua, word: LuaString| Ok(Flags::find(&word.as_bytes()).is_some());
    host.raw_set("is_flag", lua.create_function(is_flag)?)?;
    host.raw_set("version", VERSION)?;
    host.raw_set("version_number", VERSION_NUMBER)?;
    Ok(host)
}

/// Text only: what is compiled already could do anything.
///
/// The name goes in as a string that is kept (mlua anchors it), and ends before a zero byte: the parser of Lua 5.1 does not keep
/// the name itself (CVE-2025-49844).
fn load(lua: &Lua, (code, name): (LuaString, LuaString)) -> mlua::Result<(Value, Value)> {
    let name = shown(&name.as_bytes());
    let code = code.as_bytes();
    // To the parser, what is compiled already is a text that begins with a wrong character.
    let text = if code.first() == Some(&BINARY) { [b" ", &*code].concat() } else { code.to_vec() };
    let loaded = lua.load(text).set_name(name).set_mode(ChunkMode::Text).into_function();
    Ok(match loaded {
        Ok(function) => (Value::Function(function), Value::Nil),
        Err(error) => (Value::Nil, Value::String(lua.create_string(message(&error))?)),
    })
}

/// The function of a script that an error came from, and the line.
fn place_of_error(lua: &Lua, (): ()) -> mlua::Result<(Option<String>, Option<usize>)> {
    /// Functions of our own, and of Lua, between the script and this one.
    const MAX_LEVELS: usize = 16;
    for level in 1..MAX_LEVELS {
        let found = lua.inspect_stack(level, |debug| {
            let source = debug.source();
            let text = source.source.map(|text| text.into_owned()).unwrap_or_default();
            (source.what == "C" || text == "=tarn", text, debug.current_line())
        });
        match found {
            None => break,
            Some((true, ..)) => {}
            Some((false, source, line)) => return Ok((Some(source), line)),
        }
    }
    Ok((None, None))
}

/// A function of ours with the names of fields as its upvalues.
fn c_function(
    lua: &Lua,
    function: unsafe extern "C-unwind" fn(*mut lua_State) -> c_int,
) -> mlua::Result<Function> {
    // SAFETY: the closure is called with a valid state; it pushes as many values as it says.
    unsafe {
        lua.exec_raw::<Function>((), |state| {
            for name in NAMES {
                ffi::lua_pushlstring(state, name.as_ptr().cast(), name.len());
            }
            ffi::lua_pushcclosure(state, function, NAMES.len() as c_int);
        })
    }
}

/// `redis.call(...)`: runs a command. What is refused is an error of the script.
unsafe extern "C-unwind" fn call(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us.
    unsafe {
        if push_call(&Stack::new(state)) == Pushed::Value {
            return 1;
        }
        // Leaves by longjmp; nothing here would have to be dropped.
        ffi::lua_error(state)
    }
}

/// `redis.pcall(...)`: as [`call`], but what is refused is a value.
unsafe extern "C-unwind" fn protected_call(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us.
    unsafe {
        if push_call(&Stack::new(state)) != Pushed::Stop {
            return 1;
        }
        ffi::lua_error(state)
    }
}

/// What lies on the stack after a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pushed {
    Value,
    Refusal,
    /// The script has to end.
    Stop,
}

fn push_call(stack: &Stack<'_>) -> Pushed {
    let called = with_current(|current| current.call(stack)).unwrap_or(Called::Stopped);
    if !stack.has_room(4) {
        return Pushed::Stop;
    }
    match called {
        Called::Stopped => {
            stack.push_nil();
            Pushed::Stop
        }
        Called::Refused(words) => {
            stack.push_table(1);
            stack.push_own_upvalue(1);
            stack.push_bytes(words.as_bytes());
            stack.raw_set(-3);
            Pushed::Refusal
        }
        Called::Replied { reply, failed } => {
            // SAFETY: the bytes are the run's, and stay as they are until the next call.
            push(stack, unsafe { reply.as_ref() });
            if failed { Pushed::Refusal } else { Pushed::Value }
        }
    }
}

/// `pcall(f, ...)` of Lua. Lua's own does not ask for the room that the first result takes, which its own checks of debug builds
/// do not forgive.
unsafe extern "C-unwind" fn catch(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us. An error passes through: nothing here would have to be dropped.
    let stack = unsafe { Stack::new(state) };
    stack.check_any(1);
    let ok = stack.call_caught(stack.top() - 1, 0);
    stack.push_boolean(ok);
    stack.insert(1);
    stack.top()
}

/// `xpcall(f, handler)` of Lua; the same holds for it.
unsafe extern "C-unwind" fn catch_with(state: *mut lua_State) -> c_int {
    // SAFETY: as in `catch`.
    let stack = unsafe { Stack::new(state) };
    stack.check_any(2);
    stack.set_top(2);
    // The handler stands under the function.
    stack.insert(1);
    let ok = stack.call_caught(0, 1);
    stack.push_boolean(ok);
    stack.replace(1);
    stack.top()
}

/// `unpack(t, first, last)` of Lua. Lua's own subtracts bounds whose difference may overflow (CVE-2025-46817).
unsafe extern "C-unwind" fn unpack(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us. An error passes through: nothing here would have to be dropped.
    let stack = unsafe { Stack::new(state) };
    if stack.type_of(1) != Type::Table {
        stack.raise_type(1, c"table");
    }
    // As an `int` of C each, like in Redis.
    let first = stack.optional_integer(2, 1) as i32;
    let last = stack.optional_integer(3, stack.length(1)) as i32;
    if first > last {
        return 0;
    }
    let count = c_int::try_from(i64::from(last) - i64::from(first) + 1).unwrap_or(c_int::MAX);
    if !stack.has_room(count) {
        stack.raise(format_args!("too many results to unpack"));
    }
    (first..=last).for_each(|place| stack.push_element(1, place));
    count
}

/// Calls the function that it was made with.
unsafe extern "C-unwind" fn forward(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us. An error passes through: nothing here would have to be dropped.
    let stack = unsafe { Stack::new(state) };
    stack.call_upvalue();
    stack.top()
}

/// `check(...)`: whether a command may be called; nil where there is none.
unsafe extern "C-unwind" fn check(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls us.
    let stack = unsafe { Stack::new(state) };
    let allowed = with_current(|current| {
        current.take_words(&stack)?;
        current.host.may_call(Words::new(&current.kept.bytes, &current.kept.ranges))
    });
    match allowed.flatten() {
        Some(allowed) => stack.push_boolean(allowed),
        None => stack.push_nil(),
    }
    1
}
