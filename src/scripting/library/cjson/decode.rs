//! `cjson.decode(text)`.

use std::ffi::c_int;

use super::lexer::{Lexer, Token};
use super::settings::Settings;
use crate::scripting::library::frames::Frames;
use crate::scripting::stack::Stack;

/// A table in the making, which is on the stack.
#[derive(Debug, Clone, Copy)]
enum Open {
    /// The index of the element that is being read.
    Array(c_int),
    /// The key of the value that is being read is on the stack.
    Object,
}

pub fn decode(stack: &Stack<'_>) -> c_int {
    if stack.top() != 1 {
        stack.raise_argument(1, c"expected 1 argument");
    }
    let settings = Settings::of(stack);
    // SAFETY: the argument stays on the stack.
    let text = unsafe { stack.check_bytes_with_zero(1) };
    // JSON begins with a character of ASCII, so a zero there is half of one in another encoding.
    if let [first, second, _, ..] = text
        && (*first == 0 || *second == 0)
    {
        stack.raise(format_args!("JSON parser does not support UTF-16 or UTF-32"));
    }
    Decoder {
        stack,
        lexer: Lexer::new(stack, text, settings.decode_invalid_numbers != 0),
        open: Frames::new(),
        max_depth: settings.decode_max_depth,
    }
    .run();
    1
}

struct Decoder<'s> {
    stack: &'s Stack<'s>,
    lexer: Lexer<'s>,
    open: Frames<Open>,
    max_depth: c_int,
}

impl<'s> Decoder<'s> {
    fn run(&mut self) {
        let mut token = self.lexer.next();
        loop {
            // The token begins a value. If the value is a table with something in it, the next one does too.
            if let Some(inner) = self.begin(token) {
                token = inner;
                continue;
            }
            match self.complete() {
                Some(next) => token = next,
                None => return,
            }
        }
    }

    /// Pushes the value that the token begins. If its first element is still to come, returns the token of that.
    fn begin(&mut self, token: Token<'s>) -> Option<Token<'s>> {
        let stack = self.stack;
        match token {
            Token::Plain(bytes) => stack.push_bytes(bytes),
            Token::Unescaped => stack.push_bytes(self.lexer.unescaped()),
            Token::Number(number) => stack.push_number(number),
            Token::Boolean(value) => stack.push_boolean(value),
            Token::Null => stack.push_null(),
            Token::ObjectBegin => {
                self.descend(Open::Object, 3);
                let first = self.lexer.next();
                if first == Token::ObjectEnd {
                    self.open.pop();
                } else {
                    return Some(self.key(first));
                }
            }
            Token::ArrayBegin => {
                self.descend(Open::Array(1), 2);
                let first = self.lexer.next();
                if first == Token::ArrayEnd {
                    self.open.pop();
                } else {
                    return Some(first);
                }
            }
            other => self.refuse("value", other),
        }
        None
    }

    /// The value on top is complete. Stores it in the table that it is in, and every table that is complete by that in its
    /// own. Returns the token that the next value begins with; nothing at the end of the text.
    fn complete(&mut self) -> Option<Token<'s>> {
        loop {
            match self.open.last() {
                None => {
                    let token = self.lexer.next();
                    if token != Token::End {
                        self.refuse("the end", token);
                    }
                    return None;
                }
                Some(Open::Array(index)) => {
                    self.stack.set_element(-2, *index);
                    *index += 1;
                    match self.lexer.next() {
                        Token::ArrayEnd => self.open.pop(),
                        Token::Comma => return Some(self.lexer.next()),
                        other => self.refuse("comma or array end", other),
                    }
                }
                Some(Open::Object) => {
                    self.stack.raw_set(-3);
                    match self.lexer.next() {
                        Token::ObjectEnd => self.open.pop(),
                        Token::Comma => {
                            let token = self.lexer.next();
                            return Some(self.key(token));
                        }
                        other => self.refuse("comma or object end", other),
                    }
                }
            }
        }
    }

    /// Pushes the key that the token is; returns the token behind the colon.
    fn key(&mut self, token: Token<'s>) -> Token<'s> {
        match token {
            Token::Plain(bytes) => self.stack.push_bytes(bytes),
            Token::Unescaped => self.stack.push_bytes(self.lexer.unescaped()),
            other => self.refuse("object key string", other),
        }
        match self.lexer.next() {
            Token::Colon => self.lexer.next(),
            other => self.refuse("colon", other),
        }
    }

    fn descend(&mut self, table: Open, room: c_int) {
        let depth = self.open.len() as c_int + 1;
        if depth > self.max_depth || !self.stack.has_room(room) || !self.open.push(self.stack, table) {
            let at = self.lexer.at as i32;
            self.stack
                .raise(format_args!("Found too many nested data structures ({depth}) at character {at}"));
        }
        self.stack.push_table(0);
    }

    fn refuse(&self, expected: &str, found: Token<'_>) -> ! {
        let (found, at) = (found.name(), self.lexer.token_at as i32 + 1);
        self.stack.raise(format_args!("Expected {expected} but found {found} at character {at}"));
    }
}
