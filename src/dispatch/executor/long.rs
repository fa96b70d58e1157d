//! Long replies of a worker: their room, and the chunks that they are left in.

use super::Executor;
use crate::client_memory::{ClientBudget, Reserved};
use crate::reply::Chunks;

/// The part of a reply that is long.
#[derive(Debug, Default)]
pub struct LongReply {
    /// To be sent behind the rest.
    pub chunks: Chunks,
    /// For all of the reply.
    pub reserved: Reserved,
    /// The room that it wanted.
    pub asked: usize,
}

impl Executor {
    /// Sets room aside for the replies of the units from now on. Where there is none, a unit that is patient is moved for
    /// [`super::Why::Room`]. `hands_over`: the next unit is a single call, and a long reply of it is left to [`Executor::end_long`].
    pub fn begin_long(&mut self, is_patient: bool, hands_over: bool) {
        let budget = self.reply_budget();
        self.arena.take_room_from(&self.node.reply_memory, budget, is_patient, hands_over);
        self.long = hands_over.then(Chunks::new);
    }

    pub fn reply_budget(&mut self) -> ClientBudget {
        let generation = self.node.config.generation();
        match self.reply_budget {
            Some((of, budget)) if of == generation => budget,
            _ => {
                let budget = self.node.config.current().memory().replies;
                self.reply_budget = Some((generation, budget));
                budget
            }
        }
    }

    /// Bytes of the chunks that the last unit has left.
    pub fn long_len(&self) -> usize {
        self.long.iter().flatten().map(Vec::len).sum()
    }

    /// What was set aside, and what is to be sent behind the reply.
    pub fn end_long(&mut self) -> LongReply {
        let (reserved, asked) = self.arena.end_unit();
        LongReply { chunks: self.long.take().unwrap_or_default(), reserved, asked }
    }
}
