//! From registers to a number, after Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog sketches"
//! (arXiv:1702.01284). The order of the operations is that of Redis, since each of them rounds.

use super::REGISTERS;
use super::place::RANK_BITS;

/// 1 / (2 ln 2).
const ALPHA: f64 = 0.721_347_520_444_481_7;

/// How many registers have each rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram([u32; 64]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([0; 64])
    }
}

impl Histogram {
    #[inline]
    pub fn note(&mut self, rank: u8, registers: u32) {
        if let Some(count) = self.0.get_mut(usize::from(rank)) {
            *count += registers;
        }
    }

    fn of(&self, rank: u32) -> f64 {
        f64::from(self.0.get(rank as usize).copied().unwrap_or(0))
    }

    /// What is too much for Redis's signed integer is the least one here, too.
    pub fn estimate(&self) -> u64 {
        const TOO_MUCH: f64 = (1_u64 << 63) as f64;
        let all = REGISTERS as f64;
        let mut sum = all * tau((all - self.of(RANK_BITS + 1)) / all);
        for rank in (1..=RANK_BITS).rev() {
            sum += self.of(rank);
            sum *= 0.5;
        }
        sum += all * sigma(self.of(0) / all);
        let estimate = (ALPHA * all * all / sum).round();
        if estimate < TOO_MUCH { estimate as u64 } else { 1 << 63 }
    }
}

fn tau(share: f64) -> f64 {
    if share == 0.0 || share == 1.0 {
        return 0.0;
    }
    let (mut root, mut weight, mut sum) = (share, 1.0, 1.0 - share);
    loop {
        root = root.sqrt();
        weight *= 0.5;
        let before = sum;
        sum -= (1.0 - root) * (1.0 - root) * weight;
        if sum == before {
            return sum / 3.0;
        }
    }
}

fn sigma(share: f64) -> f64 {
    if share == 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut weight, mut sum) = (share, 1.0, share);
    loop {
        power *= power;
        let before = sum;
        sum += power * weight;
        weight += weight;
        if sum == before {
            return sum;
        }
    }
}
