//! Arguments in, reply out: one file per family. A command is a row of its family's table and a function; everything
//! else about it derives from the row.

pub mod bits;
pub mod string;

use crate::dispatch::spec::Spec;

/// Every family's table.
pub const FAMILIES: &[&[Spec]] = &[bits::COMMANDS, string::COMMANDS];
