//! The real client against the double.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bank;
mod basics;
mod conflicts;
mod harness;
mod limits;
mod locks;
mod outcomes;
mod program;
mod regions;
