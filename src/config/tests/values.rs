//! Numbers, units, words and the types that are more than those.

use crate::config::parse::{self, Source};
use crate::config::types::{Events, OutputLimit, Share};
use crate::config::{Config, Guard, table, units, words};

#[test]
fn integers_have_one_spelling() {
    for (text, number) in [
        ("0", 0),
        ("7", 7),
        ("-1", -1),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ] {
        assert_eq!(units::integer(text.as_bytes()), Some(i128::from(number)), "{text}");
    }
    for text in
        ["", "-", "+1", "01", "-0", "1 ", " 1", "1.0", "0x1", "9223372036854775808", "-9223372036854775809"]
    {
        assert_eq!(units::integer(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn memory_has_units() {
    for (text, bytes) in [
        ("0", 0),
        ("1", 1),
        ("1b", 1),
        ("1k", 1_000),
        ("1kb", 1_024),
        ("1KB", 1_024),
        ("2m", 2_000_000),
        ("2Mb", 2 << 20),
        ("3g", 3_000_000_000),
        ("3gB", 3 << 30),
        ("99999999999999999999", u64::MAX),
        ("99999999999gb", u64::MAX),
    ] {
        assert_eq!(units::memory(text.as_bytes()), Some(bytes), "{text}");
    }
    for text in ["", "kb", "-1", "1t", "1tb", "1.5gb", "1 kb", "1kbb", "50%"] {
        assert_eq!(units::memory(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn memory_is_written_in_the_largest_exact_unit() {
    for (bytes, text) in [
        (0, "0"),
        (1, "1"),
        (1023, "1023"),
        (1024, "1kb"),
        (3 << 20, "3mb"),
        (1 << 30, "1gb"),
        (1_234_567, "1234567"),
    ] {
        assert_eq!(units::format_memory(bytes), text);
        assert_eq!(units::memory(text.as_bytes()), Some(bytes));
    }
}

#[test]
fn octal_is_for_permissions() {
    assert_eq!(units::octal(b"755"), Some(0o755));
    assert_eq!(units::octal(b"0770"), Some(0o770));
    assert_eq!(units::octal(b""), None);
    assert_eq!(units::octal(b"888"), None);
    assert_eq!(units::octal(b"77777777777777777777"), Some(u32::MAX));
}

#[test]
fn lines_split_into_words_as_redis_splits_them() {
    let split = |line: &str| words::split(line.as_bytes());
    let is = |line: &str, expected: &[&[u8]]| {
        assert_eq!(split(line), Some(expected.iter().map(|word| word.to_vec()).collect()), "{line}");
    };
    is("", &[]);
    is("   ", &[]);
    is("save 900\t1 ", &[b"save", b"900", b"1"]);
    is(r#"a """#, &[b"a", b""]);
    is(r#"a "b c" 'd e'"#, &[b"a", b"b c", b"d e"]);
    is(r#""\n\r\t\b\a\x41\xfF\q\"\\""#, &[b"\n\r\t\x08\x07A\xffq\"\\"]);
    is(r#""\xzz""#, &[b"xzz"]);
    is(r"'it\'s' '\n'", &[b"it's", br"\n"]);
    is(r#"a"b" c"#, &[b"ab", b"c"]);
    is(r"a\b", &[br"a\b"]);
    for unbalanced in [r#""a"#, "'a", r#""a"b"#, "'a'b", r#""a\"#] {
        assert_eq!(split(unbalanced), None, "{unbalanced}");
    }
}

#[test]
fn quoted_words_read_back() {
    assert_eq!(words::quote(b"a\"b\\c\n\r\t\x07\x08\x00\xff'd"), r#""a\"b\\c\n\r\t\a\b\x00\xff'd""#);
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    assert_eq!(words::split(words::quote(&every_byte).as_bytes()), Some(vec![every_byte]));
}

fn set(config: &mut Config, name: &str, words: &[&str]) -> Result<(), String> {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    parse::apply(config, table::find(name.as_bytes()).unwrap(), &words, Source::Lines { first: true })
}

#[test]
fn output_limits_change_by_class() {
    let mut config = Config::default();
    let before = config.client_output_buffer_limit;
    assert_eq!(set(&mut config, "client-output-buffer-limit", &["replica", "1mb", "2k", "3"]), Ok(()));
    let after = config.client_output_buffer_limit;
    assert_eq!(after.replica, OutputLimit { hard_bytes: 1 << 20, soft_bytes: 2_000, soft_secs: 3 });
    assert_eq!((after.normal, after.pubsub), (before.normal, before.pubsub));
    assert_eq!(before.pubsub, OutputLimit { hard_bytes: 32 << 20, soft_bytes: 8 << 20, soft_secs: 60 });
}

#[test]
fn options_take_one_value_unless_they_take_many() {
    let mut config = Config::default();
    assert_eq!(set(&mut config, "port", &[]), Err("wrong number of arguments".into()));
    assert_eq!(set(&mut config, "port", &["1", "2"]), Err("wrong number of arguments".into()));
    assert_eq!(set(&mut config, "bind", &["127.0.0.1", "-::1"]), Ok(()));
    assert_eq!(config.bind, ["127.0.0.1", "-::1"]);
    assert_eq!(set(&mut config, "bind", &["10.0.0.1 10.0.0.2"]), Ok(()));
    assert_eq!(config.bind, ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(set(&mut config, "bind", &[""]), Ok(()));
    assert!(config.bind.is_empty());
    assert_eq!(set(&mut config, "bind", &["a"; 16]), Ok(()));
    assert_eq!(set(&mut config, "bind", &["a"; 17]), Err("Too many bind addresses specified.".into()));
}

#[test]
fn text_options_that_are_no_bytes_must_be_utf8() {
    let mut config = Config::default();
    let apply = |config: &mut Config, name: &[u8], value: &[u8]| {
        parse::apply(config, table::find(name).unwrap(), &[value], Source::Set)
    };
    assert_eq!(apply(&mut config, b"requirepass", b"\xff\x00"), Ok(()));
    assert_eq!(config.requirepass, b"\xff\x00");
    assert_eq!(
        apply(&mut config, b"cluster-announce-ip", b"\xff"),
        Err("argument must be valid UTF-8".into())
    );
}

#[test]
fn events_are_sets_of_letters() {
    let all = Events::parse(b"AKE").unwrap();
    assert!(all.contains(Events::KEYSPACE) && all.contains(Events::HASH) && all.contains(Events::EXPIRED));
    assert!(!all.contains(Events::KEY_MISS) && !all.contains(Events::NEW));
    assert!(Events::parse(b"").unwrap().is_empty());
    assert_eq!(Events::parse(b"q"), None);
}

#[test]
fn shares_are_bytes_or_percent() {
    assert_eq!(Share::Percent(50).of(1_001), 500);
    assert_eq!(Share::Percent(100).of(u64::MAX), u64::MAX);
    assert_eq!(Share::Bytes(7).of(1), 7);
}

#[test]
fn guards_know_local_clients() {
    assert_eq!([Guard::No, Guard::Yes, Guard::Local].map(|guard| guard.allows(true)), [false, true, true]);
    assert_eq!([Guard::No, Guard::Yes, Guard::Local].map(|guard| guard.allows(false)), [false, true, false]);
}
