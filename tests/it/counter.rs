//! Strings as numbers: INCR to INCRBYFLOAT.

use crate::check::check;

#[test]
fn incr_decr() {
    check("INCR k | INCR k | GET k", r#":1 | :2 | "2""#);
    check("DECR k | DECR k | GET k", r#":-1 | :-2 | "-2""#);
    check("SET k 10 | INCR k | DECR k | GET k", r#"+OK | :11 | :10 | "10""#);
    check(
        "SET k 9223372036854775806 | INCR k | INCR k | GET k",
        r#"+OK | :9223372036854775807 | -ERR increment or decrement would overflow | "9223372036854775807""#,
    );
    check(
        "SET k -9223372036854775807 | DECR k | DECR k | GET k",
        r#"+OK | :-9223372036854775808 | -ERR increment or decrement would overflow | "-9223372036854775808""#,
    );
    check(
        "SET k abc | INCR k | DECR k",
        "+OK | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range",
    );
    check(r#"SET k "" | INCR k"#, "+OK | -ERR value is not an integer or out of range");
    check(r#"SET k " 1" | INCR k"#, "+OK | -ERR value is not an integer or out of range");
    check(r#"SET k "1 " | INCR k"#, "+OK | -ERR value is not an integer or out of range");
    check("SET k +1 | INCR k", "+OK | -ERR value is not an integer or out of range");
    check("SET k 01 | INCR k", "+OK | -ERR value is not an integer or out of range");
    check("SET k -0 | INCR k", "+OK | -ERR value is not an integer or out of range");
    check("SET k 0 | DECR k", "+OK | :-1");
    check("SET k 1.0 | INCR k", "+OK | -ERR value is not an integer or out of range");
    check("SET k 9223372036854775808 | INCR k", "+OK | -ERR value is not an integer or out of range");
    check("SET k -9223372036854775808 | INCR k", "+OK | :-9223372036854775807");
    check("SET k -9223372036854775809 | INCR k", "+OK | -ERR value is not an integer or out of range");
    check(r#"SET k "1\x00" | INCR k"#, "+OK | -ERR value is not an integer or out of range");
    check(
        r#"SET k "11111111111111111111111111111111" | INCR k"#,
        "+OK | -ERR value is not an integer or out of range",
    );
    check("SET k 5 EX 100 | INCR k | TTL k", "+OK | :6 | :91..100");
    check("SET k 5 PXAT 1 | INCR k | TTL k", "+OK | :1 | :-1");
}

#[test]
fn incrby_decrby() {
    check("INCRBY k 5 | INCRBY k -3 | GET k", r#":5 | :2 | "2""#);
    check("DECRBY k 5 | DECRBY k -3 | GET k", r#":-5 | :-2 | "-2""#);
    check("INCRBY k 0 | EXISTS k | GET k", r#":0 | :1 | "0""#);
    check(
        "INCRBY k 9223372036854775807 | INCRBY k 1 | GET k",
        r#":9223372036854775807 | -ERR increment or decrement would overflow | "9223372036854775807""#,
    );
    check(
        "INCRBY k -9223372036854775808 | INCRBY k -1 | GET k",
        r#":-9223372036854775808 | -ERR increment or decrement would overflow | "-9223372036854775808""#,
    );
    check(
        "DECRBY k 9223372036854775807 | DECRBY k 1 | DECRBY k 1 | GET k",
        r#":-9223372036854775807 | :-9223372036854775808 | -ERR increment or decrement would overflow | "-9223372036854775808""#,
    );
    check("DECRBY k -9223372036854775808", "-ERR decrement would overflow");
    check("SET k -1 | DECRBY k -9223372036854775808", "+OK | -ERR decrement would overflow");
    check("SET k 1 | INCRBY k 9223372036854775807", "+OK | -ERR increment or decrement would overflow");
    check("SET k -1 | INCRBY k -9223372036854775808", "+OK | -ERR increment or decrement would overflow");
    check("INCRBY k 9223372036854775808", "-ERR value is not an integer or out of range");
    check("INCRBY k abc", "-ERR value is not an integer or out of range");
    check("INCRBY k 1.5", "-ERR value is not an integer or out of range");
    check(r#"INCRBY k """#, "-ERR value is not an integer or out of range");
    check(r#"INCRBY k " 1""#, "-ERR value is not an integer or out of range");
    check("INCRBY k +1", "-ERR value is not an integer or out of range");
    check("INCRBY k 01", "-ERR value is not an integer or out of range");
    check("DECRBY k abc", "-ERR value is not an integer or out of range");
    check("DECRBY k 9223372036854775808", "-ERR value is not an integer or out of range");
    check(
        "SET k abc | INCRBY k 1 | INCRBY k abc",
        "+OK | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range",
    );
    check("SET k abc | DECRBY k xyz", "+OK | -ERR value is not an integer or out of range");
}

#[test]
fn incrbyfloat() {
    check("INCRBYFLOAT k 1.5 | INCRBYFLOAT k 1.5 | GET k", r#""1.5" | "3" | "3""#);
    check("INCRBYFLOAT k 0 | GET k", r#""0" | "0""#);
    check("INCRBYFLOAT k -0 | GET k", r#""0" | "0""#);
    check("INCRBYFLOAT k -0.0 | GET k", r#""0" | "0""#);
    check("SET k 10.50 | INCRBYFLOAT k 0.1 | GET k", r#"+OK | "10.6" | "10.6""#);
    check("SET k 5.0e3 | INCRBYFLOAT k 2.0e2", r#"+OK | "5200""#);
    check("SET k 3 | INCRBYFLOAT k 1.1 | GET k", r#"+OK | "4.1" | "4.1""#);
    check("SET k 1 | INCRBYFLOAT k 0.1 | INCRBYFLOAT k 0.2", r#"+OK | "1.1" | "1.3""#);
    check("SET k 0.1 | INCRBYFLOAT k 0.2", r#"+OK | "0.3""#);
    check("SET k 1 | INCRBYFLOAT k 0.00000000000000001", r#"+OK | "1.00000000000000001""#);
    check("SET k 1 | INCRBYFLOAT k 0.0000000000000001", r#"+OK | "1.0000000000000001""#);
    check("SET k 0 | INCRBYFLOAT k 0.000000000000000001", r#"+OK | "0""#);
    check(
        "SET k 0 | INCRBYFLOAT k 1e-17 | INCRBYFLOAT k 1e-17",
        r#"+OK | "0.00000000000000001" | "0.00000000000000002""#,
    );
    check("SET k 0 | INCRBYFLOAT k 1e-18", r#"+OK | "0""#);
    check("INCRBYFLOAT k 3.0 | GET k", r#""3" | "3""#);
    check("INCRBYFLOAT k 1e10 | GET k", r#""10000000000" | "10000000000""#);
    check("INCRBYFLOAT k 1e17 | GET k", r#""100000000000000000" | "100000000000000000""#);
    check("INCRBYFLOAT k 1e18 | INCRBYFLOAT k 0.5", r#""1000000000000000000" | "1000000000000000000.5""#);
    check("INCRBYFLOAT k 1e20", r#""100000000000000000000""#);
    check("INCRBYFLOAT k 1e30", r#""1000000000000000000024696061952""#);
    check(
        "INCRBYFLOAT k 1e100",
        r#""9999999999999999999669353532207342619498699019828496079271391541752018669482644324418977840117055488""#,
    );
    check(
        "INCRBYFLOAT k 1e300 | STRLEN k",
        r#"%"10000000000000000000089973240795591938705239442732907479382..." | :301"#,
    );
    check(
        "INCRBYFLOAT k 1.7976931348623157e308 | STRLEN k",
        r#"%"17976931348623156999592104677410443404838644694432917848531..." | :309"#,
    );
    check("INCRBYFLOAT k 1e4000", r#"%"99999999999999999999654638730996237849324925835069576313015...""#);
    check("INCRBYFLOAT k 1e4933", "-ERR value is not a valid float");
    check("INCRBYFLOAT k 1e5000", "-ERR value is not a valid float");
    check("INCRBYFLOAT k 9007199254740993", r#""9007199254740993""#);
    check("INCRBYFLOAT k 18446744073709551615", r#""18446744073709551615""#);
    check("INCRBYFLOAT k 36893488147419103231", r#""36893488147419103232""#);
    check("INCRBYFLOAT k 3.14159265358979323846", r#""3.14159265358979324""#);
    check("INCRBYFLOAT k 0.1", r#""0.1""#);
    check("INCRBYFLOAT k 0.3", r#""0.3""#);
    check("INCRBYFLOAT k 1234567890.123456789", r#""1234567890.12345678894780576""#);
    check("INCRBYFLOAT k 123456789012345.678901234", r#""123456789012345.67890167236328125""#);
    check("INCRBYFLOAT k inf", "-ERR increment would produce NaN or Infinity");
    check("INCRBYFLOAT k -inf", "-ERR increment would produce NaN or Infinity");
    check("INCRBYFLOAT k Infinity", "-ERR increment would produce NaN or Infinity");
    check("INCRBYFLOAT k +inf", "-ERR increment would produce NaN or Infinity");
    check("INCRBYFLOAT k nan", "-ERR value is not a valid float");
    check("INCRBYFLOAT k abc", "-ERR value is not a valid float");
    check(r#"INCRBYFLOAT k """#, "-ERR value is not a valid float");
    check(r#"INCRBYFLOAT k " 1""#, "-ERR value is not a valid float");
    check(r#"INCRBYFLOAT k "1 ""#, "-ERR value is not a valid float");
    check("INCRBYFLOAT k 1,5", "-ERR value is not a valid float");
    check("INCRBYFLOAT k +1.5", r#""1.5""#);
    check("INCRBYFLOAT k .5", r#""0.5""#);
    check("INCRBYFLOAT k 5.", r#""5""#);
    check("INCRBYFLOAT k 1e", "-ERR value is not a valid float");
    check("INCRBYFLOAT k 0x1p3", r#""8""#);
    check("INCRBYFLOAT k 0x10", r#""16""#);
    check("INCRBYFLOAT k -1.5", r#""-1.5""#);
    check("INCRBYFLOAT k 1e-5", r#""0.00001""#);
    check("SET k inf | INCRBYFLOAT k 1", "+OK | -ERR increment would produce NaN or Infinity");
    check("SET k nan | INCRBYFLOAT k 1", "+OK | -ERR value is not a valid float");
    check("SET k abc | INCRBYFLOAT k 1", "+OK | -ERR value is not a valid float");
    check(r#"SET k "" | INCRBYFLOAT k 1"#, "+OK | -ERR value is not a valid float");
    check(r#"SET k " 1" | INCRBYFLOAT k 1"#, "+OK | -ERR value is not a valid float");
    check(r#"SET k "1 " | INCRBYFLOAT k 1"#, "+OK | -ERR value is not a valid float");
    check("SET k abc | INCRBYFLOAT k xyz", "+OK | -ERR value is not a valid float");
    check("SET k 1 EX 100 | INCRBYFLOAT k 1.5 | TTL k", r#"+OK | "2.5" | :91..100"#);
    check("INCRBYFLOAT k 2.5 | INCRBYFLOAT k 0.5 | INCR k", r#""2.5" | "3" | :4"#);
    check("INCRBYFLOAT k 1.5 | INCR k", r#""1.5" | -ERR value is not an integer or out of range"#);
    check("SET k 1e4932 | INCRBYFLOAT k 9e4932", "+OK | -ERR value is not a valid float");
    check(r#"SET k "1\x00" | INCRBYFLOAT k 1"#, "+OK | -ERR value is not a valid float");
    check("SET k 4.9e-324 | INCRBYFLOAT k 0", r#"+OK | "0""#);
}
