//! What an engine is told of rows that will be read soon.

use crate::Groups;

/// What [`Engine::hint_row`](crate::Engine::hint_row) was told of, in the engine's own terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hint(pub(crate) Hinted);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Hinted {
    #[default]
    Nothing,
    Row(RowHash),
    /// A group, by its hash.
    Group(u64),
}

/// A row's hashes and the length of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHash {
    pub group: u64,
    pub key: u64,
    pub group_len: usize,
    pub groups: Groups,
}
