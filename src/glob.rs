//! Glob patterns as KEYS, SCAN, PSUBSCRIBE and CONFIG GET understand them.
//!
//! The semantics are Redis's to the byte, its oddities included: a class that is not closed ends with the pattern, an
//! escape inside a class ignores `nocase`, ranges compare signed bytes, and nothing but the empty pattern matches the
//! empty text (which is why callers treat the pattern `*` as "all" before they ask here).
//!
//! Only the last `*` seen can be worth a second try: if the rest of the pattern cannot be found behind it, giving an
//! earlier `*` more text only leaves less to search. So one place to go back to is enough. What stands between two `*` is
//! searched for as a whole if it is plain text. Otherwise it is tried place by place, which a hostile pattern can make take
//! `pattern.len() * text.len()` steps: there are [`FREE_STEPS`] and [`STEPS_PER_BYTE`], and a pattern that needs more matches nothing.

use memchr::memmem;

/// Steps that every match may take, and those that it may take for each byte of the pattern and of the text. A step looks at a byte
/// of the text, or of a class. An honest pattern takes one or two per byte.
const FREE_STEPS: usize = 1 << 16;
const STEPS_PER_BYTE: usize = 16;

/// Whether `text` matches `pattern`. With `nocase`, ASCII letters match in either case.
pub fn matches(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    let mut steps = FREE_STEPS + STEPS_PER_BYTE * (pattern.len() + text.len());
    matches_within(&mut steps, pattern, text, nocase)
}

/// With so many steps, which are counted down.
fn matches_within(steps: &mut usize, pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    let (mut rest, mut unread) = (pattern, text);
    // Pattern behind the last `*`, and the text its next attempt starts at.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        let (Some((&head, after)), Some((&byte, tail))) = (rest.split_first(), unread.split_first()) else {
            return rest.is_empty() && unread.is_empty();
        };
        let (matched, after) = match head {
            b'*' => {
                let after = skip_stars(after);
                if after.is_empty() {
                    return true;
                }
                let (literal, behind) = leading_text(after);
                if !nocase && behind.is_empty() {
                    return unread.ends_with(literal);
                }
                if !nocase && behind.starts_with(b"*") {
                    // The first place is as good as any other.
                    let Some(at) = memmem::find(unread, literal) else { return false };
                    (rest, unread) = (behind, unread.get(at + literal.len()..).unwrap_or(&[]));
                    if unread.is_empty() {
                        return skip_stars(rest).is_empty();
                    }
                    continue;
                }
                retry = Some((after, tail));
                rest = after;
                continue;
            }
            b'?' => (true, after),
            b'[' => {
                let (found, behind) = class(after, byte, nocase);
                *steps = steps.saturating_sub(after.len() - behind.len());
                (found, behind)
            }
            b'\\' => match after.split_first() {
                Some((&escaped, after)) => (same(escaped, byte, nocase), after),
                None => (same(b'\\', byte, nocase), after),
            },
            literal => (same(literal, byte, nocase), after),
        };
        *steps = steps.saturating_sub(1);
        if *steps == 0 {
            return false;
        }
        if matched && tail.is_empty() {
            // What is left of the pattern needs at least one more byte, and a retry would have even fewer.
            return skip_stars(after).is_empty();
        }
        if matched && !after.is_empty() {
            (rest, unread) = (after, tail);
            continue;
        }
        let Some((after_star, from)) = retry else { return false };
        let Some((_, next)) = from.split_first() else { return false };
        retry = Some((after_star, next));
        (rest, unread) = (after_star, from);
    }
}

/// Whether a pattern has a character that makes it more than a name.
pub fn is_pattern(pattern: &[u8]) -> bool {
    pattern.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// The text that a pattern begins with, and what follows it.
pub fn leading_text(pattern: &[u8]) -> (&[u8], &[u8]) {
    let special = pattern.iter().position(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'));
    pattern.split_at_checked(special.unwrap_or(pattern.len())).unwrap_or((pattern, &[]))
}

fn skip_stars(mut pattern: &[u8]) -> &[u8] {
    while let Some((b'*', after)) = pattern.split_first() {
        pattern = after;
    }
    pattern
}

fn same(a: u8, b: u8, nocase: bool) -> bool {
    a == b || (nocase && a.eq_ignore_ascii_case(&b))
}

/// Judges `byte` by the class whose `[` has just been read; returns the pattern behind the class.
fn class(mut pattern: &[u8], byte: u8, nocase: bool) -> (bool, &[u8]) {
    let negated = pattern.first() == Some(&b'^');
    if let (true, Some((_, after))) = (negated, pattern.split_first()) {
        pattern = after;
    }
    let mut found = false;
    loop {
        pattern = match *pattern {
            [] => return (found != negated, pattern),
            [b'\\', escaped, ref after @ ..] => {
                found |= escaped == byte;
                after
            }
            [b']', ref after @ ..] => return (found != negated, after),
            [from, b'-', to, ref after @ ..] => {
                found |= in_range(from, to, byte, nocase);
                after
            }
            [one, ref after @ ..] => {
                found |= same(one, byte, nocase);
                after
            }
        };
    }
}

/// The ends are put in order as written and folded afterwards, all as signed bytes: Redis compares C `char`s.
fn in_range(from: u8, to: u8, byte: u8, nocase: bool) -> bool {
    let (low, high) = if (from as i8) <= (to as i8) { (from, to) } else { (to, from) };
    let fold = |b: u8| if nocase { b.to_ascii_lowercase() as i8 } else { b as i8 };
    (fold(low)..=fold(high)).contains(&fold(byte))
}

#[cfg(test)]
mod tests;
