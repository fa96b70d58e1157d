//! The longest common subsequence of two byte strings.
//!
//! The table of lengths is walked row by row with one row in memory; the way back needs one bit per cell, not a length
//! per cell. Where there are several longest subsequences, the one that redis-server finds is found: from the end, a
//! common byte is taken, else the longer side is followed, else (alike) the second string is shortened.

/// A run of equal bytes: `a[a_start..a_start + len]` and `b[b_start..b_start + len]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub a_start: usize,
    pub b_start: usize,
    pub len: usize,
}

/// Walks the table, the shorter string inside. Calls `each` with the length without the last byte of the outer and
/// without the last byte of the inner string, cell by cell, and returns the length of the whole.
fn walk(outer: &[u8], inner: &[u8], mut each: impl FnMut(u32, u32)) -> u32 {
    let mut row = vec![0u32; inner.len()];
    for x in outer {
        let mut diagonal = 0;
        let mut left = 0;
        for (cell, y) in row.iter_mut().zip(inner) {
            let above = *cell;
            each(above, left);
            *cell = if x == y { diagonal + 1 } else { above.max(left) };
            diagonal = above;
            left = *cell;
        }
    }
    row.last().copied().unwrap_or(0)
}

pub fn length(a: &[u8], b: &[u8]) -> u32 {
    let (outer, inner) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    walk(outer, inner, |_, _| {})
}

/// The common runs, last one first.
pub fn runs(a: &[u8], b: &[u8]) -> Vec<Run> {
    let a_is_outer = a.len() >= b.len();
    let (outer, inner) = if a_is_outer { (a, b) } else { (b, a) };
    // Per cell: whether the longer way is to shorten `a`.
    let mut ways = Bits::with_capacity(outer.len() * inner.len());
    walk(outer, inner, |without_outer, without_inner| {
        ways.push(if a_is_outer { without_outer > without_inner } else { without_inner > without_outer });
    });
    let mut runs: Vec<Run> = Vec::new();
    let (mut i, mut j) = (a.len(), b.len());
    while let (Some(at_a), Some(at_b)) = (i.checked_sub(1), j.checked_sub(1)) {
        if a.get(at_a) == b.get(at_b) {
            match runs.last_mut() {
                Some(run) if run.a_start == i && run.b_start == j => {
                    *run = Run { a_start: at_a, b_start: at_b, len: run.len + 1 };
                }
                _ => runs.push(Run { a_start: at_a, b_start: at_b, len: 1 }),
            }
            (i, j) = (at_a, at_b);
            continue;
        }
        let cell = if a_is_outer { at_a * inner.len() + at_b } else { at_b * inner.len() + at_a };
        if ways.get(cell) { i = at_a } else { j = at_b }
    }
    runs
}

/// A growing row of bits.
struct Bits {
    words: Vec<u64>,
    next: u64,
    len: u32,
}

impl Bits {
    fn with_capacity(bits: usize) -> Bits {
        Bits { words: Vec::with_capacity(bits / 64 + 1), next: 0, len: 0 }
    }

    fn push(&mut self, bit: bool) {
        self.next |= u64::from(bit) << self.len;
        self.len += 1;
        if self.len == u64::BITS {
            self.words.push(self.next);
            (self.next, self.len) = (0, 0);
        }
    }

    fn get(&self, at: usize) -> bool {
        let word = self.words.get(at / 64).copied().unwrap_or(self.next);
        word >> (at % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(a: &str, b: &str) -> String {
        let runs = runs(a.as_bytes(), b.as_bytes());
        runs.iter().rev().map(|run| &a[run.a_start..run.a_start + run.len]).collect()
    }

    #[test]
    fn what_redis_finds() {
        assert_eq!(common("ohmytext", "mynewtext"), "mytext");
        assert_eq!(common("AAABBBCCC", "ABCABCABC"), "ABCCC");
        assert_eq!(common("abcbdab", "bdcaba"), "bdab");
        assert_eq!(common("bdcaba", "abcbdab"), "bcba");
        assert_eq!(common("", "abc"), "");
        let last_first = [Run { a_start: 4, b_start: 5, len: 4 }, Run { a_start: 2, b_start: 0, len: 2 }];
        assert_eq!(runs(b"ohmytext", b"mynewtext"), last_first);
    }

    /// Against the definition, over all pairs of short strings of two letters.
    #[test]
    fn lengths_are_the_longest() {
        fn longest(a: &[u8], b: &[u8]) -> u32 {
            match (a, b) {
                ([x, a @ ..], [y, b @ ..]) if x == y => 1 + longest(a, b),
                ([_, rest_a @ ..], [_, rest_b @ ..]) => longest(rest_a, b).max(longest(a, rest_b)),
                _ => 0,
            }
        }
        let words: Vec<Vec<u8>> = (0..6)
            .flat_map(|len| (0..1u8 << len).map(move |n| (0..len).map(|i| n >> i & 1).collect()))
            .collect();
        for a in &words {
            for b in &words {
                let expected = longest(a, b);
                assert_eq!(length(a, b), expected);
                let runs = runs(a, b);
                assert_eq!(runs.iter().map(|run| run.len as u32).sum::<u32>(), expected);
                for run in runs {
                    assert_eq!(a[run.a_start..][..run.len], b[run.b_start..][..run.len]);
                }
            }
        }
    }
}
