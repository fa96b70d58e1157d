//! Cells of the grid.
//!
//! At step n the earth between 85 degrees south and north is cut into 2^n by 2^n cells. A cell's number has the bits of its
//! column and its row by turns, the column's first, so a cell's four parts at the next step follow each other.

/// The finest step: 52 bits, which a double holds.
pub const MAX_STEP: u32 = 26;
const SCORE_BITS: u32 = 2 * MAX_STEP;
pub const MAX_LON: f64 = 180.0;
/// The web's map of the earth ends there.
pub const MAX_LAT: f64 = 85.051_128_78;
/// What geohash strings reach to.
const POLE: f64 = 90.0;
/// Digits of geohash strings.
const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

/// Degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    pub lon: f64,
    pub lat: f64,
}

impl Position {
    /// Whether the grid has a cell for it.
    pub fn is_valid(&self) -> bool {
        (-MAX_LON..=MAX_LON).contains(&self.lon) && (-MAX_LAT..=MAX_LAT).contains(&self.lat)
    }

    pub fn score(&self) -> f64 {
        Cell::of(*self, MAX_STEP).bits() as f64
    }

    /// The middle of the cell that a score names. Every score names one, whatever a client has stored.
    pub fn of_score(score: f64) -> Position {
        let bits = to_bits(score);
        let cell = Cell { column: gather(bits >> 1), row: gather(bits), step: MAX_STEP };
        let Span { lon, lat } = cell.span();
        Position {
            lon: ((lon.0 + lon.1) / 2.0).clamp(-MAX_LON, MAX_LON),
            lat: ((lat.0 + lat.1) / 2.0).clamp(-MAX_LAT, MAX_LAT),
        }
    }

    /// As geohash.org writes it: eleven digits, the last always zero.
    pub fn geohash(&self) -> [u8; 11] {
        let bits = Cell::within(*self, MAX_STEP, POLE).bits();
        let mut text = *b"00000000000";
        for (i, digit) in (1..).zip(text.iter_mut().take(10)) {
            let index = bits >> (SCORE_BITS - 5 * i) & 0x1f;
            *digit = ALPHABET.get(index as usize).copied().unwrap_or(b'0');
        }
        text
    }
}

/// A score as an integer, as x86-64 converts it: below zero it goes round, and what is out of range becomes something.
fn to_bits(score: f64) -> u64 {
    const HALF: f64 = (1_u64 << 63) as f64;
    let signed = |score: f64| if (-HALF..HALF).contains(&score) { score as i64 } else { i64::MIN };
    if score < HALF { signed(score) as u64 } else { signed(score - HALF) as u64 ^ 1 << 63 }
}

/// From west to east and from south to north, degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    pub lon: (f64, f64),
    pub lat: (f64, f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    column: u32,
    row: u32,
    step: u32,
}

impl Cell {
    pub fn of(position: Position, step: u32) -> Cell {
        Cell::within(position, step, MAX_LAT)
    }

    /// In a grid that reaches to these latitudes. At the very end of it, row or column is one too high.
    fn within(Position { lon, lat }: Position, step: u32, max_lat: f64) -> Cell {
        let number = |at: f64, max: f64| ((at + max) / (2.0 * max) * (1_u64 << step) as f64) as u32;
        Cell { column: number(lon, MAX_LON), row: number(lat, max_lat), step }
    }

    /// Its number.
    fn bits(&self) -> u64 {
        spread(self.column) << 1 | spread(self.row)
    }

    /// The cell so many columns and rows away, -1, 0 or 1. The grid has no ends.
    pub fn neighbour(&self, columns: i32, rows: i32) -> Cell {
        let mask = (1_u32 << self.step) - 1;
        let moved = |at: u32, by: i32| if by == 0 { at } else { at.wrapping_add_signed(by) & mask };
        Cell { column: moved(self.column, columns), row: moved(self.row, rows), step: self.step }
    }

    pub fn span(&self) -> Span {
        let scale = (1_u64 << self.step) as f64;
        let side = |number: u32, max: f64| {
            let edge = |number: u32| -max + f64::from(number) / scale * (2.0 * max);
            (edge(number), edge(number.wrapping_add(1)))
        };
        Span { lon: side(self.column, MAX_LON), lat: side(self.row, MAX_LAT) }
    }

    /// The first score of the cell and the first one behind it.
    pub fn scores(&self) -> (f64, f64) {
        let (bits, shift) = (self.bits(), SCORE_BITS - 2 * self.step);
        ((bits << shift) as f64, ((bits + 1) << shift) as f64)
    }
}

/// The bits of a number with room for another's between them.
fn spread(number: u32) -> u64 {
    let mut bits = u64::from(number);
    for (shift, mask) in SPREAD {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

const SPREAD: [(u32, u64); 5] = [
    (16, 0x0000_ffff_0000_ffff),
    (8, 0x00ff_00ff_00ff_00ff),
    (4, 0x0f0f_0f0f_0f0f_0f0f),
    (2, 0x3333_3333_3333_3333),
    (1, 0x5555_5555_5555_5555),
];

/// Every other bit, beginning with the lowest.
fn gather(bits: u64) -> u32 {
    let mut bits = bits & 0x5555_5555_5555_5555;
    for (shift, mask) in GATHER {
        bits = (bits | bits >> shift) & mask;
    }
    bits as u32
}

const GATHER: [(u32, u64); 5] = [
    (1, 0x3333_3333_3333_3333),
    (2, 0x0f0f_0f0f_0f0f_0f0f),
    (4, 0x00ff_00ff_00ff_00ff),
    (8, 0x0000_ffff_0000_ffff),
    (16, 0x0000_0000_ffff_ffff),
];
