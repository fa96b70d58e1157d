//! DUMP and RESTORE. `diff` exchanges random values with redis-server.

mod golden;

use crate::check::{check, check3, tarn_only, tarn_only_with};

/// `SET k v` as redis-server 7.0 dumps it.
const V: &str = r#""\x00\x01v\n\x00\x91\x08\xce\xb2\x198\x8a\xce""#;

fn lines(line: &str) -> String {
    line.replace("{v}", V)
}

fn with_v(line: &str, expected: &str) {
    check(&lines(line), &lines(expected));
}

#[test]
fn arity() {
    check("DUMP", "-ERR wrong number of arguments for 'dump' command");
    check("DUMP a b", "-ERR wrong number of arguments for 'dump' command");
    check("RESTORE k 0", "-ERR wrong number of arguments for 'restore' command");
    check("RESTORE-ASKING k 0", "-ERR wrong number of arguments for 'restore-asking' command");
}

#[test]
fn dump() {
    check("DUMP missing", "nil");
    check("SET k v PX 1 | !time 10 | DUMP k", "+OK | none | nil");
    // The same bytes as redis-server 7.0.
    tarn_only_with(&[("dump-rdb-version", "10")], "SET k v | DUMP k", &format!("+OK | {V}"));
    // What is written is what Redis 7.2 reads, and what Valkey 9 does where it is asked for.
    tarn_only(
        "SET k v | DUMP k | SET n -1 | DUMP n",
        r#"+OK | "\x00\x01v\x0b\x00\xf8\xd7s\xc1\xe4\xa7cG" | +OK | "\x00\xc0\xff\x0b\x00eL\xc3Wx\x97tL""#,
    );
    tarn_only_with(
        &[("dump-rdb-version", "80")],
        "SET k hello | DUMP k",
        r#"+OK | "\x00\x05helloP\x00\xacX\x16\xe7\xfbfG\xfe""#,
    );
    tarn_only(
        "CONFIG SET dump-rdb-version 13 | CONFIG SET dump-rdb-version 5 | CONFIG GET dump-rdb-version",
        "-ERR CONFIG SET failed (possibly related to argument 'dump-rdb-version') - argument(s) must be one of the following: 6, 7, 8, 9, 10, 11, 12, 80 | -ERR CONFIG SET failed (possibly related to argument 'dump-rdb-version') - argument(s) must be one of the following: 6, 7, 8, 9, 10, 11, 12, 80 | ...",
    );
}

#[test]
fn restore() {
    with_v(
        "RESTORE k 0 {v} | GET k | TTL k | RESTORE k 0 {v} | RESTORE-ASKING a 0 {v} | GET a",
        "+OK | \"v\" | :-1 | -BUSYKEY Target key name already exists. | +OK | \"v\"",
    );
    with_v(
        "RPUSH k a | EXPIRE k 100 | RESTORE k 0 {v} REPLACE | TYPE k | TTL k | restore k 0 {v} replace",
        ":1 | :1 | +OK | +string | :-1 | +OK",
    );
    with_v("SET k v PX 1 | !time 10 | RESTORE k 0 {v} | GET k", "+OK | none | +OK | \"v\"");
    with_v("RESTORE \"\" 0 {v} | GET \"\"", "+OK | \"v\"");
    with_v("RESTORE \"\\x00\\xff\" 0 {v} | EXISTS \"\\x00\\xff\"", "+OK | :1");
    with_v(
        "MULTI | RESTORE k 0 {v} | DUMP missing | GET k | EXEC",
        "+OK | +QUEUED | +QUEUED | +QUEUED | [+OK nil \"v\"]",
    );
    with_v("EVAL \"return redis.call('restore', KEYS[1], 0, ARGV[1])\" 1 k {v} | GET k", "+OK | \"v\"");
}

#[test]
fn times_to_live() {
    with_v("RESTORE k 100000 {v} | PTTL k", "+OK | :90000..100000");
    with_v("RESTORE k 4102444800000 {v} ABSTTL | PEXPIRETIME k", "+OK | :4102444800000");
    with_v("RESTORE k 1 {v} ABSTTL | EXISTS k", "+OK | :0");
    with_v("SET k before | RESTORE k 1 {v} ABSTTL REPLACE | EXISTS k", "+OK | +OK | :0");
    with_v(
        "SET k before | RESTORE k 1 {v} ABSTTL | GET k",
        "+OK | -BUSYKEY Target key name already exists. | \"before\"",
    );
    // Redis counts on to a time before all times.
    with_v("RESTORE k 9223372036854775807 {v} | EXISTS k", "+OK | :0");
    with_v("RESTORE k 9223372036854775807 {v} ABSTTL | PEXPIRETIME k", "+OK | :9223372036854775807");
}

#[test]
fn words_that_do_not_fit() {
    let not_integer = "-ERR value is not an integer or out of range";
    with_v("SET k 1 | RESTORE k x {v}", "+OK | -BUSYKEY Target key name already exists.");
    with_v("SET k 1 | RESTORE k x {v} FOO", "+OK | -ERR syntax error");
    with_v("RESTORE k x {v}", not_integer);
    with_v("RESTORE k 9223372036854775808 {v}", not_integer);
    with_v("RESTORE k -1 {v}", "-ERR Invalid TTL value, must be >= 0");
    with_v("RESTORE k 0 {v} FOO", "-ERR syntax error");
    with_v("RESTORE k 0 {v} IDLETIME", "-ERR syntax error");
    with_v("RESTORE k 0 {v} IDLETIME x", not_integer);
    with_v("RESTORE k 0 {v} IDLETIME -1", "-ERR Invalid IDLETIME value, must be >= 0");
    with_v("RESTORE k 0 {v} FREQ 256", "-ERR Invalid FREQ value, must be >= 0 and <= 255");
    with_v("RESTORE k 0 {v} FREQ -1", "-ERR Invalid FREQ value, must be >= 0 and <= 255");
    with_v("RESTORE k 0 {v} FREQ 5 IDLETIME 5", "-ERR syntax error");
    with_v("RESTORE k 0 {v} IDLETIME 5 FREQ 5", "-ERR syntax error");
    with_v(
        "RESTORE k 0 {v} IDLETIME 5 REPLACE ABSTTL | RESTORE k 0 {v} FREQ 255 REPLACE | GET k",
        "+OK | +OK | \"v\"",
    );
}

#[test]
fn payloads_that_do_not_fit() {
    let wrong = "-ERR DUMP payload version or checksum are wrong";
    for payload in [
        r#""""#,
        "x",
        r#""123456789""#,
        r#""\x00\x01v\n\x00\x91\x08\xce\xb2\x198\x8a""#,
        r#""\x00\x01w\n\x00\x91\x08\xce\xb2\x198\x8a\xce""#,
        // Without a checksum, and of a version that nobody knows.
        r#""\x00\x01v\n\x00\x00\x00\x00\x00\x00\x00\x00\x00""#,
        r#""\x00\x01v\xff\xff\xe4\x86\xef\xa3\xe3\xce\x8b\xf9""#,
    ] {
        check(
            &format!("SET k before | RESTORE k 0 {payload} REPLACE | GET k"),
            &format!("+OK | {wrong} | \"before\""),
        );
    }
    let bad = "-ERR Bad data format";
    for payload in [
        // An unknown type, none, a member twice.
        r#""cabc\n\x00R\xed\xc3\xd2/\r96""#,
        r#""\n\x00]\x9b\\@\x0f\x7f\xa2\xda""#,
        r#""\x02\x02\x01a\x01a\n\x00W\xbev/\xc2\xd6R:""#,
    ] {
        check(
            &format!("SET k before | RESTORE k 0 {payload} REPLACE | GET k"),
            &format!("+OK | {bad} | \"before\""),
        );
        // Also where it would not live.
        check(&format!("RESTORE k 1 {payload} ABSTTL"), bad);
    }
    // What follows the value is not looked at by Redis.
    tarn_only(r#"RESTORE k 0 "\x00\x01vgarbage\n\x00\xba\x89m\xbei\xe5\xb2\xa3""#, bad);
}

#[test]
fn events() {
    let line = lines(
        "CONFIG SET notify-keyspace-events KEAn | @s PSUBSCRIBE __keyevent@0__:* | RESTORE k 0 {v} | @s !recv | @s !recv | \
         RESTORE k 0 {v} REPLACE | @s !recv | @s !recv | RESTORE k 1 {v} ABSTTL REPLACE | @s !recv | \
         RESTORE k 1 {v} ABSTTL | SET after x | @s !recv | CONFIG SET notify-keyspace-events \"\"",
    );
    let told = |mark: &str| {
        let event =
            |name: &str, key: &str| format!(r#"{mark}["pmessage" ... "__keyevent@0__:{name}" "{key}"]"#);
        let (new, restored) = (event("new", "k"), event("restore", "k"));
        let (deleted, after) = (event("del", "k"), event("new", "after"));
        format!(
            "+OK | ... | +OK | {new} | {restored} | +OK | {new} | {restored} | +OK | {deleted} | +OK | +OK | {after} | +OK"
        )
    };
    check3(&line, &told(""), &told(">"));
}

/// Of a hash that EXH* commands made, the module TairHash's form keeps what Redis has no place for.
#[test]
fn hashes_of_tairhash() {
    tarn_only(
        "EXHSET h a 1 | EXHSET h a 2 | EXHSET h b 3 PXAT 4102444800000 | DUMP h | DEL h | EXISTS h",
        ":1 | :0 | :1 | ... | :1 | :0",
    );
    tarn_only(
        "EVAL \"redis.call('exhset','h','a','1') redis.call('exhset','h','a','2') redis.call('exhset','h','b','3','pxat','4102444800000') \
         return redis.call('restore', 'copy', 0, redis.call('dump', 'h'))\" 0 | TYPE copy | EXHVER copy a | EXHVER copy b | \
         EXHGET copy a | EXHPEXPIRETIME copy b | EXHLEN copy",
        "+OK | +tairhash- | :2 | :1 | \"2\" | ... | :2",
    );
}

#[test]
fn fields_that_have_expired_stay_behind() {
    tarn_only(
        "EVAL \"redis.call('hset','h','a','1','b','2') redis.call('hpexpire','h',1000,'fields',1,'a') return redis.call('set','d',redis.call('dump','h'))\" 0 | \
         !time 2000 | EVAL \"return redis.call('restore','k',0,redis.call('get','d'))\" 0 | HGETALL k | TYPE h",
        "+OK | none | +OK | ... | +hash",
    );
    tarn_only(
        "EVAL \"redis.call('hset','h','a','1') redis.call('hpexpire','h',1000,'fields',1,'a') return redis.call('set','d',redis.call('dump','h'))\" 0 | \
         !time 2000 | SET k before | EVAL \"return redis.call('restore','k',0,redis.call('get','d'),'replace')\" 0 | EXISTS k",
        "+OK | none | +OK | +OK | :0",
    );
}
