//! What a node has under way when another one comes in between: the cluster holds its request meanwhile, so that it happens every time.

use std::time::Duration;

use tikv_double::{Call, Double, Fault, Rule};

use super::{call, double, ok, options};
use crate::conn::Conn;
use crate::harness::{Server, eventually};
use crate::value::Value;

/// Where the metadata of keys is.
const META: &[u8] = b"test\x00";
/// Where the map of databases is.
const DATABASES: &[u8] = b"test\x05d";
/// Long enough for whatever another node does meanwhile, on a busy machine too. Nothing waits for it but the request, and a request that takes
/// longer than a quarter of the time for all of them is sent again.
const HELD: Duration = Duration::from_millis(1_500);

fn two(double: &Double, timeout_ms: &str) -> Vec<Server> {
    let servers: Vec<Server> =
        (0..2).map(|_| Server::start(options(double).with("tikv-timeout", timeout_ms))).collect();
    for server in &servers {
        let mut conn = server.conn();
        // What finds nothing out is known by now.
        ok(&mut conn, "GET warm");
        eventually("they know each other", || {
            call(&mut conn, "INFO tikv").to_string().contains("tikv_links_to:1")
        });
    }
    servers
}

/// Sends a command, of which the next such request about keys meets a fault; that request is under way when this returns.
fn send_into(double: &Double, conn: &mut Conn, request: Call, fault: Fault, words: &[&str]) {
    let before = double.faults_struck();
    double.inject(Rule::on(request, fault).with_prefix(META));
    conn.send(words);
    eventually("it is on its way", || double.faults_struck() > before);
}

/// What was written by the map of before is there when the map is changed; nothing comes behind it.
#[test]
fn a_swap_waits_for_commits_of_other_nodes() {
    let double = double();
    let servers = two(&double, "8000");
    let (mut here, mut there) = (servers[0].conn(), servers[1].conn());
    ok(&mut here, "SET k old");
    send_into(&double, &mut there, Call::Prewrite, Fault::Delay(HELD), &["SET", "k", "held"]);
    ok(&mut here, "SWAPDB 0 1");
    ok(&mut here, "SELECT 1");
    let swapped = call(&mut here, "GET k");
    assert_eq!(there.recv(), Value::ok());
    assert_eq!(call(&mut here, "GET k"), swapped, "nobody has written to database 1 since");
    // In the one or in the other: before the swap, or behind it.
    assert!([swapped, call(&mut there, "GET k")].contains(&Value::bulk("held")));
}

/// A node that has something under way serves by the new map as soon as a database is flushed.
#[test]
fn a_flush_counts_where_commits_are_under_way() {
    let double = double();
    let servers = two(&double, "8000");
    let (mut here, mut there, mut beside) = (servers[0].conn(), servers[1].conn(), servers[1].conn());
    ok(&mut there, "SET other 1");
    send_into(&double, &mut there, Call::Prewrite, Fault::Delay(HELD), &["SET", "k", "held"]);
    ok(&mut here, "FLUSHALL");
    assert_eq!(call(&mut beside, "EXISTS other"), Value::Int(0));
    ok(&mut beside, "SET other 2");
    assert_eq!(call(&mut here, "GET other"), Value::bulk("2"));
    assert_eq!(there.recv(), Value::ok());
    // Before the flush or behind it, for everybody.
    assert_eq!(call(&mut here, "EXISTS k"), call(&mut there, "EXISTS k"));
    assert_eq!(call(&mut here, "DBSIZE"), call(&mut there, "EXISTS k other"));
}

/// What a node has read of the map before it changes it itself is not taken over behind that.
#[test]
fn a_look_that_began_before_a_flush_does_not_undo_it() {
    let double = double();
    let server = Server::start(options(&double));
    let mut conn = server.conn();
    ok(&mut conn, "SET k old");
    let before = double.faults_struck();
    double.inject(Rule::on(Call::Scan, Fault::Delay(HELD)).with_prefix(DATABASES));
    eventually("the node looks at the map", || double.faults_struck() > before);
    ok(&mut conn, "FLUSHALL");
    ok(&mut conn, "SET new 1");
    // It has ended when the next one begins.
    double.inject(Rule::on(Call::Scan, Fault::Delay(Duration::ZERO)).with_prefix(DATABASES));
    eventually("it has looked again", || {
        assert!(call(&mut conn, "GET k").is_nil());
        assert_eq!(call(&mut conn, "GET new"), Value::bulk("1"));
        double.faults_struck() > before + 1
    });
    assert_eq!(call(&mut conn, "DBSIZE"), Value::Int(1));
}

/// A run that began by the map of before does not commit by it.
#[test]
fn a_run_that_began_before_a_swap_begins_again() {
    let double = double();
    let servers = two(&double, "8000");
    let (mut here, mut there) = (servers[0].conn(), servers[1].conn());
    ok(&mut here, "SET k zero");
    ok(&mut here, "SELECT 1");
    ok(&mut here, "SET k one");
    for request in [Call::Get, Call::BatchGet] {
        // Whichever it reads by: the other rule is taken back.
        double.inject(Rule::on(request, Fault::Delay(HELD)).with_prefix(META));
    }
    let before = double.faults_struck();
    there.send(&["APPEND", "k", "+"]);
    eventually("it is on its way", || double.faults_struck() > before);
    double.clear_faults();
    ok(&mut here, "SWAPDB 0 1");
    assert_eq!(call(&mut here, "GET k"), Value::bulk("zero"));
    assert_eq!(there.recv(), Value::Int(4));
    assert_eq!(call(&mut here, "GET k"), Value::bulk("zero"), "nobody has written to database 1");
    assert_eq!(call(&mut there, "GET k"), Value::bulk("one+"));
}

/// Nor is what nobody waits for any more made behind a swap.
#[test]
fn a_late_write_does_not_come_behind_a_swap() {
    let double = double();
    let servers: Vec<Server> =
        (0..2).map(|_| Server::start(options(&double).with("tikv-timeout", "3000"))).collect();
    let (mut here, mut there) = (servers[0].conn(), servers[1].conn());
    ok(&mut here, "SET k old");
    ok(&mut here, "SELECT 1");
    ok(&mut here, "SET k other");
    double.inject(
        Rule::on(Call::Prewrite, Fault::Late(Duration::from_millis(7_000))).with_prefix(META).always(),
    );
    there.send(&["SET", "k", "late"]);
    eventually("it is on its way", || double.late() > 0);
    double.clear_faults();
    let reply = there.recv().to_string();
    assert!(reply.starts_with("-UNKNOWNOUTCOME") || reply == "+OK", "{reply}");
    ok(&mut here, "SWAPDB 0 1");
    let before = call(&mut here, "GET k").to_string();
    eventually("it has come", || double.late() == 0);
    assert_eq!(call(&mut here, "GET k").to_string(), before);
    ok(&mut here, "SELECT 0");
    assert_eq!(call(&mut here, "GET k"), Value::bulk("other"));
}

/// Of a node that is killed, what it had sent comes before the swap or never.
#[test]
fn a_swap_waits_for_requests_of_a_node_that_was_killed() {
    let double = double();
    let mut servers = two(&double, "8000");
    let (mut here, mut there) = (servers[0].conn(), servers[1].conn());
    ok(&mut here, "SET k old");
    // Later than its lease, within the time that a request may take.
    let late = Fault::Late(Duration::from_millis(6_500));
    send_into(&double, &mut there, Call::Prewrite, late, &["SET", "k", "late"]);
    servers[1].kill();
    let mut here = Conn::connect_patient(servers[0].port(), Duration::from_secs(60)).unwrap();
    ok(&mut here, "SWAPDB 0 1");
    ok(&mut here, "SELECT 1");
    let before = call(&mut here, "GET k");
    eventually("it has come", || double.late() == 0);
    assert_eq!(call(&mut here, "GET k"), before);
}

/// Two keys of which one may be set while the other is not: who has read one before it was set does not set the other.
#[test]
fn a_write_is_refused_where_what_it_relies_on_was_changed() {
    let double = double();
    let servers = two(&double, "8000");
    let (mut here, mut there) = (servers[0].conn(), servers[1].conn());
    let script = "if redis.call('exists',KEYS[1])==0 then redis.call('set',KEYS[2],'x') end return 0";
    let held = ["EVAL", script, "2", "one", "two"];
    send_into(&double, &mut there, Call::Prewrite, Fault::Delay(HELD), &held);
    assert_eq!(here.call(&["EVAL", script, "2", "two", "one"]), Value::Int(0));
    assert_eq!(there.recv(), Value::Int(0));
    assert_eq!(call(&mut here, "EXISTS one two"), Value::Int(1));
    assert_eq!(call(&mut here, "EXISTS one"), Value::Int(1));
}

/// EXEC is refused where another node has changed what is watched while EXEC was on its way to the cluster.
#[test]
fn a_watch_counts_until_the_commit() {
    let double = double();
    let servers = two(&double, "8000");
    let (mut here, mut there) = (servers[0].conn(), servers[1].conn());
    ok(&mut here, "SET k 1");
    ok(&mut there, "WATCH k");
    ok(&mut there, "MULTI");
    ok(&mut there, "SET mark x");
    // The first such request asks whether it was changed, the second commits.
    let before = double.faults_struck();
    double.inject(Rule::on(Call::Prewrite, Fault::Delay(HELD)).with_prefix(META).after(1));
    there.send(&["EXEC"]);
    eventually("it is on its way", || double.faults_struck() > before);
    ok(&mut here, "SET k 2");
    assert_eq!(there.recv(), Value::NilArray);
    assert_eq!(call(&mut here, "EXISTS mark"), Value::Int(0));
}

/// Stops all threads of a server: the signal is on its way for a while, and those it has not reached still serve.
fn stand_still(server: &Server) {
    server.signal(libc::SIGSTOP);
    let tasks = format!("/proc/{}/task", server.pid());
    eventually("all threads have stopped", || {
        std::fs::read_dir(&tasks).unwrap().all(|task| {
            let stat = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default();
            // The state stands behind the name in brackets.
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
        })
    });
}

/// A node that stood still for longer than its lease does not go on by what it knew.
#[test]
fn a_node_that_stood_still_does_not_serve_by_the_map_of_before() {
    let double = double();
    let servers = two(&double, "1000");
    let patient = |server: &Server| Conn::connect_patient(server.port(), Duration::from_secs(60)).unwrap();
    let (mut here, mut reads, mut writes) =
        (patient(&servers[0]), patient(&servers[1]), patient(&servers[1]));
    ok(&mut here, "SET k zero");
    ok(&mut here, "SELECT 1");
    ok(&mut here, "SET k one");
    stand_still(&servers[1]);
    reads.send(&["GET", "k"]);
    writes.send(&["APPEND", "k", "+"]);
    ok(&mut here, "SWAPDB 0 1");
    servers[1].signal(libc::SIGCONT);
    let replies = [reads.recv().to_string(), writes.recv().to_string()];
    let is_refused = |reply: &str| reply.starts_with("-CLUSTERDOWN");
    assert!(["\"one\"", "\"one+\""].contains(&&*replies[0]) || is_refused(&replies[0]), "{replies:?}");
    assert!(replies[1] == ":4" || is_refused(&replies[1]), "{replies:?}");
    assert_eq!(call(&mut here, "GET k"), Value::bulk("zero"), "nobody has written to database 1");
}
