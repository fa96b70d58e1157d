//! Random histories with crashes at every boundary, against an ordered map.
//!
//! Each commit also sets the row [`COUNT`] to its number, so that after a crash the number of surviving commits is
//! known; the rows must then be exactly those of the commits up to it, and none that was durable may be missing.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

use super::faulty::{Fault, FaultyFiles};
use super::full::until;
use super::random::Random;
use super::*;

const COUNT: &[u8] = b"zz count";
const SEEDS: u64 = 5;
const OPERATIONS: usize = 120;
/// Where a write-back may be cut off.
const STEPS: [&str; 7] = [
    "synced",
    "batch written",
    "space flushed",
    "file written",
    "space ingested",
    "rows in the sorted data",
    "applied lsn written",
];

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Rows = Vec<(Space, Vec<u8>, Option<Vec<u8>>)>;

#[test]
fn random_histories_with_crashes_match_an_ordered_map() {
    // More of them, or the one that failed: TARN_MODEL_SEEDS=100..200.
    let seeds = match std::env::var("TARN_MODEL_SEEDS") {
        Ok(seeds) => {
            let (first, end) = seeds.split_once("..").unwrap();
            first.parse().unwrap()..end.parse().unwrap()
        }
        Err(_) => 0..SEEDS,
    };
    let mut tally = Tally::default();
    for seed in seeds {
        let mut done = 0;
        let outcome = catch_unwind(AssertUnwindSafe(|| run(seed, &mut done, &mut tally)));
        if let Err(panic) = outcome {
            eprintln!("seed {seed}, operation {done}");
            resume_unwind(panic);
        }
    }
}

/// `make torture`, the engine's part: as many of them as there is time for.
#[test]
fn torture() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let Some(minutes) = number("TARN_TORTURE_MINUTES") else { return };
    let first = number("TARN_TORTURE_SEED").unwrap_or_else(|| u64::from(std::process::id()) << 32);
    println!("torture of the engine: {minutes} minutes, TARN_TORTURE_SEED={first}");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(minutes * 60);
    let mut tally = Tally::default();
    for seed in first.. {
        if std::time::Instant::now() >= deadline {
            break;
        }
        let mut done = 0;
        let outcome = catch_unwind(AssertUnwindSafe(|| run(seed, &mut done, &mut tally)));
        if let Err(panic) = outcome {
            eprintln!("TARN_MODEL_SEEDS={seed}..{}, operation {done}", seed + 1);
            resume_unwind(panic);
        }
    }
    println!("| what | how often | checked | lost | wrong | hung |");
    println!("|---|---|---|---|---|---|");
    println!("| losses of power | {} | {} commits | 0 | 0 | 0 |", tally.power_states, tally.commits);
    println!("| ends of the process | {} | the same | 0 | 0 | 0 |", tally.crashes);
    println!("| failing writes and syncs of the log | {} | the same | 0 | 0 | 0 |", tally.failures);
}

/// What has happened.
#[derive(Default)]
struct Tally {
    commits: u64,
    crashes: u64,
    power_states: u64,
    failures: u64,
}

fn run(seed: u64, done: &mut usize, tally: &mut Tally) {
    let root = tempfile::tempdir().unwrap();
    let mut world = World::new(seed, root.path().to_path_buf());
    for number in 0..OPERATIONS {
        *done = number;
        world.operate();
    }
    world.check_all();
    tally.commits += world.tally.commits;
    tally.crashes += world.tally.crashes;
    tally.power_states += world.tally.power_states;
    tally.failures += world.tally.failures;
}

#[derive(Clone, Default)]
struct Model {
    spaces: [Map; 3],
}

impl Model {
    fn apply(&mut self, rows: &Rows) {
        for (space, key, value) in rows {
            let map = &mut self.spaces[usize::from(space.0)];
            match value {
                Some(value) => map.insert(key.clone(), value.clone()),
                None => map.remove(key),
            };
        }
    }
}

struct World {
    random: Random,
    root: PathBuf,
    files: FaultyFiles,
    /// The step at which the write-back shall fail.
    broken_step: Arc<Mutex<Option<&'static str>>>,
    engine: Option<RocksEngine>,
    commits: Vec<Rows>,
    model: Model,
    /// Commits that the operating system has, and those that the device has.
    flushed: usize,
    synced: usize,
    snapshots: Vec<(RocksSnapshot, Model)>,
    checkpoints: usize,
    tally: Tally,
}

impl World {
    fn new(seed: u64, root: PathBuf) -> World {
        let mut world = World {
            random: Random::new(seed),
            root,
            files: FaultyFiles::default(),
            broken_step: Arc::default(),
            engine: None,
            commits: Vec::new(),
            model: Model::default(),
            flushed: 0,
            synced: 0,
            snapshots: Vec::new(),
            checkpoints: 0,
            tally: Tally::default(),
        };
        world.open();
        world
    }

    fn open(&mut self) {
        let broken_step = self.broken_step.clone();
        let hook = move |step: &'static str| {
            if *broken_step.lock() == Some(step) {
                return Err(Error::Io(format!("broken at {step}")));
            }
            Ok(())
        };
        let durability = *self.random.one_of(&[Durability::Always, Durability::EverySecond, Durability::Os]);
        let options = OpenOptions { durability, ..options(&self.root.join("db")) };
        let steps = Steps { hook: Some(Box::new(hook)) };
        let engine = open::open(options, Arc::new(self.files.clone()), steps).unwrap();
        self.engine = Some(engine);
    }

    fn engine(&self) -> &RocksEngine {
        self.engine.as_ref().unwrap()
    }

    fn operate(&mut self) {
        match self.random.below(100) {
            0..30 => self.commit_few(),
            30..34 => self.commit_many(),
            34..44 => self.check_gets(),
            44..60 => self.check_scan(),
            60..66 => self.flush(),
            66..68 => self.sync(),
            68..71 => drop(self.engine().inner.freeze().unwrap()),
            71..74 => self.write_back(),
            74..80 => self.take_snapshot(),
            80..83 => drop(self.snapshots.pop()),
            83..85 => self.engine().inner.join_sealed(),
            85..86 => self.engine().inner.shards.forget_clean(),
            86..88 => self.delete_range(),
            88..89 => self.check_checkpoint(),
            89..90 => self.reopen(),
            90..91 => self.fail_log(),
            91..94 => self.crash(false),
            94..97 => self.crash(true),
            _ => self.crash_in_write_back(),
        }
    }

    fn key(&mut self, space: Space) -> Vec<u8> {
        let mut key = Vec::new();
        if space == CHOSEN {
            let len = self.random.below(3) as u8;
            key.push(len);
        }
        for _ in 0..self.random.below(5) {
            key.push(*self.random.one_of(b"\0ab\xff"));
        }
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let len = if self.random.below(20) == 0 { 20_000 } else { self.random.below(40) };
        vec![self.random.below(256) as u8; len]
    }

    fn commit(&mut self, rows: Rows) {
        let mut rows = rows;
        let count = (self.commits.len() as u64 + 1).to_be_bytes().to_vec();
        rows.push((QUEUE, COUNT.to_vec(), Some(count)));
        let mut tx = self.engine().begin_write(Wait::Allowed);
        for (space, key, value) in &rows {
            match value {
                Some(value) => tx.put(*space, key, &[&value[..value.len() / 2], &value[value.len() / 2..]]),
                None => tx.delete(*space, key),
            }
        }
        tx.commit().unwrap();
        self.tally.commits += 1;
        self.model.apply(&rows);
        self.commits.push(rows);
    }

    fn commit_few(&mut self) {
        let rows = (0..self.random.below(6))
            .map(|_| {
                let space = *self.random.one_of(&[FIXED, CHOSEN, QUEUE]);
                let key = self.key(space);
                let value = (self.random.below(4) > 0).then(|| self.value());
                (space, key, value)
            })
            .collect();
        self.commit(rows);
    }

    /// Enough rows of one group for an ordered index.
    fn commit_many(&mut self) {
        let space = *self.random.one_of(&[FIXED, CHOSEN, QUEUE]);
        let group: &[u8] = if space == CHOSEN { b"\x01a" } else { b"aa" };
        let first = self.random.below(300);
        let rows = (first..first + 200 + self.random.below(200))
            .map(|number| {
                let key = [group, &(number as u16).to_be_bytes()].concat();
                (space, key, (self.random.below(5) > 0).then(|| number.to_be_bytes().to_vec()))
            })
            .collect();
        self.commit(rows);
    }

    fn flush(&mut self) {
        let engine = self.engine();
        let position = engine.flush().unwrap();
        while engine.durable() < position {
            std::thread::yield_now();
        }
        let is_synced = engine.inner.log.durability() == Durability::Always;
        self.flushed = self.commits.len();
        if is_synced {
            self.synced = self.flushed;
        }
    }

    fn sync(&mut self) {
        self.engine().sync().unwrap();
        self.flushed = self.commits.len();
        self.synced = self.flushed;
    }

    fn write_back(&mut self) {
        // Rows that were clean before are read again after: none may be what it was.
        self.check_all();
        self.commit_few();
        self.engine().write_back_now();
        self.flushed = self.commits.len();
        self.synced = self.flushed;
        self.check_all();
    }

    fn take_snapshot(&mut self) {
        let snapshot = self.engine().snapshot().unwrap();
        self.snapshots.push((snapshot, self.model.clone()));
        if self.snapshots.len() > 3 {
            self.snapshots.remove(0);
        }
    }

    fn delete_range(&mut self) {
        let space = *self.random.one_of(&[FIXED, CHOSEN]);
        let (start, end) = self.bounds(space);
        if start == end {
            return;
        }
        self.engine().delete_range(space, Range { start: &start, end: &end }).unwrap();
        let gone: Rows = self.model.spaces[usize::from(space.0)]
            .range(start.clone()..end.clone().max(start))
            .map(|(key, _)| (space, key.clone(), None))
            .collect();
        self.model.apply(&gone);
        // Not a commit of its own: it is in the sorted data with all that came before it.
        self.commits.last_mut().into_iter().for_each(|last| last.extend(gone.clone()));
        self.flushed = self.commits.len();
        self.synced = self.flushed;
    }

    fn bounds(&mut self, space: Space) -> (Vec<u8>, Vec<u8>) {
        let (a, b) = (self.key(space), self.key(space));
        match self.random.below(4) {
            0 => (Vec::new(), vec![0xff; 8]),
            1 if space == FIXED => (b"aa".to_vec(), b"ab".to_vec()),
            1 if space == CHOSEN => (b"\x01a".to_vec(), b"\x01b".to_vec()),
            _ => (a.clone().min(b.clone()), a.max(b)),
        }
    }

    fn check_gets(&mut self) {
        let space = *self.random.one_of(&[FIXED, CHOSEN, QUEUE]);
        let keys: Vec<Vec<u8>> = (0..self.random.below(8)).map(|_| self.key(space)).collect();
        let (live, snapshot) = (&self.model, self.snapshots.last());
        let engine = self.engine.as_ref().unwrap();
        check_keys(&engine.begin_read(Wait::Allowed), live, space, &keys);
        if let Some((snapshot, model)) = snapshot {
            check_keys(snapshot, model, space, &keys);
        }
    }

    fn check_scan(&mut self) {
        let space = *self.random.one_of(&[FIXED, CHOSEN, QUEUE]);
        let (start, end) = self.bounds(space);
        let direction = *self.random.one_of(&[Direction::Forward, Direction::Backward]);
        let limit = *self.random.one_of(&[1, 3, 17, 300, usize::MAX]);
        let own: Rows = (0..self.random.below(4))
            .map(|_| (space, self.key(space), (self.random.below(3) > 0).then(|| self.value())))
            .collect();
        let engine = self.engine.as_ref().unwrap();
        let check = |read: &dyn Fn() -> Pairs, model: &Model| {
            let map = &model.spaces[usize::from(space.0)];
            let range = map.range(start.clone()..end.clone().max(start.clone()));
            let pairs = range.map(|(key, value)| (key.clone(), value.clone()));
            let want: Pairs = match direction {
                Direction::Forward => pairs.take(limit).collect(),
                Direction::Backward => pairs.rev().take(limit).collect(),
            };
            let found = read();
            let keys = |pairs: &Pairs| pairs.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
            assert_eq!(keys(&found), keys(&want), "{space:?} {start:?}..{end:?} {direction:?} {limit}");
            assert!(found == want, "values differ");
        };
        let live = engine.begin_read(Wait::Allowed);
        check(&|| scan_from(&live, space, &start, &end, direction, limit), &self.model);
        for (snapshot, model) in &self.snapshots {
            check(&|| scan_from(snapshot, space, &start, &end, direction, limit), model);
        }
        let mut tx = engine.begin_write(Wait::Allowed);
        for (space, key, value) in &own {
            match value {
                Some(value) => tx.put(*space, key, &[value]),
                None => tx.delete(*space, key),
            }
        }
        let mut model = self.model.clone();
        model.apply(&own);
        check(&|| scan_from(&tx, space, &start, &end, direction, limit), &model);
    }

    fn check_all(&self) {
        for space in [FIXED, CHOSEN, QUEUE] {
            let read = self.engine().begin_read(Wait::Allowed);
            let found = scan_from(&read, space, b"", &[0xff; 8], Direction::Forward, usize::MAX);
            let want: Pairs = self.model.spaces[usize::from(space.0)].clone().into_iter().collect();
            assert!(found == want, "{space:?} differs");
            let keys: Vec<Vec<u8>> = want.into_iter().map(|(key, _)| key).collect();
            check_keys(&read, &self.model, space, &keys);
        }
    }

    fn check_checkpoint(&mut self) {
        self.checkpoints += 1;
        let path = self.root.join(format!("copy{}", self.checkpoints));
        self.engine().checkpoint(&path).unwrap();
        self.flushed = self.commits.len();
        self.synced = self.flushed;
        let copy = open(&path);
        let mine = self.engine.replace(copy);
        self.check_all();
        self.engine = mine;
        std::fs::remove_dir_all(path).unwrap();
    }

    fn reopen(&mut self) {
        self.snapshots.clear();
        self.engine.take().unwrap().close().unwrap();
        self.open();
        self.flushed = self.commits.len();
        self.synced = self.flushed;
        self.check_all();
    }

    /// A write or a sync of the log fails. Then all of it is written anew, or the end comes first.
    fn fail_log(&mut self) {
        let faults = [Fault::Sync, Fault::Tear, Fault::Refuse(std::io::ErrorKind::PermissionDenied)];
        let fault = *self.random.one_of(&faults);
        self.commit_few();
        self.files.fail(1, fault);
        // Somebody else may have met it.
        let _failed = self.engine().sync();
        self.files.heal();
        self.tally.failures += 1;
        if self.random.below(2) == 0 {
            let is_power_loss = self.random.below(2) == 0;
            return self.crash(is_power_loss);
        }
        until("the log was written anew", || !self.engine().inner.log.is_stopped());
        self.check_all();
        self.sync();
    }

    /// The process ends, or the power goes.
    fn crash(&mut self, is_power_loss: bool) {
        *(if is_power_loss { &mut self.tally.power_states } else { &mut self.tally.crashes }) += 1;
        self.snapshots.clear();
        self.engine.take().unwrap().crash();
        if is_power_loss {
            let random = &mut self.random;
            self.files.lose_power(|unsynced| match random.below(3) {
                0 => 0,
                1 => unsynced,
                _ => random.below(unsynced as usize + 1) as u64,
            });
        }
        // What a crash may leave behind of files on their way.
        std::fs::write(self.root.join("db/ingest/0.sst"), b"half a file").unwrap();
        self.open();
        let count = get(self.engine(), QUEUE, COUNT)
            .map_or(0, |count| u64::from_be_bytes(count.try_into().unwrap()) as usize);
        let durable = if is_power_loss { self.synced } else { self.flushed };
        assert!(count >= durable, "{count} commits of {durable} durable ones are left");
        assert!(count <= self.commits.len());
        self.commits.truncate(count);
        self.model = Model::default();
        for rows in &self.commits {
            self.model.apply(rows);
        }
        // Recovery has made what it found durable.
        self.flushed = count;
        self.synced = count;
        self.check_all();
    }

    fn crash_in_write_back(&mut self) {
        let step = *self.random.one_of(&STEPS);
        if step.starts_with("file") || step == "space ingested" {
            self.commit_large();
        }
        *self.broken_step.lock() = Some(step);
        let number = self.engine().inner.freeze().unwrap();
        // A step that this write-back does not have lets it end well.
        let _outcome = self.engine().inner.wait_for_unit(number);
        self.flushed = self.commits.len();
        let is_power_loss = self.random.below(2) == 0;
        if self.random.below(3) == 0 {
            self.check_all();
            self.commit_few();
        }
        *self.broken_step.lock() = None;
        self.crash(is_power_loss);
    }

    /// More than goes in as a batch.
    fn commit_large(&mut self) {
        let rows = (0..100_u8)
            .map(|number| {
                let space = if number % 2 == 0 { FIXED } else { CHOSEN };
                (space, vec![1, b'x', number], Some(vec![number; 50_000]))
            })
            .collect();
        self.commit(rows);
    }
}

fn check_keys(read: &impl Read, model: &Model, space: Space, keys: &[Vec<u8>]) {
    let map = &model.spaces[usize::from(space.0)];
    for key in keys {
        assert!(get_from(read, space, key).as_ref() == map.get(key), "{space:?} {key:?}");
    }
    let slices: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
    let mut calls = 0;
    read.get_many(space, &slices, &mut |index, value| {
        assert_eq!(index, calls);
        assert!(value.map(<[u8]>::to_vec).as_ref() == map.get(&keys[index]), "{space:?} {:?}", keys[index]);
        calls += 1;
    })
    .unwrap();
    assert_eq!(calls, keys.len());
}
