//! SORT and SORT_RO.

use crate::check::{check, tarn_only, tarn_only_with};

#[test]
fn arity_and_syntax() {
    check("SORT", "-ERR wrong number of arguments for 'sort' command");
    check("SORT_RO", "-ERR wrong number of arguments for 'sort_ro' command");
    check("SORT k FOO", "-ERR syntax error");
    check("SORT k LIMIT", "-ERR syntax error");
    check("SORT k LIMIT 0", "-ERR syntax error");
    check("SORT k LIMIT 0 x", "-ERR value is not an integer or out of range");
    check("SORT k LIMIT x 0", "-ERR value is not an integer or out of range");
    check("SORT k BY", "-ERR syntax error");
    check("SORT k GET", "-ERR syntax error");
    check("SORT k STORE", "-ERR syntax error");
    check("SORT k ASC DESC FOO", "-ERR syntax error");
    check("SORT_RO k STORE d", "-ERR syntax error");
    check("SORT_RO k STORE", "-ERR syntax error");
    check(
        r#"SORT k "" | SORT k LIMIT 1.5 1 | SORT k LIMIT 0 9223372036854775808"#,
        "-ERR syntax error | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range",
    );
    check(
        "SET s x | SORT s FOO | SORT s LIMIT x 1",
        "+OK | -ERR syntax error | -ERR value is not an integer or out of range",
    );
}

#[test]
fn wrong_type() {
    check(
        "SET s x | SORT s | SORT_RO s | SORT s BY nosort | SORT s STORE d | EXISTS d",
        "+OK | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | :0",
    );
    check(
        "HSET h a 1 | SORT h | SORT_RO h | SORT h STORE h | TYPE h",
        ":1 | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | +hash",
    );
    check(
        "RPUSH l 1 | SET d x | SORT l STORE d | TYPE d | LRANGE d 0 -1",
        r#":1 | +OK | :1 | +list | ["1"]"#,
    );
}

#[test]
fn numbers() {
    check(
        "RPUSH l 3 1 2 10 -5 | SORT l | SORT l ASC | SORT l DESC | SORT l DESC ASC | SORT_RO l | SORT_RO l DESC | LRANGE l 0 -1",
        r#":5 | ["-5" "1" "2" "3" "10"] | ["-5" "1" "2" "3" "10"] | ["10" "3" "2" "1" "-5"] | ["-5" "1" "2" "3" "10"] | ["-5" "1" "2" "3" "10"] | ["10" "3" "2" "1" "-5"] | ["3" "1" "2" "10" "-5"]"#,
    );
    check(
        r#"RPUSH l 1.5 1.25 -0.5 1e2 0x10 " 7" inf -inf +3 | SORT l"#,
        r#":9 | ["-inf" "-0.5" "1.25" "1.5" "+3" " 7" "0x10" "1e2" "inf"]"#,
    );
    check(r#"RPUSH l 3 "" 1 | SORT l | SORT l DESC"#, r#":3 | ["" "1" "3"] | ["3" "1" ""]"#);
    check(
        "RPUSH l 1 a 2 | SORT l | SORT l LIMIT 0 0 | SORT l LIMIT 5 1 | SORT l STORE d | EXISTS d | SORT l BY nosort | SORT l ALPHA",
        r#":3 | -ERR One or more scores can't be converted into double | -ERR One or more scores can't be converted into double | -ERR One or more scores can't be converted into double | -ERR One or more scores can't be converted into double | :0 | ["1" "a" "2"] | ["1" "2" "a"]"#,
    );
    check("RPUSH l nan | SORT l", ":1 | -ERR One or more scores can't be converted into double");
    check(r#"RPUSH l "1 " | SORT l"#, ":1 | -ERR One or more scores can't be converted into double");
    check("RPUSH l 0x1p-1074 1 | SORT l", r#":2 | ["0x1p-1074" "1"]"#);
    check(r#"RPUSH l "2\x00x" 1 | SORT l"#, r#":2 | ["1" "2\x00x"]"#);
    check(r#"RPUSH l " " | SORT l"#, ":1 | -ERR One or more scores can't be converted into double");
    check(
        "RPUSH l 1 01 1.0 001 +1 | SORT l | SORT l DESC",
        r#":5 | ["+1" "001" "01" "1" "1.0"] | ["1.0" "1" "01" "001" "+1"]"#,
    );
    check("RPUSH l 0 -0 0.0 | SORT l", r#":3 | ["-0" "0" "0.0"]"#);
    check(
        "RPUSH l 9007199254740993 9007199254740992 9223372036854775807 -9223372036854775808 | SORT l",
        r#":4 | ["-9223372036854775808" "9007199254740992" "9007199254740993" "9223372036854775807"]"#,
    );
    check("RPUSH l 2 1 2 1 | SORT l | SORT l DESC", r#":4 | ["1" "1" "2" "2"] | ["2" "2" "1" "1"]"#);
    check(
        "SORT missing | SORT_RO missing | SORT missing STORE d | EXISTS d | SORT missing GET x* BY y* LIMIT 0 10",
        "[] | [] | :0 | :0 | []",
    );
    check("RPUSH l 1 | PEXPIREAT l 1 | SORT l | SORT l STORE d", ":1 | :1 | [] | :0");
}

#[test]
fn texts() {
    check(
        r#"RPUSH l b a C 10 9 "" aa | SORT l ALPHA | SORT l ALPHA DESC | SORT l aLpHa desc"#,
        r#":7 | ["" "10" "9" "C" "a" "aa" "b"] | ["b" "aa" "a" "C" "9" "10" ""] | ["b" "aa" "a" "C" "9" "10" ""]"#,
    );
    check(
        r#"RPUSH l "\xff" "a" "\x80" | SORT l ALPHA | SORT l ALPHA DESC | SORT l ALPHA STORE d | LRANGE d 0 -1"#,
        r#":3 | ["a" "\x80" "\xff"] | ["\xff" "\x80" "a"] | :3 | ["a" "\x80" "\xff"]"#,
    );
}

#[test]
fn limits() {
    check(
        "RPUSH l 5 4 3 2 1 | SORT l LIMIT 0 2 | SORT l LIMIT 1 2 | SORT l LIMIT 3 10 | SORT l LIMIT 5 1 | SORT l LIMIT 9 1 | SORT l LIMIT 0 0",
        r#":5 | ["1" "2"] | ["2" "3"] | ["4" "5"] | [] | [] | []"#,
    );
    check(
        "RPUSH l 5 4 3 2 1 | SORT l LIMIT -1 2 | SORT l LIMIT 2 -1 | SORT l LIMIT -5 -5 | SORT l LIMIT 0 -1 DESC | SORT l LIMIT 0 1 LIMIT 1 1",
        r#":5 | ["1" "2"] | ["3" "4" "5"] | ["1" "2" "3" "4" "5"] | ["5" "4" "3" "2" "1"] | ["2"]"#,
    );
    check(
        "RPUSH l 5 4 3 2 1 | SORT l LIMIT 9223372036854775807 1 | SORT l LIMIT 1 9223372036854775807 | SORT l LIMIT -9223372036854775808 2 | SORT l LIMIT 0 -9223372036854775808",
        r#":5 | [] | ["2" "3" "4" "5"] | ["1" "2"] | ["1" "2" "3" "4" "5"]"#,
    );
    check(
        "RPUSH l 5 4 3 2 1 | SORT l BY nosort LIMIT 1 2 | SORT l BY nosort DESC LIMIT 1 2 | SORT l BY nosort DESC | SORT l BY nosort LIMIT 3 10 | SORT l BY nosort LIMIT 9 1 | SORT l BY nosort LIMIT 0 0 | SORT l BY nosort LIMIT -3 2 | SORT l BY nosort DESC LIMIT 4 5",
        r#":5 | ["4" "3"] | ["2" "3"] | ["1" "2" "3" "4" "5"] | ["2" "1"] | [] | [] | ["5" "4"] | ["5"]"#,
    );
}

#[test]
fn by_other_keys() {
    check(
        "RPUSH l 1 2 3 | MSET w1 30 w2 20 w3 10 | SORT l BY w* | SORT l BY w* DESC | SORT l BY w* LIMIT 1 1 | SORT_RO l BY w*",
        r#":3 | +OK | ["3" "2" "1"] | ["1" "2" "3"] | ["2"] | ["3" "2" "1"]"#,
    );
    check(
        "RPUSH l 1 2 3 4 | MSET w1 5 w3 -5 | SORT l BY w* | SORT l BY w* DESC",
        r#":4 | +OK | ["3" "2" "4" "1"] | ["1" "4" "2" "3"]"#,
    );
    check(
        "RPUSH l 1 2 3 | MSET w1 x w2 y w3 z | SORT l BY w* | SORT l BY w* ALPHA | SORT l BY w* ALPHA DESC",
        r#":3 | +OK | -ERR One or more scores can't be converted into double | ["1" "2" "3"] | ["3" "2" "1"]"#,
    );
    check(
        "RPUSH l 1 2 3 4 | MSET w1 b w3 a w4 c | SORT l BY w* ALPHA LIMIT 0 2 | SORT l BY w* ALPHA",
        r#":4 | +OK | ["2" "3"] | ["2" "3" "1" "4"]"#,
    );
    check(
        "RPUSH l 1 2 3 | HSET h1 f 3 | HSET h2 f 2 | HSET h3 f 1 | SORT l BY h*->f | SORT l BY h*->f DESC | SORT l BY h*->nosuch DESC | SORT l BY w*->f",
        r#":3 | :1 | :1 | :1 | ["3" "2" "1"] | ["1" "2" "3"] | ["3" "2" "1"] | ["1" "2" "3"]"#,
    );
    check(
        "RPUSH l 1 2 | HSET h1x f 3 | HSET h2x f 2 | SORT l BY h*x->f | SET h1x 1 | SORT l BY h*x->f | SORT l BY h*x",
        r#":2 | :1 | :1 | ["2" "1"] | +OK | ["1" "2"] | ["2" "1"]"#,
    );
    check(
        r#"RPUSH l 1 2 | SET 1 9 | SET 2 8 | SORT l BY * | SORT l BY *->f DESC | SORT l BY "*->" DESC"#,
        r#":2 | +OK | +OK | ["2" "1"] | ["2" "1"] | ["2" "1"]"#,
    );
    check(
        r#"RPUSH l b a | SORT l BY nosort | SORT l BY w | SORT l BY # | SORT l BY "" | SORT l BY "x\x00*""#,
        r#":2 | ["b" "a"] | ["b" "a"] | ["b" "a"] | ["b" "a"] | ["b" "a"]"#,
    );
    check(
        "RPUSH l 1 2 | MSET w1 2 w2 1 | SORT l BY w* BY nosort | SORT l BY nosort BY w* | SORT l BY w* ASC DESC",
        r#":2 | +OK | ["1" "2"] | ["1" "2"] | ["1" "2"]"#,
    );
    check(
        "RPUSH l 1 2 | MSET w1* 2 w2* 1 | SORT l BY w** | SORT l BY w*",
        r#":2 | +OK | ["2" "1"] | ["1" "2"]"#,
    );
    check(
        "RPUSH l 1 2 | SET w1 2 | SET w2 1 PX 100000 | PEXPIREAT w2 1 | SORT l BY w* DESC",
        r#":2 | +OK | +OK | :1 | ["1" "2"]"#,
    );
    check("RPUSH l 1 2 | RPUSH w1 5 | SET w2 -1 | SORT l BY w*", r#":2 | :1 | +OK | ["2" "1"]"#);
}

#[test]
fn values_of_other_keys() {
    check(
        "RPUSH l 2 1 3 | MSET o1 one o2 two | SORT l GET o* | SORT l GET # GET o* | SORT l GET o* GET # GET nosuch* | SORT l GET nostar | SORT_RO l GET o*",
        r#":3 | +OK | ["one" "two" nil] | ["1" "one" "2" "two" "3" nil] | ["one" "1" nil "two" "2" nil nil "3" nil] | [nil nil nil] | ["one" "two" nil]"#,
    );
    check(
        r#"RPUSH l 2 1 | HSET h1 f v1 g w1 | HSET h2 f v2 | SORT l GET h*->f | SORT l GET h*->g GET # | SORT l GET h*->nosuch | SORT l GET h* | SORT l GET "h*->""#,
        r#":2 | :2 | :1 | ["v1" "v2"] | ["w1" "1" nil "2"] | [nil nil] | [nil nil] | [nil nil]"#,
    );
    check(
        r#"RPUSH l 2 1 | HSET h1->f g 1 | HSET h1 "f->g" 2 | SORT l GET h*->f->g"#,
        r#":2 | :1 | :1 | ["2" nil]"#,
    );
    check(
        r#"RPUSH l 2 1 | RPUSH o1 x | SET o2 "" | SORT l GET o* | SORT l GET o* DESC LIMIT 0 1"#,
        r#":2 | :1 | +OK | [nil ""] | [""]"#,
    );
    check(
        "RPUSH l 2 1 | MSET w1 1 w2 2 o1 one o2 two | SORT l BY w* DESC GET o* LIMIT 0 1 | SORT l BY nosort GET o* GET w*",
        r#":2 | +OK | ["two"] | ["two" "2" "one" "1"]"#,
    );
    check(
        r##"RPUSH l 2 1 | SORT l GET "#\x00x" | SORT l GET ## | SORT l GET """##,
        r#":2 | ["1" "2"] | [nil nil] | [nil nil]"#,
    );
    check("SORT missing GET # | SORT missing GET x*", "[] | []");
    check(r#"RPUSH l 2 1 | SET o1 "x"*5000 | SORT l GET o*"#, r#":2 | +OK | ["x"*5000 nil]"#);
}

#[test]
fn storing() {
    check(
        "RPUSH l 3 1 2 | SORT l STORE d | LRANGE d 0 -1 | TYPE d | SORT l DESC STORE l | LRANGE l 0 -1",
        r#":3 | :3 | ["1" "2" "3"] | +list | :3 | ["3" "2" "1"]"#,
    );
    check(
        "RPUSH l 3 1 2 | MSET o1 one o3 three | SORT l GET o* GET # STORE d | LRANGE d 0 -1",
        r#":3 | +OK | :6 | ["one" "1" "" "2" "three" "3"]"#,
    );
    check(
        "RPUSH l 3 1 2 | SET d x EX 1000 | SORT l LIMIT 0 2 STORE d | LRANGE d 0 -1 | TTL d",
        r#":3 | +OK | :2 | ["1" "2"] | :-1"#,
    );
    check(
        "RPUSH l 3 1 2 | SET d x | SORT l LIMIT 5 1 STORE d | EXISTS d | SET d x | SORT missing STORE d | EXISTS d",
        ":3 | +OK | :0 | :0 | +OK | :0 | :0",
    );
    check(
        "RPUSH l 3 1 2 | EXPIRE l 1000 | SORT l STORE l | TTL l | LRANGE l 0 -1",
        r#":3 | :1 | :3 | :-1 | ["1" "2" "3"]"#,
    );
    check(
        "RPUSH l b a | SET d x | SORT l STORE d | GET d",
        r#":2 | +OK | -ERR One or more scores can't be converted into double | "x""#,
    );
    check(
        "RPUSH l 3 1 2 | SORT l STORE a STORE b | EXISTS a b | SORT l BY STORE STORE c | LRANGE c 0 -1 | SORT l STORE STORE | LRANGE STORE 0 -1",
        r#":3 | :3 | :1 | :3 | ["3" "1" "2"] | :3 | ["1" "2" "3"]"#,
    );
    check(
        "RPUSH l 3 1 2 | SORT l BY nosort LIMIT 1 2 STORE d | LRANGE d 0 -1 | SORT l BY nosort DESC STORE d | LRANGE d 0 -1 | LPUSH d x | RPUSH d y | LRANGE d 0 -1",
        r#":3 | :2 | ["1" "2"] | :3 | ["2" "1" "3"] | :4 | :5 | ["x" "2" "1" "3" "y"]"#,
    );
    check(
        "COMMAND GETKEYS SORT a | COMMAND GETKEYS SORT a STORE b | COMMAND GETKEYS SORT a BY x* GET y* LIMIT 0 1 STORE b | COMMAND GETKEYS SORT a STORE b STORE c | COMMAND GETKEYS SORT a BY STORE | COMMAND GETKEYS SORT a STORE | COMMAND GETKEYS SORT_RO a STORE b",
        r#"["a"] | ["a" "b"] | ["a" "b"] | ["a" "c"] | ["a"] | ["a"] | ["a"]"#,
    );
}

#[test]
fn sets() {
    check(
        "SADD s 3 1 2 10 | SORT s | SORT s DESC | SORT s LIMIT 1 2 | SORT s STORE d | LRANGE d 0 -1 | SORT_RO s ALPHA",
        r#":4 | ["1" "2" "3" "10"] | ["10" "3" "2" "1"] | ["2" "3"] | :4 | ["1" "2" "3" "10"] | ["1" "10" "2" "3"]"#,
    );
    check(
        "SADD s 3 1 2 10 | MSET w1 5 w2 4 w3 3 w10 2 | SORT s BY w* | SORT s BY w* GET # GET w*",
        r#":4 | +OK | ["10" "3" "2" "1"] | ["10" "2" "3" "3" "2" "4" "1" "5"]"#,
    );
    check(
        "SADD s c a b | SORT s | SORT s ALPHA | SORT s BY nosort STORE d | LRANGE d 0 -1 | SORT s BY nosort DESC STORE d | LRANGE d 0 -1 | SORT s BY nosort LIMIT 1 1 STORE d | LRANGE d 0 -1",
        r#":3 | -ERR One or more scores can't be converted into double | ["a" "b" "c"] | :3 | ["a" "b" "c"] | :3 | ["c" "b" "a"] | :1 | ["b"]"#,
    );
    check(
        "SADD s a | SORT s BY nosort | SORT s BY nosort LIMIT 0 0 | SORT s STORE s | TYPE s",
        r#":1 | ["a"] | [] | -ERR One or more scores can't be converted into double | +set"#,
    );
    check("SADD s a b | SORT s ALPHA STORE s | TYPE s | LRANGE s 0 -1", r#":2 | :2 | +list | ["a" "b"]"#);
}

#[test]
fn sorted_sets() {
    check(
        "ZADD z 3 1 2 2 1 3 | SORT z | SORT z DESC | SORT z LIMIT 1 1 | SORT z STORE d | LRANGE d 0 -1",
        r#":3 | ["1" "2" "3"] | ["3" "2" "1"] | ["2"] | :3 | ["1" "2" "3"]"#,
    );
    check(
        "ZADD z 3 a 2 b 1 c | SORT z | SORT z ALPHA | SORT z BY nosort | SORT z BY nosort DESC | SORT z BY nosort LIMIT 1 1 | SORT z BY nosort DESC LIMIT 0 2 | SORT z BY nosort LIMIT 2 5 | SORT z BY nosort LIMIT 5 1",
        r#":3 | -ERR One or more scores can't be converted into double | ["a" "b" "c"] | ["c" "b" "a"] | ["a" "b" "c"] | ["b"] | ["a" "b"] | ["a"] | []"#,
    );
    check(
        "ZADD z -1.5 a 0 b 1.5 c inf d -inf e | SORT z BY nosort | SORT z BY nosort STORE d | LRANGE d 0 -1 | SORT_RO z BY nosort DESC",
        r#":5 | ["e" "a" "b" "c" "d"] | :5 | ["e" "a" "b" "c" "d"] | ["d" "c" "b" "a" "e"]"#,
    );
    check(
        "ZADD z 1 b 1 a 1 c | SORT z BY nosort | SORT z BY nosort DESC GET # GET w*",
        r#":3 | ["a" "b" "c"] | ["c" nil "b" nil "a" nil]"#,
    );
    check(
        "ZADD z 1 1 2 2 | MSET w1 2 w2 1 | SORT z BY w* | SORT z BY w* STORE z | TYPE z",
        r#":2 | +OK | ["2" "1"] | :2 | +list"#,
    );
}

/// Redis refuses such a number too, and then for a while every other one.
#[test]
fn out_of_range() {
    for number in ["1e400", "-1e400", "1e-400", "1e-310", "0x1p2000"] {
        let refused = "-ERR One or more scores can't be converted into double";
        tarn_only(
            &format!("RPUSH l 1 {number} | SORT l | LSET l 1 2 | SORT l DESC"),
            &format!(r#":2 | {refused} | +OK | ["2" "1"]"#),
        );
    }
}

#[test]
fn patterns_in_a_cluster() {
    let denied = "-ERR BY option of SORT denied in Cluster mode.";
    let denied_get = "-ERR GET option of SORT denied in Cluster mode.";
    tarn_only_with(
        &[("cluster-enabled", "yes")],
        "RPUSH a 2 1 | SORT a | SORT a BY w* | SORT a BY {a}w* | SORT a BY nosort | SORT a GET # | SORT a GET x | SORT a LIMIT x 1 BY w*",
        &format!(
            r#":2 | ["1" "2"] | {denied} | {denied} | ["2" "1"] | {denied_get} | {denied_get} | -ERR value is not an integer or out of range"#
        ),
    );
    tarn_only_with(
        &[("cluster-enabled", "yes"), ("cluster-cross-slot", "deny")],
        "RPUSH a 2 1 | SORT a STORE b | SORT a STORE {a}b | SORT a BY STORE STORE b",
        ":2 | -CROSSSLOT Keys in request don't hash to the same slot | :2 | -CROSSSLOT Keys in request don't hash to the same slot",
    );
}
