//! Users and what they may do. Lines that name the error texts of 8.0 and Valkey 9.1 are `tarn_only`: 7.0 has other words.

mod certificates;
mod files;
mod threads;

use crate::check::{check, check_with, check2_with, check3, tarn_only, tarn_only_with, tarn_only3};
use crate::harness::{ENGINES, Options, Server, eventually};
use crate::value::Value;

const NEW: &str = r#"["flags" ["off"] "passwords" [] "commands" "-@all" "keys" "" "channels" "" "databases" "alldbs" "selectors" []]"#;

#[test]
fn rules_are_taken_all_or_none() {
    check(
        "ACL SETUSER t1 on +get ~a | ACL SETUSER t1 ~b foo ~c | ACL DRYRUN t1 GET a | ACL DELUSER t1 t1 nobody",
        "+OK | -ERR Error in ACL SETUSER modifier 'foo': Syntax error | +OK | :1",
    );
    check(
        "ACL SETUSER t2 foo | ACL GETUSER t2",
        "-ERR Error in ACL SETUSER modifier 'foo': Syntax error | nil",
    );
}

#[test]
fn bad_rules() {
    for (rule, error) in [
        ("foo", "Syntax error"),
        (")", "Syntax error"),
        ("db", "Syntax error"),
        ("~a\\x20b", "Syntax error"),
        ("&a\\tb", "Syntax error"),
        ("%X~a", "Syntax error"),
        ("%~a", "Syntax error"),
        ("%RR~a", "Syntax error"),
        ("+select|", "Syntax error"),
        ("(foo)", "Syntax error"),
        ("(on)", "Syntax error"),
        ("((+get))", "Syntax error"),
        ("+", "Unknown command or category name in ACL"),
        ("+foo", "Unknown command or category name in ACL"),
        ("-foo", "Unknown command or category name in ACL"),
        ("+@foo", "Unknown command or category name in ACL"),
        ("-@", "Unknown command or category name in ACL"),
        ("+config|foo", "Unknown command or category name in ACL"),
        ("-select|1", "Unknown command or category name in ACL"),
        ("+config|get|x", "Allowing first-arg of a subcommand is not supported"),
        ("<p", "The password you are trying to remove from the user does not exist"),
        (
            "#p",
            "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
        ),
        (
            "!p",
            "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
        ),
    ] {
        let shown = rule.replace("\\x20", " ").replace("\\t", "\t");
        check(
            &format!("ACL SETUSER bad on \"{rule}\" | ACL GETUSER bad"),
            &format!(
                "-\"ERR Error in ACL SETUSER modifier '{}': {error}\" | nil",
                shown.replace('\t', "\\t")
            ),
        );
    }
    check(
        "ACL SETUSER bad ~* ~a",
        "-ERR Error in ACL SETUSER modifier '~a': Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
    );
    check(
        "ACL SETUSER bad &* &a",
        "-ERR Error in ACL SETUSER modifier '&a': Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels",
    );
    check(
        "ACL SETUSER bad +ping (+get ~x",
        "-ERR Unmatched parenthesis in acl selector starting at '(+get'.",
    );
    check(
        r#"ACL SETUSER "a b" | ACL SETUSER "a\x00b" | ACL SETUSER"#,
        "-ERR Usernames can't contain spaces or null characters | -ERR Usernames can't contain spaces or null characters | -ERR wrong number of arguments for 'acl|setuser' command",
    );
    tarn_only("ACL SETUSER bad %", "-ERR Error in ACL SETUSER modifier '%': Syntax error");
}

#[test]
fn a_user_is_shown_as_its_rules() {
    tarn_only3(
        "ACL SETUSER g1 | ACL GETUSER g1 | ACL DELUSER g1",
        &format!("+OK | {NEW} | :1"),
        r#"+OK | {"flags" #{"off"} "passwords" [] "commands" "-@all" "keys" "" "channels" "" "databases" "alldbs" "selectors" []} | :1"#,
    );
    tarn_only3(
        "ACL SETUSER g2 ON >pw >pw +@all -@dangerous +config|get -get +GET +@read %R~x* ~y %W~z %R~z &ch* &ch* +select|1 (+set ~z*) (db=3,1 %RW~q) | ACL GETUSER g2 | ACL DELUSER g2",
        r#"+OK | ["flags" ["on"] "passwords" ["30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4"] "commands" "+@all -@dangerous +config|get +get +@read +select|1" "keys" "%R~x* ~y ~z" "channels" "&ch*" "databases" "alldbs" "selectors" [["commands" "-@all +set" "keys" "~z*" "channels" "" "databases" "alldbs"] ["commands" "-@all" "keys" "~q" "channels" "" "databases" "db=1,3"]]] | :1"#,
        r#"+OK | {"flags" #{"on"} "passwords" ["30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4"] "commands" "+@all -@dangerous +config|get +get +@read +select|1" "keys" "%R~x* ~y ~z" "channels" "&ch*" "databases" "alldbs" "selectors" [{"commands" "-@all +set" "keys" "~z*" "channels" "" "databases" "alldbs"} {"commands" "-@all" "keys" "~q" "channels" "" "databases" "db=1,3"}]} | :1"#,
    );
    // A rule about a command replaces those about its subcommands.
    tarn_only3(
        "ACL SETUSER g3 +config|get +config|set +@read -@read -config skip-sanitize-payload nopass >p <p | ACL GETUSER g3 | ACL SETUSER g3 reset | ACL GETUSER g3 | ACL DELUSER g3",
        &format!(
            r#"+OK | ["flags" ["off" "skip-sanitize-payload"] "passwords" [] "commands" "-@all -@read -config" "keys" "" "channels" "" "databases" "alldbs" "selectors" []] | +OK | {NEW} | :1"#
        ),
        r#"+OK | {"flags" #{"off" "skip-sanitize-payload"} "passwords" [] "commands" "-@all -@read -config" "keys" "" "channels" "" "databases" "alldbs" "selectors" []} | +OK | ... | :1"#,
    );
    check(
        "ACL GETUSER nobody | ACL GETUSER",
        "nil | -ERR wrong number of arguments for 'acl|getuser' command",
    );
}

#[test]
fn lists() {
    tarn_only_with(
        &[],
        "ACL LIST | ACL USERS | ACL SETUSER alice on nopass ~a allchannels db=0,2 +@read (%W~b +set) | ACL SETUSER Bob resetdbs | ACL LIST | ACL USERS | ACL WHOAMI | AUTH alice x | ACL WHOAMI",
        r#"["user default on nopass ~* &* +@all"] | ["default"] | +OK | +OK | ["user Bob off resetchannels resetdbs -@all" "user alice on nopass ~a &* db=0,2 -@all +@read (%W~b resetchannels -@all +set)" "user default on nopass ~* &* +@all"] | ["Bob" "alice" "default"] | "default" | +OK | -NOPERM User alice has no permissions to run the 'acl|whoami' command"#,
    );
    check_with(
        &[("acl-pubsub-default", "allchannels")],
        "ACL SETUSER new | ACL LIST | ACL SETUSER new resetchannels (+get) | ACL LIST",
        r#"+OK | ["user default on nopass ~* &* +@all" "user new off &* -@all"] | +OK | ["user default on nopass ~* &* +@all" "user new off resetchannels -@all (&* -@all +get)"]"#,
    );
    tarn_only_with(
        &[("acl-pubsub-default", "allchannels")],
        "ACL SETUSER new on resetchannels +get (+get) | ACL SETUSER new reset | ACL LIST",
        r#"+OK | +OK | ["user default on nopass ~* &* +@all" "user new off &* -@all"]"#,
    );
    check(
        "ACL LIST x | ACL USERS x | ACL WHOAMI x",
        "-ERR wrong number of arguments for 'acl|list' command | -ERR wrong number of arguments for 'acl|users' command | -ERR wrong number of arguments for 'acl|whoami' command",
    );
}

#[test]
fn categories_passwords_and_help() {
    check(
        "ACL CAT",
        r#"["keyspace" "read" "write" "set" "sortedset" "list" "hash" "string" "bitmap" "hyperloglog" "geo" "stream" "pubsub" "admin" "fast" "slow" "blocking" "dangerous" "connection" "transaction" "scripting"]"#,
    );
    check(
        "ACL CAT nosuch | ACL CAT a b | ACL CAT transaction",
        r#"-ERR Unknown category 'nosuch' | -ERR unknown subcommand or wrong number of arguments for 'CAT'. Try ACL HELP. | ~["multi" "exec" "discard" "watch" "unwatch"]"#,
    );
    let limits = "-ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096";
    check(
        "ACL GENPASS 0 | ACL GENPASS 4097 | ACL GENPASS -1 | ACL GENPASS x | ACL GENPASS 1 2 | ACL GENPASS | ACL GENPASS 5",
        &format!(
            r#"{limits} | {limits} | {limits} | -ERR value is not an integer or out of range | -ERR unknown subcommand or wrong number of arguments for 'GENPASS'. Try ACL HELP. | %"..." | %"...""#
        ),
    );
    check(
        "ACL | ACL NOSUCH | ACL HELP x | ACL HELP",
        "-ERR wrong number of arguments for 'acl' command | -ERR unknown subcommand 'NOSUCH'. Try ACL HELP. | -ERR wrong number of arguments for 'acl|help' command | ...",
    );
}

#[test]
fn dry_runs() {
    check(
        "ACL DRYRUN nobody GET a | ACL DRYRUN default NOSUCH | ACL DRYRUN default GET | ACL DRYRUN default CONFIG NOSUCH | ACL DRYRUN default CONFIG SET | ACL DRYRUN default CONFIG",
        "-ERR User 'nobody' not found | -ERR Command 'NOSUCH' not found | -ERR wrong number of arguments for 'get' command | -ERR Command 'CONFIG' not found | -ERR wrong number of arguments for 'config|set' command | -ERR wrong number of arguments for 'config' command",
    );
    tarn_only(
        "ACL SETUSER d1 +@all -config|set ~a* %R~r %W~w &c* | ACL DRYRUN d1 GET a1 | ACL DRYRUN d1 GET w | ACL DRYRUN d1 SET r x | ACL DRYRUN d1 SET w x | ACL DRYRUN d1 SET w x GET | ACL DRYRUN d1 COPY r w | ACL DRYRUN d1 COPY w r | ACL DRYRUN d1 CONFIG SET a b | ACL DRYRUN d1 PUBLISH c1 x | ACL DRYRUN d1 SUBSCRIBE c1 d | ACL DRYRUN d1 PSUBSCRIBE c1 | ACL DRYRUN d1 PSUBSCRIBE c* | ACL DRYRUN d1 SSUBSCRIBE d | ACL DRYRUN d1 SPUBLISH d x | ACL DRYRUN d1 UNSUBSCRIBE d | ACL DELUSER d1",
        r#"+OK | +OK | "User d1 has no permissions to access the 'w' key" | "User d1 has no permissions to access the 'r' key" | +OK | "User d1 has no permissions to access the 'w' key" | +OK | "User d1 has no permissions to access the 'w' key" | "User d1 has no permissions to run the 'config|set' command" | +OK | "User d1 has no permissions to access the 'd' channel" | "User d1 has no permissions to access the 'c1' channel" | +OK | "User d1 has no permissions to access the 'd' channel" | "User d1 has no permissions to access the 'd' channel" | +OK | :1"#,
    );
    // Of several selectors the one that comes farthest says why.
    tarn_only(
        "ACL SETUSER d2 -@all (+get ~a) (+@all -get ~b &c) | ACL DRYRUN d2 GET b | ACL DRYRUN d2 MGET b a | ACL DRYRUN d2 SET b x | ACL DRYRUN d2 SPUBLISH d x | ACL DELUSER d2",
        r#"+OK | "User d2 has no permissions to access the 'b' key" | "User d2 has no permissions to access the 'a' key" | +OK | "User d2 has no permissions to access the 'd' channel" | :1"#,
    );
    tarn_only(
        "ACL SETUSER d3 +select|1 +config|get | ACL DRYRUN d3 SELECT 1 | ACL DRYRUN d3 SELECT 2 | ACL DRYRUN d3 CONFIG GET a | ACL DRYRUN d3 PING | ACL DRYRUN d3 AUTH x | ACL DRYRUN d3 QUIT | ACL DELUSER d3",
        r#"+OK | +OK | "User d3 has no permissions to run the 'select' command" | +OK | "User d3 has no permissions to run the 'ping' command" | +OK | +OK | :1"#,
    );
}

#[test]
fn databases() {
    tarn_only(
        "ACL SETUSER db1 +@all ~a* &* db=1 | ACL DRYRUN db1 GET a | ACL DRYRUN db1 PING | ACL DRYRUN db1 SELECT 1 | ACL DRYRUN db1 SELECT 0 | ACL DRYRUN db1 SELECT 99 | ACL DRYRUN db1 SELECT x | ACL DRYRUN db1 SWAPDB 0 1 | ACL DRYRUN db1 SWAPDB 1 1 | ACL DRYRUN db1 DBSIZE | ACL DRYRUN db1 PUBLISH a b | ACL DELUSER db1",
        r#"+OK | "User db1 has no permissions to access database GET" | +OK | +OK | "User db1 has no permissions to access database 0" | +OK | +OK | "User db1 has no permissions to access database 0" | +OK | "User db1 has no permissions to access database DBSIZE" | +OK | :1"#,
    );
    tarn_only(
        "ACL SETUSER db1 +@all ~a* &* db=0 | ACL DRYRUN db1 COPY a a1 DB 1 | ACL DRYRUN db1 COPY a a1 REPLACE DB 2 | ACL DRYRUN db1 COPY a a1 DB 0 | ACL DRYRUN db1 COPY a a1 DB x | ACL DRYRUN db1 MOVE a 1 | ACL DRYRUN db1 MOVE b 0 | ACL DRYRUN db1 FLUSHALL | ACL DRYRUN db1 FLUSHDB | ACL SETUSER db1 db=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 | ACL DRYRUN db1 FLUSHALL | ACL SETUSER db1 resetdbs | ACL DRYRUN db1 GET a | ACL SETUSER db1 alldbs | ACL DRYRUN db1 FLUSHALL | ACL DELUSER db1",
        r#"+OK | "User db1 has no permissions to access database 1" | "User db1 has no permissions to access database 2" | +OK | +OK | "User db1 has no permissions to access database 1" | "User db1 has no permissions to access the 'b' key" | "User db1 has no permissions to access database FLUSHALL" | +OK | +OK | +OK | +OK | "User db1 has no permissions to access database GET" | +OK | +OK | :1"#,
    );
    for (rule, error) in [
        ("db=", "Syntax error"),
        ("db=x", "Syntax error"),
        ("db=0,,1", "Syntax error"),
        ("db=0,", "Syntax error"),
        ("db=-1", "The provided database ID is out of range"),
        ("db=2147483648", "The provided database ID is out of range"),
    ] {
        tarn_only(
            &format!("ACL SETUSER dbx {rule}"),
            &format!("-\"ERR Error in ACL SETUSER modifier '{rule}': {error}\""),
        );
    }
    tarn_only_with(
        &[],
        "ACL SETUSER e on nopass +@all ~a* &x* db=1 | @e AUTH e x | @e GET a | @e SELECT 0 | @e SELECT 99 | @e SELECT 1 | @e GET a | @e GET b | @e FLUSHALL | @e COPY a a2 DB 0 | @e MOVE a 0 | @e MULTI | @e GET a | @e SELECT 0 | @e EXEC",
        "+OK | +OK | -NOPERM No permissions to access database | -NOPERM No permissions to access database | -ERR DB index is out of range | +OK | nil | -NOPERM No permissions to access a key | -NOPERM No permissions to access database | -NOPERM No permissions to access database | -NOPERM No permissions to access database | +OK | +QUEUED | -NOPERM No permissions to access database | -EXECABORT Transaction discarded because of previous errors.",
    );
    tarn_only_with(
        &[],
        r#"ACL SETUSER e on nopass +@all ~a* db=1 | @e AUTH e x | @e SELECT 1 | @e EVAL "return redis.call('select', 0)" 0 | @e EVAL "return redis.pcall('get', 'a')" 0 | @e EVAL "redis.call('select', 1) return redis.acl_check_cmd('select', '0')" 0 | INFO stats"#,
        r#"+OK | +OK | +OK | -ERR ACL failure in script: No permissions to access database ... | nil | nil | %"...acl_access_denied_auth:0\r\nacl_access_denied_cmd:0\r\nacl_access_denied_key:0\r\nacl_access_denied_channel:0\r\nacl_access_denied_tls_cert:0\r\nacl_access_denied_db:1\r\n""#,
    );
}

#[test]
fn calls_are_refused() {
    tarn_only_with(
        &[],
        "ACL SETUSER e on >pw +@all ~a* &x* -set -config|set | @e AUTH e bad | @e AUTH e pw | @e ACL WHOAMI | @e SET a 1 | @e GET b | @e GET a | @e MGET a b | @e CONFIG SET a b | @e CONFIG GET nosuch | @e PUBLISH y 1 | @e PUBLISH x 1 | @e SUBSCRIBE x y | @e PSUBSCRIBE x | @e SSUBSCRIBE y | @e SPUBLISH y 1 | @e SORT a STORE b | @e GEORADIUS a 1 1 1 m STORE b | @e COPY a b | @e MGET",
        r#"+OK | -WRONGPASS invalid username-password pair or user is disabled. | +OK | "e" | -NOPERM User e has no permissions to run the 'set' command | -NOPERM No permissions to access a key | nil | -NOPERM No permissions to access a key | -NOPERM User e has no permissions to run the 'config|set' command | ... | -NOPERM No permissions to access a channel | :0 | -NOPERM No permissions to access a channel | -NOPERM No permissions to access a channel | -NOPERM No permissions to access a channel | -NOPERM No permissions to access a channel | -NOPERM No permissions to access a key | -NOPERM No permissions to access a key | -NOPERM No permissions to access a key | -ERR wrong number of arguments for 'mget' command"#,
    );
    // A rule counts from the moment it is answered, for everybody.
    tarn_only_with(
        &[],
        "ACL SETUSER e on nopass +@all ~* | @e AUTH e x | @e SET a 1 | ACL SETUSER e -set | @e SET a 2 | ACL SETUSER e +set resetkeys | @e SET a 2 | ACL SETUSER e allkeys off | @e SET a 2 | @f AUTH e x | ACL SETUSER default -get | GET a | ACL SETUSER default +get | GET a",
        r#"+OK | +OK | +OK | +OK | -NOPERM User e has no permissions to run the 'set' command | +OK | -NOPERM No permissions to access a key | +OK | +OK | -WRONGPASS invalid username-password pair or user is disabled. | +OK | -NOPERM User default has no permissions to run the 'get' command | +OK | "2""#,
    );
}

#[test]
fn sort_reads_other_keys_only_for_who_may_read_all() {
    check_with(
        &[],
        "ACL SETUSER s on nopass +@all ~l* | RPUSH l a | @s AUTH s x | @s SORT l BY b* | @s SORT l BY nosort | @s SORT l GET # | @s SORT l GET b* | @s SORT_RO l BY x* | @s MULTI | @s SORT l BY x* | @s EXEC | ACL SETUSER s %R~* | @s SORT l BY b* GET # | ACL SETUSER s resetkeys ~l* (+sort ~* -@all) | @s SORT l GET # | ACL SETUSER s (+sort ~*) | @s SORT l ALPHA GET # STORE l2",
        r#"+OK | :1 | +OK | -ERR BY option of SORT denied due to insufficient ACL permissions. | ["a"] | -ERR GET option of SORT denied due to insufficient ACL permissions. | -ERR GET option of SORT denied due to insufficient ACL permissions. | -ERR BY option of SORT denied due to insufficient ACL permissions. | +OK | +QUEUED | [-"ERR BY option of SORT denied due to insufficient ACL permissions."] | +OK | ["a"] | +OK | -ERR GET option of SORT denied due to insufficient ACL permissions. | +OK | :1"#,
    );
}

#[test]
fn transactions() {
    let changed = "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason:";
    tarn_only_with(
        &[],
        "ACL SETUSER e on nopass +@all ~a* &x* -set | @e AUTH e x | @e MULTI | @e GET a | @e GET b | @e EXEC | @e MULTI | @e SET a 1 | @e EXEC | @e MULTI | @e GET a | @e MGET a ab | @e PUBLISH x 1 | @e INCR a | @e PING | ACL SETUSER e -get resetkeys ~a resetchannels | @e EXEC",
        &format!(
            "+OK | +OK | +OK | +QUEUED | -NOPERM No permissions to access a key | -EXECABORT Transaction discarded because of previous errors. | +OK | -NOPERM User e has no permissions to run the 'set' command | -EXECABORT Transaction discarded because of previous errors. | +OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +OK | [-\"{changed} no permission to execute the command or subcommand\" -\"{changed} no permission to touch the specified keys\" -\"{changed} no permission to access one of the channels used as arguments\" :1 +PONG]"
        ),
    );
}

#[test]
fn scripts_and_functions() {
    tarn_only_with(
        &[],
        r#"ACL SETUSER e on nopass +@all ~a* &x* -set | @e AUTH e x | @e EVAL "return redis.call('set','a','1')" 0 | @e EVAL "return redis.pcall('set','a','1')" 0 | @e EVAL "return redis.call('get','b')" 0 | @e EVAL "return redis.call('publish','y','b')" 0 | @e EVAL "return 1" 1 b | @e EVAL "return {redis.acl_check_cmd('set','a','1'), redis.acl_check_cmd('get','a'), redis.acl_check_cmd('get','b'), redis.acl_check_cmd('get')}" 0 | @e EVAL "return redis.acl_check_cmd('nosuch')" 0 | @e EVAL "return redis.pcall('sort','a','by','x*')" 0 | @e EVAL "redis.call('incr','a') return redis.call('get','a')" 1 a"#,
        r#"+OK | +OK | -ERR ACL failure in script: User e has no permissions to run the 'set' command script: ..., on @user_script:1. | -ERR ACL failure in script: User e has no permissions to run the 'set' command | -ERR ACL failure in script: No permissions to access a key script: ..., on @user_script:1. | -ERR ACL failure in script: No permissions to access a channel script: ..., on @user_script:1. | -NOPERM No permissions to access a key | [nil :1 nil :1] | -ERR Invalid command passed to redis.acl_check_cmd() script: ..., on @user_script:1. | -ERR BY option of SORT denied due to insufficient ACL permissions. | "1""#,
    );
    tarn_only_with(
        &[],
        r##"FUNCTION LOAD "#!lua name=l\nredis.register_function('f', function(k, a) return redis.call('set', a[1], 1) end)" | ACL SETUSER e on nopass +@all ~a* | @e AUTH e x | @e FCALL f 0 a | @e FCALL f 0 b | @e FCALL f 1 b a | ACL SETUSER e -set | @e FCALL f 0 a | ACL SETUSER e -fcall | @e FCALL f 0 a"##,
        r#""l" | +OK | +OK | +OK | -ERR ACL failure in script: No permissions to access a key script: f, on @user_function:2. | -NOPERM No permissions to access a key | +OK | -ERR ACL failure in script: User e has no permissions to run the 'set' command script: f, on @user_function:2. | +OK | -NOPERM User e has no permissions to run the 'fcall' command"#,
    );
}

#[test]
fn the_log() {
    let entry = |count: u32, reason: &str, context: &str, object: &str, user: &str, id: u32| {
        format!(
            r#"["count" :{count} "reason" "{reason}" "context" "{context}" "object" "{object}" "username" "{user}" "age-seconds" ... "client-info" %"id=... user=... redir=-1 resp=2" "entry-id" :{id} "timestamp-created" :1000000000000..9000000000000 "timestamp-last-updated" :1000000000000..9000000000000]"#
        )
    };
    let log = [
        entry(1, "database", "toplevel", "select", "e", 6).replace("\"select\"", "\"3\""),
        entry(1, "auth", "toplevel", "HELLO", "nobody", 5),
        entry(1, "command", "lua", "set", "e", 4),
        entry(1, "channel", "multi", "y", "e", 3),
        entry(1, "auth", "toplevel", "auth", "e", 2),
        entry(2, "key", "toplevel", "b", "e", 1),
        entry(2, "command", "toplevel", "config|set", "e", 0),
    ];
    let commands = r#"ACL SETUSER e on >pw +@all ~a* &x* -set -config|set db=0 | @e AUTH e pw | @e CONFIG SET a b | @e GET b | @e MGET a b | @e config set a b | @e auth e bad | @e MULTI | @e PUBLISH y 1 | @e DISCARD | @e EVAL "redis.pcall('set', 'a', '1')" 0 | @e HELLO 2 AUTH nobody x | @e SELECT 3"#;
    let replies = "+OK | +OK | -NOPERM ... | -NOPERM ... | -NOPERM ... | -NOPERM ... | -WRONGPASS ... | +OK | -NOPERM ... | +OK | nil | -WRONGPASS ... | -NOPERM ...";
    // The one that is repeated comes to the front.
    let first = [&log[0], &log[1], &log[2], &log[3], &log[4], &log[6], &log[5]].map(String::as_str);
    check2_with_tarn(
        &format!(
            "{commands} | ACL LOG | ACL LOG 1 | ACL LOG 0 | ACL LOG -1 | ACL LOG x | ACL LOG 1 2 | ACL LOG RESET | ACL LOG"
        ),
        &format!(
            "{replies} | [{}] | [{}] | [] | [] | -ERR value is not an integer or out of range | -ERR unknown subcommand or wrong number of arguments for 'LOG'. Try ACL HELP. | +OK | []",
            first.join(" "),
            log[0]
        ),
    );
    check2_with_tarn(
        "CONFIG SET acllog-max-len 1 | ACL SETUSER e on nopass | @e AUTH e x | @e GET a | @e SET a 1 | ACL LOG | CONFIG SET acllog-max-len 0 | @e SET a 1 | ACL LOG | INFO stats",
        &format!(
            r#"+OK | +OK | +OK | -NOPERM ... | -NOPERM ... | [{}] | +OK | -NOPERM ... | [] | %"...acl_access_denied_cmd:3\r\n...""#,
            entry(1, "command", "toplevel", "set", "e", 1)
        ),
    );
}

/// Only RESP2, where a map is a list and a number is a text.
fn check2_with_tarn(line: &str, expected: &str) {
    tarn_only2_with(&[], line, expected);
}

fn tarn_only2_with(options: &[(&str, &str)], line: &str, expected: &str) {
    if std::env::var("TARN_CHECK_AGAINST").is_err() {
        check2_with(options, line, expected);
    }
}

#[test]
fn the_default_user_and_requirepass() {
    check2_with(
        &[("requirepass", "sesame")],
        "AUTH sesame | ACL LIST | CONFIG SET requirepass other | ACL LIST | PING | @b PING | @b AUTH sesame | @b AUTH other | CONFIG SET requirepass \"\" | ACL LIST | @c PING",
        r#"+OK | ["user default on #d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272 ~* &* +@all"] | +OK | ... | +PONG | -NOAUTH Authentication required. | -WRONGPASS invalid username-password pair or user is disabled. | +OK | +OK | ["user default on nopass ~* &* +@all"] | +PONG"#,
    );
    // Another client has changed the password meanwhile; setting the same one again counts.
    tarn_only2_with(
        &[("requirepass", "a")],
        "AUTH a | ACL SETUSER default nopass | @b PING | CONFIG SET requirepass a | @c PING | @b PING | ACL SETUSER default >b | @c AUTH b | @d AUTH a | ACL SETUSER default off | @e AUTH a | @e PING | PING",
        "+OK | +OK | +PONG | +OK | -NOAUTH Authentication required. | +PONG | +OK | +OK | +OK | +OK | -WRONGPASS invalid username-password pair or user is disabled. | -NOAUTH Authentication required. | +PONG",
    );
    check2_with(
        &[("requirepass", "a")],
        "HELLO 3 AUTH default b | HELLO 2 AUTH default a SETNAME x | ACL SETUSER u on >p +@all | AUTH u p | ACL WHOAMI | RESET | ACL WHOAMI | AUTH a | ACL WHOAMI",
        r#"-WRONGPASS invalid username-password pair or user is disabled. | ... | +OK | +OK | "u" | +RESET | -NOAUTH Authentication required. | +OK | "default""#,
    );
}

#[test]
fn clients_show_their_user() {
    check_with(
        &[],
        "ACL SETUSER u on nopass +@all | @u AUTH u x | @u CLIENT INFO | CLIENT KILL USER nobody | CLIENT KILL USER u | @u !recv",
        r#"+OK | +OK | %"id=... user=u redir=-1 resp=...\n" | -ERR No such user 'nobody' | :1 | closed"#,
    );
    check_with(
        &[],
        "ACL SETUSER u on nopass +@all | ACL DELUSER default | ACL DELUSER u default | @u AUTH u x | @u ACL WHOAMI | ACL DELUSER u | @u !recv | @v AUTH u x | ACL SETUSER u on nopass +@all | @w AUTH u x | @w ACL DELUSER u | @w !recv",
        r#"+OK | -ERR The 'default' user cannot be removed | -ERR The 'default' user cannot be removed | +OK | "u" | :1 | closed | -WRONGPASS invalid username-password pair or user is disabled. | +OK | +OK | :1 | closed"#,
    );
}

#[test]
fn listeners_that_may_not_listen_any_more_are_closed() {
    for (subscribe, allowed, revoked) in
        [("SUBSCRIBE abc", "&a*", "&b*"), ("PSUBSCRIBE a*", "&a*", "&abc"), ("SSUBSCRIBE abc", "&a*", "&b*")]
    {
        check_with(
            &[],
            &format!(
                "ACL SETUSER s on nopass +@all {allowed} | @s AUTH s x | @s {subscribe} | ACL SETUSER s {revoked} | ACL SETUSER s -get | CLIENT LIST TYPE pubsub | ACL SETUSER s resetchannels {revoked} | @s !recv"
            ),
            r#"+OK | +OK | ... | +OK | +OK | %"id=...user=s..." | +OK | closed"#,
        );
    }
    // Nothing that is published afterwards reaches it.
    check_with(
        &[],
        "ACL SETUSER s on nopass +@all &a* | @s AUTH s x | @s SUBSCRIBE abc | ACL SETUSER s resetchannels | PUBLISH abc secret | @s !recv",
        "+OK | +OK | ... | +OK | :0..1 | closed",
    );
    check3(
        "CONFIG GET acl-pubsub-default | CONFIG GET acllog-max-len",
        r#"["acl-pubsub-default" "resetchannels"] | ["acllog-max-len" "128"]"#,
        r#"{"acl-pubsub-default" "resetchannels"} | {"acllog-max-len" "128"}"#,
    );
}

#[test]
fn who_waits_is_judged_again_when_served() {
    for program in ENGINES {
        let server = Server::start(Options::new(program));
        let (mut admin, mut waits) = (server.conn(), server.conn());
        assert_eq!(admin.call(&["ACL", "SETUSER", "w", "on", "nopass", "+@all", "~*"]), Value::ok());
        assert_eq!(waits.call(&["AUTH", "w", "x"]), Value::ok());
        waits.send(&["BLPOP", "l", "0"]);
        eventually("it waits", || {
            let clients = admin.call(&["INFO", "clients"]);
            String::from_utf8_lossy(clients.bytes().unwrap()).contains("blocked_clients:1\r\n")
        });
        assert_eq!(admin.call(&["ACL", "SETUSER", "w", "-blpop"]), Value::ok());
        assert_eq!(admin.call(&["RPUSH", "l", "x"]), Value::Int(1));
        let refusal = "-NOPERM User w has no permissions to run the 'blpop' command";
        assert_eq!(waits.recv().to_string(), refusal);
        assert_eq!(admin.call(&["LRANGE", "l", "0", "-1"]).to_string(), "[\"x\"]");
    }
}

/// A command that waits for a key which a function has is judged again when it runs.
#[test]
fn who_waits_for_a_lock_is_judged_again() {
    // Longer than a run lasts on an I/O thread: whoever runs for so long is on a worker and stays there.
    const ON_WORKER_MS: i64 = 200;
    let library = "#!lua name=forever\nredis.register_function('forever', function() while true do end end)";
    for program in ENGINES {
        let server = Server::start(Options::new(program));
        let (mut admin, mut waits, mut runs) = (server.conn3(), server.conn(), server.conn());
        assert_eq!(admin.call(&["ACL", "SETUSER", "w", "on", "nopass", "+@all", "~*"]), Value::ok());
        assert_eq!(admin.call(&["FUNCTION", "LOAD", library]), Value::bulk("forever"));
        assert_eq!(waits.call(&["AUTH", "w", "x"]), Value::ok());
        runs.send(&["FCALL", "forever", "1", "k"]);
        eventually("the function runs", || {
            let stats = admin.call(&["FUNCTION", "STATS"]).to_string();
            let ms =
                stats.split_once("\"duration_ms\" :").and_then(|(_, rest)| rest.split(['}', ' ']).next());
            ms.is_some_and(|ms| ms.parse::<i64>().unwrap() > ON_WORKER_MS)
        });
        waits.send(&["SET", "k", "v"]);
        eventually("the command was let pass", || {
            let clients = admin.call(&["CLIENT", "LIST"]);
            String::from_utf8_lossy(clients.bytes().unwrap()).contains("cmd=set ")
        });
        assert_eq!(admin.call(&["ACL", "SETUSER", "w", "-set"]), Value::ok());
        assert_eq!(admin.call(&["FUNCTION", "KILL"]), Value::ok());
        assert!(runs.recv().is_error());
        let refusal = "-NOPERM User w has no permissions to run the 'set' command";
        assert_eq!(waits.recv().to_string(), refusal);
        assert_eq!(admin.call(&["EXISTS", "k"]), Value::Int(0));
    }
}
