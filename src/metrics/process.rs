//! What the operating system and the allocator know of this process.

use std::path::Path;

/// The allocator's view, in bytes. Zeros where it cannot be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocator {
    /// In use by the program.
    pub allocated_bytes: u64,
    /// Freed by the program, and kept by the threads that freed it for what they ask for next.
    pub cached_bytes: u64,
    /// In pages that the program uses.
    pub active_bytes: u64,
    /// In memory, with what the allocator keeps for itself.
    pub resident_bytes: u64,
}

pub fn allocator() -> Allocator {
    use tikv_jemalloc_ctl::{epoch, stats};
    let read = || {
        // Numbers are cached until the epoch advances.
        epoch::advance()?;
        let (allocated, active, resident) =
            (stats::allocated::read()?, stats::active::read()?, stats::resident::read()?);
        let cached_bytes = thread_caches()?;
        Ok::<_, tikv_jemalloc_ctl::Error>(Allocator {
            // To the allocator, what a thread keeps is in use.
            allocated_bytes: (allocated as u64).saturating_sub(cached_bytes),
            cached_bytes,
            active_bytes: active as u64,
            resident_bytes: resident as u64,
        })
    };
    read().unwrap_or_default()
}

/// What the threads keep, in bytes.
fn thread_caches() -> Result<u64, tikv_jemalloc_ctl::Error> {
    // 4096 stands for all arenas.
    const OF_ALL: &[u8] = b"stats.arenas.4096.tcache_bytes\0";
    // SAFETY: the name ends in a zero byte, and what it names is a `size_t`.
    unsafe { tikv_jemalloc_ctl::raw::read::<usize>(OF_ALL) }.map(|bytes| bytes as u64)
}

/// Asks the allocator to give unused pages back.
pub fn purge() -> bool {
    // 4096 stands for all arenas.
    const PURGE_ALL: &std::ffi::CStr = c"arena.4096.purge";
    let (none, no_len) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the name ends in a zero byte, and nothing is read or written through the other pointers.
    unsafe { tikv_jemalloc_sys::mallctl(PURGE_ALL.as_ptr(), none, no_len, none, 0) == 0 }
}

/// What the allocator says about itself.
pub fn allocator_report() -> Vec<u8> {
    let mut report = Vec::new();
    // Writing into a vector does not fail.
    let _ = tikv_jemalloc_ctl::stats_print::stats_print(
        &mut report,
        tikv_jemalloc_ctl::stats_print::Options::default(),
    );
    report
}

/// Physical memory of the process, in bytes.
pub fn rss_bytes() -> u64 {
    kib_of("/proc/self/status", "VmRSS:").unwrap_or(0) * 1024
}

/// Memory of the machine, in bytes.
pub fn machine_bytes() -> u64 {
    kib_of("/proc/meminfo", "MemTotal:").unwrap_or(0) * 1024
}

fn kib_of(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// `Linux 6.1.0 x86_64`
pub fn system() -> String {
    let release = std::fs::read_to_string(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    format!("Linux {} {}", release.trim(), std::env::consts::ARCH)
}

/// Processor time, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    pub system_secs: f64,
    pub user_secs: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Process,
    Children,
}

pub fn cpu(whose: Whose) -> Cpu {
    let whose = match whose {
        Whose::Process => libc::RUSAGE_SELF,
        Whose::Children => libc::RUSAGE_CHILDREN,
    };
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes into the struct given, which is valid when all of it is zero.
    let usage = unsafe {
        libc::getrusage(whose, usage.as_mut_ptr());
        usage.assume_init()
    };
    let secs = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Cpu { system_secs: secs(usage.ru_stime), user_secs: secs(usage.ru_utime) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_can_be_asked() {
        assert!(rss_bytes() > 100_000 && machine_bytes() > rss_bytes());
        assert!(system().starts_with("Linux ") && !system().contains('\n'));
        assert!(purge());
        let seen = allocator();
        assert!(seen.resident_bytes >= seen.active_bytes);
        assert!(
            seen.active_bytes >= seen.allocated_bytes && seen.allocated_bytes > 0 && seen.cached_bytes > 0
        );
        let spent = cpu(Whose::Process);
        assert!(spent.system_secs + spent.user_secs > 0.0);
    }
}
