//! The containers that a walk is in. The walks here do not recurse: a document may nest as deep as the Lua stack allows,
//! which is deeper than a thread's own stack should have to be.

use std::mem::MaybeUninit;

use crate::scripting::stack::Stack;

/// How many are kept in the frame of the function. More than almost any document has.
const NEAR: usize = 32;
/// How large Lua lets the stack of a function become, in values. Every container of a walk is one of them.
const MOST: usize = 8000;

#[derive(Debug)]
pub struct Frames<T: Copy> {
    near: [MaybeUninit<T>; NEAR],
    /// Memory of Lua's for [`MOST`] of them, once the near ones are used up.
    far: *mut MaybeUninit<T>,
    len: usize,
}

impl<T: Copy> Frames<T> {
    pub fn new() -> Frames<T> {
        const { assert!(align_of::<T>() <= align_of::<f64>(), "what Lua's memory is aligned for") };
        Frames { near: [const { MaybeUninit::uninit() }; NEAR], far: std::ptr::null_mut(), len: 0 }
    }

    /// How deep the walk is.
    pub fn len(&self) -> usize {
        self.len
    }

    /// False if the walk is too deep.
    #[must_use]
    pub fn push(&mut self, stack: &Stack<'_>, frame: T) -> bool {
        if self.len == NEAR && self.far.is_null() && !self.move_far(stack) {
            return false;
        }
        let len = self.len;
        let Some(place) = self.places().get_mut(len) else { return false };
        place.write(frame);
        self.len += 1;
        true
    }

    pub fn last(&mut self) -> Option<&mut T> {
        let last = self.len.checked_sub(1)?;
        // SAFETY: everything below `len` was written by `push`, or copied from what was.
        self.places().get_mut(last).map(|last| unsafe { last.assume_init_mut() })
    }

    pub fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    fn places(&mut self) -> &mut [MaybeUninit<T>] {
        if self.far.is_null() {
            return &mut self.near;
        }
        // SAFETY: the memory is for `MOST` places, which may be unwritten, and lives as long as the function's call.
        unsafe { std::slice::from_raw_parts_mut(self.far, MOST) }
    }

    /// Keeps the memory where it takes no place on the stack: in a table with the first argument, where that was.
    #[cold]
    fn move_far(&mut self, stack: &Stack<'_>) -> bool {
        if !stack.has_room(3) {
            return false;
        }
        stack.push_table(0);
        stack.push_copy(1);
        stack.set_element(-2, 1);
        let far = stack.push_memory(MOST * size_of::<T>()).cast::<MaybeUninit<T>>();
        stack.set_element(-2, 2);
        stack.replace(1);
        // SAFETY: the memory is new, and larger than what is copied.
        unsafe { far.copy_from_nonoverlapping(self.near.as_ptr(), NEAR) };
        self.far = far;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_and_go() {
        let lua = mlua::Lua::new();
        // SAFETY: the closure owns nothing.
        let outcome = unsafe {
            lua.exec_raw::<()>("argument", |state| {
                let stack = Stack::new(state);
                let mut frames = Frames::new();
                assert_eq!(frames.last(), None);
                assert!((0..MOST).all(|n| frames.push(&stack, n)));
                assert!(!frames.push(&stack, 0));
                for n in (0..MOST).rev() {
                    assert_eq!((frames.last().copied(), frames.len()), (Some(n), n + 1));
                    frames.pop();
                }
                assert_eq!(frames.last(), None);
                stack.set_top(0);
            })
        };
        outcome.unwrap();
    }
}
