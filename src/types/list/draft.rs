//! A whole new list, of any length.

use super::{KIND, MISSING};
use crate::encoding::DATA;
use crate::encoding::list::MIDDLE;
use crate::error::Result;
use crate::keyspace::build::Builder;
use crate::keyspace::{Entry, WriteCx};
use crate::types::collection::Collection;

/// A list in place of whatever its key holds, seen by nobody before it is finished. Memory holds a batch of it.
pub struct Draft<'a, 'k> {
    rows: Collection<'k>,
    build: Builder<'a>,
    next: u64,
}

impl<'a, 'k> Draft<'a, 'k> {
    /// `len` is how many elements there will be, about. Many of them are work for a worker.
    pub fn begin(cx: &mut WriteCx<'a>, found: Entry<'k>, len: u64) -> Result<Draft<'a, 'k>> {
        let build = Builder::begin(&cx.env, len)?;
        let rows = Collection::create(cx, found, KIND)?;
        Ok(Draft { rows, build, next: MIDDLE })
    }

    pub fn push(&mut self, cx: &mut WriteCx<'a>, value: &[u8]) -> Result<()> {
        let row = self.rows.sub_row(&self.next.to_be_bytes());
        self.build.put(cx, DATA, row, &[value])?;
        self.next = self.next.checked_add(1).ok_or(MISSING)?;
        Ok(())
    }

    /// Makes the key this list, with this expiry (0: none); an empty one is no key. Returns its length.
    pub fn finish(mut self, cx: &mut WriteCx<'a>, expire_at_ms: u64) -> Result<u64> {
        self.build.finish(cx)?;
        let len = self.next - MIDDLE;
        self.rows.resize(len);
        self.rows.set_own(&MIDDLE.to_be_bytes());
        self.rows.save_with_expiry(cx, expire_at_ms)?;
        Ok(len)
    }
}
