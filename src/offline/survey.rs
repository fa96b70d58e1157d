//! What a data directory holds, key by key, and what of it cannot be read.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tarn_engine::rocksdb::{Finding, Inspection, Met};
use tarn_engine::{Range, Space};

use super::shown;
use crate::encoding::meta::{Body, Header};
use crate::encoding::system::{self, Counts};
use crate::encoding::{META, SPACES, SYSTEM, collection, rows};
use crate::keyspace::kind::{Elements, Info, Per};
use crate::keyspace::stripe_of;

/// No key of any space is at or above this.
pub const END: [u8; 64] = [0xff; 64];

/// A key with its metadata.
pub struct Key<'a> {
    pub db: u32,
    pub slot: u16,
    pub name: &'a [u8],
    pub row: &'a [u8],
    pub header: Header,
    /// What follows the header.
    pub rest: &'a [u8],
}

impl Key<'_> {
    pub fn info(&self) -> &'static Info {
        self.header.kind.info()
    }

    pub fn shown(&self) -> String {
        format!("{} {} of database {}", self.info().name, shown(self.name), self.db)
    }

    /// Whether it is whole without some of its elements, once its size says so.
    pub fn may_lose_elements(&self) -> bool {
        let info = self.info();
        let counted = info.rows.iter().filter(|rows| rows.per == Per::Element).count();
        let has_expiring =
            info.parts_expire && !collection::read_own(self.rest).is_ok_and(|(_, own)| own.is_empty());
        info.elements == Elements::Named && counted == 1 && !has_expiring
    }
}

pub struct Survey {
    inspection: Inspection,
    /// Numbers of databases that were flushed and wait to be removed.
    dropped: BTreeSet<u32>,
    /// No version at or above this was given out.
    pub version_limit: u64,
    /// Everything that was found to be wrong with files, in the order in which it was found.
    damage: RefCell<Vec<Finding>>,
}

impl Survey {
    pub fn open(dir: &Path) -> Result<Survey, String> {
        if !dir.is_dir() {
            return Err(format!("{} is not a directory", dir.display()));
        }
        let inspection = Inspection::open(dir, SPACES).map_err(|error| error.to_string())?;
        let damage = RefCell::new(inspection.findings().to_vec());
        let dropped = BTreeSet::new();
        let mut survey = Survey { inspection, dropped, version_limit: u64::MAX, damage };
        let (start, end) = system::all_dropped();
        let mut dropped = BTreeSet::new();
        survey.walk(SYSTEM, &start, &end, &mut |row, _| dropped.extend(system::read_dropped(row).ok()));
        survey.dropped = dropped;
        if let Some(value) = survey.get(SYSTEM, &system::version_limit())? {
            survey.version_limit = system::read_u64(&value).map_err(|bad| bad.0.to_owned())?;
        }
        Ok(survey)
    }

    pub fn damage(&self) -> Vec<Finding> {
        self.damage.borrow().clone()
    }

    fn note(&self, finding: Finding) {
        let mut damage = self.damage.borrow_mut();
        if !damage.contains(&finding) {
            damage.push(finding);
        }
    }

    /// Every block, also of rows that are overwritten or deleted.
    pub fn verify_blocks(&self) {
        if let Err(finding) = self.inspection.verify_blocks() {
            self.note(finding);
        }
    }

    pub fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        self.inspection.get(space, key).map_err(|finding| {
            format!(
                "a row that describes the database cannot be read: {}: {}",
                finding.file.display(),
                finding.reason
            )
        })
    }

    /// Calls `each` for the rows of a range; what is lost is noted. Whether everything was read.
    pub fn walk(&self, space: Space, start: &[u8], end: &[u8], each: &mut dyn FnMut(&[u8], &[u8])) -> bool {
        let mut is_whole = true;
        self.inspection.walk(space, Range { start, end }, &mut |met| match met {
            Met::Row(key, value) => each(key, value),
            Met::Lost { finding, .. } => {
                is_whole = false;
                self.note(finding);
            }
        });
        is_whole
    }

    /// Calls `each` for every key that is not of a flushed database, or with why a row does not read as one. Whether everything was
    /// read.
    pub fn keys(&self, each: &mut dyn FnMut(Result<Key<'_>, String>)) -> bool {
        self.walk(META, &[], &END, &mut |row, value| {
            let key = read_key(row, value);
            if !matches!(&key, Ok(key) if self.dropped.contains(&key.db)) {
                each(key);
            }
        })
    }
}

fn read_key<'a>(row: &'a [u8], value: &'a [u8]) -> Result<Key<'a>, String> {
    let what = |part: &str| format!("a metadata row does not read: {part} ({})", shown(row));
    let meta = rows::read_meta(row).map_err(|bad| what(bad.0))?;
    let (header, len) = Header::decode(value).map_err(|bad| what(bad.0))?;
    let rest = value.get(len..).unwrap_or_default();
    Ok(Key { db: meta.db, slot: meta.slot, name: meta.key, row, header, rest })
}

/// Keys of each stripe of each database.
#[derive(Default)]
pub struct Counted(BTreeMap<(u32, u16), Counts>);

impl Counted {
    pub fn add(&mut self, key: &Key<'_>) {
        let counts = self.0.entry((key.db, stripe_of(key.slot))).or_default();
        counts.keys += 1;
        counts.expiring += i64::from(key.header.expire_at_ms != 0);
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, u16, Counts)> {
        self.0.iter().map(|((db, stripe), counts)| (*db, *stripe, *counts))
    }

    pub fn keys(&self) -> u64 {
        self.0.values().map(|counts| counts.keys.max(0) as u64).sum()
    }
}

/// The rows of a key in each of its spaces begin with this; none has them.
pub fn rows_of(key: &Key<'_>) -> Option<(Vec<u8>, Vec<u8>, u64, u64)> {
    let Body::Rows { version, size } = key.header.body else { return None };
    let prefix = rows::collection(key.db, key.slot, key.name, version);
    let end = rows::collection_end(&prefix);
    Some((prefix.as_slice().to_vec(), end.as_slice().to_vec(), version, size))
}
