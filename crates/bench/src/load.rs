//! Known data: key number `i` has a value that can be told from `i`, so that what comes back can be verified.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::client::{Client, Reply, show};

/// Keys of one MSET while loading.
const LOAD_BATCH: u64 = 50;
/// MSETs under way at once.
const LOAD_DEPTH: u64 = 20;
/// GETs under way at once while verifying.
const READ_DEPTH: u64 = 64;

/// The form that redis-benchmark gives its random keys.
pub fn key(index: u64) -> Vec<u8> {
    format!("key:{index:012}").into_bytes()
}

/// `length` bytes that do not compress, different for each index and generation.
pub fn value(index: u64, generation: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(index.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (generation << 56));
    let mut value = Vec::with_capacity(length + 8);
    while value.len() < length {
        value.extend_from_slice(&random.next().to_be_bytes());
    }
    value.truncate(length);
    value
}

/// xorshift64*: quick, and the same on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        // The upper bits are the better ones.
        (self.next() >> 11) % bound.max(1)
    }
}

/// Sets keys 0 to `keys` to their values of a generation.
pub fn fill(client: &mut Client, keys: u64, generation: u64, value_bytes: usize) -> Result<()> {
    let mut next = 0;
    while next < keys {
        let mut batches = 0;
        while batches < LOAD_DEPTH && next < keys {
            let end = keys.min(next + LOAD_BATCH);
            let pairs: Vec<Vec<u8>> =
                (next..end).flat_map(|index| [key(index), value(index, generation, value_bytes)]).collect();
            let mut words: Vec<&[u8]> = vec![b"MSET"];
            words.extend(pairs.iter().map(Vec::as_slice));
            client.queue(&words);
            next = end;
            batches += 1;
        }
        client.send()?;
        for _ in 0..batches {
            client.expect_ok()?;
        }
        progress("loaded", next, LOAD_BATCH * LOAD_DEPTH, keys);
    }
    Ok(())
}

/// Reads every key once, in an order that has nothing to do with the one they were written in.
pub fn verify(client: &mut Client, keys: u64, generation: u64, value_bytes: usize) -> Result<()> {
    let stride = stride(keys);
    let mut done = 0;
    while done < keys {
        let batch = READ_DEPTH.min(keys - done);
        let indices: Vec<u64> = (done..done + batch).map(|turn| turn.wrapping_mul(stride) % keys).collect();
        for &index in &indices {
            client.queue(&[b"GET", &key(index)]);
        }
        client.send()?;
        for &index in &indices {
            let reply = client.reply()?;
            if reply != Reply::Bulk(Some(value(index, generation, value_bytes))) {
                return Err(format!("key {index} reads back wrong: {}", show(&reply)).into());
            }
        }
        done += batch;
        progress("verified", done, batch, keys);
    }
    Ok(())
}

/// A step with no common divisor with `keys`, about 0.6 of them long: multiples of it visit each key once.
fn stride(keys: u64) -> u64 {
    let mut step = (keys / 1000 * 618).max(1);
    while gcd(step, keys) != 1 {
        step += 1;
    }
    step
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Elements that `{elements}` in a template stands for.
pub const ELEMENTS: u64 = 20;

/// Sends a command for every number below `count`: `__rand_int__` in it becomes the number as redis-benchmark writes it,
/// `{elements}` twenty elements that no other command of this process had.
pub fn repeat(client: &mut Client, template: &str, count: u64) -> Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut number = 0;
    while number < count {
        let end = count.min(number + 1000);
        for number in number..end {
            let text = template.replace("__rand_int__", &format!("{number:012}"));
            let words: Vec<Vec<u8>> = text
                .split_whitespace()
                .flat_map(|word| {
                    if word != "{elements}" {
                        return vec![word.as_bytes().to_vec()];
                    }
                    let first = NEXT.fetch_add(ELEMENTS, Ordering::Relaxed);
                    (first..first + ELEMENTS)
                        .map(|element| format!("element:{element:012}").into_bytes())
                        .collect()
                })
                .collect();
            client.queue(&words.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }
        client.send()?;
        for _ in number..end {
            if let Reply::Error(error) = client.reply()? {
                return Err(format!("{template}: {}", error.escape_ascii()).into());
            }
        }
        number = end;
    }
    Ok(())
}

fn progress(what: &str, done: u64, batch: u64, all: u64) {
    let step = (all / 10).max(1_000_000);
    if done / step > done.saturating_sub(batch) / step {
        eprintln!("bench:   {what} {} of {} million keys", done / 1_000_000, all.div_ceil(1_000_000));
    }
}

/// Round-trip times of PING, one at a time with a pause of a millisecond between them.
pub fn ping_for(client: &mut Client, time: Duration, stop: &AtomicBool) -> Result<Latencies> {
    let began = Instant::now();
    let mut samples = Vec::new();
    while began.elapsed() < time && !stop.load(Ordering::Relaxed) {
        let sent = Instant::now();
        client.ping()?;
        samples.push(sent.elapsed());
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(Latencies::new(samples))
}

pub struct Latencies {
    sorted: Vec<Duration>,
}

impl Latencies {
    pub fn new(mut samples: Vec<Duration>) -> Latencies {
        samples.sort_unstable();
        Latencies { sorted: samples }
    }

    /// These and others together.
    pub fn with(mut self, other: Latencies) -> Latencies {
        self.sorted.extend(other.sorted);
        Latencies::new(self.sorted)
    }

    pub fn percentile(&self, percent: f64) -> Duration {
        let rank = (self.sorted.len() as f64 * percent / 100.0).ceil() as usize;
        self.sorted.get(rank.saturating_sub(1)).or(self.sorted.last()).copied().unwrap_or_default()
    }

    pub fn max(&self) -> Duration {
        self.sorted.last().copied().unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.sorted.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stride_visits_every_key_once() {
        for keys in [1, 2, 999, 1000, 1001, 4000] {
            let stride = stride(keys);
            let mut seen: Vec<u64> = (0..keys).map(|turn| turn * stride % keys).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..keys).collect::<Vec<_>>(), "{keys} keys");
        }
    }

    #[test]
    fn values_differ_by_index_and_generation() {
        assert_eq!(value(7, 0, 500), value(7, 0, 500));
        assert_eq!(value(7, 0, 501).len(), 501);
        assert_ne!(value(7, 0, 16), value(8, 0, 16));
        assert_ne!(value(7, 0, 16), value(7, 1, 16));
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let latencies = Latencies::new((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!(latencies.percentile(50.0), Duration::from_millis(50));
        assert_eq!(latencies.percentile(99.0), Duration::from_millis(99));
        assert_eq!(latencies.max(), Duration::from_millis(100));
        assert_eq!(Latencies::new(Vec::new()).percentile(99.0), Duration::ZERO);
    }
}
