//! A collection under another name: rows carry the name of their key, so they are written anew.

use smallvec::SmallVec;
use tarn_engine::{Direction, Space};

use super::Walk;
use crate::encoding::collection::read_own;
use crate::encoding::list;
use crate::encoding::meta::{Body, Header, Kind};
use crate::encoding::rows::{RowKey, collection_end};
use crate::encoding::string::PIECE_LEN;
use crate::encoding::{DATA, FIELD_EXPIRE, SCORE};
use crate::error::{Error, Result};
use crate::keyspace::build::Builder;
use crate::keyspace::{Entry, View as _, WriteCx, entry};

/// Where the rows of a type are.
fn spaces(kind: Kind) -> &'static [Space] {
    match kind {
        Kind::Hash => &[DATA, FIELD_EXPIRE],
        Kind::SortedSet => &[DATA, SCORE],
        Kind::String | Kind::Set | Kind::List => &[DATA],
    }
}

/// Makes `to` hold what the live key `from`, of the context's sources, holds in rows, with this expiry (0: none). Memory holds a batch of rows,
/// whatever the size; many rows are copied on a worker.
pub fn copy<'a>(cx: &mut WriteCx<'a>, from: &Entry<'_>, to: &Entry<'_>, expire_at_ms: u64) -> Result<()> {
    let Some(meta) = from.live() else { return Err(Error::NoSuchKey) };
    let Body::Rows { version, size } = meta.header.body else {
        return Err(Error::Damaged("a value without rows"));
    };
    let kind = meta.header.kind;
    let rest: SmallVec<[u8; 32]> = SmallVec::from_slice(cx.bytes(meta.rest));
    let rows = if kind == Kind::String { size / PIECE_LEN as u64 } else { size };
    let mut build: Builder<'a> = Builder::begin(&cx.env, rows)?;
    let new_version = cx.new_version()?;
    let old = entry::element_prefix(from, version);
    let mut row: RowKey = entry::element_prefix(to, new_version);
    let prefix_len = row.len();
    for space in spaces(kind) {
        let (start, end) = match kind {
            Kind::List => list_bounds(&old, &rest, size)?,
            _ => (old.clone(), collection_end(&old)),
        };
        let mut walk = Walk::over(*space, old.len(), start, end, Direction::Forward).whole();
        while let Some(element) = walk.next(&cx.sources())? {
            row.truncate(prefix_len);
            row.extend_from_slice(element.sub);
            build.put(cx, *space, &row, &[element.value])?;
        }
    }
    build.finish(cx)?;
    let header = Header { kind, expire_at_ms, body: Body::Rows { version: new_version, size } };
    entry::store(cx, to, &header, &[&rest])
}

/// Not what a queue has left behind in front of its first element.
fn list_bounds(prefix: &RowKey, rest: &[u8], size: u64) -> Result<(RowKey, RowKey)> {
    let head = list::read_head(read_own(rest)?.1)?;
    let mut bounds = (prefix.clone(), prefix.clone());
    list::push_index(&mut bounds.0, head);
    list::push_index(&mut bounds.1, head.saturating_add(size));
    Ok(bounds)
}
