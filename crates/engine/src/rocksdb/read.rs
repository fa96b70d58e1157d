//! Point reads: tables, row cache, sorted data.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::hash::RowHash;
use super::shard::Found;
use super::transaction::TxBuffer;
use super::{Inner, LOOK_AHEAD};
use crate::{Result, Space, Wait, copy_part};

/// Keys read together where waiting is allowed, so that the values of a long list are not all held at a time.
const KEYS_PER_STEP: usize = 256;

impl Inner {
    #[inline]
    pub(super) fn get(
        &self,
        space: Space,
        key: &[u8],
        hash: &RowHash,
        wait: Wait,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        self.check_open()?;
        let index = hash.shard();
        let generation = {
            let shard = self.shards.read(index)?;
            match shard.find(space.0, key, hash) {
                Found::Value(value) => {
                    out.extend_from_slice(value);
                    return Ok(true);
                }
                Found::Absent => return Ok(false),
                Found::Unknown => shard.generation,
            }
        };
        self.get_sorted(space, key, hash, wait, generation, out)
    }

    /// As [`Inner::get`], of a part of the value. What is not in memory is read as a whole.
    pub(super) fn get_part(
        &self,
        space: Space,
        key: &[u8],
        hash: &RowHash,
        wait: Wait,
        at: usize,
        out: &mut [u8],
    ) -> Result<bool> {
        self.check_open()?;
        match self.shards.read(hash.shard())?.find(space.0, key, hash) {
            Found::Value(value) => {
                copy_part(value, at, out);
                return Ok(true);
            }
            Found::Absent => return Ok(false),
            Found::Unknown => {}
        }
        let mut value = Vec::new();
        let is_there = self.get(space, key, hash, wait, &mut value)?;
        copy_part(&value, at, out);
        Ok(is_there)
    }

    fn get_sorted(
        &self,
        space: Space,
        key: &[u8],
        hash: &RowHash,
        wait: Wait,
        generation: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        self.check_open()?;
        if !self.store.may_have(space) {
            return Ok(false);
        }
        let value = self.store.get(space, key, self.store.read_options(wait))?;
        // What is not in memory is asked for again by somebody who may wait, and counts then.
        self.cache_misses.fetch_add(1, Ordering::Relaxed);
        self.fill(space, key, hash, value.as_deref(), generation)?;
        if let Some(value) = &value {
            out.extend_from_slice(value);
        }
        Ok(value.is_some())
    }

    /// Caches what was read from the sorted data, unless that may have changed since.
    fn fill(
        &self,
        space: Space,
        key: &[u8],
        hash: &RowHash,
        value: Option<&[u8]>,
        generation: u64,
    ) -> Result<()> {
        {
            let mut shard = self.shards.write(hash.shard())?;
            if shard.generation != generation || shard.groups.holds(space.0, key, hash) {
                return Ok(());
            }
            shard.cache.set(space.0, key, hash, value, &self.shards.budget);
        }
        self.shards.evict();
        Ok(())
    }

    pub(super) fn get_many(
        &self,
        space: Space,
        keys: &[&[u8]],
        wait: Wait,
        own: Option<&TxBuffer>,
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        // Without waiting nothing may be shown before all of it is known to be resident.
        let step = if wait == Wait::Never { keys.len().max(1) } else { KEYS_PER_STEP };
        let mut bytes = Vec::new();
        for (number, part) in keys.chunks(step).enumerate() {
            bytes.clear();
            self.get_step(space, part, wait, own, &mut bytes, &mut |index, value| {
                each(number * step + index, value);
            })?;
        }
        Ok(())
    }

    fn get_step(
        &self,
        space: Space,
        keys: &[&[u8]],
        wait: Wait,
        own: Option<&TxBuffer>,
        bytes: &mut Vec<u8>,
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let def = self.def(space)?;
        // Where each value stands in `bytes`.
        let mut found: Vec<Option<std::ops::Range<usize>>> = Vec::with_capacity(keys.len());
        let mut missing: SmallVec<[Missing; 8]> = SmallVec::new();
        let hashes: SmallVec<[RowHash; LOOK_AHEAD]> =
            keys.iter().map(|key| self.hasher.row(def, space, key)).collect();
        if hashes.len() > 1 {
            hashes.iter().take(LOOK_AHEAD).for_each(|hash| self.shards.prefetch_slot(hash.group, hash.key));
        }
        for (index, (key, hash)) in keys.iter().zip(&hashes).enumerate() {
            // A later row is prefetched in two steps: the slot at which the search begins, then the row.
            if let Some(later) = hashes.get(index + LOOK_AHEAD) {
                self.shards.prefetch_slot(later.group, later.key);
            }
            if let Some(later) = hashes.get(index + LOOK_AHEAD / 2) {
                self.shards.prefetch_row(later);
            }
            let start = bytes.len();
            let known = match own.and_then(|own| own.get(space.0, key, hash)) {
                Some(value) => {
                    bytes.extend_from_slice(value.unwrap_or_default());
                    Some(value.is_some())
                }
                None => {
                    let shard = self.shards.read(hash.shard())?;
                    match shard.find(space.0, key, hash) {
                        Found::Value(value) => {
                            bytes.extend_from_slice(value);
                            Some(true)
                        }
                        Found::Absent => Some(false),
                        Found::Unknown => {
                            missing.push(Missing { index, hash: *hash, generation: shard.generation });
                            None
                        }
                    }
                }
            };
            found.push((known == Some(true)).then_some(start..bytes.len()));
        }
        if !missing.is_empty() && self.store.may_have(space) {
            self.check_open()?;
            let wanted: Vec<&[u8]> =
                missing.iter().filter_map(|missing| keys.get(missing.index).copied()).collect();
            let values = self.store.get_many(space, &wanted, self.store.read_options(wait))?;
            self.cache_misses.fetch_add(missing.len() as u64, Ordering::Relaxed);
            for ((missing, key), value) in missing.iter().zip(&wanted).zip(values) {
                self.fill(space, key, &missing.hash, value.as_deref(), missing.generation)?;
                if let (Some(value), Some(place)) = (value, found.get_mut(missing.index)) {
                    let start = bytes.len();
                    bytes.extend_from_slice(&value);
                    *place = Some(start..bytes.len());
                }
            }
        }
        for (index, place) in found.into_iter().enumerate() {
            each(index, place.and_then(|place| bytes.get(place)));
        }
        Ok(())
    }
}

struct Missing {
    index: usize,
    hash: RowHash,
    generation: u64,
}
