//! Entries: XADD, XDEL, XLEN, XRANGE, XREVRANGE, XSETID and XTRIM.

use crate::check::{check, tarn_only, tarn_only3};

#[test]
fn entries_are_added() {
    check(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 b 3 | XLEN s | TYPE s | OBJECT ENCODING s | XRANGE s - +",
        r#""1-1" | "1-2" | :2 | +stream | "stream" | [["1-1" ["a" "1"]] ["1-2" ["a" "2" "b" "3"]]]"#,
    );
    check(
        "XADD s 5-* a 1 | XADD s 5-* a 2 | XADD s 5 a 3 | XADD s 6 a 3 | XADD s 5-* b 1 | XRANGE s - +",
        r#""5-0" | "5-1" | -ERR The ID specified in XADD is equal or smaller than the target stream top item | "6-0" | -ERR The ID specified in XADD is equal or smaller than the target stream top item | [["5-0" ["a" "1"]] ["5-1" ["a" "2"]] ["6-0" ["a" "3"]]]"#,
    );
    check(
        "XADD s 0-0 a 1 | EXISTS s | XADD s 0-* a 1 | XADD s 0 a 1 | XADD s 0-1 a 1 | XADD s 0-2 a 1",
        r#"-ERR The ID specified in XADD must be greater than 0-0 | :0 | "0-1" | -ERR The ID specified in XADD must be greater than 0-0 | -ERR The ID specified in XADD is equal or smaller than the target stream top item | "0-2""#,
    );
    check(
        "XADD s 18446744073709551615-18446744073709551615 a 1 | XADD s * a 1 | XADD s 1-1 a 1 | XADD s 18446744073709551615-* a 1",
        r#""18446744073709551615-18446744073709551615" | -ERR The stream has exhausted the last possible ID, unable to add more items | -ERR The stream has exhausted the last possible ID, unable to add more items | -ERR The stream has exhausted the last possible ID, unable to add more items"#,
    );
    tarn_only(
        "XADD s 18446744073709551614-18446744073709551615 a 1 | XADD s 18446744073709551614-* a 1 | XADD s * a 1",
        r#""18446744073709551614-18446744073709551615" | -ERR The ID specified in XADD is equal or smaller than the target stream top item | "18446744073709551615-0""#,
    );
    check(
        "XADD s a 1 | XADD s 1-1 a | XADD s 1-1 a 1 b | XADD s | XADD",
        "-ERR wrong number of arguments for 'xadd' command | -ERR wrong number of arguments for 'xadd' command | -ERR wrong number of arguments for 'xadd' command | -ERR wrong number of arguments for 'xadd' command | -ERR wrong number of arguments for 'xadd' command",
    );
    check(
        r#"XADD s x a 1 | XADD s 1-x a 1 | XADD s - a 1 | XADD s + a 1 | XADD s $ a 1 | XADD s 1-1-1 a 1 | XADD s -1-1 a 1 | XADD s "" a 1"#,
        "-ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument",
    );
    check(
        r#"XADD s 01-01 a 1 | XADD s " 2-1" a 1 | XADD s +3-1 a 1 | XADD s "4-1\x00x" a 1 | XRANGE s - +"#,
        r#""1-1" | "2-1" | "3-1" | "4-1" | [["1-1" ["a" "1"]] ["2-1" ["a" "1"]] ["3-1" ["a" "1"]] ["4-1" ["a" "1"]]]"#,
    );
    check(
        "XADD s NOMKSTREAM 1-1 a 1 | EXISTS s | XADD s 1-1 a 1 | XADD s nomkstream 1-2 b 2 | XLEN s",
        r#"nil | :0 | "1-1" | "1-2" | :2"#,
    );
    check(
        "XADD s MAXLEN 2 1-1 a 1 | XADD s MAXLEN 2 1-2 a 1 | XADD s MAXLEN = 2 1-3 a 1 | XRANGE s - + | XADD s maxlen 0 1-4 a 1 | XLEN s | XADD s 1-4 b 1 | XADD s 1-5 b 1",
        r#""1-1" | "1-2" | "1-3" | [["1-2" ["a" "1"]] ["1-3" ["a" "1"]]] | "1-4" | :0 | -ERR The ID specified in XADD is equal or smaller than the target stream top item | "1-5""#,
    );
    check(
        "XADD s MAXLEN -1 1-1 a 1 | XADD s MAXLEN x 1-1 a 1 | XADD s MAXLEN 1 MINID 1 1-1 a 1 | XADD s MINID 1 MAXLEN 1 1-1 a 1 | XADD s MAXLEN 1 LIMIT 5 1-1 a 1 | XADD s LIMIT 5 1-1 a 1 | XADD s LIMIT 0 1-1 a 1 | XADD s MAXLEN ~ 1 LIMIT -1 1-1 a 1 | XADD s MINID x 1-1 a 1 | XADD s MAXLEN ~ 1 LIMIT x 1-1 a 1 | EXISTS s",
        "-ERR The MAXLEN argument must be >= 0. | -ERR value is not an integer or out of range | -ERR syntax error, MAXLEN and MINID options at the same time are not compatible | -ERR syntax error, MAXLEN and MINID options at the same time are not compatible | -ERR syntax error, LIMIT cannot be used without the special ~ option | -ERR syntax error, LIMIT cannot be used without specifying a trimming strategy | -ERR syntax error, LIMIT cannot be used without the special ~ option | -ERR The LIMIT argument must be >= 0. | -ERR Invalid stream ID specified as stream command argument | -ERR value is not an integer or out of range | :0",
    );
    check(
        "XADD s MAXLEN 5 NOMKSTREAM MAXLEN 5 | XADD s MAXLEN 1-1 a 1 | XADD s MINID 1-1 2-2 a 1 | XADD s MAXLEN ~ 5 3-3 a 1 | XADD s MAXLEN ~ | XLEN s",
        r#"-ERR syntax error, MAXLEN and MINID options at the same time are not compatible | -ERR value is not an integer or out of range | "2-2" | "3-3" | -ERR wrong number of arguments for 'xadd' command | :2"#,
    );
    check(
        "XADD s 1-1 a 1 | XADD s 2-1 a 1 | XADD s 3-1 a 1 | XADD s MINID 2 4-1 a 1 | XRANGE s - + | XADD s MINID = 3-2 5-1 a 1 | XRANGE s - + | XADD s MINID 9 6-1 a 1 | XLEN s",
        r#""1-1" | "2-1" | "3-1" | "4-1" | [["2-1" ["a" "1"]] ["3-1" ["a" "1"]] ["4-1" ["a" "1"]]] | "5-1" | [["4-1" ["a" "1"]] ["5-1" ["a" "1"]]] | "6-1" | :0"#,
    );
    check(
        r#"XADD s 1-1 "" "" | XADD s 1-2 "\x00\xff" "\r\n" | XADD s 1-3 a 1 a 1 a 2 | XRANGE s - +"#,
        r#""1-1" | "1-2" | "1-3" | [["1-1" ["" ""]] ["1-2" ["\x00\xff" "\r\n"]] ["1-3" ["a" "1" "a" "1" "a" "2"]]]"#,
    );
    check(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XADD s 2-0 a 3 | XREVRANGE s + - | XREVRANGE s + - COUNT 1 | XREVRANGE s 1 1 | XREVRANGE s (2-0 - | XREVRANGE s + (1-1 COUNT 2 | XREVRANGE s - + | XREVRANGE s + - COUNT 0",
        r#""1-1" | "1-2" | "2-0" | [["2-0" ["a" "3"]] ["1-2" ["a" "2"]] ["1-1" ["a" "1"]]] | [["2-0" ["a" "3"]]] | [["1-2" ["a" "2"]] ["1-1" ["a" "1"]]] | [["1-2" ["a" "2"]] ["1-1" ["a" "1"]]] | [["2-0" ["a" "3"]] ["1-2" ["a" "2"]]] | [] | nil[]"#,
    );
    check(
        "XLEN s | XLEN | XLEN a b | XADD s 1-1 a 1 | DEL s | EXISTS s | XADD s 1-1 a 1 | EXPIRE s 100 | XADD s 1-2 a 1 | TTL s | PERSIST s | RENAME s t | XRANGE t - + | COPY t u | XLEN u | XADD u 1-3 a 1 | XLEN t",
        r#":0 | -ERR wrong number of arguments for 'xlen' command | -ERR wrong number of arguments for 'xlen' command | "1-1" | :1 | :0 | "1-1" | :1 | "1-2" | :100 | :1 | +OK | [["1-1" ["a" "1"]] ["1-2" ["a" "1"]]] | :1 | :2 | "1-3" | :2"#,
    );
}

#[test]
fn ranges() {
    check(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XADD s 2-0 a 3 | XADD s 3-5 a 4 | XRANGE s 1 1 | XRANGE s (1-1 + | XRANGE s (1 2 | XRANGE s - (2-0 | XRANGE s (1-1 (2 | XRANGE s 2 1 | XRANGE s 1-2 3 COUNT 1 | XRANGE s - + COUNT 0 | XRANGE s - + COUNT -5 | XRANGE s - + COUNT 100",
        r#""1-1" | "1-2" | "2-0" | "3-5" | [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]] | [["1-2" ["a" "2"]] ["2-0" ["a" "3"]] ["3-5" ["a" "4"]]] | [["1-1" ["a" "1"]] ["1-2" ["a" "2"]] ["2-0" ["a" "3"]]] | [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]] | [["1-2" ["a" "2"]] ["2-0" ["a" "3"]]] | [] | [["1-2" ["a" "2"]]] | nil[] | nil[] | [["1-1" ["a" "1"]] ["1-2" ["a" "2"]] ["2-0" ["a" "3"]] ["3-5" ["a" "4"]]]"#,
    );
    check(
        "XRANGE s - + | XREVRANGE s + - | XRANGE s - + COUNT 0 | XRANGE s x + | XRANGE s - y | XRANGE s ( + | XRANGE s (- + | XRANGE s (18446744073709551615-18446744073709551615 + | XRANGE s - (0-0 | XRANGE s - + COUNT | XRANGE s - + COUNT x | XRANGE s - + FOO 1 | XRANGE s -",
        "[] | [] | [] | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | -ERR invalid start ID for the interval | -ERR invalid end ID for the interval | -ERR syntax error | -ERR value is not an integer or out of range | -ERR syntax error | -ERR wrong number of arguments for 'xrange' command",
    );
    check(
        "XRANGE s $ + | XRANGE s - + COUNT 1 COUNT 2 | XRANGE s (0-18446744073709551615 + | XRANGE s - (1-0",
        "-ERR Invalid stream ID specified as stream command argument | [] | [] | []",
    );
}

#[test]
fn other_types_are_refused() {
    check(
        "SET k v | XADD k 1-1 a 1 | XLEN k | XRANGE k - + | XREVRANGE k + - | XDEL k 1-1 | XTRIM k MAXLEN 0 | XSETID k 1-1 | XREAD STREAMS k 0 | XREAD STREAMS k $ | XADD k NOMKSTREAM 1-1 a 1",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
}

#[test]
fn entries_are_deleted() {
    tarn_only3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 1 | XADD s 1-3 a 1 | XDEL s 1-1 | XDEL s 1-1 5-5 | XRANGE s - + | XDEL s 1-3 1-2 1-2 | XLEN s | EXISTS s | XADD s 1-3 a 1 | XADD s 1-4 a 1 | XINFO STREAM s",
        r#""1-1" | "1-2" | "1-3" | :1 | :0 | [["1-2" ["a" "1"]] ["1-3" ["a" "1"]]] | :2 | :0 | :1 | -ERR The ID specified in XADD is equal or smaller than the target stream top item | "1-4" | ["length" :1 "radix-tree-keys" :1 "radix-tree-nodes" :2 "last-generated-id" "1-4" "max-deleted-entry-id" "1-3" "entries-added" :4 "recorded-first-entry-id" "1-4" "idmp-duration" :100 "idmp-maxsize" :100 "pids-tracked" :0 "iids-tracked" :0 "iids-added" :0 "iids-duplicates" :0 "groups" :0 "first-entry" ["1-4" ["a" "1"]] "last-entry" ["1-4" ["a" "1"]]]"#,
        r#""1-1" | "1-2" | "1-3" | :1 | :0 | [["1-2" ["a" "1"]] ["1-3" ["a" "1"]]] | :2 | :0 | :1 | -ERR The ID specified in XADD is equal or smaller than the target stream top item | "1-4" | {"length" :1 "radix-tree-keys" :1 "radix-tree-nodes" :2 "last-generated-id" "1-4" "max-deleted-entry-id" "1-3" "entries-added" :4 "recorded-first-entry-id" "1-4" "idmp-duration" :100 "idmp-maxsize" :100 "pids-tracked" :0 "iids-tracked" :0 "iids-added" :0 "iids-duplicates" :0 "groups" :0 "first-entry" ["1-4" ["a" "1"]] "last-entry" ["1-4" ["a" "1"]]}"#,
    );
    check(
        "XDEL s 1-1 | XDEL s x | XADD s 1-1 a 1 | XDEL s x | XDEL s 1-1 x | XLEN s | XDEL s 1 | XDEL s - | XDEL",
        r#":0 | :0 | "1-1" | -ERR Invalid stream ID specified as stream command argument | -ERR Invalid stream ID specified as stream command argument | :1 | :0 | -ERR Invalid stream ID specified as stream command argument | -ERR wrong number of arguments for 'xdel' command"#,
    );
}

#[test]
fn old_entries_are_trimmed() {
    check(
        "XADD s 1-1 a 1 | XADD s 1-2 a 1 | XADD s 1-3 a 1 | XADD s 1-4 a 1 | XTRIM s MAXLEN 3 | XTRIM s MAXLEN = 3 | XTRIM s MINID 1-3 | XRANGE s - + | XTRIM s MAXLEN ~ 0 LIMIT 1 | XTRIM s MAXLEN ~ 0 | XLEN s | EXISTS s | XTRIM s MAXLEN 0",
        r#""1-1" | "1-2" | "1-3" | "1-4" | :1 | :0 | :1 | [["1-3" ["a" "1"]] ["1-4" ["a" "1"]]] | :0 | :2 | :0 | :1 | :0"#,
    );
    check(
        "XTRIM s | XTRIM s MAXLEN | XTRIM s MAXLEN 1 | XTRIM s FOO 1 | XTRIM s MAXLEN 1 FOO | XTRIM s LIMIT 1 | XTRIM s LIMIT 0 | XTRIM s MAXLEN 1 LIMIT 1 | XTRIM s MAXLEN ~ 1 LIMIT 0 | XTRIM s NOMKSTREAM MAXLEN 1 | XTRIM s MAXLEN x | XTRIM s MINID - | XTRIM s MAXLEN 1 MAXLEN 2",
        "-ERR wrong number of arguments for 'xtrim' command | -ERR wrong number of arguments for 'xtrim' command | :0 | -ERR syntax error | -ERR syntax error | -ERR syntax error, LIMIT cannot be used without specifying a trimming strategy | -ERR syntax error, XTRIM must be called with a trimming strategy | -ERR syntax error, LIMIT cannot be used without the special ~ option | :0 | -ERR syntax error | -ERR value is not an integer or out of range | -ERR Invalid stream ID specified as stream command argument | -ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
    );
}

#[test]
fn the_last_id_can_be_set() {
    tarn_only3(
        "XSETID s 1-1 | XADD s 5-5 a 1 | XSETID s 5-4 | XSETID s 6-0 | XADD s 5-9 a 1 | XADD s 6-1 a 1 | XSETID s 7 ENTRIESADDED 1 | XSETID s 7 ENTRIESADDED 10 MAXDELETEDID 6-5 | XINFO STREAM s | XSETID s 6-4 | XSETID s 7 MAXDELETEDID 8 | XSETID s 7 ENTRIESADDED -1 | XSETID s 7 ENTRIESADDED x | XSETID s 7 FOO 1 | XSETID s x | XSETID s 7 ENTRIESADDED",
        r#"-ERR no such key | "5-5" | -ERR The ID specified in XSETID is smaller than the target stream top item | +OK | -ERR The ID specified in XADD is equal or smaller than the target stream top item | "6-1" | -ERR The entries_added specified in XSETID is smaller than the target stream length | +OK | ["length" :2 "radix-tree-keys" :1 "radix-tree-nodes" :2 "last-generated-id" "7-0" "max-deleted-entry-id" "6-5" "entries-added" :10 "recorded-first-entry-id" "5-5" "idmp-duration" :100 "idmp-maxsize" :100 "pids-tracked" :0 "iids-tracked" :0 "iids-added" :0 "iids-duplicates" :0 "groups" :0 "first-entry" ["5-5" ["a" "1"]] "last-entry" ["6-1" ["a" "1"]]] | -ERR The ID specified in XSETID is smaller than current max_deleted_entry_id | -ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id | -ERR entries_added must be positive | -ERR value is not an integer or out of range | -ERR syntax error | -ERR Invalid stream ID specified as stream command argument | -ERR syntax error"#,
        r#"-ERR no such key | "5-5" | -ERR The ID specified in XSETID is smaller than the target stream top item | +OK | -ERR The ID specified in XADD is equal or smaller than the target stream top item | "6-1" | -ERR The entries_added specified in XSETID is smaller than the target stream length | +OK | {"length" :2 "radix-tree-keys" :1 "radix-tree-nodes" :2 "last-generated-id" "7-0" "max-deleted-entry-id" "6-5" "entries-added" :10 "recorded-first-entry-id" "5-5" "idmp-duration" :100 "idmp-maxsize" :100 "pids-tracked" :0 "iids-tracked" :0 "iids-added" :0 "iids-duplicates" :0 "groups" :0 "first-entry" ["5-5" ["a" "1"]] "last-entry" ["6-1" ["a" "1"]]} | -ERR The ID specified in XSETID is smaller than current max_deleted_entry_id | -ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id | -ERR entries_added must be positive | -ERR value is not an integer or out of range | -ERR syntax error | -ERR Invalid stream ID specified as stream command argument | -ERR syntax error"#,
    );
    tarn_only(
        "XADD s 1-1 a 1 | XDEL s 1-1 | XSETID s 0-5 | XSETID s 1-1 | XADD s 1-1 a 1 | XADD s 1-2 a 1",
        r#""1-1" | :1 | -ERR The ID specified in XSETID is smaller than current max_deleted_entry_id | +OK | -ERR The ID specified in XADD is equal or smaller than the target stream top item | "1-2""#,
    );
}
