//! `tarn check DIR`: everything is read, and held to what is known of it.

use std::path::Path;

use super::Outcome;
use super::survey::{Counted, Key, Survey, rows_of};
use crate::encoding::SYSTEM;
use crate::encoding::system::{self, Counts};

/// Keys whose rows are not what they should be that are named; the others are counted.
const MAX_NAMED: usize = 100;

/// Says what is damaged. Whether nothing is.
pub fn check(dir: &Path, say: &mut dyn FnMut(&str)) -> Outcome {
    let survey = Survey::open(dir)?;
    survey.verify_blocks();
    let mut wrong = Vec::new();
    let mut counted = Counted::default();
    let mut elements = 0;
    let is_whole = survey.keys(&mut |key| match key {
        Ok(key) => {
            counted.add(&key);
            match check_key(&survey, &key) {
                Ok(rows) => elements += rows,
                Err(why) => wrong.push(why),
            }
        }
        Err(why) => wrong.push(why),
    });
    // Where keys cannot be read they cannot be counted.
    if is_whole {
        wrong.extend(check_counts(&survey, &counted));
    }
    let damage = survey.damage();
    for finding in &damage {
        say(&format!("damaged: {}: {}", finding.file.display(), finding.reason));
    }
    for why in wrong.iter().take(MAX_NAMED) {
        say(&format!("wrong: {why}"));
    }
    if wrong.len() > MAX_NAMED {
        say(&format!("wrong: {} more", wrong.len() - MAX_NAMED));
    }
    say(&format!("{} keys and {elements} rows of their elements were read", counted.keys()));
    let is_good = damage.is_empty() && wrong.is_empty();
    say(if is_good { "nothing is damaged" } else { "restore a backup, or run `tarn salvage`" });
    Ok(is_good)
}

/// The rows of a key are as many as its metadata says, and of a version that was given out. How many there are.
fn check_key(survey: &Survey, key: &Key<'_>) -> Result<u64, String> {
    let Some((start, end, version, size)) = rows_of(key) else { return Ok(0) };
    if version >= survey.version_limit {
        return Err(format!("{}: its version {version} was never given out", key.shown()));
    }
    let mut total = 0;
    for rows in key.info().rows {
        let mut found = 0;
        let is_whole = survey.walk(rows.space, &start, &end, &mut |_, _| found += 1);
        total += found;
        match rows.of(size) {
            _ if !is_whole => return Err(format!("{}: not all of it can be read", key.shown())),
            Some(expected) if expected != found => {
                return Err(format!("{}: it has {found} rows, and should have {expected}", key.shown()));
            }
            _ => {}
        }
    }
    Ok(total)
}

/// Each stripe has as many keys as its counter says.
fn check_counts(survey: &Survey, counted: &Counted) -> Vec<String> {
    let mut wrong = Vec::new();
    for (db, stripe, found) in counted.iter() {
        let recorded = match survey.get(SYSTEM, &system::key_count(db, stripe)) {
            Ok(value) => value.map_or(Ok(Counts::default()), |value| Counts::decode(&value)),
            Err(why) => {
                wrong.push(why);
                continue;
            }
        };
        if recorded != Ok(found) {
            wrong.push(format!(
                "stripe {stripe} of database {db} has {} keys, {} of them with a time to live; its counter says {recorded:?}",
                found.keys, found.expiring
            ));
        }
    }
    wrong
}
