//! Sorted sets.

mod algebra;
mod big;
mod member;
mod range;
mod remove;
mod sets;
