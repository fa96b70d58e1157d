//! Rows in chunks of bytes, addressed by 32 bits.
//!
//! ```text
//! row  next in group 4 | key length 4 | value length 4 | room for the value 4 | group length 4 | space 1 | flags 1 | depth 2 | key | value
//! ```
//!
//! Rows never move and are never freed alone; the arena goes as a whole.

// Addresses are made here, for rows that stay where they are; a checked access on each read would cost more than
// the read.
#![allow(clippy::indexing_slicing)]

use super::super::field::u32_at;
use super::super::hash::prefetch_row;

/// A row begins at a multiple of this.
const UNIT: usize = 8;
const CHUNK_BYTES: usize = 64 << 10;
const FIRST_CHUNK_BYTES: usize = 1 << 10;
/// A row from this size on gets a chunk of its own.
const LARGE_ROW_BYTES: usize = 16 << 10;
const OFFSET_BITS: u32 = (CHUNK_BYTES / UNIT).trailing_zeros();
pub const ROW_HEADER: usize = 24;

const TOMBSTONE: u8 = 1;
/// Replaced by a longer row; stays in the chain of its group.
const DEAD: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowAt(pub u32);

impl RowAt {
    pub const NONE: RowAt = RowAt(u32::MAX);
}

#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub space: u8,
    pub key: &'a [u8],
    /// None is a tombstone.
    pub value: Option<&'a [u8]>,
    pub group_len: usize,
    pub next: RowAt,
    pub is_dead: bool,
}

impl<'a> Row<'a> {
    pub fn is_in(&self, space: u8, group: &[u8]) -> bool {
        self.space == space && self.group_len == group.len() && self.key.starts_with(group)
    }
}

/// What a new row is made of.
#[derive(Clone, Copy)]
pub struct NewRow<'a> {
    pub space: u8,
    pub key: &'a [u8],
    pub value: Option<&'a [u8]>,
    pub group_len: usize,
    /// Spare bytes behind the value, for later longer ones.
    pub slack: usize,
    /// Rows of its chain up to this one, where they are counted.
    pub depth: u16,
}

#[derive(Default)]
pub struct Arena {
    chunks: Vec<Vec<u8>>,
    /// Where small rows are being added.
    current: usize,
}

impl Arena {
    #[inline(always)]
    fn bytes_at(&self, at: RowAt) -> &[u8] {
        let chunk = &self.chunks[(at.0 >> OFFSET_BITS) as usize];
        &chunk[(at.0 as usize & (CHUNK_BYTES / UNIT - 1)) * UNIT..]
    }

    #[inline(always)]
    pub fn prefetch(&self, at: RowAt) {
        prefetch_row(self.bytes_at(at));
    }

    #[inline]
    fn bytes_at_mut(&mut self, at: RowAt) -> &mut [u8] {
        let chunk = &mut self.chunks[(at.0 >> OFFSET_BITS) as usize];
        &mut chunk[(at.0 as usize & (CHUNK_BYTES / UNIT - 1)) * UNIT..]
    }

    #[inline(always)]
    pub fn row(&self, at: RowAt) -> Row<'_> {
        let bytes = self.bytes_at(at);
        let (header, rest) = bytes.split_at(ROW_HEADER);
        let key_len = u32_at(header, 4).unwrap_or_default() as usize;
        let value_len = u32_at(header, 8).unwrap_or_default() as usize;
        let (key, rest) = rest.split_at(key_len);
        let flags = header[21];
        Row {
            space: header[20],
            key,
            value: (flags & TOMBSTONE == 0).then(|| &rest[..value_len]),
            group_len: u32_at(header, 16).unwrap_or_default() as usize,
            next: RowAt(u32_at(header, 0).unwrap_or_default()),
            is_dead: flags & DEAD != 0,
        }
    }

    /// What its chunks take, with the room that is left in them.
    pub fn allocated_bytes(&self) -> usize {
        self.chunks.iter().map(Vec::capacity).sum()
    }

    /// All rows that are not dead, in the order of their bytes.
    pub fn iter(&self) -> impl Iterator<Item = (RowAt, Row<'_>)> {
        self.chunks.iter().enumerate().flat_map(move |(index, chunk)| {
            let mut start = 0;
            std::iter::from_fn(move || {
                while start < chunk.len() {
                    let at = RowAt(((index as u32) << OFFSET_BITS) | (start / UNIT) as u32);
                    let row = self.row(at);
                    let room = u32_at(&chunk[start..], 12).unwrap_or_default() as usize;
                    start += ROW_HEADER + row.key.len() + room;
                    if !row.is_dead {
                        return Some((at, row));
                    }
                }
                None
            })
        })
    }

    #[inline]
    pub fn depth(&self, at: RowAt) -> u16 {
        let bytes = self.bytes_at(at);
        u16::from_be_bytes([bytes[22], bytes[23]])
    }

    /// Whether the row at `at` is the one of this key.
    #[inline(always)]
    pub fn is_row_of(&self, at: RowAt, space: u8, key: &[u8]) -> bool {
        let Some((header, rest)) = self.bytes_at(at).split_first_chunk::<ROW_HEADER>() else { return false };
        header[20] == space
            && header[4..8] == (key.len() as u32).to_be_bytes()
            && rest.get(..key.len()) == Some(key)
    }

    /// Adds a row in front of `next` and returns its address and the bytes it takes.
    #[inline]
    pub fn push(&mut self, new: NewRow<'_>, next: RowAt) -> (RowAt, usize) {
        let value = new.value.unwrap_or_default();
        let room = value.len() + new.slack;
        let size = (ROW_HEADER + new.key.len() + room).next_multiple_of(UNIT);
        let index = self.chunk_for(size);
        let chunk = &mut self.chunks[index];
        let start = chunk.len();
        let mut header = [0; ROW_HEADER];
        header[0..4].copy_from_slice(&next.0.to_be_bytes());
        header[4..8].copy_from_slice(&(new.key.len() as u32).to_be_bytes());
        header[8..12].copy_from_slice(&(value.len() as u32).to_be_bytes());
        header[12..16].copy_from_slice(&((size - ROW_HEADER - new.key.len()) as u32).to_be_bytes());
        header[16..20].copy_from_slice(&(new.group_len as u32).to_be_bytes());
        header[20] = new.space;
        header[21] = if new.value.is_none() { TOMBSTONE } else { 0 };
        header[22..24].copy_from_slice(&new.depth.to_be_bytes());
        chunk.extend_from_slice(&header);
        chunk.extend_from_slice(new.key);
        chunk.extend_from_slice(value);
        chunk.resize(start + size, 0);
        (RowAt(((index as u32) << OFFSET_BITS) | (start / UNIT) as u32), size)
    }

    /// The index of a chunk with room for `size` bytes.
    #[inline]
    fn chunk_for(&mut self, size: usize) -> usize {
        if let Some(chunk) = self.chunks.get(self.current)
            && chunk.capacity() - chunk.len() >= size
            && chunk.len() < CHUNK_BYTES
        {
            return self.current;
        }
        self.add_chunk(size)
    }

    #[cold]
    fn add_chunk(&mut self, size: usize) -> usize {
        let index = self.chunks.len();
        if size >= LARGE_ROW_BYTES {
            self.chunks.push(Vec::with_capacity(size));
            if self.current == index {
                self.current = index + 1;
            }
            return index;
        }
        // The first chunks are small, so that a table of a few rows is a small table.
        let wanted = FIRST_CHUNK_BYTES << index.min(6);
        self.chunks.push(Vec::with_capacity(wanted.clamp(size, CHUNK_BYTES)));
        self.current = index;
        index
    }

    /// Overwrites the value where it stands; false when it does not fit there.
    #[inline]
    pub fn replace_value(&mut self, at: RowAt, value: Option<&[u8]>) -> bool {
        let bytes = self.bytes_at_mut(at);
        let (header, rest) = bytes.split_at_mut(ROW_HEADER);
        let key_len = u32_at(header, 4).unwrap_or_default() as usize;
        let room = u32_at(header, 12).unwrap_or_default() as usize;
        let new = value.unwrap_or_default();
        if new.len() > room {
            return false;
        }
        header[8..12].copy_from_slice(&(new.len() as u32).to_be_bytes());
        header[21] = if value.is_none() { TOMBSTONE } else { 0 };
        rest[key_len..key_len + new.len()].copy_from_slice(new);
        true
    }

    pub fn mark_dead(&mut self, at: RowAt) {
        self.bytes_at_mut(at)[21] |= DEAD;
    }
}
