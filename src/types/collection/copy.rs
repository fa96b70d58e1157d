//! A collection under another name: rows carry the name of their key, so they are written anew.

use smallvec::SmallVec;
use tarn_engine::Direction;

use super::Walk;
use crate::encoding::collection::read_own;
use crate::encoding::list;
use crate::encoding::meta::{Body, Header};
use crate::encoding::rows::{RowKey, collection_end};
use crate::error::{Error, Result};
use crate::keyspace::build::Builder;
use crate::keyspace::kind::{Elements, Rows};
use crate::keyspace::{Entry, View as _, WriteCx, entry};

/// Makes `to` hold what the live key `from`, of the context's sources, holds in rows, with this expiry (0: none). Memory holds a batch of rows,
/// whatever the size; many rows are copied on a worker.
pub fn copy<'a>(cx: &mut WriteCx<'a>, from: &Entry<'_>, to: &Entry<'_>, expire_at_ms: u64) -> Result<()> {
    let Some(meta) = from.live() else { return Err(Error::NoSuchKey.into()) };
    let Body::Rows { version, size } = meta.header.body else {
        return Err(Error::Damaged("a value without rows").into());
    };
    let kind = meta.header.kind;
    let rest: SmallVec<[u8; 32]> = SmallVec::from_slice(cx.bytes(meta.rest));
    let info = kind.info();
    let mut build: Builder<'a> = Builder::begin(&cx.env, info.main_rows(size))?;
    let new_version = cx.new_version()?;
    let old = entry::element_prefix(from, version);
    let mut row: RowKey = entry::element_prefix(to, new_version);
    let prefix_len = row.len();
    for Rows { space, .. } in info.rows {
        let (start, end) = match info.elements {
            // Not what a queue has left behind in front of its first element.
            Elements::Numbered => list::bounds(&old, read_own(&rest)?.1, size)?,
            Elements::Bytes | Elements::Named | Elements::Ordered => (old.clone(), collection_end(&old)),
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
