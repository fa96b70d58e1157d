//! Clients that do random operations on the same few keys at the same time, and note what they saw and when.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use super::linear::{NEVER, Op};
use super::model::{Action, Call, Client, Key, LISTS, NUMBERS, Side};
use crate::conn::{Conn, RecvError, encode};
use crate::rng::Rng;
use crate::value::Value;

/// Where clients find a server: one node, one that is killed now and then, or several nodes of one database.
pub trait Target: Sync {
    /// A connection for this client, once there is a server to connect to, and which life of the server it is of.
    fn connect(&self, client: Client) -> (Conn, usize);
    /// The moment at which that server was certainly dead; None if it may still do what it was told.
    fn dead_by(&self, life: usize) -> Option<Instant>;
    /// A client has got so many answers.
    fn answered(&self, _count: usize) {}
}

/// One history: so many clients, with so many operations each.
pub struct Round<'r> {
    pub target: &'r dyn Target,
    pub begun: Instant,
    pub seed: u64,
    pub clients: usize,
    pub ops: usize,
    /// Values are used once.
    values: AtomicI64,
}

/// The name of a key, one that no other round has.
pub fn name(seed: u64) -> impl Fn(Key) -> String {
    move |key| format!("{seed}:{}", ["a", "b", "c", "l", "m"][key])
}

impl<'r> Round<'r> {
    pub fn new(target: &'r dyn Target, seed: u64, clients: usize, ops: usize) -> Round<'r> {
        Round { target, begun: Instant::now(), seed, clients, ops, values: AtomicI64::new(1) }
    }

    /// Has all clients do their operations.
    pub fn play(&self) -> Vec<Op> {
        let history = Mutex::new(Vec::new());
        std::thread::scope(|threads| {
            for client in 0..self.clients {
                let history = &history;
                threads.spawn(move || {
                    let ops = Player::new(self, client).play();
                    history.lock().unwrap().extend(ops);
                });
            }
        });
        history.into_inner().unwrap()
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
}

struct Player<'p> {
    round: &'p Round<'p>,
    client: Client,
    rng: Rng,
    conn: Conn,
    life: usize,
    ops: Vec<Op>,
}

impl<'p> Player<'p> {
    fn new(round: &'p Round<'p>, client: Client) -> Player<'p> {
        let (conn, life) = round.target.connect(client);
        let rng = Rng::new(round.seed.wrapping_mul(1_000_003) + client as u64);
        Player { round, client, rng, conn, life, ops: Vec::new() }
    }

    fn play(mut self) -> Vec<Op> {
        while self.ops.len() < self.round.ops {
            if self.rng.percent(12) {
                self.watch_and_exec();
            } else {
                let count = if self.rng.percent(15) { 2 + self.rng.below(4) } else { 1 };
                let actions = (0..count).map(|_| self.action()).collect();
                self.perform(actions);
            }
        }
        self.ops
    }

    /// Looks at a number and writes what follows from it, unless somebody else was faster.
    fn watch_and_exec(&mut self) {
        let keys = self.some_numbers();
        if !self.perform(vec![Action::Watch(keys.clone())]) {
            return;
        }
        if self.rng.percent(70) && !self.perform(vec![Action::Call(Call::MGet(keys.clone()))]) {
            return;
        }
        let mut calls = vec![self.call()];
        calls.extend(keys.iter().map(|key| Call::Set(*key, self.value())));
        self.perform(vec![Action::Exec(calls, true)]);
    }

    /// Sends these together. Whether the server answered.
    fn perform(&mut self, actions: Vec<Action>) -> bool {
        let name = name(self.round.seed);
        let commands: Vec<Vec<Vec<String>>> = actions.iter().map(|action| action.commands(&name)).collect();
        let bytes: Vec<u8> = commands.iter().flatten().flat_map(|words| encode(words)).collect();
        let called = self.round.now();
        let mut answered = self.conn.try_send_raw(&bytes).map_err(|_| RecvError::Closed);
        for (action, commands) in actions.into_iter().zip(&commands) {
            let mut reply = Err(RecvError::Closed);
            for _ in commands {
                if answered.is_ok() {
                    reply = self.conn.try_recv();
                    answered = reply.as_ref().map(|_| ()).map_err(|_| RecvError::Closed);
                }
            }
            let (reply, returned) = match reply {
                Ok(Value::Error(words)) if words.starts_with(b"UNKNOWNOUTCOME") => (None, NEVER),
                Ok(Value::Array(replies)) if replies.iter().any(is_unknown) => (None, NEVER),
                // Refused for another reason than what the call is, so as a whole.
                Ok(Value::Array(replies))
                    if matches!(action, Action::Exec(..)) && replies.iter().all(Value::is_error) =>
                {
                    (replies.into_iter().next(), self.round.now())
                }
                Ok(reply) => (Some(reply), self.round.now()),
                // Until when is found out below.
                Err(RecvError::Closed) => (None, NEVER),
                Err(why) => panic!("client {}: {action}: {why}", self.client),
            };
            self.ops.push(Op { client: self.client, action, reply, called, returned });
        }
        if answered.is_ok() {
            self.round.target.answered(commands.len());
            return true;
        }
        let life = self.life;
        (self.conn, self.life) = self.round.target.connect(self.client);
        if let Some(dead_by) = self.round.target.dead_by(life) {
            let returned = dead_by.duration_since(self.round.begun).as_nanos() as u64;
            let unanswered = self.ops.iter_mut().rev().take_while(|op| op.called == called);
            unanswered.filter(|op| op.reply.is_none()).for_each(|op| op.returned = returned);
        }
        false
    }

    fn action(&mut self) -> Action {
        match self.rng.below(20) {
            0..13 => Action::Call(self.call()),
            13..16 => Action::Exec(self.calls(), false),
            16..18 => Action::Eval(self.script_calls()),
            18 => {
                let (from, to) = (self.number(), self.number());
                Action::Transfer(from, to, self.rng.between(1, 50))
            }
            _ => Action::Call(self.blocking(20)),
        }
    }

    fn calls(&mut self) -> Vec<Call> {
        let count = 1 + self.rng.below(4);
        let mut calls: Vec<Call> = (0..count).map(|_| self.call()).collect();
        // Inside of a transaction nothing waits.
        if self.rng.percent(20) {
            let keys = self.some_lists();
            calls.push(Call::BlockingPop(self.side(), keys, 0));
        }
        calls
    }

    /// What scripts are allowed to call.
    fn script_calls(&mut self) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| {
            !matches!(call, Call::BlockingPop(..) | Call::BlockingMove(..) | Call::BlockingPopMany(..))
        });
        calls
    }

    fn call(&mut self) -> Call {
        match self.rng.below(16) {
            0 | 1 => Call::Get(self.number()),
            2 => Call::MGet(self.some_numbers()),
            3 | 4 => {
                let key = self.number();
                Call::Set(key, self.value())
            }
            5 => {
                let keys = self.some_numbers();
                Call::MSet(keys.into_iter().map(|key| (key, self.value())).collect())
            }
            6 | 7 => {
                let key = self.number();
                Call::IncrBy(key, self.rng.between(-9, 99))
            }
            8 => match self.rng.percent(70) {
                true => Call::Del(self.some_numbers()),
                false => Call::Del(vec![self.list(), self.number()]),
            },
            9..12 => {
                let (side, key) = (self.side(), self.list());
                let values = (0..1 + self.rng.below(2)).map(|_| self.value()).collect();
                Call::Push(side, key, values)
            }
            12 | 13 => Call::Pop(self.side(), self.list()),
            14 => Call::Range(self.list()),
            _ => Call::Move(self.list(), self.list(), self.side(), self.side()),
        }
    }

    fn blocking(&mut self, most_millis: i64) -> Call {
        let millis = self.rng.between(1, most_millis) as u32;
        match self.rng.below(4) {
            0 | 1 => {
                let keys = self.some_lists();
                Call::BlockingPop(self.side(), keys, millis)
            }
            2 => Call::BlockingMove(self.list(), self.list(), self.side(), self.side(), millis),
            _ => {
                let keys = self.some_lists();
                Call::BlockingPopMany(self.side(), keys, 1 + self.rng.below(3), millis)
            }
        }
    }

    fn value(&mut self) -> i64 {
        self.round.values.fetch_add(1, Ordering::Relaxed)
    }

    fn side(&mut self) -> Side {
        if self.rng.percent(50) { Side::Left } else { Side::Right }
    }

    fn number(&mut self) -> Key {
        self.rng.below(NUMBERS)
    }

    fn list(&mut self) -> Key {
        NUMBERS + self.rng.below(LISTS)
    }

    /// One or two, in any order.
    fn some_numbers(&mut self) -> Vec<Key> {
        let first = self.number();
        let second = (first + 1 + self.rng.below(NUMBERS - 1)) % NUMBERS;
        if self.rng.percent(50) { vec![first] } else { vec![first, second] }
    }

    fn some_lists(&mut self) -> Vec<Key> {
        let first = self.list();
        if self.rng.percent(50) { vec![first] } else { vec![first, NUMBERS + (first - NUMBERS + 1) % LISTS] }
    }
}

fn is_unknown(reply: &Value) -> bool {
    matches!(reply, Value::Error(words) if words.starts_with(b"UNKNOWNOUTCOME"))
}
