//! Members by their names: ZADD to ZSCAN.

use crate::check::{check, check3, tarn_only};

#[test]
fn arity() {
    check("ZADD", "-ERR wrong number of arguments for 'zadd' command");
    check("ZADD z", "-ERR wrong number of arguments for 'zadd' command");
    check("ZADD z 1", "-ERR wrong number of arguments for 'zadd' command");
    check("ZADD z NX", "-ERR wrong number of arguments for 'zadd' command");
    check("ZINCRBY z 1", "-ERR wrong number of arguments for 'zincrby' command");
    check("ZINCRBY z 1 a b", "-ERR wrong number of arguments for 'zincrby' command");
    check("ZSCORE z", "-ERR wrong number of arguments for 'zscore' command");
    check("ZSCORE z a b", "-ERR wrong number of arguments for 'zscore' command");
    check("ZMSCORE z", "-ERR wrong number of arguments for 'zmscore' command");
    check("ZCARD", "-ERR wrong number of arguments for 'zcard' command");
    check("ZCARD z a", "-ERR wrong number of arguments for 'zcard' command");
    check("ZREM z", "-ERR wrong number of arguments for 'zrem' command");
    check("ZRANK z", "-ERR wrong number of arguments for 'zrank' command");
    check("ZREVRANK z", "-ERR wrong number of arguments for 'zrevrank' command");
    check("ZRANDMEMBER", "-ERR wrong number of arguments for 'zrandmember' command");
    check("ZSCAN z", "-ERR wrong number of arguments for 'zscan' command");
}

#[test]
fn wrong_type() {
    check(
        "SET s x | ZADD s 1 a | ZADD s XX 1 a | ZINCRBY s 1 a | ZSCORE s a | ZMSCORE s a b | ZCARD s | ZREM s a | ZRANK s a | ZREVRANK s a | ZRANDMEMBER s | ZRANDMEMBER s 2 | ZSCAN s 0 | GET s",
        r#"+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | "x""#,
    );
    check(
        "SET s x | ZADD s x a | ZADD s 1 a 2 | ZINCRBY s x a | ZRANDMEMBER s x | ZSCAN s x",
        "+OK | -ERR value is not a valid float | -ERR syntax error | -ERR value is not a valid float | -ERR value is not an integer or out of range | -ERR invalid cursor",
    );
}

#[test]
fn missing_key() {
    check(
        "ZSCORE z a | ZMSCORE z a b | ZCARD z | ZREM z a | ZRANK z a | ZREVRANK z a | ZRANDMEMBER z | ZRANDMEMBER z 2 | ZRANDMEMBER z -2 WITHSCORES | ZSCAN z 0 | EXISTS z",
        r#"nil | [nil nil] | :0 | :0 | nil | nil | nil | [] | [] | ["0" []] | :0"#,
    );
    check("ZADD z XX 1 a | ZADD z XX INCR 1 a | ZADD z XX CH 1 a | EXISTS z", ":0 | nil | :0 | :0");
}

#[test]
fn zadd() {
    check3(
        "ZADD z 1 a | ZADD z 1 a | ZADD z 2 a | ZSCORE z a | TYPE z | ZCARD z",
        r#":1 | :0 | :0 | "2" | +zset | :1"#,
        ":1 | :0 | :0 | ,2 | +zset | :1",
    );
    check3(
        "ZADD z 1 a 2 b 3 c | ZCARD z | ZADD z 5 a 4 d | ZRANGE z 0 -1 WITHSCORES",
        r#":3 | :3 | :1 | ["b" "2" "c" "3" "d" "4" "a" "5"]"#,
        r#":3 | :3 | :1 | [["b" ,2] ["c" ,3] ["d" ,4] ["a" ,5]]"#,
    );
    check3("ZADD z 1 a 2 a 3 a | ZRANGE z 0 -1 WITHSCORES", r#":1 | ["a" "3"]"#, r#":1 | [["a" ,3]]"#);
    check("ZADD z CH 1 a 2 a 2 a | ZADD z CH 3 a 4 b 2 c", ":2 | :3");
    check3(
        r#"ZADD z 1 "" 2 "\x00\xff\r\n" | ZRANGE z 0 -1 WITHSCORES | ZSCORE z "" | ZSCORE z "\x00\xff\r\n" | ZSCORE z "\x00""#,
        r#":2 | ["" "1" "\x00\xff\r\n" "2"] | "1" | "2" | nil"#,
        r#":2 | [["" ,1] ["\x00\xff\r\n" ,2]] | ,1 | ,2 | nil"#,
    );
    check(r#"ZADD "" 1 a | ZCARD "" | ZRANGE "" 0 -1"#, r#":1 | :1 | ["a"]"#);
    check3(
        "ZADD z 1 a | EXPIRE z 100 | ZADD z 2 b | TTL z | ZINCRBY z 1 b | TTL z | ZREM z a | TTL z",
        r#":1 | :1 | :1 | :91..100 | "3" | :91..100 | :1 | :91..100"#,
        ":1 | :1 | :1 | :91..100 | ,3 | :91..100 | :1 | :91..100",
    );
}

#[test]
fn zadd_options() {
    check3(
        "ZADD z NX 1 a | ZADD z NX 2 a 3 b | ZRANGE z 0 -1 WITHSCORES",
        r#":1 | :1 | ["a" "1" "b" "3"]"#,
        r#":1 | :1 | [["a" ,1] ["b" ,3]]"#,
    );
    check3(
        "ZADD z 1 a | ZADD z XX 2 a 3 b | ZADD z XX CH 3 a 3 b | ZRANGE z 0 -1 WITHSCORES",
        r#":1 | :0 | :1 | ["a" "3"]"#,
        r#":1 | :0 | :1 | [["a" ,3]]"#,
    );
    check3(
        "ZADD z 5 a | ZADD z GT 4 a 1 b | ZADD z GT CH 6 a 0 b | ZADD z GT CH 6 a | ZRANGE z 0 -1 WITHSCORES",
        r#":1 | :1 | :1 | :0 | ["b" "1" "a" "6"]"#,
        r#":1 | :1 | :1 | :0 | [["b" ,1] ["a" ,6]]"#,
    );
    check3(
        "ZADD z 5 a | ZADD z LT 6 a 1 b | ZADD z LT CH 4 a 2 b | ZRANGE z 0 -1 WITHSCORES",
        r#":1 | :1 | :1 | ["b" "1" "a" "4"]"#,
        r#":1 | :1 | :1 | [["b" ,1] ["a" ,4]]"#,
    );
    check("ZADD z 5 a | ZADD z XX GT CH 6 a 1 b | ZADD z XX LT CH 5 a | ZCARD z", ":1 | :1 | :1 | :1");
    check3(
        "ZADD z INCR 2 a | ZADD z INCR 2.5 a | ZADD z NX INCR 1 a | ZADD z XX INCR 1 b | ZADD z XX INCR 1 a | ZADD z GT INCR -1 a | ZADD z GT INCR 0 a | ZADD z LT INCR -1 a | ZADD z INCR 0 a | ZADD z CH INCR 1 a",
        r#""2" | "4.5" | nil | nil | "5.5" | nil | nil | "4.5" | "4.5" | "5.5""#,
        ",2 | ,4.5 | nil | nil | ,5.5 | nil | nil | ,4.5 | ,4.5 | ,5.5",
    );
    check3("ZADD z nx ch 1 a | zadd z xx incr 1 a", r#":1 | "2""#, ":1 | ,2");
    check("ZADD z NX XX 1 a", "-ERR XX and NX options at the same time are not compatible");
    check("ZADD z NX XX x a", "-ERR XX and NX options at the same time are not compatible");
    check("ZADD z GT NX 1 a", "-ERR GT, LT, and/or NX options at the same time are not compatible");
    check("ZADD z LT NX 1 a", "-ERR GT, LT, and/or NX options at the same time are not compatible");
    check("ZADD z GT LT 1 a", "-ERR GT, LT, and/or NX options at the same time are not compatible");
    check("ZADD z GT LT NX XX 1 a", "-ERR XX and NX options at the same time are not compatible");
    check("ZADD z INCR 1 a 2 b", "-ERR INCR option supports a single increment-element pair");
    check("ZADD z 1 a 2", "-ERR syntax error");
    check("ZADD z NX CH 1", "-ERR syntax error");
    check("ZADD z FOO 1 a 2", "-ERR value is not a valid float");
    check("ZADD z FOO 1", "-ERR value is not a valid float");
    check("ZADD z 1 a x b | EXISTS z", "-ERR value is not a valid float | :0");
    check("ZADD z NX XX | ZADD z CH NX", "-ERR syntax error | -ERR syntax error");
}

#[test]
fn scores() {
    check3(
        "ZADD z inf a -inf b +inf c Infinity d | ZRANGE z 0 -1 WITHSCORES",
        r#":4 | ["b" "-inf" "a" "inf" "c" "inf" "d" "inf"]"#,
        r#":4 | [["b" ,-inf] ["a" ,inf] ["c" ,inf] ["d" ,inf]]"#,
    );
    check3(
        "ZADD z 0x10 a 0x1p-2 b 1e3 c .5 d 5. e +7 f | ZRANGE z 0 -1 WITHSCORES",
        r#":6 | ["b" "0.25" "d" "0.5" "e" "5" "f" "7" "a" "16" "c" "1000"]"#,
        r#":6 | [["b" ,0.25] ["d" ,0.5] ["e" ,5] ["f" ,7] ["a" ,16] ["c" ,1000]]"#,
    );
    check("ZADD z nan a", "-ERR value is not a valid float");
    check("ZADD z -nan a", "-ERR value is not a valid float");
    check("ZADD z 1e400 a", "-ERR value is not a valid float");
    check("ZADD z 1e-400 a", "-ERR value is not a valid float");
    check("ZADD z 0x a", "-ERR value is not a valid float");
    check(r#"ZADD z "" a"#, "-ERR value is not a valid float");
    check(r#"ZADD z " 1" a"#, "-ERR value is not a valid float");
    check(r#"ZADD z "1 " a"#, "-ERR value is not a valid float");
    check(r#"ZADD z "1\x00" a"#, "-ERR value is not a valid float");
    check("ZADD z 1_0 a", "-ERR value is not a valid float");
    check3(
        "ZADD z 0.1 a 1.1 b 3.0 c 1e17 d 1e16 e 123456789012345678 f -1.5e-7 g 4.9e-324 h 1.7976931348623157e308 i | ZMSCORE z a b c d e f g h i",
        r#":9 | ["0.10000000000000001" "1.1000000000000001" "3" "1e+17" "10000000000000000" "1.2345678901234568e+17" "-1.4999999999999999e-07" "4.9406564584124654e-324" "1.7976931348623157e+308"]"#,
        ":9 | [,0.10000000000000001 ,1.1000000000000001 ,3 ,1e+17 ,10000000000000000 ,1.2345678901234568e+17 ,-1.4999999999999999e-07 ,4.9406564584124654e-324 ,1.7976931348623157e+308]",
    );
    check3(
        "ZADD z 9007199254740993 a 0.30000000000000004 b 100 c 1000000000000000000000 d -5 e 1e-5 f 0.0001 g | ZRANGE z 0 -1 WITHSCORES",
        r#":7 | ["e" "-5" "f" "1.0000000000000001e-05" "g" "0.0001" "b" "0.30000000000000004" "c" "100" "a" "9007199254740992" "d" "1e+21"]"#,
        r#":7 | [["e" ,-5] ["f" ,1.0000000000000001e-05] ["g" ,0.0001] ["b" ,0.30000000000000004] ["c" ,100] ["a" ,9007199254740992] ["d" ,1e+21]]"#,
    );
    check3(
        "ZADD z -0 a 0 b -0.0 c | ZRANGE z 0 -1 WITHSCORES | ZADD z CH -0 b | ZINCRBY z -0 d | ZSCORE z d",
        r#":3 | ["a" "0" "b" "0" "c" "0"] | :0 | "-0" | "0""#,
        r#":3 | [["a" ,0] ["b" ,0] ["c" ,0]] | :0 | ,-0 | ,0"#,
    );
    check3(
        r#"ZADD z -0 "x"*65 -0 a 0 b -0 c 0 d | ZMSCORE z a b c d "x"*65 | ZRANGE z 0 -1 | ZADD z CH 0 a | ZSCORE z a | ZADD z 5 a | ZADD z -0 a | ZSCORE z a | ZRANGEBYSCORE z 0 0 WITHSCORES | ZRANGEBYSCORE z -0 (0"#,
        r#":5 | ["-0" "0" "-0" "0" "-0"] | ["a" "b" "c" "d" "x"*65] | :0 | "-0" | :0 | :0 | "-0" | ["a" "-0" "b" "0" "c" "-0" "d" "0" "x"*65 "-0"] | []"#,
        r#":5 | [,-0 ,0 ,-0 ,0 ,-0] | ["a" "b" "c" "d" "x"*65] | :0 | ,-0 | :0 | :0 | ,-0 | [["a" ,-0] ["b" ,0] ["c" ,-0] ["d" ,0] ["x"*65 ,-0]] | []"#,
    );
    check("ZADD z 2 b 2 a 2 c 1 z | ZRANGE z 0 -1", r#":4 | ["z" "a" "b" "c"]"#);
}

#[test]
fn zincrby() {
    check3(
        "ZINCRBY z 2 a | ZINCRBY z -0.5 a | ZINCRBY z 1e300 a | ZSCORE z a",
        r#""2" | "1.5" | "1.0000000000000001e+300" | "1.0000000000000001e+300""#,
        ",2 | ,1.5 | ,1.0000000000000001e+300 | ,1.0000000000000001e+300",
    );
    check3(
        "ZADD z inf a | ZINCRBY z 1 a | ZINCRBY z -inf a | ZSCORE z a | ZADD z INCR -inf a | ZINCRBY z inf a",
        r#":1 | "inf" | -ERR resulting score is not a number (NaN) | "inf" | -ERR resulting score is not a number (NaN) | "inf""#,
        ":1 | ,inf | -ERR resulting score is not a number (NaN) | ,inf | -ERR resulting score is not a number (NaN) | ,inf",
    );
    check3(
        "ZINCRBY z inf a | ZINCRBY z -inf b | ZRANGE z 0 -1 WITHSCORES",
        r#""inf" | "-inf" | ["b" "-inf" "a" "inf"]"#,
        r#",inf | ,-inf | [["b" ,-inf] ["a" ,inf]]"#,
    );
    check("ZINCRBY z x a", "-ERR value is not a valid float");
    check("ZINCRBY z nan a", "-ERR value is not a valid float");
    check3("ZADD z 1.7e308 a | ZINCRBY z 1.7e308 a", r#":1 | "inf""#, ":1 | ,inf");
    check3(
        "ZADD z 0.1 a | ZINCRBY z 0.2 a | ZSCORE z a | ZINCRBY z 0 a",
        r#":1 | "0.30000000000000004" | "0.30000000000000004" | "0.30000000000000004""#,
        ":1 | ,0.30000000000000004 | ,0.30000000000000004 | ,0.30000000000000004",
    );
}

#[test]
fn zscore_zmscore_zcard() {
    check3(
        "ZADD z 1 a 2.5 b | ZSCORE z a | ZSCORE z b | ZSCORE z c | ZMSCORE z a c b a | ZCARD z",
        r#":2 | "1" | "2.5" | nil | ["1" nil "2.5" "1"] | :2"#,
        ":2 | ,1 | ,2.5 | nil | [,1 nil ,2.5 ,1] | :2",
    );
    check3(
        "ZADD z 1 a | ZMSCORE z a a a a a a a a a a a a a a a a a x | ZMSCORE z x",
        r#":1 | ["1" "1" "1" "1" "1" "1" "1" "1" "1" "1" "1" "1" "1" "1" "1" "1" "1" nil] | [nil]"#,
        ":1 | [,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 ,1 nil] | [nil]",
    );
}

#[test]
fn zrem() {
    check(
        "ZADD z 1 a 2 b 3 c | ZREM z a x a | ZCARD z | ZRANGE z 0 -1 | ZREM z b c | EXISTS z | ZREM z b",
        r#":3 | :1 | :2 | ["b" "c"] | :2 | :0 | :0"#,
    );
    check3(
        "ZADD z 1 a | ZREM z a | ZADD z 2 b | ZRANGE z 0 -1 WITHSCORES | ZCOUNT z -inf +inf",
        r#":1 | :1 | :1 | ["b" "2"] | :1"#,
        r#":1 | :1 | :1 | [["b" ,2]] | :1"#,
    );
}

#[test]
fn zrank() {
    check(
        "ZADD z 1 a 2 b 2 c 3 d | ZRANK z a | ZRANK z b | ZRANK z c | ZRANK z d | ZRANK z x | ZREVRANK z a | ZREVRANK z c | ZREVRANK z d | ZREVRANK z x",
        ":4 | :0 | :1 | :2 | :3 | nil | :3 | :1 | :0 | nil",
    );
}

#[test]
fn zrandmember() {
    check3(
        "ZADD z 1.5 a | ZRANDMEMBER z | ZRANDMEMBER z 3 | ZRANDMEMBER z -3 | ZRANDMEMBER z 1 WITHSCORES | ZRANDMEMBER z -2 withscores | ZRANDMEMBER z 0 | ZRANDMEMBER z 0 WITHSCORES",
        r#":1 | "a" | ["a"] | ["a" "a" "a"] | ["a" "1.5"] | ["a" "1.5" "a" "1.5"] | [] | []"#,
        r#":1 | "a" | ["a"] | ["a" "a" "a"] | [["a" ,1.5]] | [["a" ,1.5] ["a" ,1.5]] | [] | []"#,
    );
    check("ZRANDMEMBER z x", "-ERR value is not an integer or out of range");
    check("ZRANDMEMBER z 1 FOO", "-ERR syntax error");
    check("ZRANDMEMBER z x FOO", "-ERR value is not an integer or out of range");
    check("ZRANDMEMBER z 1 WITHSCORES x", "-ERR syntax error");
    check(
        "ZRANDMEMBER z -9223372036854775808",
        "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
    );
    check("ZRANDMEMBER z -9223372036854775807", "[]");
    check("ZRANDMEMBER z 4611686018427387904 WITHSCORES", "-ERR value is out of range");
    check("ZRANDMEMBER z 4611686018427387903 WITHSCORES", "[]");
    check("ZRANDMEMBER z -4611686018427387904 WITHSCORES", "-ERR value is out of range");
    check("ZRANDMEMBER z 9223372036854775808", "-ERR value is not an integer or out of range");
}

#[test]
fn zscan() {
    check(
        r#"ZADD z 1e17 a | ZSCAN z 0 | ZADD z 1 "x"*65 | ZSCAN z 0 COUNT 100 MATCH a | ZADD y 5e18 a | ZSCAN y 0"#,
        r#":1 | ["0" ["a" "100000000000000000"]] | :1 | ["0" ["a" "1e+17"]] | :1 | ["0" ["a" "5e+18"]]"#,
    );
    check(
        "ZADD z 1.5 a | ZSCAN z 0 | ZSCAN z 0 COUNT 1 MATCH a | ZSCAN z 0 MATCH b* | ZSCAN z 77",
        r#":1 | ["0" ["a" "1.5"]] | ["0" ["a" "1.5"]] | ["0" []] | ["0" ["a" "1.5"]]"#,
    );
    check(
        r#"ZADD z inf a | ZSCAN z 0 | ZADD y -0 "x"*65 | ZSCAN y 0 COUNT 100"#,
        r#":1 | ["0" ["a" "inf"]] | :1 | ["0" ["x"*65 "-0"]]"#,
    );
    check(
        "ZADD z 1 a | ZSCAN z x | ZSCAN z 0 COUNT 0 | ZSCAN z 0 COUNT x | ZSCAN z 0 FOO | ZSCAN z 0 COUNT | ZSCAN z 0 MATCH",
        ":1 | -ERR invalid cursor | -ERR syntax error | -ERR value is not an integer or out of range | -ERR syntax error | -ERR syntax error | -ERR syntax error",
    );
    check("ZSCAN z x | ZSCAN z 0 FOO", r#"-ERR invalid cursor | ["0" []]"#);
    check(
        "ZADD z 0.1 a 1e20 b | ZSCAN z 0 MATCH b | ZSCAN z 0 MATCH a",
        r#":2 | ["0" ["b" "1e+20"]] | ["0" ["a" "0.10000000000000001"]]"#,
    );
}

#[test]
fn encoding() {
    check(
        r#"ZADD z 1 a | OBJECT ENCODING z | ZADD z 1 "x"*64 | OBJECT ENCODING z | ZADD z 1 "x"*65 | OBJECT ENCODING z | ZREM z "x"*65 | OBJECT ENCODING z"#,
        r#":1 | "listpack" | :1 | "listpack" | :1 | "skiplist" | :1 | "skiplist""#,
    );
}

#[test]
fn expired() {
    check(
        "ZADD z 1 a 2 b | PEXPIRE z 1 | !time 20 | ZCARD z | ZRANGE z 0 -1 | ZSCORE z a | ZADD z 3 c | ZRANGE z 0 -1 | TTL z",
        r#":2 | :1 | none | :0 | [] | nil | :1 | ["c"] | :-1"#,
    );
    check3(
        "ZADD z 1 a | PEXPIRE z 1 | !time 20 | ZADD z XX 5 a | ZINCRBY z 5 a | ZCOUNT z -inf inf",
        r#":1 | :1 | none | :0 | "5" | :1"#,
        ":1 | :1 | none | :0 | ,5 | :1",
    );
}

#[test]
fn other_names() {
    check3(
        "ZADD z 1 a 2 b | RENAME z y | ZRANGE y 0 -1 WITHSCORES | ZRANGEBYSCORE y 2 2 | EXISTS z | COPY y z | ZADD y 3 c | ZRANGE z 0 -1 | ZRANK z b | MOVE z 1 | SELECT 1 | ZREVRANGE z 0 -1 WITHSCORES | ZREMRANGEBYSCORE z 1 1 | ZSCORE z a | SELECT 0 | ZCARD y",
        r#":2 | +OK | ["a" "1" "b" "2"] | ["b"] | :0 | :1 | :1 | ["a" "b"] | :1 | :1 | +OK | ["b" "2" "a" "1"] | :1 | nil | +OK | :3"#,
        r#":2 | +OK | [["a" ,1] ["b" ,2]] | ["b"] | :0 | :1 | :1 | ["a" "b"] | :1 | :1 | +OK | [["b" ,2] ["a" ,1]] | :1 | nil | +OK | :3"#,
    );
    check(
        "ZADD z 1 a | SET z x | GET z | ZSCORE z a | DEL z | ZADD z 2 b | ZRANGE z 0 -1",
        r#":1 | +OK | "x" | -WRONGTYPE Operation against a key holding the wrong kind of value | :1 | :1 | ["b"]"#,
    );
}

/// Of Redis 7.2.
#[test]
fn zrank_with_score() {
    tarn_only(
        "ZADD z 1 a 2.5 b | ZRANK z b FOO | ZRANK z b WITHSCORE x",
        ":2 | -ERR syntax error | -ERR wrong number of arguments for 'zrank' command",
    );
    tarn_only(
        "ZREVRANK z a WITHSCORE x y | ZRANK z a WITHSCORE | ZREVRANK z a withscore",
        "-ERR wrong number of arguments for 'zrevrank' command | nil[] | nil[]",
    );
    tarn_only(
        "SET z x | ZRANK z a WITHSCORE",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
}

/// Valkey 8.0.
#[test]
fn scores_are_left_out_of_scans() {
    tarn_only(
        "ZADD z 1 a 2 b | ZSCAN z 0 NOSCORES | ZSCAN z 0 COUNT 10 noscores MATCH a | ZSCAN z 0 NOVALUES | ZSCAN none 0 NOSCORES | SADD s a | SSCAN s 0 NOSCORES",
        r#":2 | ["0" ~["a" "b"]] | ["0" ["a"]] | -ERR syntax error | ["0" []] | :1 | -ERR syntax error"#,
    );
}
