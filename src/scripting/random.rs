//! The random numbers of scripts: the 48-bit generator of POSIX, so that a script that sets its own seed draws the numbers that
//! it would draw in Redis. A run that is begun again draws the same numbers again.

const FACTOR: u64 = 0x5_deec_e66d;
const ADDEND: u64 = 0xb;
const MASK: u64 = (1 << 48) - 1;
/// The low bits that a seed does not set.
const LOW: u64 = 0x330e;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// From any number.
    pub fn new(random: u64) -> Random {
        Random(random & MASK)
    }

    /// As `math.randomseed` asks.
    pub fn seeded(seed: u32) -> Random {
        Random(u64::from(seed) << 16 | LOW)
    }

    /// From 0 to 1, without 1.
    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(ADDEND) & MASK;
        let limit = u64::from(i32::MAX as u32);
        ((self.0 >> 17) % limit) as f64 / limit as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_redis() {
        let text = |number: f64| format!("{number:.14}");
        assert_eq!(text(Random::seeded(0).draw()), "0.17082803611217");
        assert_eq!(text(Random::seeded(5).draw()), "0.52483957937213");
    }
}
