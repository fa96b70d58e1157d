//! Workers that stand in for those which a script has taken for long: whatever else needs a worker must not wait for scripts that never
//! end. One that was begun stays for the next such script.

use std::sync::OnceLock;
use std::thread::JoinHandle;

use parking_lot::Mutex;

/// The most that there are.
const MAX: usize = 64;

type Begin = Box<dyn Fn() -> Option<JoinHandle<()>> + Send + Sync>;

#[derive(Default)]
pub struct StandIns {
    begin: OnceLock<Begin>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Workers that are taken.
    taken: usize,
    threads: Vec<JoinHandle<()>>,
}

impl StandIns {
    /// How a worker is begun. Only the first call counts.
    pub fn begin_with(&self, begin: Begin) {
        let _ = self.begin.set(begin);
    }

    /// A script has taken a worker for long.
    pub fn taken(&self) {
        let mut state = self.state.lock();
        state.taken += 1;
        if state.threads.len() < state.taken.min(MAX)
            && let Some(thread) = self.begin.get().and_then(|begin| begin())
        {
            state.threads.push(thread);
        }
    }

    /// That script has ended.
    pub fn back(&self) {
        let mut state = self.state.lock();
        state.taken = state.taken.saturating_sub(1);
    }

    /// To be waited for at the end of the server.
    pub fn threads(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.state.lock().threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_workers_were_taken_at_a_time() {
        let stand_ins = StandIns::default();
        stand_ins.begin_with(Box::new(|| Some(std::thread::spawn(|| ()))));
        let count = || stand_ins.state.lock().threads.len();
        stand_ins.taken();
        stand_ins.taken();
        assert_eq!(count(), 2);
        stand_ins.back();
        stand_ins.taken();
        assert_eq!(count(), 2, "the one that was begun before");
        (0..2 * MAX).for_each(|_| stand_ins.taken());
        assert_eq!(count(), MAX);
        stand_ins.threads().into_iter().for_each(|thread| thread.join().unwrap());
    }
}
