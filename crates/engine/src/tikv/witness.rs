//! Telling whether rows were changed since a moment, by whichever process.
//!
//! The cluster refuses a transaction that wants to write a row which was committed since the transaction began, so a transaction is begun now
//! and asks later. It asks with a mutation that only checks that a row is not there: nothing is written, nobody is locked out, and it can be
//! asked again. The answer is one of three: there was a commit since, there was none and the row is there, or there was none and it is not.

use std::sync::Arc;

use super::Shared;
use super::client::Asking;
use crate::{Result, Space};

/// Begun at a moment; see [`crate::Engine::witness`].
pub struct Witness {
    shared: Arc<Shared>,
    /// One for each row: a request with several would be answered for the first of them that is there.
    asking: Vec<Asking>,
}

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Witness").field("rows", &self.asking.len()).finish()
    }
}

impl Witness {
    pub(super) fn new(shared: &Arc<Shared>, rows: &[(Space, &[u8])]) -> Result<Witness> {
        shared.check_open()?;
        let keys =
            rows.iter().map(|(space, row)| shared.keys.row(*space, row)).collect::<Result<Vec<_>>>()?;
        let asking = shared.cluster.begin_asking(keys)?;
        Ok(Witness { shared: Arc::clone(shared), asking })
    }

    /// Whether none of its rows was written or locked since it was made. A run that was rolled back may count as a change.
    ///
    /// A transaction that has read the rows before it asks, and writes or locks them, is not overtaken either: what is committed behind
    /// the answer is refused to it.
    pub fn is_unchanged(&self) -> Result<bool> {
        self.shared.check_open()?;
        for asking in &self.asking {
            if !self.shared.cluster.ask(asking)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
