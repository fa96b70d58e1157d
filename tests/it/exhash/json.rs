//! As much of JSON as the transcript needs.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(i64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    pub fn parse(text: &str) -> Json {
        let mut parser = Parser { text: text.as_bytes(), at: 0 };
        let value = parser.value();
        parser.spaces();
        assert_eq!(parser.at, text.len(), "all of {text}");
        value
    }

    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.get(name),
            other => panic!("{other:?} is no object"),
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }

    pub fn number(&self) -> i64 {
        match self {
            Json::Number(number) => *number,
            other => panic!("{other:?} is no number"),
        }
    }

    pub fn list(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            other => panic!("{other:?} is no list"),
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn spaces(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, word: &str) -> bool {
        self.spaces();
        let eaten = self.text[self.at..].starts_with(word.as_bytes());
        self.at += if eaten { word.len() } else { 0 };
        eaten
    }

    fn value(&mut self) -> Json {
        if self.eat("null") {
            Json::Null
        } else if self.eat("true") {
            Json::Bool(true)
        } else if self.eat("false") {
            Json::Bool(false)
        } else if self.eat("[") {
            let mut items = Vec::new();
            while !self.eat("]") {
                items.push(self.value());
                self.eat(",");
            }
            Json::List(items)
        } else if self.eat("{") {
            let mut fields = BTreeMap::new();
            while !self.eat("}") {
                let name = self.value().text().to_owned();
                assert!(self.eat(":"), "a colon behind {name}");
                fields.insert(name, self.value());
                self.eat(",");
            }
            Json::Object(fields)
        } else if self.eat("\"") {
            Json::Text(self.string())
        } else {
            let start = self.at;
            while self.text.get(self.at).is_some_and(|b| b.is_ascii_digit() || *b == b'-') {
                self.at += 1;
            }
            Json::Number(std::str::from_utf8(&self.text[start..self.at]).unwrap().parse().unwrap())
        }
    }

    /// Behind the opening quote.
    fn string(&mut self) -> String {
        let mut out = Vec::new();
        loop {
            let byte = self.text[self.at];
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(out).unwrap(),
                b'\\' => {
                    let escaped = self.text[self.at];
                    self.at += 1;
                    let letter = match escaped {
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => {
                            let hex = std::str::from_utf8(&self.text[self.at..self.at + 4]).unwrap();
                            self.at += 4;
                            char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap()
                        }
                        other => char::from(other),
                    };
                    out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
                other => out.push(other),
            }
        }
    }
}

#[test]
fn values_are_read() {
    let value = Json::parse(r#"{"a": [1, -2, null, true], "b": "x\u0000\n\""}"#);
    let list = [Json::Number(1), Json::Number(-2), Json::Null, Json::Bool(true)];
    assert_eq!(value.get("a").unwrap().list(), list);
    assert_eq!(value.get("b").unwrap().text(), "x\0\n\"");
}
