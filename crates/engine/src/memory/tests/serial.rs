//! Small interleaved histories: whatever commits could have run one after the other, and what is refused had to be.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::super::{MemoryEngine, MemoryWrite};
use crate::conformance::{PLAIN, SPACES};
use crate::{Direction, Engine, Error, Range, Read, Wait, Write};

const KEYS: u8 = 5;

#[derive(Debug, Clone)]
enum Op {
    Get(u8),
    GetMany(u8, u8),
    Scan { start: u8, end: u8, backward: bool, limit: usize },
    Put(u8),
    Delete(u8),
}

/// A read and what it answered: the rows found.
type Answer = Vec<(u8, u64)>;
type Map = BTreeMap<u8, u64>;

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..KEYS).prop_map(Op::Get),
        1 => (0..KEYS, 0..KEYS).prop_map(|(a, b)| Op::GetMany(a, b)),
        2 => (0..KEYS, 0..=KEYS, any::<bool>(), 1..4_usize)
            .prop_map(|(start, end, backward, limit)| Op::Scan { start, end, backward, limit }),
        3 => (0..KEYS).prop_map(Op::Put),
        2 => (0..KEYS).prop_map(Op::Delete),
    ]
}

/// Transactions, and whose turn it is: each turn begins one, runs its next operation, or commits it.
fn history() -> impl Strategy<Value = (Vec<Vec<Op>>, Vec<usize>)> {
    (2..6_usize).prop_flat_map(|count| {
        (
            prop::collection::vec(prop::collection::vec(op(), 0..5), count),
            prop::collection::vec(0..count, 0..40),
        )
    })
}

struct Open<'e> {
    write: MemoryWrite<'e>,
    began: usize,
    next: usize,
    answers: Vec<Answer>,
}

struct Committed {
    transaction: usize,
    began: usize,
    answers: Vec<Answer>,
    dirty: bool,
}

fn value(transaction: usize, op: usize) -> u64 {
    (transaction * 100 + op) as u64
}

fn run(write: &mut MemoryWrite<'_>, op: &Op, value: u64) -> Answer {
    let mut answer = Vec::new();
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
    match *op {
        Op::Get(key) => {
            let mut out = Vec::new();
            if write.get(PLAIN, &[key], &mut out).unwrap() {
                answer.push((key, number(&out)));
            }
        }
        Op::GetMany(a, b) => {
            let each = &mut |index, found: Option<&[u8]>| {
                if let Some(found) = found {
                    answer.push(([a, b][index], number(found)));
                }
            };
            write.get_many(PLAIN, &[&[a], &[b]], each).unwrap();
        }
        Op::Scan { start, end, backward, limit } => {
            let direction = if backward { Direction::Backward } else { Direction::Forward };
            let each = &mut |key: &[u8], found: &[u8]| {
                answer.push((key[0], number(found)));
                ControlFlow::Continue(())
            };
            write.scan(PLAIN, Range { start: &[start], end: &[end] }, direction, limit, each).unwrap();
        }
        Op::Put(key) => write.put(PLAIN, &[key], &[&value.to_be_bytes()]),
        Op::Delete(key) => write.delete(PLAIN, &[key]),
    }
    answer
}

/// The same on a map.
fn replay(map: &mut Map, op: &Op, value: u64) -> Answer {
    let row = |map: &Map, key: u8| map.get(&key).map(|value| (key, *value));
    match *op {
        Op::Get(key) => row(map, key).into_iter().collect(),
        Op::GetMany(a, b) => row(map, a).into_iter().chain(row(map, b)).collect(),
        Op::Scan { start, end, backward, limit } => {
            let mut rows: Answer = (start..end).filter_map(|key| row(map, key)).collect();
            if backward {
                rows.reverse();
            }
            rows.truncate(limit);
            rows
        }
        Op::Put(key) => {
            map.insert(key, value);
            Vec::new()
        }
        Op::Delete(key) => {
            map.remove(&key);
            Vec::new()
        }
    }
}

/// Which keys another's change may not touch: those that were read or written.
fn footprint(ops: &[Op], answers: &[Answer]) -> Vec<u8> {
    let mut keys = Vec::new();
    for (op, answer) in ops.iter().zip(answers) {
        match *op {
            Op::Get(key) | Op::Put(key) | Op::Delete(key) => keys.push(key),
            Op::GetMany(a, b) => keys.extend([a, b]),
            Op::Scan { start, end, backward, limit } => {
                let stopped_at = (answer.len() == limit).then(|| answer.last().unwrap().0);
                keys.extend((start..end).filter(|key| {
                    stopped_at.is_none_or(|stop| if backward { *key >= stop } else { *key <= stop })
                }));
            }
        }
    }
    keys
}

fn check(transactions: &[Vec<Op>], turns: &[usize]) -> Result<(), TestCaseError> {
    let engine = MemoryEngine::new(SPACES);
    let mut open: Vec<Option<Open<'_>>> = transactions.iter().map(|_| None).collect();
    let mut finished = vec![false; transactions.len()];
    // The state after each commit, and the commits that led there.
    let mut states = vec![Map::new()];
    let mut commits: Vec<Committed> = Vec::new();
    let rest = (0..transactions.len()).flat_map(|transaction| std::iter::repeat_n(transaction, 8));
    for transaction in turns.iter().copied().chain(rest) {
        let ops = &transactions[transaction];
        if finished[transaction] {
            continue;
        }
        let Some(running) = &mut open[transaction] else {
            let write = engine.begin_write(Wait::Allowed);
            open[transaction] = Some(Open { write, began: states.len() - 1, next: 0, answers: Vec::new() });
            continue;
        };
        if let Some(op) = ops.get(running.next) {
            running.answers.push(run(&mut running.write, op, value(transaction, running.next)));
            running.next += 1;
            continue;
        }
        let Open { write, began, answers, .. } = open[transaction].take().unwrap();
        finished[transaction] = true;
        let keys = footprint(ops, &answers);
        let changed =
            |state: usize| keys.iter().any(|key| states[state].get(key) != states[state - 1].get(key));
        let must_refuse = (began + 1..states.len()).any(changed);
        let dirty = write.is_dirty();
        match write.commit() {
            Ok(_) => {
                prop_assert!(!dirty || !must_refuse, "{ops:?} had to be refused");
                let mut state = states.last().unwrap().clone();
                for (index, op) in ops.iter().enumerate() {
                    replay(&mut state, op, value(transaction, index));
                }
                if dirty {
                    states.push(state);
                }
                commits.push(Committed { transaction, began, answers, dirty });
            }
            Err(Error::Conflict) => prop_assert!(dirty && must_refuse, "{ops:?} was refused for nothing"),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }
    // Writers in the order of their commits, readers when they began: every answer must be the same.
    let mut state = 0;
    for commit in &commits {
        let mut map = states[if commit.dirty { state } else { commit.began }].clone();
        for (index, op) in transactions[commit.transaction].iter().enumerate() {
            let answer = replay(&mut map, op, value(commit.transaction, index));
            prop_assert_eq!(&answer, &commit.answers[index], "transaction {}: {:?}", commit.transaction, op);
        }
        state += usize::from(commit.dirty);
    }
    let mut last = engine.begin_write(Wait::Allowed);
    let all = Op::Scan { start: 0, end: KEYS, backward: false, limit: usize::MAX };
    prop_assert_eq!(run(&mut last, &all, 0), replay(&mut states[state].clone(), &all, 0));
    drop(open);
    drop(last);
    prop_assert_eq!(engine.superseded(), 0, "nobody is left who could see an old version");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn interleaved_transactions_are_serialisable((transactions, turns) in history()) {
        check(&transactions, &turns)?;
    }
}
