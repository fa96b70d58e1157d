//! Consumer groups: XGROUP, XREADGROUP and XACK.

use crate::check::{check, check3, tarn_only3};

#[test]
fn groups_and_their_consumers() {
    check3(
        "XGROUP CREATE s g $ | XGROUP CREATE s g $ MKSTREAM | XGROUP CREATE s g $ MKSTREAM | TYPE s | XLEN s | XGROUP CREATE s h 0 | XINFO GROUPS s | XGROUP DESTROY s g | XGROUP DESTROY s g | XINFO GROUPS s",
        r#"-ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically. | +OK | -BUSYGROUP Consumer Group name already exists | +stream | :0 | +OK | [["name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0] ["name" "h" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0]] | :1 | :0 | [["name" "h" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0]]"#,
        r#"-ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically. | +OK | -BUSYGROUP Consumer Group name already exists | +stream | :0 | +OK | [{"name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0} {"name" "h" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0}] | :1 | :0 | [{"name" "h" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0}]"#,
    );
    check3(
        "XGROUP CREATE s g x MKSTREAM | EXISTS s | XGROUP CREATE s g $ FOO | XGROUP CREATE s g $ MKSTREAM ENTRIESREAD | XGROUP CREATE s g $ MKSTREAM ENTRIESREAD x | XGROUP CREATE s g $ MKSTREAM ENTRIESREAD -2 | XGROUP CREATE s g $ MKSTREAM ENTRIESREAD -1 | XGROUP CREATE s h 5-5 ENTRIESREAD 7 | XINFO GROUPS s | XGROUP CREATE s | XGROUP CREATE s i - | XGROUP FOO s g | XGROUP | XGROUP CREATE s j 0 MKSTREAM MKSTREAM MKSTREAM MKSTREAM",
        r#"-ERR Invalid stream ID specified as stream command argument | :0 | -ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP. | -ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP. | -ERR value is not an integer or out of range | -ERR value for ENTRIESREAD must be positive or -1 | +OK | +OK | [["name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0] ["name" "h" "consumers" :0 "pending" :0 "last-delivered-id" "5-5" "entries-read" :7 "lag" :0]] | -ERR wrong number of arguments for 'xgroup|create' command | -ERR Invalid stream ID specified as stream command argument | -ERR unknown subcommand 'FOO'. Try XGROUP HELP. | -ERR wrong number of arguments for 'xgroup' command | -ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP."#,
        r#"-ERR Invalid stream ID specified as stream command argument | :0 | -ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP. | -ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP. | -ERR value is not an integer or out of range | -ERR value for ENTRIESREAD must be positive or -1 | +OK | +OK | [{"name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0} {"name" "h" "consumers" :0 "pending" :0 "last-delivered-id" "5-5" "entries-read" :7 "lag" :0}] | -ERR wrong number of arguments for 'xgroup|create' command | -ERR Invalid stream ID specified as stream command argument | -ERR unknown subcommand 'FOO'. Try XGROUP HELP. | -ERR wrong number of arguments for 'xgroup' command | -ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP."#,
    );
    check(
        "SET k v | XGROUP CREATE k g $ | XGROUP CREATE k g $ MKSTREAM | XGROUP SETID k g 0 | XGROUP DESTROY k g | XGROUP CREATECONSUMER k g c | XGROUP DELCONSUMER k g c | XACK k g 1-1 | XREADGROUP GROUP g c STREAMS k > | XPENDING k g | XCLAIM k g c 0 1-1 | XAUTOCLAIM k g c 0 0 | XINFO STREAM k | XINFO GROUPS k | XINFO CONSUMERS k g",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    check(
        "XGROUP SETID s g 0 | XGROUP DESTROY s g | XGROUP CREATECONSUMER s g c | XGROUP DELCONSUMER s g c | XACK s g 1-1 | XREADGROUP GROUP g c STREAMS s > | XPENDING s g | XCLAIM s g c 0 1-1 | XAUTOCLAIM s g c 0 0 | XINFO STREAM s | XINFO GROUPS s | XINFO CONSUMERS s g",
        "-ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically. | -ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically. | -ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically. | -ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically. | :0 | -NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option | -NOGROUP No such key 's' or consumer group 'g' | -NOGROUP No such key 's' or consumer group 'g' | -NOGROUP No such key 's' or consumer group 'g' | -ERR no such key | -ERR no such key | -ERR no such key",
    );
    check3(
        "XGROUP CREATE s g 0 MKSTREAM | XGROUP CREATECONSUMER s g c | XGROUP CREATECONSUMER s g c | XGROUP DELCONSUMER s g nosuch | XGROUP DELCONSUMER s g c | XGROUP CREATECONSUMER s g c x | XINFO GROUPS s",
        r#"+OK | :1 | :0 | :0 | :0 | -ERR wrong number of arguments for 'xgroup|createconsumer' command | [["name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0]]"#,
        r#"+OK | :1 | :0 | :0 | :0 | -ERR wrong number of arguments for 'xgroup|createconsumer' command | [{"name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0}]"#,
    );
}

#[test]
fn groups_read_entries() {
    check(
        "XADD s 1-1 a 1 | XGROUP SETID s g 0 | XGROUP CREATECONSUMER s g c | XGROUP DELCONSUMER s g c | XACK s g x | XREADGROUP GROUP g c STREAMS s > | XPENDING s g | XCLAIM s g c 0 1-1 | XAUTOCLAIM s g c 0 0 | XINFO CONSUMERS s g",
        r#""1-1" | -NOGROUP No such consumer group 'g' for key name 's' | -NOGROUP No such consumer group 'g' for key name 's' | -NOGROUP No such consumer group 'g' for key name 's' | :0 | -NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option | -NOGROUP No such key 's' or consumer group 'g' | -NOGROUP No such key 's' or consumer group 'g' | -NOGROUP No such key 's' or consumer group 'g' | -NOGROUP No such consumer group 'g' for key name 's'"#,
    );
    check3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XADD s 1-3 a 3 | XGROUP CREATE s g 0 | XREADGROUP GROUP g c COUNT 1 STREAMS s > | XREADGROUP GROUP g d COUNT 1 STREAMS s > | XREADGROUP GROUP g c STREAMS s > | XREADGROUP GROUP g c STREAMS s > | XREADGROUP GROUP g c STREAMS s 0 | XREADGROUP GROUP g d STREAMS s 0 | XREADGROUP GROUP g d STREAMS s 1-2 | XREADGROUP GROUP g e STREAMS s 0 | XPENDING s g | XACK s g 1-1 1-1 9-9 | XPENDING s g | XACK s g 1-2 1-3 | XPENDING s g | XINFO GROUPS s",
        r#""1-1" | "1-2" | "1-3" | +OK | [["s" [["1-1" ["a" "1"]]]]] | [["s" [["1-2" ["a" "2"]]]]] | [["s" [["1-3" ["a" "3"]]]]] | nil[] | [["s" [["1-1" ["a" "1"]] ["1-3" ["a" "3"]]]]] | [["s" [["1-2" ["a" "2"]]]]] | [["s" []]] | [["s" []]] | [:3 "1-1" "1-3" [["c" "2"] ["d" "1"]]] | :1 | [:2 "1-2" "1-3" [["c" "1"] ["d" "1"]]] | :2 | [:0 nil nil nil[]] | [["name" "g" "consumers" :3 "pending" :0 "last-delivered-id" "1-3" "entries-read" :3 "lag" :0]]"#,
        r#""1-1" | "1-2" | "1-3" | +OK | {"s" [["1-1" ["a" "1"]]]} | {"s" [["1-2" ["a" "2"]]]} | {"s" [["1-3" ["a" "3"]]]} | nil | {"s" [["1-1" ["a" "1"]] ["1-3" ["a" "3"]]]} | {"s" [["1-2" ["a" "2"]]]} | {"s" []} | {"s" []} | [:3 "1-1" "1-3" [["c" "2"] ["d" "1"]]] | :1 | [:2 "1-2" "1-3" [["c" "1"] ["d" "1"]]] | :2 | [:0 nil nil nil] | [{"name" "g" "consumers" :3 "pending" :0 "last-delivered-id" "1-3" "entries-read" :3 "lag" :0}]"#,
    );
    check3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XADD s 1-3 a 3 | XGROUP CREATE s g 0 | XREADGROUP GROUP g c STREAMS s > | XDEL s 1-2 | XREADGROUP GROUP g c STREAMS s 0 | XREADGROUP GROUP g c COUNT 2 STREAMS s 0 | XPENDING s g | XINFO GROUPS s",
        r#""1-1" | "1-2" | "1-3" | +OK | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]] ["1-3" ["a" "3"]]]]] | :1 | [["s" [["1-1" ["a" "1"]] ["1-2" nil[]] ["1-3" ["a" "3"]]]]] | [["s" [["1-1" ["a" "1"]] ["1-2" nil[]]]]] | [:3 "1-1" "1-3" [["c" "3"]]] | [["name" "g" "consumers" :1 "pending" :3 "last-delivered-id" "1-3" "entries-read" :3 "lag" :0]]"#,
        r#""1-1" | "1-2" | "1-3" | +OK | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]] ["1-3" ["a" "3"]]]} | :1 | {"s" [["1-1" ["a" "1"]] ["1-2" nil] ["1-3" ["a" "3"]]]} | {"s" [["1-1" ["a" "1"]] ["1-2" nil]]} | [:3 "1-1" "1-3" [["c" "3"]]] | [{"name" "g" "consumers" :1 "pending" :3 "last-delivered-id" "1-3" "entries-read" :3 "lag" :0}]"#,
    );
    check3(
        "XADD s 1-1 a 1 | XADD t 1-1 a 1 | XGROUP CREATE s g 0 | XREADGROUP GROUP g c STREAMS s t > > | XGROUP CREATE t g 0 | XREADGROUP GROUP g c STREAMS s t > > | XREADGROUP GROUP g c STREAMS s t > 0 | XREADGROUP GROUP g c STREAMS s t 0 0",
        r#""1-1" | "1-1" | +OK | -NOGROUP No such key 't' or consumer group 'g' in XREADGROUP with GROUP option | +OK | [["s" [["1-1" ["a" "1"]]]] ["t" [["1-1" ["a" "1"]]]]] | [["t" [["1-1" ["a" "1"]]]]] | [["s" [["1-1" ["a" "1"]]]] ["t" [["1-1" ["a" "1"]]]]]"#,
        r#""1-1" | "1-1" | +OK | -NOGROUP No such key 't' or consumer group 'g' in XREADGROUP with GROUP option | +OK | {"s" [["1-1" ["a" "1"]]] "t" [["1-1" ["a" "1"]]]} | {"t" [["1-1" ["a" "1"]]]} | {"s" [["1-1" ["a" "1"]]] "t" [["1-1" ["a" "1"]]]}"#,
    );
    tarn_only3(
        "XGROUP CREATE s g 0 MKSTREAM | XREADGROUP GROUP g c STREAMS s $ | XREADGROUP GROUP g c STREAMS s + | XREADGROUP GROUP g c STREAMS s x | XREADGROUP GROUP g c COUNT x STREAMS s > | XREADGROUP GROUP g c FOO STREAMS s > | XREADGROUP COUNT 1 BLOCK 1 STREAMS s > | XREADGROUP GROUP g c STREAMS s t > | XREADGROUP GROUP g STREAMS s > | XREADGROUP GROUP g c STREAMS | XREADGROUP GROUP g c BLOCK 10 STREAMS s > | XREADGROUP GROUP g c BLOCK 10 STREAMS s 0 | XINFO GROUPS s",
        r#"+OK | -ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set. | -ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The + ID would just return an empty result set. | -ERR Invalid stream ID specified as stream command argument | -ERR value is not an integer or out of range | -ERR syntax error | -ERR Missing GROUP option for XREADGROUP | -ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified. | -ERR wrong number of arguments for 'xreadgroup' command | -ERR wrong number of arguments for 'xreadgroup' command | nil[] | [["s" []]] | [["name" "g" "consumers" :1 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0]]"#,
        r#"+OK | -ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set. | -ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The + ID would just return an empty result set. | -ERR Invalid stream ID specified as stream command argument | -ERR value is not an integer or out of range | -ERR syntax error | -ERR Missing GROUP option for XREADGROUP | -ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified. | -ERR wrong number of arguments for 'xreadgroup' command | -ERR wrong number of arguments for 'xreadgroup' command | nil | {"s" []} | [{"name" "g" "consumers" :1 "pending" :0 "last-delivered-id" "0-0" "entries-read" nil "lag" :0}]"#,
    );
    check3(
        "XADD s 1-1 a 1 | XADD s 1-2 a 2 | XGROUP CREATE s g 0 | XREADGROUP GROUP g c STREAMS s > | XGROUP DELCONSUMER s g c | XPENDING s g | XINFO GROUPS s | XREADGROUP GROUP g c STREAMS s 0 | XGROUP SETID s g 0 | XREADGROUP GROUP g c STREAMS s > | XGROUP DESTROY s g | XGROUP CREATE s g 0 | XPENDING s g | XREADGROUP GROUP g c STREAMS s >",
        r#""1-1" | "1-2" | +OK | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]]] | :2 | [:0 nil nil nil[]] | [["name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "1-2" "entries-read" :2 "lag" :0]] | [["s" []]] | +OK | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]]] | :1 | +OK | [:0 nil nil nil[]] | [["s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]]]"#,
        r#""1-1" | "1-2" | +OK | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]} | :2 | [:0 nil nil nil] | [{"name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "1-2" "entries-read" :2 "lag" :0}] | {"s" []} | +OK | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]} | :1 | +OK | [:0 nil nil nil] | {"s" [["1-1" ["a" "1"]] ["1-2" ["a" "2"]]]}"#,
    );
}

#[test]
fn groups_are_copied_with_their_stream() {
    check3(
        "XADD s 1-0 a 1 | XGROUP CREATE s g $ | COPY s t | XGROUP CREATECONSUMER t g c | XINFO GROUPS s | XINFO GROUPS t | XADD t 2-0 b 1 | XREADGROUP GROUP g c STREAMS t > | COPY t u | XPENDING u g | XACK u g 2-0 | XPENDING t g | RENAME t s | XPENDING s g | XREADGROUP GROUP g c STREAMS s 0 | DEL u | XADD u 1-1 a 1 | XINFO GROUPS u",
        r#""1-0" | +OK | :1 | :1 | [["name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "1-0" "entries-read" nil "lag" :0]] | [["name" "g" "consumers" :1 "pending" :0 "last-delivered-id" "1-0" "entries-read" nil "lag" :0]] | "2-0" | [["t" [["2-0" ["b" "1"]]]]] | :1 | [:1 "2-0" "2-0" [["c" "1"]]] | :1 | [:1 "2-0" "2-0" [["c" "1"]]] | +OK | [:1 "2-0" "2-0" [["c" "1"]]] | [["s" [["2-0" ["b" "1"]]]]] | :1 | "1-1" | []"#,
        r#""1-0" | +OK | :1 | :1 | [{"name" "g" "consumers" :0 "pending" :0 "last-delivered-id" "1-0" "entries-read" nil "lag" :0}] | [{"name" "g" "consumers" :1 "pending" :0 "last-delivered-id" "1-0" "entries-read" nil "lag" :0}] | "2-0" | {"t" [["2-0" ["b" "1"]]]} | :1 | [:1 "2-0" "2-0" [["c" "1"]]] | :1 | [:1 "2-0" "2-0" [["c" "1"]]] | +OK | [:1 "2-0" "2-0" [["c" "1"]]] | {"s" [["2-0" ["b" "1"]]]} | :1 | "1-1" | []"#,
    );
}

#[test]
fn help_is_given() {
    check(
        "XGROUP HELP | XINFO HELP",
        r#"[+"XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" ...] | [+"XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" ...]"#,
    );
}
