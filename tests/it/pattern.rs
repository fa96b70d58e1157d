//! What a test expects: the notation of [`Value`] with a few ways to leave something open.
//!
//! | written | matches |
//! |---|---|
//! | `"foo"`, `"x"*4096` | that string |
//! | `%"a...b"` | a string, plain or verbatim, where `...` stands for anything |
//! | `+OK`, `-ERR ... text` | a status, an error, where `...` stands for anything |
//! | `:2`, `:5..10` | an integer, an integer from 5 to 10 |
//! | `nil`, `nil[]` | the protocol's nil; where RESP2 has two of them, the string's and the array's |
//! | `["a" :1]`, `~["a" "b"]` | an array in order, in any order |
//! | `{"k" :1}`, `~{"k" :1}` | a map in order, in any order |
//! | `#{"a" "b"}` | a set, in any order |
//! | `>["a"]` | a push message |
//! | `,1.5` `(12` `#t` `=txt:"a"` | a double, a big number, a boolean, a verbatim string |
//! | `...` | any reply |
//! | `none`, `closed` | nothing is read; the connection was closed |

use crate::value::Value;

#[derive(Debug, Clone)]
pub enum Pattern {
    Any,
    /// No reply is due, so none is read.
    NoReply,
    Closed,
    Exact(Value),
    Glob(Kind, Vec<u8>),
    Range(i64, i64),
    Nil {
        array: bool,
    },
    List(ListKind, Vec<Pattern>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Simple,
    Error,
    String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    Array,
    AnyOrder,
    /// Keys and values in turn.
    Map,
    MapAnyOrder,
    Set,
    Push,
}

impl Pattern {
    /// `resp3` decides what nil looks like.
    pub fn matches(&self, value: &Value, resp3: bool) -> bool {
        match (self, value) {
            (Pattern::Any, _) => true,
            (Pattern::Exact(expected), value) => expected == value,
            (Pattern::Range(from, to), Value::Int(n)) => from <= n && n <= to,
            (Pattern::Nil { .. }, Value::Null) => resp3,
            (Pattern::Nil { array: false }, Value::NilBulk) => !resp3,
            (Pattern::Nil { array: true }, Value::NilArray) => !resp3,
            (Pattern::Glob(Kind::Simple, glob), Value::Simple(text))
            | (Pattern::Glob(Kind::Error, glob), Value::Error(text))
            | (Pattern::Glob(Kind::String, glob), Value::Bulk(text) | Value::Verbatim(_, text)) => {
                glob_matches(glob, text)
            }
            (Pattern::List(kind, patterns), value) => match (kind, value) {
                (ListKind::Array, Value::Array(items)) | (ListKind::Push, Value::Push(items)) => {
                    in_order(patterns, items, resp3)
                }
                (ListKind::AnyOrder, Value::Array(items)) | (ListKind::Set, Value::Set(items)) => {
                    any_order(patterns, items, 1, resp3)
                }
                (ListKind::Map, Value::Map(pairs)) => in_order(patterns, &flat(pairs), resp3),
                (ListKind::MapAnyOrder, Value::Map(pairs)) => any_order(patterns, &flat(pairs), 2, resp3),
                _ => false,
            },
            _ => false,
        }
    }
}

fn flat(pairs: &[(Value, Value)]) -> Vec<Value> {
    pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect()
}

/// Element by element; a last `...` stands for any number of elements.
fn in_order(patterns: &[Pattern], items: &[Value], resp3: bool) -> bool {
    let (patterns, open) = match patterns.split_last() {
        Some((Pattern::Any, rest)) if items.len() >= rest.len() => (rest, true),
        _ => (patterns, false),
    };
    (open || patterns.len() == items.len())
        && patterns.iter().zip(items).all(|(pattern, item)| pattern.matches(item, resp3))
}

/// Every group of `width` items is taken by one group of patterns. Greedy, which is enough while the patterns of a
/// list do not overlap. A last `...` stands for any number of elements.
fn any_order(patterns: &[Pattern], items: &[Value], width: usize, resp3: bool) -> bool {
    let (patterns, open) = match patterns.split_last() {
        Some((Pattern::Any, rest)) if rest.len() % width == 0 => (rest, true),
        _ => (patterns, false),
    };
    let mut left: Vec<&[Value]> = items.chunks(width).collect();
    for group in patterns.chunks(width) {
        let Some(at) = left.iter().position(|item| {
            item.len() == group.len() && group.iter().zip(*item).all(|(p, v)| p.matches(v, resp3))
        }) else {
            return false;
        };
        left.swap_remove(at);
    }
    open || left.is_empty()
}

fn glob_matches(glob: &[u8], text: &[u8]) -> bool {
    let Some(at) = glob.windows(3).position(|w| w == b"...") else { return glob == text };
    let (head, tail) = (&glob[..at], &glob[at + 3..]);
    text.starts_with(head) && (head.len()..=text.len()).any(|from| glob_matches(tail, &text[from..]))
}

/// The expectations of a line, one per reply, separated by ` | `.
pub fn parse(text: &str) -> Vec<Pattern> {
    let mut parser = Parser { text: text.as_bytes(), at: 0 };
    let mut patterns = Vec::new();
    loop {
        patterns.push(parser.pattern(true));
        parser.spaces();
        match parser.peek() {
            None => return patterns,
            Some(b'|') => parser.at += 1,
            Some(_) => panic!("expected ` | ` at byte {} of {text:?}", parser.at),
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let eaten = self.text[self.at..].starts_with(prefix.as_bytes());
        if eaten {
            self.at += prefix.len();
        }
        eaten
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{what} at byte {} of the expectation {:?}", self.at, String::from_utf8_lossy(self.text))
    }

    /// Up to a space or a closing bracket.
    fn word(&mut self) -> &str {
        let start = self.at;
        while self.peek().is_some_and(|b| !b" ]}".contains(&b)) {
            self.at += 1;
        }
        std::str::from_utf8(&self.text[start..self.at]).unwrap()
    }

    fn string(&mut self) -> Vec<u8> {
        match crate::check::quoted(&self.text[self.at..]) {
            Some((bytes, used)) => {
                self.at += used;
                bytes
            }
            None => self.fail("a string that does not end"),
        }
    }

    /// A status or an error: quoted, or at the top up to the next ` | `, or in a collection one word.
    fn text_line(&mut self, top: bool) -> Vec<u8> {
        if self.peek() == Some(b'"') {
            return self.string();
        }
        if !top {
            return self.word().as_bytes().to_vec();
        }
        let rest = &self.text[self.at..];
        let len = rest.windows(3).position(|w| w == b" | ").unwrap_or(rest.len());
        self.at += len;
        rest[..len].trim_ascii().to_vec()
    }

    fn number(&mut self) -> Pattern {
        let word = self.word().to_owned();
        let parse = |s: &str| s.parse::<i64>().unwrap_or_else(|_| panic!("{s:?} is not an integer"));
        match word.split_once("..") {
            Some((from, to)) => Pattern::Range(parse(from), parse(to)),
            None => Pattern::Exact(Value::Int(parse(&word))),
        }
    }

    fn list(&mut self, kind: ListKind, close: u8) -> Pattern {
        let mut items = Vec::new();
        loop {
            self.spaces();
            match self.peek() {
                Some(b) if b == close => {
                    self.at += 1;
                    return Pattern::List(kind, items);
                }
                Some(_) => items.push(self.pattern(false)),
                None => self.fail("a collection that does not end"),
            }
        }
    }

    fn pattern(&mut self, top: bool) -> Pattern {
        self.spaces();
        match self.peek() {
            Some(b'"') => Pattern::Exact(Value::Bulk(self.string())),
            Some(b'+') => {
                self.at += 1;
                Pattern::Glob(Kind::Simple, self.text_line(top))
            }
            Some(b'-') => {
                self.at += 1;
                Pattern::Glob(Kind::Error, self.text_line(top))
            }
            Some(b'%') => {
                self.at += 1;
                Pattern::Glob(Kind::String, self.string())
            }
            Some(b':') => {
                self.at += 1;
                self.number()
            }
            Some(b',') => {
                self.at += 1;
                Pattern::Exact(Value::Double(self.word().as_bytes().to_vec()))
            }
            Some(b'(') => {
                self.at += 1;
                Pattern::Exact(Value::BigNumber(self.word().as_bytes().to_vec()))
            }
            Some(b'=') => {
                let format = self.text[self.at + 1..self.at + 4].to_vec();
                self.at += 5;
                Pattern::Exact(Value::Verbatim(format, self.string()))
            }
            _ if self.eat("~[") => self.list(ListKind::AnyOrder, b']'),
            _ if self.eat("[") => self.list(ListKind::Array, b']'),
            _ if self.eat(">[") => self.list(ListKind::Push, b']'),
            _ if self.eat("#{") => self.list(ListKind::Set, b'}'),
            _ if self.eat("~{") => self.list(ListKind::MapAnyOrder, b'}'),
            _ if self.eat("{") => self.list(ListKind::Map, b'}'),
            _ if self.eat("nil[]") => Pattern::Nil { array: true },
            _ => match self.word() {
                "nil" => Pattern::Nil { array: false },
                "..." => Pattern::Any,
                "none" => Pattern::NoReply,
                "closed" => Pattern::Closed,
                "#t" => Pattern::Exact(Value::Bool(true)),
                "#f" => Pattern::Exact(Value::Bool(false)),
                _ => self.fail("not a reply"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::decode;

    fn matches(pattern: &str, wire: &[u8], resp3: bool) -> bool {
        let (value, used) = decode(wire).unwrap().unwrap();
        assert_eq!(used, wire.len());
        let patterns = parse(pattern);
        assert_eq!(patterns.len(), 1);
        patterns[0].matches(&value, resp3)
    }

    #[test]
    fn strings_compare_in_full() {
        assert!(matches(r#""a\x00b""#, b"$3\r\na\0b\r\n", false));
        assert!(!matches(r#""a""#, b"+a\r\n", false));
        assert!(!matches("+a", b"$1\r\na\r\n", false));
        assert!(matches(r#""x"*5"#, b"$5\r\nxxxxx\r\n", false));
        assert!(!matches(r#""x"*5"#, b"$4\r\nxxxx\r\n", false));
    }

    #[test]
    fn nil_is_the_protocols_own() {
        assert!(matches("nil", b"$-1\r\n", false));
        assert!(!matches("nil", b"*-1\r\n", false));
        assert!(matches("nil[]", b"*-1\r\n", false));
        assert!(matches("nil", b"_\r\n", true));
        assert!(!matches("nil", b"_\r\n", false));
        assert!(!matches("nil", b"$-1\r\n", true));
    }

    #[test]
    fn wildcards_and_ranges() {
        assert!(matches("-ERR ... command", b"-ERR no such command\r\n", false));
        assert!(!matches("-ERR ... command", b"-ERR no such thing\r\n", false));
        assert!(matches(":1..3", b":3\r\n", false));
        assert!(!matches(":1..3", b":4\r\n", false));
        assert!(matches(r#"%"a...c""#, b"$3\r\nabc\r\n", false));
        assert!(matches("[:1 ...]", b"*2\r\n:1\r\n:2\r\n", false));
    }

    #[test]
    fn order_counts_only_where_it_is_asked_for() {
        let wire = b"*2\r\n:1\r\n:2\r\n";
        assert!(matches("[:1 :2]", wire, false));
        assert!(!matches("[:2 :1]", wire, false));
        assert!(matches("~[:2 :1]", wire, false));
        assert!(!matches("~[:2 :2]", wire, false));
        assert!(!matches("[:1]", wire, false));
        assert!(matches("~{:3 :4 :1 :2}", b"%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", true));
        assert!(!matches("~{:1 :4 :3 :2}", b"%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", true));
    }

    #[test]
    fn the_notation_of_a_value_matches_it() {
        for wire in [
            &b"*3\r\n$1\r\na\r\n+OK\r\n-ERR a b\r\n"[..],
            b"%1\r\n+k\r\n*1\r\n:5\r\n",
            b"~2\r\n#t\r\n,1.5\r\n",
            b">1\r\n=5\r\ntxt:a\r\n",
            b"-ERR a b\r\n",
        ] {
            let (value, _) = decode(wire).unwrap().unwrap();
            assert!(matches(&value.to_string(), wire, true), "{value}");
        }
    }
}
