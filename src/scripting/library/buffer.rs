//! Bytes in the making. They are in the frame of the function while they are few, then in memory of Lua's: an error may
//! leave the function at any time, the garbage collector knows what to do, and the VM's limit holds.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use crate::scripting::stack::Stack;

/// What is kept in the frame. More than most documents that scripts encode.
const NEAR_BYTES: usize = 1024;

#[derive(Debug)]
pub struct Buffer<'s> {
    stack: &'s Stack<'s>,
    /// Where on the stack Lua's memory is kept.
    home: c_int,
    near: [MaybeUninit<u8>; NEAR_BYTES],
    /// Lua's memory, once there is some.
    far: *mut u8,
    capacity: usize,
    len: usize,
}

impl<'s> Buffer<'s> {
    /// Takes one place on top of the stack. Whoever appends leaves room for one value.
    pub fn new(stack: &'s Stack<'s>) -> Buffer<'s> {
        stack.push_nil();
        Buffer {
            stack,
            home: stack.top(),
            near: [const { MaybeUninit::uninit() }; NEAR_BYTES],
            far: std::ptr::null_mut(),
            capacity: NEAR_BYTES,
            len: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Keeps the memory, forgets the bytes.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    pub fn push(&mut self, byte: u8) {
        if self.len == self.capacity {
            self.grow(1);
        }
        // SAFETY: there is room for a byte at `len`.
        unsafe { self.start().add(self.len).write(byte) };
        self.len += 1;
    }

    pub fn extend(&mut self, bytes: &[u8]) {
        if bytes.len() > self.capacity - self.len {
            self.grow(bytes.len());
        }
        // SAFETY: there is room for so many bytes at `len`, in memory that nobody else has.
        unsafe { self.start().add(self.len).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.len += bytes.len();
    }

    pub fn bytes(&mut self) -> &[u8] {
        // SAFETY: `len` bytes have been written.
        unsafe { std::slice::from_raw_parts(self.start(), self.len) }
    }

    /// Pushes what there is as a string.
    pub fn push_string(&mut self) {
        let stack = self.stack;
        stack.push_bytes(self.bytes());
    }

    fn start(&mut self) -> *mut u8 {
        if self.far.is_null() { self.near.as_mut_ptr().cast() } else { self.far }
    }

    /// Raises when the VM's memory is used up.
    #[cold]
    fn grow(&mut self, more: usize) {
        let capacity = self.len.saturating_add(more).max(self.capacity.saturating_mul(2));
        let far = self.stack.push_memory(capacity).cast::<u8>();
        // SAFETY: the new memory is larger. The old one is on the stack until it is replaced.
        unsafe { far.copy_from_nonoverlapping(self.start(), self.len) };
        self.stack.replace(self.home);
        self.far = far;
        self.capacity = capacity;
    }
}
