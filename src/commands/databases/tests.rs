use crate::testkit::Kit;

#[test]
fn moving_needs_another_database_and_room_there() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("SET a 1 EX 100 | MOVE a 1 | EXISTS a | DBSIZE"), "+OK | :1 | :0 | :0");
    assert_eq!(
        kit.run("SELECT 1 | GET a | TTL a | MOVE a 0 | SELECT 0 | GET a"),
        r#"+OK | "1" | :100 | :1 | +OK | "1""#
    );
    assert_eq!(kit.run("COPY a a DB 1 | MOVE a 1 | GET a"), r#":1 | :0 | "1""#);
    assert_eq!(
        kit.run("MOVE a 0 | MOVE a 16 | MOVE a x | MOVE a 99999999999"),
        "-ERR source and destination objects are the same | -ERR DB index is out of range \
         | -ERR value is not an integer or out of range \
         | -ERR value is out of range, value must between -2147483648 and 2147483647"
    );
}

#[test]
fn swapping_and_flushing_change_numbers_only() {
    let mut kit = Kit::new();
    assert_eq!(
        kit.run("SET a 0 | SELECT 1 | SET a 1 EX 100 | SWAPDB 0 1 | GET a"),
        r#"+OK | +OK | +OK | +OK | "0""#
    );
    assert_eq!(kit.run("FLUSHDB | DBSIZE | SELECT 0 | GET a | TTL a"), r#"+OK | :0 | +OK | "1" | :100"#);
    assert_eq!(kit.run("FLUSHALL ASYNC | DBSIZE | GET a | SET a 2 | TTL a"), "+OK | :0 | nil | +OK | :-1");
    assert_eq!(kit.run("SWAPDB 0 0 | GET a | SWAPDB 0 15 | DBSIZE"), r#"+OK | "2" | +OK | :0"#);
    assert_eq!(
        kit.run("SWAPDB 99999999999 0 | SWAPDB 0 x | SWAPDB 0 16"),
        "-ERR invalid first DB index | -ERR invalid second DB index | -ERR DB index is out of range"
    );
}

#[test]
fn an_empty_database_keeps_its_number() {
    let mut kit = Kit::new();
    let number = |kit: &Kit| kit.node.keyspace.shared.database(2).map(|db| db.physical);
    assert_eq!(kit.run("FLUSHALL | SELECT 2 | FLUSHDB SYNC"), "+OK | +OK | +OK");
    assert_eq!(number(&kit), Some(2));
    assert_eq!(kit.run("SET a 1 | FLUSHDB"), "+OK | +OK");
    assert!(number(&kit).is_some_and(|number| number >= 1 << 16));
}

#[test]
fn a_wrong_word_flushes_nothing() {
    let mut kit = Kit::new();
    kit.run("SET a 1");
    for line in ["FLUSHALL NOW", "FLUSHDB SYNC ASYNC", "FLUSHALL SYNC SYNC"] {
        assert_eq!(kit.run(line), "-ERR syntax error");
    }
    assert_eq!(kit.run("DBSIZE"), ":1");
}

#[test]
fn a_cluster_does_not_move_or_swap() {
    let mut kit = Kit::with(&[("cluster-enabled", "yes")]);
    assert_eq!(
        kit.run("MOVE a x | SWAPDB 0 0 | SET a 1 | FLUSHALL | DBSIZE"),
        "-ERR MOVE is not allowed in cluster mode | -ERR SWAPDB is not allowed in cluster mode | +OK | +OK | :0"
    );
}
