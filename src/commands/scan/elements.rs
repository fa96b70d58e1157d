//! What HSCAN, SSCAN and ZSCAN have in common.

use super::{DEFAULT_COUNT, positive};
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::glob;
use crate::keyspace::View;
use crate::reply::{Packer, Reply, Shape};

/// The options behind the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options<'a> {
    pub count: usize,
    pattern: Option<&'a [u8]>,
    /// Names only.
    pub no_values: bool,
}

impl<'a> Options<'a> {
    /// `names_only` is the option that leaves out what is not a name.
    pub fn parse(mut args: Args<'a>, names_only: Option<&str>) -> Result<Options<'a>> {
        let mut options = Options { count: DEFAULT_COUNT, pattern: None, no_values: false };
        while !args.is_empty() {
            let has_more = args.left() >= 2;
            if has_more && args.keyword("count") {
                options.count = positive(args.int()?)?;
            } else if has_more && args.keyword("match") {
                options.pattern = Some(args.next()?).filter(|pattern| *pattern != b"*");
            } else if names_only.is_some_and(|word| args.keyword(word)) {
                options.no_values = true;
            } else {
                return Err(Error::Syntax.into());
            }
        }
        Ok(options)
    }

    pub fn admit(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, name, false))
    }
}

/// The next cursor and what was found. `walk` fills the packer and returns the cursor.
pub fn reply<V: View>(cx: &mut V, walk: impl FnOnce(&V, &mut Packer) -> Result<u64>) -> Result<Reply> {
    let mut found = Packer::begin(cx.arena());
    let next = walk(cx, &mut found);
    let found = found.finish(cx.arena(), Shape::Array);
    let next = cx.bulk(itoa::Buffer::new().format(next?).as_bytes());
    Ok(Reply::Array(vec![next, found]))
}

/// The reply for a key that does not exist.
pub fn nothing() -> Reply {
    Reply::Array(vec![Reply::text("0"), Reply::Array(Vec::new())])
}
