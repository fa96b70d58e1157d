//! Expiries of fields.

use super::version::Check;
use super::write::{Hash, Old};
use crate::encoding::hash::Head;
use crate::error::Result;
use crate::keyspace::WriteCx;

/// The latest expiry that H* commands set, in milliseconds since 1970.
pub const MAX_EXPIRE_MS: u64 = (1 << 46) - 1;

/// When an expiry may be set. A field without one never expires, which is later than any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Always,
    /// NX: it has none.
    None,
    /// XX: it has one.
    Some,
    /// GT: it becomes later.
    Later,
    /// LT: it becomes sooner.
    Sooner,
}

impl Condition {
    /// `current_ms` 0 is never.
    fn allows(self, current_ms: u64, at_ms: u64) -> bool {
        let expires = current_ms != 0;
        match self {
            Condition::Always => true,
            Condition::None => !expires,
            Condition::Some => expires,
            Condition::Later => expires && at_ms > current_ms,
            Condition::Sooner => !expires || at_ms < current_ms,
        }
    }
}

/// What became of a field's expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// There is no such field.
    NoField,
    /// It has no expiry that could be removed.
    Never,
    /// The condition is not met.
    Refused,
    Changed,
    /// Its time had come, so it was deleted.
    Deleted,
}

/// Gives a field that was looked up an expiry. A time that has come deletes it.
pub fn set_expiry(
    cx: &mut WriteCx<'_>,
    hash: &mut Hash<'_>,
    (field, old): (&[u8], &Old),
    at_ms: u64,
    condition: Condition,
) -> Expiry {
    let Some(head) = old.live() else { return Expiry::NoField };
    if !condition.allows(head.expire_at_ms, at_ms) {
        return Expiry::Refused;
    }
    if at_ms <= cx.env.now_ms {
        hash.delete(cx, field, old);
        return Expiry::Deleted;
    }
    hash.restamp(cx, field, old, (at_ms, Check::None.next(Some(head))));
    Expiry::Changed
}

/// Lets a field that was looked up live for ever.
pub fn persist(cx: &mut WriteCx<'_>, hash: &mut Hash<'_>, (field, old): (&[u8], &Old)) -> Expiry {
    match old.live() {
        None => Expiry::NoField,
        Some(Head { expire_at_ms: 0, .. }) => Expiry::Never,
        Some(head) => {
            hash.restamp(cx, field, old, (0, head.version));
            Expiry::Changed
        }
    }
}

/// Gives a field that was looked up an expiry, if its version admits it. One whose time has come is there to be
/// reaped. Whether there is such a field.
pub fn set_expiry_checked(
    cx: &mut WriteCx<'_>,
    hash: &mut Hash<'_>,
    (field, old): (&[u8], &Old),
    at_ms: u64,
    check: Check,
) -> Result<bool> {
    let Some(head) = old.live() else { return Ok(false) };
    check.admit(Some(head))?;
    let expire_at_ms = at_ms.max(cx.env.now_ms);
    hash.restamp(cx, field, old, (expire_at_ms, check.next(Some(head))));
    Ok(true)
}
