use std::sync::Arc;

use super::*;
use crate::acl::Users;
use crate::testkit::{Kit, START_MS};

fn connect(kit: &Kit, id: u64) -> Arc<Client> {
    let client = Client::new(id, 0, 9, format!("10.0.0.{id}:1"), "10.0.0.1:6379".into(), START_MS);
    let client = Arc::new(client);
    assert!(kit.node.clients.admit(usize::MAX));
    kit.node.clients.add(&client);
    client
}

#[test]
fn a_client_is_described_in_one_line() {
    let client = Client::new(7, 0, 9, "1.2.3.4:5".into(), "6.7.8.9:10".into(), START_MS);
    client.set_labels(|labels| labels.name = b"bob".to_vec());
    client.set_flag(flag::NO_EVICT | flag::RESP3 | flag::MONITOR, true);
    client.set_db(3);
    client.set_buffers(11, 22);
    let mut text = Vec::new();
    describe(&client, &[], &Users::default(), START_MS + 2_999, &mut text);
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.starts_with(
            "id=7 addr=1.2.3.4:5 laddr=6.7.8.9:10 fd=9 name=bob age=2 idle=2 flags=Oe db=3 sub=0 "
        )
    );
    assert!(
        text.contains(" qbuf=11 ") && text.contains(" omem=22 ") && text.contains(" cmd=NULL "),
        "{text}"
    );
    assert!(text.ends_with(" user=default redir=-1 resp=3\n"), "{text}");
}

#[test]
fn lists_are_filtered() {
    let mut kit = Kit::new();
    let first = connect(&kit, 101);
    connect(&kit, 102);
    assert_eq!(kit.run("CLIENT LIST").matches("id=").count(), 2);
    assert_eq!(kit.run("CLIENT LIST TYPE normal").matches("id=").count(), 2);
    assert_eq!(kit.run("CLIENT LIST TYPE pubsub"), "\"\"");
    assert!(kit.run("CLIENT LIST ID 102 5 102").matches("id=102 ").count() == 2);
    kit.node.clients.remove(&first);
    assert_eq!(kit.run("CLIENT LIST ID 101"), "\"\"");
    assert!(!kit.moved);
}

#[test]
fn a_long_list_is_made_by_a_worker() {
    let mut kit = Kit::new();
    for id in 0..LIGHT_CLIENTS as u64 {
        connect(&kit, 100 + id);
    }
    assert_eq!(kit.run("CLIENT LIST").matches("id=").count(), LIGHT_CLIENTS);
    assert!(!kit.moved);
    connect(&kit, 1000);
    assert_eq!(kit.run("CLIENT LIST").matches("id=").count(), LIGHT_CLIENTS + 1);
    assert!(kit.moved);
}

#[test]
fn kill_ends_those_that_all_filters_match() {
    let mut kit = Kit::new();
    let (a, b) = (connect(&kit, 101), connect(&kit, 102));
    kit.node.clients.add(&kit.session.client);
    assert_eq!(kit.run("CLIENT KILL ADDR 10.0.0.101:1 ID 102"), ":0");
    assert_eq!(
        kit.run("CLIENT KILL ADDR 10.0.0.101:1 ID 101 LADDR 10.0.0.1:6379 USER default TYPE normal"),
        ":1"
    );
    assert!(a.is_killed() && !b.is_killed() && !kit.session.closing);
    assert_eq!(kit.run("CLIENT KILL 10.0.0.102:1"), "+OK");
    assert!(b.is_killed());
    assert_eq!(kit.run("CLIENT KILL 10.0.0.103:1"), "-ERR No such client");
    assert_eq!(kit.run("CLIENT KILL ID 1"), ":0");
    assert_eq!(kit.run("CLIENT KILL ID 1 SKIPME no"), ":1");
    assert!(kit.session.closing && !kit.session.client.is_killed());
}

#[test]
fn replies_are_switched() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("CLIENT REPLY SKIP"), "");
    assert_eq!(kit.session.reply_mode, ReplyMode::SkipNext);
    assert_eq!(kit.run("CLIENT REPLY OFF"), "");
    assert_eq!(kit.run("CLIENT REPLY SKIP"), "");
    assert_eq!(kit.session.reply_mode, ReplyMode::Off);
    assert_eq!(kit.run("CLIENT REPLY ON"), "+OK");
    assert_eq!(kit.session.reply_mode, ReplyMode::On);
}

#[test]
fn a_pause_holds_until_it_ends() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("CLIENT PAUSE 500 WRITE"), "+OK");
    assert_eq!(kit.node.pause.holds(true, START_MS + 499), Some(START_MS + 500));
    assert_eq!(kit.node.pause.holds(false, START_MS), None);
    assert_eq!(kit.run("CLIENT PAUSE 100 ALL"), "+OK");
    assert_eq!(kit.node.pause.holds(false, START_MS), Some(START_MS + 500));
    assert_eq!(kit.run("CLIENT UNPAUSE"), "+OK");
    assert_eq!(kit.node.pause.holds(true, START_MS), None);
}

#[test]
fn tracking_is_switched_on_and_off() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("CLIENT TRACKING OFF | CLIENT GETREDIR"), "+OK | :-1");
    assert_eq!(kit.run("CLIENT TRACKING ON | CLIENT GETREDIR"), "+OK | :0");
    assert!(kit.node.tracking.any());
    assert_eq!(kit.run("CLIENT TRACKING OFF"), "+OK");
    assert!(!kit.node.tracking.any());
}
