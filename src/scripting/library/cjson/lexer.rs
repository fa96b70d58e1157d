//! From text to tokens. A zero is the end of the text, wherever it stands.

use super::number;
use crate::scripting::library::buffer::Buffer;
use crate::scripting::stack::Stack;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'d> {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    Colon,
    Comma,
    /// A string that stands in the text as it is.
    Plain(&'d [u8]),
    /// A string that the lexer's buffer has.
    Unescaped,
    Number(f64),
    Boolean(bool),
    Null,
    End,
    Error(&'static str),
}

impl Token<'_> {
    /// As messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::Plain(_) | Token::Unescaped => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::End => "T_END",
            Token::Error(why) => why,
        }
    }
}

pub struct Lexer<'d> {
    /// With a zero at its end.
    text: &'d [u8],
    /// Where the next token is looked for.
    pub at: usize,
    /// Where the last one began, or what is wrong with it is.
    pub token_at: usize,
    takes_invalid_numbers: bool,
    unescaped: Buffer<'d>,
}

impl<'d> Lexer<'d> {
    pub fn new(stack: &'d Stack<'d>, text: &'d [u8], takes_invalid_numbers: bool) -> Lexer<'d> {
        Lexer { text, at: 0, token_at: 0, takes_invalid_numbers, unescaped: Buffer::new(stack) }
    }

    /// The last token, which was [`Token::Unescaped`].
    pub fn unescaped(&mut self) -> &[u8] {
        self.unescaped.bytes()
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    fn rest(&self, at: usize) -> &'d [u8] {
        self.text.get(at..).unwrap_or_default()
    }

    pub fn next(&mut self) -> Token<'d> {
        while matches!(self.byte(self.at), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.token_at = self.at;
        let token = match self.byte(self.at) {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b':' => Token::Colon,
            b',' => Token::Comma,
            0 => return Token::End,
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' if !self.takes_invalid_numbers && self.is_invalid_number() => {
                return Token::Error("invalid number");
            }
            b'-' | b'0'..=b'9' => return self.number(),
            b'f' | b'i' | b'I' | b'n' | b'N' | b't' | b'+' => return self.word(),
            _ => return Token::Error("invalid token"),
        };
        self.at += 1;
        token
    }

    fn word(&mut self) -> Token<'d> {
        let rest = self.rest(self.at);
        let words =
            [(&b"true"[..], Token::Boolean(true)), (b"false", Token::Boolean(false)), (b"null", Token::Null)];
        for (word, token) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return token;
            }
        }
        if self.takes_invalid_numbers && self.is_invalid_number() {
            return self.number();
        }
        Token::Error("invalid token")
    }

    fn number(&mut self) -> Token<'d> {
        match number::read(self.rest(self.at)) {
            Some((value, len)) => {
                self.at += len;
                Token::Number(value)
            }
            None => Token::Error("invalid number"),
        }
    }

    /// Whether what begins here is a number to C and none to JSON, if it is one at all.
    fn is_invalid_number(&self) -> bool {
        let rest = self.rest(self.at);
        let unsigned = rest.strip_prefix(b"-").unwrap_or(rest);
        match unsigned {
            [b'+', ..] => rest.starts_with(b"+"),
            [b'0', b'x' | b'X' | b'0'..=b'9', ..] => true,
            [a, b, c, ..] => {
                let word = [*a, *b, *c];
                word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan")
            }
            _ => false,
        }
    }

    fn string(&mut self) -> Token<'d> {
        let start = self.at + 1;
        let mut run = start;
        self.unescaped.clear();
        loop {
            let rest = self.rest(run);
            let len = memchr::memchr3(b'"', b'\\', 0, rest).unwrap_or(rest.len());
            let plain = rest.get(..len).unwrap_or_default();
            let end = run + len;
            match self.byte(end) {
                b'"' => {
                    self.at = end + 1;
                    if run == start {
                        return Token::Plain(plain);
                    }
                    self.unescaped.extend(plain);
                    return Token::Unescaped;
                }
                b'\\' => {
                    self.unescaped.extend(plain);
                    match self.escape(end) {
                        Ok(behind) => run = behind,
                        Err(why) => return self.error_at(end, why),
                    }
                }
                _ => return self.error_at(end, "unexpected end of string"),
            }
        }
    }

    fn error_at(&mut self, at: usize, why: &'static str) -> Token<'d> {
        self.at = at;
        self.token_at = at;
        Token::Error(why)
    }

    /// Appends what the escape at the backslash stands for; returns what follows it.
    fn escape(&mut self, backslash: usize) -> Result<usize, &'static str> {
        let plain = match self.byte(backslash + 1) {
            same @ (b'"' | b'\\' | b'/') => same,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 12,
            b'r' => b'\r',
            b'u' => {
                let (character, len) = self.unicode(backslash).ok_or("invalid unicode escape code")?;
                self.unescaped.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(backslash + len);
            }
            _ => return Err("invalid escape code"),
        };
        self.unescaped.push(plain);
        Ok(backslash + 2)
    }

    /// `\uXXXX`, or two of them for what does not fit in one, and how long that is.
    fn unicode(&self, backslash: usize) -> Option<(char, usize)> {
        let first = self.hex(backslash + 2)?;
        if first & 0xf800 != 0xd800 {
            return Some((char::from_u32(first)?, 6));
        }
        let second = self.hex(backslash + 8)?;
        let is_pair = first & 0x400 == 0
            && self.byte(backslash + 6) == b'\\'
            && self.byte(backslash + 7) == b'u'
            && second & 0xfc00 == 0xdc00;
        let code = 0x1_0000 + ((first & 0x3ff) << 10 | second & 0x3ff);
        is_pair.then_some((char::from_u32(code)?, 12))
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
    }
}
