//! What TairHash's own module answered, line by line, with the clock moved where time passed. Where the reply is
//! another one here, on purpose, [`OURS`] has it with the reason.

use super::json::Json;
use crate::conn::Conn;
use crate::harness::{ENGINES, Options, Server, eventually};
use crate::pattern;
use crate::value::Value;

const TRANSCRIPT: &str = include_str!("../../fixtures/tairhash-transcript.jsonl");

/// `exhdelrepl` is the module's way to tell its replicas.
const INTERNAL: &str = "-ERR unknown command 'EXHDELREPL', ...";
const INTERNAL_ARITY: [&str; 5] =
    ["EXHDELREPL", "EXHDELREPL k", "EXHDELREPL k f", "EXHDELREPL k f 1", "EXHDELREPL k f 1 1"];

/// Section, command, and the reply here. A section may have a command more than once: then with the same reply.
const OURS: &[(&str, &str, &str)] = &[
    ("wrongtype", "EXHDELREPL s f", INTERNAL),
    ("missing", "EXHDELREPL k f", INTERNAL),
    // There is one type of hash, and both vocabularies work on it.
    ("wrongtype", "EXHGET h f", r#""v""#),
    ("wrongtype", "EXHSET h f v", ":0"),
    ("wrongtype", "HGET e f", r#""v""#),
    ("wrongtype", "HSET e f v", ":0"),
    ("wrongtype", "HGETALL e", r#"["f" "v"]"#),
    // What fails, or has nothing to do, leaves no empty key behind.
    ("incrby", "EXISTS nk", ":0"),
    ("incrby", "TYPE nk", "+none"),
    ("incrby", "DEL nk", ":0"),
    ("msetwithopts", "EXISTS y", ":0"),
    ("msetwithopts", "EXISTS w", ":0"),
];

fn ours(section: &str, command: &str) -> Option<&'static str> {
    if section == "arity" && INTERNAL_ARITY.contains(&command) {
        return Some(INTERNAL);
    }
    OURS.iter().find(|(at, line, _)| (*at, *line) == (section, command)).map(|(.., reply)| *reply)
}

/// A reply on record.
fn reply(json: &Json) -> Value {
    let value = json.get("v").unwrap();
    let bytes = || value.text().as_bytes().to_vec();
    match json.get("t").unwrap().text() {
        "+" => Value::Simple(bytes()),
        "-" => Value::Error(bytes()),
        ":" => Value::Int(value.number()),
        "$" if *value == Json::Null => Value::NilBulk,
        "$" => Value::Bulk(bytes()),
        "*" => Value::Array(value.list().iter().map(reply).collect()),
        other => panic!("a reply of type {other}"),
    }
}

/// The second part of a SCAN reply in one order, pairs kept together.
fn scanned(value: &Value) -> (Value, Vec<Vec<Value>>) {
    let Value::Array(parts) = value else { panic!("{value} is no page") };
    let Value::Array(found) = &parts[1] else { panic!("{value} is no page") };
    let mut pairs: Vec<Vec<Value>> = found.chunks(2).map(<[Value]>::to_vec).collect();
    pairs.sort();
    (parts[0].clone(), pairs)
}

/// The text with every number left out.
fn shape(text: &Value) -> String {
    let Value::Bulk(text) = text else { panic!("{text} is no text") };
    let text = String::from_utf8(text.clone()).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("db: "));
    lines.map(|line| line.trim_end_matches(|c: char| c.is_ascii_digit())).collect::<Vec<_>>().join("\n")
}

fn is_as_recorded(line: &Json, got: &Value) -> bool {
    let recorded = reply(line.get("reply").unwrap());
    match line.get("cmp").map(Json::text) {
        None => {
            let accepted = line.get("accept").map(Json::list).unwrap_or_default();
            *got == recorded || accepted.iter().any(|other| *got == reply(other))
        }
        Some("range") => match got {
            Value::Int(n) => {
                (line.get("lo").unwrap().number()..=line.get("hi").unwrap().number()).contains(n)
            }
            _ => false,
        },
        Some("scan") => scanned(got) == scanned(&recorded),
        Some("text") => shape(got) == shape(&recorded),
        Some(other) => panic!("{other} is not known"),
    }
}

struct Play {
    server: Server,
    conn: Conn,
    passed_ms: i64,
    section: String,
}

impl Play {
    fn debug(&self, words: &[&str]) {
        let reply = self.server.conn().call(&[&["DEBUG"], words].concat());
        assert_eq!(reply, Value::ok(), "DEBUG {words:?}");
    }

    /// Fields expire by themselves in the one section that is about it. Elsewhere nothing depends on how fast a line
    /// follows another.
    fn enter(&mut self, section: &str) {
        if self.section != section {
            self.section = section.to_owned();
            let on = if section == "expiry-active" { "1" } else { "0" };
            self.debug(&["SET-ACTIVE-EXPIRE", on]);
        }
    }

    /// What is wrong with the line, if anything.
    fn line(&mut self, line: &Json) -> Option<String> {
        self.enter(line.get("sec").unwrap().text());
        if let Some(ms) = line.get("pre_sleep_ms") {
            self.passed_ms += ms.number();
            self.debug(&["TIME-OFFSET", &self.passed_ms.to_string()]);
        }
        let words: Vec<&str> = line.get("cmd").unwrap().list().iter().map(Json::text).collect();
        let mut got = self.conn.call(&words);
        if words == ["DBSIZE"] && self.section == "expiry-active" {
            let recorded = reply(line.get("reply").unwrap());
            eventually("what has expired is reaped", || {
                got = self.conn.call(&words);
                got == recorded
            });
        }
        let command = words.join(" ");
        let right = match ours(&self.section, &command) {
            Some(pattern) => pattern::parse(pattern)[0].matches(&got, false),
            None => is_as_recorded(line, &got),
        };
        (!right).then(|| {
            let recorded = reply(line.get("reply").unwrap());
            format!("{}: {command}\n    recorded: {recorded}\n    got:      {got}", self.section)
        })
    }
}

#[test]
fn replies_are_those_of_the_module() {
    let lines: Vec<Json> = TRANSCRIPT.lines().map(Json::parse).collect();
    assert!(lines.len() > 1_100);
    for program in ENGINES {
        for mode in ["sort", "scan"] {
            let options =
                Options::new(program).with("enable-debug-command", "yes").with("active-expire-mode", mode);
            let server = Server::start(options);
            let conn = server.conn();
            let mut play = Play { server, conn, passed_ms: 0, section: String::new() };
            let wrong: Vec<String> = lines.iter().filter_map(|line| play.line(line)).collect();
            assert!(
                wrong.is_empty(),
                "{} with {mode}: {} lines differ:\n{}",
                program.name(),
                wrong.len(),
                wrong.join("\n")
            );
        }
    }
}

#[test]
fn every_difference_is_a_line() {
    let lines: Vec<Json> = TRANSCRIPT.lines().map(Json::parse).collect();
    for (section, command, _) in OURS {
        let is_there = lines.iter().any(|line| {
            let words: Vec<&str> = line.get("cmd").unwrap().list().iter().map(Json::text).collect();
            line.get("sec").unwrap().text() == *section && words.join(" ") == *command
        });
        assert!(is_there, "{section}: {command}");
    }
}
