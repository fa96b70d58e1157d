//! INCREX of Redis 8.8, after what its own tests expect.

use crate::check::{tarn_only, tarn_only3};

/// `~1.5` stands for a string in RESP2 and for a double in RESP3.
#[track_caller]
fn floats_are(line: &str, expected: &str) {
    let with = |open: &str, close: &str| {
        let mut parts = expected.split('~');
        let mut text = parts.next().unwrap().to_owned();
        for part in parts {
            let end = part.find([' ', ']']).unwrap();
            text.push_str(&format!("{open}{}{close}{}", &part[..end], &part[end..]));
        }
        text
    };
    tarn_only3(line, &with("\"", "\""), &with(",", ""));
}

#[test]
fn integers() {
    tarn_only(
        "INCREX k | INCREX k | GET k | INCREX k BYINT 5 | INCREX k BYINT -10 | INCREX k BYINT 0",
        r#"[:1 :1] | [:2 :1] | "2" | [:7 :5] | [:-3 :-10] | [:-3 :0]"#,
    );
    tarn_only(
        "SET k 50 | INCREX k BYINT 100 UBOUND 80 SATURATE | GET k | INCREX k BYINT -100 LBOUND 0 SATURATE",
        r#"+OK | [:80 :30] | "80" | [:0 :-80]"#,
    );
    tarn_only(
        "SET k 10 | INCREX k BYINT 10 UBOUND 15 | GET k | INCREX k BYINT -10 LBOUND 5 | INCREX k BYINT 5 UBOUND 15 | INCREX k BYINT -15 LBOUND 0",
        r#"+OK | [:10 :0] | "10" | [:10 :0] | [:15 :5] | [:0 :-15]"#,
    );
    tarn_only(
        "INCREX k BYINT 5 LBOUND 10 | EXISTS k | INCREX k BYINT 15 UBOUND 10 | EXISTS k | INCREX k BYINT 5 LBOUND 10 SATURATE",
        "[:0 :0] | :0 | [:0 :0] | :0 | [:10 :10]",
    );
    tarn_only(
        "SET k 50 | INCREX k BYINT 5 UBOUND 30 | INCREX k BYINT -25 UBOUND 30 | SET k 50 | INCREX k BYINT 5 UBOUND 30 SATURATE | SET k -50 | INCREX k BYINT -5 LBOUND -30 SATURATE",
        "+OK | [:50 :0] | [:25 :-25] | +OK | [:30 :-20] | +OK | [:-30 :20]",
    );
    tarn_only(
        "SET k 9223372036854775800 | INCREX k BYINT 9223372036854775800 | INCREX k BYINT 9223372036854775800 SATURATE",
        "+OK | [:9223372036854775800 :0] | [:9223372036854775807 :7]",
    );
    tarn_only(
        "SET k -9223372036854775800 | INCREX k BYINT -9223372036854775800 LBOUND -9223372036854775808 | INCREX k BYINT -9223372036854775800 SATURATE",
        "+OK | [:-9223372036854775800 :0] | [:-9223372036854775808 :-8]",
    );
    tarn_only(
        "SET k 9223372036854775800 | INCREX k BYINT 1 SATURATE UBOUND -9223372036854775808 | GET k",
        r#"+OK | -ERR applied increment would overflow | "9223372036854775800""#,
    );
    tarn_only("INCREX k LBOUND 0 BYINT 100 UBOUND 10 SATURATE | OBJECT ENCODING k", r#"[:10 :10] | "int""#);
}

#[test]
fn floats() {
    floats_are(
        "SET k 1.5 | INCREX k BYFLOAT 0.25 | INCREX k BYFLOAT 1 | GET k",
        r#"+OK | [~1.75 ~0.25] | [~2.75 ~1] | "2.75""#,
    );
    floats_are(
        "SET k 10 | INCREX k BYFLOAT 100 UBOUND 42.5 SATURATE | SET k 0 | INCREX k BYFLOAT -100 LBOUND -5.5 SATURATE",
        "+OK | [~42.5 ~32.5] | +OK | [~-5.5 ~-5.5]",
    );
    floats_are(
        "SET k 10 | INCREX k BYFLOAT 10 UBOUND 15.5 | GET k | INCREX k BYFLOAT -0.5 LBOUND 5 | INCREX k BYFLOAT 0.5 UBOUND 10",
        r#"+OK | [~10 ~0] | "10" | [~9.5 ~-0.5] | [~10 ~0.5]"#,
    );
    floats_are(
        "INCREX k BYFLOAT -0.5 UBOUND -1.5 | EXISTS k | SET k 50.5 | INCREX k BYFLOAT 5.5 UBOUND 30 | INCREX k BYFLOAT 5.5 UBOUND 30 SATURATE",
        "[~0 ~0] | :0 | +OK | [~50.5 ~0] | [~30 ~-20.5]",
    );
    floats_are(
        "SET k 10 | INCREX k BYFLOAT 1 UBOUND inf | INCREX k BYFLOAT 1 LBOUND -inf | INCREX k BYFLOAT 1 LBOUND -inf UBOUND -inf | INCREX k BYFLOAT 1 LBOUND inf UBOUND inf",
        "+OK | [~11 ~1] | [~12 ~1] | [~12 ~0] | [~12 ~0]",
    );
    floats_are(
        "SET k 10 | INCREX k BYFLOAT 1 LBOUND -inf UBOUND -inf SATURATE | INCREX k BYFLOAT 1 LBOUND inf UBOUND +inf SATURATE",
        "+OK | -ERR applied increment would be Infinity | -ERR applied increment would be Infinity",
    );
    floats_are("SET k 1e4932 | INCREX k BYFLOAT 1e4932 | GET k", r#"+OK | ... | "1e4932""#);
    floats_are(
        "INCREX k BYFLOAT +inf | INCREX k BYFLOAT -inf | SET k inf | INCREX k BYFLOAT 1 | GET k",
        r#"-ERR BYFLOAT increment cannot be Infinity | -ERR BYFLOAT increment cannot be Infinity | +OK | -ERR value cannot be Infinity | "inf""#,
    );
}

#[test]
fn expiry() {
    tarn_only(
        "INCREX k EX 100 BYINT 5 | TTL k | INCREX k | TTL k | INCREX k PERSIST | TTL k | INCREX k PX 100000 | TTL k",
        "[:5 :5] | :91..100 | [:6 :1] | :91..100 | [:7 :1] | :-1 | [:8 :1] | :91..100",
    );
    tarn_only(
        "SET k 10 | INCREX k EX 100 ENX | TTL k | INCREX k EX 1000 ENX | TTL k | INCREX k EXAT 1 ENX | GET k",
        r#"+OK | [:11 :1] | :91..100 | [:12 :1] | :91..100 | [:13 :1] | "13""#,
    );
    tarn_only(
        "SET k 10 | INCREX k EXAT 1 | EXISTS k | INCREX k PXAT 1 | EXISTS k | SET k 10 | INCREX k EXAT 1 ENX | EXISTS k",
        "+OK | [:11 :1] | :0 | [:1 :1] | :0 | +OK | [:11 :1] | :0",
    );
    tarn_only(
        "SET k 10 | INCREX k BYINT 100 UBOUND 15 EX 100 | TTL k | INCREX k BYINT 100 UBOUND 15 SATURATE EX 100 | TTL k | SET k 10 EX 100 | INCREX k BYINT 5 UBOUND 5 PERSIST | TTL k",
        "+OK | [:10 :0] | :-1 | [:15 :5] | :91..100 | +OK | [:10 :0] | :91..100",
    );
}

#[test]
fn words() {
    tarn_only("INCREX", "-ERR wrong number of arguments for 'increx' command");
    for words in [
        "FOO",
        "BYINT 1 FOO",
        "BYINT",
        "BYINT 1 BYFLOAT 1.5",
        "BYFLOAT 1.5 BYINT 1",
        "BYINT 1 BYINT 2",
        "EX 10 PX 5000",
        "EX 10 EX 20",
        "EX 10 PERSIST",
        "PERSIST EX 10",
        "PERSIST ENX",
        "ENX PERSIST",
        "PERSIST PERSIST",
        "LBOUND 0 LBOUND 1",
        "UBOUND 9 UBOUND 8",
        "SATURATE SATURATE",
        "SAT LBOUND 0",
        "ENX ENX EX 10",
        "EX",
        "KEEPTTL",
    ] {
        tarn_only(&format!("INCREX k {words} | EXISTS k"), "-ERR syntax error | :0");
    }
    tarn_only(
        "INCREX k ENX | INCREX k BYINT 1 ENX",
        "-ERR ENX flag requires an expiration | -ERR ENX flag requires an expiration",
    );
    tarn_only(
        "INCREX k BYINT abc | INCREX k BYINT 1.5 | INCREX k BYFLOAT abc",
        "-ERR Increment is not an integer or out of range | -ERR Increment is not an integer or out of range | -ERR Increment is not a valid float",
    );
    tarn_only(
        "INCREX k LBOUND 1.5 | INCREX k UBOUND inf | INCREX k BYFLOAT 1 LBOUND abc | INCREX k BYFLOAT 1 UBOUND abc",
        "-ERR LBOUND is not an integer or out of range | -ERR UBOUND is not an integer or out of range | -ERR LBOUND is not a valid float | -ERR UBOUND is not a valid float",
    );
    tarn_only(
        "INCREX k LBOUND 10 UBOUND 5 | INCREX k BYFLOAT 1 LBOUND 10.5 UBOUND 1.5 | INCREX k BYFLOAT 1 LBOUND +inf",
        "-ERR LBOUND can't be greater than UBOUND | -ERR LBOUND can't be greater than UBOUND | -ERR LBOUND can't be greater than UBOUND",
    );
    tarn_only(
        "INCREX k EX 0 | INCREX k PX -1 | INCREX k EX x",
        "-ERR invalid expire time in 'increx' command | -ERR invalid expire time in 'increx' command | -ERR value is not an integer or out of range",
    );
    tarn_only(
        "LPUSH l a | INCREX l | INCREX l BYFLOAT 1.5 | SET k hello | INCREX k | INCREX k BYFLOAT 1",
        ":1 | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | +OK | -ERR value is not an integer or out of range | -ERR value is not a valid float",
    );
}
