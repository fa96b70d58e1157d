use std::collections::BTreeSet;

use super::*;
use crate::dispatch::locks::StripeSet;
use crate::keyspace::{ReadCx, draws};
use crate::testkit::Kit;
use crate::types::set;

type Model = BTreeSet<Vec<u8>>;

/// Always by reading, always by walking, and as it is.
const WAYS: [u64; 3] = [0, u64::MAX, ROWS_PER_READ];
const OPERATIONS: [Operation; 3] = [Operation::Intersection, Operation::Union, Operation::Difference];

fn kit() -> Kit {
    let mut kit = Kit::new();
    kit.now_ms = kit.node.clock.now_ms();
    kit
}

fn fill(kit: &mut Kit, key: &[u8], members: &Model) {
    let members: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
    for part in members.chunks(5_000) {
        let done = kit
            .executor
            .transact(&StripeSet::ALL, 0, |cx| set::add(cx, key, part.iter().copied()).map(|_| ()));
        done.expect("a commit");
    }
}

fn read<T>(kit: &mut Kit, work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>) -> T {
    kit.executor.look(0, work).expect("a read")
}

/// The members that an operation shows, in its order.
fn shown(
    cx: &mut ReadCx<'_>,
    operation: Operation,
    keys: &[&[u8]],
    rows_per_read: u64,
) -> Result<Vec<Vec<u8>>> {
    let mut members = Members::of(operation, find(cx, keys.iter().copied())?, rows_per_read);
    let mut shown = Vec::new();
    while let Some(sub) = members.next(cx)? {
        shown.push(sub.to_vec());
    }
    assert!(members.next(cx)?.is_none(), "stays at the end");
    assert!(shown.is_sorted() && shown.len() as u64 <= members.at_most());
    Ok(shown.into_iter().map(|sub| sub[8..].to_vec()).collect())
}

fn expected(operation: Operation, sets: &[&Model]) -> Model {
    let (first, others) = sets.split_first().expect("a set");
    others.iter().fold((*first).clone(), |result, other| match operation {
        Operation::Intersection => &result & other,
        Operation::Union => &result | other,
        Operation::Difference => &result - other,
    })
}

fn compare(kit: &mut Kit, keys: &[&[u8]], sets: &[&Model]) {
    for operation in OPERATIONS {
        let want = expected(operation, sets);
        for way in WAYS {
            let shown = read(kit, |cx| shown(cx, operation, keys, way));
            assert_eq!(shown.len(), want.len(), "{operation:?} {way}: each once");
            assert_eq!(shown.into_iter().collect::<Model>(), want, "{operation:?} {way}");
        }
        for limit in [1, 7, want.len() as u64, u64::MAX] {
            let counted = read(kit, |cx| count(cx, operation, keys.iter().copied(), limit));
            assert_eq!(counted, limit.min(want.len() as u64), "{operation:?} up to {limit}");
        }
    }
}

/// Sets of sizes from nothing to many steps of a walk, that share more or less of their members.
#[test]
fn operations_do_what_they_do_on_models() {
    for seed in 0..12 {
        let mut random = draws(seed);
        let mut below = |n: u64| random.next().unwrap_or_default() % n;
        let mut kit = kit();
        let universe = [10, 300, 3_000, 20_000][below(4) as usize];
        let keys: [&[u8]; 5] = [b"a", b"b", b"c", b"d", b"missing"];
        let mut models: Vec<Model> = Vec::new();
        for key in &keys[..4] {
            let share = [1, 2, 10, 100, 2_000][below(5) as usize];
            let model: Model = (0..universe)
                .filter(|_| below(share) == 0)
                .map(|n| if n % 3 == 0 { n.to_string().into_bytes() } else { format!("m{n}").into_bytes() })
                .collect();
            fill(&mut kit, key, &model);
            models.push(model);
        }
        models.push(Model::new());
        for _ in 0..8 {
            let picked: Vec<usize> = (0..1 + below(5)).map(|_| below(20) as usize % 5).collect();
            let picked_keys: Vec<&[u8]> = picked.iter().map(|at| keys[*at]).collect();
            let sets: Vec<&Model> = picked.iter().map(|at| &models[*at]).collect();
            compare(&mut kit, &picked_keys, &sets);
        }
    }
}

#[test]
fn a_large_set_meets_small_ones() {
    let mut kit = kit();
    let big: Model = (0..30_000).map(|n| format!("m{n}").into_bytes()).collect();
    let few: Model = [b"m7".to_vec(), b"m29999".to_vec(), b"other".to_vec()].into();
    let none: Model = (0..10).map(|n| format!("n{n}").into_bytes()).collect();
    for (key, model) in [(b"big", &big), (b"few", &few), (b"non", &none)] {
        fill(&mut kit, key, model);
    }
    compare(&mut kit, &[b"few", b"big"], &[&few, &big]);
    compare(&mut kit, &[b"big", b"few"], &[&big, &few]);
    compare(&mut kit, &[b"big", b"non", b"few"], &[&big, &none, &few]);
    compare(&mut kit, &[b"non", b"big"], &[&none, &big]);
    compare(&mut kit, &[b"big", b"big", b"non"], &[&big, &big, &none]);
}

/// What is walked is never more than what was said before.
#[test]
fn work_is_foreseen() {
    let mut kit = kit();
    for (key, step, count) in [(b"a", 1, 9_000), (b"b", 2, 4_000), (b"c", 7, 300), (b"d", 1, 20)] {
        let model: Model = (0..count).map(|n| (n * step).to_string().into_bytes()).collect();
        fill(&mut kit, key, &model);
    }
    for keys in [&[b"a", b"b"][..], &[b"b", b"a"], &[b"c", b"a"], &[b"a", b"c", b"d"], &[b"d", b"a", b"b"]] {
        for operation in OPERATIONS {
            read(&mut kit, |cx| {
                let keys = keys.iter().map(|key| key.as_slice());
                let mut members = super::open(cx, operation, keys)?;
                let work = members.work;
                while members.next(cx)?.is_some() {}
                let walked = match &members.source {
                    Source::Nothing => 0,
                    Source::Sieve(sieve) => sieve.walked(),
                    Source::Merge(merge) => merge.walked(),
                };
                assert!(walked > 0 && walked <= work, "{operation:?}: {walked} of {work}");
                Ok(())
            });
        }
    }
}
