//! Sorted sets.

mod algebra;
mod member;
mod range;
mod remove;
mod sets;
