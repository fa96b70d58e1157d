//! What a value is compared by: its bytes, or their digest. A long one is read in steps.

use xxhash_rust::xxh3::Xxh3;

use super::Value;
use crate::error::Result;
use crate::keyspace::{Env, View};

/// Bytes of a long value that are in memory at a time.
const STEP: u64 = Env::IO_THREAD_MAX_BYTES as u64;

/// Whether the value is these bytes.
pub fn is_equal(cx: &mut impl View, value: &Value, bytes: &[u8]) -> Result<bool> {
    if value.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let (mut rest, mut same) = (bytes, true);
    each_step(cx, value, &mut |step| {
        let (own, behind) = rest.split_at_checked(step.len()).unwrap_or_default();
        rest = behind;
        same = own == step;
        same
    })?;
    Ok(same)
}

/// The XXH3 hash of 64 bits, as DIGEST shows it.
pub fn digest(cx: &mut impl View, value: &Value) -> Result<u64> {
    let mut hash = Xxh3::new();
    each_step(cx, value, &mut |step| {
        hash.update(step);
        true
    })?;
    Ok(hash.digest())
}

/// Shows the value from its beginning on, until `show` has seen enough.
fn each_step(cx: &mut impl View, value: &Value, show: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
    if let Value::Inline(span) = value {
        show(cx.bytes(*span));
        return Ok(());
    }
    let len = usize::try_from(value.len()).unwrap_or(usize::MAX);
    cx.env().move_if_heavy(len, Env::IO_THREAD_MAX_BYTES)?;
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < value.len() {
        bytes.clear();
        value.read_into(cx, at..at + STEP, &mut bytes)?;
        if !show(&bytes) {
            return Ok(());
        }
        at += STEP;
    }
    Ok(())
}
