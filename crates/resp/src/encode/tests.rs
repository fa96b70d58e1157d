use proptest::prelude::*;

use super::*;
use Protocol::{Resp2, Resp3};

#[track_caller]
fn check(encode: impl Fn(&mut Vec<u8>, Protocol), resp2: &str, resp3: &str) {
    for (protocol, expected) in [(Resp2, resp2), (Resp3, resp3)] {
        let mut out = b"before".to_vec();
        encode(&mut out, protocol);
        assert_eq!(out.escape_ascii().to_string(), format!("before{}", expected.as_bytes().escape_ascii()));
    }
}

/// The same in both protocols.
#[track_caller]
fn check_both(encode: impl Fn(&mut Vec<u8>), expected: &str) {
    check(|out, _| encode(out), expected, expected);
}

/// As `DEBUG PROTOCOL` of redis-server 7.0.15 answers in each protocol.
#[test]
fn every_type_is_redis_bytes() {
    check_both(|out| bulk(out, b"Hello World"), "$11\r\nHello World\r\n");
    check_both(|out| integer(out, 12345), ":12345\r\n");
    check_both(|out| array_len(out, 3), "*3\r\n");
    check(|out, p| double(out, p, 1.5), "$3\r\n1.5\r\n", ",1.5\r\n");
    check(null, "$-1\r\n", "_\r\n");
    check(null_array, "*-1\r\n", "_\r\n");
    check(|out, p| set_len(out, p, 3), "*3\r\n", "~3\r\n");
    check(|out, p| map_len(out, p, 3), "*6\r\n", "%3\r\n");
    check(|out, p| push_len(out, p, 2), "*2\r\n", ">2\r\n");
    check(
        |out, p| verbatim(out, p, b"txt", b"This is a verbatim\nstring"),
        "$25\r\nThis is a verbatim\nstring\r\n",
        "=29\r\ntxt:This is a verbatim\nstring\r\n",
    );
    check(|out, p| boolean(out, p, true), ":1\r\n", "#t\r\n");
    check(|out, p| boolean(out, p, false), ":0\r\n", "#f\r\n");
    check(
        |out, p| big_number(out, p, "1234567999999999999999999999999999999"),
        "$37\r\n1234567999999999999999999999999999999\r\n",
        "(1234567999999999999999999999999999999\r\n",
    );
}

#[test]
fn simple_strings_and_errors_are_one_line() {
    check_both(|out| simple(out, "OK"), "+OK\r\n");
    check_both(|out| error(out, "ERR syntax error"), "-ERR syntax error\r\n");
    check_both(|out| error(out, "ERR x\r\ny\r\n"), "-ERR x  y\r\n");
    check_both(|out| error(out, "ERR a\nb\rc\n\n"), "-ERR a b c\r\n");
    check_both(|out| error(out, "\r\n"), "-\r\n");
    let mut out = Vec::new();
    error_bytes(&mut out, b"ERR \xff\0");
    assert_eq!(out, b"-ERR \xff\0\r\n");
}

#[test]
fn numbers_of_every_length() {
    let mut values = vec![0, i64::MAX, i64::MIN];
    values.extend((0..19).map(|power| 10i64.pow(power)).flat_map(|p| [p - 1, p, p + 1, -p]));
    for value in values {
        check_both(|out| integer(out, value), &format!(":{value}\r\n"));
        check_both(|out| bulk_integer(out, value), &format!("${}\r\n{value}\r\n", value.to_string().len()));
        if let Ok(len) = usize::try_from(value) {
            check_both(|out| array_len(out, len), &format!("*{len}\r\n"));
        }
    }
    for len in [0, 1, 9, 10, 11, 99, 100, 101, 1000, 70_000] {
        let value = "x".repeat(len);
        check_both(|out| bulk(out, value.as_bytes()), &format!("${len}\r\n{value}\r\n"));
    }
}

/// Scores that redis-server 7.0.15 was given, and what ZSCORE made of them.
#[test]
fn doubles_have_seventeen_digits() {
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-1.0, "-1"),
        (1.5, "1.5"),
        (0.1, "0.10000000000000001"),
        (0.3, "0.29999999999999999"),
        (4.35, "4.3499999999999996"),
        (3e5, "300000"),
        (123456.789, "123456.789"),
        (1e15, "1000000000000000"),
        (1e16, "10000000000000000"),
        (1e17, "1e+17"),
        (-1e17, "-1e+17"),
        (12345678901234567.0, "12345678901234568"),
        (99999999999999984.0, "99999999999999984"),
        (99999999999999999.0, "1e+17"),
        (1e22, "1e+22"),
        (1.5e300, "1.5000000000000001e+300"),
        (1e-4, "0.0001"),
        (0.0001234, "0.00012339999999999999"),
        (-0.00012, "-0.00012"),
        (1e-5, "1.0000000000000001e-05"),
        (1.5e-7, "1.4999999999999999e-07"),
        (1e-10, "1e-10"),
        (1e100, "1e+100"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::MIN, "-1.7976931348623157e+308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (5e-324, "4.9406564584124654e-324"),
        (-5e-324, "-4.9406564584124654e-324"),
        // Halfway between two texts: the even one.
        (123456789012345.0 + 0.125, "123456789012345.12"),
        (123456789012345.0 + 0.375, "123456789012345.38"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN, "nan"),
        (-f64::NAN, "nan"),
    ] {
        check(
            |out, p| double(out, p, value),
            &format!("${}\r\n{text}\r\n", text.len()),
            &format!(",{text}\r\n"),
        );
        let mut out = Vec::new();
        double_text(&mut out, value);
        assert_eq!(out, text.as_bytes());
    }
}

proptest! {
    #[test]
    fn doubles_read_back(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(!value.is_nan());
        let mut out = Vec::new();
        double_text(&mut out, value);
        let text = String::from_utf8(out).unwrap();
        prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits, "{}", text);
    }
}
