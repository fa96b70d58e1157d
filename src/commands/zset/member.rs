//! Commands over members by their names.

use smallvec::SmallVec;

use super::Listing;
use crate::commands::scan::{self, elements};
use crate::dispatch::args::Args;
use crate::encoding::zset::read_value;
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, ReadCx, View as _, WriteCx, draws};
use crate::number::double;
use crate::reply::{Packer, Reply, Shape};
use crate::types::collection::{Element, page, random};
use crate::types::zset::{Added, Rule, Scored, SortedSet};

/// Most members that are picked with repeats at once: their number is the client's word alone.
pub const MAX_REPEATS: u64 = 10_000_000;

/// What ZADD does besides adding.
#[derive(Default)]
struct Options {
    rule: Rule,
    counts_changed: bool,
}

fn score(word: &[u8]) -> Result<f64> {
    double::parse(word).ok_or_else(|| Error::NotFloat.into())
}

pub fn zadd(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let Options { rule, counts_changed } = zadd_options(&mut args);
    let pairs = args.rest_in_pairs().filter(|pairs| pairs.len() > 0).ok_or(Error::Syntax)?;
    if rule.if_absent && rule.if_present {
        return Err(Error::reply("ERR XX and NX options at the same time are not compatible").into());
    }
    if [rule.if_greater, rule.if_less, rule.if_absent].into_iter().filter(|option| *option).count() > 1 {
        return Err(Error::reply("ERR GT, LT, and/or NX options at the same time are not compatible").into());
    }
    if rule.adds && pairs.len() > 1 {
        return Err(Error::reply("ERR INCR option supports a single increment-element pair").into());
    }
    let count = pairs.len();
    let mut scores: SmallVec<[f64; 8]> = SmallVec::with_capacity(count);
    for (word, _) in pairs.clone() {
        scores.push(score(word)?);
    }
    let members = pairs.map(|(_, member)| member);
    add(cx, key, rule, counts_changed, scores.into_iter().zip(members))
}

/// Adds members as the rule says; the reply of ZADD.
pub fn add<'m>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    rule: Rule,
    counts_changed: bool,
    members: impl ExactSizeIterator<Item = (f64, &'m [u8])>,
) -> Result<Reply> {
    cx.env.move_if_heavy(members.len(), Env::IO_THREAD_MAX_ROWS)?;
    let opened =
        if rule.if_present { SortedSet::open(cx, key)? } else { Some(SortedSet::open_or_create(cx, key)?) };
    let Some(mut set) = opened else {
        return Ok(if rule.adds { Reply::Nil } else { Reply::Integer(0) });
    };
    let (mut added, mut changed) = (0, 0);
    let mut last = Added::Refused;
    for (score, member) in members {
        last = set.add(cx, member, score, rule)?;
        match last {
            Added::New(_) => added += 1,
            Added::Changed(_) => changed += 1,
            Added::Same(_) | Added::Refused => {}
        }
    }
    set.save(cx)?;
    if added + changed > 0 {
        cx.notify(if rule.adds { Event::ZINCR } else { Event::ZADD }, key);
    }
    Ok(match last {
        Added::New(score) | Added::Changed(score) | Added::Same(score) if rule.adds => Reply::Double(score),
        Added::Refused if rule.adds => Reply::Nil,
        _ => Reply::Integer(added + if counts_changed { changed } else { 0 }),
    })
}

fn zadd_options(args: &mut Args<'_>) -> Options {
    let mut options = Options::default();
    loop {
        let rule = &mut options.rule;
        let option = if args.keyword("nx") {
            &mut rule.if_absent
        } else if args.keyword("xx") {
            &mut rule.if_present
        } else if args.keyword("gt") {
            &mut rule.if_greater
        } else if args.keyword("lt") {
            &mut rule.if_less
        } else if args.keyword("incr") {
            &mut rule.adds
        } else if args.keyword("ch") {
            &mut options.counts_changed
        } else {
            return options;
        };
        *option = true;
    }
}

pub fn zincrby(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, by, member) = (args.key()?, score(args.next()?)?, args.next()?);
    let mut set = SortedSet::open_or_create(cx, key)?;
    let added = set.add(cx, member, by, Rule { adds: true, ..Rule::default() })?;
    set.save(cx)?;
    if matches!(added, Added::New(_) | Added::Changed(_)) {
        cx.notify(Event::ZINCR, key);
    }
    Ok(match added {
        Added::New(score) | Added::Changed(score) | Added::Same(score) => Reply::Double(score),
        Added::Refused => Reply::Nil,
    })
}

pub fn zrem(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    cx.env.move_if_heavy(args.left(), Env::IO_THREAD_MAX_ROWS)?;
    let Some(mut set) = SortedSet::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let mut removed = 0;
    for member in args.rest() {
        removed += i64::from(set.remove(cx, member)?);
    }
    set.save(cx)?;
    if removed > 0 {
        cx.notify(Event::ZREM, key);
    }
    Ok(Reply::Integer(removed))
}

pub fn zcard(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let set = SortedSet::find(cx, args.key()?)?;
    Ok(Reply::Integer(set.map_or(0, |set| set.size()) as i64))
}

pub fn zscore(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let Some(mut set) = SortedSet::find(cx, args.key()?)? else { return Ok(Reply::Nil) };
    Ok(set.score(cx, args.next()?)?.map_or(Reply::Nil, Reply::Double))
}

pub fn zmscore(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    cx.env.move_if_heavy(args.left(), Env::IO_THREAD_MAX_ROWS)?;
    let set = SortedSet::find(cx, key)?;
    let mut scores = Packer::begin(cx.arena());
    let mut damage = Ok(());
    match set {
        None => args.rest().for_each(|_| scores.push_nil()),
        Some(mut set) => {
            set.rows.get_each(cx, args.rest(), &mut |value| match value.map(read_value) {
                Some(Ok(score)) => scores.push_double(score),
                Some(Err(error)) => damage = Err(error),
                None => scores.push_nil(),
            })?;
        }
    }
    damage?;
    Ok(scores.finish(cx.arena(), Shape::Array))
}

pub fn zrank(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    rank(cx, args, "zrank", false)
}

pub fn zrevrank(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    rank(cx, args, "zrevrank", true)
}

fn rank(cx: &mut ReadCx<'_>, mut args: Args<'_>, name: &'static str, reverse: bool) -> Result<Reply> {
    let (key, member) = (args.key()?, args.next()?);
    let with_score = match args.left() {
        0 => false,
        1 if args.keyword("withscore") => true,
        1 => return Err(Error::Syntax.into()),
        _ => return Err(Error::Arity(name.into()).into()),
    };
    let nothing = if with_score { Reply::NilArray } else { Reply::Nil };
    let Some(mut set) = SortedSet::find(cx, key)? else { return Ok(nothing) };
    let Some(score) = set.score(cx, member)? else { return Ok(nothing) };
    let below = set.rank(cx, member, score)?;
    let rank = if reverse { set.size().saturating_sub(below + 1) } else { below };
    let rank = Reply::Integer(rank as i64);
    Ok(if with_score { Reply::Array(vec![rank, Reply::Double(score)]) } else { rank })
}

pub fn zrandmember(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    if args.is_empty() {
        let Some(set) = SortedSet::find(cx, key)? else { return Ok(Reply::Nil) };
        let mut picked = Vec::new();
        random::one(cx, &set.rows, &mut draws(cx.env.random), &mut |element| {
            picked.extend_from_slice(element.member());
        })?;
        return Ok(cx.bulk(&picked));
    }
    let count = args.int()?;
    if count == i64::MIN {
        let words = format!("ERR value is out of range, value must between {} and {}", -i64::MAX, i64::MAX);
        return Err(Error::reply(words).into());
    }
    let with_scores = match args.left() {
        0 => false,
        1 if args.keyword("withscores") => true,
        _ => return Err(Error::Syntax.into()),
    };
    if with_scores && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(Error::OutOfRange.into());
    }
    let found = SortedSet::find(cx, key)?.filter(|_| count != 0);
    let Some(set) = found else { return Ok(Reply::Array(Vec::new())) };
    if count < 0 && count.unsigned_abs() > MAX_REPEATS {
        return Err(Error::OutOfRange.into());
    }
    let mut members = Listing::begin(cx.arena(), with_scores);
    let mut damage = Ok(());
    let mut visit = |element: Element<'_>| match read_value(element.value) {
        Ok(score) => members.push(Scored { member: element.member(), score }),
        Err(error) => damage = Err(error),
    };
    let (random, picks) = (&mut draws(cx.env.random), count.unsigned_abs());
    if count < 0 {
        random::repeated(cx, &set.rows, picks, random, &mut visit)?;
    } else {
        random::distinct(cx, &set.rows, picks, random, &mut visit)?;
    }
    damage?;
    Ok(members.finish(cx.arena()))
}

pub fn zscan(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let cursor = scan::cursor(args.next()?)?;
    let Some(set) = SortedSet::find(cx, key)? else { return Ok(elements::nothing()) };
    let options = elements::Options::parse(args, Some("noscores"))?;
    elements::reply(cx, |cx, found| {
        let mut text = Vec::new();
        let mut damage = Ok(());
        let next = page::page(cx, &set.rows, cursor, options.count, &mut |element| {
            if !options.admit(element.member()) {
                return;
            }
            match read_value(element.value) {
                Ok(score) => {
                    text.clear();
                    scanned_score(&mut text, score, set.rows.has_grown());
                    found.push(element.member());
                    if !options.no_values {
                        found.push(&text);
                    }
                }
                Err(error) => damage = Err(error),
            }
        })?;
        damage?;
        Ok(next)
    })
}

/// The score as ZSCAN of redis-server shows it: from its compact form whole numbers come with all their digits.
fn scanned_score(text: &mut Vec<u8>, score: f64, grown: bool) {
    const MOST: f64 = (i64::MAX / 2) as f64;
    if !grown && score.trunc() == score && score.abs() <= MOST {
        text.extend_from_slice(itoa::Buffer::new().format(score as i64).as_bytes());
    } else {
        tarn_resp::encode::double_text(text, score);
    }
}
