//! The same scripts, compared by what subscribers are told: every event, in order.

use super::compare::Mismatch;
use super::play::{self, Script, Step};
use super::{Setup, grammar, shrink};
use crate::conn::{Conn, encode};
use crate::harness::{Program, Server, pool};
use crate::rng::Rng;
use crate::value::Value;

/// What is switched on, in turn: by far the most interest is in everything at once.
const CLASSES: &[&str] = &["KEA", "EAnm", "EA", "KAn"];

/// Commands whose events come in the order of Redis's own tables: they meet all keys, and remove the expired ones.
const MEETS_ALL: &[&[u8]] = &[b"KEYS", b"SCAN", b"RANDOMKEY", b"DBSIZE"];

pub fn run_one(name: &str, seed: u64, families: &[&grammar::Family], steps: usize) {
    let rng = &mut Rng::new(seed);
    let classes = *rng.pick(CLASSES);
    let mut script = grammar::script(rng, families, steps);
    script.steps.retain(|step| match step {
        Step::Command(args) => {
            !MEETS_ALL.iter().any(|name| args[0].eq_ignore_ascii_case(name)) && !sets_past(args)
        }
        Step::Expiring(_) | Step::Pop(_) => true,
        _ => false,
    });
    let setup = Setup::of(seed);
    let mut tarn = pool::take_on_time(setup.program);
    let mut redis = pool::take_on_time(Program::Redis);
    let mut play = |script: &Script| compare(&mut tarn.server, &mut redis.server, classes, script);
    let Some(first) = play(&script) else { return };
    let (script, mismatch) = shrink::shrink(script, first, &mut play);
    super::report(name, seed, setup, &script, &mismatch);
}

/// A key with a time that has passed is there for redis-server until somebody meets it: see docs/differences.md.
fn sets_past(args: &[Vec<u8>]) -> bool {
    let names = |word: &[u8]| word.eq_ignore_ascii_case(b"EXAT") || word.eq_ignore_ascii_case(b"PXAT");
    args[0].eq_ignore_ascii_case(b"SET") && args.iter().any(|word| names(word))
}

/// What stores an empty result in place of a key whose time has come tells `del` in redis-server, which has not looked at
/// the time then: see docs/differences.md.
fn normal(told: String, expires: bool) -> String {
    if expires { told.replace("expired", "del") } else { told }
}

fn compare(tarn: &mut Server, redis: &mut Server, classes: &str, script: &Script) -> Option<Mismatch> {
    let [tarn, redis] = [tarn, redis].map(|server| told(server, classes, script));
    let at = tarn.iter().zip(&redis).position(|(tarn, redis)| tarn != redis);
    let at = at.or((tarn.len() != redis.len()).then(|| tarn.len().min(redis.len())))?;
    let shown = |told: &[String]| told[at.saturating_sub(3)..(at + 3).min(told.len())].join(", ");
    let what = format!("event {at} with notify-keyspace-events {classes}");
    Some(Mismatch::of_script(script, what, shown(&tarn), shown(&redis)))
}

/// Everything that was told while the script was played, as `channel message`.
fn told(server: &mut Server, classes: &str, script: &Script) -> Vec<String> {
    let (mut conn, mut listener) = (server.conn(), server.conn());
    for line in
        ["FLUSHALL", "DEBUG SET-ACTIVE-EXPIRE 0", &format!("CONFIG SET notify-keyspace-events {classes}")]
    {
        assert_eq!(conn.call(&line.split(' ').collect::<Vec<_>>()), Value::ok(), "{line}");
    }
    listener.call(&["PSUBSCRIBE", "__key*"]);
    listener.call(&["SUBSCRIBE", "end"]);
    play_all(&mut conn, script);
    for line in ["CONFIG SET notify-keyspace-events ", "DEBUG SET-ACTIVE-EXPIRE 1"] {
        let mut control = server.conn();
        assert_eq!(control.call(&line.split(' ').collect::<Vec<_>>()), Value::ok(), "{line}");
    }
    server.conn().call(&["PUBLISH", "end", ""]);
    let expires = script.steps.iter().any(|step| matches!(step, Step::Expiring(_)));
    let mut told = Vec::new();
    loop {
        let message = listener.recv();
        let items = message.items().expect("a message");
        if items[0] == Value::bulk("message") {
            return misses_last(told);
        }
        told.push(normal(format!("{} {}", items[2], items[3]), expires));
    }
}

/// A read of several keys removes those that have expired behind it, and tells of those that it missed then: the two kinds
/// of events are compared one after the other, see docs/differences.md.
fn misses_last(told: Vec<String>) -> Vec<String> {
    let (misses, mut told): (Vec<_>, Vec<_>) = told.into_iter().partition(|event| event.contains("keymiss"));
    told.extend(misses);
    told
}

fn play_all(conn: &mut Conn, script: &Script) {
    let mut at = 0;
    let mut group = 0;
    while at < script.steps.len() {
        let size = script.groups[group % script.groups.len()];
        group += 1;
        let batch: Vec<&play::Args> = script.steps[at..]
            .iter()
            .take(size)
            .map_while(|step| match step {
                Step::Command(args) => Some(args),
                _ => None,
            })
            .collect();
        if batch.is_empty() {
            play::special(conn, &script.steps[at]);
            at += 1;
            continue;
        }
        let bytes: Vec<u8> = batch.iter().flat_map(|args| encode(args)).collect();
        conn.send_raw(&bytes);
        for _ in 0..batch.len() {
            conn.recv();
        }
        at += batch.len();
    }
}
