//! The libraries of functions on record: a row for each, from its name to its code.

use std::ops::ControlFlow;

use tarn_engine::{Direction, Range, Read};

use super::context::{View as _, WriteCx};
use crate::encoding::{SYSTEM, system};
use crate::error::Result;

/// The code of all of them.
pub fn load(read: &impl Read) -> Result<Vec<Box<[u8]>>> {
    let (start, end) = system::all_libraries();
    let range = Range { start: &start, end: &end };
    let mut found = Vec::new();
    read.scan(SYSTEM, range, Direction::Forward, usize::MAX, &mut |_, code| {
        found.push(code.into());
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Another number with each change of them, where several nodes may make one; 0 elsewhere, and before the first.
pub fn stamp(read: &impl Read) -> Result<u64> {
    let mut value = Vec::new();
    Ok(if read.get(SYSTEM, &system::library_stamp(), &mut value)? { system::read_u64(&value)? } else { 0 })
}

/// Puts the stamp of the next change. False where another node has made one since this was known. Nothing where no other can.
pub fn advance(cx: &mut WriteCx<'_>, known: u64, next: u64) -> Result<bool> {
    if known == next {
        return Ok(true);
    }
    let row = system::library_stamp();
    let found = match cx.get(SYSTEM, &row)? {
        Some(span) => system::read_u64(cx.bytes(span))?,
        None => 0,
    };
    if found == known {
        cx.put(SYSTEM, &row, &[&next.to_be_bytes()]);
    }
    Ok(found == known)
}

pub fn put(cx: &mut WriteCx<'_>, name: &str, code: &[u8]) {
    cx.put(SYSTEM, &system::library(name), &[code]);
}

pub fn remove(cx: &mut WriteCx<'_>, name: &str) {
    cx.delete(SYSTEM, &system::library(name));
}
