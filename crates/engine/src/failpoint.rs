//! A place at which a thread can be told to panic, or a call to fail, so that tests see what becomes of the process.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Where the threads of the engine look.
pub const PLACES: [&str; 5] = ["sync", "freeze", "write-back", "load", "compaction"];

/// Calls of the log's files that can be told to fail: once, or with an `s` at the end until something else is armed.
/// `log-sync-waits`: syncs wait until something else is armed.
pub const FAULTS: [&str; 6] =
    ["log-write", "log-sync", "log-writes", "log-syncs", "log-sync-waits", "nothing"];

static IS_ARMED: AtomicBool = AtomicBool::new(false);
static PLACE: Mutex<String> = Mutex::new(String::new());

/// Whoever reaches this place next panics, or fails once.
pub fn arm(place: &str) {
    place.clone_into(&mut PLACE.lock());
    IS_ARMED.store(true, Ordering::Release);
}

/// Costs one load while nothing is armed.
#[inline]
pub fn reach(place: &str) {
    if IS_ARMED.load(Ordering::Relaxed) {
        panic_at(place);
    }
}

/// Whether this call is to fail.
#[inline]
pub fn fails(fault: &str) -> bool {
    IS_ARMED.load(Ordering::Relaxed) && {
        let mut place = PLACE.lock();
        if *place == fault {
            place.clear();
            return true;
        }
        place.strip_suffix('s') == Some(fault)
    }
}

/// Waits as long as this is what is armed.
#[inline]
pub fn wait_while(what: &str) {
    while IS_ARMED.load(Ordering::Relaxed) && *PLACE.lock() == what {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[cold]
#[allow(clippy::panic, reason = "it is what was asked for")]
fn panic_at(place: &str) {
    if *PLACE.lock() == place {
        panic!("told to panic in: {place}");
    }
}
