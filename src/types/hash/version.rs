//! Versions of fields: each write raises a field's version by one, unless the client names it.

use crate::encoding::hash::{Head, MAX_VERSION};
use crate::error::{Error, Result};

/// What a client asks of the version a field has, and what it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Check {
    #[default]
    None,
    /// VER: it must be this one. Nothing is checked if either of them is 0.
    Is(u64),
    /// ABS: it becomes this one.
    Set(u64),
    /// GT: it must be less than this one, and becomes this one.
    Above(u64),
}

impl Check {
    /// Whether a write of the field is admitted. `old` is what is known of the field, if it is there.
    pub fn admit(self, old: Option<Head>) -> Result<()> {
        let Some(old) = old else { return Ok(()) };
        let stale = match self {
            Check::None | Check::Set(_) => false,
            Check::Is(wanted) => wanted != 0 && old.version != 0 && wanted != old.version,
            Check::Above(wanted) => wanted <= old.version,
        };
        if stale { Err(Error::reply("ERR update version is stale").into()) } else { Ok(()) }
    }

    /// The version after a write.
    #[inline]
    pub fn next(self, old: Option<Head>) -> u64 {
        match self {
            Check::None | Check::Is(_) => old.map_or(1, |old| old.version.saturating_add(1).min(MAX_VERSION)),
            Check::Set(version) | Check::Above(version) => version,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_checked_against_what_is_there() {
        let at = |version| Some(Head { version, ..Head::PLAIN });
        for (check, old, admitted, next) in [
            (Check::None, None, true, 1),
            (Check::None, at(1), true, 2),
            (Check::None, at(0), true, 1),
            (Check::None, at(MAX_VERSION), true, MAX_VERSION),
            (Check::Is(5), None, true, 1),
            (Check::Is(5), at(5), true, 6),
            (Check::Is(5), at(4), false, 5),
            (Check::Is(5), at(0), true, 1),
            (Check::Is(0), at(4), true, 5),
            (Check::Set(3), at(9), true, 3),
            (Check::Set(3), None, true, 3),
            (Check::Above(9), at(9), false, 9),
            (Check::Above(9), at(8), true, 9),
            (Check::Above(9), None, true, 9),
        ] {
            assert_eq!(check.admit(old).is_ok(), admitted, "{check:?} {old:?}");
            assert_eq!(check.next(old), next, "{check:?} {old:?}");
        }
    }
}
