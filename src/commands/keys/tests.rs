use crate::keyspace::Env;
use crate::testkit::Kit;

#[test]
fn a_rename_takes_value_and_expiry_along() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("SET a 1 EX 100 | SET b 2 | RENAME a b"), "+OK | +OK | +OK");
    assert_eq!(kit.run("GET b | TTL b | EXISTS a | DBSIZE"), r#""1" | :100 | :0 | :1"#);
    assert_eq!(kit.run("RENAME b b | TTL b | RENAMENX b b"), "+OK | :100 | :0");
    assert_eq!(kit.run("RENAME a c | RENAMENX a a"), "-ERR no such key | -ERR no such key");
    assert_eq!(
        kit.run("SET c 3 | RENAMENX b c | RENAMENX b d | MGET b c d"),
        r#"+OK | :0 | :1 | [nil "3" "1"]"#
    );
}

#[test]
fn long_strings_are_renamed_and_copied_piece_by_piece() {
    let mut kit = Kit::new();
    let long = "x".repeat(100_000);
    kit.words(["SET", "a", long.as_str()]);
    assert_eq!(kit.run("COPY a b | RENAME a c | APPEND c y"), ":1 | +OK | :100001");
    assert_eq!(
        kit.run("STRLEN b | STRLEN c | GETRANGE c -2 -1 | DBSIZE"),
        r#":100000 | :100001 | "xy" | :2"#
    );
}

#[test]
fn an_expired_key_is_in_nobodys_way() {
    let mut kit = Kit::new();
    kit.run("SET a 1 PX 10 | SET b 2");
    kit.pass_ms(10);
    assert_eq!(kit.run("RENAME a c | COPY a c | DEL a | DBSIZE"), "-ERR no such key | :0 | :0 | :1");
    kit.run("SET a 1 PX 10");
    kit.pass_ms(10);
    assert_eq!(kit.run("RENAMENX b a | TTL a | GET a | DBSIZE"), r#":1 | :-1 | "2" | :1"#);
}

#[test]
fn many_keys_are_deleted_on_a_worker() {
    let mut kit = Kit::new();
    let with_keys = |command: &str, count: usize| {
        let keys = (0..count).map(|n| format!("k{n}"));
        std::iter::once(command.to_owned()).chain(keys).collect::<Vec<_>>()
    };
    kit.run("MSET k0 0 k7 7");
    assert_eq!(kit.words(with_keys("EXISTS", Env::IO_THREAD_MAX_ROWS)), ":2");
    assert!(!kit.moved);
    assert_eq!(kit.words(with_keys("EXISTS", Env::IO_THREAD_MAX_ROWS + 1)), ":2");
    assert!(kit.moved);
    assert_eq!(kit.words(with_keys("DEL", Env::IO_THREAD_MAX_ROWS + 1)), ":2");
    assert!(kit.moved);
    assert_eq!(kit.run("DBSIZE"), ":0");
}

#[test]
fn a_cluster_has_one_database() {
    let mut kit = Kit::with(&[("cluster-enabled", "yes")]);
    assert_eq!(
        kit.run("SET a 1 | COPY a b | COPY a b DB 0 | COPY a b DB 1"),
        "+OK | :1 | :0 | -ERR Copying to another database is not allowed in cluster mode"
    );
}
