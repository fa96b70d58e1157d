//! The libraries of functions on record: a row for each, from its name to its code.

use std::ops::ControlFlow;

use super::context::{View, WriteCx};
use crate::encoding::{SYSTEM, system};
use crate::error::Result;

/// The code of all of them.
pub fn load(cx: &impl View) -> Result<Vec<Box<[u8]>>> {
    let (start, end) = system::all_libraries();
    let mut found = Vec::new();
    cx.scan_each(SYSTEM, &start, &end, usize::MAX, &mut |_, code| {
        found.push(code.into());
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

pub fn put(cx: &mut WriteCx<'_>, name: &str, code: &[u8]) {
    cx.put(SYSTEM, &system::library(name), &[code]);
}

pub fn remove(cx: &mut WriteCx<'_>, name: &str) {
    cx.delete(SYSTEM, &system::library(name));
}
