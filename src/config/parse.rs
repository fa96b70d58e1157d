//! Text to value, by the kind of the option. Every word about a bad value is here, and is Redis's.

use super::Config;
use super::option::{Effect, Kind, Opt};
use super::types::{Events, OomScores, OutputLimits, Percentiles, SavePoint, Share};
use super::units;
use super::value::Value;

pub const BAD_INTEGER: &str = "argument couldn't be parsed into an integer";
pub const BAD_MEMORY: &str = "argument must be a memory value";
pub const BAD_MEMORY_OR_PERCENT: &str = "argument must be a memory or percent value";
pub const BAD_PERCENT: &str = "percentage argument must be less or equal to 100";
pub const BAD_OCTAL: &str = "argument couldn't be parsed as an octal number";
pub const BAD_BOOL: &str = "argument must be 'yes' or 'no'";
pub const WRONG_NUMBER: &str = "wrong number of arguments";

/// Where a value comes from decides what several values of one option mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The option's line is one of possibly many; `first` is false once the option has been given before.
    Lines { first: bool },
    /// CONFIG SET: the value is the whole value.
    Set,
}

/// Sets `option` in `config`, or says what is wrong with the value.
pub fn apply(config: &mut Config, option: &Opt, args: &[&[u8]], source: Source) -> Result<(), String> {
    let words: Vec<&[u8]>;
    let args = match args {
        // One text may hold all the words, as CONFIG SET and quoted lines give it.
        [one] if option.takes_several() && !one.is_empty() => {
            words = one.split(|byte| *byte == b' ').collect();
            &words
        }
        _ if option.takes_several() => args,
        [_] => args,
        _ => return Err(WRONG_NUMBER.into()),
    };
    let value = parse(config, option, args, source)?;
    if let Effect::Only { values, reason } = option.effect {
        let text = value.to_text();
        if !values.iter().any(|allowed| allowed.as_bytes() == text) {
            return Err(reason.into());
        }
    }
    if option.store(config, value) { Ok(()) } else { Err("argument must be valid UTF-8".into()) }
}

fn parse(config: &Config, option: &Opt, args: &[&[u8]], source: Source) -> Result<Value, String> {
    let one = args.first().copied().unwrap_or_default();
    match option.kind {
        Kind::Bool => boolean(one).map(Value::Bool).ok_or_else(|| BAD_BOOL.into()),
        Kind::Int { min, max } => {
            let number = units::integer(one).ok_or(BAD_INTEGER)?;
            between(number, min, max).map(Value::Int)
        }
        Kind::Memory { min, max } => {
            let bytes = units::memory(one).ok_or(BAD_MEMORY)?;
            between(i128::from(bytes), i128::from(min), i128::from(max)).map(Value::Int)
        }
        Kind::MemoryOrPercent => share(one).map(Value::Share),
        Kind::Octal { max } => {
            let mode = units::octal(one).ok_or(BAD_OCTAL)?;
            if mode > max {
                return Err(format!("argument must be between 0 and {max:o} inclusive"));
            }
            Ok(Value::Int(i128::from(mode)))
        }
        Kind::Choice(names) => choice(names, one).map(Value::Name),
        Kind::Choices(names) => {
            let mut chosen = Vec::with_capacity(args.len());
            for word in args {
                chosen.push(choice(names, word)?);
            }
            // Shown in the order of the table, as Redis shows flags.
            let ordered = names.iter().filter(|name| chosen.contains(name));
            Ok(Value::Words(ordered.map(|name| name.as_bytes().to_vec()).collect()))
        }
        Kind::Text => Ok(Value::Text(one.to_vec())),
        Kind::FileName if one.contains(&b'/') => {
            Err(format!("{} can't be a path, just a filename", option.name))
        }
        Kind::FileName => Ok(Value::Text(one.to_vec())),
        Kind::Words { max } => words(option, args, max),
        Kind::OutputLimits => {
            let Value::OutputLimits(old) = option.load(config) else { return Err(WRONG_NUMBER.into()) };
            output_limits(old, args).map(Value::OutputLimits)
        }
        Kind::Events => Events::parse(one)
            .map(Value::Events)
            .ok_or_else(|| "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".into()),
        Kind::Percentiles => percentiles(option, args).map(Value::Percentiles),
        Kind::SavePoints => {
            let mut points = match (source, option.load(config)) {
                (Source::Lines { first: false }, Value::SavePoints(points)) => points,
                _ => Vec::new(),
            };
            match args {
                [] | [b""] => points.clear(),
                _ => points.extend(save_points(args).ok_or("Invalid save parameters")?),
            }
            Ok(Value::SavePoints(points))
        }
        Kind::OomScores => oom_scores(args).map(Value::OomScores),
    }
}

fn between(number: i128, min: i128, max: i128) -> Result<i128, String> {
    if (min..=max).contains(&number) {
        Ok(number)
    } else {
        Err(format!("argument must be between {min} and {max} inclusive"))
    }
}

fn boolean(text: &[u8]) -> Option<bool> {
    if text.eq_ignore_ascii_case(b"yes") {
        Some(true)
    } else if text.eq_ignore_ascii_case(b"no") {
        Some(false)
    } else {
        None
    }
}

fn choice(names: &'static [&'static str], text: &[u8]) -> Result<&'static str, String> {
    let known = names.iter().find(|name| name.as_bytes().eq_ignore_ascii_case(text));
    known.copied().ok_or_else(|| format!("argument(s) must be one of the following: {}", names.join(", ")))
}

fn share(text: &[u8]) -> Result<Share, String> {
    if let Some(digits) = text.strip_suffix(b"%") {
        let percent = units::integer(digits).filter(|percent| *percent >= 0).ok_or(BAD_MEMORY_OR_PERCENT)?;
        if percent > 100 {
            return Err(BAD_PERCENT.into());
        }
        return Ok(if percent == 0 { Share::Bytes(0) } else { Share::Percent(percent as u8) });
    }
    Ok(units::memory(text).map(Share::Bytes).ok_or(BAD_MEMORY_OR_PERCENT)?)
}

fn words(option: &Opt, args: &[&[u8]], max: usize) -> Result<Value, String> {
    if args.len() > max {
        return Err(match option.name {
            "bind" => "Too many bind addresses specified.".into(),
            _ => WRONG_NUMBER.into(),
        });
    }
    let given = if args == [b""] { &[] } else { args };
    Ok(Value::Words(given.iter().map(|word| word.to_vec()).collect()))
}

/// Classes that are not named keep their limits.
fn output_limits(mut limits: OutputLimits, args: &[&[u8]]) -> Result<OutputLimits, String> {
    const WRONG: &str = "Wrong number of arguments in buffer limit configuration.";
    const CLASS: &str = "Invalid client class specified in buffer limit configuration.";
    const NUMBER: &str = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
    if args == [b""] {
        return Ok(limits);
    }
    if !args.len().is_multiple_of(4) {
        return Err(WRONG.into());
    }
    for group in args.chunks_exact(4) {
        let [class, hard, soft, secs] = group else { return Err(WRONG.into()) };
        let name = std::str::from_utf8(class).unwrap_or_default().to_ascii_lowercase();
        let limit = limits.class_mut(&name).ok_or(CLASS)?;
        limit.hard_bytes = units::memory(hard).ok_or(NUMBER)?;
        limit.soft_bytes = units::memory(soft).ok_or(NUMBER)?;
        limit.soft_secs = units::integer(secs).and_then(|secs| u64::try_from(secs).ok()).ok_or(NUMBER)?;
    }
    Ok(limits)
}

fn percentiles(option: &Opt, args: &[&[u8]]) -> Result<Percentiles, String> {
    if args == [b""] {
        return Ok(Percentiles::default());
    }
    let mut parsed = Vec::with_capacity(args.len());
    for word in args {
        let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok());
        let number = number
            .filter(|number| !number.is_nan())
            .ok_or_else(|| format!("Invalid {} parameters", option.name))?;
        if !(0.0..=100.0).contains(&number) {
            return Err(format!("{} parameters should sit between [0.0,100.0]", option.name));
        }
        parsed.push(number);
    }
    Ok(Percentiles(parsed))
}

fn oom_scores(args: &[&[u8]]) -> Result<OomScores, String> {
    let [a, b, c] = args else { return Err(WRONG_NUMBER.into()) };
    let score = |text: &[u8]| {
        let score = units::integer(text).and_then(|score| i32::try_from(score).ok());
        score.filter(|score| (-OomScores::MOST..=OomScores::MOST).contains(score))
    };
    match (score(a), score(b), score(c)) {
        (Some(a), Some(b), Some(c)) => Ok(OomScores([a, b, c])),
        _ => Err("Invalid oom-score-adj-values, elements must be between -2000 and 2000.".into()),
    }
}

/// Pairs of seconds, at least one, and changes, at least none.
fn save_points(args: &[&[u8]]) -> Option<Vec<SavePoint>> {
    if !args.len().is_multiple_of(2) {
        return None;
    }
    let pair = |pair: &[&[u8]]| {
        let [secs, changes] = pair else { return None };
        let secs = u64::try_from(units::integer(secs)?).ok().filter(|secs| *secs > 0)?;
        let changes = u64::try_from(units::integer(changes)?).ok()?;
        Some(SavePoint { secs, changes })
    };
    args.chunks_exact(2).map(pair).collect()
}
