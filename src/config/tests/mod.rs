//! By concept, as the modules beside this folder.

mod args;
mod docs;
mod live;
mod load;
mod memory;
pub(crate) mod redis;
mod rewrite;
mod table;
mod values;
