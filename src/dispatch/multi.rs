//! MULTI: calls that a connection has queued, and how EXEC works through them.

use tarn_engine::Position;
use tarn_resp::OwnedArgs;

use super::registry::Registered;
use super::spec::Run;
use super::unit::{Call, Calls, Step};
use crate::client_memory::Reserved;
use crate::error::Error;
use crate::keyspace::Located;

/// A call that waits for EXEC.
pub struct Queued {
    pub command: &'static Registered,
    pub named: usize,
    pub words: OwnedArgs,
    /// Where its key is, if it has one and that is known.
    pub located: Located,
    /// The database it runs on, once EXEC has begun.
    pub db: u16,
    /// Why it may not run after all, once EXEC has begun.
    pub refused: Option<Box<Error>>,
}

impl Queued {
    /// With other words at some places.
    pub fn with_words(self, others: &[(usize, Box<[u8]>)]) -> Queued {
        if others.is_empty() {
            return self;
        }
        let words = self.words.view().iter().enumerate();
        let words = words
            .map(|(at, word)| others.iter().find(|(place, _)| *place == at).map_or(word, |(_, other)| other));
        Queued { words: words.collect(), located: Located::default(), ..self }
    }
}

/// What a connection has said since MULTI.
#[derive(Default)]
pub struct Multi {
    pub queue: Vec<Queued>,
    /// Of all words.
    pub bytes: usize,
    /// For them, where they are many.
    pub reserved: Reserved,
    /// Something was refused meanwhile: EXEC will refuse all of it.
    pub aborted: bool,
}

/// EXEC under way. The calls on keys are one unit, which comes first; those about the connection or the server follow once
/// it is committed, and each reply stands where its call did.
pub struct Exec {
    pub queue: Vec<Queued>,
    /// Of the calls on keys.
    pub replies: Vec<u8>,
    pub steps: Vec<Step>,
    /// The next call that is to be answered.
    pub next: usize,
    /// How many of those before it were on keys.
    pub next_step: usize,
    /// The replies so far.
    pub out: Vec<u8>,
    /// The unit has written something that is not handed to the log yet.
    pub wrote: bool,
    /// It has been, up to here.
    pub position: Option<Position>,
    /// For the words of its calls.
    pub reserved: Reserved,
}

impl Multi {
    /// Whether CLIENT PAUSE WRITE holds it.
    pub fn writes(&self) -> bool {
        self.queue.iter().any(|queued| queued.command.spec.counts_as_write())
    }
}

impl std::fmt::Debug for Multi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Multi").field("queued", &self.queue.len()).field("aborted", &self.aborted).finish()
    }
}

impl Queued {
    fn is_on_keys(&self) -> bool {
        self.refused.is_none() && !matches!(self.command.spec.run, Run::Session(_) | Run::Container)
    }

    pub fn call(&self) -> Call<'_> {
        let Queued { command, named, words, located, db, .. } = self;
        Call { command, named: *named, words: words.view(), db: *db, located: *located }
    }
}

impl Exec {
    pub fn new(multi: Multi) -> Exec {
        Exec {
            queue: multi.queue,
            reserved: multi.reserved,
            replies: Vec::new(),
            steps: Vec::new(),
            next: 0,
            next_step: 0,
            out: Vec::new(),
            wrote: false,
            position: None,
        }
    }

    /// The commit is lost: so is every reply of the unit.
    pub fn refuse(&mut self, error: &Error) {
        self.replies.clear();
        for step in &mut self.steps {
            tarn_resp::encode::error_bytes(&mut self.replies, &error.wire());
            *step = Step { end: self.replies.len(), wrote: false, failed: true };
        }
    }

    /// The calls of the unit.
    pub fn calls(&self) -> impl Calls<'_> {
        self.queue.iter().filter(|queued| queued.is_on_keys()).map(Queued::call)
    }

    /// Answers the next call, if it was on keys.
    pub fn answer_next(&mut self) -> bool {
        if !self.queue.get(self.next).is_some_and(Queued::is_on_keys) {
            return false;
        }
        let begin =
            self.next_step.checked_sub(1).and_then(|step| self.steps.get(step)).map_or(0, |step| step.end);
        let end = self.steps.get(self.next_step).map_or(begin, |step| step.end);
        self.next += 1;
        self.next_step += 1;
        self.out.extend_from_slice(self.replies.get(begin..end).unwrap_or_default());
        true
    }
}
