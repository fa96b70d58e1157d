//! A set of ranges that tells quickly whether a row is in one of them.

use crate::{Range, Space};

/// In order, and none touches another.
pub struct Ranges<'a>(Vec<(u8, Range<'a>)>);

impl<'a> Ranges<'a> {
    pub fn of(ranges: impl Iterator<Item = (Space, Range<'a>)>) -> Ranges<'a> {
        let mut sorted: Vec<(u8, Range<'a>)> = ranges.map(|(space, range)| (space.0, range)).collect();
        sorted.sort_unstable_by_key(|(space, range)| (*space, range.start));
        let mut apart: Vec<(u8, Range<'a>)> = Vec::with_capacity(sorted.len());
        for (space, range) in sorted {
            match apart.last_mut() {
                Some((last, before)) if *last == space && range.start <= before.end => {
                    before.end = before.end.max(range.end);
                }
                _ => apart.push((space, range)),
            }
        }
        Ranges(apart)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u8, Range<'a>)> + '_ {
        self.0.iter().copied()
    }

    pub fn contain(&self, space: u8, key: &[u8]) -> bool {
        let behind = self.0.partition_point(|(of, range)| (*of, range.start) <= (space, key));
        let before = behind.checked_sub(1).and_then(|at| self.0.get(at));
        before.is_some_and(|(of, range)| *of == space && key < range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_in_one_of_them_or_in_none() {
        let ranges: [(u8, &[u8], &[u8]); 6] = [
            (1, b"m", b"p"),
            (0, b"c", b"e"),
            (1, b"a", b"b"),
            (0, b"d", b"g"),
            (0, b"x", b"z"),
            (0, b"y", b"z"),
        ];
        let named = ranges.map(|(space, start, end)| (Space(space), Range { start, end }));
        let set = Ranges::of(named.into_iter());
        assert_eq!(set.iter().count(), 4);
        for space in 0..3 {
            for byte in b'a'..=b'z' {
                for key in [&[byte][..], &[byte, b'm']] {
                    let is_in =
                        |(of, start, end): &(u8, &[u8], &[u8])| *of == space && *start <= key && key < *end;
                    assert_eq!(set.contain(space, key), ranges.iter().any(is_in), "{space} {key:?}");
                }
            }
        }
        assert!(!Ranges::of(std::iter::empty()).contain(0, b""));
    }
}
