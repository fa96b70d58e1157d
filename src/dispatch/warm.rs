//! Bringing what commands will ask for into memory, on a worker, without locks.

use std::ops::ControlFlow;

use tarn_engine::{Direction, Range, Read as _, Wait};
use tarn_resp::Args as Words;

use super::execute::Lane;
use super::spec::{Spec, Touches};
use crate::encoding::meta::{Body, Header, Kind};
use crate::encoding::{DATA, META, SCORE, rows, slot};

/// A collection with no more elements than these is brought into memory with its key.
const SMALL_SIZE: u64 = 64;

impl Lane {
    /// Brings keys that will be asked for soon into memory, in one go: the metadata, and for a command that does not name
    /// the element it wants, small collections too. `keys` are those of one command and of what came behind it.
    pub fn warm_keys(&mut self, spec: &Spec, db: u16, keys: Words<'_>) {
        let Some(db) = self.node.keyspace.databases.get(db).filter(|_| !keys.is_empty()) else { return };
        let seed = self.node.keyspace.seed;
        let meta: Vec<_> = keys
            .iter()
            .map(|key| rows::meta(db.physical, slot::of(key), rows::hash48(seed, key), key))
            .collect();
        let meta: Vec<&[u8]> = meta.iter().map(|row| row.as_slice()).collect();
        let mut small = Vec::new();
        let read = self.node.engine.begin_read(Wait::Allowed);
        // What fails here fails again where it is asked for, and is reported there.
        let _ = read.get_many(META, &meta, &mut |n, row| {
            let header = row.and_then(|row| Header::decode(row).ok()).map(|(header, _)| header);
            if let (Some(Header { kind, body: Body::Rows { version, size }, .. }), Some(key)) =
                (header, keys.get(n))
                && !matches!(spec.touches, Some(Touches::Named(_)))
                && size <= SMALL_SIZE
            {
                let space = if kind == Kind::SortedSet { SCORE } else { DATA };
                small.push((space, rows::collection(db.physical, slot::of(key), key, version)));
            }
        });
        for (space, start) in small {
            let end = rows::collection_end(&start);
            let range = Range { start: &start, end: &end };
            let _ = read.scan(space, range, Direction::Forward, 1, &mut |_, _| ControlFlow::Break(()));
        }
    }
}
