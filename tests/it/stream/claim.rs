//! XPENDING, XCLAIM and XAUTOCLAIM.

use crate::check::{check3, tarn_only3};

#[test]
fn entries_are_claimed() {
    check3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XADD s 1-3 a 3 | XGROUP CREATE s g 0 | XREADGROUP GROUP g b STREAMS s > | XCLAIM s g c 0 1-1 1-2 | XPENDING s g | XCLAIM s g d 0 1-1 JUSTID | XCLAIM s g d 100000 1-1 | XCLAIM s g d 0 9-9 | XCLAIM s g d 0 9-9 FORCE | XCLAIM s g d 0 1-3 RETRYCOUNT 7 JUSTID | XDEL s 1-3 | XCLAIM s g e 0 1-3 | XPENDING s g | XCLAIM s g d x 1-1 | XCLAIM s g d 0 1-1 FOO | XCLAIM s g d 0 1-1 IDLE x | XCLAIM s g d 0 1-1 TIME x | XCLAIM s g d 0 1-1 RETRYCOUNT x | XCLAIM s g d 0 1-1 LASTID x | XCLAIM s g d 0 1-1 IDLE | XCLAIM s g d 0 | XCLAIM s g d -5 1-1 JUSTID",
        r#""1-1" | "1-2" | "1-3" | +OK | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]] ["1-3" ["a" "3"]]]]] | [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]] | [:3 "1-1" "1-3" [["b" "1"] ["c" "2"]]] | ["1-1"] | [] | [] | [] | ["1-3"] | :1 | [] | [:2 "1-1" "1-2" [["c" "1"] ["d" "1"]]] | -ERR Invalid min-idle-time argument for XCLAIM | -ERR Unrecognized XCLAIM option 'FOO' | -ERR Invalid IDLE option argument for XCLAIM | -ERR Invalid TIME option argument for XCLAIM | -ERR Invalid RETRYCOUNT option argument for XCLAIM | -ERR Invalid stream ID specified as stream command argument | -ERR Unrecognized XCLAIM option 'IDLE' | -ERR wrong number of arguments for 'xclaim' command | ["1-1"]"#,
        r#""1-1" | "1-2" | "1-3" | +OK | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]] ["1-3" ["a" "3"]]]} | [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]] | [:3 "1-1" "1-3" [["b" "1"] ["c" "2"]]] | ["1-1"] | [] | [] | [] | ["1-3"] | :1 | [] | [:2 "1-1" "1-2" [["c" "1"] ["d" "1"]]] | -ERR Invalid min-idle-time argument for XCLAIM | -ERR Unrecognized XCLAIM option 'FOO' | -ERR Invalid IDLE option argument for XCLAIM | -ERR Invalid TIME option argument for XCLAIM | -ERR Invalid RETRYCOUNT option argument for XCLAIM | -ERR Invalid stream ID specified as stream command argument | -ERR Unrecognized XCLAIM option 'IDLE' | -ERR wrong number of arguments for 'xclaim' command | ["1-1"]"#,
    );
    tarn_only3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XGROUP CREATE s g 0 | XCLAIM s g c 0 1-1 | XCLAIM s g c 0 1-1 FORCE | XCLAIM s g c 0 1-2 FORCE JUSTID LASTID 1-1 | XPENDING s g IDLE 0 - + 10 | XINFO GROUPS s | XCLAIM s g c 0 1-1 1-2 LASTID 5-5 IDLE 1000 | XINFO GROUPS s | XCLAIM s g c 0 1-1 TIME -5 | XCLAIM s g c 0 1-1 RETRYCOUNT -3 JUSTID",
        r#""1-1" | "1-2" | +OK | [] | [["1-1" ["a" "1"]]] | ["1-2"] | [["1-1" "c" :0..100000 :2] ["1-2" "c" :0..100000 :1]] | [["name" "g" "consumers" :1 "pending" :2 "last-delivered-id" "1-1" "entries-read" nil "lag" :1]] | [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]] | [["name" "g" "consumers" :1 "pending" :2 "last-delivered-id" "5-5" "entries-read" nil "lag" nil]] | [["1-1" ["a" "1"]]] | ["1-1"]"#,
        r#""1-1" | "1-2" | +OK | [] | [["1-1" ["a" "1"]]] | ["1-2"] | [["1-1" "c" :0..100000 :2] ["1-2" "c" :0..100000 :1]] | [{"name" "g" "consumers" :1 "pending" :2 "last-delivered-id" "1-1" "entries-read" nil "lag" :1}] | [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]] | [{"name" "g" "consumers" :1 "pending" :2 "last-delivered-id" "5-5" "entries-read" nil "lag" nil}] | [["1-1" ["a" "1"]]] | ["1-1"]"#,
    );
}

#[test]
fn entries_are_claimed_in_their_order() {
    check3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XADD s 1-3 a 3 | XGROUP CREATE s g 0 | XREADGROUP GROUP g b STREAMS s > | XAUTOCLAIM s g c 0 0 COUNT 1 | XAUTOCLAIM s g c 0 1-2 COUNT 1 JUSTID | XAUTOCLAIM s g c 0 (1-2 | XAUTOCLAIM s g c 100000 - | XDEL s 1-1 1-2 | XAUTOCLAIM s g d 0 - | XAUTOCLAIM s g d 0 - | XPENDING s g | XAUTOCLAIM s g c x 0 | XAUTOCLAIM s g c 0 x | XAUTOCLAIM s g c 0 0 COUNT 0 | XAUTOCLAIM s g c 0 0 COUNT x | XAUTOCLAIM s g c 0 0 FOO | XAUTOCLAIM s g c 0 0 COUNT | XAUTOCLAIM s g c -1 0 JUSTID | XAUTOCLAIM s g c 0",
        r#""1-1" | "1-2" | "1-3" | +OK | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]] ["1-3" ["a" "3"]]]]] | ["1-2" [["1-1" ["a" "1"]]] []] | ["1-3" ["1-2"] []] | ["0-0" [["1-3" ["a" "3"]]] []] | ["0-0" [] []] | :2 | ["0-0" [["1-3" ["a" "3"]]] ["1-1" "1-2"]] | ["0-0" [["1-3" ["a" "3"]]] []] | [:1 "1-3" "1-3" [["d" "1"]]] | -ERR Invalid min-idle-time argument for XAUTOCLAIM | -ERR Invalid stream ID specified as stream command argument | -ERR COUNT must be > 0 | -ERR COUNT must be > 0 | -ERR syntax error | -ERR syntax error | ["0-0" ["1-3"] []] | -ERR wrong number of arguments for 'xautoclaim' command"#,
        r#""1-1" | "1-2" | "1-3" | +OK | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]] ["1-3" ["a" "3"]]]} | ["1-2" [["1-1" ["a" "1"]]] []] | ["1-3" ["1-2"] []] | ["0-0" [["1-3" ["a" "3"]]] []] | ["0-0" [] []] | :2 | ["0-0" [["1-3" ["a" "3"]]] ["1-1" "1-2"]] | ["0-0" [["1-3" ["a" "3"]]] []] | [:1 "1-3" "1-3" [["d" "1"]]] | -ERR Invalid min-idle-time argument for XAUTOCLAIM | -ERR Invalid stream ID specified as stream command argument | -ERR COUNT must be > 0 | -ERR COUNT must be > 0 | -ERR syntax error | -ERR syntax error | ["0-0" ["1-3"] []] | -ERR wrong number of arguments for 'xautoclaim' command"#,
    );
}

#[test]
fn what_is_pending_is_listed() {
    check3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XADD s 1-3 a 3 | XGROUP CREATE s g 0 | XREADGROUP GROUP g b COUNT 2 STREAMS s > | XREADGROUP GROUP g a STREAMS s > | XPENDING s g | XPENDING s g - + 0 | XPENDING s g 5 + 10 | XPENDING s g - + 10 nosuch | XPENDING s g - + -1 | XPENDING s g IDLE 100000 - + 10 | XPENDING s g - + | XPENDING s g x + 10 | XPENDING s g - x 10 | XPENDING s g - + x | XPENDING s g IDLE x - + 10 | XPENDING s g IDLE 0 - + | XPENDING s g - + 10 a b c d | XPENDING s g (18446744073709551615-18446744073709551615 + 1 | XPENDING s g - (0-0 1 | XPENDING s",
        r#""1-1" | "1-2" | "1-3" | +OK | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]]] | [["s" [["1-3" ["a" "3"]]]]] | [:3 "1-1" "1-3" [["a" "1"] ["b" "2"]]] | [] | [] | [] | [] | [] | -ERR syntax error | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range | -ERR syntax error | -ERR syntax error | -ERR invalid start ID for the interval | -ERR invalid end ID for the interval | -ERR wrong number of arguments for 'xpending' command"#,
        r#""1-1" | "1-2" | "1-3" | +OK | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]} | {"s" [["1-3" ["a" "3"]]]} | [:3 "1-1" "1-3" [["a" "1"] ["b" "2"]]] | [] | [] | [] | [] | [] | -ERR syntax error | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range | -ERR syntax error | -ERR syntax error | -ERR invalid start ID for the interval | -ERR invalid end ID for the interval | -ERR wrong number of arguments for 'xpending' command"#,
    );
}
