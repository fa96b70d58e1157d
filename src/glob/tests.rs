use crate::config::tests::redis::Server;

use super::{FREE_STEPS, STEPS_PER_BYTE, is_pattern, matches, matches_within};

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
fn plain_text_between_stars_is_searched_for_as_a_whole() {
    // Place by place these would take 10^12 steps.
    let many = 1_000_000;
    let text = b"a".repeat(many);
    let with_end = |end: &str| [b"*", "a".repeat(many / 2).as_bytes(), end.as_bytes()].concat();
    for (end, expected) in [("b", false), ("", true), ("b*", false), ("*", true), ("*a", true), ("*b", false)]
    {
        let mut steps = 1_000;
        assert_eq!(matches_within(&mut steps, &with_end(end), &text, false), expected, "{end}");
        assert!(steps > 900, "{end}");
    }
    check("*ab*ba*", "abba", true);
    check("*ab*ba*", "aba", false);
    check("*ab*", "ab", true);
    check("*ab*c", "abc", true);
    check("*ab", "abc", false);
}

#[test]
fn a_pattern_that_takes_too_many_steps_matches_nothing() {
    let len = 40_000;
    let text = b"a".repeat(len);
    let class = [b"*[", "b".repeat(len).as_bytes(), b"]a"].concat();
    for hostile in [[b"*?", "a".repeat(len / 2).as_bytes(), b"b"].concat(), class] {
        let limit = FREE_STEPS + STEPS_PER_BYTE * (hostile.len() + len);
        let mut steps = limit;
        assert!(!matches_within(&mut steps, &hostile, &text, false));
        assert_eq!(steps, 0, "it was cut off");
    }
    // One of the same length that is not hostile has steps to spare.
    let honest = [b"*?", "a".repeat(len / 2).as_bytes(), b"*"].concat();
    let mut steps = FREE_STEPS + STEPS_PER_BYTE * (honest.len() + len);
    assert!(matches_within(&mut steps, &honest, &text, false));
    assert!(steps > FREE_STEPS);
    // As is any short one: every place of a short text can be tried.
    let short = [b"*?", "a".repeat(100).as_bytes(), b"b"].concat();
    let mut steps = FREE_STEPS;
    assert!(!matches_within(&mut steps, &short, &b"a".repeat(200), false) && steps > 0);
}

#[test]
fn names_are_not_patterns() {
    assert!(!is_pattern(b"maxmemory"));
    assert!(is_pattern(b"max*") && is_pattern(b"m?x") && is_pattern(b"m[a]x"));
}

/// A small generator, so that the patterns are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn text(&mut self, alphabet: &[u8], max_len: usize) -> Vec<u8> {
        (0..self.below(max_len + 1)).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

#[test]
fn patterns_find_the_keys_that_redis_finds() {
    let (_server, mut redis) = Server::start();
    let mut random = Random(1);
    let mut keys: Vec<Vec<u8>> = (0..2_000).map(|_| random.text(b"aabbc-]^[\\*?\x80\xff\0", 6)).collect();
    keys.sort();
    keys.dedup();
    let mut mset = ::redis::cmd("MSET");
    keys.iter().for_each(|key| {
        mset.arg(key).arg("");
    });
    mset.exec(&mut redis).unwrap();
    let mut pipe = redis::pipe();
    // KEYS takes `*` for "all" before it asks the matcher.
    let patterns: Vec<Vec<u8>> = (0..6_000)
        .map(|_| random.text(b"aabbc-]^[[[\\\\***??\x80\xff\0", 9))
        .filter(|pattern| pattern != b"*")
        .collect();
    patterns.iter().for_each(|pattern| {
        pipe.cmd("KEYS").arg(pattern);
    });
    let theirs: Vec<Vec<Vec<u8>>> = pipe.query(&mut redis).unwrap();
    let mut found = 0;
    for (pattern, mut theirs) in patterns.iter().zip(theirs) {
        theirs.sort();
        let ours: Vec<Vec<u8>> = keys.iter().filter(|key| matches(pattern, key, false)).cloned().collect();
        assert_eq!(ours, theirs, "{}", pattern.escape_ascii());
        found += ours.len();
    }
    assert!(found > patterns.len(), "the patterns hardly match anything");
}
