//! Random histories against an ordered map.

use std::collections::BTreeMap;

use super::{Dice, GROUPED, Harness, PLAIN, Promise, QUEUE, Row, get, scan};
use crate::{Direction, Engine, Range, Read, Space, Wait, Write};

const STEPS: usize = 1500;
const SEEDS: [u64; 3] = [1, 20_261_115, 0x7461_726e];
const SNAPSHOTS: usize = 4;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// What an engine must hold: a map per space.
#[derive(Clone, Default)]
struct Model([Map; 3]);

impl Model {
    fn space(&self, space: Space) -> &Map {
        &self.0[usize::from(space.0)]
    }

    fn space_mut(&mut self, space: Space) -> &mut Map {
        &mut self.0[usize::from(space.0)]
    }

    fn range(&self, space: Space, start: &[u8], end: &[u8]) -> Vec<Row> {
        let rows = self.space(space).iter().filter(|(key, _)| ***key >= *start && ***key < *end);
        rows.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Asks a reader something at random and compares the answers.
    fn check(&self, read: &impl Read, dice: &mut Dice) {
        let space = any_space(dice);
        match dice.below(4) {
            0 => {
                let key = any_key(space, dice);
                assert_eq!(get(read, space, &key).as_ref(), self.space(space).get(&key), "{space:?} {key:?}");
            }
            1 => {
                let keys: Vec<_> = (0..dice.below(8)).map(|_| any_key(space, dice)).collect();
                let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                let mut found = Vec::new();
                read.get_many(space, &slices, &mut |_, value| found.push(value.map(<[u8]>::to_vec))).unwrap();
                let expected: Vec<_> = keys.iter().map(|key| self.space(space).get(key).cloned()).collect();
                assert_eq!(found, expected, "{space:?} {keys:?}");
            }
            _ => {
                let (start, end) = any_range(space, dice);
                let mut expected = self.range(space, &start, &end);
                let direction = if dice.one_in(2) { Direction::Forward } else { Direction::Backward };
                if direction == Direction::Backward {
                    expected.reverse();
                }
                let limit = if dice.one_in(2) { usize::MAX } else { dice.below(12) };
                expected.truncate(limit);
                let found = scan(read, space, Range { start: &start, end: &end }, direction, limit);
                assert_eq!(found, expected, "{space:?} {start:?} to {end:?} {direction:?} {limit}");
            }
        }
    }

    fn check_all(&self, read: &impl Read) {
        for space in [PLAIN, GROUPED, QUEUE] {
            assert_eq!(super::all(read, space), self.range(space, b"", super::END), "{space:?}");
        }
    }
}

fn any_space(dice: &mut Dice) -> Space {
    [PLAIN, GROUPED, QUEUE][dice.below(3)]
}

/// Few keys, so that they are met again, and close to each other: prefixes, neighbours, the least and greatest bytes.
fn any_key(space: Space, dice: &mut Dice) -> Vec<u8> {
    const BYTES: [u8; 6] = [0, 1, b'a', b'b', 0xfe, 0xff];
    let mut key = Vec::new();
    if space == GROUPED {
        key.push(dice.below(4) as u8);
    }
    for _ in 0..dice.below(5) {
        key.push(BYTES[dice.below(BYTES.len())]);
    }
    key
}

fn any_range(space: Space, dice: &mut Dice) -> (Vec<u8>, Vec<u8>) {
    let (start, end) = (any_key(space, dice), any_key(space, dice));
    match dice.below(6) {
        0 => (Vec::new(), super::END.to_vec()),
        1 => (start, super::END.to_vec()),
        // Mostly the right way round.
        2 => (start, end),
        _ => (start.clone().min(end.clone()), start.max(end)),
    }
}

fn any_value(dice: &mut Dice) -> Vec<u8> {
    let len = match dice.below(20) {
        0 => 0,
        1 => 2000 + dice.below(3000),
        _ => dice.below(40),
    };
    let fill = dice.roll() as u8;
    (0..len).map(|index| fill.wrapping_add(index as u8)).collect()
}

pub fn random_histories_match_an_ordered_map<H: Harness>(harness: &H) {
    // A longer run: TARN_SEEDS=1000 adds as many histories.
    let more = std::env::var("TARN_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(0);
    for seed in SEEDS.into_iter().chain(1000..1000 + more) {
        println!("seed {seed}");
        history(harness, seed);
    }
}

fn history<H: Harness>(harness: &H, seed: u64) {
    let mut dice = Dice(seed);
    let mut engine = harness.open();
    let mut model = Model::default();
    let mut snapshots: Vec<(Model, <H::Engine as Engine>::Snapshot)> = Vec::new();
    for _ in 0..STEPS {
        match dice.below(100) {
            0..50 => write(&engine, &mut model, &mut dice),
            50..70 => model.check(&engine.begin_read(Wait::Allowed), &mut dice),
            70..85 => {
                if let Some(at) = snapshots.len().checked_sub(1) {
                    let (then, snapshot) = &snapshots[dice.below(at + 1)];
                    then.check(snapshot, &mut dice);
                }
            }
            85..90 => snapshots.push((model.clone(), engine.snapshot().unwrap())),
            90..94 => {
                if snapshots.len() > SNAPSHOTS {
                    let (then, snapshot) = snapshots.remove(dice.below(SNAPSHOTS + 1));
                    then.check_all(&snapshot);
                }
            }
            94 => {
                let space = any_space(&mut dice);
                let (start, end) = any_range(space, &mut dice);
                match harness.local(&engine) {
                    Some(local) => local.delete_range(space, Range { start: &start, end: &end }).unwrap(),
                    None => {
                        let doomed =
                            model.space_mut(space).keys().filter(|key| **key >= start && **key < end);
                        super::delete(&engine, space, doomed);
                    }
                }
                model.space_mut(space).retain(|key, _| *key < start || *key >= end);
            }
            95 | 96 => harness.move_rows_down(&engine),
            97 => model.check_all(&engine.begin_read(Wait::Allowed)),
            98 => {
                engine.flush().unwrap();
            }
            _ => {
                if harness.promises().contains(&Promise::Lasting) && dice.one_in(2) {
                    snapshots.clear();
                    if dice.one_in(2) {
                        engine.close().unwrap();
                    } else {
                        engine.flush().unwrap();
                    }
                    engine = harness.reopen(engine);
                    model.check_all(&engine.begin_read(Wait::Allowed));
                }
            }
        }
    }
    model.check_all(&engine.begin_read(Wait::Allowed));
    for (then, snapshot) in &snapshots {
        then.check_all(snapshot);
    }
}

/// A write of a few rows that looks at what it does; mostly committed.
fn write(engine: &impl Engine, model: &mut Model, dice: &mut Dice) {
    let mut write = engine.begin_write(Wait::Allowed);
    let mut after = model.clone();
    for _ in 0..dice.below(10) {
        let space = any_space(dice);
        let key = any_key(space, dice);
        if dice.one_in(3) {
            write.delete(space, &key);
            after.space_mut(space).remove(&key);
        } else {
            let value = any_value(dice);
            let (head, tail) = value.split_at(value.len() / 3);
            write.put(space, &key, &[head, tail]);
            after.space_mut(space).insert(key, value);
        }
        if dice.one_in(3) {
            after.check(&write, dice);
        }
    }
    if dice.one_in(8) {
        write.rollback();
    } else {
        write.commit().unwrap();
        *model = after;
    }
}
