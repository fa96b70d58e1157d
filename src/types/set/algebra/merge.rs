//! All members of several sets, each once.

use crate::error::Result;
use crate::keyspace::{Env, View};
use crate::types::collection::{self, Collection};

pub struct Merge {
    sets: collection::Merge,
    /// The sub-key that was shown last.
    last: Vec<u8>,
}

impl Merge {
    pub fn new(sets: &[Collection<'_>]) -> Merge {
        let walks = sets.iter().map(Collection::walk).collect();
        Merge { sets: collection::Merge::new(walks), last: Vec::new() }
    }

    pub fn is_of_many(&self) -> bool {
        self.sets.count() > 1
    }

    #[cfg(test)]
    pub fn walked(&self) -> u64 {
        self.sets.walked() as u64
    }

    pub fn next(&mut self, cx: &impl View) -> Result<Option<&[u8]>> {
        let Merge { sets, last } = self;
        cx.env().move_if_heavy(sets.walked(), Env::IO_THREAD_MAX_ROWS)?;
        let Some((_, head)) = sets.peek(cx)? else { return Ok(None) };
        last.clear();
        last.extend_from_slice(head.sub);
        while sets.peek(cx)?.is_some_and(|(_, head)| head.sub == last) {
            sets.skip(cx)?;
        }
        Ok(Some(last))
    }
}
