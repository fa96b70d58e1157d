//! A model of the embedded engine: commits in order, units that are cut off and written back space by space with the
//! metadata last, and compactions at any moment. Whatever the state after a crash at any moment is, no element of a
//! live collection may be missing from it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tarn_engine::{Filter as _, Probe, Result, Space, Verdict};

use super::*;
use crate::encoding::meta::Kind;
use crate::encoding::{DATA, FIELD_EXPIRE, SCORE, slot, zset};
use crate::keyspace::shared::{Building, Shared};
use crate::keyspace::{Db, draws};

const SEED: u64 = 7;
const KEYS: u64 = 3;
const SEEDS: u64 = 60;

type Rows = BTreeMap<(u8, Vec<u8>), Vec<u8>>;
type Commit = Vec<(Space, Vec<u8>, Option<Vec<u8>>)>;

fn apply(rows: &mut Rows, commit: &Commit, only: impl Fn(Space) -> bool) {
    for (space, key, value) in commit.iter().filter(|(space, ..)| only(*space)) {
        let at = (space.0, key.clone());
        match value {
            Some(value) => rows.insert(at, value.clone()),
            None => rows.remove(&at),
        };
    }
}

struct Sorted<'a>(&'a Rows);

impl Probe for Sorted<'_> {
    fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let found = self.0.get(&(space.0, key.to_vec()));
        out.extend(found.into_iter().flatten());
        Ok(found.is_some())
    }
}

struct Unit {
    end: usize,
    mark: u64,
}

/// A collection that is built over several commits, under its key's lock.
struct Build<'k> {
    key: u64,
    db: u32,
    version: Building<'k>,
    batches: u64,
}

struct Model<'k> {
    keyspace: &'k Keyspace,
    garbage: Garbage,
    log: Vec<Commit>,
    sorted: Rows,
    /// Commits that are in the sorted data with all their rows.
    applied: usize,
    /// All spaces but the metadata of the first unit are in the sorted data.
    half_way: bool,
    units: VecDeque<Unit>,
    builds: Vec<Build<'k>>,
    next_physical: u32,
    /// Live streams, by their keys: their versions and those they own.
    streams: BTreeMap<u64, (u64, Vec<u64>)>,
}

fn name(key: u64) -> Vec<u8> {
    format!("key{key}").into_bytes()
}

fn meta_row(db: u32, key: u64) -> Vec<u8> {
    let key = name(key);
    rows::meta(db, slot::of(&key), rows::hash48(SEED, &key), &key).to_vec()
}

fn element(space: Space, db: u32, key: u64, version: u64, n: u64) -> (Space, Vec<u8>, Option<Vec<u8>>) {
    let key = name(key);
    let mut row = rows::collection(db, slot::of(&key), &key, version).to_vec();
    row.extend_from_slice(&n.to_be_bytes());
    (space, row, Some(vec![]))
}

fn owner(db: u32, key: u64, version: u64, owned: u64) -> Vec<u8> {
    let key = name(key);
    owner_row(&rows::collection(db, slot::of(&key), &key, version), owned).to_vec()
}

fn stream_header(version: u64) -> Option<Vec<u8>> {
    let body = Body::Rows { version, size: 0 };
    Some(Header { kind: Kind::Stream, expire_at_ms: 0, body }.encode().as_slice().to_vec())
}

fn header(body: Body) -> Option<Vec<u8>> {
    Some(Header { kind: Kind::Hash, expire_at_ms: 0, body }.encode().as_slice().to_vec())
}

impl<'k> Model<'k> {
    fn db(&self) -> u32 {
        self.keyspace.shared.database(0).unwrap().physical
    }

    fn is_locked(&self, key: u64) -> bool {
        self.builds.iter().any(|build| build.key == key)
    }

    fn elements(db: u32, key: u64, version: u64, batch: u64) -> Commit {
        [DATA, SCORE, FIELD_EXPIRE].into_iter().map(|space| element(space, db, key, version, batch)).collect()
    }

    fn step(&mut self, random: u64) {
        let key = random / 64 % KEYS;
        let db = self.db();
        if random % 21 < 6 && !self.is_locked(key) {
            return self.step_stream(db, key, random / 4096);
        }
        if matches!(random % 16, 0..=4 | 7..=8) {
            self.streams.remove(&key);
        }
        match random % 16 {
            0..=3 if !self.is_locked(key) => {
                let version = self.keyspace.shared.new_version().unwrap();
                let mut commit = Model::elements(db, key, version.version(), 0);
                let body = Body::Rows { version: version.version(), size: 1 };
                commit.push((META, meta_row(db, key), header(body)));
                self.log.push(commit);
            }
            4 if !self.is_locked(key) => {
                let version = self.keyspace.shared.new_version().unwrap();
                self.builds.push(Build { key, db, version, batches: 0 });
            }
            5..=6 => self.build(random),
            7 if !self.is_locked(key) => self.log.push(vec![(META, meta_row(db, key), None)]),
            8 if !self.is_locked(key) => self.log.push(vec![(META, meta_row(db, key), header(Body::Inline))]),
            // Whoever flushes holds every lock, so no build is under way.
            9 if self.builds.is_empty() && (random / 64).is_multiple_of(4) => self.flush_database(),
            10 | 11 => {
                let mark = self.garbage.before_write_back();
                self.units.push_back(Unit { end: self.log.len(), mark });
            }
            12 | 13 => self.write_back(),
            _ => self.compact(),
        }
    }

    /// A stream is made, owns one more version, writes to one, gives one up, or gets another version of its own.
    fn step_stream(&mut self, db: u32, key: u64, random: u64) {
        let keyspace = self.keyspace;
        let Some((live, owned)) = self.streams.get_mut(&key) else {
            let version = keyspace.shared.new_version().unwrap();
            self.log.push(vec![(META, meta_row(db, key), stream_header(version.version()))]);
            self.streams.insert(key, (version.version(), vec![]));
            return;
        };
        let mut commit = Commit::new();
        // Until after the commit.
        let _building;
        match (random % 5, owned.last().copied()) {
            (0, Some(last)) => {
                owned.pop();
                commit.push((SCORE, owner(db, key, *live, last), None));
            }
            (1, _) => {
                let version = keyspace.shared.new_version().unwrap();
                for owned in owned.iter() {
                    commit.push((SCORE, owner(db, key, version.version(), *owned), Some(vec![])));
                }
                *live = version.version();
                commit.push((META, meta_row(db, key), stream_header(*live)));
                _building = version;
            }
            (2 | 3, Some(last)) => commit.push(element(SCORE, db, key, last, random)),
            _ => {
                let version = keyspace.shared.new_version().unwrap();
                owned.push(version.version());
                commit.push((SCORE, owner(db, key, *live, version.version()), Some(vec![])));
                commit.push(element(SCORE, db, key, version.version(), 0));
                _building = version;
            }
        }
        self.log.push(commit);
    }

    fn build(&mut self, random: u64) {
        let Some(build) = self.builds.first_mut() else { return };
        let (db, key, version) = (build.db, build.key, build.version.version());
        let mut commit = Model::elements(db, key, version, build.batches);
        build.batches += 1;
        let ends = (random / 64).is_multiple_of(4);
        if ends {
            let body = Body::Rows { version, size: build.batches };
            commit.push((META, meta_row(db, key), header(body)));
        }
        self.log.push(commit);
        if ends || random / 64 % 16 == 1 {
            // After the commit; without the metadata it is given up.
            self.builds.remove(0);
        }
    }

    fn flush_database(&mut self) {
        let fresh = self.next_physical;
        self.next_physical += 1;
        self.streams.clear();
        self.log.push(vec![(SYSTEM, system::dropped(self.db()).to_vec(), Some(vec![]))]);
        self.keyspace.shared.remapped(&[Db { logical: 0, physical: fresh }]);
    }

    fn write_back(&mut self) {
        let Some(unit) = self.units.front() else { return };
        let half_way = self.half_way;
        for commit in &self.log[self.applied..unit.end] {
            apply(&mut self.sorted, commit, |space| (space == META) == half_way);
        }
        if half_way {
            self.applied = unit.end;
            self.garbage.written_back(unit.mark);
            self.units.pop_front();
        }
        self.half_way = !half_way;
    }

    fn compact(&mut self) {
        let garbage: Vec<_> = self
            .sorted
            .iter()
            .filter(|((space, key), value)| {
                let probe = Sorted(&self.sorted);
                self.garbage.judge(&probe, Space(*space), key, value) == Verdict::Drop
            })
            .map(|(at, _)| at.clone())
            .collect();
        for at in garbage {
            self.sorted.remove(&at);
        }
        self.check();
    }

    /// Every state that a crash at this moment can leave has all elements of its live collections.
    fn check(&self) {
        // What is being written back was synced before.
        let durable = if self.half_way { self.units[0].end } else { self.applied };
        let mut wanted = Rows::new();
        self.log[..durable].iter().for_each(|commit| apply(&mut wanted, commit, |_| true));
        let mut recovered = self.sorted.clone();
        self.log[self.applied..durable].iter().for_each(|commit| apply(&mut recovered, commit, |_| true));
        compare(&wanted, &recovered);
        for commit in &self.log[durable..] {
            apply(&mut wanted, commit, |_| true);
            apply(&mut recovered, commit, |_| true);
            compare(&wanted, &recovered);
        }
    }

    fn let_versions_pass(&mut self) {
        while !self.builds.is_empty() {
            self.build(0);
        }
        let mark = self.garbage.before_write_back();
        self.units.push_back(Unit { end: self.log.len(), mark });
        while !self.units.is_empty() {
            self.write_back();
        }
        self.compact();
    }
}

/// Elements of live collections in databases that were not dropped.
fn live(rows: &Rows) -> impl Iterator<Item = &(u8, Vec<u8>)> {
    rows.keys().filter(|(space, key)| match Space(*space) {
        META => {
            let db = rows::read_meta(key).unwrap().db;
            !rows.contains_key(&(SYSTEM.0, system::dropped(db).to_vec()))
        }
        DATA | SCORE | FIELD_EXPIRE => {
            let element = rows::read_element(key).unwrap();
            let hash = rows::hash48(SEED, element.key);
            let meta = rows::meta(element.db, element.slot, hash, element.key).to_vec();
            let header = rows.get(&(META.0, meta)).map(|value| Header::decode(value).unwrap().0);
            let dropped = rows.contains_key(&(SYSTEM.0, system::dropped(element.db).to_vec()));
            !dropped
                && header.is_some_and(|header| match header.body {
                    Body::Rows { version, .. } => {
                        let prefix = rows::collection(element.db, element.slot, element.key, version);
                        let owner = owner_row(&prefix, element.version).to_vec();
                        version == element.version
                            || header.kind == Kind::Stream && rows.contains_key(&(SCORE.0, owner))
                    }
                    Body::Inline => false,
                })
        }
        _ => true,
    })
}

fn compare(wanted: &Rows, recovered: &Rows) {
    for at in live(wanted) {
        assert!(recovered.contains_key(at), "missing: space {}, {}", at.0, at.1.escape_ascii());
    }
}

fn keyspace() -> Arc<Keyspace> {
    Arc::new(Keyspace {
        garbage: crate::keyspace::Garbage::default(),
        parts: crate::keyspace::ExpiringParts::new(&[], 1, crate::encoding::system::FieldIndex::Whole),
        seed: SEED,
        shared: Shared::fresh(1),
        clocks: crate::keyspace::clocks::Clocks::default(),
    })
}

#[test]
fn nothing_live_is_dropped_and_all_garbage_is() {
    let mut dropped_some = 0;
    for seed in 0..SEEDS {
        let keyspace = keyspace();
        let garbage = Garbage::default();
        garbage.begin(Arc::clone(&keyspace));
        let mut model = Model {
            keyspace: &keyspace,
            garbage,
            log: vec![],
            sorted: Rows::new(),
            applied: 0,
            half_way: false,
            units: VecDeque::new(),
            builds: vec![],
            next_physical: 1 << 16,
            streams: BTreeMap::new(),
        };
        for random in draws(seed).take(300) {
            model.step(random);
        }
        model.let_versions_pass();
        let written: usize = model.log.iter().map(Vec::len).sum();
        dropped_some += usize::from(model.sorted.len() < written);
        let live: Vec<_> = live(&model.sorted).collect();
        assert_eq!(live.len(), model.sorted.len(), "seed {seed}: garbage is left");
    }
    assert_eq!(dropped_some, SEEDS as usize);
}

#[test]
fn without_a_keyspace_everything_is_kept() {
    let garbage = Garbage::default();
    let (space, key, value) = element(DATA, 0, 1, 5, 0);
    assert_eq!(garbage.before_write_back(), 0);
    assert_eq!(garbage.judge(&Sorted(&Rows::new()), space, &key, &value.unwrap()), Verdict::Keep);
}

#[test]
fn what_cannot_be_read_is_kept() {
    struct Broken;
    impl Probe for Broken {
        fn get(&self, _: Space, _: &[u8], _: &mut Vec<u8>) -> Result<bool> {
            Err(tarn_engine::Error::Io("broken".into()))
        }
    }
    let garbage = Garbage::default();
    garbage.begin(keyspace());
    garbage.written_back(100);
    let (space, key, _) = element(DATA, 0, 1, 5, 0);
    assert_eq!(garbage.judge(&Broken, space, &key, b""), Verdict::Keep);
    assert_eq!(garbage.judge(&Sorted(&Rows::new()), space, &key, b""), Verdict::Drop);
    assert_eq!(garbage.judge(&Sorted(&Rows::new()), space, b"short", b""), Verdict::Keep);
    let damaged = Rows::from([((META.0, meta_row(0, 1)), b"?".to_vec())]);
    assert_eq!(garbage.judge(&Sorted(&damaged), space, &key, b""), Verdict::Keep);
}

/// A sorted set's two rows go together, whatever the score.
#[test]
fn rows_of_scores_are_judged_by_their_version() {
    let garbage = Garbage::default();
    garbage.begin(keyspace());
    garbage.written_back(100);
    let body = Body::Rows { version: 7, size: 1 };
    let sorted = Rows::from([((META.0, meta_row(0, 1)), header(body).unwrap())]);
    for (version, verdict) in
        [(6, Verdict::Drop), (7, Verdict::Keep), (8, Verdict::Drop), (100, Verdict::Keep)]
    {
        for score in [f64::NEG_INFINITY, -1.0, 0.0, -0.0, 7.0, f64::INFINITY] {
            let key = name(1);
            let mut row = rows::collection(0, slot::of(&key), &key, version);
            zset::push_score(&mut row, score, b"member");
            let judged = garbage.judge(&Sorted(&sorted), SCORE, &row, zset::sign(score));
            assert_eq!(judged, verdict, "{version} {score}");
        }
    }
}

#[test]
fn versions_that_a_stream_owns_are_kept() {
    let garbage = Garbage::default();
    garbage.begin(keyspace());
    let verdicts = |sorted: &Rows, versions: [u64; 4]| {
        versions
            .map(|version| garbage.judge(&Sorted(sorted), SCORE, &element(SCORE, 0, 1, version, 0).1, b""))
    };
    let mut sorted = Rows::from([
        ((META.0, meta_row(0, 1)), stream_header(7).unwrap()),
        ((SCORE.0, owner(0, 1, 7, 5)), vec![]),
        ((SCORE.0, owner(0, 1, 7, 9)), vec![]),
    ]);
    assert_eq!(verdicts(&sorted, [4, 5, 8, 9]), [Verdict::Keep; 4], "nothing is known to be written back");
    garbage.written_back(8);
    use Verdict::{Drop, Keep};
    assert_eq!(verdicts(&sorted, [4, 5, 8, 9]), [Drop, Keep, Keep, Keep]);
    garbage.written_back(10);
    assert_eq!(verdicts(&sorted, [4, 5, 8, 9]), [Drop, Keep, Drop, Keep]);
    // The key's own version may have come with rows that are not there yet.
    sorted.insert((META.0, meta_row(0, 1)), stream_header(12).unwrap());
    assert_eq!(verdicts(&sorted, [4, 5, 8, 9]), [Keep; 4]);
    garbage.written_back(13);
    assert_eq!(verdicts(&sorted, [4, 5, 8, 9]), [Drop; 4]);
    // What looks like an owner in a key of another type is none.
    sorted.insert((META.0, meta_row(0, 1)), header(Body::Rows { version: 7, size: 1 }).unwrap());
    assert_eq!(verdicts(&sorted, [5, 7, 8, 9]), [Drop, Keep, Drop, Drop]);
}

#[test]
fn rows_of_dropped_databases_go_wherever_they_are() {
    let garbage = Garbage::default();
    garbage.begin(keyspace());
    let dropped = 1 << 16;
    let rows = Rows::from([((SYSTEM.0, system::dropped(dropped).to_vec()), vec![])]);
    let expiry = |db| rows::expire(9, rows::ExpireKind::Key, db, 3, b"k").to_vec();
    let judge = |space, key: &[u8]| garbage.judge(&Sorted(&rows), space, key, b"");
    assert_eq!(judge(META, &meta_row(dropped, 1)), Verdict::Drop);
    assert_eq!(judge(EXPIRE, &expiry(dropped)), Verdict::Drop);
    assert_eq!(judge(DATA, &element(DATA, dropped, 1, 5, 0).1), Verdict::Drop);
    // A number that is not on record as dropped may be another server's.
    assert_eq!(judge(META, &meta_row(dropped + 1, 1)), Verdict::Keep);
    assert_eq!(judge(EXPIRE, &expiry(0)), Verdict::Keep);
    // A logical database beyond the configured ones keeps its rows.
    assert_eq!(judge(META, &meta_row(9, 1)), Verdict::Keep);
}
