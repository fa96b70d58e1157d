//! All members of several sets, each once.

use crate::error::Result;
use crate::keyspace::{Env, View};
use crate::types::collection::{Collection, Walk};

/// Walks over several sets, the one with the least head first: a heap of their numbers.
pub struct Merge {
    walks: Vec<Walk>,
    heap: Vec<usize>,
    begun: bool,
    /// The sub-key that was shown last.
    last: Vec<u8>,
    walked: usize,
}

impl Merge {
    pub fn new(sets: &[Collection<'_>]) -> Merge {
        let walks: Vec<Walk> = sets.iter().map(Collection::walk).collect();
        Merge { heap: Vec::with_capacity(walks.len()), walks, begun: false, last: Vec::new(), walked: 0 }
    }

    pub fn is_of_many(&self) -> bool {
        self.walks.len() > 1
    }

    #[cfg(test)]
    pub fn walked(&self) -> u64 {
        self.walked as u64
    }

    pub fn next(&mut self, cx: &impl View) -> Result<Option<&[u8]>> {
        if !self.begun {
            self.begin(cx)?;
        }
        cx.env().light_or_offload(self.walked, Env::LIGHT_ROWS)?;
        let mut last = std::mem::take(&mut self.last);
        last.clear();
        let Some(head) = self.head(0) else { return Ok(None) };
        last.extend_from_slice(head);
        self.last = last;
        while self.head(0).is_some_and(|head| head == self.last) {
            self.advance(cx)?;
        }
        Ok(Some(&self.last))
    }

    fn begin(&mut self, cx: &impl View) -> Result<()> {
        self.begun = true;
        for (number, walk) in self.walks.iter_mut().enumerate() {
            if walk.peek(cx)?.is_some() {
                self.heap.push(number);
            }
        }
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
        Ok(())
    }

    /// Moves the walk with the least head on by one member.
    fn advance(&mut self, cx: &impl View) -> Result<()> {
        let Some(walk) = self.heap.first().and_then(|number| self.walks.get_mut(*number)) else {
            return Ok(());
        };
        walk.skip();
        self.walked += 1;
        if walk.peek(cx)?.is_none() {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    /// The head of the walk at a place of the heap.
    fn head(&self, at: usize) -> Option<&[u8]> {
        let walk = self.heap.get(at).and_then(|number| self.walks.get(*number))?;
        walk.head().map(|element| element.sub)
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if let (Some(head), Some(other)) = (self.head(child), self.head(least))
                    && head < other
                {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }
}
