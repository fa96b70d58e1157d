//! What Redis 8.2 and later have: KEEPREF, DELREF and ACKED, XDELEX, XACKDEL, XNACK, CLAIM, MAXCOUNT and MAXSIZE.

use crate::check::{tarn_only, tarn_only3};

const TWO: &str = "XADD s 1-0 f v | XADD s 2-0 f v | XGROUP CREATE s g 0 | XGROUP CREATE s h 0";
const TWO_DONE: &str = "\"1-0\" | \"2-0\" | +OK | +OK";

#[test]
fn entries_are_deleted_whoever_refers_to_them() {
    let read = "XREADGROUP GROUP g c STREAMS s > | XREADGROUP GROUP h d STREAMS s >";
    tarn_only(
        &format!("{TWO} | {read} | XDELEX s IDS 2 1-0 9-9 | XRANGE s - + | XPENDING s g | XPENDING s h"),
        &format!(
            r#"{TWO_DONE} | ... | ... | [:1 :-1] | [["2-0" ["f" "v"]]] | [:2 "1-0" "2-0" [["c" "2"]]] | [:2 "1-0" "2-0" [["d" "2"]]]"#
        ),
    );
    tarn_only(
        &format!(
            "{TWO} | {read} | XDELEX s DELREF IDS 1 1-0 | XPENDING s g | XPENDING s h | XDEL s 2-0 | XDELEX s DELREF IDS 1 2-0 | XPENDING s g"
        ),
        &format!(
            r#"{TWO_DONE} | ... | ... | [:1] | [:1 "2-0" "2-0" [["c" "1"]]] | [:1 "2-0" "2-0" [["d" "1"]]] | :1 | [:-1] | [:0 nil nil nil[]]"#
        ),
    );
    tarn_only(
        &format!(
            "{TWO} | XREADGROUP GROUP g c STREAMS s > | XACK s g 1-0 2-0 | XDELEX s ACKED IDS 2 1-0 9-9 | XREADGROUP GROUP h d STREAMS s > | XDELEX s ACKED IDS 1 1-0 | XACK s h 1-0 | XDELEX s ACKED IDS 2 1-0 2-0 | XLEN s"
        ),
        &format!("{TWO_DONE} | ... | :2 | [:2 :-1] | ... | [:2] | :1 | [:1 :2] | :1"),
    );
    tarn_only(
        "XDELEX s IDS 2 1-0 2-0 | XADD s 1-0 f v | XDELEX s ACKED IDS 1 1-0 | XLEN s | EXISTS s",
        "[:-1 :-1] | \"1-0\" | [:1] | :0 | :1",
    );
}

#[test]
fn entries_are_acknowledged_and_deleted() {
    let read = "XREADGROUP GROUP g c STREAMS s > | XREADGROUP GROUP h d STREAMS s >";
    tarn_only(
        &format!(
            "{TWO} | {read} | XACKDEL s g IDS 3 1-0 2-0 9-9 | XLEN s | XPENDING s g | XPENDING s h | XACKDEL s h KEEPREF IDS 2 1-0 2-0 | XPENDING s h"
        ),
        &format!(
            r#"{TWO_DONE} | ... | ... | [:1 :1 :-1] | :0 | [:0 nil nil nil[]] | [:2 "1-0" "2-0" [["d" "2"]]] | [:1 :1] | [:0 nil nil nil[]]"#
        ),
    );
    tarn_only(
        &format!(
            "{TWO} | {read} | XACKDEL s g DELREF IDS 2 1-0 2-0 | XLEN s | XPENDING s g | XPENDING s h | XACKDEL s h DELREF IDS 2 1-0 2-0"
        ),
        &format!(
            "{TWO_DONE} | ... | ... | [:1 :1] | :0 | [:0 nil nil nil[]] | [:0 nil nil nil[]] | [:-1 :-1]"
        ),
    );
    tarn_only(
        &format!(
            "{TWO} | {read} | XACKDEL s g ACKED IDS 2 1-0 2-0 | XLEN s | XPENDING s g | XPENDING s h | XACKDEL s h ACKED IDS 2 1-0 2-0 | XLEN s"
        ),
        &format!(
            r#"{TWO_DONE} | ... | ... | [:2 :2] | :2 | [:0 nil nil nil[]] | [:2 "1-0" "2-0" [["d" "2"]]] | [:1 :1] | :0"#
        ),
    );
    tarn_only(
        "XACKDEL s g IDS 2 1-1 2-2 | XADD s 1-0 f v | XACKDEL s g IDS 2 1-1 2-2",
        "[:-1 :-1] | \"1-0\" | [:-1 :-1]",
    );
}

#[test]
fn lists_of_ids_are_checked() {
    for command in ["XDELEX s", "XACKDEL s g"] {
        for (words, refusal) in [
            ("IDS abc 1-1", "-ERR Number of IDs must be a positive integer"),
            ("IDS 0 1-1", "-ERR Number of IDs must be a positive integer"),
            ("IDS -5 1-1", "-ERR Number of IDs must be a positive integer"),
            ("IDS 3 1-1 2-2", "-ERR The `numids` parameter must match the number of arguments"),
            ("IDS 1 1-1 2-2", "-ERR syntax error"),
            ("KEEPREF DELREF IDS 1 1-1", "-ERR syntax error"),
            ("IDS 1 1-1 ACKED ACKED", "-ERR syntax error"),
            ("FOO IDS 1 1-1", "-ERR syntax error"),
            ("IDS 1 x", "-ERR Invalid stream ID specified as stream command argument"),
            ("KEEPREF ACKED DELREF", "-ERR syntax error"),
        ] {
            tarn_only(
                &format!("XADD s 1-0 f v | XGROUP CREATE s g 0 | {command} {words}"),
                &format!("\"1-0\" | +OK | {refusal}"),
            );
        }
    }
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    tarn_only(
        "SET k v | XDELEX k IDS 1 1-1 | XACKDEL k g IDS 1 1-1 | XNACK k g FAIL IDS 1 1-1 | XDELEX k | XACKDEL k g | XNACK k g",
        &format!(
            "+OK | {wrong} | {wrong} | {wrong} | -ERR wrong number of arguments for 'xdelex' command | -ERR wrong number of arguments for 'xackdel' command | -ERR wrong number of arguments for 'xnack' command"
        ),
    );
}

#[test]
fn what_is_trimmed_may_be_referred_to() {
    let read = "XREADGROUP GROUP g c STREAMS s > | XREADGROUP GROUP h d STREAMS s >";
    tarn_only(
        &format!(
            "{TWO} | {read} | XTRIM s MAXLEN 1 DELREF | XPENDING s g | XPENDING s h | XADD s MAXLEN 1 KEEPREF 3-0 f v | XPENDING s g | XINFO STREAM s"
        ),
        &format!(
            r#"{TWO_DONE} | ... | ... | :1 | [:1 "2-0" "2-0" [["c" "1"]]] | [:1 "2-0" "2-0" [["d" "1"]]] | "3-0" | [:1 "2-0" "2-0" [["c" "1"]]] | ..."#
        ),
    );
    tarn_only(
        &format!(
            "{TWO} | {read} | XACK s g 1-0 2-0 | XACK s h 2-0 | XTRIM s MAXLEN 0 ACKED | XRANGE s - + | XTRIM s MINID 9 ACKED | XACK s h 1-0 | XADD s MINID 9 ACKED 3-0 f v | XRANGE s - +"
        ),
        &format!(
            r#"{TWO_DONE} | ... | ... | :2 | :1 | :1 | [["1-0" ["f" "v"]]] | :0 | :1 | "3-0" | [["3-0" ["f" "v"]]]"#
        ),
    );
    tarn_only(
        &format!(
            "{TWO} | XTRIM s MAXLEN 0 ACKED | XTRIM s MAXLEN ~ 0 ACKED | XLEN s | XTRIM s MAXLEN ~ 0 DELREF | XLEN s | XTRIM s MAXLEN 1 ACKED DELREF"
        ),
        &format!("{TWO_DONE} | :0 | :0 | :2 | :2 | :0 | -ERR syntax error"),
    );
    tarn_only("XADD s 1-0 f v | XTRIM s MAXLEN 0 ACKED | XLEN s", "\"1-0\" | :1 | :0");
}

#[test]
fn entries_are_given_back() {
    let begin = "XADD s 1-0 f v | XADD s 2-0 f v | XGROUP CREATE s g 0 | XREADGROUP GROUP g c STREAMS s >";
    let begun = "\"1-0\" | \"2-0\" | +OK | ...";
    tarn_only(
        &format!(
            "{begin} | XNACK s g FAIL IDS 2 1-0 9-9 | XPENDING s g - + 10 | XPENDING s g | XPENDING s g - + 10 c | XNACK s g SILENT IDS 1 1-0 | XNACK s g SILENT IDS 1 1-0 | XPENDING s g - + 1 | XNACK s g FATAL IDS 1 1-0 | XPENDING s g - + 1"
        ),
        &format!(
            r#"{begun} | :1 | [["1-0" "" :-1 :1] ["2-0" "c" :0..100000 :1]] | [:2 "1-0" "2-0" [["c" "1"]]] | [["2-0" "c" :0..100000 :1]] | :1 | :1 | [["1-0" "" :-1 :0]] | :1 | [["1-0" "" :-1 :9223372036854775807]]"#
        ),
    );
    tarn_only(
        &format!(
            "{begin} | XNACK s g FAIL IDS 2 1-0 1-0 RETRYCOUNT 5 | XCLAIM s g d 100000 1-0 | XPENDING s g - + 1 | XNACK s g SILENT IDS 1 1-0 | XAUTOCLAIM s g e 100000 0 JUSTID | XACK s g 1-0 2-0 | XNACK s g FAIL IDS 1 1-0 FORCE | XPENDING s g - + 9 | XGROUP DELCONSUMER s g c | XACK s g 1-0 | XPENDING s g"
        ),
        &format!(
            r#"{begun} | :2 | [["1-0" ["f" "v"]]] | [["1-0" "d" :0..100000 :6]] | :1 | ["0-0" ["1-0"] []] | :2 | :1 | [["1-0" "" :-1 :0]] | :0 | :1 | [:0 nil nil nil[]]"#
        ),
    );
    for (words, refusal) in [
        ("BAD IDS 1 1-0", "-ERR mode must be SILENT, FAIL, or FATAL"),
        ("FAIL BAD IDS 1 1-0", "-ERR Unrecognized XNACK option 'BAD'"),
        ("FAIL FATAL IDS 1 1-0", "-ERR Unrecognized XNACK option 'FATAL'"),
        ("FAIL IDS 1 1-0 2-0", "-ERR Unrecognized XNACK option '2-0'"),
        ("SILENT FORCE RETRYCOUNT 5", "-ERR syntax error, expected IDS keyword"),
        ("SILENT IDS 0 1-0", "-ERR numids must be a positive integer"),
        ("SILENT IDS 2 1-0", "-ERR number of IDs doesn't match numids"),
        ("FAIL IDS 1 x", "-ERR Invalid stream ID specified as stream command argument"),
        ("FAIL IDS 1 1-0 RETRYCOUNT abc", "-ERR value is not an integer or out of range"),
        ("FAIL IDS 1 1-0 RETRYCOUNT -1", "-ERR Invalid RETRYCOUNT value, must be >= 0"),
        ("FAIL IDS 1 1-0 RETRYCOUNT", "-ERR Unrecognized XNACK option 'RETRYCOUNT'"),
    ] {
        tarn_only(&format!("{begin} | XNACK s g {words}"), &format!("{begun} | {refusal}"));
    }
    tarn_only("XNACK s g FAIL IDS 1 1-0", "-NOGROUP No such key 's' or consumer group 'g'");
}

#[test]
fn what_is_idle_is_claimed_with_what_is_new() {
    let begin = "XADD s 1-0 f v | XADD s 2-0 f v | XADD s 3-0 f v | XGROUP CREATE s g 0 | XREADGROUP GROUP g c COUNT 2 STREAMS s >";
    let begun = "\"1-0\" | \"2-0\" | \"3-0\" | +OK | ...";
    tarn_only3(
        &format!(
            "{begin} | XREADGROUP GROUP g d CLAIM 100000 COUNT 1 STREAMS s > | XREADGROUP GROUP g d CLAIM 100000 STREAMS s > | !time 50 | XREADGROUP GROUP g d COUNT 1 CLAIM 50 STREAMS s > | XPENDING s g | XREADGROUP GROUP g d CLAIM 0 STREAMS s 0"
        ),
        &format!(
            r#"{begun} | [["s" [["3-0" ["f" "v"] :0 :0]]]] | nil[] | none | [["s" [["1-0" ["f" "v"] :50..100000 :1]]]] | [:3 "1-0" "3-0" [["c" "1"] ["d" "2"]]] | [["s" [["1-0" ["f" "v"]] ["3-0" ["f" "v"]]]]]"#
        ),
        &format!(
            r#"{begun} | {{"s" [["3-0" ["f" "v"] :0 :0]]}} | nil[] | none | {{"s" [["1-0" ["f" "v"] :50..100000 :1]]}} | [:3 "1-0" "3-0" [["c" "1"] ["d" "2"]]] | {{"s" [["1-0" ["f" "v"]] ["3-0" ["f" "v"]]]}}"#
        ),
    );
    // What has waited longest comes first, and what is gone is not pending any more.
    tarn_only(
        &format!(
            "{begin} | XCLAIM s g c 0 1-0 JUSTID | XCLAIM s g c 0 1-0 IDLE 5 JUSTID | XCLAIM s g c 0 2-0 IDLE 9 JUSTID | XREADGROUP GROUP g d CLAIM 3 NOACK STREAMS s > | XPENDING s g | XDEL s 1-0 | XREADGROUP GROUP g e CLAIM 0 COUNT 9 STREAMS s > | XPENDING s g | XNACK s g FAIL IDS 1 2-0 | XREADGROUP GROUP g e CLAIM 100000 STREAMS s >"
        ),
        &format!(
            r#"{begun} | ["1-0"] | ["1-0"] | ["2-0"] | ... | [:2 "1-0" "2-0" [["d" "2"]]] | :1 | ... | [:1 "2-0" "2-0" [["e" "1"]]] | :1 | ..."#
        ),
    );
    for (words, refusal) in [
        ("CLAIM x STREAMS s >", "-ERR min-idle-time is not an integer"),
        ("CLAIM -0 STREAMS s >", "-ERR min-idle-time is not an integer"),
        ("CLAIM STREAMS s >", "-ERR min-idle-time is not an integer"),
        ("CLAIM -10 STREAMS s >", "-ERR min-idle-time must be a positive integer"),
    ] {
        tarn_only(&format!("{begin} | XREADGROUP GROUP g c {words}"), &format!("{begun} | {refusal}"));
    }
    tarn_only(
        "XADD s 1-0 f v | XREAD COUNT 2 CLAIM 10 STREAMS s 0",
        "\"1-0\" | -ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.",
    );
}

#[test]
fn replies_are_limited_over_all_streams() {
    let begin = "XADD s 1-0 f v | XADD s 2-0 f v | XADD t 3-0 f v | XADD t 4-0 f v";
    let begun = "\"1-0\" | \"2-0\" | \"3-0\" | \"4-0\"";
    let (s, both) = (r#"["s" [["1-0" ["f" "v"]]]"#, r#"["s" [["1-0" ["f" "v"]] ["2-0" ["f" "v"]]]"#);
    for (options, reply) in [
        ("MAXCOUNT 3", format!(r#"[{both}] ["t" [["3-0" ["f" "v"]]]]]"#)),
        ("MAXCOUNT 2", format!("[{both}]]")),
        ("MAXCOUNT 3 COUNT 1", format!(r#"[{s}] ["t" [["3-0" ["f" "v"]]]]]"#)),
        ("MAXSIZE 1", format!("[{s}]]")),
        ("MAXSIZE 40", format!("[{both}]]")),
        ("MAXSIZE 1000", format!(r#"[{both}] ["t" [["3-0" ["f" "v"]] ["4-0" ["f" "v"]]]]]"#)),
    ] {
        let line = format!("{begin} | XREAD {options} STREAMS s t 0 0");
        tarn_only3(&line, &format!("{begun} | {reply}"), &format!("{begun} | ..."));
        let line = format!(
            "{begin} | XGROUP CREATE s g 0 | XGROUP CREATE t g 0 | XREADGROUP GROUP g c {options} STREAMS s t > >"
        );
        tarn_only3(&line, &format!("{begun} | +OK | +OK | {reply}"), &format!("{begun} | +OK | +OK | ..."));
    }
    tarn_only(
        "XREAD MAXCOUNT 0 STREAMS s 0 | XREAD MAXSIZE x STREAMS s 0",
        "-ERR MAXCOUNT must be a positive integer | -ERR MAXSIZE must be a positive integer",
    );
}
