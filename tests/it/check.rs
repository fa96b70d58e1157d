//! Wire lines: commands, and the exact replies to them.
//!
//! `check("SET k v | GET k", "+OK | \"v\"")` plays the commands, one after the other, to an empty server over every
//! engine and both protocols and compares what comes back. Arguments are quoted as in redis-cli; `"x"*4096` repeats.
//! Expectations are described in [`crate::pattern`]. A command may be preceded by `@name`, to run on a further connection of
//! that name. A blocking command whose reply is `none` waits when the next step begins. Instead of a command there may be
//!
//! * `!raw "bytes"`: send these bytes as they are;
//! * `!recv`: read one more reply;
//! * `!time 1500`: move the server's clock ahead by so many milliseconds (redis-server: wait for so long).
//!
//! Environment: `TARN_CHECK_AGAINST=redis` runs the lines against redis-server. `TARN_CHECK_PRINT=file` appends what was
//! answered (source position, RESP2, RESP3) to the file and compares nothing.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use crate::certs::Files;
use crate::conn::{Conn, RecvError};
use crate::harness::pool::{self, Shared};
use crate::harness::{ENGINES, Options, Program, Server, eventually};
use crate::pattern::{self, Pattern};
use crate::value::Value;

/// The same replies in both protocols.
#[track_caller]
pub fn check(line: &str, expected: &str) {
    run(line, [expected, expected], None, false);
}

/// As [`check`], of names that are too long for engine tikv.
#[track_caller]
pub fn check_long(line: &str, expected: &str) {
    check_local(line, expected);
}

/// As [`check`], of what engine tikv answers otherwise, on purpose: see docs/differences.md.
#[track_caller]
pub fn check_local(line: &str, expected: &str) {
    let programs: Vec<Program> = match against_redis() {
        true => vec![Program::Redis],
        false => ENGINES.into_iter().filter(|program| !is_tikv(*program)).collect(),
    };
    run_on(&programs, line, [expected, expected], None);
}

/// Replies that differ between RESP2 and RESP3.
#[track_caller]
pub fn check3(line: &str, resp2: &str, resp3: &str) {
    run(line, [resp2, resp3], None, false);
}

/// A line that redis-server answers otherwise, on purpose: see docs/differences.md.
#[track_caller]
pub fn tarn_only(line: &str, expected: &str) {
    run(line, [expected, expected], None, true);
}

/// As [`tarn_only`], with replies that differ between RESP2 and RESP3.
#[track_caller]
pub fn tarn_only3(line: &str, resp2: &str, resp3: &str) {
    run(line, [resp2, resp3], None, true);
}

/// As [`tarn_only`], on a server of its own, started with `--name value` options.
#[track_caller]
pub fn tarn_only_with(options: &[(&str, &str)], line: &str, expected: &str) {
    run(line, [expected, expected], Some(options), true);
}

/// On a server of its own, started with `--name value` options.
#[track_caller]
pub fn check_with(options: &[(&str, &str)], line: &str, expected: &str) {
    run(line, [expected, expected], Some(options), false);
}

/// As [`check_with`], over RESP2 only: where a line begins before HELLO is allowed.
#[track_caller]
pub fn check2_with(options: &[(&str, &str)], line: &str, expected: &str) {
    run(line, [expected, ""], Some(options), false);
}

/// Over TLS, on a server of its own: all lines one after the other.
#[track_caller]
pub fn check_over_tls(files: &Arc<Files>, lines: &[(&str, &str)]) {
    for program in ENGINES {
        let options = Options::new(program).over_tls(files);
        let mut own = Shared { server: Server::start(options), clock_offset_ms: 0 };
        for (line, expected) in lines {
            let (steps, patterns) = (parse(line), pattern::parse(expected));
            for resp3 in [false, true] {
                let replies = play(&mut own, &steps, &patterns, resp3);
                let shown: Vec<String> = replies.iter().map(Got::show).collect();
                let right = replies.iter().zip(&patterns).all(|(reply, pattern)| reply.matches(pattern));
                assert!(
                    right,
                    "{} over TLS:\n    {line}\n    {expected}\n    {}",
                    program.name(),
                    shown.join(" | ")
                );
            }
        }
    }
}

fn against_redis() -> bool {
    match std::env::var("TARN_CHECK_AGAINST") {
        Ok(name) if name == "redis" => true,
        Ok(name) => panic!("TARN_CHECK_AGAINST={name}: only `redis` is known"),
        Err(_) => false,
    }
}

#[track_caller]
fn run(line: &str, expected: [&str; 2], options: Option<&[(&str, &str)]>, tarn_only: bool) {
    let programs = match against_redis() {
        true if tarn_only => return,
        true => &[Program::Redis][..],
        false => &ENGINES[..],
    };
    run_on(programs, line, expected, options);
}

#[track_caller]
fn run_on(programs: &[Program], line: &str, expected: [&str; 2], options: Option<&[(&str, &str)]>) {
    let steps = parse(line);
    let print = std::env::var("TARN_CHECK_PRINT").ok();
    let mut printed = Vec::new();
    for &program in programs {
        for resp3 in [false, true] {
            if expected[usize::from(resp3)].is_empty() {
                continue;
            }
            let patterns = match print {
                None => pattern::parse(expected[usize::from(resp3)]),
                Some(_) => steps.iter().map(Step::open_expectation).collect(),
            };
            assert_eq!(steps.len(), patterns.len(), "as many replies as commands: {line}");
            let play = || match options {
                None => play(&mut pool::take(program), &steps, &patterns, resp3),
                Some(options) => {
                    let options = options.iter().fold(Options::new(program), |o, (k, v)| o.with(k, v));
                    let mut own = Shared { server: Server::start(options), clock_offset_ms: 0 };
                    play(&mut own, &steps, &patterns, resp3)
                }
            };
            let mut replies = play();
            for _ in 0..MAX_ABORTS {
                if is_tikv(program) && is_aborted(&steps, &replies, &patterns) {
                    replies = play();
                }
            }
            let shown: Vec<String> = replies.iter().map(Got::show).collect();
            if print.is_some() {
                printed.push(shown.join(" | "));
                continue;
            }
            let wrong = (0..steps.len()).find(|&i| !replies[i].matches(&patterns[i]));
            if let Some(i) = wrong {
                panic!(
                    "{} over RESP{}, command {}:\n    line:     {line}\n    expected: {}\n    got:      {}",
                    program.name(),
                    if resp3 { 3 } else { 2 },
                    i + 1,
                    expected[usize::from(resp3)],
                    shown.join(" | "),
                );
            }
        }
    }
    if let Some(path) = print {
        let at = Location::caller();
        let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
        let text = format!("{}:{}\t{}\t{}\n", at.file(), at.line(), printed[0], printed.last().unwrap());
        file.write_all(text.as_bytes()).unwrap();
    }
}

/// How often a line is played again because an EXEC was refused on a cluster.
const MAX_ABORTS: usize = 4;

fn is_tikv(program: Program) -> bool {
    program.name() == "tarn --engine tikv"
}

/// Whether an EXEC was refused that should not have been, and all was well before. On a cluster a run that met a conflict and was rolled back
/// counts as a change of the watched keys it wanted to write (docs/decisions/0031-several-nodes.md), and one commit of a hundred does here.
fn is_aborted(steps: &[Step], replies: &[Got], patterns: &[Pattern]) -> bool {
    let wrong = (0..steps.len()).find(|&i| !replies[i].matches(&patterns[i]));
    wrong.is_some_and(|i| {
        let is_exec = matches!(&steps[i].action, Action::Command(args) if args[0].eq_ignore_ascii_case(b"EXEC"));
        let is_watching =
            |step: &Step| matches!(&step.action, Action::Command(args) if args[0].eq_ignore_ascii_case(b"WATCH"));
        let is_nil = matches!(&replies[i], Got::Reply(reply, _) if reply.is_nil());
        is_exec && is_nil && steps[..i].iter().any(is_watching)
    })
}

enum Got {
    /// The reply, and whether its connection spoke RESP3.
    Reply(Value, bool),
    NotRead,
    Failed(RecvError),
}

impl Got {
    fn matches(&self, pattern: &Pattern) -> bool {
        match (self, pattern) {
            (Got::Reply(value, resp3), pattern) => pattern.matches(value, *resp3),
            (Got::NotRead, Pattern::NoReply) | (Got::Failed(RecvError::Closed), Pattern::Closed) => true,
            _ => false,
        }
    }

    fn show(&self) -> String {
        match self {
            Got::Reply(value, _) => value.to_string(),
            Got::NotRead => "none".into(),
            Got::Failed(RecvError::Closed) => "closed".into(),
            Got::Failed(other) => format!("({other})"),
        }
    }
}

#[derive(Debug)]
struct Step {
    /// Which connection; the first is nameless.
    on: String,
    action: Action,
}

#[derive(Debug)]
enum Action {
    Command(Vec<Vec<u8>>),
    Raw(Vec<u8>),
    Recv,
    MoveTime(u64),
}

impl Step {
    /// HELLO and RESET in a line change what nil looks like from there on.
    fn note_protocol(&self, reply: &Value, conn: &mut Conn) {
        let Action::Command(args) = &self.action else { return };
        if args[0].eq_ignore_ascii_case(b"RESET") {
            conn.resp3 = false;
        } else if args[0].eq_ignore_ascii_case(b"HELLO") && !reply.is_error() && args.len() > 1 {
            conn.resp3 = args[1] == b"3";
        }
    }

    /// Whether it is a command that may have to wait.
    fn waits(&self) -> bool {
        let Action::Command(args) = &self.action else { return false };
        let name = args[0].to_ascii_uppercase();
        matches!(
            &*name,
            b"BLPOP"
                | b"BRPOP"
                | b"BLMOVE"
                | b"BLMOVEM"
                | b"BRPOPLPUSH"
                | b"BLMPOP"
                | b"BZPOPMIN"
                | b"BZPOPMAX"
                | b"BZMPOP"
                | b"XREAD"
                | b"XREADGROUP"
        )
    }

    fn open_expectation(&self) -> Pattern {
        match &self.action {
            Action::MoveTime(_) => Pattern::NoReply,
            _ => Pattern::Any,
        }
    }
}

fn play(shared: &mut Shared, steps: &[Step], patterns: &[Pattern], resp3: bool) -> Vec<Got> {
    let open = |shared: &Shared| if resp3 { shared.server.conn3() } else { shared.server.conn() };
    let mut control = shared.server.conn();
    let flushed = control.call(&["FLUSHALL"]);
    assert!(flushed == Value::ok() || wants_password(&flushed), "FLUSHALL answered {flushed}");
    if flushed == Value::ok() {
        // What they subscribe to would be counted.
        eventually("the clients of the line before are gone", || {
            let info = control.call(&["INFO", "clients"]);
            info.bytes().is_some_and(|text| memchr::memmem::find(text, b"connected_clients:1\r\n").is_some())
        });
    }
    // It would be listed as long as the server has not noticed that it is gone.
    control.call(&["QUIT"]);
    assert!(control.closes(), "QUIT closes the connection");
    let mut conns: BTreeMap<&str, Conn> = BTreeMap::new();
    let mut replies = Vec::new();
    for (step, pattern) in steps.iter().zip(patterns) {
        let waits = step.waits() && matches!(pattern, Pattern::NoReply);
        let conn = conns.entry(&step.on).or_insert_with(|| open(shared));
        let sent = match &step.action {
            Action::Command(args) => conn.try_send_raw(&crate::conn::encode(args)),
            Action::Raw(bytes) => conn.try_send_raw(bytes),
            Action::Recv => Ok(()),
            Action::MoveTime(ms) => {
                move_time(shared, *ms);
                replies.push(Got::NotRead);
                continue;
            }
        };
        replies.push(match (sent, pattern) {
            (_, Pattern::NoReply) => {
                if waits {
                    wait_until_blocked(shared, &conn.address());
                }
                Got::NotRead
            }
            (Err(_), _) => Got::Failed(RecvError::Closed),
            (Ok(()), _) => match conn.try_recv() {
                Ok(reply) => {
                    step.note_protocol(&reply, conn);
                    Got::Reply(reply, conn.resp3)
                }
                Err(why) => Got::Failed(why),
            },
        });
    }
    replies
}

/// What another connection sends next must not come before a blocking command that was sent first.
fn wait_until_blocked(shared: &Shared, address: &str) {
    let mut control = shared.server.conn();
    eventually("the client of a blocking command waits", || {
        let clients = control.call(&["CLIENT", "LIST"]);
        let Some(clients) = clients.bytes() else { return wants_password(&clients) };
        let clients = String::from_utf8_lossy(clients);
        let line = clients.lines().find(|line| line.contains(&format!(" addr={address} ")));
        let flags =
            line.and_then(|line| line.split_once(" flags=")).and_then(|(_, rest)| rest.split(' ').next());
        flags.is_some_and(|flags| flags.contains('b'))
    });
    control.call(&["QUIT"]);
    assert!(control.closes(), "QUIT closes the connection");
}

/// A server that wants a password refuses FLUSHALL, and is a fresh one.
fn wants_password(reply: &Value) -> bool {
    matches!(reply, Value::Error(text) if text.starts_with(b"NOAUTH"))
}

fn move_time(shared: &mut Shared, ms: u64) {
    if shared.server.program() == Program::Redis {
        std::thread::sleep(Duration::from_millis(ms));
        return;
    }
    shared.clock_offset_ms += ms;
    let offset = shared.clock_offset_ms.to_string();
    let reply = shared.server.conn().call(&["DEBUG", "TIME-OFFSET", &offset]);
    assert_eq!(reply, Value::ok(), "DEBUG TIME-OFFSET {offset}");
}

fn parse(line: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut rest = line.as_bytes();
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() || rest == b"|" || rest.starts_with(b"| ") {
            steps.push(step(std::mem::take(&mut words), line));
            if rest.is_empty() {
                return steps;
            }
            rest = &rest[1..];
        } else {
            let (word, used) =
                word(rest).unwrap_or_else(|| panic!("quotes that are not closed in the line {line:?}"));
            words.push(word);
            rest = &rest[used..];
        }
    }
}

/// The words of a line with one command.
pub fn split_words(line: &str) -> Vec<Vec<u8>> {
    match parse(line).remove(0).action {
        Action::Command(words) => words,
        other => panic!("{other:?} is no command"),
    }
}

fn step(mut words: Vec<Vec<u8>>, line: &str) -> Step {
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let on = match words.first() {
        Some(word) if word.starts_with(b"@") => text(&words.remove(0)),
        _ => String::new(),
    };
    let action = match words.first().map(Vec::as_slice) {
        Some(b"!raw") => Action::Raw(words[1..].concat()),
        Some(b"!recv") => Action::Recv,
        Some(b"!time") => Action::MoveTime(text(&words[1]).parse().expect("milliseconds")),
        Some(_) => Action::Command(words),
        None => panic!("an empty command in the line {line:?}"),
    };
    Step { on, action }
}

/// One argument off the front and the bytes it took.
fn word(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    match text[0] {
        b'"' | b'\'' => quoted(text),
        _ => {
            let len = text.iter().position(|b| *b == b' ').unwrap_or(text.len());
            Some((text[..len].to_vec(), len))
        }
    }
}

/// A string in single or double quotes, with an optional `*count` behind, and the bytes it took.
pub fn quoted(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let quote = text[0];
    let mut out = Vec::new();
    let mut at = 1;
    loop {
        let byte = *text.get(at)?;
        at += 1;
        if byte == quote {
            break;
        }
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let escaped = *text.get(at)?;
        at += 1;
        if quote == b'\'' {
            if escaped != b'\'' {
                out.push(b'\\');
            }
            out.push(escaped);
            continue;
        }
        out.push(match escaped {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 7,
            b'b' => 8,
            b'x' => {
                let hex = std::str::from_utf8(text.get(at..at + 2)?).ok()?;
                at += 2;
                u8::from_str_radix(hex, 16).ok()?
            }
            other => other,
        });
    }
    if text.get(at) == Some(&b'*') {
        let digits = text[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let count = std::str::from_utf8(&text[at + 1..at + 1 + digits]).unwrap().parse().ok()?;
        return Some((out.repeat(count), at + 1 + digits));
    }
    Some((out, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_as_in_redis_cli() {
        let args: Vec<Vec<u8>> = vec![b"SET".into(), b"a b".into(), b"\x00\n\"|".into(), b"".into()];
        assert_eq!(split_words(r#"SET 'a b' "\x00\n\"|" """#), args);
        assert_eq!(split_words(r#"ECHO "ab"*3"#)[1], b"ababab");
        assert_eq!(split_words(r"ECHO 'it\'s \n'")[1], br"it's \n");
    }

    #[test]
    fn a_bar_separates_commands_only_between_spaces() {
        assert_eq!(parse("GET a|b | GET c").len(), 2);
        assert_eq!(parse(r#"ECHO " | " | @two PING"#).len(), 2);
        assert_eq!(parse("PING | @two PING")[1].on, "@two");
    }
}
