//! The way into a machine: one function of ours, called under one protection, that makes KEYS and ARGV, calls the script and writes its
//! result.
//!
//! Where a machine has a limit of memory mlua protects every step by itself, with two new closures each time. For a script of one
//! call that cost more than the script.

use std::ffi::c_void;
use std::os::raw::c_int;

use mlua::{Function, Lua, Table, ffi, lua_State};
use tarn_resp::Args as Words;

use super::current::current;
use super::library;
use super::reply::{NAMES, Protocols};
use super::stack::Stack;

/// Upvalues of [`run`], behind the names of fields: the global variables of scripts, the names of two of them, and the settings of
/// `cjson`.
const GLOBALS: c_int = NAMES.len() as c_int + 1;
const KEYS: c_int = GLOBALS + 1;
const ARGV: c_int = GLOBALS + 2;
const SETTINGS: c_int = GLOBALS + 3;

/// A function that a machine keeps: its place in the registry of Lua.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept(c_int);

/// What is called, and with which words. Holds nothing that has to be dropped, since Lua may leave [`run`].
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub function: Kept,
    /// Its keys, and behind them its arguments.
    pub words: Words<'a>,
    pub keys: usize,
    /// Whether it is given them as arguments, and not as global variables.
    pub takes_words: bool,
}

/// The functions of a machine that a run needs.
#[derive(Debug)]
pub struct Entry {
    /// The machine's own. Valid as long as its `Lua` is, and used on its thread only.
    state: *mut lua_State,
    run: Kept,
    write_error: Kept,
    /// Gets errors of scripts, before their frames are gone.
    handler: Kept,
}

impl Entry {
    pub fn new(lua: &Lua, handler: Function, globals: Table) -> mlua::Result<Entry> {
        let none = Kept(ffi::LUA_NOREF);
        let mut entry = Entry { state: std::ptr::null_mut(), run: none, write_error: none, handler: none };
        let made = &mut entry;
        // SAFETY: the closure owns nothing; both arguments are on the stack.
        unsafe {
            lua.exec_raw::<()>((handler, globals), |state| {
                let stack = Stack::new(state);
                stack.check_room(2 * SETTINGS, c"a machine");
                push_names(&stack);
                stack.push_copy(2);
                stack.push_bytes(b"KEYS");
                stack.push_bytes(b"ARGV");
                library::push_settings(&stack);
                stack.push_function(run, SETTINGS);
                made.run = keep_top(state);
                push_names(&stack);
                stack.push_function(write_error, NAMES.len() as c_int);
                made.write_error = keep_top(state);
                stack.push_copy(1);
                made.handler = keep_top(state);
                stack.set_top(0);
                made.state = state;
            })?;
        }
        Ok(entry)
    }

    /// Runs a job. Its result, or the error that ended it, goes to the writer of the run under way; that there is one is up to the
    /// caller. False where neither could be written.
    pub fn run(&self, job: &Job<'_>) -> bool {
        // SAFETY: the state is the machine's, at rest: there is room for as many values as a function has. Nothing of this can raise
        // but the two calls, which are protected. The job outlives them.
        unsafe {
            let stack = Stack::new(self.state);
            let top = stack.top();
            self.push(&stack, self.handler);
            self.push(&stack, self.run);
            ffi::lua_pushlightuserdata(self.state, std::ptr::from_ref(job).cast_mut().cast::<c_void>());
            let mut is_written = ffi::lua_pcall(self.state, 1, 0, top + 1) == ffi::LUA_OK;
            if !is_written {
                self.push(&stack, self.write_error);
                stack.insert(-2);
                is_written = ffi::lua_pcall(self.state, 1, 0, 0) == ffi::LUA_OK;
            }
            stack.set_top(top);
            is_written
        }
    }

    fn push(&self, stack: &Stack<'_>, kept: Kept) {
        stack.push_element(ffi::LUA_REGISTRYINDEX, kept.0);
    }
}

/// Keeps a function until it is given back, or the machine is gone.
pub fn keep(lua: &Lua, function: Function) -> mlua::Result<Kept> {
    let mut kept = Kept(ffi::LUA_NOREF);
    // SAFETY: the closure owns nothing; the function is on the stack.
    unsafe { lua.exec_raw::<()>(function, |state| kept = keep_top(state))? };
    Ok(kept)
}

/// Gives functions back.
pub fn give_back(lua: &Lua, functions: &[Kept]) -> mlua::Result<()> {
    // SAFETY: the closure owns nothing, and nobody has their places any more.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            functions.iter().for_each(|kept| ffi::luaL_unref(state, ffi::LUA_REGISTRYINDEX, kept.0));
        })
    }
}

/// # Safety
///
/// There is a value on top, and an error may pass.
unsafe fn keep_top(state: *mut lua_State) -> Kept {
    // SAFETY: of the caller.
    Kept(unsafe { ffi::luaL_ref(state, ffi::LUA_REGISTRYINDEX) })
}

fn push_names(stack: &Stack<'_>) {
    NAMES.iter().for_each(|name| stack.push_bytes(name.as_bytes()));
}

/// Calls the function of a job and writes its result.
unsafe extern "C-unwind" fn run(state: *mut lua_State) -> c_int {
    // SAFETY: [`Entry::run`] calls us, with a job. An error passes through: nothing here would have to be dropped.
    let stack = unsafe { Stack::new(state) };
    // SAFETY: the same.
    let job = unsafe { &*stack.memory(1).cast::<Job<'_>>() };
    library::reset(&stack, ffi::lua_upvalueindex(SETTINGS));
    let arguments = job.words.len().saturating_sub(job.keys);
    stack.push_element(ffi::LUA_REGISTRYINDEX, job.function.0);
    if job.takes_words {
        push_list(&stack, job.words.iter().take(job.keys), job.keys);
        push_list(&stack, job.words.iter().skip(job.keys), arguments);
        stack.call(2, 1);
    } else {
        stack.push_own_upvalue(KEYS);
        push_list(&stack, job.words.iter().take(job.keys), job.keys);
        stack.raw_set(ffi::lua_upvalueindex(GLOBALS));
        stack.push_own_upvalue(ARGV);
        push_list(&stack, job.words.iter().skip(job.keys), arguments);
        stack.raw_set(ffi::lua_upvalueindex(GLOBALS));
        stack.call(0, 1);
    }
    // SAFETY: no function of a script runs from here on. Not through `with_current`, since Lua may leave from in here.
    if let Some(current) = unsafe { current() } {
        let protocols = Protocols { caller: current.caller, script: current.script };
        current.kept.writer.write(&stack, protocols);
    }
    0
}

/// Writes the error that ended a script.
unsafe extern "C-unwind" fn write_error(state: *mut lua_State) -> c_int {
    // SAFETY: [`Entry::run`] calls us, with the error.
    let stack = unsafe { Stack::new(state) };
    // SAFETY: no function of a script runs from here on.
    if let Some(current) = unsafe { current() } {
        current.kept.writer.out.clear();
        let name = current.code.map(|code| code.name()).unwrap_or_default();
        current.kept.writer.write_error(&stack, &name);
    }
    0
}

fn push_list<'a>(stack: &Stack<'_>, words: impl Iterator<Item = &'a [u8]>, count: usize) {
    stack.push_array(count);
    for (place, word) in (1..).zip(words) {
        stack.push_bytes(word);
        stack.set_element(-2, place);
    }
}
