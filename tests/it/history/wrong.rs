//! Histories that are known to be right or wrong: the checker is checked.

use super::linear::{NEVER, Op, check};
use super::model::{Action, Call, Client, Key, Side};
use crate::value::Value;

fn name(key: Key) -> String {
    ["a", "b", "c", "l", "m"][key].to_owned()
}

const A: Key = 0;
const B: Key = 1;
const L: Key = 3;
const M: Key = 4;

fn op(client: Client, (called, returned): (u64, u64), action: Action, reply: Value) -> Op {
    Op { client, action, reply: Some(reply), called, returned }
}

fn unknown(client: Client, (called, returned): (u64, u64), action: Action) -> Op {
    Op { client, action, reply: None, called, returned }
}

fn get(key: Key) -> Action {
    Action::Call(Call::Get(key))
}

fn set(key: Key, value: i64) -> Action {
    Action::Call(Call::Set(key, value))
}

fn incr(key: Key) -> Action {
    Action::Call(Call::IncrBy(key, 1))
}

fn push(key: Key, value: i64) -> Action {
    Action::Call(Call::Push(Side::Right, key, vec![value]))
}

fn pop(key: Key) -> Action {
    Action::Call(Call::Pop(Side::Left, key))
}

fn blpop(keys: &[Key]) -> Action {
    Action::Call(Call::BlockingPop(Side::Left, keys.to_vec(), 10))
}

fn bulk(number: i64) -> Value {
    Value::bulk(number.to_string())
}

fn popped(key: Key, value: i64) -> Value {
    Value::Array(vec![Value::bulk(name(key)), bulk(value)])
}

fn refused() -> Value {
    Value::Error(b"ERR refused".to_vec())
}

#[track_caller]
fn right(history: &[Op]) {
    if let Err(violation) = check(history, &name) {
        panic!("{violation}");
    }
}

/// Wrong, and without the last operation right.
#[track_caller]
fn wrong(history: &[Op]) {
    let violation = check(history, &name).expect_err("it is wrong");
    assert!(violation.ordered < history.len());
    right(&history[..history.len() - 1]);
}

#[test]
fn what_overlaps_may_come_in_any_order() {
    right(&[]);
    for value in [Value::NilBulk, bulk(1), bulk(2)] {
        right(&[
            op(1, (0, 100), set(A, 1), Value::ok()),
            op(2, (0, 100), set(A, 2), Value::ok()),
            op(3, (50, 60), get(A), value),
        ]);
    }
    // Who sees the new value first does not make it old again for others.
    wrong(&[
        op(1, (0, 100), set(A, 1), Value::ok()),
        op(2, (10, 20), get(A), bulk(1)),
        op(3, (30, 40), get(A), Value::NilBulk),
    ]);
}

#[test]
fn stale_read() {
    wrong(&[op(1, (0, 10), set(A, 1), Value::ok()), op(2, (20, 30), get(A), Value::NilBulk)]);
}

#[test]
fn value_that_nobody_wrote() {
    wrong(&[op(1, (0, 10), set(A, 1), Value::ok()), op(2, (5, 30), get(A), bulk(2))]);
}

#[test]
fn lost_update() {
    wrong(&[
        op(1, (0, 10), incr(A), Value::Int(1)),
        op(2, (0, 10), incr(A), Value::Int(2)),
        op(1, (20, 30), get(A), bulk(1)),
    ]);
    wrong(&[op(1, (0, 10), incr(A), Value::Int(1)), op(2, (0, 10), incr(A), Value::Int(1))]);
}

#[test]
fn double_pop() {
    wrong(&[
        op(1, (0, 10), push(L, 7), Value::Int(1)),
        op(2, (5, 20), pop(L), bulk(7)),
        op(3, (5, 20), blpop(&[L]), popped(L, 7)),
    ]);
}

#[test]
fn a_blocking_pop_leaves_nothing_behind() {
    let pushed = op(1, (0, 10), push(L, 7), Value::Int(1));
    // It waited before the push.
    right(&[op(2, (0, 50), blpop(&[M, L]), popped(L, 7)), pushed.clone()]);
    right(&[op(2, (0, 5), blpop(&[L]), Value::NilArray), pushed.clone()]);
    wrong(&[pushed.clone(), op(2, (20, 50), blpop(&[L]), Value::NilArray)]);
    wrong(&[
        pushed.clone(),
        op(2, (20, 50), blpop(&[L]), popped(L, 7)),
        op(3, (60, 70), Action::Call(Call::Range(L)), Value::Array(vec![bulk(7)])),
    ]);
    // The first key that has something.
    wrong(&[
        pushed,
        op(1, (11, 12), push(M, 8), Value::Int(1)),
        op(2, (20, 50), blpop(&[M, L]), popped(L, 7)),
    ]);
}

#[test]
fn elements_come_in_the_order_in_which_they_were_pushed() {
    wrong(&[
        op(1, (0, 10), push(L, 7), Value::Int(1)),
        op(1, (11, 12), push(L, 8), Value::Int(2)),
        op(2, (20, 30), pop(L), bulk(8)),
    ]);
}

#[test]
fn half_of_a_transaction() {
    let exec = |(called, returned)| {
        let calls = vec![Call::Set(A, 1), Call::Set(B, 1)];
        op(1, (called, returned), Action::Exec(calls, false), Value::Array(vec![Value::ok(), Value::ok()]))
    };
    let both = |first, second, times| {
        op(2, times, Action::Call(Call::MGet(vec![A, B])), Value::Array(vec![first, second]))
    };
    right(&[
        exec((0, 100)),
        both(Value::NilBulk, Value::NilBulk, (10, 20)),
        both(bulk(1), bulk(1), (30, 40)),
    ]);
    wrong(&[exec((0, 100)), both(bulk(1), Value::NilBulk, (10, 20))]);
    wrong(&[exec((0, 100)), op(2, (10, 20), get(B), bulk(1)), op(2, (30, 40), get(A), Value::NilBulk)]);
    // The replies of its calls are of one moment.
    let calls = vec![Call::Get(A), Call::Get(A)];
    wrong(&[
        op(1, (0, 10), set(A, 1), Value::ok()),
        op(1, (20, 90), set(A, 2), Value::ok()),
        op(2, (20, 90), Action::Exec(calls, false), Value::Array(vec![bulk(1), bulk(2)])),
    ]);
}

#[test]
fn half_of_a_script() {
    let transfer = op(1, (20, 90), Action::Transfer(A, B, 3), Value::Int(3));
    let both = |first, second| {
        op(2, (30, 40), Action::Call(Call::MGet(vec![A, B])), Value::Array(vec![bulk(first), second]))
    };
    let begun = op(1, (0, 10), set(A, 5), Value::ok());
    right(&[begun.clone(), transfer.clone(), both(5, Value::NilBulk)]);
    right(&[begun.clone(), transfer.clone(), both(2, bulk(3))]);
    wrong(&[begun.clone(), transfer.clone(), both(2, Value::NilBulk)]);
    wrong(&[begun, transfer, both(5, bulk(3))]);
}

#[test]
fn watch() {
    let watch = op(1, (0, 10), Action::Watch(vec![A]), Value::ok());
    let exec = |times, reply| op(1, times, Action::Exec(vec![Call::Set(B, 1)], true), reply);
    let done = Value::Array(vec![Value::ok()]);
    let changed = op(2, (20, 30), set(A, 1), Value::ok());
    right(&[watch.clone(), exec((40, 50), done.clone())]);
    right(&[watch.clone(), changed.clone(), exec((40, 50), Value::NilArray)]);
    // At the same time it may be either.
    right(&[watch.clone(), changed.clone(), exec((25, 50), done.clone())]);
    right(&[watch.clone(), changed.clone(), exec((25, 50), Value::NilArray)]);
    wrong(&[watch.clone(), changed.clone(), exec((40, 50), done)]);
    wrong(&[watch.clone(), exec((40, 50), Value::NilArray)]);
    // What was refused has changed nothing.
    wrong(&[watch.clone(), changed, exec((40, 50), Value::NilArray), op(2, (60, 70), get(B), bulk(1))]);
    // A key that comes and goes was changed.
    let gone = op(2, (31, 32), Action::Call(Call::Del(vec![A])), Value::Int(1));
    let came = op(2, (20, 30), set(A, 1), Value::ok());
    wrong(&[watch, came, gone, exec((40, 50), Value::Array(vec![Value::ok()]))]);
}

#[test]
fn who_watches_what_was_refused() {
    let watch = op(1, (0, 10), Action::Watch(vec![A]), Value::ok());
    let exec = |times, reply| op(1, times, Action::Exec(vec![Call::Set(B, 1)], true), reply);
    let done = Value::Array(vec![Value::ok()]);
    // What has certainly not happened is no change.
    let not_done = op(2, (20, 30), set(A, 1), refused());
    right(&[watch.clone(), not_done.clone(), exec((40, 50), done.clone())]);
    wrong(&[watch.clone(), not_done, exec((40, 50), Value::NilArray)]);
    // What may have happened counts as one, and may not have happened all the same.
    let unsure = unknown(2, (20, NEVER), set(A, 1));
    for value in [Value::NilBulk, bulk(1)] {
        let seen = op(1, (60, 70), get(A), value);
        right(&[watch.clone(), unsure.clone(), exec((40, 50), Value::NilArray), seen]);
    }
    // It may still happen; not on a server that is dead.
    let seen = op(1, (60, 70), get(A), bulk(1));
    right(&[watch.clone(), unsure, exec((40, 50), done.clone()), seen.clone()]);
    wrong(&[watch.clone(), unknown(2, (20, 30), set(A, 1)), exec((40, 50), done.clone()), seen]);
    // EXEC ends what is watched, also where it is refused.
    let changed = op(2, (20, 30), set(A, 1), Value::ok());
    right(&[watch.clone(), changed.clone(), exec((40, 50), refused()), exec((60, 70), done.clone())]);
    let unsure = unknown(1, (40, 50), Action::Exec(vec![Call::Set(B, 1)], true));
    right(&[watch, changed, unsure, exec((60, 70), done)]);
}

#[test]
fn what_was_refused_does_nothing() {
    right(&[op(1, (0, 10), set(A, 1), refused()), op(2, (20, 30), get(A), Value::NilBulk)]);
    wrong(&[op(1, (0, 10), set(A, 1), refused()), op(2, (20, 30), get(A), bulk(1))]);
    wrong(&[
        op(1, (0, 10), push(L, 1), Value::Int(1)),
        op(1, (20, 30), pop(L), refused()),
        op(2, (40, 50), pop(L), Value::NilBulk),
    ]);
}

#[test]
fn what_was_not_answered_may_have_happened_or_not() {
    for value in [Value::NilBulk, bulk(1)] {
        right(&[unknown(1, (0, 50), set(A, 1)), op(2, (60, 70), get(A), value)]);
    }
    // But not first this and then that.
    wrong(&[
        unknown(1, (0, 50), set(A, 1)),
        op(2, (60, 70), get(A), bulk(1)),
        op(2, (80, 90), get(A), Value::NilBulk),
    ]);
    // Nor when the server that it was sent to is dead.
    let seen = [op(2, (60, 70), get(A), Value::NilBulk), op(2, (80, 90), get(A), bulk(1))];
    wrong(&[&[unknown(1, (0, 50), set(A, 1))], &seen[..]].concat());
    right(&[&[unknown(1, (0, NEVER), set(A, 1))], &seen[..]].concat());
    // All of it, or nothing.
    let calls = vec![Call::Set(A, 1), Call::Set(B, 1)];
    wrong(&[
        unknown(1, (0, 50), Action::Exec(calls, false)),
        op(2, (60, 70), get(A), bulk(1)),
        op(2, (80, 90), get(B), Value::NilBulk),
    ]);
}

#[test]
fn what_was_answered_is_not_lost() {
    // Across a kill at 50.
    wrong(&[
        op(1, (0, 10), incr(A), Value::Int(1)),
        unknown(2, (20, 50), incr(A)),
        op(1, (60, 70), incr(A), Value::Int(1)),
    ]);
    right(&[
        op(1, (0, 10), incr(A), Value::Int(1)),
        unknown(2, (20, 50), incr(A)),
        op(1, (60, 70), incr(A), Value::Int(3)),
    ]);
    // Somebody has seen it, so it has happened.
    wrong(&[
        unknown(1, (0, 50), incr(A)),
        op(2, (20, 30), get(A), bulk(1)),
        op(2, (60, 70), get(A), Value::NilBulk),
    ]);
}

#[test]
fn what_a_client_sends_at_once_comes_in_its_order() {
    let (first, second) = (op(1, (0, 20), set(A, 1), Value::ok()), op(1, (0, 30), set(A, 2), Value::ok()));
    right(&[first.clone(), second.clone(), op(2, (40, 50), get(A), bulk(2))]);
    wrong(&[first, second, op(2, (40, 50), get(A), bulk(1))]);
}

/// A long history with much at a time is checked in no time, and one wrong reply in it is found.
#[test]
fn a_long_history() {
    let mut history = Vec::new();
    for n in 0..2_000_u64 {
        for client in 0..6 {
            let value = (n * 6 + client) as i64 + 1;
            history.push(op(client as Client, (n * 10, n * 10 + 9), incr(A), Value::Int(value)));
        }
    }
    right(&history);
    let last = history.last_mut().unwrap();
    last.reply = Some(Value::Int(1));
    wrong(&history);
}
