//! Child processes, and what /proc says about them.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::{Result, cleanup};

/// A child that is killed and waited for when dropped.
pub struct Process {
    child: Child,
}

impl Process {
    pub fn spawn(command: &mut Command) -> Result<Process> {
        // SAFETY: the closure makes one async-signal-safe system call.
        unsafe {
            command.pre_exec(|| {
                // The kernel kills the child when this process ends in a way that runs no destructor.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
                Ok(())
            });
        }
        let child = command.spawn().map_err(|error| {
            format!("cannot start {}: {error}", Path::new(command.get_program()).display())
        })?;
        cleanup::child_started(child.id());
        Ok(Process { child })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// SIGKILL, and gone when this returns.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        cleanup::child_ended(self.child.id());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Processor time of a process and the children it has waited for.
pub fn cpu_time(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may hold spaces; fields are counted behind it, the first being number 3.
    let (_, fields) = stat.rsplit_once(')').ok_or("unreadable /proc/pid/stat")?;
    let of_children: u64 =
        fields.split_whitespace().skip(16 - 3).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: plain library calls; the places they write to are our own.
    let (outcome, per_second) = unsafe {
        let mut clock = 0;
        let found = libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock);
        let outcome = if found == 0 { libc::clock_gettime(clock, &raw mut time) } else { found };
        (outcome, libc::sysconf(libc::_SC_CLK_TCK).max(1) as u64)
    };
    if outcome != 0 {
        return Err(format!("no processor time of process {pid}").into());
    }
    let own = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
    Ok(own + Duration::from_millis(of_children * 1000 / per_second))
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    pub rss: u64,
    /// The most it ever was.
    pub peak: u64,
    /// Resident memory without what is shared with other processes.
    pub private: u64,
}

pub fn memory(pid: u32) -> Result<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    Ok(Memory {
        rss: kib_field(&status, "VmRSS:"),
        peak: kib_field(&status, "VmHWM:"),
        private: kib_field(&rollup, "Private_Clean:") + kib_field(&rollup, "Private_Dirty:"),
    })
}

fn kib_field(text: &str, name: &str) -> u64 {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|kib| kib.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

/// Bytes that the files under a folder take on the disk. Files may vanish while it looks.
pub fn disk_usage(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => disk_usage(&entry.path()),
            Ok(meta) => meta.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

/// As many open files as the machine allows: one suite opens ten thousand connections.
pub fn raise_open_file_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls on a struct that lives here.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
