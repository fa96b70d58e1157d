//! Commands in text, one per line, for tests that run the double as a process of its own. Each has one line as its answer:
//! `ok`, what was asked for, or `error` with a reason.

use std::time::Duration;

use crate::counts::Call;
use crate::faults::{Fault, Rates, Rule};
use crate::options::set_rate;
use crate::{Double, Region};

const HELP: &str = "split KEY | merge KEY | leader KEY [STORE] | spread | elect STORE | stop-store ID | start-store ID | \
stop-pd | start-pd | advance-ms N | rates [NAME VALUE]... | fault FAULT CALL [TIMES [SKIP]] | clear | counts | struck | \
regions | locks | waiting | timestamp";

/// Carries out one command.
pub fn obey(double: &Double, line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    answer(double, &words).unwrap_or_else(|error| format!("error {error}"))
}

fn answer(double: &Double, words: &[&str]) -> Result<String, String> {
    let done = |done: bool| if done { Ok("ok".to_owned()) } else { Err("nothing to do".to_owned()) };
    match *words {
        ["help"] => Ok(HELP.to_owned()),
        ["split", key] => done(double.split(key.as_bytes())),
        ["merge", key] => done(double.merge(key.as_bytes())),
        ["leader", key] => Ok(double.leader_of(key.as_bytes()).to_string()),
        ["leader", key, store] => done(double.move_leader(key.as_bytes(), number(store)?)),
        ["spread"] => {
            double.spread_leaders();
            done(true)
        }
        ["elect", store] => {
            double.move_leaders_off(number(store)?);
            done(true)
        }
        ["stop-store", id] => {
            double.stop_store(number(id)?);
            done(true)
        }
        ["start-store", id] => started(double.start_store(number(id)?)),
        ["stop-pd"] => {
            double.stop_pd();
            done(true)
        }
        ["start-pd"] => started(double.start_pd()),
        ["advance-ms", ms] => {
            double.advance_clock(Duration::from_millis(number(ms)?));
            done(true)
        }
        ["rates", ref pairs @ ..] => {
            double.set_rates(rates(pairs)?);
            done(true)
        }
        ["fault", fault, call, ref rest @ ..] => {
            double.inject(rule(fault, call, rest)?);
            done(true)
        }
        ["clear"] => {
            double.clear_faults();
            done(true)
        }
        ["counts"] => Ok(double.counts().to_string()),
        ["struck"] => Ok(double.faults_struck().to_string()),
        ["regions"] => Ok(double.regions().iter().map(describe).collect::<Vec<_>>().join(" ")),
        ["locks"] => Ok(double.locks().len().to_string()),
        ["waiting"] => Ok(double.waiting().to_string()),
        ["timestamp"] => Ok(double.timestamp().to_string()),
        _ => Err("not understood; `help` lists the commands".to_owned()),
    }
}

fn started(result: std::io::Result<()>) -> Result<String, String> {
    result.map(|()| "ok".to_owned()).map_err(|error| error.to_string())
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{word} is not a number"))
}

fn rates(pairs: &[&str]) -> Result<Rates, String> {
    let mut rates = Rates::default();
    for pair in pairs.chunks(2) {
        let [name, value] = pair else { return Err("a value is missing".to_owned()) };
        set_rate(&mut rates, name, value)?;
    }
    Ok(rates)
}

fn rule(fault: &str, call: &str, rest: &[&str]) -> Result<Rule, String> {
    let fault = match fault.split_once(':').unwrap_or((fault, "")) {
        ("not-leader", hint) => Fault::NotLeader { hint: hint == "hint" },
        ("epoch-not-match", _) => Fault::EpochNotMatch,
        ("region-not-found", _) => Fault::RegionNotFound,
        ("key-not-in-region", _) => Fault::KeyNotInRegion,
        ("busy", _) => Fault::ServerIsBusy,
        ("stale-command", _) => Fault::StaleCommand,
        ("max-timestamp-not-synced", _) => Fault::MaxTimestampNotSynced,
        ("move-leader", _) => Fault::MoveLeader,
        ("split", _) => Fault::Split,
        ("conflict", _) => Fault::Conflict,
        ("abandoned-lock", _) => Fault::AbandonedLock,
        ("unavailable", _) => Fault::Unavailable,
        ("unavailable-after", _) => Fault::UnavailableAfter,
        ("timeout-before", _) => Fault::TimeoutBefore,
        ("timeout-after", _) => Fault::TimeoutAfter,
        ("late-ms", ms) => Fault::Late(Duration::from_millis(number(ms)?)),
        ("delay-ms", ms) => Fault::Delay(Duration::from_millis(number(ms)?)),
        _ => return Err(format!("{fault} is no fault")),
    };
    let rule = if call == "any" {
        Rule::on_any(fault)
    } else {
        let found = Call::ALL.iter().find(|known| known.name() == call);
        Rule::on(*found.ok_or_else(|| format!("{call} is no call"))?, fault)
    };
    match *rest {
        [] => Ok(rule),
        ["always"] => Ok(rule.always()),
        [times] => Ok(rule.times(number(times)?)),
        [times, skip] => Ok(rule.times(number(times)?).after(number(skip)?)),
        _ => Err("too many words".to_owned()),
    }
}

/// `id@leader:start..end`
fn describe(region: &Region) -> String {
    let (start, end) = (region.range.start.escape_ascii(), region.range.end.escape_ascii());
    format!("{}@{}:{start}..{end}", region.id, region.leader)
}
