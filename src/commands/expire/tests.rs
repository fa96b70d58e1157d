use crate::testkit::{Kit, START_MS};

#[test]
fn times_are_kept_to_the_millisecond() {
    let mut kit = Kit::new();
    kit.run("SET a 1 | PEXPIRE a 1500");
    assert_eq!(kit.run("PTTL a | TTL a | PEXPIRETIME a"), format!(":1500 | :2 | :{}", START_MS + 1500));
    kit.pass_ms(1);
    assert_eq!(kit.run("PTTL a | TTL a"), ":1499 | :1");
    kit.pass_ms(1498);
    assert_eq!(kit.run("PTTL a | TTL a | GET a"), r#":1 | :0 | "1""#);
    kit.pass_ms(1);
    assert_eq!(kit.run("PTTL a | GET a | PERSIST a | EXPIRE a 10"), ":-2 | nil | :0 | :0");
}

#[test]
fn a_time_that_has_come_deletes() {
    let mut kit = Kit::new();
    let now = START_MS;
    for line in ["EXPIRE a 0", "EXPIRE a -1", "PEXPIREAT a -5", &format!("PEXPIREAT a {now}"), "EXPIREAT a 0"]
    {
        kit.run("SET a 1 EX 100");
        assert_eq!(kit.run(&format!("{line} | EXISTS a | DBSIZE")), ":1 | :0 | :0", "{line}");
    }
    kit.run("SET a 1");
    assert_eq!(kit.run(&format!("PEXPIREAT a {} | PTTL a", now + 1)), ":1 | :1");
}

#[test]
fn never_is_later_than_any_time() {
    let mut kit = Kit::new();
    kit.run("SET a 1");
    assert_eq!(kit.run("EXPIRE a 10 GT | EXPIRE a 10 XX | EXPIRE a 10 LT | TTL a"), ":0 | :0 | :1 | :10");
    assert_eq!(
        kit.run("EXPIRE a 10 GT | EXPIRE a 10 LT | EXPIRE a 11 GT | EXPIRE a 9 XX LT"),
        ":0 | :0 | :1 | :1"
    );
    assert_eq!(kit.run("EXPIRE a 99 NX | PERSIST a | EXPIRE a 99 nx | TTL a"), ":0 | :1 | :1 | :99");
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut kit = Kit::new();
    kit.run("SET a 1 EX 100");
    for (line, words) in [
        ("EXPIRE a 9223372036854775807", "-ERR invalid expire time in 'expire' command"),
        ("EXPIRE a -9223372036854775808", "-ERR invalid expire time in 'expire' command"),
        ("PEXPIRE a 9223372036854775807", "-ERR invalid expire time in 'pexpire' command"),
        ("EXPIREAT a 9223372036854776", "-ERR invalid expire time in 'expireat' command"),
        ("EXPIRE a 1 XY", "-ERR Unsupported option XY"),
        ("EXPIRE a x XY", "-ERR Unsupported option XY"),
        ("EXPIRE a 1.5", "-ERR value is not an integer or out of range"),
        ("EXPIRE a 1 LT GT", "-ERR GT and LT options at the same time are not compatible"),
        ("EXPIRE a 1 LT NX", "-ERR NX and XX, GT or LT options at the same time are not compatible"),
    ] {
        assert_eq!(kit.run(line), words, "{line}");
    }
    assert_eq!(
        kit.run("TTL a | PEXPIREAT a 9223372036854775807 | PEXPIRETIME a"),
        ":100 | :1 | :9223372036854775807"
    );
    assert_eq!(kit.run("EXPIRETIME a"), ":9223372036854776");
}
