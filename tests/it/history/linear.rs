//! Whether a history is linearizable: whether there is an order of its operations in which each takes effect at one moment between
//! its call and its reply, and answers as the model does.
//!
//! The search is that of Wing and Gong, with Lowe's memory of what was tried: the next operation of the order is one that was called
//! before any other of those left was answered. What has been ordered so far and the state that it leads to is never tried twice; both are
//! known by hashes of 64 bits each.
//!
//! What a dead server left unanswered took effect before its death or never. It is left out only at that moment, where no other way
//! is left: when exactly something does not happen makes no difference, and to try every moment would take for ever.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

use super::model::{Action, Client, Key, State};
use crate::rng::Rng;
use crate::value::Value;

/// Not answered, and nobody knows until when it may take effect.
pub const NEVER: u64 = u64::MAX;

/// One operation of a client.
#[derive(Debug, Clone)]
pub struct Op {
    pub client: Client,
    pub action: Action,
    /// None where nobody knows what became of it: it took effect before `returned`, or never.
    pub reply: Option<Value>,
    pub called: u64,
    pub returned: u64,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Op { client, action, reply, called, returned } = self;
        let returned = if *returned == NEVER { "never".into() } else { returned.to_string() };
        let reply = reply.as_ref().map_or("(no reply)".into(), Value::to_string);
        write!(f, "{called:>12} to {returned:>12}  client {client}: {action} => {reply}")
    }
}

/// Why a history is not linearizable.
#[derive(Debug)]
pub struct Violation {
    /// How many operations fit an order, at most.
    pub ordered: usize,
    /// Operations around the place where no order goes on.
    around: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "not linearizable behind {} operations; around that place (* is not ordered):",
            self.ordered
        )?;
        self.around.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Operations shown before and behind the place where a history goes wrong.
const AROUND: usize = 16;

/// A call or a reply, in a list that entries are taken out of and put back into.
#[derive(Debug, Clone, Copy)]
struct Entry {
    op: usize,
    /// The entry of the reply; none where this is one.
    reply: Option<usize>,
    next: usize,
    previous: usize,
}

/// The end of the list, and its head.
const HEAD: usize = 0;

/// In the place of a way: the operation did not take effect.
const LEFT_OUT: usize = usize::MAX;

struct Search<'h> {
    ops: &'h [Op],
    name: &'h dyn Fn(Key) -> String,
    entries: Vec<Entry>,
    /// The operation of the same client before each.
    before: Vec<Option<usize>>,
    ordered: Vec<bool>,
    /// Which of them were left out.
    left_out: Vec<bool>,
    /// The entry of each operation's call.
    calls: Vec<usize>,
    /// One number for each operation: their sum stands for the set of those that are ordered.
    marks: Vec<u64>,
    set: u64,
}

/// Looks for an order of the operations. Those of one client stand in the order in which it sent them.
pub fn check(ops: &[Op], name: &dyn Fn(Key) -> String) -> Result<(), Violation> {
    let mut search = Search::new(ops, name);
    let (mut state, mut count, mut most) = (State::default(), 0, (0, Vec::new()));
    let mut tried: HashSet<(u64, u64)> = HashSet::new();
    let hasher = RandomState::new();
    // What was ordered: the entry, the state before, and which of the ways it went.
    let mut taken: Vec<(usize, State, usize)> = Vec::new();
    let (mut at, mut way) = (search.entries[HEAD].next, 0);
    while search.entries[HEAD].next != HEAD {
        let entry = search.entries[at];
        // At the end of the list, or at the first reply: whatever is next was called before that.
        if at == HEAD || entry.reply.is_none() {
            if count > most.0 || most.1.is_empty() {
                most = (count, search.ordered.clone());
            }
            if at != HEAD && search.dies_unanswered(entry.op) {
                let call = search.calls[entry.op];
                search.leave_out(call);
                if tried.insert((search.set, hasher.hash_one(&state))) {
                    taken.push((call, state.clone(), LEFT_OUT));
                    count += 1;
                    (at, way) = (search.entries[HEAD].next, 0);
                    continue;
                }
                search.put_back(call);
            }
            loop {
                let Some((last, before, last_way)) = taken.pop() else {
                    return Err(search.violation(most.0, &most.1));
                };
                search.put_back(last);
                (state, count) = (before, count - 1);
                // That was the last that could be done there.
                if last_way != LEFT_OUT {
                    (at, way) = (last, last_way + 1);
                    break;
                }
            }
            continue;
        }
        let next = match search.may_follow(entry.op) {
            true => search.step(&state, entry.op, way),
            false => None,
        };
        let Some((next, is_last)) = next else {
            (at, way) = (entry.next, 0);
            continue;
        };
        let set = search.set.wrapping_add(search.marks[entry.op]);
        if next.as_ref().is_some_and(|next| tried.insert((set, hasher.hash_one(next)))) {
            let before = std::mem::replace(&mut state, next.expect("just looked at"));
            taken.push((at, before, way));
            search.take_out(at);
            count += 1;
            (at, way) = (search.entries[HEAD].next, 0);
        } else if is_last {
            (at, way) = (entry.next, 0);
        } else {
            way += 1;
        }
    }
    Ok(())
}

impl<'h> Search<'h> {
    fn new(ops: &'h [Op], name: &'h dyn Fn(Key) -> String) -> Search<'h> {
        // At the same moment calls come before replies.
        let mut events: Vec<(u64, bool, usize)> = ops
            .iter()
            .enumerate()
            .flat_map(|(op, Op { called, returned, .. })| [(*called, false, op), (*returned, true, op)])
            .collect();
        events.sort_unstable();
        let count = events.len();
        let mut entries = vec![Entry { op: 0, reply: None, next: 1 % (count + 1), previous: count }];
        let mut replies = vec![0; ops.len()];
        for (place, (_, is_reply, op)) in (1..).zip(&events) {
            entries.push(Entry {
                op: *op,
                reply: None,
                next: (place + 1) % (count + 1),
                previous: place - 1,
            });
            if *is_reply {
                replies[*op] = place;
            }
        }
        let mut calls = vec![0; ops.len()];
        for (place, (_, is_reply, op)) in (1..).zip(&events) {
            if !is_reply {
                entries[place].reply = Some(replies[*op]);
                calls[*op] = place;
            }
        }
        let mut last = std::collections::HashMap::new();
        let before = ops.iter().enumerate().map(|(op, Op { client, .. })| last.insert(*client, op)).collect();
        let mut rng = Rng::new(1);
        let marks = ops.iter().map(|_| rng.next()).collect();
        let (ordered, left_out) = (vec![false; ops.len()], vec![false; ops.len()]);
        Search { ops, name, entries, before, ordered, left_out, calls, marks, set: 0 }
    }

    /// Whether nobody answered it before the server was dead.
    fn dies_unanswered(&self, op: usize) -> bool {
        self.ops[op].reply.is_none() && self.ops[op].returned != NEVER
    }

    /// Behind what the client sent before it. If that died with the server, so did what was sent together with it.
    fn may_follow(&self, op: usize) -> bool {
        self.before[op].is_none_or(|before| {
            let is_lost = self.left_out[before] && self.ops[before].called == self.ops[op].called;
            self.ordered[before] && !(is_lost && self.dies_unanswered(op))
        })
    }

    /// One of the ways in which an operation may go: the state behind it, if it fits, and whether it is the last of the ways.
    fn step(&self, state: &State, op: usize, way: usize) -> Option<(Option<State>, bool)> {
        let Op { client, action, reply, .. } = &self.ops[op];
        let mut next = state.clone();
        let is_last = match (reply, way) {
            (Some(Value::Error(_)), 0) => {
                next.refuse(*client, action);
                true
            }
            (Some(reply), 0) => {
                let answer = next.apply(*client, action, self.name);
                return Some(((answer == *reply).then_some(next), true));
            }
            (None, 0) => {
                next.apply(*client, action, self.name);
                self.dies_unanswered(op)
            }
            (None, 1) => {
                next.refuse(*client, action);
                false
            }
            // Not done, but those who watch its keys were told so.
            (None, 2) => {
                next.alarm(*client, action, self.name);
                true
            }
            _ => return None,
        };
        Some((Some(next), is_last))
    }

    fn take_out(&mut self, at: usize) {
        let Entry { op, reply, .. } = self.entries[at];
        self.unlink(at);
        self.unlink(reply.expect("a call"));
        self.ordered[op] = true;
        self.set = self.set.wrapping_add(self.marks[op]);
    }

    /// As if it had never been sent.
    fn leave_out(&mut self, at: usize) {
        let op = self.entries[at].op;
        self.take_out(at);
        self.left_out[op] = true;
        self.set = self.set.wrapping_add(self.marks[op]);
    }

    fn put_back(&mut self, at: usize) {
        let Entry { op, reply, .. } = self.entries[at];
        self.link(reply.expect("a call"));
        self.link(at);
        self.ordered[op] = false;
        let marks = if std::mem::take(&mut self.left_out[op]) { 2 } else { 1 };
        self.set = self.set.wrapping_sub(self.marks[op].wrapping_mul(marks));
    }

    fn unlink(&mut self, at: usize) {
        let Entry { next, previous, .. } = self.entries[at];
        self.entries[previous].next = next;
        self.entries[next].previous = previous;
    }

    fn link(&mut self, at: usize) {
        let Entry { next, previous, .. } = self.entries[at];
        self.entries[previous].next = at;
        self.entries[next].previous = at;
    }

    fn violation(&self, count: usize, ordered: &[bool]) -> Violation {
        let mut shown: Vec<(usize, &Op)> = self.ops.iter().enumerate().collect();
        shown.sort_by_key(|(_, op)| op.called);
        let place = shown.iter().position(|(op, _)| !ordered[*op]).unwrap_or(0);
        let shown = shown.iter().skip(place.saturating_sub(AROUND)).take(2 * AROUND);
        let line = |(op, shown): &(usize, &Op)| format!("{} {shown}", if ordered[*op] { ' ' } else { '*' });
        Violation { ordered: count, around: shown.map(line).collect() }
    }
}
