//! EXH*: TairHash's vocabulary.

mod json;
mod transcript;

use crate::check::{tarn_only as check, tarn_only_with};

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/// What TairHash's own introduction shows.
#[test]
fn quick_start() {
    check(
        "EXHSET exhashkey f v ex 10 | EXHGET exhashkey f | EXISTS exhashkey | !time 10000 | EXISTS exhashkey | \
         EXHGET exhashkey f",
        r#":1 | "v" | :1 | none | :0 | nil"#,
    );
    check(
        "EXHSET exhashkey f v px 10000 | EXHGET exhashkey f | EXISTS exhashkey | !time 10000 | EXISTS exhashkey | \
         EXHGET exhashkey f",
        r#":1 | "v" | :1 | none | :0 | nil"#,
    );
    check(
        "EXHSET exhashkey f v VER 1 | EXHSET exhashkey f v VER 1 | EXHSET exhashkey f v VER 1 | \
         EXHSET exhashkey f v ABS 1 | EXHSET exhashkey f v ABS 2 | EXHVER exhashkey f",
        ":1 | :0 | -ERR update version is stale | :0 | :0 | :2",
    );
}

#[test]
fn one_type_two_vocabularies() {
    check(
        "HSET h a 1 | EXHGET h a | EXHVER h a | EXHSET h b 2 | TYPE h | HGETALL h",
        r#":1 | "1" | :1 | :1 | +hash | ..."#,
    );
    check("EXHSET h a 1 | HGET h a | HSET h b 2 | TYPE h | HLEN h", r#":1 | "1" | :1 | +tairhash- | :2"#);
    check("EXHSET h a 1 | EXHDEL h a | HSET h a 1 | TYPE h", ":1 | :1 | :1 | +hash");
    check(
        "EXHSET h a 1 | OBJECT ENCODING h | HSET g a 1 | OBJECT ENCODING g",
        r#":1 | "raw" | :1 | "listpack""#,
    );
    check(
        "EXHSET a f v | HSET b f v | SCAN 0 TYPE tairhash- | SCAN 0 TYPE hash",
        r#":1 | :1 | ["0" ["a"]] | ["0" ["b"]]"#,
    );
    // Whoever writes a field raises its version.
    check(
        "EXHSET h f 1 | HSET h f 2 | HINCRBY h f 1 | HINCRBYFLOAT h f 1 | HSETEX h FIELDS 1 f 7 | EXHGETWITHVER h f",
        r#":1 | :0 | :3 | "4" | :1 | ["7" :5]"#,
    );
    check("HSETNX h f 1 | EXHVER h f | HMSET h f 2 | EXHVER h f", ":1 | :1 | +OK | :2");
    check(
        "EXHSET h f 1 EX 100 | HTTL h FIELDS 1 f | HPERSIST h FIELDS 1 f | EXHTTL h f",
        ":1 | [:100] | [:1] | :-1",
    );
    check(
        "HSETEX h EX 100 FIELDS 1 f v | EXHTTL h f | HEXPIRE h 200 FIELDS 1 f | EXHVER h f",
        ":1 | :100 | [:1] | :2",
    );
    check("EXHSET h f 1 EX 100 | HSET h f 2 | EXHTTL h f | EXHVER h f", ":1 | :0 | :-1 | :2");
}

#[test]
fn names_of_a_hash_that_was_renamed_copied_and_moved() {
    check(
        "EXHSET h f v EX 100 ABS 7 | RENAME h g | EXHTTL g f | EXHVER g f | TYPE g | EXISTS h",
        ":1 | +OK | :100 | :7 | +tairhash- | :0",
    );
    check(
        "EXHSET h f v EX 100 ABS 7 | COPY h g | DEL h | EXHTTL g f | EXHVER g f | !time 100001 | EXISTS g | EXHTTL g f",
        ":1 | :1 | :1 | :100 | :7 | none | :0 | :-3..-2",
    );
    check(
        "HSETEX h PX 50000 FIELDS 1 f v | MOVE h 1 | SELECT 1 | HPTTL h FIELDS 1 f | !time 50001 | HLEN h | EXISTS h",
        ":1 | :1 | +OK | [:40000..50000] | none | :0 | :0",
    );
    check("RENAME h g | SET a x | RENAME a b | MOVE b 1", "-ERR no such key | +OK | +OK | :1");
}

#[test]
fn set() {
    check("EXHSET h f", "-ERR wrong number of arguments for 'exhset' command");
    check("SET s x | EXHSET s f v | EXHSET s f v NOSUCH", &format!("+OK | {WRONG} | {WRONG}"));
    check(r#"EXHSET h "" "" | EXHGET h "" | EXHGET h missing"#, r#":1 | "" | nil"#);
    check(r#"EXHSET h "f\x00\r\n" "v\xff\x00" | EXHGET h "f\x00\r\n""#, r#":1 | "v\xff\x00""#);
    check("EXHSET h f v EX 0 | EXHGET h f | EXISTS h | EXHSET h f w | EXHVER h f", ":1 | nil | :0 | :1 | :1");
    check("EXHSET h f v PXAT 1 | EXISTS h | TTL h | TYPE h", ":1 | :0 | :-2 | +none");
    check("EXHSET h f v EX 9223372036854775807 | EXISTS h", "-ERR syntax error | :0");
    check("EXHSET h f v PX 9223372036854775807 | EXISTS h", "-ERR syntax error | :0");
    check("EXHSET h f v PXAT 9223372036854775807 | EXHTTL h f", ":1 | :1000000000000..9223372036854775807");
    check("EXHMSET h a 1 b 2 a 3 | EXHMGET h a b c | EXHVER h a", r#"+OK | ["3" "2" nil] | :2"#);
    check("EXHMSET h a 1 b | EXISTS h", "-ERR wrong number of arguments for 'exhmset' command | :0");
    check("SET s x | EXHMSET s a 1 | EXHSETNX s a 1", &format!("+OK | {WRONG} | {WRONG}"));
    check("EXHSETNX h f 1 | EXHSETNX h f 2 | EXHGETWITHVER h f", r#":1 | :0 | ["1" :0]"#);
    check(
        "EXHSET h f v ABS 9223372036854775807 | EXHSET h f w | EXHVER h f",
        ":1 | :0 | :9223372036854775807",
    );
    check(
        "EXHMSETWITHOPTS h a 1 0 100 b 2 0 200 | EXHMGETWITHVER h a b c | EXHTTL h b",
        r#"+OK | [["1" :1] ["2" :1] nil] | :200"#,
    );
    check("EXHSETVER h f 3 | EXHSET h f v | EXHSETVER h f 3 | EXHVER h f", ":0 | :1 | :1 | :3");
    check("EXHSET h f v EX 100 | EXHSETVER h f 9 | EXHTTL h f | EXHGET h f", r#":1 | :1 | :100 | "v""#);
}

#[test]
fn numbers() {
    check(
        "EXHINCRBYFLOAT h f 1.5 | EXHINCRBYFLOAT h f 0.25 | EXHGETWITHVER h f",
        r#""1.5" | "1.75" | ["1.75" :2]"#,
    );
    check("EXHINCRBYFLOAT h f x", "-ERR value is not an float");
    check("EXHSET h f x | EXHINCRBYFLOAT h f 1", ":1 | -ERR value is not an float");
    check("EXHINCRBYFLOAT h f 1 MIN x", "-ERR min or max is specified, but value is not a float");
    check("EXHINCRBYFLOAT h f 1 MAX 0.5 | EXISTS h", "-ERR increment or decrement would overflow | :0");
    check("EXHINCRBYFLOAT h f 1 MIN 2 MAX 1", "-ERR min value is bigger than max value");
    check("EXHINCRBYFLOAT h f inf", "-ERR increment or decrement would overflow");
    check("EXHINCRBYFLOAT h f 1 MIN -1.5 MAX 1 | EXHINCRBYFLOAT h f -2.5 MIN -1.5 MAX 1", r#""1" | "-1.5""#);
    check(
        "EXHINCRBYFLOAT h f 1 EX 100 | EXHTTL h f | EXHINCRBYFLOAT h f 1 | EXHTTL h f",
        r#""1" | :100 | "2" | :-1"#,
    );
    check("SET s x | EXHINCRBYFLOAT s f x | EXHINCRBY s f x", &format!("+OK | {WRONG} | {WRONG}"));
    check(
        "EXHINCRBY h f 5 MIN 0 MAX 10 | EXHINCRBY h f 6 MAX 10",
        ":5 | -ERR increment or decrement would overflow",
    );
    check("EXHINCRBY h f 1 PX 100 | !time 101 | EXHINCRBY h f 3 | EXHTTL h f", ":1 | none | :3 | :-1");
}

#[test]
fn expiries() {
    check("EXHSET h f v | EXHEXPIRE h f 100 | EXHTTL h f | EXHVER h f", ":1 | :1 | :100 | :2");
    check(
        "EXHSET h f v | EXHPEXPIRE h f 100400 | EXHTTL h f | EXHPTTL h f",
        ":1 | :1 | :100 | :90000..100400",
    );
    check(
        "EXHSET h f v | EXHEXPIREAT h f 33177117420 | EXHPEXPIREAT h f 33177117420000 | EXHPTTL h f",
        ":1 | :1 | :1 | ...",
    );
    check("EXHSET h f v | EXHEXPIREAT h f 1 | EXHGET h f | EXISTS h", ":1 | :1 | nil | :0");
    check("EXHSET h f v EX 100 | EXHPERSIST h f | EXHPERSIST h f | EXHTTL h f", ":1 | :1 | :0 | :-1");
    check("EXHPERSIST h f | EXHTTL h f | EXHPTTL h f | EXHVER h f", ":0 | :-2 | :-2 | :-1");
    check(
        "EXHMSETWITHOPTS h a 1 0 10 b 2 0 20 | EXHSET h c 3 | !time 10001 | EXHLEN h | EXHLEN h NOEXP | EXHKEYS h | \
         !time 10000 | EXHLEN h | EXHGETALL h | EXHGETALLWITHVER h | EXHVALS h",
        r#"+OK | :1 | none | :2 | :2 | ~["b" "c"] | none | :1 | ["c" "3"] | ["c" "3" :1] | ["3"]"#,
    );
    check(
        "EXHSET h a 1 EX 10 | EXHSET h b 22 | !time 10001 | EXHEXISTS h a | EXHEXISTS h b | EXHSTRLEN h a | \
         EXHSTRLEN h b | EXHSCAN h 0",
        r#":1 | :1 | none | :0 | :1 | :0 | :2 | ["0" ["b" "22"]]"#,
    );
    check("EXHSET h a 1 EX 10 | !time 10001 | EXHDELWITHVER h a 1 | EXHDEL h a", ":1 | none | :0 | :0");
    check(
        "EXHSCAN h 0 COUNT x | EXHSCAN h 0 COUNT 0 | EXHSCAN h 0 MATCH",
        "-ERR syntax error | -ERR syntax error | -ERR syntax error",
    );
    check("EXHSET h a 1 | EXHSCAN h 0 MATCH b* COUNT 5", r#":1 | ["0" []]"#);
}

#[test]
fn what_has_expired_is_reported() {
    check(
        "EXHEXPIREINFO",
        r#"%"\r\n# Active expire statistics\r\n...tair_hash_passive_expire_keys_per_loop:3\r\n...""#,
    );
    tarn_only_with(
        &[("enable-debug-command", "yes")],
        "DEBUG SET-ACTIVE-EXPIRE 0 | EXHSET h a 1 EX 10 | EXHSET h b 2 | !time 10001 | EXHSET h b 3 | EXHEXPIREINFO | INFO fieldexpiry",
        r#"+OK | :1 | :1 | none | :0 | %"...enable_active_expire:0...db: 0, active_expired_fields: 0, passive_expired_fields: 1\r\n" | %"...field_expiry_met:1\r\n...""#,
    );
}
