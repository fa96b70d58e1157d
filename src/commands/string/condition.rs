//! What happens only if a string is, or is not, what a client believes: SET with IFEQ and its like, DELEX, DELIFEQ. DIGEST
//! gives the short form of a value for it.

use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{ReadCx, View, WriteCx, entry};
use crate::reply::Reply;
use crate::types::string::{self, Value, compare};

/// Digits of a digest.
const DIGEST_LEN: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition<'a> {
    expected: &'a [u8],
    /// What is expected is a digest.
    is_digest: bool,
    /// What is expected must not be there.
    is_negated: bool,
}

impl<'a> Condition<'a> {
    /// The word and what follows it, if it is one of the four.
    pub fn take(args: &mut Args<'a>) -> Result<Option<Condition<'a>>> {
        const WORDS: [(&str, bool, bool); 4] =
            [("IFEQ", false, false), ("IFNE", false, true), ("IFDEQ", true, false), ("IFDNE", true, true)];
        for (word, is_digest, is_negated) in WORDS {
            if args.keyword(word) {
                return Ok(Some(Condition { expected: args.next()?, is_digest, is_negated }));
            }
        }
        Ok(None)
    }

    /// Whether it holds; a key that is not there has no value.
    pub fn holds(&self, cx: &mut impl View, value: Option<&Value>) -> Result<bool> {
        let Some(value) = value else { return Ok(self.is_negated) };
        let is_expected = if self.is_digest {
            if self.expected.len() != DIGEST_LEN {
                return Err(Error::reply("ERR must be exactly 16 hexadecimal characters").into());
            }
            spell_digest(compare::digest(cx, value)?).as_bytes().eq_ignore_ascii_case(self.expected)
        } else {
            compare::is_equal(cx, value, self.expected)?
        };
        Ok(is_expected != self.is_negated)
    }
}

fn spell_digest(digest: u64) -> String {
    format!("{digest:016x}")
}

pub fn digest(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find_counted(cx, args.key()?)?;
    let Some(value) = string::value(&found)? else { return Ok(Reply::Nil) };
    let digest = compare::digest(cx, &value)?;
    Ok(cx.bulk(spell_digest(digest).as_bytes()))
}

pub fn delex(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    if !matches!(args.left(), 0 | 2) {
        return Err(Error::Arity("delex".into()).into());
    }
    let found = entry::find(cx, key)?;
    if !found.exists() {
        return Ok(Reply::flag(false));
    }
    if !args.is_empty() {
        let value = string::value(&found)
            .map_err(|_| Error::reply("ERR Key should be of string type if conditions are specified"))?;
        let unknown = Error::reply("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
        let condition = Condition::take(&mut args)?.ok_or(unknown)?;
        if !condition.holds(cx, value.as_ref())? {
            return Ok(Reply::flag(false));
        }
    }
    entry::remove(cx, &found)?;
    Ok(Reply::flag(true))
}

pub fn delifeq(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, expected) = (args.key()?, args.next()?);
    let found = entry::find(cx, key)?;
    let Some(value) = string::value(&found)? else { return Ok(Reply::flag(false)) };
    let is_equal = compare::is_equal(cx, &value, expected)?;
    if is_equal {
        entry::remove(cx, &found)?;
    }
    Ok(Reply::flag(is_equal))
}
