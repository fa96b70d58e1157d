//! RESP as bytes: inline commands, arrays of strings, limits and protocol errors.

use crate::check::{check, check2_with};

#[test]
fn inline_commands() {
    check(r#"!raw "PING\r\n""#, "+PONG");
    check(r#"!raw "PING\n""#, "+PONG");
    check(r#"!raw "  PING  hello  \r\n""#, r#""hello""#);
    check(r#"!raw "SET k \"a b\"\r\nGET k\r\n" | !recv"#, r#"+OK | "a b""#);
    check(r#"!raw "SET k 'a b'\r\nGET k\r\n" | !recv"#, r#"+OK | "a b""#);
    check(r#"!raw "SET k \"\\x41\\n\\t\\\"\"\r\nGET k\r\n" | !recv"#, r#"+OK | "A\n\x09\"""#);
    check(r#"!raw "SET k 'it\\'s \\n'\r\nGET k\r\n" | !recv"#, r#"+OK | "it's \\n""#);
    check(r#"!raw "\r\n\r\nPING\r\n""#, "+PONG");
    check(r#"!raw "\n\nPING\r\n""#, "+PONG");
    check(r#"!raw "   \r\nPING\r\n""#, "+PONG");
    check(r#"!raw "PING \"\"\r\n""#, r#""""#);
    check(
        r#"!raw "ECHO \"unbalanced\r\n" | !recv"#,
        "-ERR Protocol error: unbalanced quotes in request | closed",
    );
    check(
        r#"!raw "ECHO 'unbalanced\r\n" | !recv"#,
        "-ERR Protocol error: unbalanced quotes in request | closed",
    );
    check(r#"!raw "ECHO \"a\"b\r\n" | !recv"#, "-ERR Protocol error: unbalanced quotes in request | closed");
    check(r#"!raw "ECHO 'a'b\r\n" | !recv"#, "-ERR Protocol error: unbalanced quotes in request | closed");
    check(r#"!raw "ECHO a\"b\"\r\n""#, r#""ab""#);
    check(
        r#"!raw "FOO bar\r\n" | PING"#,
        r#"-"ERR unknown command 'FOO', with args beginning with: 'bar' " | +PONG"#,
    );
    check(r#"!raw "PING\r\r\n""#, "+PONG");
    check(r#"!raw "PING\tx\r\n""#, r#""x""#);
    check(r#"!raw "ECHO "  | !raw "x"*60000 | !raw "\r\n""#, r#"none | none | "x"*60000"#);
}

#[test]
fn inline_limit() {
    check(
        r#"!raw "x"*65535 | !raw "\n""#,
        r#"none | -"ERR unknown command 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', with args beginning with: ""#,
    );
    check(r#"!raw "x"*70000 | !recv"#, "-ERR Protocol error: too big inline request | closed");
}

#[test]
fn multibulk() {
    check(r#"!raw "*1\r\n$4\r\nPING\r\n""#, "+PONG");
    check(r#"!raw "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n""#, r#""""#);
    check(r#"!raw "*0\r\nPING\r\n""#, "+PONG");
    check(r#"!raw "*-1\r\nPING\r\n""#, "+PONG");
    check(r#"!raw "*-5\r\n*0\r\n*1\r\n$4\r\nPING\r\n""#, "+PONG");
    check(r#"!raw "\r\n*1\r\n$4\r\nPING\r\n""#, "+PONG");
    check(r#"!raw "*2\r\n$4\r\nECHO\r\n$2\r\n\r\n\r\n""#, r#""\r\n""#);
    check(r#"!raw "*1\r\n$4\r\nPINGxxPING\r\n" | !recv"#, "+PONG | +PONG");
    check(
        r#"!raw "*1\r\n$4\r\nPI" | !raw "NG\r" | !raw "\n*1\r\n$4\r\nPING\r\n" | !recv"#,
        "none | none | +PONG | +PONG",
    );
    check(
        r#"!raw "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$1\r\na\r\n" | !recv | !recv"#,
        r#"+PONG | +PONG | "a""#,
    );
    check(r#"!raw "*1\r\n$04\r\nPING\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed");
    check(
        r#"!raw "*01\r\n$4\r\nPING\r\n" | !recv"#,
        "-ERR Protocol error: invalid multibulk length | closed",
    );
    check(
        r#"!raw "*+1\r\n$4\r\nPING\r\n" | !recv"#,
        "-ERR Protocol error: invalid multibulk length | closed",
    );
    check(r#"!raw "*1\r\n$+4\r\nPING\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed");
}

#[test]
fn protocol_errors() {
    check(r#"!raw "*abc\r\n" | !recv"#, "-ERR Protocol error: invalid multibulk length | closed");
    check(r#"!raw "*\r\n" | !recv"#, "-ERR Protocol error: invalid multibulk length | closed");
    check(r#"!raw "* 1\r\n" | !recv"#, "-ERR Protocol error: invalid multibulk length | closed");
    check(r#"!raw "*1.5\r\n" | !recv"#, "-ERR Protocol error: invalid multibulk length | closed");
    check(r#"!raw "*2147483648\r\n" | !recv"#, "-ERR Protocol error: invalid multibulk length | closed");
    check(
        r#"!raw "*99999999999999999999\r\n" | !recv"#,
        "-ERR Protocol error: invalid multibulk length | closed",
    );
    check(r#"!raw "*1\r\nPING\r\n" | !recv"#, "-ERR Protocol error: expected '$', got 'P' | closed");
    check(r#"!raw "*1\r\n:4\r\n" | !recv"#, "-ERR Protocol error: expected '$', got ':' | closed");
    check(r#"!raw "*1\r\n\r\n" | !recv"#, "-ERR Protocol error: expected '$', got ' ' | closed");
    check(r#"!raw "*1\r\n+PING\r\n" | !recv"#, "-ERR Protocol error: expected '$', got '+' | closed");
    check(r#"!raw "*1\r\n*1\r\n" | !recv"#, "-ERR Protocol error: expected '$', got '*' | closed");
    check(r#"!raw "*1\r\n$abc\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed");
    check(r#"!raw "*1\r\n$\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed");
    check(r#"!raw "*1\r\n$-1\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed");
    check(r#"!raw "*1\r\n$-5\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed");
    check(r#"!raw "*1\r\n$536870913\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed");
    check(
        r#"!raw "*1\r\n$99999999999999999999\r\n" | !recv"#,
        "-ERR Protocol error: invalid bulk length | closed",
    );
    check(r#"!raw "*1\r\n$4x\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed");
    check(r#"!raw "*1\r\n$ 4\r\n" | !recv"#, "-ERR Protocol error: invalid bulk length | closed");
    check(
        r#"!raw "*2\r\n$4\r\nECHO\r\n$a\r\n" | !recv"#,
        "-ERR Protocol error: invalid bulk length | closed",
    );
    check(
        r#"!raw "*1\r\n$4\r\nPING\r\n*1\r\nx\r\n" | !recv | !recv"#,
        "+PONG | -ERR Protocol error: expected '$', got 'x' | closed",
    );
    check(
        r#"!raw "PING\r\n*1\r\nx\r\n" | !recv | !recv"#,
        "+PONG | -ERR Protocol error: expected '$', got 'x' | closed",
    );
    check(
        r#"!raw "*" | !raw "1"*70000 | !recv"#,
        "none | -ERR Protocol error: too big mbulk count string | closed",
    );
    check(
        r#"!raw "*1\r\n$" | !raw "1"*70000 | !recv"#,
        "none | -ERR Protocol error: too big bulk count string | closed",
    );
    check(r#"!raw "*1\r\n\xff\r\n" | !recv"#, r#"-"ERR Protocol error: expected '$', got '\xff'" | closed"#);
    check(r#"!raw "*1\r\n'\r\n" | !recv"#, "-ERR Protocol error: expected '$', got ''' | closed");
}

#[test]
fn http() {
    check(r#"!raw "POST / HTTP/1.1\r\nHost: a\r\n\r\n" | !recv"#, "closed | closed");
    check(r#"!raw "Host: example\r\n" | !recv"#, "closed | closed");
    check(r#"!raw "GET / HTTP/1.1\r\n" | PING"#, "-ERR wrong number of arguments for 'get' command | +PONG");
    check("POST | PING", "closed | closed");
    check("Host: x | PING", "closed | closed");
    check("post a", "closed");
}

#[test]
fn empty_command_name() {
    check(r#"!raw "*1\r\n$0\r\n\r\n""#, r#"-"ERR unknown command '', with args beginning with: ""#);
    check(
        r#"!raw "*2\r\n$0\r\n\r\n$1\r\na\r\n""#,
        r#"-"ERR unknown command '', with args beginning with: 'a' ""#,
    );
}

#[test]
fn limits_before_auth() {
    check2_with(
        &[("requirepass", "sesame")],
        r#"!raw "*10\r\n$6\r\nEXISTS\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n""#,
        "-NOAUTH Authentication required.",
    );
    check2_with(
        &[("requirepass", "sesame")],
        r#"!raw "*11\r\n" | !recv"#,
        "-ERR Protocol error: unauthenticated multibulk length | closed",
    );
    check2_with(
        &[("requirepass", "sesame")],
        r#"!raw "*2\r\n$4\r\nAUTH\r\n$16384\r\n" | !raw "x"*16384 | !raw "\r\n" | PING"#,
        "none | none | -WRONGPASS invalid username-password pair or user is disabled. | -NOAUTH Authentication required.",
    );
    check2_with(
        &[("requirepass", "sesame")],
        r#"!raw "*2\r\n$4\r\nAUTH\r\n$16385\r\n" | !recv"#,
        "-ERR Protocol error: unauthenticated bulk length | closed",
    );
    check2_with(
        &[("requirepass", "sesame")],
        r#"AUTH sesame | !raw "*2\r\n$4\r\nECHO\r\n$20000\r\n" | !raw "x"*20000 | !raw "\r\n""#,
        r#"+OK | none | none | "x"*20000"#,
    );
    check2_with(
        &[("requirepass", "sesame")],
        r#"AUTH sesame | !raw "*11\r\n$6\r\nEXISTS\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n""#,
        "+OK | :0",
    );
}

#[test]
fn limits_that_can_be_set() {
    check2_with(
        &[("proto-max-bulk-len", "1048576")],
        r#"!raw "*2\r\n$4\r\nECHO\r\n$1048577\r\n" | !recv"#,
        "-ERR Protocol error: invalid bulk length | closed",
    );
    check2_with(
        &[("proto-max-bulk-len", "1048576")],
        "SETRANGE k 1048575 a | SETRANGE k 1048576 a | SETBIT k 8388607 1 | SETBIT k 8388608 1 | APPEND k x | STRLEN k",
        ":1048576 | -ERR string exceeds maximum allowed size (proto-max-bulk-len) | :1 | -ERR bit offset is not an integer or out of range | -ERR string exceeds maximum allowed size (proto-max-bulk-len) | :1048576",
    );
}
