//! Sessions that clients may come back to, in memory, for a limited time and in a limited number.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls::server::StoresServerSessions;

pub struct Sessions {
    size: usize,
    time: Duration,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_key: HashMap<Vec<u8>, (Instant, Vec<u8>)>,
    /// Oldest first. A session that was taken, or put again, is still in here with its old time.
    order: VecDeque<(Instant, Vec<u8>)>,
}

impl Sessions {
    pub fn new(size: usize, time: Duration) -> Sessions {
        Sessions { size: size.max(1), time, kept: Mutex::default() }
    }
}

impl Kept {
    /// Removes what is too old, and the oldest ones until there is room for one more.
    fn make_room(&mut self, size: usize, time: Duration, now: Instant) {
        while let Some((since, _)) = self.order.front() {
            let is_old = now.duration_since(*since) >= time;
            if !is_old && self.order.len() < size {
                break;
            }
            let Some((since, key)) = self.order.pop_front() else { break };
            if self.by_key.get(&key).is_some_and(|(at, _)| *at == since) {
                self.by_key.remove(&key);
            }
        }
    }
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let now = Instant::now();
        let mut kept = self.kept.lock();
        kept.make_room(self.size, self.time, now);
        kept.order.push_back((now, key.clone()));
        kept.by_key.insert(key, (now, value));
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let kept = self.kept.lock();
        let (since, value) = kept.by_key.get(key)?;
        (since.elapsed() < self.time).then(|| value.clone())
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (since, value) = self.kept.lock().by_key.remove(key)?;
        (since.elapsed() < self.time).then_some(value)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sessions", self.kept.lock().by_key.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Vec<u8> {
        number.to_string().into_bytes()
    }

    #[test]
    fn the_oldest_sessions_make_room() {
        let sessions = Sessions::new(3, Duration::from_secs(3600));
        for number in 0..5 {
            assert!(sessions.put(key(number), key(number)));
        }
        assert_eq!([0, 1].map(|number| sessions.get(&key(number))), [None, None]);
        assert_eq!([2, 3, 4].map(|number| sessions.get(&key(number)).is_some()), [true; 3]);
        assert_eq!(sessions.take(&key(3)), Some(key(3)));
        assert_eq!(sessions.take(&key(3)), None);
        // A session that was put again is as old as its last time.
        sessions.put(key(4), key(40));
        sessions.put(key(6), key(6));
        assert_eq!(sessions.get(&key(4)), Some(key(40)));
        let kept = sessions.kept.lock();
        assert!(kept.by_key.len() <= 3 && kept.order.len() <= 3);
    }

    #[test]
    fn old_sessions_are_gone() {
        let sessions = Sessions::new(3, Duration::ZERO);
        sessions.put(key(1), key(1));
        assert_eq!((sessions.get(&key(1)), sessions.take(&key(1))), (None, None));
        sessions.put(key(2), key(2));
        sessions.put(key(3), key(3));
        assert_eq!(sessions.kept.lock().by_key.len(), 1);
    }
}
