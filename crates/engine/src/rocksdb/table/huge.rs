//! Slots in huge pages. Each search reads another place. With small pages it waits for the translation of its address as well as
//! for the memory, and so does a prefetch, which then does not help.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};

use rustix::mm::{Advice, madvise};

const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Less is not worth a call, and would mostly lie at the ends of what the advice covers.
const WORTHWHILE_BYTES: usize = 2 * HUGE_PAGE_BYTES;

/// A vector that does not grow; where the system has huge pages, a long one is in them.
pub struct Huge<T>(Vec<T>);

impl<T> Default for Huge<T> {
    fn default() -> Huge<T> {
        Huge(Vec::new())
    }
}

impl<T: Copy> Huge<T> {
    pub fn filled(with: T, len: usize) -> Huge<T> {
        let mut items = Huge(Vec::with_capacity(len));
        // Before the memory is used for the first time.
        items.advise(Advice::LinuxHugepage);
        items.0.resize(len, with);
        items
    }
}

impl<T> Huge<T> {
    /// Of the pages that lie within it. Systems that have none refuse, and nothing is lost.
    fn advise(&self, advice: Advice) {
        let bytes = self.0.capacity() * size_of::<T>();
        if bytes < WORTHWHILE_BYTES {
            return;
        }
        let start = self.0.as_ptr().cast::<c_void>().cast_mut();
        let skipped = start.align_offset(HUGE_PAGE_BYTES).min(bytes);
        let within = (bytes - skipped) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        // SAFETY: the pages are this vector's own, and this advice does not change what they hold.
        let _refused = unsafe { madvise(start.wrapping_byte_add(skipped), within, advice) };
    }
}

impl<T> Drop for Huge<T> {
    /// What the allocator uses them for next may be small.
    fn drop(&mut self) {
        self.advise(Advice::LinuxNoHugepage);
    }
}

impl<T> Deref for Huge<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Huge<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_ones_hold_what_they_were_filled_with() {
        for len in [0, 1, 1000, WORTHWHILE_BYTES / 8 - 1, WORTHWHILE_BYTES / 8, 3 * WORTHWHILE_BYTES / 8 + 5]
        {
            let mut items = Huge::filled(7_u64, len);
            assert_eq!(items.len(), len);
            for (place, item) in items.iter_mut().enumerate() {
                *item += place as u64;
            }
            assert!(items.iter().enumerate().all(|(place, item)| *item == place as u64 + 7));
        }
    }
}
