//! Any number of rows: leaves of neighbouring rows, each with the bytes of its rows in one buffer.
//!
//! A row is found by two binary searches over numbers (the first bytes of the keys), so that few cache lines are
//! touched. A `BTreeMap` of boxed keys needs three times the memory and twice the time for the same.

// Places and spans are made here, for vectors that grow and shrink together.
#![allow(clippy::indexing_slicing)]

use std::cmp::Ordering;

use crate::Direction;

/// A leaf of more rows or bytes is split.
const LEAF_ROWS: usize = 128;
const LEAF_BYTES: usize = 32 << 10;
/// A leaf of fewer rows is joined with a neighbour, where both together have no more than twice as many.
const FEW_ROWS: usize = LEAF_ROWS / 4;
/// Draws of a row at random after which it is given up. With leaves a quarter full, one of a hundred million is; where rows
/// are so long that leaves have few of them, many are.
const MAX_DRAWS: usize = 64;
/// Leaves that a search for a rank passes at a time.
const LENS_AT_ONCE: usize = 64;
/// What a leaf costs beside its rows, about.
const LEAF_OVERHEAD_BYTES: usize = 128;
/// A key's number and its row's span.
const ROW_OVERHEAD_BYTES: usize = 20;

#[derive(Clone, Copy)]
struct Span {
    at: u32,
    key_len: u32,
    value_len: u32,
}

#[derive(Default)]
struct Leaf {
    /// The first eight bytes of each key, as numbers.
    heads: Vec<u64>,
    spans: Vec<Span>,
    bytes: Vec<u8>,
    /// Bytes that belong to no row any more.
    garbage: usize,
}

/// Rows of leaves that stand one behind the other.
fn rows_of(lens: &[u8]) -> usize {
    lens.iter().map(|len| usize::from(*len)).sum()
}

/// The first bytes of a key as a number. Of keys that begin alike, all of them is compared.
pub fn head_of(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => {
            let mut head = [0; 8];
            head[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(head)
        }
    }
}

impl Leaf {
    fn key(&self, row: usize) -> &[u8] {
        let span = self.spans[row];
        &self.bytes[span.at as usize..][..span.key_len as usize]
    }

    fn value(&self, row: usize) -> &[u8] {
        let span = self.spans[row];
        &self.bytes[span.at as usize + span.key_len as usize..][..span.value_len as usize]
    }

    /// The row of the key, or where it would stand.
    fn find(&self, head: u64, key: &[u8]) -> Result<usize, usize> {
        let mut low = self.heads.partition_point(|other| *other < head);
        if self.heads.get(low) != Some(&head) {
            return Err(low);
        }
        let mut high = low + self.heads[low..].partition_point(|other| *other == head);
        while low < high {
            let middle = low.midpoint(high);
            match self.key(middle).cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    fn size(&self) -> usize {
        LEAF_OVERHEAD_BYTES + self.bytes.capacity() + self.heads.capacity() * ROW_OVERHEAD_BYTES
    }

    fn is_full(&self) -> bool {
        self.spans.len() > LEAF_ROWS || (self.bytes.len() - self.garbage > LEAF_BYTES && self.spans.len() > 1)
    }

    fn insert(&mut self, row: usize, head: u64, key: &[u8], value: &[u8]) {
        let span = self.append(key, value);
        self.heads.insert(row, head);
        self.spans.insert(row, span);
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Span {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        Span { at, key_len: key.len() as u32, value_len: value.len() as u32 }
    }

    fn replace(&mut self, row: usize, key: &[u8], value: &[u8]) {
        let Span { at, key_len, value_len } = self.spans[row];
        if value_len as usize == value.len() {
            let at = at as usize + key_len as usize;
            self.bytes[at..at + value.len()].copy_from_slice(value);
            return;
        }
        self.garbage += key_len as usize + value_len as usize;
        self.spans[row] = self.append(key, value);
        self.collect();
    }

    fn remove(&mut self, row: usize) {
        let span = self.spans.remove(row);
        self.heads.remove(row);
        self.garbage += span.key_len as usize + span.value_len as usize;
        self.collect();
    }

    /// Rewrites the bytes when most of them belong to no row.
    fn collect(&mut self) {
        if self.garbage > self.bytes.len() / 2 && self.garbage > 1 << 10 {
            *self = self.part(0, self.spans.len());
        }
    }

    fn part(&self, from: usize, to: usize) -> Leaf {
        let used = self.bytes.len() - self.garbage;
        let mut part = Leaf {
            heads: self.heads[from..to].to_vec(),
            spans: Vec::with_capacity(to - from),
            bytes: Vec::with_capacity(used * (to - from) / self.spans.len().max(1)),
            garbage: 0,
        };
        for row in from..to {
            let span = part.append(self.key(row), self.value(row));
            part.spans.push(span);
        }
        part
    }

    /// Cuts the second half off.
    fn split(&mut self) -> Leaf {
        let middle = self.spans.len() / 2;
        let upper = self.part(middle, self.spans.len());
        *self = self.part(0, middle);
        upper
    }
}

/// A row's place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    leaf: usize,
    row: usize,
}

#[derive(Default)]
pub struct Leaves {
    /// None is empty. Boxed, so that little moves when one comes or goes between others.
    #[allow(clippy::vec_box)]
    leaves: Vec<Box<Leaf>>,
    /// The first head of each leaf, and how many rows it has.
    heads: Vec<u64>,
    lens: Vec<u8>,
    rows: usize,
    bytes: usize,
}

impl Leaves {
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The leaf in which the key is, or would be.
    fn leaf_of(&self, head: u64, key: &[u8]) -> usize {
        let mut behind = self.heads.partition_point(|other| *other <= head);
        if behind > 0 && self.heads[behind - 1] == head {
            let alike = self.heads[..behind].partition_point(|other| *other < head);
            behind = alike + self.leaves[alike..behind].partition_point(|leaf| leaf.key(0) <= key);
        }
        behind.saturating_sub(1)
    }

    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let head = head_of(key);
        let leaf = self.leaves.get(self.leaf_of(head, key))?;
        leaf.find(head, key).ok().map(|row| leaf.value(row))
    }

    pub fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        let head = head_of(key);
        let at = self.leaf_of(head, key);
        let Some(leaf) = self.leaves.get_mut(at) else {
            if let Some(value) = value {
                self.push_last(key, value);
            }
            return;
        };
        let before = leaf.size();
        match (leaf.find(head, key), value) {
            (Ok(row), Some(value)) => leaf.replace(row, key, value),
            (Err(row), Some(value)) => {
                leaf.insert(row, head, key, value);
                self.rows += 1;
            }
            (Ok(row), None) => {
                leaf.remove(row);
                self.rows -= 1;
            }
            (Err(_), None) => return,
        }
        self.bytes = self.bytes + leaf.size() - before;
        self.tidy(at);
    }

    /// Brings a leaf that has changed back into shape.
    fn tidy(&mut self, at: usize) {
        let leaf = &mut self.leaves[at];
        let Some(first) = leaf.heads.first() else {
            self.bytes -= leaf.size();
            self.leaves.remove(at);
            self.heads.remove(at);
            self.lens.remove(at);
            return;
        };
        self.heads[at] = *first;
        if leaf.is_full() {
            let before = leaf.size();
            // Rows that come in order fill their leaves.
            let upper = if at + 1 == self.heads.len() { leaf.split_last() } else { leaf.split() };
            self.bytes = self.bytes + leaf.size() + upper.size() - before;
            self.heads.insert(at + 1, upper.heads[0]);
            self.lens.insert(at + 1, upper.spans.len() as u8);
            self.leaves.insert(at + 1, Box::new(upper));
        }
        self.lens[at] = self.leaves[at].spans.len() as u8;
        if usize::from(self.lens[at]) < FEW_ROWS && !self.join_next(at) && at > 0 {
            self.join_next(at - 1);
        }
    }

    /// Joins two neighbours, if they are small; whether they were.
    fn join_next(&mut self, at: usize) -> bool {
        let Some(next) = self.leaves.get(at + 1) else { return false };
        let leaf = &self.leaves[at];
        let used = |leaf: &Leaf| leaf.bytes.len() - leaf.garbage;
        if leaf.spans.len() + next.spans.len() > 2 * FEW_ROWS || used(leaf) + used(next) > LEAF_BYTES / 2 {
            return false;
        }
        let next = self.leaves.remove(at + 1);
        self.heads.remove(at + 1);
        self.lens.remove(at + 1);
        let leaf = &mut self.leaves[at];
        let before = leaf.size() + next.size();
        let mut joined = leaf.part(0, leaf.spans.len());
        for row in 0..next.spans.len() {
            joined.insert(joined.spans.len(), next.heads[row], next.key(row), next.value(row));
        }
        self.lens[at] = joined.spans.len() as u8;
        self.bytes = self.bytes + joined.size() - before;
        **leaf = joined;
        true
    }

    /// Shows one row, each with the same chance; false where that did not come about.
    pub fn show_any(&self, draw: &mut dyn FnMut() -> u64, show: &mut dyn FnMut(&[u8], &[u8])) -> bool {
        for _ in 0..MAX_DRAWS {
            // A leaf, and a place that a row may have there.
            let drawn = u128::from(draw()) * (self.lens.len() * LEAF_ROWS) as u128;
            let place = (drawn >> 64) as usize;
            let (leaf, row) = (place / LEAF_ROWS, place % LEAF_ROWS);
            if self.lens.get(leaf).is_some_and(|rows| row < usize::from(*rows)) {
                let leaf = &self.leaves[leaf];
                show(leaf.key(row), leaf.value(row));
                return true;
            }
        }
        false
    }

    /// Sets a row behind all others.
    pub fn push_last(&mut self, key: &[u8], value: &[u8]) {
        if self
            .leaves
            .last()
            .is_none_or(|leaf| leaf.spans.len() >= LEAF_ROWS || leaf.bytes.len() >= LEAF_BYTES)
        {
            self.heads.push(head_of(key));
            self.lens.push(0);
            self.leaves.push(Box::default());
            self.bytes += LEAF_OVERHEAD_BYTES;
        }
        if let Some(leaf) = self.leaves.last_mut() {
            let before = leaf.size();
            leaf.insert(leaf.spans.len(), head_of(key), key, value);
            self.rows += 1;
            self.bytes = self.bytes + leaf.size() - before;
            if let Some(len) = self.lens.last_mut() {
                *len = leaf.spans.len() as u8;
            }
        }
    }

    /// The first row whose key is not less.
    fn seek(&self, key: &[u8]) -> Place {
        let head = head_of(key);
        let leaf = self.leaf_of(head, key);
        let row = self.leaves.get(leaf).map_or(0, |leaf| leaf.find(head, key).unwrap_or_else(|row| row));
        Place { leaf, row }
    }

    /// Shows the row of this rank; if there is none before the end, how many there are.
    pub fn show_nth(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
        rank: usize,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Option<usize> {
        let low = self.seek(start);
        let high = end.map_or(Place { leaf: self.leaves.len(), row: 0 }, |end| self.seek(end));
        let between = self.lens.get(low.leaf..high.leaf).unwrap_or_default();
        let count = (rows_of(between) + high.row).saturating_sub(low.row);
        if rank >= count {
            return Some(count);
        }
        let Place { leaf, row } = self.behind(low, rank);
        let leaf = &self.leaves[leaf];
        show(leaf.key(row), leaf.value(row));
        None
    }

    /// The place so many rows behind another.
    fn behind(&self, from: Place, rows: usize) -> Place {
        let (mut leaf, mut left) = (from.leaf, from.row + rows);
        for lens in self.lens[leaf..].chunks(LENS_AT_ONCE) {
            let rows = rows_of(lens);
            if left < rows {
                break;
            }
            left -= rows;
            leaf += lens.len();
        }
        while let Some(len) = self.lens.get(leaf).filter(|len| left >= usize::from(**len)) {
            left -= usize::from(*len);
            leaf += 1;
        }
        Place { leaf, row: left }
    }

    /// Shows rows until that is refused; true when all of the part were shown.
    pub fn walk(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
        direction: Direction,
        show: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> bool {
        let low = self.seek(start);
        let high = end.map_or(Place { leaf: self.leaves.len(), row: 0 }, |end| self.seek(end));
        let last = (high.leaf + 1).min(self.leaves.len());
        let leaves = self.leaves.iter().enumerate().take(last).skip(low.leaf);
        let rows_of = |index: usize, leaf: &Leaf| {
            let from = if index == low.leaf { low.row } else { 0 };
            let to = if index == high.leaf { high.row } else { leaf.spans.len() };
            from..to
        };
        match direction {
            Direction::Forward => leaves
                .into_iter()
                .all(|(index, leaf)| rows_of(index, leaf).all(|row| show(leaf.key(row), leaf.value(row)))),
            Direction::Backward => leaves.rev().all(|(index, leaf)| {
                rows_of(index, leaf).rev().all(|row| show(leaf.key(row), leaf.value(row)))
            }),
        }
    }
}

impl Leaf {
    /// Cuts the last row off.
    fn split_last(&mut self) -> Leaf {
        let last = self.spans.len() - 1;
        let upper = self.part(last, self.spans.len());
        let Span { key_len, value_len, .. } = self.spans[last];
        self.heads.truncate(last);
        self.spans.truncate(last);
        self.garbage += key_len as usize + value_len as usize;
        self.collect();
        upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_its_bytes_and_gives_them_back() {
        let mut leaves = Leaves::default();
        for number in 0..100_000_u64 {
            leaves.push_last(&number.to_be_bytes(), b"value");
        }
        let sum = |leaves: &Leaves| leaves.leaves.iter().map(|leaf| leaf.size()).sum::<usize>();
        assert_eq!(leaves.bytes(), sum(&leaves));
        assert!(leaves.bytes() < 100_000 * 80, "{} bytes", leaves.bytes());
        for number in 0..100_000_u64 {
            leaves.set(&number.to_be_bytes(), (number % 10 == 0).then_some(&b"another value"[..]));
        }
        assert_eq!((leaves.len(), leaves.bytes()), (10_000, sum(&leaves)));
        for number in (0..100_000_u64).rev() {
            leaves.set(&number.to_be_bytes(), None);
        }
        assert_eq!((leaves.len(), leaves.bytes(), leaves.leaves.len()), (0, 0, 0));
    }

    #[test]
    fn leaves_that_have_become_small_are_joined() {
        let mut leaves = Leaves::default();
        for number in 0..100_000_u64 {
            leaves.push_last(&number.to_be_bytes(), b"value");
        }
        let before = leaves.bytes();
        // In order, so that each leaf is beside a full one while it shrinks.
        for number in (0..100_000_u64).filter(|number| number % 10 != 0) {
            leaves.set(&number.to_be_bytes(), None);
        }
        let lens =
            |leaves: &Leaves| leaves.leaves.iter().map(|leaf| leaf.spans.len() as u8).collect::<Vec<_>>();
        assert_eq!(leaves.lens, lens(&leaves));
        let average = leaves.len() / leaves.leaves.len();
        assert!(average >= FEW_ROWS / 2, "{average} rows in a leaf");
        assert!(leaves.bytes() < before / 4, "{} bytes of {before}", leaves.bytes());
        let mut numbers = Vec::new();
        leaves.walk(&[], None, Direction::Forward, &mut |key, _| {
            numbers.push(u64::from_be_bytes(key.try_into().unwrap()));
            true
        });
        assert!(numbers.into_iter().eq((0..10_000).map(|number| number * 10)));
    }

    #[test]
    fn ranks_are_counted_over_any_number_of_leaves() {
        let key = |number: usize| (number as u64).to_be_bytes();
        let mut leaves = Leaves::default();
        (0..60_000).for_each(|number| leaves.push_last(&key(number), b""));
        // Leaves of different lengths.
        let is_left = |number: &usize| !number.is_multiple_of(7) && number / 500 % 3 != number % 3;
        for number in (0..60_000).filter(|number| !is_left(number)) {
            leaves.set(&key(number), None);
        }
        let left: Vec<usize> = (0..60_000).filter(is_left).collect();
        assert!(leaves.leaves.len() > 3 * LENS_AT_ONCE);
        for start in [0, 1, 777, 30_000, 59_999] {
            for end in [None, Some(start), Some(start + 1), Some(31_234), Some(60_000)] {
                let within: Vec<usize> =
                    left.iter().copied().filter(|n| *n >= start && end.is_none_or(|end| *n < end)).collect();
                let ranks = (0..within.len()).step_by(997).chain([within.len(), usize::MAX]);
                for rank in ranks {
                    let mut shown = None;
                    let (from, to) = (key(start), end.map(key));
                    let to = to.as_ref().map(|to| &to[..]);
                    let count = leaves.show_nth(&from, to, rank, &mut |key, _| shown = Some(key.to_vec()));
                    assert_eq!(shown, within.get(rank).map(|number| key(*number).to_vec()));
                    assert_eq!(count, shown.is_none().then_some(within.len()), "{start} {end:?} {rank}");
                }
            }
        }
    }

    #[test]
    fn every_row_is_drawn_alike() {
        const ROWS: u64 = 1000;
        let mut leaves = Leaves::default();
        for number in 0..8 * ROWS {
            leaves.push_last(&number.to_be_bytes(), b"");
        }
        // Leaves of different lengths.
        for number in (0..8 * ROWS).filter(|number| number % 8 != number / 1000) {
            leaves.set(&number.to_be_bytes(), None);
        }
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        let mut drawn = std::collections::HashMap::new();
        let draws = 200 * ROWS;
        for _ in 0..draws {
            let is_drawn =
                leaves.show_any(&mut draw, &mut |key, _| *drawn.entry(key.to_vec()).or_insert(0) += 1);
            assert!(is_drawn);
        }
        assert_eq!(drawn.len(), leaves.len());
        let expected = draws as f64 / leaves.len() as f64;
        let chi_square: f64 =
            drawn.values().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        // Its mean is the number of rows, its deviation the root of twice that.
        let rows = leaves.len() as f64;
        assert!((chi_square - rows).abs() < 5.0 * (2.0 * rows).sqrt(), "{chi_square} of {rows}");
    }
}
