//! Which ranges of the sorted data are so full of garbage that they are worth rewriting.
//!
//! The engine says how many bytes and rows its files have and where they begin and end; what is dead is known by stripe.
//! Files are taken to be spread evenly over the stripes they reach; neighbouring stripes make a [`Cell`] as large as
//! a few files, which is compacted when a fifth of it is garbage. So the disk holds little more than a quarter more
//! than what lives, and a byte of garbage costs the rewriting of four others.

use std::collections::BTreeMap;

use tarn_engine::Part;

use crate::encoding::rows::{self, RowKey};
use crate::keyspace::{STRIPES, first_slot, stripe_of};

/// Stripes are joined up to this size.
pub const CELL_BYTES: u64 = 32 << 20;
/// One part in so many must be garbage.
const DUE_SHARE: u64 = 5;
/// As [`DUE_SHARE`], where the disk has no room to spare.
pub const TIGHT_SHARE: u64 = 8;
/// What a deletion takes, at most: there is no value in it.
const DELETION_BYTES: u64 = 64;
/// Less garbage is not worth a compaction.
pub const DUE_BYTES: u64 = 1 << 20;

/// Neighbouring stripes of a physical database, in one space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub db: u32,
    pub stripes: std::ops::Range<usize>,
    pub bytes: u64,
    pub rows: u64,
    /// Rows of dead collections, deletions, and what these delete: about.
    pub dead_rows: u64,
    /// Those of `rows` that are deletions.
    pub deletions: u64,
}

impl Cell {
    /// As [`Cell::dead_bytes`], told apart what deletions take and what they delete, which is much more where values are long.
    pub fn freed_bytes(&self) -> u64 {
        let deletions = self.deletions.min(self.rows);
        let own = (self.bytes / self.rows.max(1)).min(DELETION_BYTES) * deletions;
        let others = self.rows - deletions;
        let dead = self.dead_rows.saturating_sub(deletions).min(others);
        let deleted = u128::from(self.bytes - own) * u128::from(dead) / u128::from(others.max(1));
        own + deleted as u64
    }

    /// As [`Cell::is_due`], where the disk has no room to spare.
    pub fn is_due_soon(&self) -> bool {
        self.freed_bytes() >= DUE_BYTES && self.freed_bytes().saturating_mul(TIGHT_SHARE) >= self.bytes
    }

    pub fn dead_bytes(&self) -> u64 {
        let dead = u128::from(self.dead_rows.min(self.rows));
        (u128::from(self.bytes) * dead / u128::from(self.rows.max(1))) as u64
    }

    pub fn is_due(&self) -> bool {
        self.dead_bytes() >= DUE_BYTES && self.dead_bytes().saturating_mul(DUE_SHARE) >= self.bytes
    }

    /// The first key of its rows and the key behind the last.
    pub fn range(&self) -> (RowKey, RowKey) {
        let slot = |stripe: usize| first_slot(stripe.min(STRIPES) as u16);
        rows::slots(self.db, slot(self.stripes.start)..slot(self.stripes.end))
    }
}

/// What is stored in a stripe, about.
#[derive(Debug, Clone, Copy, Default)]
struct Stored {
    bytes: f64,
    rows: f64,
    deletions: f64,
}

/// The cells of these databases, ascending; `dead` is what is known of dead collections.
pub fn cells(parts: &[Part], databases: &[u32], dead: &BTreeMap<u32, Vec<u64>>) -> Vec<Cell> {
    let mut stored = vec![Stored::default(); databases.len() * STRIPES];
    for part in parts {
        let (Some(first), Some(last)) = (place(&part.first), place(&part.last)) else { continue };
        let (first, last) = (index(databases, first, false), index(databases, last, true));
        let Some(reach) = stored.get_mut(first..last).filter(|reach| !reach.is_empty()) else { continue };
        let share = 1.0 / reach.len() as f64;
        for stripe in reach {
            stripe.bytes += part.bytes as f64 * share;
            stripe.rows += part.rows as f64 * share;
            stripe.deletions += part.deletions as f64 * share;
        }
    }
    let mut cells = Vec::new();
    for (db, stripes) in databases.iter().zip(stored.chunks(STRIPES)) {
        let dead = dead.get(db).map_or(&[][..], Vec::as_slice);
        join(*db, stripes, dead, &mut cells);
    }
    cells
}

fn join(db: u32, stored: &[Stored], dead: &[u64], cells: &mut Vec<Cell>) {
    let mut start = 0;
    let (mut sum, mut dead_rows) = (Stored::default(), 0);
    for (stripe, here) in stored.iter().enumerate() {
        sum.bytes += here.bytes;
        sum.rows += here.rows;
        sum.deletions += here.deletions;
        dead_rows += dead.get(stripe).copied().unwrap_or(0);
        if sum.bytes >= CELL_BYTES as f64 || stripe + 1 == stored.len() {
            cells.push(Cell {
                db,
                stripes: start..stripe + 1,
                bytes: sum.bytes.round() as u64,
                rows: sum.rows.round() as u64,
                // A deletion and the row that it deletes.
                dead_rows: dead_rows + (sum.deletions * 2.0).round() as u64,
                deletions: sum.deletions.round() as u64,
            });
            start = stripe + 1;
            (sum, dead_rows) = (Stored::default(), 0);
        }
    }
}

fn place(key: &[u8]) -> Option<(u32, u16)> {
    rows::read_place(key).ok()
}

/// Among the stripes of all databases: that of a key, or the one behind it. Other databases' keys are between.
fn index(databases: &[u32], (db, slot): (u32, u16), behind: bool) -> usize {
    match databases.binary_search(&db) {
        Ok(at) => at * STRIPES + usize::from(stripe_of(slot)) + usize::from(behind),
        Err(at) => at * STRIPES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: (u32, u16), last: (u32, u16), bytes: u64, rows: u64) -> Part {
        let key = |(db, stripe)| rows::collection(db, first_slot(stripe), b"k", 1).to_vec();
        Part { first: key(first), last: key(last), bytes, rows, deletions: 0 }
    }

    fn dead(db: u32, stripe: usize, rows: u64) -> BTreeMap<u32, Vec<u64>> {
        let mut stripes = vec![0; STRIPES];
        stripes[stripe] = rows;
        BTreeMap::from([(db, stripes)])
    }

    #[test]
    fn little_is_one_cell_and_much_is_cut() {
        let few = cells(&[part((0, 0), (0, 255), 3000, 30)], &[0, 5], &dead(0, 7, 15));
        assert_eq!(
            few[0],
            Cell { db: 0, stripes: 0..256, bytes: 3000, rows: 30, dead_rows: 15, deletions: 0 }
        );
        assert_eq!((few.len(), few[1].bytes, few[1].db), (2, 0, 5));
        assert_eq!(few[0].dead_bytes(), 1500);
        assert!(!few[0].is_due(), "not worth it");

        let much = cells(&[part((0, 0), (0, 255), 8 * CELL_BYTES, 8000)], &[0], &dead(0, 40, 500));
        assert_eq!(much.len(), 8);
        assert!(much.iter().all(|cell| cell.bytes == CELL_BYTES && cell.stripes.len() == 32));
        let due: Vec<_> = much.iter().filter(|cell| cell.is_due()).collect();
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].stripes, 32..64);
        assert_eq!(due[0].range(), rows::slots(0, 2048..4096));
    }

    #[test]
    fn a_fifth_is_due() {
        let cell = |dead_rows| Cell {
            db: 0,
            stripes: 0..1,
            bytes: 5 * DUE_BYTES,
            rows: 100,
            dead_rows,
            deletions: 0,
        };
        assert!(cell(20).is_due() && !cell(19).is_due());
        let wide = |dead_rows| Cell { bytes: 8 * DUE_BYTES, rows: 1000, ..cell(dead_rows) };
        assert!(wide(125).is_due_soon() && !wide(124).is_due_soon());
        assert!(cell(u64::MAX).is_due());
        assert_eq!(cell(u64::MAX).dead_bytes(), 5 * DUE_BYTES, "no more than there is");
        let small = Cell { bytes: DUE_BYTES - 1, ..cell(100) };
        assert!(!small.is_due());
    }

    #[test]
    fn what_is_deleted_is_longer_than_its_deletion() {
        // 900 values of 1000 bytes, and 100 deletions.
        let long = Cell { db: 0, stripes: 0..1, bytes: 906_400, rows: 1000, dead_rows: 200, deletions: 100 };
        assert_eq!(long.freed_bytes(), 100 * 1064);
        // Where all rows are as short as a deletion, each counts alike.
        let short = Cell { bytes: 20_000, ..long.clone() };
        assert_eq!((short.freed_bytes(), short.dead_bytes()), (4000, 4000));
        let all = Cell { dead_rows: u64::MAX, deletions: u64::MAX, ..long };
        assert!(all.freed_bytes() <= all.bytes);
    }

    #[test]
    fn files_reach_over_databases() {
        // Database 4 is of nobody: its rows are among those of the others.
        let parts =
            [part((3, 255), (5, 0), 2000, 20), part((4, 0), (4, 9), 999, 9), part((7, 0), (9, 1), 50, 5)];
        let cells = cells(&parts, &[3, 5], &BTreeMap::new());
        let bytes: Vec<_> = cells.iter().map(|cell| (cell.db, cell.bytes)).collect();
        assert_eq!(bytes, [(3, 1000), (5, 1000)]);
    }

    #[test]
    fn deletions_count_with_what_they_delete() {
        let deletes = Part { deletions: 10, ..part((0, 0), (0, 0), 10, 30) };
        assert_eq!(cells(&[deletes], &[0], &BTreeMap::new())[0].dead_rows, 20);
    }

    #[test]
    fn keys_that_are_none_are_passed_over() {
        let odd = Part { first: vec![1], last: vec![], bytes: 9, rows: 1, deletions: 0 };
        assert_eq!(cells(&[odd], &[0], &BTreeMap::new())[0].bytes, 0);
    }
}
