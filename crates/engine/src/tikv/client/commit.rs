//! Sending a commit, and what becomes of it where it is not simply made. An outcome that is not certain is told as such, and locks are not left
//! to those who meet them: what was refused is rolled back, and of what is not known the row that decides is asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tikv_client::transaction::Mutation;
use tikv_client::{Error as ClientError, TimestampExt as _, Transaction};
use tokio::time::{Instant, timeout_at};

use super::answers::{Met, Refusal, is_write_conflict, words};
use super::orphans::{Span, end_own, unknown_owner};
use super::{Changes, MAX_LOCK_RETRIES, MIN_DECIDING, RETRY_MS, Shared, TWO_PHASES, pause, roll_back};
use crate::{Error, Result};

/// A commit under way.
pub(super) struct Committing<'c> {
    pub(super) shared: &'c Arc<Shared>,
    /// What it locks it has held from its beginning.
    pub(super) holds_rows: bool,
    pub(super) until: Instant,
}

/// What is to be done after an answer that is not the commit.
enum Next {
    Again,
    /// Another transaction came first, or it can never be: certain, and nothing was decided yet.
    Refused(Error),
    /// It did not come as far as the row that decides. Certain once it is rolled back.
    RollBack,
    /// It may have come that far.
    Decide(Error),
}

impl Committing<'_> {
    pub(super) async fn run(&self, mut transaction: Transaction, changes: Changes) -> Result<u64> {
        let span = changes.span();
        let own = transaction.start_timestamp().version();
        if let Err(error) = self.gather(&mut transaction, changes).await {
            roll_back(transaction).await;
            return Err(error);
        }
        let (mut wait_ms, mut orphans) = (RETRY_MS, 0);
        loop {
            let error = match timeout_at(self.until, transaction.commit()).await {
                Ok(Ok(at)) => return Ok(at.map_or(0, |at| at.version())),
                Ok(Err(error)) => error,
                Err(_) => {
                    tokio::spawn(end_own(Arc::clone(self.shared), own, span));
                    let why = format!("no answer within {} ms", self.shared.timeout.as_millis());
                    return Err(Error::OutcomeUnknown(why));
                }
            };
            self.shared.counters.met(Met::of(&error));
            let unknown = || Error::OutcomeUnknown(words(&error));
            match self.after(&error, own, &span, &mut orphans).await {
                Next::Again if Instant::now() + Duration::from_millis(wait_ms) < self.until => {}
                Next::Again => {
                    let certain = Error::Unavailable(words(&error));
                    return Err(self.decide(transaction, own, span).await.map_or_else(unknown, |()| certain));
                }
                Next::Refused(refused) => {
                    tokio::spawn(roll_back(transaction));
                    return Err(refused);
                }
                Next::RollBack => {
                    let rolled_back = self.is_rolled_back(&mut transaction).await;
                    return Err(rolled_back.map_or_else(unknown, |()| Error::Conflict));
                }
                Next::Decide(certain) => {
                    return Err(self.decide(transaction, own, span).await.map_or_else(unknown, |()| certain));
                }
            }
            self.shared.counters.retries.fetch_add(1, Ordering::Relaxed);
            pause(&mut wait_ms).await;
        }
    }

    async fn after(&self, error: &ClientError, own: u64, span: &Span, orphans: &mut u32) -> Next {
        if matches!(error, ClientError::OnePcFailure) {
            self.shared.two_phases.store(TWO_PHASES, Ordering::Relaxed);
        }
        if let Some(owner) = unknown_owner(error, own) {
            self.shared.end_orphans(owner, span).await;
            *orphans += 1;
            // Somebody who is gone has left a lock, or has not come to the row that decides yet.
            if *orphans <= MAX_LOCK_RETRIES {
                return Next::Again;
            }
        }
        let refusal = Refusal::of(error).unwrap_or(Refusal::Unclear);
        match refusal {
            Refusal::Conflict if is_write_conflict(error) => Next::Refused(Error::Conflict),
            // It may be an answer to what the library has sent again, and what it sent first may have been committed.
            Refusal::Conflict => Next::RollBack,
            Refusal::TooLarge => Next::Refused(refusal.error(error)),
            Refusal::Full => Next::Decide(refusal.error(error)),
            // What was sent before may have been applied. Where the row that decides may have been committed, another try would commit the
            // others at another moment than that one.
            Refusal::Later | Refusal::Unclear => match self.shared.locks_of(own, span).await {
                Ok((locks, true)) if locks.is_empty() => Next::Again,
                _ => Next::Decide(Error::Conflict),
            },
        }
    }

    /// Has the row that decides say what becomes of the transaction, and the others follow it. Some where it is rolled back for certain.
    async fn decide(&self, mut transaction: Transaction, own: u64, span: Span) -> Option<()> {
        let until = self.until.max(Instant::now() + MIN_DECIDING);
        let mut wait_ms = RETRY_MS;
        let is_decided = async {
            loop {
                match self.shared.try_end(own, &span, Duration::ZERO).await {
                    Ok(is_all) => return is_all,
                    Err(_) => pause(&mut wait_ms).await,
                }
            }
        };
        if timeout_at(until, is_decided).await != Ok(true) {
            tokio::spawn(end_own(Arc::clone(self.shared), own, span));
            return None;
        }
        self.is_rolled_back(&mut transaction).await
    }

    /// Rolls the transaction back. A store refuses that if it has committed it, so that whoever was told is certain that nothing was
    /// written, or ever will be.
    async fn is_rolled_back(&self, transaction: &mut Transaction) -> Option<()> {
        let until = self.until.max(Instant::now() + MIN_DECIDING);
        let mut wait_ms = RETRY_MS;
        loop {
            match timeout_at(until, transaction.rollback()).await {
                Ok(Ok(())) => return Some(()),
                Ok(Err(error)) if matches!(Met::of(&error), Met::Fatal | Met::Conflict) => return None,
                Ok(Err(_)) => pause(&mut wait_ms).await,
                Err(_) => return None,
            }
        }
    }

    async fn gather(&self, transaction: &mut Transaction, changes: Changes) -> Result<()> {
        let puts = changes.puts.into_iter().map(|(key, value)| Mutation::Put(key.into(), value));
        let deletes = changes.deletes.into_iter().map(|key| Mutation::Delete(key.into()));
        let gathered = async {
            transaction.batch_mutate(puts.chain(deletes)).await?;
            if self.holds_rows { Ok(()) } else { transaction.lock_keys(changes.locks).await }
        };
        match timeout_at(self.until, gathered).await {
            Ok(Ok(())) => Ok(()),
            // Nothing was sent, but for the locks of rows that it has not held yet.
            Ok(Err(error)) => match Refusal::of(&error) {
                Some(refusal @ (Refusal::Conflict | Refusal::TooLarge)) => Err(refusal.error(&error)),
                _ => Err(Error::Unavailable(words(&error))),
            },
            Err(_) => Err(self.shared.too_late()),
        }
    }
}
