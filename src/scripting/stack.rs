//! The Lua stack, as a function written in Rust sees it.
//!
//! A function that scripts call has its arguments at 1, 2, ... and leaves its results on top. Negative indexes count from
//! the top. What fails raises an error in Lua, as it does in a function written in C: control goes to the script's
//! `pcall`, and **the frames between are left without running destructors**. So everything here is plain: no `Vec`, no
//! `String`, no lock guard may live where Lua can raise. Almost everything that allocates can, since a VM has a limit of
//! memory. What grows is a buffer of `library`, whose memory is Lua's.

use std::ffi::{CStr, c_int, c_void};
use std::fmt::{self, Write as _};
use std::marker::PhantomData;

use mlua::ffi;

/// The type of a Lua value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// No such argument.
    None,
    Nil,
    Boolean,
    LightUserdata,
    Number,
    String,
    Table,
    /// A function, a userdata or a coroutine.
    Other,
}

/// Longest message of [`Stack::raise`], in bytes, with a zero at its end; more is cut off.
const MESSAGE_BYTES: usize = 256;

/// What a running function does with Lua.
#[derive(Debug)]
pub struct Stack<'a> {
    state: *mut ffi::lua_State,
    call: PhantomData<&'a ()>,
}

/// Makes a function of Lua out of one of Rust. It returns how many values on top of the stack are its results.
///
/// # Safety
///
/// Whenever `body` calls a method of [`Stack`], nothing may be alive in it, or in what called that method for it, that has
/// a destructor. It must not panic.
pub unsafe fn native<F: Fn(&Stack<'_>) -> c_int + Copy>(_: F) -> ffi::lua_CFunction {
    const { assert!(size_of::<F>() == 0, "a function of Lua has no captures") };
    unsafe extern "C-unwind" fn enter<F: Fn(&Stack<'_>) -> c_int + Copy>(
        state: *mut ffi::lua_State,
    ) -> c_int {
        // SAFETY: a value of this type existed, and it has no bytes that could differ from those of another one.
        let body: F = unsafe { std::mem::zeroed() };
        // SAFETY: Lua calls functions with the state that they run in.
        body(&unsafe { Stack::new(state) })
    }
    enter::<F>
}

impl<'a> Stack<'a> {
    /// # Safety
    ///
    /// `state` must be valid for as long as the value is used, in a function called by Lua or by `exec_raw`, and what
    /// [`native`] asks for must hold.
    pub unsafe fn new(state: *mut ffi::lua_State) -> Stack<'a> {
        Stack { state, call: PhantomData }
    }

    // What there is. None of these can raise.

    /// How many values there are; on entry, arguments.
    pub fn top(&self) -> c_int {
        // SAFETY: of `new`: the state is valid. The same holds for every call below.
        unsafe { ffi::lua_gettop(self.state) }
    }

    pub fn type_of(&self, index: c_int) -> Type {
        // SAFETY: Lua takes any index that is not above the stack's end, and those answer none.
        match unsafe { ffi::lua_type(self.state, index) } {
            ffi::LUA_TNONE => Type::None,
            ffi::LUA_TNIL => Type::Nil,
            ffi::LUA_TBOOLEAN => Type::Boolean,
            ffi::LUA_TLIGHTUSERDATA => Type::LightUserdata,
            ffi::LUA_TNUMBER => Type::Number,
            ffi::LUA_TSTRING => Type::String,
            ffi::LUA_TTABLE => Type::Table,
            _ => Type::Other,
        }
    }

    /// As Lua calls the type in messages.
    pub fn type_name(&self, index: c_int) -> &'static str {
        // SAFETY: Lua's names of types are static strings of ASCII.
        let name = unsafe { CStr::from_ptr(ffi::lua_typename(self.state, ffi::lua_type(self.state, index))) };
        name.to_str().unwrap_or("value")
    }

    /// A number, or a string that says one; otherwise 0.
    pub fn number(&self, index: c_int) -> f64 {
        // SAFETY: takes any value.
        unsafe { ffi::lua_tonumber(self.state, index) }
    }

    /// Whether it is a number or a string that says one.
    pub fn is_number(&self, index: c_int) -> bool {
        // SAFETY: takes any value.
        unsafe { ffi::lua_isnumber(self.state, index) != 0 }
    }

    pub fn boolean(&self, index: c_int) -> bool {
        // SAFETY: takes any value.
        unsafe { ffi::lua_toboolean(self.state, index) != 0 }
    }

    /// The length of a table, whatever its metatable says.
    pub fn length(&self, index: c_int) -> i64 {
        // SAFETY: takes any value.
        unsafe { ffi::lua_objlen(self.state, index) as i64 }
    }

    /// Whether it is the null of JSON, a light userdata that points nowhere.
    pub fn is_null(&self, index: c_int) -> bool {
        self.type_of(index) == Type::LightUserdata && self.memory(index).is_null()
    }

    /// The bytes of a string; of anything else, none.
    ///
    /// # Safety
    ///
    /// They are valid only as long as the string is on the stack or in a table that is.
    pub unsafe fn bytes<'b>(&self, index: c_int) -> &'b [u8] {
        // Lua would turn a number into a string where it stands, which confuses a walk over a table's keys.
        if self.type_of(index) != Type::String {
            return &[];
        }
        let mut len = 0;
        // SAFETY: it is a string, so nothing is converted and the pointer is to `len` bytes.
        unsafe {
            let start = ffi::lua_tolstring(self.state, index, &raw mut len);
            std::slice::from_raw_parts(start.cast(), len)
        }
    }

    /// The memory of a userdata, or null.
    pub fn memory(&self, index: c_int) -> *mut c_void {
        // SAFETY: takes any value.
        unsafe { ffi::lua_touserdata(self.state, index) }
    }

    // Moving values. None of these can raise. Above what the function was called with there is room for
    // `LUA_MINSTACK` values; for more, ask `has_room`.

    /// Makes sure that there is room for so many more values; false if the stack would be too large.
    pub fn has_room(&self, values: c_int) -> bool {
        // SAFETY: takes any number.
        unsafe { ffi::lua_checkstack(self.state, values) != 0 }
    }

    pub fn pop(&self, values: c_int) {
        // SAFETY: callers pop what they pushed.
        unsafe { ffi::lua_settop(self.state, -values - 1) }
    }

    /// Cuts the stack to so many values or fills it up with nil.
    pub fn set_top(&self, values: c_int) {
        // SAFETY: callers have that many, or room for them.
        unsafe { ffi::lua_settop(self.state, values) }
    }

    /// Moves the value on top to where `index` is, and those above it up.
    pub fn insert(&self, index: c_int) {
        // SAFETY: callers name a value that is there.
        unsafe { ffi::lua_insert(self.state, index) }
    }

    /// Moves the value on top to `index`, over what is there.
    pub fn replace(&self, index: c_int) {
        // SAFETY: callers name a value that is there.
        unsafe { ffi::lua_replace(self.state, index) }
    }

    pub fn push_copy(&self, index: c_int) {
        // SAFETY: callers name a value that is there.
        unsafe { ffi::lua_pushvalue(self.state, index) }
    }

    pub fn push_nil(&self) {
        // SAFETY: callers have room.
        unsafe { ffi::lua_pushnil(self.state) }
    }

    pub fn push_null(&self) {
        // SAFETY: callers have room.
        unsafe { ffi::lua_pushlightuserdata(self.state, std::ptr::null_mut()) }
    }

    pub fn push_number(&self, number: f64) {
        // SAFETY: callers have room.
        unsafe { ffi::lua_pushnumber(self.state, number) }
    }

    pub fn push_boolean(&self, value: bool) {
        // SAFETY: callers have room.
        unsafe { ffi::lua_pushboolean(self.state, value.into()) }
    }

    /// Pushes the first upvalue of the function at `index`.
    pub fn push_upvalue(&self, index: c_int) {
        // SAFETY: callers name a function that has one.
        unsafe { ffi::lua_getupvalue(self.state, index, 1) };
    }

    /// Pushes one of the values that the running function was made with, from 1 on.
    pub fn push_own_upvalue(&self, number: c_int) {
        self.push_copy(ffi::lua_upvalueindex(number));
    }

    // What allocates, and so raises when the VM's memory is used up.

    pub fn push_bytes(&self, bytes: &[u8]) {
        // SAFETY: Lua copies the bytes; callers have room.
        unsafe { ffi::lua_pushlstring_(self.state, bytes.as_ptr().cast(), bytes.len()) }
    }

    /// A table with room for so many named fields.
    pub fn push_table(&self, fields: c_int) {
        // SAFETY: callers have room.
        unsafe { ffi::lua_createtable(self.state, 0, fields) }
    }

    /// A table with room for so many elements.
    pub fn push_array(&self, elements: usize) {
        let elements = c_int::try_from(elements).unwrap_or(c_int::MAX);
        // SAFETY: callers have room.
        unsafe { ffi::lua_createtable(self.state, elements, 0) }
    }

    /// Memory of Lua's, kept while the value is on the stack. It is aligned for any plain type.
    pub fn push_memory(&self, bytes: usize) -> *mut c_void {
        // SAFETY: callers have room.
        unsafe { ffi::lua_newuserdata(self.state, bytes) }
    }

    /// A function, with the values on top as its upvalues.
    pub fn push_function(&self, function: ffi::lua_CFunction, upvalues: c_int) {
        // SAFETY: callers pushed the upvalues.
        unsafe { ffi::lua_pushcclosure(self.state, function, upvalues) }
    }

    /// Sets a field of the table at `index` to the value on top and pops it.
    pub fn set_field(&self, index: c_int, name: &CStr) {
        // SAFETY: callers name a table.
        unsafe { ffi::lua_setfield(self.state, index, name.as_ptr()) }
    }

    /// Pushes a field of the table at `index`.
    pub fn push_field(&self, index: c_int, name: &CStr) {
        // SAFETY: callers name a table.
        unsafe { ffi::lua_getfield_(self.state, index, name.as_ptr()) }
    }

    /// Sets `table[index]` to the value on top and pops it.
    pub fn set_element(&self, table: c_int, index: c_int) {
        // SAFETY: callers name a table.
        unsafe { ffi::lua_rawseti_(self.state, table, index) }
    }

    /// Sets `table[key] = value`, with the key and the value on top, and pops both. A key that is nil or NaN raises.
    pub fn raw_set(&self, table: c_int) {
        // SAFETY: callers name a table.
        unsafe { ffi::lua_rawset(self.state, table) }
    }

    /// Pushes `table[index]`, whatever its metatable says.
    pub fn push_element(&self, table: c_int, index: c_int) {
        // SAFETY: callers name a table.
        unsafe { ffi::lua_rawgeti_(self.state, table, index) }
    }

    /// Puts `table[key]` in place of the key on top, whatever its metatable says.
    pub fn raw_get(&self, table: c_int) {
        // SAFETY: callers name a table.
        unsafe {
            ffi::lua_rawget(self.state, table);
        }
    }

    /// Takes a key from the top and pushes the table's next key and its value; pushes nothing at the end.
    pub fn next(&self, table: c_int) -> bool {
        // SAFETY: callers name a table, and the key is one that this function pushed, or nil.
        unsafe { ffi::lua_next(self.state, table) != 0 }
    }

    /// Calls the function under so many arguments; so many results are left of both.
    pub fn call(&self, arguments: c_int, results: c_int) {
        // SAFETY: the function stands under its arguments.
        unsafe { ffi::lua_call(self.state, arguments, results) }
    }

    /// Calls the function that is the first upvalue with all arguments. Its results, any number, are all that is left.
    pub fn call_upvalue(&self) {
        let arguments = self.top();
        self.push_copy(ffi::lua_upvalueindex(1));
        self.insert(1);
        // SAFETY: the function stands under its arguments.
        unsafe { ffi::lua_call(self.state, arguments, ffi::LUA_MULTRET) }
    }

    /// Calls the function under `arguments` values and catches its error, which `handler` is given first, if that is not 0. What is left
    /// of both is all results or the error; there is room for one more value. Whether there was no error.
    pub fn call_caught(&self, arguments: c_int, handler: c_int) -> bool {
        // SAFETY: the function stands under its arguments, and callers name the handler's place.
        let status = unsafe { ffi::lua_pcall(self.state, arguments, ffi::LUA_MULTRET, handler) };
        // As many results as there were leave none.
        self.check_room(1, c"too many results");
        status == 0
    }

    // Arguments. A wrong one raises what every library of Lua says of it.

    /// There must be one, of whatever type.
    pub fn check_any(&self, argument: c_int) {
        // SAFETY: takes any index.
        unsafe { ffi::luaL_checkany(self.state, argument) }
    }

    pub fn check_number(&self, argument: c_int) -> f64 {
        // SAFETY: takes any index.
        unsafe { ffi::luaL_checknumber(self.state, argument) }
    }

    pub fn check_integer(&self, argument: c_int) -> i64 {
        // SAFETY: takes any index.
        unsafe { ffi::luaL_checkinteger(self.state, argument) }
    }

    /// The default stands for nil and for no argument.
    pub fn optional_integer(&self, argument: c_int, default: i64) -> i64 {
        // SAFETY: takes any index.
        unsafe { ffi::luaL_optinteger(self.state, argument, default) }
    }

    /// A string, or a number, which becomes one.
    ///
    /// # Safety
    ///
    /// The bytes are valid only as long as the argument is on the stack.
    pub unsafe fn check_bytes<'b>(&self, argument: c_int) -> &'b [u8] {
        let mut len = 0;
        // SAFETY: takes any index, and returns a pointer to `len` bytes and a zero, or not at all.
        unsafe {
            let start = ffi::luaL_checklstring(self.state, argument, &raw mut len);
            std::slice::from_raw_parts(start.cast(), len)
        }
    }

    /// The same, with the zero that stands behind every string of Lua.
    ///
    /// # Safety
    ///
    /// The bytes are valid only as long as the argument is on the stack.
    pub unsafe fn check_bytes_with_zero<'b>(&self, argument: c_int) -> &'b [u8] {
        let mut len = 0;
        // SAFETY: takes any index, and returns a pointer to `len` bytes and a zero, or not at all.
        unsafe {
            let start = ffi::luaL_checklstring(self.state, argument, &raw mut len);
            std::slice::from_raw_parts(start.cast(), len + 1)
        }
    }

    /// Which of the words the argument is. The last one must be null.
    pub fn check_option(&self, argument: c_int, words: &[*const std::ffi::c_char]) -> c_int {
        debug_assert!(words.last().is_some_and(|last| last.is_null()), "Lua looks for the end");
        // SAFETY: the list has an end, and its words are C strings.
        unsafe { ffi::luaL_checkoption(self.state, argument, std::ptr::null(), words.as_ptr()) }
    }

    /// Raises if there is no room for so many more values.
    pub fn check_room(&self, values: c_int, what: &CStr) {
        // SAFETY: takes any number.
        unsafe { ffi::luaL_checkstack_(self.state, values, what.as_ptr()) }
    }

    // Errors.

    /// Raises a message, with the place in the script where the function was called.
    pub fn raise(&self, message: fmt::Arguments<'_>) -> ! {
        let mut text = Message { bytes: [0; MESSAGE_BYTES], len: 0 };
        // What does not fit is cut off.
        let _ = text.write_fmt(message);
        // SAFETY: the text ends with a zero, and Lua copies it. Nobody wants what the function has on the stack any more: there
        // is room for the message then, however much that was.
        unsafe {
            ffi::lua_settop(self.state, 0);
            ffi::luaL_error(self.state, c"%s".as_ptr(), text.bytes.as_ptr());
        }
        self.raise_top()
    }

    /// Raises the value on top.
    pub fn raise_top(&self) -> ! {
        // SAFETY: there is a value, and callers hold nothing with a destructor.
        unsafe { ffi::lua_error(self.state) }
    }

    /// Raises that an argument is wrong, and why.
    pub fn raise_argument(&self, argument: c_int, why: &CStr) -> ! {
        // SAFETY: does not return.
        unsafe { ffi::luaL_argerror(self.state, argument, why.as_ptr()) };
        self.raise_top()
    }

    /// Raises that an argument is wrong, with the last words being one byte: `why` has a `%c` for it.
    pub fn raise_argument_byte(&self, argument: c_int, why: &CStr, byte: u8) -> ! {
        // SAFETY: the message is on the stack while it is used.
        unsafe {
            let why = ffi::lua_pushfstring(self.state, why.as_ptr(), c_int::from(byte));
            ffi::luaL_argerror(self.state, argument, why)
        };
        self.raise_top()
    }

    /// Raises that an argument is not of the type it should be.
    pub fn raise_type(&self, argument: c_int, expected: &CStr) -> ! {
        // SAFETY: does not return.
        unsafe { ffi::luaL_typerror(self.state, argument, expected.as_ptr()) };
        self.raise_top()
    }
}

/// Text of a fixed size.
struct Message {
    bytes: [u8; MESSAGE_BYTES],
    len: usize,
}

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.len..MESSAGE_BYTES - 1).unwrap_or_default();
        let taken = text.len().min(room.len());
        for (to, from) in room.iter_mut().zip(text.bytes()) {
            *to = from;
        }
        self.len += taken;
        if taken == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
