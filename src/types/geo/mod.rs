//! Places on the earth, as members of sorted sets.
//!
//! The score of a place is its cell in a grid of 2^26 by 2^26, as an integer of 52 bits, so that what is near on the earth is
//! mostly near in the order of scores. All arithmetic is done as Redis does it, step by step, since every step rounds.
//!
//! * [`grid`]: cells and their numbers;
//! * [`area`]: what is searched, and what lies in it;
//! * [`cover`]: the few cells that an area lies in;
//! * [`finder`]: walking their members;
//! * [`points`]: what was found.

pub mod area;
mod cover;
pub mod finder;
pub mod grid;
pub mod points;

#[cfg(test)]
mod tests;

pub use area::{Area, Shape, distance_m};
pub use finder::Finder;
pub use grid::Position;
pub use points::{Order, Point, Points};
