//! Bytes that are almost RESP: the same replies, the same errors, and a close where redis-server closes.

use crate::conn::encode;
use crate::harness::{Program, pool};
use crate::rng::Rng;
use crate::value::quote;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// What the streams are made of before they are damaged. Nothing here may harm the server, damaged or not.
const COMMANDS: &[&[&str]] = &[
    &["PING"],
    &["PING", "ahoy"],
    &["ECHO", "some words here"],
    &["SET", "key", "value"],
    &["GET", "key"],
    &["INCR", "n"],
    &["MGET", "key", "n", "none"],
    &["DEL", "key", "n"],
    &["NOSUCH", "a", "b"],
    &["STRLEN", "key"],
];

const INLINE: &[&str] = &[
    "PING\r\n",
    "PING\n",
    "ECHO \"a b\"\r\n",
    "ECHO 'a b'\r\n",
    "SET k \"\\x41\\n\"\r\n",
    "GET k\r\n",
    "\r\n",
    "  \r\n",
    "ECHO \"open\r\n",
    "NOSUCH a b\r\n",
];

const FRAGMENTS: &[&str] = &[
    "*",
    "$",
    "\r\n",
    "\n",
    "\r",
    "*1\r\n",
    "*0\r\n",
    "*-1\r\n",
    "$-1\r\n",
    "$0\r\n\r\n",
    "*3\r\n",
    "$4\r\n",
    "*a\r\n",
    "$a\r\n",
    "*99999999999\r\n",
    "$99999999999\r\n",
    "$536870913\r\n",
    "\"",
    "'",
    " ",
    "-",
    "+",
    ":",
    "0",
    "1",
    "*2147483648\r\n",
    "*1\r\n$4\r\nPING\r\n",
];

pub fn run_one(seed: u64, program: Program) {
    let tarn = pool::take_on_time(program);
    let redis = pool::take_on_time(Program::Redis);
    let stream = stream(&mut Rng::new(seed));
    let answers = |stream: &[u8]| (answer(tarn.server.port(), stream), answer(redis.server.port(), stream));
    let differs = |stream: &[u8]| {
        let (tarn, redis) = answers(stream);
        tarn != redis
    };
    if !differs(&stream) {
        return;
    }
    let small = shrink(stream, &differs);
    let (ours, theirs) = answers(&small);
    panic!(
        "{} and redis-server differ on bytes, seed {seed}:\n\n    !raw {}\n\n    tarn:  {}\n    redis: {}\n\nagain: \
         TARN_DIFF_SEED={seed} TARN_DIFF_COMMANDS=1 cargo test --test it diff::differential_raw -- --nocapture",
        program.name(),
        quote(&small),
        quote(&ours),
        quote(&theirs),
    );
}

fn stream(rng: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..=rng.below(5) {
        if rng.percent(70) {
            let command = COMMANDS[rng.below(COMMANDS.len())];
            out.extend(encode(command));
        } else {
            out.extend_from_slice(rng.pick(INLINE).as_bytes());
        }
    }
    for _ in 0..=rng.below(3) {
        damage(rng, &mut out);
    }
    // redis-server looks for line ends as C strings do, so a zero byte hides them: see docs/differences.md.
    out.retain(|b| *b != 0);
    out
}

fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = rng.below(bytes.len());
    match rng.below(6) {
        0 => bytes[at] = rng.below(255) as u8 + 1,
        1 => {
            bytes.remove(at);
        }
        2 => {
            let fragment = rng.pick(FRAGMENTS).as_bytes();
            bytes.splice(at..at, fragment.iter().copied());
        }
        3 => bytes.truncate(at),
        4 => {
            // A digit becomes another one: lengths and counts that do not fit.
            if let Some(digit) = bytes[at..].iter_mut().find(|b| b.is_ascii_digit()) {
                *digit = b'0' + rng.below(10) as u8;
            }
        }
        _ => {
            let end = (at + 1 + rng.below(4)).min(bytes.len());
            bytes.drain(at..end);
        }
    }
}

/// Everything the server says, on an empty database, until it closes. Our side is closed for writing at the end, so
/// it always does.
fn answer(port: u16, stream: &[u8]) -> Vec<u8> {
    let mut control = crate::conn::Conn::connect(port).expect("the server accepts");
    control.call(&["FLUSHALL"]);
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("the server accepts");
    socket.set_read_timeout(Some(crate::conn::READ_TIMEOUT)).unwrap();
    // The server may have closed already; then its answer is still there to be read.
    let _ = socket.write_all(stream);
    let _ = socket.shutdown(Shutdown::Write);
    let mut out = Vec::new();
    match socket.read_to_end(&mut out) {
        Ok(_) => {}
        Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(e) => panic!("the server neither answers nor closes ({e}) after {}", quote(stream)),
    }
    out
}

fn shrink(mut bytes: Vec<u8>, differs: &dyn Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut size = bytes.len() / 2;
    while size > 0 {
        let mut from = 0;
        while from < bytes.len() {
            let mut shorter = bytes.clone();
            shorter.drain(from..(from + size).min(shorter.len()));
            if differs(&shorter) { bytes = shorter } else { from += size }
        }
        size /= 2;
    }
    bytes
}
