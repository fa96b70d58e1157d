//! Garbage where no compaction finds it: the transaction that ends a version, and whoever builds one over many commits, says so in a
//! row. The cleaner looks at these rows and removes what is dead.

use std::ops::{ControlFlow, Range};

use tarn_engine::{AnyWrite, Write as _};

use super::Dead;
use crate::encoding::meta::{Body, Header};
use crate::encoding::rows::{self, RowKey};
use crate::encoding::stream::{GROUPS, owner_row};
use crate::encoding::system::{self, SystemKey};
use crate::encoding::{META, SYSTEM};
use crate::error::Result;
use crate::keyspace::drop::Doomed;
use crate::keyspace::kind::ELEMENT_SPACES;
use crate::keyspace::{View, WriteCx};

/// A version of a key that may be garbage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspect {
    row: SystemKey,
    version: u64,
    db: u32,
    slot: u16,
    key: Box<[u8]>,
}

/// Puts the rows for what a transaction ends.
pub fn note<'d>(txn: &mut AnyWrite<'_>, dead: impl Iterator<Item = &'d Dead>) {
    for dead in dead {
        if let Some((key, version)) = &dead.named {
            txn.put(SYSTEM, &system::garbage(*version, dead.db, dead.slot, key), &[]);
        }
    }
}

/// The row for a version that is built over many commits, to be put with the first of them. `row` is one of its own.
pub fn row_of_built(row: &[u8]) -> Option<SystemKey> {
    let element = rows::read_element(row).ok()?;
    Some(system::garbage(element.version, element.db, element.slot, element.key))
}

/// The oldest of them, from one version on, below another.
pub fn oldest(cx: &impl View, versions: Range<u64>, limit: usize) -> Result<Vec<Suspect>> {
    let start = system::garbage(versions.start, 0, 0, &[]);
    let end = system::garbage(versions.end, 0, 0, &[]);
    let (mut found, mut malformed) = (Vec::new(), None);
    cx.scan_each(SYSTEM, &start, &end, limit, &mut |row, _| match system::read_garbage(row) {
        Ok((version, db, slot, key)) => {
            let row = SystemKey::from_slice(row);
            found.push(Suspect { row, version, db, slot, key: key.into() });
            ControlFlow::Continue(())
        }
        Err(bad) => {
            malformed = Some(bad);
            ControlFlow::Break(())
        }
    })?;
    malformed.map_or(Ok(found), |bad| Err(bad.into()))
}

impl Suspect {
    /// What is to be removed: nothing where the version is that of its key, or one that its key owns. Versions that it owned itself go
    /// with it; none is `below` this that could become live.
    pub fn doomed(&self, cx: &mut impl View, below: u64) -> Result<Vec<Doomed>> {
        if self.is_live(cx, self.version)? {
            return Ok(Vec::new());
        }
        let mut doomed = Vec::new();
        for version in self.owned(cx)? {
            if version < below && !self.is_live(cx, version)? {
                doomed.extend(self.ranges(version));
            }
        }
        doomed.extend(self.ranges(self.version));
        Ok(doomed)
    }

    fn ranges(&self, version: u64) -> impl Iterator<Item = Doomed> {
        let start = rows::collection(self.db, self.slot, &self.key, version);
        let end = rows::collection_end(&start);
        ELEMENT_SPACES.into_iter().map(move |space| Doomed { space, start: start.clone(), end: end.clone() })
    }

    /// Versions that rows of this one name as their own.
    fn owned(&self, cx: &impl View) -> Result<Vec<u64>> {
        let prefix = rows::collection(self.db, self.slot, &self.key, self.version);
        let (start, end) = (owner_row(&prefix, 0), owner_row(&prefix, u64::MAX));
        let mut owned = Vec::new();
        cx.scan_each(GROUPS, &start, &end, usize::MAX, &mut |row, _| {
            if let Some(version) = row.last_chunk::<8>().filter(|_| row.len() == start.len()) {
                owned.push(u64::from_be_bytes(*version));
            }
            ControlFlow::Continue(())
        })?;
        Ok(owned)
    }

    fn is_live(&self, cx: &mut impl View, wanted: u64) -> Result<bool> {
        let hash48 = rows::hash48(cx.env().keyspace.seed(), &self.key);
        let meta: RowKey = rows::meta(self.db, self.slot, hash48, &self.key);
        let Some(span) = cx.get(META, &meta)? else { return Ok(false) };
        let (header, _) = Header::decode(cx.bytes(span))?;
        let Body::Rows { version, .. } = header.body else { return Ok(false) };
        if version == wanted || !header.kind.info().owns_versions {
            return Ok(version == wanted);
        }
        let prefix = rows::collection(self.db, self.slot, &self.key, version);
        Ok(cx.get(GROUPS, &owner_row(&prefix, wanted))?.is_some())
    }

    /// Nothing of it is left.
    pub fn finish(&self, cx: &mut WriteCx<'_>) {
        cx.delete(SYSTEM, &self.row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::DATA;
    use crate::encoding::meta::Kind;

    #[test]
    fn a_version_that_its_key_has_is_no_garbage() {
        let mut kit = crate::testkit::Kit::new();
        kit.run("HSET h a 1 b 2 | XADD s 1-1 a 1 | XGROUP CREATE s g 0");
        let look = |kit: &mut crate::testkit::Kit, key: &str, version| {
            let slot = crate::encoding::slot::of(key.as_bytes());
            let row = system::garbage(version, 0, slot, key.as_bytes());
            let suspect = Suspect { row, version, db: 0, slot, key: key.as_bytes().into() };
            kit.executor.look(0, |cx| suspect.doomed(cx, u64::MAX)).unwrap()
        };
        let versions: Vec<u64> = (1..10).filter(|version| look(&mut kit, "h", *version).is_empty()).collect();
        assert_eq!(versions.len(), 1, "the one that it has");
        let owned = (1..10).filter(|version| look(&mut kit, "s", *version).is_empty()).count();
        assert_eq!(owned, 2, "its own, and that of its group");
        let of_stream: Vec<u64> =
            (1..10).filter(|version| look(&mut kit, "s", *version).is_empty()).collect();
        kit.run("DEL h s");
        let doomed = look(&mut kit, "h", versions[0]);
        assert!(doomed.iter().any(|doomed| doomed.space == DATA), "{doomed:?}");
        let doomed: Vec<usize> =
            of_stream.iter().map(|version| look(&mut kit, "s", *version).len()).collect();
        let one = ELEMENT_SPACES.len();
        assert_eq!(doomed.iter().max(), Some(&(2 * one)), "the group goes with its stream: {doomed:?}");
    }

    #[test]
    fn what_ends_is_told_with_key_and_version() {
        let rows = Kind::Hash.info().rows;
        let dead = Dead { db: 1, slot: 2, rows, size: 3, is_big: false, named: Some((b"k"[..].into(), 9)) };
        let engine: tarn_engine::AnyEngine =
            tarn_engine::memory::MemoryEngine::new(crate::encoding::SPACES).into();
        let mut txn = engine.begin_write(tarn_engine::Wait::Allowed);
        note(&mut txn, [&dead].into_iter());
        let mut noted = Vec::new();
        txn.each_change(&mut |space, row| noted.push((space, row.to_vec())));
        assert_eq!(noted, [(SYSTEM, system::garbage(9, 1, 2, b"k").to_vec())]);
        let row = rows::collection(1, 2, b"built", 10);
        assert_eq!(row_of_built(&row), Some(system::garbage(10, 1, 2, b"built")));
    }
}
