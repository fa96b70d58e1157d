//! Who serves the data, where several processes could: one of them at a time.
//!
//! A row names it, and until when. It is written anew long before that; who finds it run out takes it. Times are those of the
//! cluster's clock in the row, and of a clock that nobody sets in the process: it counts from before the row was written, so that it
//! is never the last to know.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tarn_engine::{AnyEngine, AnyWrite, Error as EngineError, Read as _, Wait, Write as _};

use crate::encoding::SYSTEM;
use crate::encoding::system::{self, Owner};
use crate::error::Result;

/// How long a lease lasts that is not written anew.
pub const LASTS: Duration = Duration::from_secs(5);
/// How often it is written anew.
pub const RENEWED: Duration = Duration::from_secs(1);
/// The clocks of two machines do not run alike.
const MARGIN: Duration = Duration::from_millis(500);

/// Bits of a timestamp below the milliseconds.
const LOGICAL_BITS: u32 = 18;

#[derive(Debug)]
pub struct Lease {
    started: Instant,
    /// Until when it is held, in milliseconds since then. Where nobody else can come, for ever.
    until_ms: AtomicU64,
    is_lost: AtomicBool,
}

impl Lease {
    /// For data that no other process can reach.
    pub fn not_needed() -> Lease {
        Lease { started: Instant::now(), until_ms: AtomicU64::new(u64::MAX), is_lost: AtomicBool::new(false) }
    }

    /// To be taken.
    pub fn wanted() -> Lease {
        Lease { until_ms: AtomicU64::new(0), ..Lease::not_needed() }
    }

    #[inline]
    pub fn is_held(&self) -> bool {
        let until_ms = self.until_ms.load(Ordering::Acquire);
        until_ms == u64::MAX || self.started.elapsed().as_millis() < u128::from(until_ms)
    }

    /// Somebody else has it.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// It was written by a transaction that began at this moment.
    pub fn held_since(&self, began: Instant) {
        let until = began.duration_since(self.started) + LASTS.saturating_sub(MARGIN);
        self.until_ms.store(until.as_millis() as u64, Ordering::Release);
    }

    /// Writes it anew.
    pub fn renew(&self, engine: &AnyEngine, node: &str) -> Result<()> {
        let began = Instant::now();
        let mut txn = engine.begin_write(Wait::Allowed);
        // Somebody who had it in between may have changed what this process has read once and for all.
        if owner(&txn)?.is_none_or(|owner| *owner.node != *node.as_bytes()) {
            self.is_lost.store(true, Ordering::Release);
            self.until_ms.store(0, Ordering::Release);
        }
        if !self.is_lost() {
            take(engine, &mut txn, node)?;
            txn.commit()?;
            self.held_since(began);
        }
        Ok(())
    }

    /// Leaves it to whoever comes.
    pub fn give_up(&self, engine: &AnyEngine, node: &str) -> Result<()> {
        if self.until_ms.swap(0, Ordering::AcqRel) == u64::MAX {
            return Ok(());
        }
        let mut txn = engine.begin_write(Wait::Allowed);
        if owner(&txn)?.is_some_and(|owner| *owner.node == *node.as_bytes()) {
            txn.delete(SYSTEM, &system::owner());
            txn.commit()?;
        }
        Ok(())
    }
}

fn owner(txn: &AnyWrite<'_>) -> Result<Option<Owner>> {
    let mut value = Vec::new();
    Ok(if txn.get(SYSTEM, &system::owner(), &mut value)? { Some(Owner::decode(&value)?) } else { None })
}

/// Takes the lease in this transaction, unless another process has it. Nothing where nobody else can come.
pub fn take(engine: &AnyEngine, txn: &mut AnyWrite<'_>, node: &str) -> Result<()> {
    let Some(now) = engine.timestamp() else { return Ok(()) };
    let now_ms = now? >> LOGICAL_BITS;
    let is_held = |owner: &Owner| *owner.node != *node.as_bytes() && owner.until_ms > now_ms;
    if let Some(other) = owner(txn)?.filter(is_held) {
        let name = other.node.escape_ascii();
        let words = format!("node {name} serves this data; a second one is let in when that has ended");
        return Err(EngineError::Unavailable(words).into());
    }
    let until_ms = now_ms + LASTS.as_millis() as u64;
    txn.put(SYSTEM, &system::owner(), &[&Owner { until_ms, node: node.as_bytes().into() }.encode()]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_runs_out_unless_it_is_not_needed() {
        let never = Lease::not_needed();
        assert!(never.is_held() && !never.is_lost());
        let lease = Lease::wanted();
        assert!(!lease.is_held());
        lease.held_since(Instant::now());
        assert!(lease.is_held());
        lease.held_since(lease.started);
        let until_ms = lease.until_ms.load(Ordering::Acquire);
        assert_eq!(until_ms, (LASTS - MARGIN).as_millis() as u64, "counted from before it was written");
    }
}
