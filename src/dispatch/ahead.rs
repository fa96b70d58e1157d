//! Where rows are elsewhere, those that the calls of a unit will read are fetched together: the metadata of their keys with one
//! request, then the elements that they name with another. One by one each would be a request of its own.

use tarn_engine::{Read, Space};

use super::hints::{Elements, Target};
use super::unit::{Calls, Unit};
use crate::encoding::rows::{self, RowKey};
use crate::encoding::{META, SYSTEM, slot};
use crate::node::Node;

/// Keys of a unit that are fetched ahead; further ones are read when it is their turn.
const MAX_KEYS: usize = 1_024;

type Rows = Vec<(Space, RowKey)>;

/// Fetches what the calls of a unit will read, as far as their words tell. What fails here fails again where it is asked for, and is
/// told there.
pub(super) fn fetch<'c>(node: &Node, read: &dyn Read, unit: &Unit<'_, impl Calls<'c>>, writes: bool) {
    let keys = || {
        unit.calls.clone().flat_map(|call| {
            let db = node.keyspace.shared.database(call.db);
            let positions = call.command.spec.keys.positions(call.words);
            positions.filter_map(move |(at, _)| Some((call, db?.physical, call.words.get(at)?)))
        })
    };
    let seed = node.keyspace.seed();
    let mut wanted = Rows::new();
    for (_, db, key) in keys().take(MAX_KEYS) {
        let slot = slot::of(key);
        wanted.push((META, rows::meta(db, slot, rows::hash48(seed, key), key)));
        if writes {
            // Keys that come and go are counted.
            wanted.push((SYSTEM, RowKey::from_slice(&node.keyspace.shared.count_row(db, slot))));
        }
    }
    if wanted.len() < 2 || !get(read, wanted) {
        return;
    }
    let mut wanted = Rows::new();
    for (call, db, key) in keys().take(MAX_KEYS) {
        let Some(hint) = call.command.spec.hint else { continue };
        wanted.extend(element(read, (seed, db, key), |elements| elements.target(seed, hint, call.words)));
    }
    if wanted.len() > 1 {
        get(read, wanted);
    }
}

/// The row of an element that a call names.
fn element(
    read: &dyn Read,
    (seed, db, key): (u64, u32, &[u8]),
    target: impl for<'e> FnOnce(&'e mut Elements<'_>) -> Option<Target<'e>>,
) -> Option<(Space, RowKey)> {
    let slot = slot::of(key);
    let mut meta = Vec::new();
    // It was fetched before.
    if !read.get(META, &rows::meta(db, slot, rows::hash48(seed, key), key), &mut meta).ok()? {
        return None;
    }
    match target(&mut Elements::of(db, slot, key, &meta)?)? {
        Target::Row(space, row) => Some((space, RowKey::from_slice(row))),
        Target::NewRow(..) | Target::Group(..) => None,
    }
}

fn get(read: &dyn Read, mut wanted: Rows) -> bool {
    wanted.sort_unstable();
    wanted.dedup();
    let wanted: Vec<(Space, &[u8])> = wanted.iter().map(|(space, row)| (*space, row.as_slice())).collect();
    read.fetch(&wanted).is_ok()
}
