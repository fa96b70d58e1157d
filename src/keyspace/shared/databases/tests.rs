use tarn_engine::AnyEngine;
use tarn_engine::memory::MemoryEngine;

use super::*;
use crate::encoding::SPACES;
use crate::keyspace::start;
use crate::testkit::Kit;

fn numbers(databases: &Databases) -> Vec<u32> {
    databases.iter().map(|db| db.physical).collect()
}

#[test]
fn numbers_are_the_databases_own_until_they_change() {
    let databases = Databases::new([0, 1, 2], 3);
    assert_eq!(numbers(&databases), [0, 1, 2]);
    databases.apply(&[Db { logical: 0, physical: 1 }, Db { logical: 1, physical: 0 }]);
    assert_eq!(numbers(&databases), [1, 0, 2]);
    assert_eq!(databases.owner(1), Some(Db { logical: 0, physical: 1 }));
    assert_eq!(databases.get(3), None);
}

#[test]
fn only_a_dropped_number_has_no_owner() {
    let databases = Databases::new([1 << 16, 1, 77_000], 2);
    assert_eq!(databases.count(), 2);
    assert_eq!(databases.owner(0), None);
    assert_eq!(databases.owner(2), None);
    assert_eq!(databases.owner((1 << 16) + 1), None);
    // On record, and beyond the record: not for clients, but kept.
    assert_eq!(databases.owner(77_000), Some(Db { logical: 2, physical: 77_000 }));
    assert_eq!(databases.owner(15), Some(Db { logical: 15, physical: 15 }));
    assert_eq!(databases.get(2), None);
}

#[test]
fn the_map_survives_a_restart_with_fewer_databases_and_one_with_as_many() {
    let engine: AnyEngine = MemoryEngine::new(SPACES).into();
    let mut kit = Kit::over(engine, &[]);
    kit.run("SET a 0 | SELECT 9 | SET a 9 | SWAPDB 0 9 | SELECT 12 | SET a 12 | FLUSHDB | SET a new");
    let before = numbers(&kit.node.keyspace.shared.databases);
    let (fewer, _) = start::open(&kit.node.engine, &[], 4, 1).unwrap();
    assert_eq!(fewer.seed(), kit.node.keyspace.seed());
    assert_eq!(numbers(&fewer.shared.databases), before[..4]);
    assert_eq!(fewer.shared.databases.owner(before[12]), Some(Db { logical: 12, physical: before[12] }));
    assert_eq!(fewer.shared.databases.owner(12), None, "flushed");
    assert_eq!(fewer.shared.databases.owner(15), Some(Db { logical: 15, physical: 15 }));
    let (again, _) = start::open(&kit.node.engine, &[], 16, 1).unwrap();
    assert_eq!(numbers(&again.shared.databases), before);
}
