//! Random commands over the engine with a disk, with compactions forced between them, against the model: nothing that
//! lives is dropped, also where keys are made again, expire, are being built or are seen by snapshots; and all that is
//! dead is dropped.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tarn_engine::rocksdb::{OpenOptions, RocksEngine};
use tarn_engine::{AnySnapshot, Durability, Filter, MemoryBudget, Range};

use super::play::{Play, command};
use super::{Data, Model};
use crate::encoding::meta::Kind;
use crate::encoding::rows::database;
use crate::encoding::{DATA, META, SCORE, SPACES};
use crate::keyspace::filter::Garbage;
use crate::keyspace::{Env, Limits, Located, Place, ReadCx, Source, draws};
use crate::node::Node;
use crate::testkit::Kit;
use crate::types::collection::Collection;

const COMMANDS: usize = 3_000;
const MIB: usize = 1 << 20;

fn kit(dir: &std::path::Path) -> Kit {
    let filter = Arc::new(Garbage::default());
    let engine = RocksEngine::open(OpenOptions {
        dir: dir.to_path_buf(),
        spaces: SPACES,
        durability: Durability::Os,
        memory: MemoryBudget { dirty_bytes: 8 * MIB, row_cache_bytes: MIB, block_cache_bytes: 4 * MIB },
        filter: Some(Arc::clone(&filter) as Arc<dyn Filter>),
        truncate_damaged_log: false,
    })
    .expect("a fresh directory");
    let kit = Kit::over(engine.into(), &[]);
    filter.begin(Arc::clone(&kit.node.keyspace));
    kit
}

fn compact(node: &Node) {
    let db = node.keyspace.shared.database(0).expect("a database").physical;
    let (start, end) = database(db);
    for space in [META, DATA, SCORE] {
        crate::keyspace::local::compact(&node.engine, space, Range { start: &start, end: &end })
            .expect("a compaction");
    }
}

/// What a snapshot shows of the model's collections.
fn check_snapshot(kit: &Kit, snapshot: &AnySnapshot, model: &Model) {
    let mut arena = crate::reply::Arena::new();
    let env = Env {
        keyspace: &kit.node.keyspace,
        db: kit.node.keyspace.shared.database(0).expect("a database"),
        map_epoch: 0,
        now_ms: model.now_ms,
        place: Place::Worker,
        located: Located::default(),
        limits: &Limits::DEFAULT,
        random: 0,
        events: kit.node.pubsub.to_note(),
        sorts_fields: kit.node.keyspace.parts.sorts(),
        woken: false,
        notes_order: false,
        cluster_enabled: false,
    };
    let mut cx = ReadCx::new(env, Source::Snapshot(snapshot), &mut arena);
    for (name, key) in &model.keys {
        let (kind, size) = match &key.data {
            Data::String(_) => continue,
            Data::Hash(hash) => (Kind::Hash, hash.len()),
            Data::Set(set) => (Kind::Set, set.len()),
            Data::List(list) => (Kind::List, list.len()),
            Data::Sorted(sorted) => (Kind::SortedSet, sorted.len()),
        };
        let found = Collection::find(&mut cx, name, kind).expect("a read").expect("it was there");
        let mut rows = 0;
        found
            .each(&cx, &mut |_| {
                rows += 1;
                ControlFlow::Continue(())
            })
            .expect("a scan");
        assert_eq!((found.size(), rows), (size as u64, size), "{}", name.escape_ascii());
    }
}

/// Rows of elements in the sorted data and the tables.
fn element_rows(kit: &mut Kit) -> [usize; 2] {
    let db = kit.node.keyspace.shared.database(0).expect("a database").physical;
    let (start, end) = database(db);
    [DATA, SCORE].map(|space| {
        let mut rows = 0;
        let counted = kit.executor.look(0, |cx| {
            crate::keyspace::View::scan_each(cx, space, &start, &end, usize::MAX, &mut |_, _| {
                rows += 1;
                ControlFlow::Continue(())
            })
        });
        counted.expect("a scan");
        rows
    })
}

#[test]
fn compactions_between_commands_change_nothing() {
    for seed in 0..3_u64 {
        let dir = tempfile::tempdir().expect("a directory");
        let mut play = Play::over(kit(dir.path()));
        let mut random = draws(0xc0ffee + seed);
        let mut snapshots: Vec<(AnySnapshot, Model)> = Vec::new();
        for _ in 0..COMMANDS {
            assert_eq!(play.step(&command(&mut random)), None);
            match random.next().unwrap() % 128 {
                0 => compact(&play.kit.node),
                1 if snapshots.len() < 3 => {
                    snapshots
                        .push((play.kit.node.engine.snapshot().expect("a snapshot"), play.model.clone()));
                }
                2 => {
                    if let Some((snapshot, model)) = snapshots.pop() {
                        check_snapshot(&play.kit, &snapshot, &model);
                    }
                }
                3..8 => {
                    let ms = random.next().unwrap() % 900;
                    play.kit.pass_ms(ms);
                    play.model.pass_ms(ms);
                }
                _ => {}
            }
        }
        snapshots.clear();
        // What has expired and was not met since is there still.
        let names: Vec<Vec<u8>> = super::play::KEYS.iter().map(|key| key.as_bytes().to_vec()).collect();
        for name in names.iter().filter(|name| !play.model.keys.contains_key(*name)) {
            play.kit.words([b"SET".as_slice(), name, b"x"]);
            play.kit.words([b"DEL".as_slice(), name]);
        }
        compact(&play.kit.node);
        let (now, model) = (play.everything(), play.model.clone());
        assert!(play.is(&model, &now), "{now:?}\n{model:?}");
        let live = |only_sorted: bool| {
            let sizes = model.keys.values().map(|key| match &key.data {
                Data::Sorted(sorted) => sorted.len(),
                _ if only_sorted => 0,
                Data::String(_) => 0,
                Data::Hash(hash) => hash.len(),
                Data::Set(set) => set.len(),
                Data::List(list) => list.len(),
            });
            sizes.sum::<usize>()
        };
        assert_eq!(element_rows(&mut play.kit), [live(false), live(true)], "no garbage is left");
        // What was deleted with the last elements of a collection is counted for dead and dropped by other means.
        let counted = play.kit.node.keyspace.garbage.rows.count();
        assert!(counted < COMMANDS as u64 / 50, "{counted} rows are still counted that were dropped");
    }
}

/// A version is built in many commits while compactions run: none of its rows is taken for garbage.
#[test]
fn versions_being_built_outlive_compactions() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut kit = kit(dir.path());
    for (key, from) in [("a", 0), ("b", 2_000)] {
        let members = (from..from + 3_000).map(|n| format!("member:{n}"));
        kit.words(["SADD".to_owned(), key.to_owned()].into_iter().chain(members));
    }
    let done = AtomicBool::new(false);
    let node = Arc::clone(&kit.node);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                compact(&node);
            }
        });
        for round in 0..10 {
            let line = if round % 2 == 0 { "SUNIONSTORE to a b" } else { "SINTERSTORE to a b" };
            let size = if round % 2 == 0 { 5_000 } else { 1_000 };
            assert_eq!(kit.run(line), format!(":{size}"));
            let members = kit.run("SMEMBERS to");
            assert_eq!(members.matches("member:").count(), size, "{line}");
            assert_eq!(kit.run("SCARD to"), format!(":{size}"));
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Versions that streams own, for their groups, are kept as long as the groups are there, and go with them.
#[test]
fn groups_of_streams_outlive_compactions() {
    for seed in 0..2_u64 {
        let dir = tempfile::tempdir().expect("a directory");
        let mut kit = kit(dir.path());
        let mut random = draws(0x57 + seed);
        let mut below = |limit: u64| random.next().unwrap() % limit;
        for step in 0..600 {
            let (key, group) = (["s", "t"][below(2) as usize], ["g", "h"][below(2) as usize]);
            let consumer = ["c", "d"][below(2) as usize];
            let line = match below(20) {
                0..4 => format!("XADD {key} * f {step}"),
                4 => format!("XADD {key} IDMP p{} {step} * f {step}", below(3)),
                5 if below(8) == 0 => format!("XCFGSET {key} IDMP-MAXSIZE {}", 5 + below(3)),
                5 => format!("XADD {key} IDMPAUTO p * f {}", below(30)),
                6..8 => format!("XGROUP CREATE {key} {group} 0 MKSTREAM"),
                8..14 => format!("XREADGROUP GROUP {group} {consumer} COUNT 3 STREAMS {key} >"),
                14 => format!("XTRIM {key} MAXLEN 20"),
                15 => format!("XGROUP DELCONSUMER {key} {group} {consumer}"),
                16 if below(4) == 0 => format!("XGROUP DESTROY {key} {group}"),
                17 => format!("COPY {key} u REPLACE"),
                18 if below(4) == 0 => format!("RENAME {key} u"),
                19 if below(8) == 0 => format!("DEL {key}"),
                _ => format!("XAUTOCLAIM {key} {group} {consumer} 0 0"),
            };
            kit.run(&line);
            kit.pass_ms(1);
            if step % 40 == 39 {
                let all =
                    "XINFO STREAM s FULL COUNT 0 | XINFO STREAM t FULL COUNT 0 | XINFO STREAM u FULL COUNT 0";
                let before = kit.run(all);
                compact(&kit.node);
                assert_eq!(kit.run(all), before, "seed {seed}, step {step}");
                // What was recorded is still known.
                for key in ["s", "t"] {
                    let line = format!("XADD {key} IDMP last {step} * f v");
                    let id = kit.run(&line);
                    compact(&kit.node);
                    assert_eq!(kit.run(&line), id, "{key}, seed {seed}, step {step}");
                }
            }
        }
        kit.run("XGROUP DESTROY s g | XGROUP DESTROY s h | DEL s | DEL t | DEL u");
        compact(&kit.node);
        compact(&kit.node);
        assert_eq!(element_rows(&mut kit), [0, 0], "no garbage is left");
    }
}
