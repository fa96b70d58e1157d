//! The members of one set that all others have, or that none of them has.
//!
//! The set is walked in steps; what a step brought goes through one other set after the other. Each of them is either
//! walked too, from member to member, or read member by member: whichever is less work for what is left of the step.
//! Members are spread evenly over their order, so the rows that a set has beside a step follow from the sizes.

use crate::encoding::DATA;
use crate::error::Result;
use crate::keyspace::{Env, View};
use crate::types::collection::{Collection, Walk};

pub struct Sieve<'k> {
    walk: Walk,
    size: u64,
    others: Vec<Other<'k>>,
    /// Whether members pass that the others have, or those that they have not.
    has: bool,
    rows_per_read: u64,
    step: Step,
    /// The next member of the step.
    at: usize,
    /// Rows, and reads counted in rows.
    walked: u64,
    /// Nothing that passes is behind the step.
    ended: bool,
}

struct Other<'k> {
    set: Collection<'k>,
    walk: Walk,
}

impl<'k> Sieve<'k> {
    pub fn new(
        set: &Collection<'_>,
        others: Vec<Collection<'k>>,
        has: bool,
        rows_per_read: u64,
    ) -> Sieve<'k> {
        let others = others.into_iter().map(|set| Other { walk: set.walk(), set }).collect();
        Sieve {
            walk: set.walk(),
            size: set.size(),
            others,
            has,
            rows_per_read,
            step: Step::default(),
            at: 0,
            walked: 0,
            ended: false,
        }
    }

    pub fn at_most(&self) -> u64 {
        self.size
    }

    /// Never less than what [`Sieve::next`] comes to in the end.
    pub fn work(&self) -> u64 {
        let reads = self.size.saturating_mul(self.rows_per_read);
        self.others.iter().fold(self.size, |sum, other| sum.saturating_add(reads.min(other.set.size())))
    }

    #[cfg(test)]
    pub fn walked(&self) -> u64 {
        self.walked
    }

    pub fn next(&mut self, cx: &impl View) -> Result<Option<&[u8]>> {
        while self.at >= self.step.places.len() {
            if self.ended {
                return Ok(None);
            }
            self.fill(cx)?;
        }
        let at = self.at;
        self.at += 1;
        Ok(self.step.get(at))
    }

    /// Takes the next step and puts it through the others.
    fn fill(&mut self, cx: &impl View) -> Result<()> {
        let walked = usize::try_from(self.walked).unwrap_or(usize::MAX);
        cx.env().move_if_heavy(walked, Env::IO_THREAD_MAX_ROWS)?;
        self.at = 0;
        self.step.clear();
        self.ended = self.walk.peek(cx)?.is_none();
        while let Some(element) = self.walk.head() {
            self.step.push(element.sub);
            self.walk.skip();
        }
        let taken = self.step.places.len() as u64;
        self.walked += taken;
        for other in &mut self.others {
            let left = self.step.places.len() as u64;
            if left == 0 {
                break;
            }
            let beside = u128::from(other.set.size()) * u128::from(taken) / u128::from(self.size.max(1));
            let reads = u128::from(left) * u128::from(self.rows_per_read);
            if reads < beside {
                self.walked += reads as u64;
                self.step.read(cx, &other.set, self.has)?;
            } else {
                self.walked += beside as u64;
                // Where an intersection has come to the end of one set, it has come to its own.
                let ended = self.step.walk(cx, &mut other.walk, self.has)?;
                self.ended |= ended && self.has;
            }
        }
        Ok(())
    }
}

/// Sub-keys of one step, one behind the other.
#[derive(Default)]
struct Step {
    bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl Step {
    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    fn push(&mut self, sub: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(sub);
        self.places.push((start, self.bytes.len()));
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        self.places.get(at).and_then(|(start, end)| self.bytes.get(*start..*end))
    }

    /// Keeps what the set has, or has not, by walking it; whether the walk has come to its end.
    fn walk(&mut self, cx: &impl View, walk: &mut Walk, has: bool) -> Result<bool> {
        let Step { bytes, places } = self;
        let mut kept = 0;
        let mut ended = false;
        for at in 0..places.len() {
            let Some(&(start, end)) = places.get(at) else { break };
            let sub = bytes.get(start..end).unwrap_or_default();
            walk.seek(sub);
            let head = walk.peek(cx)?;
            ended = head.is_none();
            if head.is_some_and(|head| head.sub == sub) == has {
                places.swap(kept, at);
                kept += 1;
            }
        }
        places.truncate(kept);
        Ok(ended)
    }

    /// Keeps what the set has, or has not, by reading its rows.
    fn read(&mut self, cx: &impl View, set: &Collection<'_>, has: bool) -> Result<()> {
        let prefix = set.prefix();
        let mut rows = Vec::with_capacity(self.bytes.len() + self.places.len() * prefix.len());
        for (start, end) in &self.places {
            rows.extend_from_slice(prefix);
            rows.extend_from_slice(self.bytes.get(*start..*end).unwrap_or_default());
        }
        let mut rest = rows.as_slice();
        let mut keys = Vec::with_capacity(self.places.len());
        for (start, end) in &self.places {
            let (key, behind) = rest.split_at_checked(prefix.len() + end - start).unwrap_or_default();
            keys.push(key);
            rest = behind;
        }
        let places = &mut self.places;
        let mut kept = 0;
        cx.get_each(DATA, &keys, &mut |at, value| {
            if value.is_some() == has && at < places.len() {
                places.swap(kept, at);
                kept += 1;
            }
        })?;
        self.places.truncate(kept);
        Ok(())
    }
}
