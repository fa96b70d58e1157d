//! The end of the process when one of its threads cannot go on. What is committed is in the log; clients that nobody serves
//! any more would wait for ever.

use std::io::Write as _;

use tarn_engine::failpoint;

/// As of a Rust program whose main thread panicked.
const EXIT_CODE: i32 = 101;
/// Longest that the message may take: its reader may be stalled.
const PATIENCE_SECS: u32 = 5;

/// Threads that look for [`inject_panic`], besides those of the engine.
const PLACES: [&str; 8] =
    ["listener", "handshake", "metrics", "sweeper", "cleaner", "signals", "log", "bgsave"];

/// From now on a panic in any thread ends the process, that of a callback from RocksDB included.
pub fn end_on_panic() {
    std::panic::set_hook(Box::new(|info| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("of RocksDB");
        let trace = std::backtrace::Backtrace::capture();
        let trace = match trace.status() {
            std::backtrace::BacktraceStatus::Captured => format!("\n{trace}"),
            _ => String::new(),
        };
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let words = info.payload_as_str().unwrap_or("without a word");
        end(&format!("thread {name} panicked at {place}: {words}{trace}"));
    }));
}

/// Says why and ends, without a word to any other thread.
pub fn end(why: &str) -> ! {
    // SAFETY: it only sets a timer, whose signal ends the process.
    unsafe { libc::alarm(PATIENCE_SECS) };
    // Nothing is left to do if there is no standard error.
    let _ = writeln!(std::io::stderr(), "tarn: {why}; the process ends");
    if std::thread::current().name() != Some(crate::logging::THREAD) {
        tracing::error!("{why}; the process ends");
        crate::logging::flush();
    }
    // SAFETY: no handlers run, so that none can meet the threads that still do.
    unsafe { libc::_exit(EXIT_CODE) }
}

/// The end of a process that was told to stop while a thread still loads its data, which changes nothing.
pub fn leave() -> ! {
    // SAFETY: no handlers run, so that none can meet the thread that still works.
    unsafe { libc::_exit(0) }
}

/// The thread panics when it comes to its next turn. False if there is none of this name.
pub fn inject_panic(thread: &str) -> bool {
    let is_known = PLACES.iter().chain(&failpoint::PLACES).any(|place| *place == thread);
    if is_known {
        failpoint::arm(thread);
    }
    is_known
}

/// The next call of this kind fails, once. False if there is none of this name.
pub fn inject_fault(call: &str) -> bool {
    let is_known = failpoint::FAULTS.contains(&call);
    if is_known {
        failpoint::arm(call);
    }
    is_known
}

/// This thread panics now.
#[allow(clippy::panic, reason = "it is what was asked for")]
pub fn panic_here() -> ! {
    panic!("told to panic")
}
