use proptest::prelude::*;

use super::*;
use crate::{encode, fuzzing};

/// Decodes `wire`, however it is split, and compares the texts of all replies.
#[track_caller]
fn check(wire: impl AsRef<[u8]>, expected: &str) {
    let wire = wire.as_ref();
    fuzzing::decode(wire);
    let (values, len) = all(wire).unwrap();
    assert_eq!(values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "), expected);
    assert_eq!(len, wire.len());
}

#[track_caller]
fn check_error(wire: impl AsRef<[u8]>, expected: DecodeError) {
    fuzzing::decode(wire.as_ref());
    assert_eq!(one(wire.as_ref()), Err(expected));
}

#[test]
fn reads_and_prints_every_type() {
    check("+OK\r\n", "+OK");
    check("-ERR bad \"thing\"\r\n", "-ERR bad \"thing\"");
    check(":0\r\n:-12\r\n:9223372036854775807\r\n", ":0 | :-12 | :9223372036854775807");
    check("$3\r\nfoo\r\n$0\r\n\r\n$2\r\n\r\n\r\n", r#""foo" | "" | "\r\n""#);
    check(b"$9\r\n\\\"\n\r\t\x07\x08\0\xff\r\n", r#""\\\"\n\r\t\a\b\x00\xff""#);
    check("$-1\r\n_\r\n*-1\r\n", "nil | nil | nil-array");
    check("*0\r\n*3\r\n$1\r\na\r\n:1\r\n$-1\r\n", r#"[] | ["a" :1 nil]"#);
    check("%0\r\n%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n*1\r\n:2\r\n", r#"{} | {"a" :1 "b" [:2]}"#);
    check("~1\r\n$1\r\na\r\n~0\r\n", r#"~["a"] | ~[]"#);
    check(">2\r\n+message\r\n$1\r\nm\r\n", r#">[+message "m"]"#);
    check(",1.5\r\n,inf\r\n,-inf\r\n,nan\r\n,1e+17\r\n", ",1.5 | ,inf | ,-inf | ,nan | ,1e+17");
    check("#t\r\n#f\r\n", "#t | #f");
    check("(123456789012345678901234567890\r\n(-1\r\n", "(123456789012345678901234567890 | (-1");
    check("=7\r\ntxt:f\"o\r\n=4\r\nmkd:\r\n", r#"=txt:"f\"o" | =mkd:"""#);
    check("!8\r\nERR a\r\nb\r\n", r#"!"ERR a\r\nb""#);
    check("|1\r\n$3\r\nttl\r\n:3\r\n$3\r\nfoo\r\n", r#"|{"ttl" :3} "foo""#);
    check("*2\r\n|1\r\n+k\r\n*0\r\n:1\r\n|0\r\n:2\r\n", "[|{+k []} :1 |{} :2]");
}

#[test]
fn escapes_what_does_not_print() {
    check(b"-ERR \\ \xc3\xa4\t\r\n", r"-ERR \\ \xc3\xa4\t");
    check(b"+a\0\r\n", r"+a\x00");
}

#[test]
fn equal_only_if_the_bytes_were() {
    let value = |wire: &str| one(wire.as_bytes()).unwrap().unwrap().0;
    assert_eq!(value(",nan\r\n"), value(",nan\r\n"));
    assert_ne!(value(",1.0\r\n"), value(",1\r\n"));
    assert_ne!(value("$-1\r\n"), value("_\r\n"));
    assert_ne!(value("+OK\r\n"), value("$2\r\nOK\r\n"));
    assert_ne!(value("*1\r\n:1\r\n"), value("~1\r\n:1\r\n"));
    assert_eq!(value(",1.0\r\n").as_f64(), Some(1.0));
    assert_eq!(value(":1\r\n").as_f64(), None);
    assert!(value("-ERR\r\n").is_error() && value("!1\r\na\r\n").is_error() && !value("+OK\r\n").is_error());
}

#[test]
fn knows_which_protocol_a_value_fits() {
    let fits = |wire: &str| {
        let value = one(wire.as_bytes()).unwrap().unwrap().0;
        (value.fits(Protocol::Resp2), value.fits(Protocol::Resp3))
    };
    for wire in ["+OK\r\n", "-ERR\r\n", ":1\r\n", "$1\r\na\r\n", "*1\r\n:1\r\n", "*0\r\n"] {
        assert_eq!(fits(wire), (true, true), "{wire:?}");
    }
    for wire in ["$-1\r\n", "*-1\r\n", "*2\r\n:1\r\n$-1\r\n"] {
        assert_eq!(fits(wire), (true, false), "{wire:?}");
    }
    let resp3 = [
        "_\r\n",
        "#t\r\n",
        ",1\r\n",
        "(1\r\n",
        "=4\r\ntxt:\r\n",
        "!1\r\na\r\n",
        "%0\r\n",
        "~0\r\n",
        ">0\r\n",
    ];
    for wire in resp3.into_iter().chain(["|0\r\n:1\r\n", "*1\r\n_\r\n"]) {
        assert_eq!(fits(wire), (false, true), "{wire:?}");
    }
    for wire in
        ["~1\r\n$-1\r\n", ">1\r\n$-1\r\n", "%1\r\n:1\r\n*-1\r\n", "%1\r\n*-1\r\n:1\r\n", "|0\r\n$-1\r\n"]
    {
        assert_eq!(fits(wire), (false, false), "{wire:?}");
    }
}

#[test]
fn rejects_what_is_no_reply() {
    check_error("x\r\n", DecodeError::UnknownType(b'x'));
    check_error("\r\n", DecodeError::UnknownType(b'\r'));
    check_error("+OK\rx", DecodeError::BadLineEnd);
    check_error("$1\r\nabc", DecodeError::BadLineEnd);
    check_error("$1\r\na\rb", DecodeError::BadLineEnd);
    for wire in [":\r\n", ":+1\r\n", ":01\r\n", ":9223372036854775808\r\n", "$x\r\n", "*\r\n", "$?\r\n"] {
        check_error(wire, DecodeError::BadNumber);
    }
    for wire in ["$-2\r\n", "*-2\r\n", "%-1\r\n", "~-1\r\n", ">-1\r\n", "|-1\r\n", "!-1\r\n", "=-1\r\n"] {
        check_error(wire, DecodeError::BadLength);
    }
    for wire in [
        "_x\r\n",
        "#x\r\n",
        "#\r\n",
        ",x\r\n",
        ",\r\n",
        "(1a\r\n",
        "(\r\n",
        "(-\r\n",
        "=3\r\ntxt\r\n",
        "=4\r\ntxtx\r\n",
    ] {
        check_error(wire, DecodeError::BadValue);
    }
    check_error("*2\r\n:1\r\nx", DecodeError::UnknownType(b'x'));
}

#[test]
fn limits_depth_and_length() {
    let nested = |depth: usize| "*1\r\n".repeat(depth) + ":1\r\n";
    let text = "[".repeat(Decoder::MAX_DEPTH) + ":1" + &"]".repeat(Decoder::MAX_DEPTH);
    check(nested(Decoder::MAX_DEPTH), &text);
    check_error(nested(Decoder::MAX_DEPTH + 1), DecodeError::TooDeep);
    assert_eq!(one(b"$536870912\r\n"), Ok(None));
    check_error("$536870913\r\n", DecodeError::BadLength);
    // A count alone takes no memory.
    assert_eq!(one(b"*9223372036854775807\r\n"), Ok(None));
    assert_eq!(one(b"%9223372036854775807\r\n"), Ok(None));
}

#[test]
fn waits_for_the_rest() {
    for wire in [
        "",
        "+",
        "+OK",
        "+OK\r",
        "$",
        "$3",
        "$3\r\nfoo",
        "$3\r\nfoo\r",
        "*2\r\n:1\r\n",
        "%1\r\n:1\r\n",
        "|0\r\n",
    ] {
        assert_eq!(one(wire.as_bytes()), Ok(None), "{wire:?}");
    }
    let mut decoder = Decoder::new();
    assert_eq!(decoder.decode(b"*2\r\n:1\r\n$3\r\nfo"), Ok(Decoded { consumed: 8, value: None }));
    let value = Value::Array(vec![Value::Integer(1), Value::Bulk(b"foo".to_vec())]);
    assert_eq!(decoder.decode(b"$3\r\nfoo\r\n:7"), Ok(Decoded { consumed: 9, value: Some(value) }));
    assert_eq!(all(b"+a\r\n+b\r\n+c"), Ok((vec![Value::Simple(b"a".into()), Value::Simple(b"b".into())], 8)));
}

fn value() -> impl Strategy<Value = Value> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..12);
    let leaf = prop_oneof![
        "[ -~]{0,9}".prop_map(|text| Value::Simple(text.into())),
        "[ -~]{0,9}".prop_map(|text| Value::Error(text.trim_end().into())),
        any::<i64>().prop_map(Value::Integer),
        bytes().prop_map(Value::Bulk),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        any::<f64>().prop_map(|value| {
            let mut text = Vec::new();
            encode::double_text(&mut text, value);
            Value::Double(text)
        }),
        "-?[0-9]{1,30}".prop_map(|digits| Value::BigNumber(digits.into())),
        bytes().prop_map(|text| Value::Verbatim { format: *b"txt", text }),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let items = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            items().prop_map(Value::Array),
            items().prop_map(Value::Set),
            items().prop_map(Value::Push),
            prop::collection::vec((inner.clone(), inner.clone()), 0..4).prop_map(Value::Map),
        ]
    })
}

fn write(out: &mut Vec<u8>, value: &Value) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let p = Protocol::Resp3;
    match value {
        Value::Simple(bytes) => encode::simple(out, &text(bytes)),
        Value::Error(bytes) => encode::error(out, &text(bytes)),
        Value::Integer(value) => encode::integer(out, *value),
        Value::Bulk(bytes) => encode::bulk(out, bytes),
        Value::Null => encode::null(out, p),
        Value::Boolean(value) => encode::boolean(out, p, *value),
        Value::Double(_) => encode::double(out, p, value.as_f64().unwrap()),
        Value::BigNumber(digits) => encode::big_number(out, p, &text(digits)),
        Value::Verbatim { format, text } => encode::verbatim(out, p, format, text),
        Value::Array(items) => {
            (encode::array_len(out, items.len()), items.iter().for_each(|v| write(out, v))).1
        }
        Value::Set(items) => {
            (encode::set_len(out, p, items.len()), items.iter().for_each(|v| write(out, v))).1
        }
        Value::Push(items) => {
            (encode::push_len(out, p, items.len()), items.iter().for_each(|v| write(out, v))).1
        }
        Value::Map(pairs) => {
            encode::map_len(out, p, pairs.len());
            pairs.iter().for_each(|(k, v)| (write(out, k), write(out, v)).1);
        }
        other => panic!("not encoded: {other:?}"),
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(values in prop::collection::vec(value(), 1..4)) {
        let mut wire = Vec::new();
        values.iter().for_each(|value| write(&mut wire, value));
        fuzzing::decode(&wire);
        let len = wire.len();
        prop_assert_eq!(all(&wire), Ok((values, len)));
    }
}
