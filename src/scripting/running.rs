//! The scripts that run at this moment: to be stopped by SCRIPT KILL, and to be told of where they keep others waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// What kind of script it is: each has a command of its own that stops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Script,
    Function,
}

/// One of them.
#[derive(Debug)]
pub struct Run {
    pub kind: Kind,
    pub begun: Instant,
    killed: AtomicBool,
    /// What was sent, for FUNCTION STATS.
    pub words: Vec<Box<[u8]>>,
    pub name: String,
}

impl Run {
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub struct Running {
    runs: Mutex<Vec<Arc<Run>>>,
}

/// Held while a script is on the list.
pub struct Listed<'a> {
    running: &'a Running,
    pub run: Arc<Run>,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.running.runs.lock().retain(|run| !Arc::ptr_eq(run, &self.run));
    }
}

impl Running {
    /// Lists a script that has begun. Those that end at once need not be.
    pub fn list(&self, kind: Kind, name: String, words: Vec<Box<[u8]>>, begun: Instant) -> Listed<'_> {
        let run = Arc::new(Run { kind, begun, killed: AtomicBool::new(false), words, name });
        self.runs.lock().push(Arc::clone(&run));
        Listed { running: self, run }
    }

    /// The one that runs longest.
    pub fn longest(&self, kind: Kind) -> Option<Arc<Run>> {
        self.runs.lock().iter().filter(|run| run.kind == kind).min_by_key(|run| run.begun).cloned()
    }

    /// Stops those that run for longer than this; if there are none, the one that runs longest. Whether there was any.
    pub fn kill(&self, kind: Kind, time: Duration) -> bool {
        let runs = self.runs.lock();
        let of_kind = || runs.iter().filter(|run| run.kind == kind);
        let mut any = false;
        for run in of_kind().filter(|run| run.begun.elapsed() > time) {
            run.killed.store(true, Ordering::Relaxed);
            any = true;
        }
        if let Some(run) = of_kind().min_by_key(|run| run.begun)
            && !any
        {
            run.killed.store(true, Ordering::Relaxed);
            any = true;
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_stopped_if_none_is_too_long() {
        let running = Running::default();
        let long = Duration::from_secs(3_600);
        assert!(!running.kill(Kind::Script, long));
        let first = running.list(Kind::Script, "a".into(), Vec::new(), Instant::now());
        let second = running.list(Kind::Script, "b".into(), Vec::new(), Instant::now());
        assert!(!running.kill(Kind::Function, long));
        assert!(running.kill(Kind::Script, long));
        assert!(first.run.is_killed() && !second.run.is_killed());
        assert!(running.kill(Kind::Script, Duration::ZERO));
        assert!(second.run.is_killed());
        drop((first, second));
        assert!(running.longest(Kind::Script).is_none());
    }
}
