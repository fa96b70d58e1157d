//! Writes that outrun write-back: whoever writes is slowed in proportion to how full the dirty budget is, and waits
//! where it is full, so that memory stays within it.

use std::time::{Duration, Instant};

use super::connection::{Connection, State};
use super::io_thread::IoThread;
use crate::keyspace::local::pressure;

/// From this share of the dirty budget on, clients that write are slowed.
const SLOW_FROM: f32 = 0.5;
/// From here on they wait until there is room.
const FULL: f32 = 1.0;
/// How long a turn waits just below.
const SLOWEST: Duration = Duration::from_millis(10);
/// How often who waits for room looks for it.
const LOOK_ROUND: Duration = Duration::from_millis(20);

/// How long a client that has written waits before its next turn.
fn delay(pressure: f32) -> Option<Duration> {
    if pressure < SLOW_FROM {
        return None;
    }
    let over = (pressure - SLOW_FROM) / (FULL - SLOW_FROM);
    Some(if over < 1.0 { SLOWEST.mul_f32(over * over) } else { LOOK_ROUND })
}

impl IoThread {
    /// To be called when a connection has written.
    pub(super) fn slow_down(&mut self, connection: &mut Connection, place: usize) {
        if matches!(connection.state, State::Open)
            && let Some(delay) = delay(pressure(&self.node.engine))
        {
            connection.state = State::Throttled;
            self.connections.wake_at(Instant::now() + delay, place, connection.session.client.id);
        }
    }

    /// A connection that was slowed wakes: whether it may go on. If not, it is woken again.
    pub(super) fn may_go_on(&mut self, place: usize, client: u64, now: Instant) -> bool {
        if pressure(&self.node.engine) < FULL {
            return true;
        }
        self.connections.wake_at(now + LOOK_ROUND, place, client);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_with_the_pressure() {
        assert_eq!(delay(0.0), None);
        assert_eq!(delay(0.49), None);
        assert_eq!(delay(0.5), Some(Duration::ZERO));
        assert_eq!(delay(0.75), Some(SLOWEST / 4));
        assert!(delay(0.99).unwrap() < SLOWEST);
        assert_eq!(delay(FULL), Some(LOOK_ROUND));
        assert_eq!(delay(9.0), Some(LOOK_ROUND));
    }
}
