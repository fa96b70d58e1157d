//! Several walks at once, the one with the least head first.

use std::cmp::Ordering;

use super::{Element, Walk};
use crate::error::Result;
use crate::keyspace::View;

/// A heap of walks by their heads. Of walks that stand before the same sub-key, the one that was given first comes first.
#[derive(Debug)]
pub struct Merge {
    walks: Vec<Walk>,
    /// Numbers of the walks that have not ended.
    heap: Vec<usize>,
    begun: bool,
    walked: usize,
}

impl Merge {
    pub fn new(walks: Vec<Walk>) -> Merge {
        Merge { heap: Vec::with_capacity(walks.len()), walks, begun: false, walked: 0 }
    }

    /// How many walks there are, ended or not.
    pub fn count(&self) -> usize {
        self.walks.len()
    }

    /// Elements that were stepped over.
    pub fn walked(&self) -> usize {
        self.walked
    }

    /// The number of the walk with the least head, and the head.
    pub fn peek(&mut self, cx: &impl View) -> Result<Option<(usize, Element<'_>)>> {
        if !self.begun {
            self.begin(cx)?;
        }
        let Some(number) = self.heap.first().copied() else { return Ok(None) };
        Ok(self.walks.get(number).and_then(Walk::head).map(|head| (number, head)))
    }

    /// Steps over the element that was peeked at.
    pub fn skip(&mut self, cx: &impl View) -> Result<()> {
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

    /// What the walk at a place of the heap is sorted by.
    fn order(&self, at: usize) -> Option<(&[u8], usize)> {
        let number = *self.heap.get(at)?;
        let head = self.walks.get(number).and_then(Walk::head)?;
        Some((head.sub, number))
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if let (Some(one), Some(other)) = (self.order(child), self.order(least))
                    && one.cmp(&other) == Ordering::Less
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
