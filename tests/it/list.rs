//! Lists: LPUSH to LMPOP.

use crate::check::{check, tarn_only};

#[test]
fn arity() {
    check("LPUSH", "-ERR wrong number of arguments for 'lpush' command");
    check("LPUSH k", "-ERR wrong number of arguments for 'lpush' command");
    check("RPUSH", "-ERR wrong number of arguments for 'rpush' command");
    check("RPUSH k", "-ERR wrong number of arguments for 'rpush' command");
    check("LPUSHX k", "-ERR wrong number of arguments for 'lpushx' command");
    check("RPUSHX k", "-ERR wrong number of arguments for 'rpushx' command");
    check("LPOP", "-ERR wrong number of arguments for 'lpop' command");
    check("LPOP k 1 2", "-ERR wrong number of arguments for 'lpop' command");
    check("LPOP k 1 2 3", "-ERR wrong number of arguments for 'lpop' command");
    check("RPOP", "-ERR wrong number of arguments for 'rpop' command");
    check("RPOP k 1 2", "-ERR wrong number of arguments for 'rpop' command");
    check("LLEN", "-ERR wrong number of arguments for 'llen' command");
    check("LLEN a b", "-ERR wrong number of arguments for 'llen' command");
    check("LINDEX k", "-ERR wrong number of arguments for 'lindex' command");
    check("LINDEX k 0 1", "-ERR wrong number of arguments for 'lindex' command");
    check("LRANGE k 0", "-ERR wrong number of arguments for 'lrange' command");
    check("LRANGE k 0 1 2", "-ERR wrong number of arguments for 'lrange' command");
    check("LSET k 0", "-ERR wrong number of arguments for 'lset' command");
    check("LSET k 0 v w", "-ERR wrong number of arguments for 'lset' command");
    check("LINSERT k BEFORE p", "-ERR wrong number of arguments for 'linsert' command");
    check("LINSERT k BEFORE p v w", "-ERR wrong number of arguments for 'linsert' command");
    check("LREM k 0", "-ERR wrong number of arguments for 'lrem' command");
    check("LREM k 0 v w", "-ERR wrong number of arguments for 'lrem' command");
    check("LTRIM k 0", "-ERR wrong number of arguments for 'ltrim' command");
    check("LTRIM k 0 1 2", "-ERR wrong number of arguments for 'ltrim' command");
    check("LPOS", "-ERR wrong number of arguments for 'lpos' command");
    check("LPOS k", "-ERR wrong number of arguments for 'lpos' command");
    check("LMOVE a b LEFT", "-ERR wrong number of arguments for 'lmove' command");
    check("LMOVE a b LEFT RIGHT x", "-ERR wrong number of arguments for 'lmove' command");
    check("RPOPLPUSH a", "-ERR wrong number of arguments for 'rpoplpush' command");
    check("RPOPLPUSH a b c", "-ERR wrong number of arguments for 'rpoplpush' command");
    check("LMPOP", "-ERR wrong number of arguments for 'lmpop' command");
    check("LMPOP 1", "-ERR wrong number of arguments for 'lmpop' command");
    check("LMPOP 1 k", "-ERR wrong number of arguments for 'lmpop' command");
}

#[test]
fn wrong_type() {
    check(
        "SET s x | LPUSH s a | RPUSH s a | LPUSHX s a | RPUSHX s a | GET s",
        r#"+OK | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | "x""#,
    );
    check(
        "SET s x | LPOP s | RPOP s | LPOP s 1 | RPOP s 0 | LPOP s x",
        "+OK | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | -ERR value is out of range, must be positive",
    );
    check(
        "SET s x | LLEN s | LINDEX s 0 | LINDEX s x | LRANGE s 0 -1 | LRANGE s x 1",
        "+OK | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | -ERR value is not an integer or out of range",
    );
    check(
        "SET s x | LSET s 0 v | LSET s x v | LINSERT s BEFORE a b | LINSERT s x a b | LREM s 0 a | LREM s x a",
        "+OK | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | -ERR syntax error | -WRONGTYPE ... | -ERR value is not an integer or out of range",
    );
    check(
        "SET s x | LTRIM s 0 1 | LTRIM s a 1 | LPOS s a | LPOS s a RANK 0 | LPOS s a COUNT 1",
        "+OK | -WRONGTYPE ... | -ERR value is not an integer or out of range | -WRONGTYPE ... | -ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list | -WRONGTYPE ...",
    );
    check(
        "SET s x | LMOVE s d LEFT LEFT | RPOPLPUSH s d | LMOVE missing s LEFT LEFT | RPOPLPUSH missing s | LMOVE s s LEFT RIGHT",
        "+OK | -WRONGTYPE ... | -WRONGTYPE ... | nil | nil | -WRONGTYPE ...",
    );
    check(
        "SET s x | RPUSH l a | LMOVE l s LEFT LEFT | RPOPLPUSH l s | LRANGE l 0 -1 | GET s",
        r#"+OK | :1 | -WRONGTYPE ... | -WRONGTYPE ... | ["a"] | "x""#,
    );
    check(
        "SET s x | LMPOP 1 s LEFT | LMPOP 2 missing s LEFT | RPUSH l a | LMPOP 2 l s LEFT | LMPOP 2 l s LEFT",
        r#"+OK | -WRONGTYPE ... | -WRONGTYPE ... | :1 | ["l" ["a"]] | -WRONGTYPE ..."#,
    );
    check(
        "RPUSH l a | GET l | APPEND l x | INCR l | SETBIT l 0 1 | STRLEN l",
        ":1 | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ... | -WRONGTYPE ...",
    );
    check("RPUSH l a | SET l x | TYPE l | GET l", r#":1 | +OK | +string | "x""#);
}

#[test]
fn push_and_pop() {
    check(
        "LPUSH l a | LPUSH l b c | RPUSH l d e | LRANGE l 0 -1 | TYPE l | OBJECT ENCODING l | LLEN l",
        r#":1 | :3 | :5 | ["c" "b" "a" "d" "e"] | +list | "quicklist" | :5"#,
    );
    check(
        "LPUSH l a | LPUSHX l b c | RPUSHX l d e | LRANGE l 0 -1",
        r#":1 | :3 | :5 | ["c" "b" "a" "d" "e"]"#,
    );
    check("LPUSHX missing a | RPUSHX missing a b | EXISTS missing", ":0 | :0 | :0");
    check(
        "RPUSH l a b c d | LPOP l | RPOP l | LRANGE l 0 -1 | LPOP l | LPOP l | LPOP l | EXISTS l | TYPE l",
        r#":4 | "a" | "d" | ["b" "c"] | "b" | "c" | nil | :0 | +none"#,
    );
    check(
        "RPUSH l a b c d e | LPOP l 2 | RPOP l 2 | LRANGE l 0 -1 | LPOP l 5 | EXISTS l | LPOP l 1",
        r#":5 | ["a" "b"] | ["e" "d"] | ["c"] | ["c"] | :0 | nil[]"#,
    );
    check(
        "RPUSH l a b c | LPOP l 0 | RPOP l 0 | LLEN l | LPOP l 9223372036854775807 | EXISTS l",
        r#":3 | [] | [] | :3 | ["a" "b" "c"] | :0"#,
    );
    check(
        "LPOP missing | RPOP missing | LPOP missing 1 | RPOP missing 0 | LPOP missing 5",
        "nil | nil | nil[] | nil[] | nil[]",
    );
    check(
        r#"LPOP l -1 | LPOP l x | RPOP l 9223372036854775808 | LPOP l 1.5 | RPOP l """#,
        "-ERR value is out of range, must be positive | -ERR value is out of range, must be positive | -ERR value is out of range, must be positive | -ERR value is out of range, must be positive | -ERR value is out of range, must be positive",
    );
    check(
        "RPUSH l a | LPOP l -1 | LPOP l x | RPOP l -9223372036854775808 | LLEN l",
        ":1 | -ERR value is out of range, must be positive | -ERR value is out of range, must be positive | -ERR value is out of range, must be positive | :1",
    );
    check(
        r#"RPUSH l "" "\x00\xff\r\n" 1 -1 007 1.5 | LRANGE l 0 -1 | LPOP l | LPOP l | LPOP l | LPOP l | LPOP l | LPOP l | EXISTS l"#,
        r#":6 | ["" "\x00\xff\r\n" "1" "-1" "007" "1.5"] | "" | "\x00\xff\r\n" | "1" | "-1" | "007" | "1.5" | :0"#,
    );
    check(
        "RPUSH l a a a | LRANGE l 0 -1 | LLEN l | RPOP l 2 | LRANGE l 0 -1",
        r#":3 | ["a" "a" "a"] | :3 | ["a" "a"] | ["a"]"#,
    );
    check(r#"RPUSH "" a | LRANGE "" 0 -1 | RPOP "" | EXISTS """#, r#":1 | ["a"] | "a" | :0"#);
    check(
        r#"RPUSH l "x"*5000 "y"*100000 | LLEN l | LINDEX l 0 | LINDEX l 1 | LPOP l | RPOP l | EXISTS l"#,
        r#":2 | :2 | "x"*5000 | "y"*100000 | "x"*5000 | "y"*100000 | :0"#,
    );
    check(
        "RPUSH l a b | EXPIRE l 1000 | RPUSH l c | LPOP l | PERSIST l | LRANGE l 0 -1",
        r#":2 | :1 | :3 | "a" | :1 | ["b" "c"]"#,
    );
    check(
        "RPUSH l a b | PEXPIREAT l 1 | EXISTS l | LPOP l | RPUSH l c | LRANGE l 0 -1 | PTTL l",
        r#":2 | :1 | :0 | nil | :1 | ["c"] | :-1"#,
    );
    check("RPUSH l a | EXPIRE l 1000 | LPOP l | RPUSH l b | TTL l", r#":1 | :1 | "a" | :1 | :-1"#);
    check(
        "LPUSH l 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 | LRANGE l 0 -1 | RPOP l 17 | LRANGE l 0 -1",
        r#":20 | ["20" "19" "18" "17" "16" "15" "14" "13" "12" "11" "10" "9" "8" "7" "6" "5" "4" "3" "2" "1"] | ["1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14" "15" "16" "17"] | ["20" "19" "18"]"#,
    );
}

#[test]
fn ranges_and_indexes() {
    check(
        "RPUSH l a b c d e | LINDEX l 0 | LINDEX l 4 | LINDEX l 5 | LINDEX l -1 | LINDEX l -5 | LINDEX l -6",
        r#":5 | "a" | "e" | nil | "e" | "a" | nil"#,
    );
    check(
        "RPUSH l a | LINDEX l 9223372036854775807 | LINDEX l -9223372036854775808 | LINDEX l x | LINDEX l 1.0 | LINDEX missing x | LINDEX missing 0",
        ":1 | nil | nil | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range | nil | nil",
    );
    check(
        "RPUSH l a b c d e | LRANGE l 0 -1 | LRANGE l 1 3 | LRANGE l -3 -2 | LRANGE l 3 1 | LRANGE l 5 9 | LRANGE l -100 100 | LRANGE l -100 -6 | LRANGE l -100 -5 | LRANGE l 4 4 | LRANGE l -1 0",
        r#":5 | ["a" "b" "c" "d" "e"] | ["b" "c" "d"] | ["c" "d"] | [] | [] | ["a" "b" "c" "d" "e"] | [] | ["a"] | ["e"] | []"#,
    );
    check(
        "RPUSH l a b | LRANGE l -9223372036854775808 9223372036854775807 | LRANGE l 9223372036854775807 9223372036854775807 | LRANGE l 0 -9223372036854775808",
        r#":2 | ["a" "b"] | [] | []"#,
    );
    check(
        r#"LRANGE l x 0 | LRANGE l 0 x | LRANGE missing 0 -1 | LRANGE l "" 0 | LRANGE l 9223372036854775808 0"#,
        "-ERR value is not an integer or out of range | -ERR value is not an integer or out of range | [] | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range",
    );
    check("LLEN missing | RPUSH l a b | LLEN l", ":0 | :2 | :2");
    check(
        r#"RPUSH l a b c | LSET l 0 x | LSET l -1 z | LSET l 1 "" | LRANGE l 0 -1"#,
        r#":3 | +OK | +OK | +OK | ["x" "" "z"]"#,
    );
    check(
        "RPUSH l a b c | LSET l 3 x | LSET l -4 x | LSET l x y | LSET missing 0 x | LSET missing x x | LRANGE l 0 -1",
        r#":3 | -ERR index out of range | -ERR index out of range | -ERR value is not an integer or out of range | -ERR no such key | -ERR no such key | ["a" "b" "c"]"#,
    );
    check("RPUSH l a | EXPIRE l 1000 | LSET l 0 b | PERSIST l | LINDEX l 0", r#":1 | :1 | +OK | :1 | "b""#);
    check(
        "RPUSH l a | PEXPIREAT l 1 | LRANGE l 0 -1 | LLEN l | LINDEX l 0 | LSET l 0 x",
        ":1 | :1 | [] | :0 | nil | -ERR no such key",
    );
    check(r#"RPUSH l "\x00" "\xff" | LSET l 0 "\r\n" | LRANGE l 0 -1"#, r#":2 | +OK | ["\r\n" "\xff"]"#);
}

#[test]
fn inserting() {
    check(
        "RPUSH l a b c | LINSERT l BEFORE a x | LINSERT l AFTER c y | LINSERT l BEFORE c z | LINSERT l AFTER a w | LRANGE l 0 -1",
        r#":3 | :4 | :5 | :6 | :7 | ["x" "a" "w" "b" "z" "c" "y"]"#,
    );
    check(
        "RPUSH l a b a | LINSERT l BEFORE a x | LINSERT l AFTER a y | LRANGE l 0 -1",
        r#":3 | :4 | :5 | ["x" "a" "y" "b" "a"]"#,
    );
    check(
        "RPUSH l a b c d e f g h | LINSERT l BEFORE b 1 | LINSERT l AFTER b 2 | LINSERT l BEFORE g 3 | LINSERT l AFTER g 4 | LRANGE l 0 -1 | LPUSH l s | RPUSH l t | LRANGE l 0 -1",
        r#":8 | :9 | :10 | :11 | :12 | ["a" "1" "b" "2" "c" "d" "e" "f" "3" "g" "4" "h"] | :13 | :14 | ["s" "a" "1" "b" "2" "c" "d" "e" "f" "3" "g" "4" "h" "t"]"#,
    );
    check(
        "RPUSH l a | LINSERT l BEFORE missing x | LINSERT missing BEFORE a x | LINSERT l NEAR a x | LINSERT missing NEAR a x | EXISTS missing | LRANGE l 0 -1",
        r#":1 | :-1 | :0 | -ERR syntax error | -ERR syntax error | :0 | ["a"]"#,
    );
    check(
        "RPUSH l a | LINSERT l before a x | LINSERT l aFTer a y | LRANGE l 0 -1",
        r#":1 | :2 | :3 | ["x" "a" "y"]"#,
    );
    check(
        r#"RPUSH l "" "\x00" | LINSERT l BEFORE "" "\xff" | LINSERT l AFTER "\x00" "" | LRANGE l 0 -1"#,
        r#":2 | :3 | :4 | ["\xff" "" "\x00" ""]"#,
    );
    check(
        "RPUSH l 1 01 | LINSERT l BEFORE 01 x | LINSERT l BEFORE 1 y | LRANGE l 0 -1",
        r#":2 | :3 | :4 | ["y" "1" "x" "01"]"#,
    );
    check(
        "RPUSH l a | EXPIRE l 1000 | LINSERT l AFTER a b | PERSIST l | LRANGE l 0 -1",
        r#":1 | :1 | :2 | :1 | ["a" "b"]"#,
    );
    check("RPUSH l a | PEXPIREAT l 1 | LINSERT l AFTER a b | EXISTS l", ":1 | :1 | :0 | :0");
}

#[test]
fn removing() {
    check("RPUSH l a b a c a | LREM l 0 a | LRANGE l 0 -1", r#":5 | :3 | ["b" "c"]"#);
    check(
        "RPUSH l a b a c a | LREM l 1 a | LRANGE l 0 -1 | LREM l -1 a | LRANGE l 0 -1 | LREM l 5 a | LRANGE l 0 -1",
        r#":5 | :1 | ["b" "a" "c" "a"] | :1 | ["b" "a" "c"] | :1 | ["b" "c"]"#,
    );
    check("RPUSH l a b a c a | LREM l -2 a | LRANGE l 0 -1", r#":5 | :2 | ["a" "b" "c"]"#);
    check(
        "RPUSH l a b a c a | LREM l 2 a | LRANGE l 0 -1 | LPUSH l s | RPUSH l t | LRANGE l 0 -1",
        r#":5 | :2 | ["b" "c" "a"] | :4 | :5 | ["s" "b" "c" "a" "t"]"#,
    );
    check("RPUSH l a a a | LREM l 0 a | EXISTS l | LREM l 0 a", ":3 | :3 | :0 | :0");
    check(
        "RPUSH l a a a | LREM l 3 a | EXISTS l | RPUSH l a a | LREM l -3 a | EXISTS l",
        ":3 | :3 | :0 | :2 | :2 | :0",
    );
    check(r#"RPUSH l a b | LREM l 0 c | LREM l 5 "" | LRANGE l 0 -1"#, r#":2 | :0 | :0 | ["a" "b"]"#);
    check(
        "RPUSH l x x a b c d x e x | LREM l 0 x | LRANGE l 0 -1 | LINDEX l 4",
        r#":9 | :4 | ["a" "b" "c" "d" "e"] | "e""#,
    );
    check(
        "RPUSH l a x b x c d e f x g | LREM l 0 x | LRANGE l 0 -1",
        r#":10 | :3 | ["a" "b" "c" "d" "e" "f" "g"]"#,
    );
    check(
        "RPUSH l a x b x c d e f x g | LREM l -2 x | LRANGE l 0 -1",
        r#":10 | :2 | ["a" "x" "b" "c" "d" "e" "f" "g"]"#,
    );
    check(r#"RPUSH l "" a "" | LREM l 0 "" | LRANGE l 0 -1"#, r#":3 | :2 | ["a"]"#);
    check("RPUSH l 1 01 1 | LREM l 0 1 | LRANGE l 0 -1", r#":3 | :2 | ["01"]"#);
    check(
        "LREM missing 0 a | LREM missing x a | RPUSH l a | LREM l x a | LREM l 9223372036854775807 b | LREM l -9223372036854775807 b | LREM l -9223372036854775808 a | LREM l 9223372036854775808 a",
        ":0 | -ERR value is not an integer or out of range | :1 | -ERR value is not an integer or out of range | :0 | :0 | :1 | -ERR value is not an integer or out of range",
    );
    check(
        "RPUSH l a b | EXPIRE l 1000 | LREM l 0 a | PERSIST l | LRANGE l 0 -1",
        r#":2 | :1 | :1 | :1 | ["b"]"#,
    );
    check("RPUSH l a b | PEXPIREAT l 1 | LREM l 0 a | EXISTS l", ":2 | :1 | :0 | :0");
}

#[test]
fn trimming() {
    check(
        "RPUSH l a b c d e | LTRIM l 1 3 | LRANGE l 0 -1 | LTRIM l 0 -2 | LRANGE l 0 -1 | LTRIM l -1 -1 | LRANGE l 0 -1",
        r#":5 | +OK | ["b" "c" "d"] | +OK | ["b" "c"] | +OK | ["c"]"#,
    );
    check(
        "RPUSH l a b c | LTRIM l 0 -1 | LRANGE l 0 -1 | LTRIM l 0 100 | LTRIM l -100 100 | LRANGE l 0 -1",
        r#":3 | +OK | ["a" "b" "c"] | +OK | +OK | ["a" "b" "c"]"#,
    );
    check("RPUSH l a b c | LTRIM l 2 1 | EXISTS l", ":3 | +OK | :0");
    check(
        "RPUSH l a b c | LTRIM l 5 10 | EXISTS l | RPUSH l a | LTRIM l -5 -3 | EXISTS l",
        ":3 | +OK | :0 | :1 | +OK | :0",
    );
    check(
        "RPUSH l a b c | LTRIM l -9223372036854775808 9223372036854775807 | LRANGE l 0 -1 | LTRIM l 9223372036854775807 9223372036854775807 | EXISTS l",
        r#":3 | +OK | ["a" "b" "c"] | +OK | :0"#,
    );
    check(
        "LTRIM missing 0 1 | LTRIM missing x 1 | LTRIM missing 0 x | EXISTS missing",
        "+OK | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range | :0",
    );
    check(
        "RPUSH l a b c | LTRIM l 1 -1 | LPUSH l x | LRANGE l 0 -1 | LTRIM l 0 0 | RPUSH l y | LRANGE l 0 -1",
        r#":3 | +OK | :3 | ["x" "b" "c"] | +OK | :2 | ["x" "y"]"#,
    );
    check(
        "RPUSH l a b c | EXPIRE l 1000 | LTRIM l 1 1 | PERSIST l | LRANGE l 0 -1",
        r#":3 | :1 | +OK | :1 | ["b"]"#,
    );
    check("RPUSH l a b c | PEXPIREAT l 1 | LTRIM l 1 1 | EXISTS l", ":3 | :1 | +OK | :0");
}

#[test]
fn positions() {
    check(
        r#"RPUSH l a b c 1 2 3 c c | LPOS l c | LPOS l a | LPOS l 3 | LPOS l x | LPOS l "" | LPOS missing c"#,
        ":8 | :2 | :0 | :5 | nil | nil | nil",
    );
    check(
        "RPUSH l a b c 1 2 3 c c | LPOS l c RANK 1 | LPOS l c RANK 2 | LPOS l c RANK 3 | LPOS l c RANK 4 | LPOS l c RANK -1 | LPOS l c RANK -3 | LPOS l c RANK -4",
        ":8 | :2 | :6 | :7 | nil | :7 | :2 | nil",
    );
    check(
        "RPUSH l a b c 1 2 3 c c | LPOS l c COUNT 0 | LPOS l c COUNT 1 | LPOS l c COUNT 2 | LPOS l c COUNT 100 | LPOS l x COUNT 0 | LPOS missing c COUNT 0 | LPOS missing c COUNT 1",
        ":8 | [:2 :6 :7] | [:2] | [:2 :6] | [:2 :6 :7] | [] | [] | []",
    );
    check(
        "RPUSH l a b c 1 2 3 c c | LPOS l c COUNT 0 RANK 2 | LPOS l c COUNT 2 RANK -1 | LPOS l c COUNT 0 RANK -2 | LPOS l c RANK 4 COUNT 0 | LPOS l c rank 2 count 1",
        ":8 | [:6 :7] | [:7 :6] | [:6 :2] | [] | [:6]",
    );
    check(
        "RPUSH l a b c 1 2 3 c c | LPOS l c MAXLEN 2 | LPOS l c MAXLEN 3 | LPOS l c MAXLEN 0 | LPOS l c COUNT 0 MAXLEN 7 | LPOS l c COUNT 0 MAXLEN 2 | LPOS l a RANK -1 MAXLEN 7 | LPOS l a RANK -1 MAXLEN 8 | LPOS l c MAXLEN 100 COUNT 0 RANK -1",
        ":8 | nil | :2 | :2 | [:2 :6] | [] | nil | :0 | [:7 :6 :2]",
    );
    check(
        "LPOS l a RANK 0 | LPOS l a RANK x | LPOS l a RANK -9223372036854775808 | LPOS l a RANK 9223372036854775807 | LPOS l a RANK -9223372036854775807 | LPOS l a RANK 9223372036854775808",
        "-ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list | -ERR value is not an integer or out of range | -ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807 | nil | nil | -ERR value is not an integer or out of range",
    );
    check(
        "LPOS l a COUNT -1 | LPOS l a COUNT x | LPOS l a MAXLEN -1 | LPOS l a MAXLEN x | LPOS l a COUNT 9223372036854775808",
        "-ERR COUNT can't be negative | -ERR COUNT can't be negative | -ERR MAXLEN can't be negative | -ERR MAXLEN can't be negative | -ERR COUNT can't be negative",
    );
    check(
        "LPOS l a FOO | LPOS l a RANK | LPOS l a COUNT | LPOS l a COUNT 1 RANK | LPOS l a FOO 1 | LPOS l a 1",
        "-ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error",
    );
    check(
        "LPOS l a RANK 1 RANK -1 | RPUSH l a b a | LPOS l a RANK 1 RANK -1 | LPOS l a COUNT 1 COUNT 0 | LPOS l a RANK 0 FOO | LPOS l a FOO RANK 0",
        "nil | :3 | :2 | [:0 :2] | -ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list | -ERR syntax error",
    );
    check("RPUSH l a | PEXPIREAT l 1 | LPOS l a | LPOS l a COUNT 1", ":1 | :1 | nil | []");
    check(r#"RPUSH l "\x00" "" "\x00" | LPOS l "\x00" COUNT 0 | LPOS l """#, ":3 | [:0 :2] | :1");
}

#[test]
fn moving() {
    check(
        "RPUSH a 1 2 3 | LMOVE a b LEFT RIGHT | LMOVE a b RIGHT LEFT | LRANGE a 0 -1 | LRANGE b 0 -1 | LMOVE a b LEFT LEFT | EXISTS a | LRANGE b 0 -1 | LMOVE b a RIGHT RIGHT | LRANGE a 0 -1",
        r#":3 | "1" | "3" | ["2"] | ["3" "1"] | "2" | :0 | ["2" "3" "1"] | "1" | ["1"]"#,
    );
    check(
        "RPUSH a 1 2 3 | RPOPLPUSH a b | RPOPLPUSH a b | RPOPLPUSH a b | RPOPLPUSH a b | LRANGE b 0 -1 | EXISTS a",
        r#":3 | "3" | "2" | "1" | nil | ["1" "2" "3"] | :0"#,
    );
    check(
        "RPUSH a 1 2 3 | RPOPLPUSH a a | LRANGE a 0 -1 | LMOVE a a LEFT RIGHT | LRANGE a 0 -1 | LMOVE a a LEFT LEFT | LMOVE a a RIGHT RIGHT | LRANGE a 0 -1",
        r#":3 | "3" | ["3" "1" "2"] | "3" | ["1" "2" "3"] | "1" | "3" | ["1" "2" "3"]"#,
    );
    check(
        "RPUSH a 1 | RPOPLPUSH a a | LMOVE a a LEFT RIGHT | LMOVE a a LEFT LEFT | LRANGE a 0 -1 | LPUSH a 0 | RPUSH a 2 | LRANGE a 0 -1",
        r#":1 | "1" | "1" | "1" | ["1"] | :2 | :3 | ["0" "1" "2"]"#,
    );
    check(
        "LMOVE missing b LEFT RIGHT | RPOPLPUSH missing b | EXISTS b | RPOPLPUSH missing missing",
        "nil | nil | :0 | nil",
    );
    check(
        r#"LMOVE a b UP RIGHT | LMOVE a b LEFT DOWN | LMOVE a b "" "" | RPUSH a 1 | LMOVE a b left rIGHT | LRANGE b 0 -1"#,
        r#"-ERR syntax error | -ERR syntax error | -ERR syntax error | :1 | "1" | ["1"]"#,
    );
    check(
        r#"RPUSH a "" "\x00\xff" | LMOVE a b LEFT LEFT | LMOVE a b LEFT LEFT | LRANGE b 0 -1"#,
        r#":2 | "" | "\x00\xff" | ["\x00\xff" ""]"#,
    );
    check(
        "RPUSH a 1 2 | RPUSH b 3 | EXPIRE a 1000 | EXPIRE b 1000 | RPOPLPUSH a b | PERSIST a | PERSIST b | RPOPLPUSH a b | EXISTS a",
        r#":2 | :1 | :1 | :1 | "2" | :1 | :1 | "1" | :0"#,
    );
    check(
        "RPUSH a 1 | PEXPIREAT a 1 | RPOPLPUSH a b | EXISTS b | RPUSH a 1 | RPUSH b 2 | PEXPIREAT b 1 | RPOPLPUSH a b | LRANGE b 0 -1 | TTL b",
        r#":1 | :1 | nil | :0 | :1 | :1 | :1 | "1" | ["1"] | :-1"#,
    );
    check("RPUSH a 1 2 | EXPIRE a 1000 | RPOPLPUSH a a | PERSIST a", r#":2 | :1 | "2" | :1"#);
}

#[test]
fn popping_from_several() {
    check(
        "RPUSH a 1 2 3 | LMPOP 1 a LEFT | LMPOP 1 a RIGHT | LMPOP 2 b a LEFT | EXISTS a | LMPOP 2 b a LEFT",
        r#":3 | ["a" ["1"]] | ["a" ["3"]] | ["a" ["2"]] | :0 | nil[]"#,
    );
    check(
        "RPUSH a 1 2 3 4 5 | LMPOP 1 a LEFT COUNT 2 | LMPOP 1 a RIGHT COUNT 2 | LMPOP 1 a RIGHT COUNT 20 | EXISTS a",
        r#":5 | ["a" ["1" "2"]] | ["a" ["5" "4"]] | ["a" ["3"]] | :0"#,
    );
    check(
        "RPUSH a 1 | RPUSH b 2 3 | LMPOP 2 a b LEFT COUNT 10 | LMPOP 2 a b LEFT COUNT 10 | LMPOP 2 a b LEFT COUNT 10",
        r#":1 | :2 | ["a" ["1"]] | ["b" ["2" "3"]] | nil[]"#,
    );
    check(
        "LMPOP 0 a LEFT | LMPOP -1 a LEFT | LMPOP x a LEFT | LMPOP 1.5 a LEFT | LMPOP 9223372036854775808 a LEFT",
        "-ERR numkeys should be greater than 0 | -ERR numkeys should be greater than 0 | -ERR numkeys should be greater than 0 | -ERR numkeys should be greater than 0 | -ERR numkeys should be greater than 0",
    );
    check(
        "LMPOP 2 a LEFT | LMPOP 3 a b LEFT | LMPOP 100 a LEFT | LMPOP 1 a UP | LMPOP 1 a b LEFT | LMPOP 1 a left | LMPOP 1 a rIGHT COUNT 1",
        "-ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error | nil[] | nil[]",
    );
    check(
        "LMPOP 1 a LEFT COUNT 0 | LMPOP 1 a LEFT COUNT -1 | LMPOP 1 a LEFT COUNT x | LMPOP 1 a LEFT COUNT | LMPOP 1 a LEFT FOO | LMPOP 1 a LEFT FOO 1 | LMPOP 1 a LEFT COUNT 1 COUNT 2 | LMPOP 1 a LEFT count 1",
        "-ERR count should be greater than 0 | -ERR count should be greater than 0 | -ERR count should be greater than 0 | -ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error | nil[]",
    );
    check("RPUSH LEFT 1 | LMPOP 1 LEFT LEFT | LMPOP 1 LEFT RIGHT", r#":1 | ["LEFT" ["1"]] | nil[]"#);
    check("RPUSH a 1 | PEXPIREAT a 1 | RPUSH b 2 | LMPOP 2 a b LEFT", r#":1 | :1 | :1 | ["b" ["2"]]"#);
    check("RPUSH a 1 2 | EXPIRE a 1000 | LMPOP 1 a LEFT | PERSIST a", r#":2 | :1 | ["a" ["1"]] | :1"#);
    check(
        r#"RPUSH a "" "\x00\xff" | LMPOP 2 "" a RIGHT COUNT 2 | RPUSH "" x | LMPOP 1 "" LEFT"#,
        r#":2 | ["a" ["\x00\xff" ""]] | :1 | ["" ["x"]]"#,
    );
    check("RPUSH a 1 | LMPOP 2 a a LEFT COUNT 5", r#":1 | ["a" ["1"]]"#);
}

#[test]
fn whole_lists() {
    check(
        "RPUSH a 1 2 3 | RENAME a b | LRANGE b 0 -1 | EXISTS a | LPUSH b 0 | RPUSH b 4 | LRANGE b 0 -1",
        r#":3 | +OK | ["1" "2" "3"] | :0 | :4 | :5 | ["0" "1" "2" "3" "4"]"#,
    );
    check(
        "RPUSH a 1 2 3 | LPOP a | COPY a b | LPUSH a x | LRANGE a 0 -1 | LRANGE b 0 -1 | RPUSH b 4 | LRANGE b 0 -1",
        r#":3 | "1" | :1 | :3 | ["x" "2" "3"] | ["2" "3"] | :3 | ["2" "3" "4"]"#,
    );
    check(
        "RPUSH a 1 | RPUSH b 2 | RENAME a b | LRANGE b 0 -1 | SET b x | RPUSH c 3 | COPY c b | COPY c b REPLACE | LRANGE b 0 -1",
        r#":1 | :1 | +OK | ["1"] | +OK | :1 | :0 | :1 | ["3"]"#,
    );
    check(
        "RPUSH a 1 2 | MOVE a 1 | EXISTS a | SELECT 1 | LRANGE a 0 -1",
        r#":2 | :1 | :0 | +OK | ["1" "2"]"#,
    );
    check(
        "RPUSH a 1 2 | DEL a | LLEN a | RPUSH a 3 | UNLINK a | LRANGE a 0 -1",
        ":2 | :1 | :0 | :1 | :1 | []",
    );
    check(
        "RPUSH a 1 2 | SCAN 0 TYPE list | SCAN 0 TYPE string | OBJECT REFCOUNT a",
        r#":2 | ["0" ["a"]] | ["0" []] | :1"#,
    );
    check(
        "RPUSH a 1 2 | EXPIRE a 1000 | COPY a b | PERSIST b | RENAME a c | PERSIST c",
        ":2 | :1 | :1 | :1 | +OK | :1",
    );
}

/// Redis 8.10: as LMOVE, for several elements.
#[test]
fn lmovem() {
    tarn_only(
        "RPUSH s a b c | LMOVEM s d LEFT RIGHT | LRANGE d 0 -1 | LRANGE s 0 -1",
        r#":3 | ["a"] | ["a"] | ["b" "c"]"#,
    );
    for (ends, order, moved, source) in [
        ("LEFT LEFT", "OBO", r#""3" "2" "1""#, r#""4" "5""#),
        ("LEFT LEFT", "BULK", r#""1" "2" "3""#, r#""4" "5""#),
        ("LEFT RIGHT", "OBO", r#""1" "2" "3""#, r#""4" "5""#),
        ("LEFT RIGHT", "bulk", r#""1" "2" "3""#, r#""4" "5""#),
        ("RIGHT RIGHT", "obo", r#""5" "4" "3""#, r#""1" "2""#),
        ("RIGHT RIGHT", "BULK", r#""3" "4" "5""#, r#""1" "2""#),
        ("RIGHT LEFT", "OBO", r#""3" "4" "5""#, r#""1" "2""#),
        ("RIGHT LEFT", "BULK", r#""3" "4" "5""#, r#""1" "2""#),
    ] {
        let all = if ends.ends_with("LEFT") { format!(r#"{moved} "x""#) } else { format!(r#""x" {moved}"#) };
        tarn_only(
            &format!(
                "RPUSH s 1 2 3 4 5 | RPUSH d x | LMOVEM s d {ends} COUNT 3 {order} | LRANGE d 0 -1 | LRANGE s 0 -1"
            ),
            &format!(":5 | :1 | [{moved}] | [{all}] | [{source}]"),
        );
    }
    tarn_only(
        "RPUSH s a b | LMOVEM s d LEFT RIGHT COUNT 100 BULK | EXISTS s | LMOVEM d s LEFT RIGHT EXACTLY 3 BULK | EXISTS s | LMOVEM d s LEFT RIGHT exactly 2 OBO | LRANGE s 0 -1 | EXISTS d",
        r#":2 | ["a" "b"] | :0 | nil[] | :0 | ["a" "b"] | ["a" "b"] | :0"#,
    );
    tarn_only(
        "RPUSH k 1 2 3 4 | EXPIRE k 100 | LMOVEM k k LEFT RIGHT COUNT 2 BULK | LRANGE k 0 -1 | LMOVEM k k RIGHT LEFT COUNT 9 OBO | LRANGE k 0 -1 | TTL k",
        r#":4 | :1 | ["1" "2"] | ["3" "4" "1" "2"] | ["3" "4" "1" "2"] | ["3" "4" "1" "2"] | :91..100"#,
    );
    tarn_only("LMOVEM s d LEFT RIGHT | LMOVEM s d LEFT RIGHT COUNT 5 BULK | EXISTS d", "nil[] | nil[] | :0");
    for count in ["COUNT 0", "EXACTLY 0", "COUNT -1", "COUNT a"] {
        tarn_only(
            &format!("RPUSH s a | LMOVEM s d LEFT RIGHT {count} BULK"),
            ":1 | -ERR count should be greater than 0",
        );
    }
    for words in [
        "LEFT RIGHT COUNT 2",
        "LEFT RIGHT COUNT 2 OBO x",
        "LEFT RIGHT BAD 2 OBO",
        "LEFT RIGHT COUNT 2 BAD",
        "X RIGHT COUNT 2 OBO",
        "LEFT X",
    ] {
        tarn_only(
            &format!("RPUSH s a | LMOVEM s d {words} | LRANGE s 0 -1"),
            r#":1 | -ERR syntax error | ["a"]"#,
        );
    }
    tarn_only("LMOVEM s d LEFT", "-ERR wrong number of arguments for 'lmovem' command");
    const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    tarn_only(
        "SET x v | RPUSH s a b | LMOVEM x d LEFT RIGHT | LMOVEM s x LEFT RIGHT COUNT 2 BULK | LRANGE s 0 -1 | EXISTS d",
        &format!(r#"+OK | :2 | {WRONG} | {WRONG} | ["a" "b"] | :0"#),
    );
}
