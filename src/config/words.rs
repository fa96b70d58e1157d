//! A line of a configuration file to words and back, quoted as Redis quotes.

/// Splits a line into words. In double quotes `\n \r \t \b \a \xHH` and any escaped character stand for a byte, in single
/// quotes only `\'` does. None when a quote is not closed, or is closed in front of anything but a space.
pub fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(words);
        }
        let word;
        (word, rest) = next_word(rest)?;
        words.push(word);
    }
}

fn next_word(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    loop {
        rest = match *rest {
            [] => return Some((word, rest)),
            [byte, ..] if ends_word(byte) => return Some((word, rest)),
            [b'"', ref after @ ..] => {
                return close(double_quoted(after, &mut word)?).map(|rest| (word, rest));
            }
            [b'\'', ref after @ ..] => {
                return close(single_quoted(after, &mut word)?).map(|rest| (word, rest));
            }
            [byte, ref after @ ..] => {
                word.push(byte);
                after
            }
        };
    }
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Behind a closing quote the word must end.
fn close(rest: &[u8]) -> Option<&[u8]> {
    rest.first().is_none_or(u8::is_ascii_whitespace).then_some(rest)
}

fn double_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match *rest {
            [] => return None,
            [b'"', ref after @ ..] => return Some(after),
            [b'\\', b'x', high, low, ref after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                word.push(hex(high) << 4 | hex(low));
                after
            }
            [b'\\', escaped, ref after @ ..] => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => other,
                });
                after
            }
            [byte, ref after @ ..] => {
                word.push(byte);
                after
            }
        };
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match *rest {
            [] => return None,
            [b'\\', b'\'', ref after @ ..] => {
                word.push(b'\'');
                after
            }
            [b'\'', ref after @ ..] => return Some(after),
            [byte, ref after @ ..] => {
                word.push(byte);
                after
            }
        };
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a').wrapping_add(10),
    }
}

/// A word in double quotes that [`split`] reads back, all of it printable ASCII.
pub fn quote(word: &[u8]) -> String {
    let mut quoted = String::with_capacity(word.len() + 2);
    quoted.push('"');
    for &byte in word {
        match byte {
            b'\\' | b'"' => quoted.extend(['\\', char::from(byte)]),
            b'\n' => quoted.push_str("\\n"),
            b'\r' => quoted.push_str("\\r"),
            b'\t' => quoted.push_str("\\t"),
            0x07 => quoted.push_str("\\a"),
            0x08 => quoted.push_str("\\b"),
            b' '..=b'~' => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\x{byte:02x}")),
        }
    }
    quoted.push('"');
    quoted
}

/// For logs and terminals: text as it is, except for what a terminal might obey.
pub fn printable(text: &[u8]) -> String {
    let mut shown = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        shown.extend(chunk.valid().chars().map(|c| if c.is_control() { '?' } else { c }));
        shown.push_str(&chunk.invalid().escape_ascii().to_string());
    }
    shown
}
