//! How an I/O thread waits for its next events. A thread that sleeps is woken by the client's own system call, and waking
//! a core costs that client more than the rest of the call: where events follow each other closely, the thread looks again
//! for a moment before it sleeps, and leaves the core to anyone who wants it between two looks.

use std::hint;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

/// The last wait may have been this many times as long as a thread would look for events: waking takes time as well.
const CLOSE: u32 = 2;
/// Looks in vain, one after the other, after which it may not: the events are just too far apart.
const IN_VAIN: u32 = 4;
/// Waits in which it sleeps at once after somebody else has had its core between two looks. A thread that is woken has the core soon, one
/// that has left it to others by itself only when their turn is over, some milliseconds later.
const CROWDED: u32 = 64;
/// Between two looks, about a microsecond.
const PAUSES: u32 = 64;

#[derive(Default)]
pub struct Waiting {
    last: Duration,
    idle: Duration,
    /// Since a look saw something.
    in_vain: u32,
    /// Waits that are left of [`CROWDED`].
    crowded: u32,
}

impl Waiting {
    /// Until there are events or the time is over; looks for them at most for `busy` before it sleeps.
    pub fn wait(
        &mut self,
        poll: &mut Poll,
        events: &mut Events,
        timeout: Duration,
        busy: Duration,
    ) -> io::Result<()> {
        let begin = Instant::now();
        let mut done = false;
        if self.looks(timeout, busy) {
            let mut last = Duration::ZERO;
            loop {
                poll.poll(events, Some(Duration::ZERO))?;
                done = !events.is_empty();
                let now = begin.elapsed();
                if now - last >= busy {
                    self.crowded = CROWDED;
                }
                last = now;
                if done || now >= busy {
                    break;
                }
                // What shares the core's units is not held up by looking all the time.
                (0..PAUSES).for_each(|_| hint::spin_loop());
                thread::yield_now();
            }
            self.looked(done);
        }
        let polled = if done { Ok(()) } else { poll.poll(events, Some(timeout)) };
        self.waited(begin.elapsed());
        polled
    }

    /// Whether the next events are likely to come while the thread looks for them.
    fn looks(&self, timeout: Duration, busy: Duration) -> bool {
        let close = if self.in_vain < IN_VAIN { busy * CLOSE } else { busy };
        timeout > busy && self.last < close && self.crowded == 0
    }

    fn looked(&mut self, saw: bool) {
        self.in_vain = if saw { 0 } else { self.in_vain.saturating_add(1) };
    }

    fn waited(&mut self, time: Duration) {
        self.last = time;
        self.idle += time;
        self.crowded = self.crowded.saturating_sub(1);
    }

    /// Time spent waiting since this was last asked.
    pub fn take_idle(&mut self) -> Duration {
        std::mem::take(&mut self.idle)
    }
}

#[cfg(test)]
mod tests {
    use mio::{Token, Waker};

    use super::*;

    const BUSY: Duration = Duration::from_micros(50);
    const LONG: Duration = Duration::from_millis(100);

    #[test]
    fn only_a_thread_whose_events_follow_closely_looks_again() {
        let mut waiting = Waiting::default();
        waiting.waited(BUSY);
        assert!(waiting.looks(LONG, BUSY));
        waiting.waited(BUSY * CLOSE);
        assert!(!waiting.looks(LONG, BUSY), "an idle thread sleeps");
        waiting.waited(Duration::ZERO);
        assert!(!waiting.looks(LONG, Duration::ZERO), "it is turned off");
        assert!(!waiting.looks(Duration::ZERO, BUSY), "there is work already");
        assert_eq!(waiting.take_idle(), BUSY + BUSY * CLOSE);
        assert_eq!(waiting.take_idle(), Duration::ZERO);
    }

    #[test]
    fn a_thread_that_looks_in_vain_again_and_again_sleeps() {
        let mut waiting = Waiting::default();
        for _ in 0..IN_VAIN {
            waiting.waited(BUSY + BUSY / 2);
            assert!(waiting.looks(LONG, BUSY));
            waiting.looked(false);
        }
        assert!(!waiting.looks(LONG, BUSY));
        waiting.waited(BUSY / 2);
        assert!(waiting.looks(LONG, BUSY), "they come closer again");
        waiting.looked(true);
        waiting.waited(BUSY + BUSY / 2);
        assert!(waiting.looks(LONG, BUSY));
    }

    #[test]
    fn a_thread_whose_core_others_want_sleeps() {
        let mut waiting = Waiting { crowded: CROWDED, ..Waiting::default() };
        for _ in 0..CROWDED {
            assert!(!waiting.looks(LONG, BUSY));
            waiting.waited(BUSY);
        }
        assert!(waiting.looks(LONG, BUSY));
    }

    #[test]
    fn events_are_seen_while_looking_and_while_asleep() {
        let mut poll = Poll::new().unwrap();
        let waker = Waker::new(poll.registry(), Token(7)).unwrap();
        let mut events = Events::with_capacity(4);
        let mut waiting = Waiting::default();
        for busy in [Duration::ZERO, BUSY, Duration::from_millis(20)] {
            (waiting.last, waiting.crowded) = (Duration::ZERO, 0);
            waiting.wait(&mut poll, &mut events, Duration::from_millis(30), busy).unwrap();
            assert!(events.is_empty(), "nothing has happened");
            waker.wake().unwrap();
            (waiting.last, waiting.crowded) = (Duration::ZERO, 0);
            waiting.wait(&mut poll, &mut events, Duration::from_secs(60), busy).unwrap();
            assert_eq!(events.iter().map(|event| event.token()).collect::<Vec<_>>(), [Token(7)]);
            // Is told once.
            waiting.wait(&mut poll, &mut events, Duration::from_millis(1), busy).unwrap();
            assert!(events.is_empty());
        }
    }
}
