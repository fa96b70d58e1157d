//! IDMP and IDMPAUTO of XADD, XCFGSET and XIDMPRECORD, as Redis 8.6 has them.

use crate::check::{tarn_only, tarn_only3};

/// Ids that are made come behind it, whatever the time is.
const LATE: &str = "XADD s 99999999999999-0 f v";

/// `~` stands for the time of these ids, `<` and `>` for a map.
fn late(line: &str, expected: &str) {
    let expected = format!("\"99999999999999-0\" | {}", expected.replace('~', "99999999999999-"));
    let [array, map] =
        [["[", "]"], ["{", "}"]].map(|[begin, end]| expected.replace('<', begin).replace('>', end));
    tarn_only3(&format!("{LATE} | {line}"), &array, &map);
}

#[test]
fn what_is_sent_twice_is_added_once() {
    late(
        "XADD s IDMP p a * f v | XADD s IDMP p a * f w | XADD s IDMP q a * f v | XADD s IDMP p b * f v | XRANGE s - + | XLEN s",
        r#""~1" | "~1" | "~2" | "~3" | [["~0" ["f" "v"]] ["~1" ["f" "v"]] ["~2" ["f" "v"]] ["~3" ["f" "v"]]] | :4"#,
    );
    late(
        "XADD s IDMPAUTO p * a 1 b 2 | XADD s IDMPAUTO p * b 2 a 1 | XADD s IDMPAUTO p * a 2 b 1 | XADD s IDMPAUTO p * ab 1 | XADD s IDMPAUTO p * a b1 | XADD s IDMPAUTO q * a 1 b 2 | XADD s IDMPAUTO p * a \"\" | XADD s IDMPAUTO p * a \"\"",
        r#""~1" | "~1" | "~2" | "~3" | "~4" | "~5" | "~6" | "~6""#,
    );
    // What was sent is known, whether its entry is there or not, and is not added or trimmed again.
    late(
        "XADD s IDMP p a * f v | XDEL s 99999999999999-1 | XADD s IDMP p a MAXLEN 0 * f v | XLEN s | DEL s | XADD s NOMKSTREAM IDMP p a * f v | EXISTS s",
        r#""~1" | :1 | "~1" | :1 | :1 | nil | :0"#,
    );
    late(
        "MULTI | XADD s IDMP p a * f v | XADD s IDMP p a * f v | EXEC | XADD s MAXLEN 2 IDMP p \"\\x00\\xff\" * f v | XADD s IDMP p \"\\x00\\xff\" KEEPREF NOMKSTREAM * f v | XLEN s",
        r#"+OK | +QUEUED | +QUEUED | ["~1" "~1"] | "~2" | "~2" | :2"#,
    );
    let long = "x".repeat(65_536);
    late(
        &format!(
            "XADD s IDMP {long} {long} * f v | XADD s IDMP {long} {long} * f w | XADD s IDMP p * * f v | XADD s IDMP p IDMP * f v"
        ),
        r#""~1" | "~1" | "~2" | "~3""#,
    );
}

#[test]
fn options_are_checked() {
    tarn_only(
        "XADD s IDMP p * f v | XADD s IDMP p a 1-1 f v | XADD s IDMP p a 1-* f v | XADD s IDMP p a IDMP q b * f v | XADD s IDMPAUTO p IDMP q b * f v | XADD s IDMPAUTO p IDMPAUTO q * f v | EXISTS s",
        "-ERR Invalid stream ID specified as stream command argument | -ERR IDMP/IDMPAUTO can be used only with auto-generated IDs | -ERR IDMP/IDMPAUTO can be used only with auto-generated IDs | -ERR IDMP/IDMPAUTO specified multiple times | -ERR IDMP/IDMPAUTO specified multiple times | -ERR IDMP/IDMPAUTO specified multiple times | :0",
    );
    tarn_only(
        "XADD s IDMP \"\" a * f v | XADD s IDMP p \"\" * f v | XADD s IDMPAUTO \"\" * f v | XTRIM s IDMP p a MAXLEN 1 | SET k v | XADD k IDMP p a * f v",
        "-ERR IDMP requires a non-empty producer ID | -ERR IDMP requires a non-empty idempotent ID | -ERR IDMPAUTO requires a non-empty producer ID | -ERR syntax error | +OK | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
}

/// The numbers of `XINFO STREAM`.
fn numbers(duration: u32, limit: u32, producers: u32, records: u32, added: u32, again: u32) -> String {
    let known =
        ["length", "radix-tree-keys", "radix-tree-nodes", "last-generated-id", "max-deleted-entry-id"];
    let known = known.iter().chain(&["entries-added", "recorded-first-entry-id"]);
    let known = known.map(|name| format!("\"{name}\" ...")).collect::<Vec<_>>().join(" ");
    format!(
        r#"<{known} "idmp-duration" :{duration} "idmp-maxsize" :{limit} "pids-tracked" :{producers} "iids-tracked" :{records} "iids-added" :{added} "iids-duplicates" :{again} "entries" ... "groups" []>"#
    )
}

#[test]
fn records_are_bounded_and_counted() {
    let info = "XINFO STREAM s FULL COUNT 1";
    late(
        &format!("{info} | XADD s IDMP p a * f v | XADD s IDMP q a * f v | XADD s IDMP p a * f v | {info}"),
        &format!(
            r#"{} | "~1" | "~2" | "~1" | {}"#,
            numbers(100, 100, 0, 0, 0, 0),
            numbers(100, 100, 2, 2, 2, 1)
        ),
    );
    // The last three of each producer are known.
    late(
        &format!(
            "XCFGSET s IDMP-MAXSIZE 3 | XADD s IDMP p a * f v | XADD s IDMP q z * f v | XADD s IDMP p b * f v | XADD s IDMP p c * f v | XADD s IDMP p a * f v | XADD s IDMP p d * f v | XADD s IDMP p a * f v | XADD s IDMP p c * f v | XADD s IDMP q z * f v | {info}"
        ),
        &format!(
            r#"+OK | "~1" | "~2" | "~3" | "~4" | "~1" | "~5" | "~6" | "~4" | "~2" | {}"#,
            numbers(100, 3, 2, 4, 6, 3)
        ),
    );
    // Another setting forgets, the same one does not.
    late(
        &format!(
            "XADD s IDMP p a * f v | XCFGSET s IDMP-DURATION 100 IDMP-MAXSIZE 100 | XADD s IDMP p a * f v | XCFGSET s IDMP-DURATION 5 | {info} | XADD s IDMP p a * f v | XADD s IDMP p a * f v | {info}"
        ),
        &format!(
            r#""~1" | +OK | "~1" | +OK | {} | "~2" | "~2" | {}"#,
            numbers(5, 100, 0, 0, 1, 1),
            numbers(5, 100, 1, 1, 2, 2)
        ),
    );
    // They go with a copy, and a copy has its own.
    late(
        "XADD s IDMP p a * f v | COPY s t | XADD t IDMP p a * f v | XADD t IDMP p b * f v | XADD s IDMP p b * g v | RENAME t s | XADD s IDMP p b * f v | XLEN s",
        r#""~1" | :1 | "~1" | "~2" | "~2" | +OK | "~2" | :3"#,
    );
}

#[test]
fn records_are_believed_for_a_time() {
    tarn_only(
        "XADD s IDMP p a * f v | XADD s IDMP p a * f v | XLEN s | !time 99000 | XADD s IDMP p a * f v | XLEN s | !time 2000 | XADD s IDMP p a * f v | XLEN s | XADD s IDMP p b * f v",
        "... | ... | :1 | none | ... | :1 | none | ... | :2 | ...",
    );
}

#[test]
fn settings_are_checked() {
    tarn_only(
        "XCFGSET s IDMP-DURATION 5 | SET k v | XCFGSET k IDMP-DURATION 5 | XADD s 1-1 f v | XCFGSET s | XCFGSET s IDMP-DURATION | XCFGSET s FOO 1 | XCFGSET s IDMP-DURATION x | XCFGSET s IDMP-MAXSIZE 000000000 | XCFGSET",
        "-ERR no such key | +OK | -WRONGTYPE Operation against a key holding the wrong kind of value | \"1-1\" | -ERR At least one parameter must be specified | -ERR syntax error | -ERR syntax error | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range | -ERR wrong number of arguments for 'xcfgset' command",
    );
    let (seconds, entries) = (
        "-ERR IDMP-DURATION must be between 1 and 86400 seconds",
        "-ERR IDMP-MAXSIZE must be between 1 and 10000 entries",
    );
    tarn_only(
        "XADD s 1-1 f v | XCFGSET s IDMP-DURATION 0 | XCFGSET s IDMP-DURATION 86401 | XCFGSET s IDMP-DURATION -1 | XCFGSET s IDMP-MAXSIZE 0 | XCFGSET s IDMP-MAXSIZE 10001 | XCFGSET s IDMP-DURATION 86400 IDMP-MAXSIZE 10000 | XCFGSET s IDMP-MAXSIZE 1 IDMP-MAXSIZE 2",
        &format!("\"1-1\" | {seconds} | {seconds} | {seconds} | {entries} | {entries} | +OK | +OK"),
    );
}

#[test]
fn a_record_can_be_put_down() {
    let missing = "-ERR The specified stream ID was deleted or doesn't exist";
    late(
        "XIDMPRECORD s p a 99999999999999-0 | XADD s IDMP p a * f v | XIDMPRECORD s p a 99999999999999-0 | XADD s * f v | XIDMPRECORD s p a 99999999999999-1 | XIDMPRECORD s p b 99999999999999-7 | XIDMPRECORD s p b x | XIDMPRECORD nosuch p a 1-1",
        &format!(
            r#"+OK | "~0" | +OK | "~1" | -ERR The specified IDMP producer-id/idempotent-id pair maps to a different stream ID | {missing} | -ERR Invalid stream ID specified as stream command argument | -ERR no such key"#
        ),
    );
    tarn_only(
        "XADD s 1-1 f v | XIDMPRECORD s \"\" a 1-1 | XIDMPRECORD s p \"\" 1-1 | XIDMPRECORD s p a | SET k v | XIDMPRECORD k p a 1-1",
        "\"1-1\" | -ERR XIDMPRECORD requires a non-empty producer ID | -ERR XIDMPRECORD requires a non-empty idempotent ID | -ERR wrong number of arguments for 'xidmprecord' command | +OK | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
}
