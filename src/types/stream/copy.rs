//! A stream under another name.

use tarn_engine::Direction;

use super::{Id, Ids, Stream};
use crate::encoding::DATA;
use crate::encoding::meta::{Body, Header};
use crate::encoding::rows::{RowKey, collection_end};
use crate::encoding::stream::{GROUPS, GroupState, group_row, owner_row};
use crate::error::{Error, Result};
use crate::keyspace::build::Builder;
use crate::keyspace::{Entry, WriteCx, entry};
use crate::types::collection::Walk;

/// Makes `to` hold what the live key `from`, of the context's sources, holds, with this expiry (0: none). Memory holds a batch of
/// rows; many rows are copied on a worker.
pub fn copy<'a>(cx: &mut WriteCx<'a>, from: &Entry<'_>, to: &Entry<'_>, expire_at_ms: u64) -> Result<()> {
    let stream = Stream::of_entry(cx, from.clone())?.ok_or(Error::NoSuchKey)?;
    let groups = stream.groups(&cx.sources())?;
    let records = stream.known_producers(&cx.env).records.saturating_mul(3);
    let pending =
        groups.iter().map(|(_, group)| group.pending.saturating_mul(3)).fold(0, u64::saturating_add);
    let mut build: Builder<'a> =
        Builder::begin(&cx.env, stream.len().saturating_add(pending).saturating_add(records))?;
    let version = cx.new_version()?;
    let prefix = entry::element_prefix(to, version);
    if let Some(entries) = stream.walk(Ids { first: Id::MIN, last: Id::MAX }, Direction::Forward) {
        copy_rows(cx, &mut build, DATA, entries, &prefix)?;
    }
    for (name, group) in &groups {
        let own = cx.new_version()?;
        let old = entry::element_prefix(from, group.version);
        let rows = Walk::over(GROUPS, old.len(), old.clone(), collection_end(&old), Direction::Forward);
        copy_rows(cx, &mut build, GROUPS, rows, &entry::element_prefix(to, own))?;
        let state = GroupState { version: own, ..*group };
        build.put(cx, GROUPS, &group_row(&prefix, name), &[&state.encode()])?;
        build.put(cx, GROUPS, &owner_row(&prefix, own), &[])?;
    }
    let mut producers = stream.known_producers(&cx.env);
    if let Some(rows) = stream.walk_records() {
        producers.version = cx.new_version()?;
        copy_rows(cx, &mut build, GROUPS, rows, &entry::element_prefix(to, producers.version))?;
        build.put(cx, GROUPS, &owner_row(&prefix, producers.version), &[])?;
    }
    build.finish(cx)?;
    let header = Header { kind: super::KIND, expire_at_ms, body: Body::Rows { version, size: stream.len() } };
    let producers = stream.producers.map(|_| producers.encode());
    let producers = producers.as_ref().map_or(&[][..], |bytes| bytes);
    entry::store(cx, to, &header, &[&[0], &stream.state.encode(), producers])
}

fn copy_rows<'a>(
    cx: &mut WriteCx<'a>,
    build: &mut Builder<'a>,
    space: tarn_engine::Space,
    walk: Walk,
    prefix: &RowKey,
) -> Result<()> {
    let (mut walk, mut row) = (walk.whole(), prefix.clone());
    while let Some(element) = walk.next(&cx.sources())? {
        row.truncate(prefix.len());
        row.extend_from_slice(element.sub);
        build.put(cx, space, &row, &[element.value])?;
    }
    Ok(())
}
