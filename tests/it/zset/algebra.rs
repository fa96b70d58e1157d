//! Unions, intersections and differences of sorted sets.

use crate::check::{check, check3, tarn_only, tarn_only3};

#[test]
fn arity() {
    check("ZUNION 1", "-ERR wrong number of arguments for 'zunion' command");
    check("ZINTER 1", "-ERR wrong number of arguments for 'zinter' command");
    check("ZDIFF 1", "-ERR wrong number of arguments for 'zdiff' command");
    check("ZINTERCARD 1", "-ERR wrong number of arguments for 'zintercard' command");
    check("ZUNIONSTORE d 1", "-ERR wrong number of arguments for 'zunionstore' command");
    check("ZINTERSTORE d 1", "-ERR wrong number of arguments for 'zinterstore' command");
    check("ZDIFFSTORE d 1", "-ERR wrong number of arguments for 'zdiffstore' command");
}

#[test]
fn wrong_type() {
    check(
        "SET s x | ZADD a 1 x | ZUNION 2 a s | ZINTER 2 s a | ZDIFF 2 a s | ZINTERCARD 2 missing s | ZUNIONSTORE d 2 a s | ZINTERSTORE d 2 missing s | ZDIFFSTORE d 2 missing s | EXISTS d",
        "+OK | :1 | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | :0",
    );
    check(
        "SET s x | ZUNION 1 s FOO | ZUNION 1 s WEIGHTS x | ZUNION 0 s | ZUNION 2 s",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -ERR at least 1 input key is needed for 'zunion' command | -ERR syntax error",
    );
}

#[test]
fn missing_keys() {
    check(
        "ZUNION 2 a b | ZINTER 1 a | ZDIFF 2 a b WITHSCORES | ZINTERCARD 2 a b | ZADD d 1 x | ZUNIONSTORE d 1 a | EXISTS d | SET d x | ZINTERSTORE d 2 a b | EXISTS d | SET d x | ZDIFFSTORE d 1 a | EXISTS d",
        "[] | [] | [] | :0 | :1 | :0 | :0 | +OK | :0 | :0 | +OK | :0 | :0",
    );
    check(
        "ZADD a 1 x | ZUNION 2 a b | ZINTER 2 a b | ZDIFF 2 a b | ZDIFF 2 b a | ZINTERCARD 2 a b",
        r#":1 | ["x"] | [] | ["x"] | [] | :0"#,
    );
}

#[test]
fn replies() {
    check3(
        "ZADD a 1 x 2 y 3 z | ZADD b 10 y 20 z 30 w | ZUNION 2 a b | ZUNION 2 a b WITHSCORES | ZINTER 2 a b | ZINTER 2 a b WITHSCORES | ZDIFF 2 a b | ZDIFF 2 a b WITHSCORES | ZDIFF 2 b a WITHSCORES | ZINTERCARD 2 a b",
        r#":3 | :3 | ["x" "y" "z" "w"] | ["x" "1" "y" "12" "z" "23" "w" "30"] | ["y" "z"] | ["y" "12" "z" "23"] | ["x"] | ["x" "1"] | ["w" "30"] | :2"#,
        r#":3 | :3 | ["x" "y" "z" "w"] | [["x" ,1] ["y" ,12] ["z" ,23] ["w" ,30]] | ["y" "z"] | [["y" ,12] ["z" ,23]] | ["x"] | [["x" ,1]] | [["w" ,30]] | :2"#,
    );
    check3(
        "ZADD a 1 x 2 y 3 z | ZADD b 10 y 20 z 30 w | ZUNION 2 a b WITHSCORES WEIGHTS 2 0.5 | ZUNION 2 a b WEIGHTS 1 -1 AGGREGATE MIN WITHSCORES | ZUNION 2 a b AGGREGATE MAX WITHSCORES | ZINTER 2 a b WEIGHTS 10 1 AGGREGATE MIN WITHSCORES | ZINTER 2 a b AGGREGATE SUM WITHSCORES | ZINTER 2 a b aggregate max weights -1 -1 withscores",
        r#":3 | :3 | ["x" "2" "y" "9" "w" "15" "z" "16"] | ["w" "-30" "z" "-20" "y" "-10" "x" "1"] | ["x" "1" "y" "10" "z" "20" "w" "30"] | ["y" "10" "z" "20"] | ["y" "12" "z" "23"] | ["z" "-3" "y" "-2"]"#,
        r#":3 | :3 | [["x" ,2] ["y" ,9] ["w" ,15] ["z" ,16]] | [["w" ,-30] ["z" ,-20] ["y" ,-10] ["x" ,1]] | [["x" ,1] ["y" ,10] ["z" ,20] ["w" ,30]] | [["y" ,10] ["z" ,20]] | [["y" ,12] ["z" ,23]] | [["z" ,-3] ["y" ,-2]]"#,
    );
    check3(
        "ZADD a 1 x 2 y 3 z | ZADD b 10 y 20 z 30 w | ZUNION 1 a WITHSCORES | ZUNION 3 a a a WITHSCORES | ZINTER 3 a b a WITHSCORES | ZDIFF 2 a a | ZDIFF 1 a WITHSCORES | ZINTER 2 a a WEIGHTS 1 2 WITHSCORES",
        r#":3 | :3 | ["x" "1" "y" "2" "z" "3"] | ["x" "3" "y" "6" "z" "9"] | ["y" "14" "z" "26"] | [] | ["x" "1" "y" "2" "z" "3"] | ["x" "3" "y" "6" "z" "9"]"#,
        r#":3 | :3 | [["x" ,1] ["y" ,2] ["z" ,3]] | [["x" ,3] ["y" ,6] ["z" ,9]] | [["y" ,14] ["z" ,26]] | [] | [["x" ,1] ["y" ,2] ["z" ,3]] | [["x" ,3] ["y" ,6] ["z" ,9]]"#,
    );
    check(
        "ZADD a 1 x 2 y 3 z | ZADD b 10 y 20 z 30 w | ZINTERCARD 2 a b LIMIT 1 | ZINTERCARD 2 a b LIMIT 0 | ZINTERCARD 2 a b LIMIT 5 | ZINTERCARD 1 a LIMIT 2 | ZINTERCARD 1 a | ZINTERCARD 2 a a limit 3",
        ":3 | :3 | :1 | :2 | :2 | :2 | :3 | :3",
    );
}

#[test]
fn stores() {
    check3(
        "ZADD a 1 x 2 y 3 z | ZADD b 10 y 20 z 30 w | ZUNIONSTORE d 2 a b | ZRANGE d 0 -1 WITHSCORES | ZINTERSTORE d 2 a b WEIGHTS 1 10 | ZRANGE d 0 -1 WITHSCORES | ZDIFFSTORE d 2 a b | ZRANGE d 0 -1 WITHSCORES | ZSCORE d x | ZRANK d x",
        r#":3 | :3 | :4 | ["x" "1" "y" "12" "z" "23" "w" "30"] | :2 | ["y" "102" "z" "203"] | :1 | ["x" "1"] | "1" | :0"#,
        r#":3 | :3 | :4 | [["x" ,1] ["y" ,12] ["z" ,23] ["w" ,30]] | :2 | [["y" ,102] ["z" ,203]] | :1 | [["x" ,1]] | ,1 | :0"#,
    );
    check3(
        "ZADD a 1 x 2 y 3 z | ZADD b 10 y 20 z 30 w | ZUNIONSTORE a 2 a b AGGREGATE MAX | ZRANGE a 0 -1 WITHSCORES | ZINTERSTORE b 2 b b | ZRANGE b 0 -1 WITHSCORES | ZDIFFSTORE b 2 b a | EXISTS b",
        r#":3 | :3 | :4 | ["x" "1" "y" "10" "z" "20" "w" "30"] | :3 | ["y" "20" "z" "40" "w" "60"] | :0 | :0"#,
        r#":3 | :3 | :4 | [["x" ,1] ["y" ,10] ["z" ,20] ["w" ,30]] | :3 | [["y" ,20] ["z" ,40] ["w" ,60]] | :0 | :0"#,
    );
    check(
        "ZADD a 1 x 2 y 3 z | ZADD b 10 y 20 z 30 w | SET d x EX 100 | ZUNIONSTORE d 1 a | TTL d | TYPE d | EXPIRE d 100 | ZINTERSTORE d 2 a b | TTL d | ZDIFFSTORE d 2 a a | EXISTS d",
        ":3 | :3 | +OK | :3 | :-1 | +zset | :1 | :2 | :-1 | :0 | :0",
    );
    check(
        r#"ZADD a 1 x 2 y 3 z | ZADD b 10 y 20 z 30 w | ZUNIONSTORE d 2 a b | OBJECT ENCODING d | ZADD a 1 "x"*65 | ZUNIONSTORE d 1 a | OBJECT ENCODING d"#,
        r#":3 | :3 | :4 | "listpack" | :1 | :4 | "skiplist""#,
    );
}

#[test]
fn infinities() {
    check3(
        "ZADD a inf x -inf y 1 z | ZADD b -inf x inf y 1 z | ZUNION 2 a b WITHSCORES | ZINTER 2 a b WITHSCORES | ZINTER 2 a b WITHSCORES AGGREGATE MIN | ZUNIONSTORE d 2 a b | ZSCORE d x",
        r#":3 | :3 | ["x" "0" "y" "0" "z" "2"] | ["x" "0" "y" "0" "z" "2"] | ["x" "-inf" "y" "-inf" "z" "1"] | :3 | "0""#,
        r#":3 | :3 | [["x" ,0] ["y" ,0] ["z" ,2]] | [["x" ,0] ["y" ,0] ["z" ,2]] | [["x" ,-inf] ["y" ,-inf] ["z" ,1]] | :3 | ,0"#,
    );
    check3(
        "ZADD a 0 x | ZUNION 1 a WEIGHTS inf WITHSCORES | ZINTER 1 a WEIGHTS inf WITHSCORES | ZUNION 2 a a WEIGHTS inf 1 AGGREGATE MAX WITHSCORES | ZINTER 2 a a WEIGHTS 1 inf AGGREGATE MAX WITHSCORES | ZINTER 2 a a WEIGHTS 1 -inf WITHSCORES",
        r#":1 | ["x" "0"] | ["x" "0"] | ["x" "0"] | ["x" "0"] | ["x" "0"]"#,
        r#":1 | [["x" ,0]] | [["x" ,0]] | [["x" ,0]] | [["x" ,0]] | [["x" ,0]]"#,
    );
    check3(
        "ZADD a 0 x 1 y | ZUNION 1 a WEIGHTS -1 WITHSCORES | ZUNIONSTORE d 1 a WEIGHTS -1 | ZRANGE d 0 -1 WITHSCORES",
        r#":2 | ["y" "-1" "x" "-0"] | :2 | ["y" "-1" "x" "0"]"#,
        r#":2 | [["y" ,-1] ["x" ,-0]] | :2 | [["y" ,-1] ["x" ,0]]"#,
    );
    check3(
        "ZADD a 0.1 x | ZADD b 0.2 x 1 y | ZADD c 0.3 x 1 y 1 z | ZUNION 3 a b c WITHSCORES | ZUNION 3 c b a WITHSCORES | ZINTER 3 c a b WITHSCORES",
        r#":1 | :2 | :3 | ["x" "0.60000000000000009" "z" "1" "y" "2"] | ["x" "0.60000000000000009" "z" "1" "y" "2"] | ["x" "0.60000000000000009"]"#,
        r#":1 | :2 | :3 | [["x" ,0.60000000000000009] ["z" ,1] ["y" ,2]] | [["x" ,0.60000000000000009] ["z" ,1] ["y" ,2]] | [["x" ,0.60000000000000009]]"#,
    );
}

#[test]
fn options() {
    check("ZUNION 0 a", "-ERR at least 1 input key is needed for 'zunion' command");
    check("ZUNION -1 a", "-ERR at least 1 input key is needed for 'zunion' command");
    check("ZUNION a b", "-ERR value is not an integer or out of range");
    check("ZUNION 1.5 a", "-ERR value is not an integer or out of range");
    check("ZUNION 2 a", "-ERR syntax error");
    check("ZUNION 9223372036854775807 a", "-ERR syntax error");
    check("ZUNION 9223372036854775808 a", "-ERR value is not an integer or out of range");
    check("ZINTER 0 a", "-ERR at least 1 input key is needed for 'zinter' command");
    check("ZDIFF 0 a", "-ERR at least 1 input key is needed for 'zdiff' command");
    check("ZINTERCARD 0 a", "-ERR at least 1 input key is needed for 'zintercard' command");
    check("ZUNIONSTORE d 0 a", "-ERR at least 1 input key is needed for 'zunionstore' command");
    check("ZINTERSTORE d 0 a", "-ERR at least 1 input key is needed for 'zinterstore' command");
    check("ZDIFFSTORE d 0 a", "-ERR at least 1 input key is needed for 'zdiffstore' command");
    check("zunion 0 a", "-ERR at least 1 input key is needed for 'zunion' command");
    check("ZUNIONSTORE d 2 a", "-ERR syntax error");
    check("ZUNION 1 a WEIGHTS", "-ERR syntax error");
    check("ZUNION 2 a b WEIGHTS 1", "-ERR syntax error");
    check("ZUNION 1 a WEIGHTS x", "-ERR weight value is not a float");
    check("ZUNION 1 a WEIGHTS nan", "-ERR weight value is not a float");
    check("ZUNION 1 a WEIGHTS 1 1", "-ERR syntax error");
    check("ZUNION 1 a AGGREGATE", "-ERR syntax error");
    check("ZUNION 1 a AGGREGATE FOO", "-ERR syntax error");
    check("ZUNION 1 a FOO", "-ERR syntax error");
    check("ZUNION 1 a WITHSCORES WITHSCORES", "[]");
    check("ZUNION 1 a LIMIT 1", "-ERR syntax error");
    check("ZDIFF 1 a WEIGHTS 1", "-ERR syntax error");
    check("ZDIFF 1 a AGGREGATE SUM", "-ERR syntax error");
    check("ZDIFF 1 a FOO", "-ERR syntax error");
    check("ZINTERCARD 1 a WITHSCORES", "-ERR syntax error");
    check("ZINTERCARD 1 a WEIGHTS 1", "-ERR syntax error");
    check("ZINTERCARD 1 a LIMIT", "-ERR syntax error");
    check("ZINTERCARD 1 a LIMIT -1", "-ERR LIMIT can't be negative");
    check("ZINTERCARD 1 a LIMIT x", "-ERR LIMIT can't be negative");
    check("ZUNIONSTORE d 1 a WITHSCORES", "-ERR syntax error");
    check("ZDIFFSTORE d 1 a WITHSCORES", "-ERR syntax error");
    check("ZUNIONSTORE d 1 a AGGREGATE MIN AGGREGATE MAX", ":0");
}

/// Redis 8.8.
#[test]
fn inputs_are_counted() {
    tarn_only3(
        "ZADD a 1 x 2 y | ZADD b 10 y 20 z | SADD s y | ZUNION 3 a b s AGGREGATE COUNT WITHSCORES | ZINTER 3 a b s aggregate count withscores | ZUNION 2 a b WEIGHTS 2 0.5 AGGREGATE COUNT WITHSCORES",
        r#":2 | :2 | :1 | ["x" "1" "z" "1" "y" "3"] | ["y" "3"] | ["z" "0.5" "x" "2" "y" "2.5"]"#,
        r#":2 | :2 | :1 | [["x" ,1] ["z" ,1] ["y" ,3]] | [["y" ,3]] | [["z" ,0.5] ["x" ,2] ["y" ,2.5]]"#,
    );
    tarn_only(
        "ZADD a inf x 2 y | ZADD b -inf x 20 z | ZUNIONSTORE d 2 a b AGGREGATE COUNT | ZRANGE d 0 -1 | ZINTERSTORE d 2 a b AGGREGATE COUNT | ZCOUNT d 2 2 | ZDIFF 2 a b AGGREGATE COUNT",
        r#":2 | :2 | :3 | ["y" "z" "x"] | :1 | :1 | -ERR syntax error"#,
    );
}
