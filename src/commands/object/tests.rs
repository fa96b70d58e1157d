use crate::testkit::Kit;

#[test]
fn encodings_are_those_redis_would_choose() {
    let mut kit = Kit::new();
    for (value, encoding) in [
        ("1", "int"),
        ("-9223372036854775808", "int"),
        ("9223372036854775808", "embstr"),
        ("01", "embstr"),
        ("", "embstr"),
        (&"x".repeat(44), "embstr"),
        (&"x".repeat(45), "raw"),
        (&"x".repeat(100_000), "raw"),
    ] {
        kit.words(["SET", "a", value]);
        assert_eq!(kit.run("OBJECT ENCODING a"), format!("{encoding:?}"), "{} bytes", value.len());
    }
}

#[test]
fn small_integers_are_shared() {
    let mut kit = Kit::new();
    for (value, count) in [("0", 2_147_483_647), ("9999", 2_147_483_647), ("10000", 1), ("-1", 1), ("abc", 1)]
    {
        kit.words(["SET", "a", value]);
        assert_eq!(kit.run("OBJECT REFCOUNT a"), format!(":{count}"), "{value}");
    }
}

#[test]
fn what_does_not_exist_is_nil() {
    let mut kit = Kit::new();
    kit.run("SET a 1 PX 1");
    kit.pass_ms(1);
    assert_eq!(
        kit.run("OBJECT ENCODING a | OBJECT FREQ a | OBJECT IDLETIME a | OBJECT REFCOUNT a"),
        "nil | nil | nil | nil"
    );
}
