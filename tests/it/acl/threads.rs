//! Rules that change while others run commands.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::harness::{Options, Program, Server, StopOnDrop};
use crate::value::Value;

const CHANGES: u64 = 300;

/// A change counts once it is answered: nobody who sends a command afterwards meets the rules from before, on whatever thread.
#[test]
fn a_rule_counts_for_everybody_once_it_is_answered() {
    let server = Server::start(Options::new(Program::Memory).with("io-threads", "4"));
    let mut admin = server.conn();
    assert_eq!(admin.call(&["ACL", "SETUSER", "u", "on", "nopass", "+@all", "~*"]), Value::ok());
    // How many changes were answered: the command is forbidden after an odd number of them.
    let (answered, begun, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for _ in 0..4 {
            scope.spawn(|| {
                let mut conn = server.conn();
                assert_eq!(conn.call(&["AUTH", "u", "x"]), Value::ok());
                while !stop.load(Ordering::Relaxed) {
                    let before = answered.load(Ordering::SeqCst);
                    let is_refused = conn.call(&["GET", "k"]).is_error();
                    if begun.load(Ordering::SeqCst) == before {
                        assert_eq!(is_refused, before % 2 == 1, "after {before} changes");
                    }
                }
            });
        }
        for change in 1..=CHANGES {
            begun.store(change, Ordering::SeqCst);
            let rule = if change % 2 == 1 { "-get" } else { "+get" };
            assert_eq!(admin.call(&["ACL", "SETUSER", "u", rule]), Value::ok());
            answered.store(change, Ordering::SeqCst);
        }
    });
}

/// Whoever is deleted is gone, also in the middle of its commands, and a new user of that name is another one.
#[test]
fn deleted_users_are_gone() {
    let server = Server::start(Options::new(Program::Memory).with("io-threads", "4"));
    let mut admin = server.conn();
    for _ in 0..20 {
        assert_eq!(admin.call(&["ACL", "SETUSER", "u", "on", "nopass", "+@all", "~*"]), Value::ok());
        let mut conns: Vec<_> = (0..8).map(|_| server.conn()).collect();
        for conn in &mut conns {
            assert_eq!(conn.call(&["AUTH", "u", "x"]), Value::ok());
        }
        assert_eq!(admin.call(&["ACL", "DELUSER", "u"]), Value::Int(1));
        assert_eq!(admin.call(&["ACL", "SETUSER", "u", "on", "nopass", "+@all", "~*"]), Value::ok());
        for conn in &mut conns {
            // What it sends now is not answered.
            assert!(conn.try_call(&["SET", "k", "v"]).is_err());
        }
        assert_eq!(admin.call(&["EXISTS", "k"]), Value::Int(0));
    }
}
