//! XREAD.

use crate::check::{check3, tarn_only, tarn_only3};

#[test]
fn streams_are_read_from_an_id_on() {
    check3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XADD t 2-1 b 1 | XREAD STREAMS s 0 | XREAD STREAMS s t 1-1 0 | XREAD COUNT 1 STREAMS s t 0-0 0-0 | XREAD STREAMS s 1-2 | XREAD STREAMS s t 1-2 0 | XREAD STREAMS nosuch 0 | XREAD STREAMS s $ | XREAD COUNT 0 STREAMS s 0 | XREAD COUNT -1 STREAMS s 0",
        r#""1-1" | "1-2" | "2-1" | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]]] | [["s" [["1-2" ["a" "2"]]]] ["t" [["2-1" ["b" "1"]]]]] | [["s" [["1-1" ["a" "1"]]]] ["t" [["2-1" ["b" "1"]]]]] | nil[] | [["t" [["2-1" ["b" "1"]]]]] | nil[] | nil[] | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]]] | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]]]"#,
        r#""1-1" | "1-2" | "2-1" | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]} | {"s" [["1-2" ["a" "2"]]] "t" [["2-1" ["b" "1"]]]} | {"s" [["1-1" ["a" "1"]]] "t" [["2-1" ["b" "1"]]]} | nil | {"t" [["2-1" ["b" "1"]]]} | nil | nil | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]} | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]}"#,
    );
    tarn_only(
        "XREAD STREAMS s | XREAD STREAMS s t 0 | XREAD COUNT x STREAMS s 0 | XREAD FOO STREAMS s 0 | XREAD STREAMS s x | XREAD STREAMS s > | XREAD GROUP g c STREAMS s 0 | XREAD NOACK STREAMS s 0 | XREAD BLOCK x STREAMS s 0 | XREAD BLOCK -1 STREAMS s 0 | XREAD COUNT 1 COUNT 2 | XREAD BLOCK 1 COUNT 1 | XREAD STREAMS s -",
        "-ERR wrong number of arguments for 'xread' command | -ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$' must be specified. | -ERR value is not an integer or out of range | -ERR syntax error | -ERR Invalid stream ID specified as stream command argument | -ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option. | -ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead. | -ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead. | -ERR timeout is not an integer or out of range | -ERR timeout is negative | -ERR syntax error | -ERR syntax error | -ERR Invalid stream ID specified as stream command argument",
    );
    check3(
        "XADD s 1-1 a 1 | XREAD BLOCK 0 STREAMS s 0 | XREAD BLOCK 10 STREAMS s 1-1 | XREAD BLOCK 10 COUNT 5 STREAMS s nosuch $ $ | XREAD streams s 18446744073709551615-18446744073709551615",
        r#""1-1" | [["s" [["1-1" ["a" "1"]]]]] | nil[] | nil[] | nil[]"#,
        r#""1-1" | {"s" [["1-1" ["a" "1"]]]} | nil | nil | nil"#,
    );
    tarn_only3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 1 | XREAD STREAMS s + | XDEL s 1-2 | XREAD STREAMS s + | XREAD STREAMS nosuch + | XREAD COUNT 5 STREAMS s s + 0",
        r#""1-1" | "1-2" | [["s" [["1-2" ["a" "1"]]]]] | :1 | [["s" [["1-1" ["a" "1"]]]]] | nil[] | [["s" [["1-1" ["a" "1"]]]] ["s" [["1-1" ["a" "1"]]]]]"#,
        r#""1-1" | "1-2" | {"s" [["1-2" ["a" "1"]]]} | :1 | {"s" [["1-1" ["a" "1"]]]} | nil | {"s" [["1-1" ["a" "1"]]] "s" [["1-1" ["a" "1"]]]}"#,
    );
}

#[test]
fn nothing_waits_inside_of_a_transaction() {
    check3(
        "MULTI | XREAD BLOCK 0 STREAMS s $ | EXEC | MULTI | XREAD BLOCK 0 STREAMS s $ | XADD s 1-1 a 1 | XREAD BLOCK 0 STREAMS s $ | XREAD BLOCK 0 STREAMS s 0 | EXEC | MULTI | XREAD BLOCK 0 STREAMS s $ | XLEN s | EXEC",
        r#"+OK | +QUEUED | [nil[]] | +OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | [nil[] "1-1" nil[] [["s" [["1-1" ["a" "1"]]]]]] | +OK | +QUEUED | +QUEUED | [nil[] :1]"#,
        r#"+OK | +QUEUED | [nil] | +OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | [nil "1-1" nil {"s" [["1-1" ["a" "1"]]]}] | +OK | +QUEUED | +QUEUED | [nil :1]"#,
    );
}
