//! COMMAND: what the tables say about each command.

use crate::check::{check, check3, tarn_only3};

#[test]
fn getkeys() {
    check("COMMAND GETKEYS GET a", r#"["a"]"#);
    check("COMMAND GETKEYS MSET a 1 b 2", r#"["a" "b"]"#);
    check("COMMAND GETKEYS MGET a b c", r#"["a" "b" "c"]"#);
    check("COMMAND GETKEYS SET a b EX 10", r#"["a"]"#);
    check("COMMAND GETKEYS BITOP AND d a b", r#"["d" "a" "b"]"#);
    check("COMMAND GETKEYS RENAME a b", r#"["a" "b"]"#);
    check("COMMAND GETKEYS COPY a b DB 1", r#"["a" "b"]"#);
    check("COMMAND GETKEYS DEL a b", r#"["a" "b"]"#);
    check("COMMAND GETKEYS LCS a b LEN", r#"["a" "b"]"#);
    check("COMMAND GETKEYS OBJECT ENCODING a", r#"["a"]"#);
    check("COMMAND GETKEYS PING", "-ERR wrong number of arguments for 'command|getkeys' command");
    check("COMMAND GETKEYS FOO", "-ERR wrong number of arguments for 'command|getkeys' command");
    check("COMMAND GETKEYS GET", "-ERR wrong number of arguments for 'command|getkeys' command");
    check("COMMAND GETKEYS", "-ERR wrong number of arguments for 'command|getkeys' command");
    check("COMMAND GETKEYS SCAN 0", "-ERR The command has no key arguments");
    check("COMMAND GETKEYS MSETNX a 1 b", r#"["a" "b"]"#);
    check("COMMAND GETKEYS ZUNION 1 a", r#"["a"]"#);
    for wrong in [
        "ZUNION -1 a",
        "ZUNION 0 a",
        "ZUNION 2 a",
        "ZUNION x a",
        "ZUNIONSTORE d -1 a",
        "ZUNIONSTORE d 5 a",
        "LMPOP 0 a LEFT",
        "BLMPOP 0 -1 a LEFT",
        "SINTERCARD -1 a",
        "ZDIFF 99999999999999999999 a",
        "XREAD COUNT 1 a b",
    ] {
        check(&format!("COMMAND GETKEYS {wrong}"), "-ERR Invalid arguments specified for command");
        check(&format!("COMMAND GETKEYSANDFLAGS {wrong}"), "-ERR Invalid arguments specified for command");
    }
    for none in ["EVAL s -1 a", "EVAL s 0", "EVAL s 5 a", "EVAL s x a", "FCALL f -1 a"] {
        check(&format!("COMMAND GETKEYS {none}"), "[]");
    }
}

#[test]
fn getkeysandflags() {
    check3("COMMAND GETKEYSANDFLAGS GET a", r#"[["a" [+RO +access]]]"#, r#"[["a" #{+RO +access}]]"#);
    check3("COMMAND GETKEYSANDFLAGS SET a b", r#"[["a" [+OW +update]]]"#, r#"[["a" #{+OW +update}]]"#);
    check3(
        "COMMAND GETKEYSANDFLAGS SET a b GET",
        r#"[["a" [+RW +access +update]]]"#,
        r#"[["a" #{+RW +access +update}]]"#,
    );
    check3(
        "COMMAND GETKEYSANDFLAGS MSET a 1 b 2",
        r#"[["a" [+OW +update]] ["b" [+OW +update]]]"#,
        r#"[["a" #{+OW +update}] ["b" #{+OW +update}]]"#,
    );
    check3(
        "COMMAND GETKEYSANDFLAGS RENAME a b",
        r#"[["a" [+RW +access +delete]] ["b" [+OW +update]]]"#,
        r#"[["a" #{+RW +access +delete}] ["b" #{+OW +update}]]"#,
    );
    check3(
        "COMMAND GETKEYSANDFLAGS COPY a b",
        r#"[["a" [+RO +access]] ["b" [+OW +update]]]"#,
        r#"[["a" #{+RO +access}] ["b" #{+OW +update}]]"#,
    );
    check3(
        "COMMAND GETKEYSANDFLAGS BITOP AND d a b",
        r#"[["d" [+OW +update]] ["a" [+RO +access]] ["b" [+RO +access]]]"#,
        r#"[["d" #{+OW +update}] ["a" #{+RO +access}] ["b" #{+RO +access}]]"#,
    );
    check3(
        "COMMAND GETKEYSANDFLAGS BITFIELD k GET u8 0",
        r#"[["k" [+RO +access]]]"#,
        r#"[["k" #{+RO +access}]]"#,
    );
    check3(
        "COMMAND GETKEYSANDFLAGS BITFIELD k SET u8 0 1",
        r#"[["k" [+RW +access +update]]]"#,
        r#"[["k" #{+RW +access +update}]]"#,
    );
    check3("COMMAND GETKEYSANDFLAGS DEL a", r#"[["a" [+RM +delete]]]"#, r#"[["a" #{+RM +delete}]]"#);
    check3("COMMAND GETKEYSANDFLAGS UNLINK a", r#"[["a" [+RM +delete]]]"#, r#"[["a" #{+RM +delete}]]"#);
    check3(
        "COMMAND GETKEYSANDFLAGS INCR a",
        r#"[["a" [+RW +access +update]]]"#,
        r#"[["a" #{+RW +access +update}]]"#,
    );
    check3("COMMAND GETKEYSANDFLAGS APPEND a b", r#"[["a" [+RW +insert]]]"#, r#"[["a" #{+RW +insert}]]"#);
    check3(
        "COMMAND GETKEYSANDFLAGS GETDEL a",
        r#"[["a" [+RW +access +delete]]]"#,
        r#"[["a" #{+RW +access +delete}]]"#,
    );
    check3(
        "COMMAND GETKEYSANDFLAGS GETEX a",
        r#"[["a" [+RW +access +update]]]"#,
        r#"[["a" #{+RW +access +update}]]"#,
    );
    check3("COMMAND GETKEYSANDFLAGS EXPIRE a 1", r#"[["a" [+RW +update]]]"#, r#"[["a" #{+RW +update}]]"#);
    check3("COMMAND GETKEYSANDFLAGS TTL a", r#"[["a" [+RO +access]]]"#, r#"[["a" #{+RO +access}]]"#);
    check3(
        "COMMAND GETKEYSANDFLAGS EXISTS a b",
        r#"[["a" [+RO]] ["b" [+RO]]]"#,
        r#"[["a" #{+RO}] ["b" #{+RO}]]"#,
    );
    check3("COMMAND GETKEYSANDFLAGS TYPE a", r#"[["a" [+RO]]]"#, r#"[["a" #{+RO}]]"#);
    check3(
        "COMMAND GETKEYSANDFLAGS MOVE a 1",
        r#"[["a" [+RW +access +update]]]"#,
        r#"[["a" #{+RW +access +update}]]"#,
    );
    check3("COMMAND GETKEYSANDFLAGS OBJECT ENCODING a", r#"[["a" [+RO]]]"#, r#"[["a" #{+RO}]]"#);
    check(
        "COMMAND GETKEYSANDFLAGS PING",
        "-ERR wrong number of arguments for 'command|getkeysandflags' command",
    );
}

#[test]
fn docs_list_count() {
    check("COMMAND FOO", "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.");
    check("COMMAND COUNT x", "-ERR wrong number of arguments for 'command|count' command");
    check3("COMMAND DOCS nosuch", "[]", "{}");
    check("COMMAND LIST FOO", "-ERR syntax error");
    check("COMMAND LIST FILTERBY FOO x", "-ERR syntax error");
    check("COMMAND LIST FILTERBY MODULE x", "[]");
    check("COMMAND LIST FILTERBY PATTERN getr*", r#"["getrange"]"#);
    check("COMMAND LIST FILTERBY PATTERN nosuch*", "[]");
    check("COMMAND LIST FILTERBY ACLCAT nosuch", "[]");
}

#[test]
fn info() {
    check("COMMAND INFO nosuch", "[nil]");
    check3(
        "COMMAND INFO get",
        r#"[["get" :2 [+readonly +fast] :1 :1 :1 [+@read +@string +@fast] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["get" :2 #{+readonly +fast} :1 :1 :1 #{+@read +@string +@fast} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO set",
        r#"[["set" :-3 [+write +denyoom] :1 :1 :1 [+@write +@string +@slow] [] [["notes" "RW and ACCESS due to the optional `GET` argument" "flags" [+RW +access +update +variable_flags] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["set" :-3 #{+write +denyoom} :1 :1 :1 #{+@write +@string +@slow} #{} #{{"notes" "RW and ACCESS due to the optional `GET` argument" "flags" #{+RW +access +update +variable_flags} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO mset",
        r#"[["mset" :-3 [+write +denyoom] :1 :-1 :2 [+@write +@string +@slow] ["request_policy:multi_shard" "response_policy:all_succeeded"] [["flags" [+OW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :-1 "keystep" :2 "limit" :0]]]] []]]"#,
        r#"[["mset" :-3 #{+write +denyoom} :1 :-1 :2 #{+@write +@string +@slow} #{"request_policy:multi_shard" "response_policy:all_succeeded"} #{{"flags" #{+OW +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :-1 "keystep" :2 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO incr del",
        r#"[["incr" :2 [+write +denyoom +fast] :1 :1 :1 [+@write +@string +@fast] [] [["flags" [+RW +access +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []] ["del" :-2 [+write] :1 :-1 :1 [+@keyspace +@write +@slow] ["request_policy:multi_shard" "response_policy:agg_sum"] [["flags" [+RM +delete] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :-1 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["incr" :2 #{+write +denyoom +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"flags" #{+RW +access +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}] ["del" :-2 #{+write} :1 :-1 :1 #{+@keyspace +@write +@slow} #{"request_policy:multi_shard" "response_policy:agg_sum"} #{{"flags" #{+RM +delete} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :-1 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO bitop",
        r#"[["bitop" :-4 [+write +denyoom] :2 :-1 :1 [+@write +@bitmap +@slow] [] [["flags" [+OW +update] "begin_search" ["type" "index" "spec" ["index" :2]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]] ["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :3]] "find_keys" ["type" "range" "spec" ["lastkey" :-1 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["bitop" :-4 #{+write +denyoom} :2 :-1 :1 #{+@write +@bitmap +@slow} #{} #{{"flags" #{+OW +update} "begin_search" {"type" "index" "spec" {"index" :2}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}} {"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :3}} "find_keys" {"type" "range" "spec" {"lastkey" :-1 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO object|encoding",
        r#"[["object|encoding" :3 [+readonly] :2 :2 :1 [+@keyspace +@read +@slow] ["nondeterministic_output"] [["flags" [+RO] "begin_search" ["type" "index" "spec" ["index" :2]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["object|encoding" :3 #{+readonly} :2 :2 :1 #{+@keyspace +@read +@slow} #{"nondeterministic_output"} #{{"flags" #{+RO} "begin_search" {"type" "index" "spec" {"index" :2}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO ping",
        r#"[["ping" :-1 [+fast] :0 :0 :0 [+@fast +@connection] ["request_policy:all_shards" "response_policy:all_succeeded"] [] []]]"#,
        r#"[["ping" :-1 #{+fast} :0 :0 :0 #{+@fast +@connection} #{"request_policy:all_shards" "response_policy:all_succeeded"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO GET",
        r#"[["get" :2 [+readonly +fast] :1 :1 :1 [+@read +@string +@fast] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["get" :2 #{+readonly +fast} :1 :1 :1 #{+@read +@string +@fast} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO get nosuch",
        r#"[["get" :2 [+readonly +fast] :1 :1 :1 [+@read +@string +@fast] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []] nil]"#,
        r#"[["get" :2 #{+readonly +fast} :1 :1 :1 #{+@read +@string +@fast} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}] nil]"#,
    );
    check3(
        "COMMAND INFO getex",
        r#"[["getex" :-2 [+write +fast] :1 :1 :1 [+@write +@string +@fast] [] [["notes" "RW and UPDATE because it changes the TTL" "flags" [+RW +access +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["getex" :-2 #{+write +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"notes" "RW and UPDATE because it changes the TTL" "flags" #{+RW +access +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO getdel",
        r#"[["getdel" :2 [+write +fast] :1 :1 :1 [+@write +@string +@fast] [] [["flags" [+RW +access +delete] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["getdel" :2 #{+write +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"flags" #{+RW +access +delete} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO getset",
        r#"[["getset" :3 [+write +denyoom +fast] :1 :1 :1 [+@write +@string +@fast] [] [["flags" [+RW +access +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["getset" :3 #{+write +denyoom +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"flags" #{+RW +access +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO mget",
        r#"[["mget" :-2 [+readonly +fast] :1 :-1 :1 [+@read +@string +@fast] ["request_policy:multi_shard"] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :-1 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["mget" :-2 #{+readonly +fast} :1 :-1 :1 #{+@read +@string +@fast} #{"request_policy:multi_shard"} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :-1 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO msetnx",
        r#"[["msetnx" :-3 [+write +denyoom] :1 :-1 :2 [+@write +@string +@slow] ["request_policy:multi_shard" "response_policy:agg_min"] [["flags" [+OW +insert] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :-1 "keystep" :2 "limit" :0]]]] []]]"#,
        r#"[["msetnx" :-3 #{+write +denyoom} :1 :-1 :2 #{+@write +@string +@slow} #{"request_policy:multi_shard" "response_policy:agg_min"} #{{"flags" #{+OW +insert} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :-1 "keystep" :2 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO setnx",
        r#"[["setnx" :3 [+write +denyoom +fast] :1 :1 :1 [+@write +@string +@fast] [] [["flags" [+OW +insert] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["setnx" :3 #{+write +denyoom +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"flags" #{+OW +insert} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO setex",
        r#"[["setex" :4 [+write +denyoom] :1 :1 :1 [+@write +@string +@slow] [] [["flags" [+OW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["setex" :4 #{+write +denyoom} :1 :1 :1 #{+@write +@string +@slow} #{} #{{"flags" #{+OW +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO psetex",
        r#"[["psetex" :4 [+write +denyoom] :1 :1 :1 [+@write +@string +@slow] [] [["flags" [+OW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["psetex" :4 #{+write +denyoom} :1 :1 :1 #{+@write +@string +@slow} #{} #{{"flags" #{+OW +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO append",
        r#"[["append" :3 [+write +denyoom +fast] :1 :1 :1 [+@write +@string +@fast] [] [["flags" [+RW +insert] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["append" :3 #{+write +denyoom +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"flags" #{+RW +insert} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO strlen",
        r#"[["strlen" :2 [+readonly +fast] :1 :1 :1 [+@read +@string +@fast] [] [["flags" [+RO] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["strlen" :2 #{+readonly +fast} :1 :1 :1 #{+@read +@string +@fast} #{} #{{"flags" #{+RO} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO getrange",
        r#"[["getrange" :4 [+readonly] :1 :1 :1 [+@read +@string +@slow] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["getrange" :4 #{+readonly} :1 :1 :1 #{+@read +@string +@slow} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO substr",
        r#"[["substr" :4 [+readonly] :1 :1 :1 [+@read +@string +@slow] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["substr" :4 #{+readonly} :1 :1 :1 #{+@read +@string +@slow} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO setrange",
        r#"[["setrange" :4 [+write +denyoom] :1 :1 :1 [+@write +@string +@slow] [] [["flags" [+RW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["setrange" :4 #{+write +denyoom} :1 :1 :1 #{+@write +@string +@slow} #{} #{{"flags" #{+RW +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO decr",
        r#"[["decr" :2 [+write +denyoom +fast] :1 :1 :1 [+@write +@string +@fast] [] [["flags" [+RW +access +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["decr" :2 #{+write +denyoom +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"flags" #{+RW +access +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO incrby",
        r#"[["incrby" :3 [+write +denyoom +fast] :1 :1 :1 [+@write +@string +@fast] [] [["flags" [+RW +access +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["incrby" :3 #{+write +denyoom +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"flags" #{+RW +access +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO decrby",
        r#"[["decrby" :3 [+write +denyoom +fast] :1 :1 :1 [+@write +@string +@fast] [] [["flags" [+RW +access +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["decrby" :3 #{+write +denyoom +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"flags" #{+RW +access +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO incrbyfloat",
        r#"[["incrbyfloat" :3 [+write +denyoom +fast] :1 :1 :1 [+@write +@string +@fast] [] [["flags" [+RW +access +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["incrbyfloat" :3 #{+write +denyoom +fast} :1 :1 :1 #{+@write +@string +@fast} #{} #{{"flags" #{+RW +access +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO lcs",
        r#"[["lcs" :-3 [+readonly] :1 :2 :1 [+@read +@string +@slow] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :1 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["lcs" :-3 #{+readonly} :1 :2 :1 #{+@read +@string +@slow} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :1 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO setbit",
        r#"[["setbit" :4 [+write +denyoom] :1 :1 :1 [+@write +@bitmap +@slow] [] [["flags" [+RW +access +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["setbit" :4 #{+write +denyoom} :1 :1 :1 #{+@write +@bitmap +@slow} #{} #{{"flags" #{+RW +access +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO getbit",
        r#"[["getbit" :3 [+readonly +fast] :1 :1 :1 [+@read +@bitmap +@fast] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["getbit" :3 #{+readonly +fast} :1 :1 :1 #{+@read +@bitmap +@fast} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO bitcount",
        r#"[["bitcount" :-2 [+readonly] :1 :1 :1 [+@read +@bitmap +@slow] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["bitcount" :-2 #{+readonly} :1 :1 :1 #{+@read +@bitmap +@slow} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO bitpos",
        r#"[["bitpos" :-3 [+readonly] :1 :1 :1 [+@read +@bitmap +@slow] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["bitpos" :-3 #{+readonly} :1 :1 :1 #{+@read +@bitmap +@slow} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO bitfield",
        r#"[["bitfield" :-2 [+write +denyoom] :1 :1 :1 [+@write +@bitmap +@slow] [] [["notes" "This command allows both access and modification of the key" "flags" [+RW +access +update +variable_flags] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["bitfield" :-2 #{+write +denyoom} :1 :1 :1 #{+@write +@bitmap +@slow} #{} #{{"notes" "This command allows both access and modification of the key" "flags" #{+RW +access +update +variable_flags} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO bitfield_ro",
        r#"[["bitfield_ro" :-2 [+readonly +fast] :1 :1 :1 [+@read +@bitmap +@fast] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["bitfield_ro" :-2 #{+readonly +fast} :1 :1 :1 #{+@read +@bitmap +@fast} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO unlink",
        r#"[["unlink" :-2 [+write +fast] :1 :-1 :1 [+@keyspace +@write +@fast] ["request_policy:multi_shard" "response_policy:agg_sum"] [["flags" [+RM +delete] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :-1 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["unlink" :-2 #{+write +fast} :1 :-1 :1 #{+@keyspace +@write +@fast} #{"request_policy:multi_shard" "response_policy:agg_sum"} #{{"flags" #{+RM +delete} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :-1 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO exists",
        r#"[["exists" :-2 [+readonly +fast] :1 :-1 :1 [+@keyspace +@read +@fast] ["request_policy:multi_shard" "response_policy:agg_sum"] [["flags" [+RO] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :-1 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["exists" :-2 #{+readonly +fast} :1 :-1 :1 #{+@keyspace +@read +@fast} #{"request_policy:multi_shard" "response_policy:agg_sum"} #{{"flags" #{+RO} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :-1 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO type",
        r#"[["type" :2 [+readonly +fast] :1 :1 :1 [+@keyspace +@read +@fast] [] [["flags" [+RO] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["type" :2 #{+readonly +fast} :1 :1 :1 #{+@keyspace +@read +@fast} #{} #{{"flags" #{+RO} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO touch",
        r#"[["touch" :-2 [+readonly +fast] :1 :-1 :1 [+@keyspace +@read +@fast] ["request_policy:multi_shard" "response_policy:agg_sum"] [["flags" [+RO] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :-1 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["touch" :-2 #{+readonly +fast} :1 :-1 :1 #{+@keyspace +@read +@fast} #{"request_policy:multi_shard" "response_policy:agg_sum"} #{{"flags" #{+RO} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :-1 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO rename",
        r#"[["rename" :3 [+write] :1 :2 :1 [+@keyspace +@write +@slow] [] [["flags" [+RW +access +delete] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]] ["flags" [+OW +update] "begin_search" ["type" "index" "spec" ["index" :2]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["rename" :3 #{+write} :1 :2 :1 #{+@keyspace +@write +@slow} #{} #{{"flags" #{+RW +access +delete} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}} {"flags" #{+OW +update} "begin_search" {"type" "index" "spec" {"index" :2}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO renamenx",
        r#"[["renamenx" :3 [+write +fast] :1 :2 :1 [+@keyspace +@write +@fast] [] [["flags" [+RW +access +delete] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]] ["flags" [+OW +insert] "begin_search" ["type" "index" "spec" ["index" :2]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["renamenx" :3 #{+write +fast} :1 :2 :1 #{+@keyspace +@write +@fast} #{} #{{"flags" #{+RW +access +delete} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}} {"flags" #{+OW +insert} "begin_search" {"type" "index" "spec" {"index" :2}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO copy",
        r#"[["copy" :-3 [+write +denyoom] :1 :2 :1 [+@keyspace +@write +@slow] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]] ["flags" [+OW +update] "begin_search" ["type" "index" "spec" ["index" :2]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["copy" :-3 #{+write +denyoom} :1 :2 :1 #{+@keyspace +@write +@slow} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}} {"flags" #{+OW +update} "begin_search" {"type" "index" "spec" {"index" :2}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO keys",
        r#"[["keys" :2 [+readonly] :0 :0 :0 [+@keyspace +@read +@slow +@dangerous] ["request_policy:all_shards" "nondeterministic_output_order"] [] []]]"#,
        r#"[["keys" :2 #{+readonly} :0 :0 :0 #{+@keyspace +@read +@slow +@dangerous} #{"request_policy:all_shards" "nondeterministic_output_order"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO scan",
        r#"[["scan" :-2 [+readonly] :0 :0 :0 [+@keyspace +@read +@slow] ["nondeterministic_output" "request_policy:special"] [] []]]"#,
        r#"[["scan" :-2 #{+readonly} :0 :0 :0 #{+@keyspace +@read +@slow} #{"nondeterministic_output" "request_policy:special"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO randomkey",
        r#"[["randomkey" :1 [+readonly] :0 :0 :0 [+@keyspace +@read +@slow] ["request_policy:all_shards" "nondeterministic_output"] [] []]]"#,
        r#"[["randomkey" :1 #{+readonly} :0 :0 :0 #{+@keyspace +@read +@slow} #{"request_policy:all_shards" "nondeterministic_output"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO expire",
        r#"[["expire" :-3 [+write +fast] :1 :1 :1 [+@keyspace +@write +@fast] [] [["flags" [+RW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["expire" :-3 #{+write +fast} :1 :1 :1 #{+@keyspace +@write +@fast} #{} #{{"flags" #{+RW +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO pexpire",
        r#"[["pexpire" :-3 [+write +fast] :1 :1 :1 [+@keyspace +@write +@fast] [] [["flags" [+RW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["pexpire" :-3 #{+write +fast} :1 :1 :1 #{+@keyspace +@write +@fast} #{} #{{"flags" #{+RW +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO expireat",
        r#"[["expireat" :-3 [+write +fast] :1 :1 :1 [+@keyspace +@write +@fast] [] [["flags" [+RW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["expireat" :-3 #{+write +fast} :1 :1 :1 #{+@keyspace +@write +@fast} #{} #{{"flags" #{+RW +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO pexpireat",
        r#"[["pexpireat" :-3 [+write +fast] :1 :1 :1 [+@keyspace +@write +@fast] [] [["flags" [+RW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["pexpireat" :-3 #{+write +fast} :1 :1 :1 #{+@keyspace +@write +@fast} #{} #{{"flags" #{+RW +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO ttl",
        r#"[["ttl" :2 [+readonly +fast] :1 :1 :1 [+@keyspace +@read +@fast] ["nondeterministic_output"] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["ttl" :2 #{+readonly +fast} :1 :1 :1 #{+@keyspace +@read +@fast} #{"nondeterministic_output"} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO pttl",
        r#"[["pttl" :2 [+readonly +fast] :1 :1 :1 [+@keyspace +@read +@fast] ["nondeterministic_output"] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["pttl" :2 #{+readonly +fast} :1 :1 :1 #{+@keyspace +@read +@fast} #{"nondeterministic_output"} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO expiretime",
        r#"[["expiretime" :2 [+readonly +fast] :1 :1 :1 [+@keyspace +@read +@fast] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["expiretime" :2 #{+readonly +fast} :1 :1 :1 #{+@keyspace +@read +@fast} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO pexpiretime",
        r#"[["pexpiretime" :2 [+readonly +fast] :1 :1 :1 [+@keyspace +@read +@fast] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["pexpiretime" :2 #{+readonly +fast} :1 :1 :1 #{+@keyspace +@read +@fast} #{} #{{"flags" #{+RO +access} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO persist",
        r#"[["persist" :2 [+write +fast] :1 :1 :1 [+@keyspace +@write +@fast] [] [["flags" [+RW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["persist" :2 #{+write +fast} :1 :1 :1 #{+@keyspace +@write +@fast} #{} #{{"flags" #{+RW +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
    check3(
        "COMMAND INFO echo",
        r#"[["echo" :2 [+loading +stale +fast] :0 :0 :0 [+@fast +@connection] [] [] []]]"#,
        r#"[["echo" :2 #{+loading +stale +fast} :0 :0 :0 #{+@fast +@connection} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO quit",
        r#"[["quit" :-1 [+noscript +loading +stale +fast +no_auth +allow_busy] :0 :0 :0 [+@fast +@connection] [] [] []]]"#,
        r#"[["quit" :-1 #{+noscript +loading +stale +fast +no_auth +allow_busy} :0 :0 :0 #{+@fast +@connection} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO reset",
        r#"[["reset" :1 [+noscript +loading +stale +fast +no_auth +allow_busy] :0 :0 :0 [+@fast +@connection] [] [] []]]"#,
        r#"[["reset" :1 #{+noscript +loading +stale +fast +no_auth +allow_busy} :0 :0 :0 #{+@fast +@connection} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO hello",
        r#"[["hello" :-1 [+noscript +loading +stale +fast +no_auth +allow_busy] :0 :0 :0 [+@fast +@connection] [] [] []]]"#,
        r#"[["hello" :-1 #{+noscript +loading +stale +fast +no_auth +allow_busy} :0 :0 :0 #{+@fast +@connection} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO auth",
        r#"[["auth" :-2 [+noscript +loading +stale +fast +no_auth +allow_busy] :0 :0 :0 [+@fast +@connection] [] [] []]]"#,
        r#"[["auth" :-2 #{+noscript +loading +stale +fast +no_auth +allow_busy} :0 :0 :0 #{+@fast +@connection} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO select",
        r#"[["select" :2 [+loading +stale +fast] :0 :0 :0 [+@fast +@connection] [] [] []]]"#,
        r#"[["select" :2 #{+loading +stale +fast} :0 :0 :0 #{+@fast +@connection} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO time",
        r#"[["time" :1 [+loading +stale +fast] :0 :0 :0 [+@fast] ["nondeterministic_output"] [] []]]"#,
        r#"[["time" :1 #{+loading +stale +fast} :0 :0 :0 #{+@fast} #{"nondeterministic_output"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO dbsize",
        r#"[["dbsize" :1 [+readonly +fast] :0 :0 :0 [+@keyspace +@read +@fast] ["request_policy:all_shards" "response_policy:agg_sum"] [] []]]"#,
        r#"[["dbsize" :1 #{+readonly +fast} :0 :0 :0 #{+@keyspace +@read +@fast} #{"request_policy:all_shards" "response_policy:agg_sum"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO save",
        r#"[["save" :1 [+admin +noscript +no_async_loading +no_multi] :0 :0 :0 [+@admin +@slow +@dangerous] [] [] []]]"#,
        r#"[["save" :1 #{+admin +noscript +no_async_loading +no_multi} :0 :0 :0 #{+@admin +@slow +@dangerous} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO bgsave",
        r#"[["bgsave" :-1 [+admin +noscript +no_async_loading] :0 :0 :0 [+@admin +@slow +@dangerous] [] [] []]]"#,
        r#"[["bgsave" :-1 #{+admin +noscript +no_async_loading} :0 :0 :0 #{+@admin +@slow +@dangerous} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO lastsave",
        r#"[["lastsave" :1 [+loading +stale +fast] :0 :0 :0 [+@admin +@fast +@dangerous] ["nondeterministic_output"] [] []]]"#,
        r#"[["lastsave" :1 #{+loading +stale +fast} :0 :0 :0 #{+@admin +@fast +@dangerous} #{"nondeterministic_output"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO shutdown",
        r#"[["shutdown" :-1 [+admin +noscript +loading +stale +no_multi +allow_busy] :0 :0 :0 [+@admin +@slow +@dangerous] [] [] []]]"#,
        r#"[["shutdown" :-1 #{+admin +noscript +loading +stale +no_multi +allow_busy} :0 :0 :0 #{+@admin +@slow +@dangerous} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO monitor",
        r#"[["monitor" :1 [+admin +noscript +loading +stale] :0 :0 :0 [+@admin +@slow +@dangerous] [] [] []]]"#,
        r#"[["monitor" :1 #{+admin +noscript +loading +stale} :0 :0 :0 #{+@admin +@slow +@dangerous} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO debug",
        r#"[["debug" :-2 [+admin +noscript +loading +stale] :0 :0 :0 [+@admin +@slow +@dangerous] [] [] []]]"#,
        r#"[["debug" :-2 #{+admin +noscript +loading +stale} :0 :0 :0 #{+@admin +@slow +@dangerous} #{} #{} #{}]]"#,
    );
    // Scripts may call it since 7.2.
    tarn_only3(
        "COMMAND INFO wait",
        r#"[["wait" :3 [+blocking] :0 :0 :0 [+@slow +@blocking +@connection] ["request_policy:all_shards" "response_policy:agg_min"] [] []]]"#,
        r#"[["wait" :3 #{+blocking} :0 :0 :0 #{+@slow +@blocking +@connection} #{"request_policy:all_shards" "response_policy:agg_min"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO readonly",
        r#"[["readonly" :1 [+loading +stale +fast] :0 :0 :0 [+@fast +@connection] [] [] []]]"#,
        r#"[["readonly" :1 #{+loading +stale +fast} :0 :0 :0 #{+@fast +@connection} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO readwrite",
        r#"[["readwrite" :1 [+loading +stale +fast] :0 :0 :0 [+@fast +@connection] [] [] []]]"#,
        r#"[["readwrite" :1 #{+loading +stale +fast} :0 :0 :0 #{+@fast +@connection} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO asking",
        r#"[["asking" :1 [+fast] :0 :0 :0 [+@fast +@connection] [] [] []]]"#,
        r#"[["asking" :1 #{+fast} :0 :0 :0 #{+@fast +@connection} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO flushdb",
        r#"[["flushdb" :-1 [+write] :0 :0 :0 [+@keyspace +@write +@slow +@dangerous] ["request_policy:all_shards" "response_policy:all_succeeded"] [] []]]"#,
        r#"[["flushdb" :-1 #{+write} :0 :0 :0 #{+@keyspace +@write +@slow +@dangerous} #{"request_policy:all_shards" "response_policy:all_succeeded"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO flushall",
        r#"[["flushall" :-1 [+write] :0 :0 :0 [+@keyspace +@write +@slow +@dangerous] ["request_policy:all_shards" "response_policy:all_succeeded"] [] []]]"#,
        r#"[["flushall" :-1 #{+write} :0 :0 :0 #{+@keyspace +@write +@slow +@dangerous} #{"request_policy:all_shards" "response_policy:all_succeeded"} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO swapdb",
        r#"[["swapdb" :3 [+write +fast] :0 :0 :0 [+@keyspace +@write +@fast +@dangerous] [] [] []]]"#,
        r#"[["swapdb" :3 #{+write +fast} :0 :0 :0 #{+@keyspace +@write +@fast +@dangerous} #{} #{} #{}]]"#,
    );
    check3(
        "COMMAND INFO move",
        r#"[["move" :3 [+write +fast] :1 :1 :1 [+@keyspace +@write +@fast] [] [["flags" [+RW +access +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]"#,
        r#"[["move" :3 #{+write +fast} :1 :1 :1 #{+@keyspace +@write +@fast} #{} #{{"flags" #{+RW +access +update} "begin_search" {"type" "index" "spec" {"index" :1}} "find_keys" {"type" "range" "spec" {"lastkey" :0 "keystep" :1 "limit" :0}}}} #{}]]"#,
    );
}
