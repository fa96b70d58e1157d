//! Members in order: ZRANGE and its relatives.

use crate::check::{check, check3};

#[test]
fn arity() {
    check("ZRANGE z 0", "-ERR wrong number of arguments for 'zrange' command");
    check("ZREVRANGE z 0", "-ERR wrong number of arguments for 'zrevrange' command");
    check("ZRANGEBYSCORE z 0", "-ERR wrong number of arguments for 'zrangebyscore' command");
    check("ZREVRANGEBYSCORE z 0", "-ERR wrong number of arguments for 'zrevrangebyscore' command");
    check("ZRANGEBYLEX z -", "-ERR wrong number of arguments for 'zrangebylex' command");
    check("ZREVRANGEBYLEX z +", "-ERR wrong number of arguments for 'zrevrangebylex' command");
    check("ZRANGESTORE d z 0", "-ERR wrong number of arguments for 'zrangestore' command");
    check("ZCOUNT z 0", "-ERR wrong number of arguments for 'zcount' command");
    check("ZCOUNT z 0 1 2", "-ERR wrong number of arguments for 'zcount' command");
    check("ZLEXCOUNT z -", "-ERR wrong number of arguments for 'zlexcount' command");
    check("ZLEXCOUNT z - + x", "-ERR wrong number of arguments for 'zlexcount' command");
}

#[test]
fn wrong_type() {
    check(
        "SET s x | ZRANGE s 0 -1 | ZREVRANGE s 0 -1 | ZRANGEBYSCORE s 0 1 | ZREVRANGEBYSCORE s 1 0 | ZRANGEBYLEX s - + | ZREVRANGEBYLEX s + - | ZRANGESTORE d s 0 -1 | ZCOUNT s 0 1 | ZLEXCOUNT s - +",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    check(
        "SET s x | ZRANGE s a b | ZRANGEBYSCORE s a b | ZRANGEBYLEX s a b | ZCOUNT s a b | ZLEXCOUNT s a b",
        "+OK | -ERR value is not an integer or out of range | -ERR min or max is not a float | -ERR min or max not valid string range item | -ERR min or max is not a float | -ERR min or max not valid string range item",
    );
}

#[test]
fn missing_key() {
    check(
        "ZRANGE z 0 -1 | ZREVRANGE z 0 -1 WITHSCORES | ZRANGEBYSCORE z 0 1 | ZREVRANGEBYSCORE z 1 0 | ZRANGEBYLEX z - + | ZREVRANGEBYLEX z + - | ZCOUNT z 0 1 | ZLEXCOUNT z - + | ZRANGE z a b | ZRANGEBYSCORE z a b | ZRANGEBYLEX z a b",
        "[] | [] | [] | [] | [] | [] | :0 | :0 | -ERR value is not an integer or out of range | -ERR min or max is not a float | -ERR min or max not valid string range item",
    );
    check("SET d x | ZRANGESTORE d z 0 -1 | EXISTS d", "+OK | :0 | :0");
}

#[test]
fn by_rank() {
    check(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZRANGE z 0 -1 | ZRANGE z 1 2 | ZRANGE z -2 -1 | ZRANGE z 3 1 | ZRANGE z 5 9 | ZRANGE z -9 9 | ZRANGE z 4 4 | ZRANGE z 0 0 | ZRANGE z -9 -6 | ZRANGE z 0 -6 | ZRANGE z -9223372036854775808 9223372036854775807",
        r#":5 | ["a" "b" "c" "d" "e"] | ["b" "c"] | ["d" "e"] | [] | [] | ["a" "b" "c" "d" "e"] | ["e"] | ["a"] | [] | [] | ["a" "b" "c" "d" "e"]"#,
    );
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZRANGE z 0 1 WITHSCORES | ZRANGE z 0 1 REV | ZRANGE z 0 1 REV WITHSCORES | ZREVRANGE z 0 1 | ZREVRANGE z 3 -1 WITHSCORES | ZREVRANGE z 0 -1 | ZREVRANGE z 4 4 | ZREVRANGE z 1 1 | ZRANGE z 3 3 | ZRANGE z 3 4 rev withscores",
        r#":5 | ["a" "1" "b" "2"] | ["e" "d"] | ["e" "5" "d" "4"] | ["e" "d"] | ["b" "2" "a" "1"] | ["e" "d" "c" "b" "a"] | ["a"] | ["d"] | ["d"] | ["b" "2" "a" "1"]"#,
        r#":5 | [["a" ,1] ["b" ,2]] | ["e" "d"] | [["e" ,5] ["d" ,4]] | ["e" "d"] | [["b" ,2] ["a" ,1]] | ["e" "d" "c" "b" "a"] | ["a"] | ["d"] | ["d"] | [["b" ,2] ["a" ,1]]"#,
    );
    check("ZRANGE z a 1", "-ERR value is not an integer or out of range");
    check("ZRANGE z 0 b", "-ERR value is not an integer or out of range");
    check("ZRANGE z 0 1.5", "-ERR value is not an integer or out of range");
    check("ZRANGE z 0 9223372036854775808", "-ERR value is not an integer or out of range");
    check("ZRANGE z 0 1 FOO", "-ERR syntax error");
    check("ZRANGE z 0 1 REV REV", "-ERR syntax error");
    check("ZREVRANGE z 0 1 REV", "-ERR syntax error");
    check("ZREVRANGE z 0 1 BYSCORE", "-ERR syntax error");
    check(
        "ZRANGE z 0 -1 LIMIT 0 1",
        "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
    );
    check("ZRANGE z 0 -1 LIMIT 0", "-ERR syntax error");
    check("ZADD z 1 a 2 b 3 c 4 d 5 e | ZRANGE z 0 1 LIMIT 3 -1", r#":5 | ["a" "b"]"#);
    check("ZRANGE z 0 1 WITHSCORES WITHSCORES", "[]");
    check(
        "ZREVRANGE z 0 -1 LIMIT 0 2",
        "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
    );
    check(
        "ZRANGE z a b LIMIT 0 1",
        "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
    );
}

#[test]
fn by_score() {
    check(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZRANGEBYSCORE z 2 4 | ZRANGEBYSCORE z (2 4 | ZRANGEBYSCORE z 2 (4 | ZRANGEBYSCORE z (2 (4 | ZRANGEBYSCORE z (2 (3 | ZRANGEBYSCORE z 4 2 | ZRANGEBYSCORE z 3 3 | ZRANGEBYSCORE z (3 3 | ZRANGEBYSCORE z 3 (3",
        r#":5 | ["b" "c" "d"] | ["c" "d"] | ["b" "c"] | ["c"] | [] | [] | ["c"] | [] | []"#,
    );
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZRANGEBYSCORE z -inf +inf | ZRANGEBYSCORE z (-inf (inf | ZRANGEBYSCORE z 2.5 inf WITHSCORES | ZREVRANGEBYSCORE z 4 2 WITHSCORES | ZREVRANGEBYSCORE z 2 4 | ZREVRANGEBYSCORE z (4 (1 | ZRANGE z 2 4 BYSCORE | ZRANGE z 4 2 BYSCORE REV | ZRANGE z (4 (2 REV BYSCORE WITHSCORES | ZRANGE z 2 4 REV BYSCORE",
        r#":5 | ["a" "b" "c" "d" "e"] | ["a" "b" "c" "d" "e"] | ["c" "3" "d" "4" "e" "5"] | ["d" "4" "c" "3" "b" "2"] | [] | ["c" "b"] | ["b" "c" "d"] | ["d" "c" "b"] | ["c" "3"] | []"#,
        r#":5 | ["a" "b" "c" "d" "e"] | ["a" "b" "c" "d" "e"] | [["c" ,3] ["d" ,4] ["e" ,5]] | [["d" ,4] ["c" ,3] ["b" ,2]] | [] | ["c" "b"] | ["b" "c" "d"] | ["d" "c" "b"] | [["c" ,3]] | []"#,
    );
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZRANGEBYSCORE z -inf inf LIMIT 1 2 | ZRANGEBYSCORE z -inf inf LIMIT 1 -1 | ZRANGEBYSCORE z -inf inf LIMIT 0 0 | ZRANGEBYSCORE z -inf inf LIMIT -1 2 | ZRANGEBYSCORE z -inf inf LIMIT 9 2 | ZREVRANGEBYSCORE z inf -inf LIMIT 1 2 WITHSCORES | ZRANGEBYSCORE z 2 4 withscores limit 1 1 | ZRANGE z 5 1 BYSCORE REV LIMIT 1 3 WITHSCORES | ZRANGEBYSCORE z 2 4 LIMIT 0 -5 | ZRANGEBYSCORE z 1 5 LIMIT 0 1 LIMIT 1 2 | ZRANGEBYSCORE z 1 2 LIMIT 0 9223372036854775807 | ZRANGEBYSCORE z 1 2 LIMIT 9223372036854775807 9223372036854775807",
        r#":5 | ["b" "c"] | ["b" "c" "d" "e"] | [] | [] | [] | ["d" "4" "c" "3"] | ["c" "3"] | ["d" "4" "c" "3" "b" "2"] | ["b" "c" "d"] | ["b" "c"] | ["a" "b"] | []"#,
        r#":5 | ["b" "c"] | ["b" "c" "d" "e"] | [] | [] | [] | [["d" ,4] ["c" ,3]] | [["c" ,3]] | [["d" ,4] ["c" ,3] ["b" ,2]] | ["b" "c" "d"] | ["b" "c"] | ["a" "b"] | []"#,
    );
    check(
        r#"ZADD z -inf a inf b 0 c | ZRANGEBYSCORE z -inf -inf | ZRANGEBYSCORE z (-inf (+inf | ZRANGEBYSCORE z inf inf | ZRANGEBYSCORE z (inf inf | ZRANGEBYSCORE z -1e400 1e400 | ZRANGEBYSCORE z "" "" | ZRANGEBYSCORE z ( ( | ZRANGEBYSCORE z " 0" 0x0 | ZRANGEBYSCORE z -0 -0 | ZRANGEBYSCORE z (-0 0 | ZRANGEBYSCORE z "0\x00x" 0"#,
        r#":3 | ["a"] | ["c"] | ["b"] | [] | ["a" "c" "b"] | ["c"] | [] | ["c"] | ["c"] | [] | ["c"]"#,
    );
    check("ZRANGEBYSCORE z a 1", "-ERR min or max is not a float");
    check("ZRANGEBYSCORE z 1 a", "-ERR min or max is not a float");
    check("ZRANGEBYSCORE z (a 1", "-ERR min or max is not a float");
    check("ZRANGEBYSCORE z nan 1", "-ERR min or max is not a float");
    check("ZRANGEBYSCORE z ((1 2", "-ERR min or max is not a float");
    check(r#"ZRANGEBYSCORE z "1 " 2"#, "-ERR min or max is not a float");
    check("ZRANGEBYSCORE z [1 2", "-ERR min or max is not a float");
    check("ZRANGEBYSCORE z 1 2 LIMIT a 1", "-ERR value is not an integer or out of range");
    check("ZRANGEBYSCORE z 1 2 LIMIT 1 a", "-ERR value is not an integer or out of range");
    check("ZRANGEBYSCORE z x 2 LIMIT 1 a", "-ERR value is not an integer or out of range");
    check("ZRANGEBYSCORE z 1 2 LIMIT 1", "-ERR syntax error");
    check("ZRANGEBYSCORE z 1 2 BYLEX", "-ERR syntax error");
    check("ZRANGEBYSCORE z 1 2 FOO", "-ERR syntax error");
    check("ZRANGE z 1 2 BYSCORE BYSCORE", "-ERR syntax error");
    check("ZRANGE z 1 2 BYSCORE BYLEX", "-ERR syntax error");
}

#[test]
fn by_lex() {
    check(
        r#"ZADD z 0 a 0 b 0 c 0 d 0 aa 0 "" | ZRANGEBYLEX z - + | ZRANGEBYLEX z [a [c | ZRANGEBYLEX z (a [c | ZRANGEBYLEX z [a (c | ZRANGEBYLEX z (a (aa | ZRANGEBYLEX z [ [b | ZRANGEBYLEX z ( (b | ZRANGEBYLEX z + - | ZRANGEBYLEX z - - | ZRANGEBYLEX z + + | ZRANGEBYLEX z [c [a | ZRANGEBYLEX z [b [b | ZRANGEBYLEX z (b [b | ZRANGEBYLEX z [bb +"#,
        r#":6 | ["" "a" "aa" "b" "c" "d"] | ["a" "aa" "b" "c"] | ["aa" "b" "c"] | ["a" "aa" "b"] | [] | ["" "a" "aa" "b"] | ["a" "aa"] | [] | [] | [] | [] | ["b"] | [] | ["c" "d"]"#,
    );
    check(
        r#"ZADD z 0 a 0 b 0 c 0 d 0 aa 0 "" | ZREVRANGEBYLEX z + - | ZREVRANGEBYLEX z [c [a | ZREVRANGEBYLEX z (c - LIMIT 1 2 | ZRANGEBYLEX z - + LIMIT 1 2 | ZRANGEBYLEX z - + LIMIT -1 2 | ZRANGE z [a (c BYLEX | ZRANGE z (c [a BYLEX REV | ZRANGE z - + BYLEX LIMIT 4 9 | ZRANGE z + - BYLEX REV LIMIT 0 1 | ZLEXCOUNT z - + | ZLEXCOUNT z [a (c | ZLEXCOUNT z (a + | ZLEXCOUNT z + - | ZLEXCOUNT z [x [y"#,
        r#":6 | ["d" "c" "b" "aa" "a" ""] | ["c" "b" "aa" "a"] | ["aa" "a"] | ["a" "aa"] | [] | ["a" "aa" "b"] | ["b" "aa" "a"] | ["c" "d"] | ["d"] | :6 | :3 | :4 | :0 | :0"#,
    );
    check(
        r#"ZADD z 0 "a\x00" 0 a 0 "a\xff" 0 b | ZRANGEBYLEX z [a (b | ZRANGEBYLEX z (a [b | ZRANGEBYLEX z "(a\x00" + | ZRANGEBYLEX z - "[a\x00" | ZRANGEBYLEX z "-\x00x" "+\x00" | ZLEXCOUNT z (a "(a\xff""#,
        r#":4 | ["a" "a\x00" "a\xff"] | ["a\x00" "a\xff" "b"] | ["a\xff" "b"] | ["a" "a\x00"] | ["a" "a\x00" "a\xff" "b"] | :1"#,
    );
    check(
        "ZADD z 1 a 2 b 3 c 4 b2 5 d | ZRANGEBYLEX z [b [c | ZRANGEBYLEX z - + | ZREVRANGEBYLEX z [c [b | ZRANGEBYLEX z [b2 + | ZLEXCOUNT z [b [c | ZLEXCOUNT z (a (d | ZREVRANGEBYLEX z (c - | ZRANGEBYLEX z (d +",
        r#":5 | ["b" "c" "b2"] | ["a" "b" "c" "b2" "d"] | ["b2" "c" "b"] | ["c" "b2" "d"] | :3 | :3 | ["b2" "c" "b" "a"] | []"#,
    );
    check(
        "ZADD z 3 a 2 b 1 c | ZRANGEBYLEX z [b [c | ZRANGEBYLEX z [a [b | ZREVRANGEBYLEX z [c [b | ZLEXCOUNT z - [c | ZREMRANGEBYLEX z - [b | ZRANGE z 0 -1",
        r#":3 | [] | [] | [] | :3 | :0 | ["c" "b" "a"]"#,
    );
    check("ZRANGEBYLEX z a [b", "-ERR min or max not valid string range item");
    check("ZRANGEBYLEX z [a b", "-ERR min or max not valid string range item");
    check("ZRANGEBYLEX z -x +", "-ERR min or max not valid string range item");
    check("ZRANGEBYLEX z - ++", "-ERR min or max not valid string range item");
    check(r#"ZRANGEBYLEX z "" +"#, "-ERR min or max not valid string range item");
    check("ZLEXCOUNT z a b", "-ERR min or max not valid string range item");
    check(
        "ZRANGEBYLEX z [a [b WITHSCORES",
        "-ERR syntax error, WITHSCORES not supported in combination with BYLEX",
    );
    check(
        "ZRANGE z [a [b BYLEX WITHSCORES",
        "-ERR syntax error, WITHSCORES not supported in combination with BYLEX",
    );
    check(
        "ZRANGE z a b BYLEX WITHSCORES",
        "-ERR syntax error, WITHSCORES not supported in combination with BYLEX",
    );
    check("ZRANGE z a b BYLEX LIMIT 0 1", "-ERR min or max not valid string range item");
    check("ZREVRANGEBYLEX z - + BYLEX", "-ERR syntax error");
}

#[test]
fn counts() {
    check(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZCOUNT z 2 4 | ZCOUNT z (2 4 | ZCOUNT z 4 2 | ZCOUNT z -inf inf | ZCOUNT z (-inf (3 | ZCOUNT z 9 10 | ZCOUNT z 3 3 | ZCOUNT z (3 (4",
        ":5 | :3 | :2 | :0 | :5 | :2 | :0 | :1 | :0",
    );
    check("ZCOUNT z a 1", "-ERR min or max is not a float");
    check("ZCOUNT z 1 nan", "-ERR min or max is not a float");
}

#[test]
fn zrangestore() {
    check3(
        r#"ZADD z -0 "x"*65 -0 a 1 b | ZRANGESTORE d z 0 1 | ZSCORE d a | ZRANGESTORE d z 0 0 BYSCORE | ZSCORE d a"#,
        r#":3 | :2 | "0" | :2 | "0""#,
        ":3 | :2 | ,0 | :2 | ,0",
    );
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZRANGESTORE d z 1 3 | ZRANGE d 0 -1 WITHSCORES | ZRANGESTORE d z 0 0 REV | ZRANGE d 0 -1 WITHSCORES | ZRANGESTORE d z 2 4 BYSCORE LIMIT 1 1 | ZRANGE d 0 -1 | ZRANGESTORE d z 4 2 BYSCORE REV LIMIT 0 2 | ZRANGE d 0 -1 | ZRANGESTORE d z 9 10 | EXISTS d",
        r#":5 | :3 | ["b" "2" "c" "3" "d" "4"] | :1 | ["e" "5"] | :1 | ["c"] | :2 | ["c" "d"] | :0 | :0"#,
        r#":5 | :3 | [["b" ,2] ["c" ,3] ["d" ,4]] | :1 | [["e" ,5]] | :1 | ["c"] | :2 | ["c" "d"] | :0 | :0"#,
    );
    check3(
        r#"ZADD z 0 a 0 b 0 c 0 d 0 aa 0 "" | ZRANGESTORE d z (a [c BYLEX | ZRANGE d 0 -1 WITHSCORES | ZRANGESTORE z z [c + BYLEX | ZRANGE z 0 -1"#,
        r#":6 | :3 | ["aa" "0" "b" "0" "c" "0"] | :2 | ["c" "d"]"#,
        r#":6 | :3 | [["aa" ,0] ["b" ,0] ["c" ,0]] | :2 | ["c" "d"]"#,
    );
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | SET d x EX 100 | ZRANGESTORE d z -2 -1 | TYPE d | TTL d | ZRANGE d 0 -1 WITHSCORES | ZSCORE d e | ZRANGESTORE z z 1 1 | ZRANGE z 0 -1",
        r#":5 | +OK | :2 | +zset | :-1 | ["d" "4" "e" "5"] | "5" | :1 | ["b"]"#,
        r#":5 | +OK | :2 | +zset | :-1 | [["d" ,4] ["e" ,5]] | ,5 | :1 | ["b"]"#,
    );
    check("ZRANGESTORE d z 0 -1 WITHSCORES", "-ERR syntax error");
    check(
        "ZRANGESTORE d z 0 -1 LIMIT 0 1",
        "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
    );
    check("ZRANGESTORE d z a b", "-ERR value is not an integer or out of range");
    check("SET d x | ZRANGESTORE d z 0 -1 FOO | GET d", r#"+OK | -ERR syntax error | "x""#);
    check(
        "SET s x | SET d y | ZRANGESTORE d s 0 -1 | GET d",
        r#"+OK | +OK | -WRONGTYPE Operation against a key holding the wrong kind of value | "y""#,
    );
    check(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZRANGESTORE d z -inf inf BYSCORE LIMIT -1 5 | EXISTS d",
        ":5 | :0 | :0",
    );
}
