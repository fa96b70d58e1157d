use super::{is_pattern, matches};

fn check(pattern: &str, text: &str, expected: bool) {
    assert_eq!(matches(pattern.as_bytes(), text.as_bytes(), false), expected, "{pattern:?} on {text:?}");
}

#[test]
fn literals_and_wildcards() {
    check("", "", true);
    check("a", "", false);
    check("", "a", false);
    check("*", "a", true);
    check("*", "", false);
    check("**", "", false);
    check("a*", "a", true);
    check("a**", "a", true);
    check("?", "a", true);
    check("??", "a", false);
    check("h?llo", "hello", true);
    check("h*llo", "hllo", true);
    check("h*llo", "heeeello", true);
    check("*a*b", "xaxxb", true);
    check("*a*b", "xaxxbc", false);
    check("*ab", "aab", true);
    check("*?", "a", true);
    check("*??", "a", false);
    check("a*b*c", "abbbc", true);
    check("*.conf", "a.conf.conf", true);
}

#[test]
fn classes() {
    check("h[ae]llo", "hallo", true);
    check("h[ae]llo", "hillo", false);
    check("h[^e]llo", "hallo", true);
    check("h[^e]llo", "hello", false);
    check("h[a-b]llo", "hbllo", true);
    check("h[b-a]llo", "hallo", true);
    check("[]", "a", false);
    check("[^]", "a", true);
    check("[a", "a", true);
    check("[^a", "b", true);
    check("[", "a", false);
    check("[^", "a", true);
    check("[a-]", "a", true);
    check("[a-", "-", true);
    check("[a-z]x", "mx", true);
    check("[\\]]", "]", true);
    check("[\\", "\\", true);
    check("[\\^]", "^", true);
    check("*[b]c", "aabc", true);
}

#[test]
fn escapes() {
    check("\\*", "*", true);
    check("\\*", "a", false);
    check("\\\\", "\\", true);
    check("\\", "\\", true);
    check("a\\", "a\\", true);
    check("\\a", "a", true);
}

#[test]
fn case_is_ignored_on_request_only() {
    assert!(matches(b"HELLO", b"hello", true));
    assert!(!matches(b"HELLO", b"hello", false));
    assert!(matches(b"h[A-F]llo", b"hello", true));
    assert!(matches(b"h[E]llo", b"hello", true));
    assert!(matches(b"\\HELLO", b"hello", true));
    // An escape inside a class is compared as it stands.
    assert!(!matches(b"h[\\E]llo", b"hello", true));
}

#[test]
fn bytes_above_ascii_order_as_signed() {
    assert!(matches(b"[\x80-\xff]", b"\x90", false));
    assert!(matches(b"[\xf0-\x10]", b"\x00", false));
    assert!(!matches(b"[\xf0-\x10]", b"\x80", false));
}

#[test]
fn work_is_bounded_for_hostile_patterns() {
    let pattern = b"*a".repeat(500);
    let text = b"a".repeat(20_000);
    assert!(matches(&pattern, &text, false));
    let mut unmatched = pattern;
    unmatched.push(b'b');
    assert!(!matches(&unmatched, &text, false));
}

#[test]
fn names_are_not_patterns() {
    assert!(!is_pattern(b"maxmemory"));
    assert!(is_pattern(b"max*") && is_pattern(b"m?x") && is_pattern(b"m[a]x"));
}
