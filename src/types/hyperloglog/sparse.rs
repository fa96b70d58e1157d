//! Registers as runs of equal ranks. One or two bytes are a run:
//!
//! ```text
//! 00nnnnnn            n + 1 registers that are zero
//! 01nnnnnn nnnnnnnn   n + 1 registers that are zero
//! 1rrrrrnn            n + 1 registers of rank r + 1
//! ```
//!
//! Which runs a register's neighbours end up in depends on what was added before. The steps here are those of Redis, so
//! that the same commands give the same bytes.

use smallvec::SmallVec;

use super::{Corrupt, HEADER_LEN, REGISTERS};

/// The highest rank a run can have; a higher one needs the dense form.
pub const MAX_RANK: u8 = 32;
/// Registers in the longest run of each kind.
const MAX_VALUES: usize = 4;
const MAX_SHORT_ZEROS: usize = 64;
/// Runs that are looked at for two that make one, beginning with the one before the change.
const MERGE_STEPS: usize = 5;

/// The runs that one is split into.
type Split = SmallVec<[u8; 8]>;

/// All registers, zero.
pub const EMPTY: [u8; 2] = [0x7f, 0xff];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Zero or the rank of all of them.
    pub rank: u8,
    pub registers: usize,
    /// Bytes it takes.
    len: usize,
}

impl Run {
    /// The run that the bytes begin with.
    fn decode(bytes: &[u8]) -> Option<Run> {
        let first = *bytes.first()?;
        Some(match first >> 6 {
            0 => Run { rank: 0, registers: usize::from(first & 0x3f) + 1, len: 1 },
            1 => {
                let low = *bytes.get(1)?;
                Run { rank: 0, registers: (usize::from(first & 0x3f) << 8 | usize::from(low)) + 1, len: 2 }
            }
            _ => Run { rank: (first >> 2 & 0x1f) + 1, registers: usize::from(first & 3) + 1, len: 1 },
        })
    }
}

/// The byte of up to [`MAX_VALUES`] registers of a rank that is not zero.
fn values(rank: u8, registers: usize) -> u8 {
    0x80 | rank.wrapping_sub(1) << 2 | registers.wrapping_sub(1) as u8
}

/// Appends a run of any rank, if it has registers.
fn push(out: &mut Split, rank: u8, registers: usize) {
    let Some(number) = registers.checked_sub(1) else { return };
    if rank > 0 {
        out.push(values(rank, registers));
    } else if registers <= MAX_SHORT_ZEROS {
        out.push(number as u8);
    } else {
        out.push(0x40 | (number >> 8) as u8);
        out.push(number as u8);
    }
}

/// Shows every run. They must be those of all registers, with nothing behind them.
pub fn each(runs: &[u8], visit: &mut dyn FnMut(Run)) -> Result<(), Corrupt> {
    let (mut rest, mut seen) = (runs, 0);
    while !rest.is_empty() {
        let run = Run::decode(rest).ok_or(Corrupt)?;
        seen += run.registers;
        if seen > REGISTERS {
            return Err(Corrupt);
        }
        visit(run);
        rest = rest.get(run.len..).unwrap_or_default();
    }
    if seen == REGISTERS { Ok(()) } else { Err(Corrupt) }
}

/// Where the search for a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    at: usize,
    /// The first register of the run there.
    register: usize,
}

impl Cursor {
    pub const START: Cursor = Cursor { at: HEADER_LEN, register: 0 };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raised {
    Yes,
    No,
    /// The form is too small for it.
    DoesNotFit,
}

/// Raises a register of a whole value, which may grow to `max_len`. `from` is moved to where a search for a later register
/// may begin.
pub fn raise(
    value: &mut Vec<u8>,
    register: usize,
    rank: u8,
    max_len: usize,
    from: &mut Cursor,
) -> Result<Raised, Corrupt> {
    if rank > MAX_RANK {
        return Ok(Raised::DoesNotFit);
    }
    // The runs before the one that holds the register: what follows them is what may change.
    let (mut before, mut before_that) = (*from, *from);
    let mut here = *from;
    let run = loop {
        let run = Run::decode(value.get(here.at..).unwrap_or_default()).ok_or(Corrupt)?;
        if register < here.register + run.registers {
            break run;
        }
        (before_that, before) = (before, here);
        here = Cursor { at: here.at + run.len, register: here.register + run.registers };
    };
    *from = before_that;
    if run.rank >= rank {
        return Ok(Raised::No);
    }
    let mut split = Split::new();
    let first = register.saturating_sub(here.register);
    push(&mut split, run.rank, first);
    push(&mut split, rank, 1);
    push(&mut split, run.rank, run.registers - first - 1);
    if split.len() > run.len && value.len() + split.len() - run.len > max_len {
        return Ok(Raised::DoesNotFit);
    }
    value.splice(here.at..here.at + run.len, split);
    join(value, before.at);
    Ok(Raised::Yes)
}

/// Makes one of neighbours with the same rank, in the few runs from a place on.
fn join(value: &mut Vec<u8>, from: usize) {
    let mut at = from;
    for _ in 0..MERGE_STEPS {
        let Some(run) = Run::decode(value.get(at..).unwrap_or_default()) else { return };
        let next = Run::decode(value.get(at + run.len..).unwrap_or_default());
        match next {
            Some(next)
                if run.rank > 0 && next.rank == run.rank && run.registers + next.registers <= MAX_VALUES =>
            {
                if let Some(byte) = value.get_mut(at + 1) {
                    *byte = values(run.rank, run.registers + next.registers);
                }
                value.remove(at);
            }
            _ => at += run.len,
        }
    }
}

/// As PFDEBUG DECODE spells the runs.
pub fn spell(runs: &[u8]) -> Result<String, Corrupt> {
    let mut words = Vec::new();
    let mut rest = runs;
    while !rest.is_empty() {
        let run = Run::decode(rest).ok_or(Corrupt)?;
        words.push(match run {
            Run { rank: 0, registers, len: 1 } => format!("z:{registers}"),
            Run { rank: 0, registers, .. } => format!("Z:{registers}"),
            Run { rank, registers, .. } => format!("v:{rank},{registers}"),
        });
        rest = rest.get(run.len..).unwrap_or_default();
    }
    Ok(words.join(" "))
}
