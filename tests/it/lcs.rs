//! LCS: the longest common subsequence of two strings.

use crate::check::{check, check3};

#[test]
fn lcs() {
    check("MSET a ohmytext b mynewtext | LCS a b", r#"+OK | "mytext""#);
    check("MSET a ohmytext b mynewtext | LCS a b LEN", "+OK | :6");
    check3(
        "MSET a ohmytext b mynewtext | LCS a b IDX",
        r#"+OK | ["matches" [[[:4 :7] [:5 :8]] [[:2 :3] [:0 :1]]] "len" :6]"#,
        r#"+OK | {"matches" [[[:4 :7] [:5 :8]] [[:2 :3] [:0 :1]]] "len" :6}"#,
    );
    check3(
        "MSET a ohmytext b mynewtext | LCS a b IDX MINMATCHLEN 4",
        r#"+OK | ["matches" [[[:4 :7] [:5 :8]]] "len" :6]"#,
        r#"+OK | {"matches" [[[:4 :7] [:5 :8]]] "len" :6}"#,
    );
    check3(
        "MSET a ohmytext b mynewtext | LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN",
        r#"+OK | ["matches" [[[:4 :7] [:5 :8] :4]] "len" :6]"#,
        r#"+OK | {"matches" [[[:4 :7] [:5 :8] :4]] "len" :6}"#,
    );
    check3(
        "MSET a ohmytext b mynewtext | LCS a b IDX WITHMATCHLEN",
        r#"+OK | ["matches" [[[:4 :7] [:5 :8] :4] [[:2 :3] [:0 :1] :2]] "len" :6]"#,
        r#"+OK | {"matches" [[[:4 :7] [:5 :8] :4] [[:2 :3] [:0 :1] :2]] "len" :6}"#,
    );
    check("MSET a ohmytext b mynewtext | LCS a b WITHMATCHLEN", r#"+OK | "mytext""#);
    check("MSET a ohmytext b mynewtext | LCS a b MINMATCHLEN 3", r#"+OK | "mytext""#);
    check("MSET a ohmytext b mynewtext | LCS a b LEN MINMATCHLEN 100", "+OK | :6");
    check3(
        "MSET a ohmytext b mynewtext | LCS a b IDX MINMATCHLEN 100",
        r#"+OK | ["matches" [] "len" :6]"#,
        r#"+OK | {"matches" [] "len" :6}"#,
    );
    check3(
        "MSET a ohmytext b mynewtext | LCS a b IDX MINMATCHLEN 0",
        r#"+OK | ["matches" [[[:4 :7] [:5 :8]] [[:2 :3] [:0 :1]]] "len" :6]"#,
        r#"+OK | {"matches" [[[:4 :7] [:5 :8]] [[:2 :3] [:0 :1]]] "len" :6}"#,
    );
    check3(
        "MSET a ohmytext b mynewtext | LCS a b IDX MINMATCHLEN -5",
        r#"+OK | ["matches" [[[:4 :7] [:5 :8]] [[:2 :3] [:0 :1]]] "len" :6]"#,
        r#"+OK | {"matches" [[[:4 :7] [:5 :8]] [[:2 :3] [:0 :1]]] "len" :6}"#,
    );
    check3(
        "MSET a ohmytext b mynewtext | LCS a b len | LCS a b idx minmatchlen 2 withmatchlen",
        r#"+OK | :6 | ["matches" [[[:4 :7] [:5 :8] :4] [[:2 :3] [:0 :1] :2]] "len" :6]"#,
        r#"+OK | :6 | {"matches" [[[:4 :7] [:5 :8] :4] [[:2 :3] [:0 :1] :2]] "len" :6}"#,
    );
    check3(
        "MSET a ohmytext b mynewtext | LCS b a IDX WITHMATCHLEN",
        r#"+OK | ["matches" [[[:5 :8] [:4 :7] :4] [[:0 :1] [:2 :3] :2]] "len" :6]"#,
        r#"+OK | {"matches" [[[:5 :8] [:4 :7] :4] [[:0 :1] [:2 :3] :2]] "len" :6}"#,
    );
    check3(
        "LCS a b | LCS a b LEN | LCS a b IDX",
        r#""" | :0 | ["matches" [] "len" :0]"#,
        r#""" | :0 | {"matches" [] "len" :0}"#,
    );
    check3(
        "SET a abc | LCS a b | LCS b a LEN | LCS a b IDX WITHMATCHLEN",
        r#"+OK | "" | :0 | ["matches" [] "len" :0]"#,
        r#"+OK | "" | :0 | {"matches" [] "len" :0}"#,
    );
    check3(
        r#"SET a "" | SET b abc | LCS a b | LCS a b IDX"#,
        r#"+OK | +OK | "" | ["matches" [] "len" :0]"#,
        r#"+OK | +OK | "" | {"matches" [] "len" :0}"#,
    );
    check3(
        "SET a abc | LCS a a | LCS a a LEN | LCS a a IDX WITHMATCHLEN",
        r#"+OK | "abc" | :3 | ["matches" [[[:0 :2] [:0 :2] :3]] "len" :3]"#,
        r#"+OK | "abc" | :3 | {"matches" [[[:0 :2] [:0 :2] :3]] "len" :3}"#,
    );
    check3(
        "MSET a abcdef b xyz | LCS a b | LCS a b LEN | LCS a b IDX",
        r#"+OK | "" | :0 | ["matches" [] "len" :0]"#,
        r#"+OK | "" | :0 | {"matches" [] "len" :0}"#,
    );
    check(r#"MSET a "\x00a\xffb" b "a\x00\xff" | LCS a b"#, r#"+OK | "a\xff""#);
    check3(
        "MSET a AAABBBCCC b ABCABCABC | LCS a b | LCS a b IDX WITHMATCHLEN",
        r#"+OK | "ABCCC" | ["matches" [[[:8 :8] [:8 :8] :1] [[:7 :7] [:5 :5] :1] [[:5 :6] [:1 :2] :2] [[:2 :2] [:0 :0] :1]] "len" :5]"#,
        r#"+OK | "ABCCC" | {"matches" [[[:8 :8] [:8 :8] :1] [[:7 :7] [:5 :5] :1] [[:5 :6] [:1 :2] :2] [[:2 :2] [:0 :0] :1]] "len" :5}"#,
    );
    check("MSET a abcbdab b bdcaba | LCS a b | LCS b a", r#"+OK | "bdab" | "bcba""#);
    check("LCS a b LEN IDX", "-ERR If you want both the length and indexes, please just use IDX.");
    check("LCS a b FOO", "-ERR syntax error");
    check("LCS a b MINMATCHLEN", "-ERR syntax error");
    check("LCS a b IDX MINMATCHLEN abc", "-ERR value is not an integer or out of range");
    check("LCS a b MINMATCHLEN 1.5", "-ERR value is not an integer or out of range");
    check("LCS a b LEN LEN", ":0");
    check3(
        r#"MSET a "x"*500 b "x"*400 | LCS a b LEN | LCS a b IDX WITHMATCHLEN"#,
        r#"+OK | :400 | ["matches" [[[:100 :499] [:0 :399] :400]] "len" :400]"#,
        r#"+OK | :400 | {"matches" [[[:100 :499] [:0 :399] :400]] "len" :400}"#,
    );
}
