//! Removing members: ZREMRANGEBYRANK to ZMPOP.

use crate::check::{check, check3};

#[test]
fn arity() {
    check("ZREMRANGEBYRANK z 0", "-ERR wrong number of arguments for 'zremrangebyrank' command");
    check("ZREMRANGEBYSCORE z 0", "-ERR wrong number of arguments for 'zremrangebyscore' command");
    check("ZREMRANGEBYLEX z -", "-ERR wrong number of arguments for 'zremrangebylex' command");
    check("ZREMRANGEBYRANK z 0 1 2", "-ERR wrong number of arguments for 'zremrangebyrank' command");
    check("ZPOPMIN", "-ERR wrong number of arguments for 'zpopmin' command");
    check("ZPOPMAX", "-ERR wrong number of arguments for 'zpopmax' command");
    check("ZPOPMIN z 1 2", "-ERR syntax error");
    check("ZMPOP 1 z", "-ERR wrong number of arguments for 'zmpop' command");
    check("ZMPOP", "-ERR wrong number of arguments for 'zmpop' command");
}

#[test]
fn wrong_type() {
    check(
        "SET s x | ZREMRANGEBYRANK s 0 -1 | ZREMRANGEBYSCORE s 0 1 | ZREMRANGEBYLEX s - + | ZPOPMIN s | ZPOPMAX s 2 | ZPOPMIN s 0 | ZMPOP 1 s MIN | ZMPOP 2 missing s MAX | GET s",
        r#"+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | "x""#,
    );
    check(
        "SET s x | ZREMRANGEBYRANK s a b | ZREMRANGEBYSCORE s a b | ZREMRANGEBYLEX s a b | ZPOPMIN s a | ZMPOP 1 s FOO",
        "+OK | -ERR value is not an integer or out of range | -ERR min or max is not a float | -ERR min or max not valid string range item | -ERR value is out of range, must be positive | -ERR syntax error",
    );
}

#[test]
fn missing_key() {
    check3(
        "ZREMRANGEBYRANK z 0 -1 | ZREMRANGEBYSCORE z 0 1 | ZREMRANGEBYLEX z - + | ZPOPMIN z | ZPOPMAX z | ZPOPMIN z 2 | ZPOPMIN z 0 | ZMPOP 1 z MIN | ZMPOP 2 z y MAX COUNT 2",
        ":0 | :0 | :0 | [] | [] | [] | [] | nil[] | nil[]",
        ":0 | :0 | :0 | [] | [] | [] | [] | nil | nil",
    );
}

#[test]
fn by_rank() {
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZREMRANGEBYRANK z 1 2 | ZRANGE z 0 -1 WITHSCORES | ZREMRANGEBYRANK z -1 -1 | ZRANGE z 0 -1 | ZREMRANGEBYRANK z 5 9 | ZREMRANGEBYRANK z 1 0 | ZREMRANGEBYRANK z 0 -1 | EXISTS z",
        r#":5 | :2 | ["a" "1" "d" "4" "e" "5"] | :1 | ["a" "d"] | :0 | :0 | :2 | :0"#,
        r#":5 | :2 | [["a" ,1] ["d" ,4] ["e" ,5]] | :1 | ["a" "d"] | :0 | :0 | :2 | :0"#,
    );
    check(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZREMRANGEBYRANK z -9 9 | EXISTS z | ZADD z 1 x | ZRANGE z 0 -1",
        r#":5 | :5 | :0 | :1 | ["x"]"#,
    );
    check(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZREMRANGEBYRANK z 3 3 | ZRANGE z 0 -1 | ZREMRANGEBYRANK z 0 0 | ZSCORE z a | ZRANK z b | ZCARD z",
        r#":5 | :1 | ["a" "b" "c" "e"] | :1 | nil | :0 | :3"#,
    );
    check("ZREMRANGEBYRANK z a 1", "-ERR value is not an integer or out of range");
    check("ZREMRANGEBYRANK z 0 1.5", "-ERR value is not an integer or out of range");
}

#[test]
fn by_score() {
    check(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZREMRANGEBYSCORE z 2 (4 | ZRANGE z 0 -1 | ZREMRANGEBYSCORE z 9 10 | ZREMRANGEBYSCORE z 5 1 | ZREMRANGEBYSCORE z -inf inf | EXISTS z",
        r#":5 | :2 | ["a" "d" "e"] | :0 | :0 | :3 | :0"#,
    );
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | EXPIRE z 100 | ZREMRANGEBYSCORE z (1 +inf | TTL z | ZRANGE z 0 -1 WITHSCORES | ZMSCORE z a b c d e",
        r#":5 | :1 | :4 | :91..100 | ["a" "1"] | ["1" nil nil nil nil]"#,
        r#":5 | :1 | :4 | :91..100 | [["a" ,1]] | [,1 nil nil nil nil]"#,
    );
    check("ZREMRANGEBYSCORE z a 1", "-ERR min or max is not a float");
    check("ZREMRANGEBYSCORE z 1 nan", "-ERR min or max is not a float");
}

#[test]
fn by_lex() {
    check(
        r#"ZADD z 0 a 0 b 0 c 0 d 0 aa 0 "" | ZREMRANGEBYLEX z (a [b | ZRANGE z 0 -1 | ZREMRANGEBYLEX z + - | ZREMRANGEBYLEX z - + | EXISTS z"#,
        r#":6 | :2 | ["" "a" "c" "d"] | :0 | :4 | :0"#,
    );
    check("ZREMRANGEBYLEX z a b", "-ERR min or max not valid string range item");
    check("ZREMRANGEBYLEX z - b", "-ERR min or max not valid string range item");
}

#[test]
fn zpop() {
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZPOPMIN z | ZPOPMAX z | ZPOPMIN z 2 | ZCARD z | ZPOPMAX z 5 | EXISTS z",
        r#":5 | ["a" "1"] | ["e" "5"] | ["b" "2" "c" "3"] | :1 | ["d" "4"] | :0"#,
        r#":5 | ["a" ,1] | ["e" ,5] | [["b" ,2] ["c" ,3]] | :1 | [["d" ,4]] | :0"#,
    );
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZPOPMIN z 0 | ZPOPMAX z 2 | ZPOPMIN z 99 | ZCARD z | ZPOPMIN z",
        r#":5 | [] | ["e" "5" "d" "4"] | ["a" "1" "b" "2" "c" "3"] | :0 | []"#,
        r#":5 | [] | [["e" ,5] ["d" ,4]] | [["a" ,1] ["b" ,2] ["c" ,3]] | :0 | []"#,
    );
    check3(
        "ZADD z 1 b 1 a 1 c | ZPOPMAX z 2 | ZPOPMIN z 1",
        r#":3 | ["c" "1" "b" "1"] | ["a" "1"]"#,
        r#":3 | [["c" ,1] ["b" ,1]] | [["a" ,1]]"#,
    );
    check3(
        "ZADD z inf a -inf b 1.5 c | ZPOPMIN z 1 | ZPOPMAX z | ZPOPMAX z",
        r#":3 | ["b" "-inf"] | ["a" "inf"] | ["c" "1.5"]"#,
        r#":3 | [["b" ,-inf]] | ["a" ,inf] | ["c" ,1.5]"#,
    );
    check("ZPOPMIN z -1", "-ERR value is out of range, must be positive");
    check("ZPOPMIN z a", "-ERR value is out of range, must be positive");
    check("ZPOPMIN z 1.5", "-ERR value is out of range, must be positive");
    check("ZPOPMAX z 9223372036854775808", "-ERR value is out of range, must be positive");
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZPOPMIN z 9223372036854775807 | EXISTS z",
        r#":5 | ["a" "1" "b" "2" "c" "3" "d" "4" "e" "5"] | :0"#,
        r#":5 | [["a" ,1] ["b" ,2] ["c" ,3] ["d" ,4] ["e" ,5]] | :0"#,
    );
}

#[test]
fn zmpop() {
    check3(
        "ZADD z 1 a 2 b 3 c 4 d 5 e | ZMPOP 1 z MIN | ZMPOP 2 missing z MAX | ZMPOP 1 z MIN COUNT 2 | ZMPOP 1 z max count 10 | EXISTS z",
        r#":5 | ["z" [["a" "1"]]] | ["z" [["e" "5"]]] | ["z" [["b" "2"] ["c" "3"]]] | ["z" [["d" "4"]]] | :0"#,
        r#":5 | ["z" [["a" ,1]]] | ["z" [["e" ,5]]] | ["z" [["b" ,2] ["c" ,3]]] | ["z" [["d" ,4]]] | :0"#,
    );
    check3(
        "ZADD z 1 a | ZADD y 2 b | ZMPOP 3 x y z MIN COUNT 5 | ZMPOP 3 x y z MIN COUNT 5 | ZMPOP 3 x y z MIN COUNT 5",
        r#":1 | :1 | ["y" [["b" "2"]]] | ["z" [["a" "1"]]] | nil[]"#,
        r#":1 | :1 | ["y" [["b" ,2]]] | ["z" [["a" ,1]]] | nil"#,
    );
    check3(
        "SET s x | ZADD z 1 a | ZMPOP 2 z s MIN | ZMPOP 2 z s MIN",
        r#"+OK | :1 | ["z" [["a" "1"]]] | -WRONGTYPE Operation against a key holding the wrong kind of value"#,
        r#"+OK | :1 | ["z" [["a" ,1]]] | -WRONGTYPE Operation against a key holding the wrong kind of value"#,
    );
    check("ZMPOP 0 z MIN", "-ERR numkeys should be greater than 0");
    check("ZMPOP -1 z MIN", "-ERR numkeys should be greater than 0");
    check("ZMPOP a z MIN", "-ERR numkeys should be greater than 0");
    check("ZMPOP 2 z MIN", "-ERR syntax error");
    check("ZMPOP 1 z FOO", "-ERR syntax error");
    check("ZMPOP 1 z MIN COUNT", "-ERR syntax error");
    check("ZMPOP 1 z MIN COUNT 0", "-ERR count should be greater than 0");
    check("ZMPOP 1 z MIN COUNT -1", "-ERR count should be greater than 0");
    check("ZMPOP 1 z MIN COUNT a", "-ERR count should be greater than 0");
    check("ZMPOP 1 z MIN COUNT 1 COUNT 1", "-ERR syntax error");
    check("ZMPOP 1 z MIN FOO 1", "-ERR syntax error");
    check("ZMPOP 9223372036854775807 z MIN", "-ERR syntax error");
    check("ZMPOP 1 z MIN MAX", "-ERR syntax error");
}
