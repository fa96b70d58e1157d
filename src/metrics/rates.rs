//! How much happens per second: sampled, and averaged over the last samples.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Metrics, process};

/// Least time between two samples.
const EVERY: Duration = Duration::from_millis(100);
/// Samples that are kept: the average is over a bit more than a second and a half.
const KEPT: usize = 17;

#[derive(Debug, Default)]
pub struct Rates {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    samples: VecDeque<Sample>,
    peak_allocated_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    calls: u64,
    in_bytes: u64,
    out_bytes: u64,
}

/// Averages of late.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rate {
    pub calls_per_sec: f64,
    pub in_bytes_per_sec: f64,
    pub out_bytes_per_sec: f64,
}

impl Metrics {
    /// Takes a sample if one is due. Called from time to time, and by whoever wants to know.
    pub fn sample(&self, now: Instant) {
        let mut inner = self.rates.inner.lock();
        if inner.samples.back().is_some_and(|last| now.duration_since(last.at) < EVERY) {
            return;
        }
        inner.push(Sample {
            at: now,
            calls: self.calls(),
            in_bytes: self.sum(|thread| thread.net_in_bytes.get()),
            out_bytes: self.sum(|thread| thread.net_out_bytes.get()),
        });
        inner.peak_allocated_bytes = inner.peak_allocated_bytes.max(process::allocator().allocated_bytes);
    }

    pub fn rate(&self) -> Rate {
        self.rates.inner.lock().rate()
    }

    /// The most memory that was in use when a sample was taken.
    pub fn peak_allocated_bytes(&self) -> u64 {
        self.rates.inner.lock().peak_allocated_bytes
    }
}

impl Inner {
    fn push(&mut self, sample: Sample) {
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    fn rate(&self) -> Rate {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return Rate::default();
        };
        let secs = last.at.duration_since(first.at).as_secs_f64();
        if secs == 0.0 {
            return Rate::default();
        }
        // CONFIG RESETSTAT may have set the later one back.
        let per_sec = |before: u64, after: u64| after.saturating_sub(before) as f64 / secs;
        Rate {
            calls_per_sec: per_sec(first.calls, last.calls),
            in_bytes_per_sec: per_sec(first.in_bytes, last.in_bytes),
            out_bytes_per_sec: per_sec(first.out_bytes, last.out_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_over_the_samples_kept() {
        let start = Instant::now();
        let mut inner = Inner::default();
        assert_eq!(inner.rate(), Rate::default());
        for i in 0..40 {
            let at = start + Duration::from_millis(100 * i);
            inner.push(Sample { at, calls: 5 * i, in_bytes: 1_000 * i, out_bytes: 0 });
        }
        assert_eq!(inner.samples.len(), KEPT);
        let rate = inner.rate();
        assert!(
            (rate.calls_per_sec - 50.0).abs() < 1e-6 && (rate.in_bytes_per_sec - 10_000.0).abs() < 1e-6,
            "{rate:?}"
        );
        inner.push(Sample { at: start + Duration::from_secs(5), calls: 0, in_bytes: 0, out_bytes: 0 });
        assert_eq!(inner.rate(), Rate::default());
    }

    #[test]
    fn samples_keep_their_distance() {
        let metrics = Metrics::default();
        let start = Instant::now();
        for ms in [0, 99, 100, 150, 199, 200] {
            metrics.sample(start + Duration::from_millis(ms));
        }
        assert_eq!(metrics.rates.inner.lock().samples.len(), 3);
    }
}
