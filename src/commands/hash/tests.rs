use crate::keyspace::Env;
use crate::testkit::Kit;

#[test]
fn one_field_of_many() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("HSET h a 1 b 2 a 3 | HGET h a | HLEN h"), ":2 | \"3\" | :2");
}

/// HSET of so many fields.
fn fill(kit: &mut Kit, key: &str, count: usize) {
    let words = (0..count).flat_map(|n| [format!("f{n}"), format!("v{n}")]);
    kit.words(["HSET".to_owned(), key.to_owned()].into_iter().chain(words));
}

#[test]
fn long_work_leaves_the_io_thread() {
    let mut kit = Kit::new();
    fill(&mut kit, "h", Env::IO_THREAD_MAX_ROWS);
    assert!(!kit.moved);
    for line in
        ["HGETALL h", "HKEYS h", "HVALS h", "HRANDFIELD h 1000", "HSCAN h 0 COUNT 5000", "HRANDFIELD h -5"]
    {
        kit.run(line);
        assert!(!kit.moved, "{line}");
    }
    fill(&mut kit, "g", Env::IO_THREAD_MAX_ROWS + 1);
    assert!(kit.moved);
    for line in
        ["HGETALL g", "HKEYS g", "HVALS g", "HRANDFIELD g 1001", "HSCAN g 0 COUNT 1001", "HRANDFIELD g -11"]
    {
        kit.run(line);
        assert!(kit.moved, "{line}");
    }
    for line in ["HLEN g", "HGET g f1", "HSCAN g 0", "HRANDFIELD g", "HRANDFIELD g 5", "DEL g"] {
        kit.run(line);
        assert!(!kit.moved, "{line}");
    }
}

#[test]
fn a_pick_is_fair() {
    let mut kit = Kit::new();
    kit.run("HSET h a 1 b 2 c 3");
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..300 {
        *counts.entry(kit.run("HRANDFIELD h")).or_insert(0) += 1;
    }
    assert!(counts.len() == 3 && counts.values().all(|count| *count > 60), "{counts:?}");
}
