//! Natural numbers of any size, as far as exact conversion between decimal and binary needs them.

use std::cmp::Ordering;

/// Least significant limb first; the last limb is not zero, zero has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Big(Vec<u32>);

const LIMB_BITS: usize = u32::BITS as usize;
/// The largest power of ten in a limb, and its exponent.
const TEN_POWER: u32 = 1_000_000_000;
const TEN_POWER_DIGITS: usize = 9;

impl From<u64> for Big {
    fn from(n: u64) -> Big {
        let mut big = Big(vec![n as u32, (n >> 32) as u32]);
        big.trim();
        big
    }
}

impl Big {
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Bits up to the highest one that is set.
    pub fn bits(&self) -> usize {
        self.0.last().map_or(0, |top| self.0.len() * LIMB_BITS - top.leading_zeros() as usize)
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// `self * factor + addend`
    pub fn multiply_add(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for limb in &mut self.0 {
            let product = u64::from(*limb) * u64::from(factor) + carry;
            *limb = product as u32;
            carry = product >> 32;
        }
        if carry != 0 {
            self.0.push(carry as u32);
        }
        self.trim();
    }

    pub fn multiply_by_ten_to(&mut self, mut power: usize) {
        while power >= TEN_POWER_DIGITS {
            self.multiply_add(TEN_POWER, 0);
            power -= TEN_POWER_DIGITS;
        }
        self.multiply_add(10u32.pow(power as u32), 0);
    }

    /// `self / divisor`, and what is left.
    fn divide_by(&mut self, divisor: u32) -> u32 {
        let mut rest = 0u64;
        for limb in self.0.iter_mut().rev() {
            let part = rest << 32 | u64::from(*limb);
            *limb = (part / u64::from(divisor)) as u32;
            rest = part % u64::from(divisor);
        }
        self.trim();
        rest as u32
    }

    pub fn shift_left(&mut self, bits: usize) {
        if self.is_zero() {
            return;
        }
        let (limbs, bits) = (bits / LIMB_BITS, bits % LIMB_BITS);
        let mut carry = 0u32;
        if bits > 0 {
            for limb in &mut self.0 {
                let shifted = u64::from(*limb) << bits | u64::from(carry);
                *limb = shifted as u32;
                carry = (shifted >> 32) as u32;
            }
            if carry != 0 {
                self.0.push(carry);
            }
        }
        self.0.splice(0..0, std::iter::repeat_n(0, limbs));
    }

    /// Whether a bit is set.
    fn bit(&self, at: usize) -> bool {
        self.0.get(at / LIMB_BITS).is_some_and(|limb| limb >> (at % LIMB_BITS) & 1 == 1)
    }

    /// Whether any of the lowest bits is set.
    pub fn any_below(&self, bits: usize) -> bool {
        let whole = bits / LIMB_BITS;
        let in_limbs = self.0.iter().take(whole).any(|limb| *limb != 0);
        let part = self.0.get(whole).is_some_and(|limb| limb & ((1u32 << (bits % LIMB_BITS)) - 1) != 0);
        in_limbs || part
    }

    /// The lowest 128 bits of `self >> bits`.
    pub fn window(&self, bits: usize) -> u128 {
        let first = bits / LIMB_BITS;
        let limb = |i: usize| u128::from(self.0.get(first + i).copied().unwrap_or(0));
        let low = limb(0) | limb(1) << 32 | limb(2) << 64 | limb(3) << 96;
        match bits % LIMB_BITS {
            0 => low,
            part => low >> part | limb(4) << (128 - part),
        }
    }

    /// `self >> bits`, rounded to the nearest, halves to even.
    pub fn shift_right_rounded(&mut self, bits: usize) {
        let half = bits.checked_sub(1).is_some_and(|at| self.bit(at));
        let below = bits.checked_sub(1).is_some_and(|at| self.any_below(at));
        self.0.drain(..(bits / LIMB_BITS).min(self.0.len()));
        let part = bits % LIMB_BITS;
        if part > 0 {
            let mut carry = 0u32;
            for limb in self.0.iter_mut().rev() {
                let value = *limb;
                *limb = value >> part | carry;
                carry = value << (LIMB_BITS - part);
            }
        }
        self.trim();
        if half && (below || self.bit(0)) {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for limb in &mut self.0 {
            *limb = limb.wrapping_add(1);
            if *limb != 0 {
                return;
            }
        }
        self.0.push(1);
    }

    fn subtract(&mut self, other: &Big) {
        let mut borrow = false;
        let others = other.0.iter().copied().chain(std::iter::repeat(0));
        for (limb, other) in self.0.iter_mut().zip(others) {
            let (value, first) = limb.overflowing_sub(other);
            let (value, second) = value.overflowing_sub(u32::from(borrow));
            *limb = value;
            borrow = first || second;
        }
        self.trim();
    }

    /// The quotient, which must be below 2^128, and whether something is left.
    pub fn divide(mut self, divisor: &Big) -> (u128, bool) {
        let mut quotient = 0u128;
        let mut steps = (self.bits() + 1).saturating_sub(divisor.bits());
        let mut shifted = divisor.clone();
        shifted.shift_left(steps);
        loop {
            quotient <<= 1;
            if self.cmp(&shifted) != Ordering::Less {
                self.subtract(&shifted);
                quotient |= 1;
            }
            if steps == 0 {
                return (quotient, !self.is_zero());
            }
            steps -= 1;
            shifted.halve();
        }
    }

    fn halve(&mut self) {
        let mut carry = 0u32;
        for limb in self.0.iter_mut().rev() {
            let value = *limb;
            *limb = value >> 1 | carry;
            carry = value << 31;
        }
        self.trim();
    }

    /// Decimal digits, without leading zeros; of zero none.
    pub fn digits(mut self) -> Vec<u8> {
        let mut reversed = Vec::new();
        while !self.is_zero() {
            let mut part = self.divide_by(TEN_POWER);
            for _ in 0..TEN_POWER_DIGITS {
                reversed.push(b'0' + (part % 10) as u8);
                part /= 10;
            }
        }
        while reversed.last() == Some(&b'0') {
            reversed.pop();
        }
        reversed.reverse();
        reversed
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Big) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Big {
    fn cmp(&self, other: &Big) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn big(n: u128) -> Big {
        let mut big = Big::from((n >> 64) as u64);
        big.shift_left(64);
        let low = Big::from(n as u64);
        let mut limbs = big.0.clone();
        limbs.resize(limbs.len().max(2), 0);
        for (limb, low) in limbs.iter_mut().zip(&low.0) {
            *limb |= low;
        }
        let mut big = Big(limbs);
        big.trim();
        big
    }

    const SAMPLES: [u128; 8] =
        [0, 1, 9, 0xffff_ffff, 0x1_0000_0000, u64::MAX as u128, (u64::MAX as u128) << 7 | 5, 10u128.pow(30)];

    #[test]
    fn agrees_with_machine_numbers() {
        for n in SAMPLES {
            let number = big(n);
            assert_eq!(number.bits(), (128 - n.leading_zeros()) as usize);
            let expected = if n == 0 { String::new() } else { n.to_string() };
            assert_eq!(String::from_utf8(number.clone().digits()).unwrap(), expected);
            for bits in [0, 1, 7, 31, 32, 33, 64, 65] {
                assert_eq!(number.window(bits), n >> bits, "{n} >> {bits}");
                assert_eq!(number.any_below(bits), n & ((1 << bits) - 1) != 0, "{n} below {bits}");
                let half = if bits == 0 { 0 } else { 1u128 << (bits - 1) };
                let low = n & ((1 << bits) - 1);
                let up = low > half || (low == half && half > 0 && n >> bits & 1 == 1);
                let mut rounded = number.clone();
                rounded.shift_right_rounded(bits);
                assert_eq!(rounded, big((n >> bits) + u128::from(up)), "{n} >> {bits} rounded");
            }
            for divisor in SAMPLES.into_iter().filter(|d| *d > 0) {
                assert_eq!(number.clone().divide(&big(divisor)), (n / divisor, n % divisor != 0));
            }
        }
    }

    #[test]
    fn powers_of_ten() {
        let mut number = Big::from(1);
        number.multiply_by_ten_to(100);
        let digits = number.digits();
        assert_eq!(digits.len(), 101);
        assert_eq!(digits[0], b'1');
        assert!(digits[1..].iter().all(|digit| *digit == b'0'));
    }
}
