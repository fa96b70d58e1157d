//! How an I/O thread shares a core with threads that compute: scripts, compaction, other programs.
//!
//! Linux lets a thread that wakes in before one that runs if its turns are shorter, and gives it no more time in all than any other. See
//! docs/decisions/0030-short-turns.md.

/// The shortest turn that the kernel gives.
const TURN_NANOS: u64 = 100_000;

/// `struct sched_attr` of the kernel, in its first version.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Of a thread without a special policy: how long its turns are. Kernels before 6.12 have no use for it.
    runtime_nanos: u64,
    deadline_nanos: u64,
    period_nanos: u64,
}

impl Attributes {
    /// Those of this thread.
    fn get() -> Option<Attributes> {
        let mut found = Attributes::default();
        // SAFETY: the kernel writes no more than the size that it is told.
        let status = unsafe {
            libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, size_of::<Attributes>() as u32, 0)
        };
        (status == 0).then_some(found)
    }

    fn set(self) {
        // SAFETY: the kernel only reads them. What it refuses stays as it is.
        let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const self, 0) };
    }
}

/// This thread has short turns from now on, unless somebody has given it a special policy.
pub fn take_short_turns() {
    if let Some(found) = Attributes::get()
        && found.policy == libc::SCHED_OTHER as u32
    {
        Attributes { runtime_nanos: TURN_NANOS, ..found }.set();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_length_of_turns_changes() {
        let before = Attributes::get().unwrap();
        let after = std::thread::spawn(|| {
            take_short_turns();
            Attributes::get().unwrap()
        });
        let after = after.join().unwrap();
        // Older kernels tell of none.
        let runtime_nanos = if before.runtime_nanos == 0 { 0 } else { TURN_NANOS };
        assert_eq!(after, Attributes { runtime_nanos, ..before });
        assert_eq!(Attributes::get().unwrap(), before, "other threads keep theirs");
    }
}
