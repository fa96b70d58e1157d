use super::*;
use crate::testkit::Kit;

const OWN: Id = [b'0'; 40];

fn member(digit: u8) -> Member {
    Member { id: [digit; 40], row: crate::encoding::system::Member::default(), link: None }
}

fn nodes() -> Nodes {
    let nodes = Nodes::default();
    nodes.know(&OWN, Secret::new(&[7; 32]), vec![member(b'0'), member(b'1'), member(b'2')]);
    nodes
}

fn want(nodes: &Nodes, place: usize, interest: Interest) {
    *nodes.peers()[place].interest.write() = interest;
    nodes.gather();
}

fn waiting(nodes: &Nodes) -> Vec<usize> {
    nodes.peers().iter().map(|peer| peer.outbox.lock().bytes()).collect()
}

#[test]
fn nobody_is_told_what_it_does_not_want() {
    let alone = Nodes::default();
    assert!(!alone.any() && alone.members().is_empty());
    alone.publish(Kind::Channel, b"c", b"m");
    alone.tell_database(0);
    let nodes = nodes();
    assert!(nodes.any());
    assert_eq!(nodes.members().len(), 3);
    nodes.publish(Kind::Channel, b"c", b"m");
    nodes.tell_changed(std::iter::once((0, &b"k"[..], false)));
    assert_eq!(waiting(&nodes), [0, 0]);
    let mut channels = Channels::default();
    channels.set(Channels::place(Kind::Shard, b"c"), true);
    want(&nodes, 0, Interest { channels, ..Interest::default() });
    want(&nodes, 1, Interest { patterns: true, ..Interest::default() });
    nodes.publish(Kind::Channel, b"c", b"m");
    let message = Message::Published { kind: Kind::Channel, channel: b"c", message: b"m" }.encoded();
    assert_eq!(waiting(&nodes), [0, message.len()]);
    nodes.publish(Kind::Shard, b"c", b"m");
    assert_eq!(waiting(&nodes), [message.len(), message.len()]);
    nodes.tell_changed(std::iter::once((0, &b"k"[..], false)));
    assert_eq!(waiting(&nodes), [message.len(), message.len()]);
    want(&nodes, 0, Interest { waiters: true, ..Interest::default() });
    want(&nodes, 1, Interest { trackers: true, ..Interest::default() });
    nodes.tell_changed([(0, &b"k"[..], false), (1, b"l", true)].into_iter());
    nodes.tell_database(3);
    let frame = nodes.peers()[1].outbox.lock().pop().unwrap();
    assert_eq!(frame.messages, 4);
    let told: Vec<_> = message::Messages(&frame.bytes).map(Result::unwrap).skip(1).collect();
    assert_eq!(
        told,
        [
            Message::Changed { db: 0, may_be_gone: false, key: b"k" },
            Message::Changed { db: 1, may_be_gone: true, key: b"l" },
            Message::Database { db: 3 },
        ]
    );
}

#[test]
fn who_stays_keeps_what_waits_for_it_and_who_has_left_is_forgotten() {
    let nodes = nodes();
    want(&nodes, 1, Interest { patterns: true, ..Interest::default() });
    nodes.publish(Kind::Channel, b"c", b"m");
    nodes.know(&OWN, Secret::new(&[7; 32]), vec![member(b'0'), member(b'2')]);
    assert_eq!(
        waiting(&nodes),
        [Message::Published { kind: Kind::Channel, channel: b"c", message: b"m" }.encoded().len()]
    );
    assert!(nodes.waiting_bytes(&[b'2'; 40]) > 0 && nodes.waiting_bytes(&[b'1'; 40]) == 0);
    nodes.know(&OWN, Secret::new(&[7; 32]), vec![member(b'0')]);
    assert!(!nodes.any() && waiting(&nodes).is_empty());
    nodes.publish(Kind::Channel, b"c", b"m");
}

#[test]
fn what_finds_no_room_is_counted() {
    let nodes = nodes();
    want(&nodes, 0, Interest { patterns: true, ..Interest::default() });
    let long = vec![b'x'; message::MAX_MESSAGE_LEN];
    nodes.publish(Kind::Channel, b"c", &long);
    assert_eq!((waiting(&nodes), nodes.counters.dropped.load(Ordering::Relaxed)), (vec![0, 0], 1));
}

/// A node with two others that want something, and what waits for each of them.
fn kit(options: &[(&str, &str)], first: Interest, second: Interest) -> Kit {
    let kit = Kit::with(options);
    let own = id_of(&kit.node.run_id).unwrap();
    let mut members = vec![member(b'a'), member(b'b')];
    members.insert(0, Member { id: own, ..member(b'0') });
    kit.node.nodes.know(&own, Secret::new(&[7; 32]), members);
    want(&kit.node.nodes, 0, first);
    want(&kit.node.nodes, 1, second);
    kit.node.pubsub.set_elsewhere(true);
    kit
}

fn told(kit: &Kit, place: usize) -> Vec<String> {
    let peer = Arc::clone(&kit.node.nodes.peers()[place]);
    let frames: Vec<_> = std::iter::from_fn(|| peer.outbox.lock().pop()).collect();
    let messages =
        frames.iter().flat_map(|frame| message::Messages(&frame.bytes)).map(|message| {
            match message.unwrap() {
                Message::Published { channel, message, .. } => {
                    format!("{} {}", channel.escape_ascii(), message.escape_ascii())
                }
                Message::Changed { db, may_be_gone, key } => {
                    format!("{db} {}{}", key.escape_ascii(), if may_be_gone { " gone" } else { "" })
                }
                other => format!("{other:?}"),
            }
        });
    messages.collect()
}

#[test]
fn commits_tell_others_of_their_keys_and_events() {
    let waits = Interest { waiters: true, ..Interest::default() };
    let listens = Interest { patterns: true, ..Interest::default() };
    let mut kit = kit(&[("notify-keyspace-events", "K$g")], waits, listens);
    assert_eq!(kit.run("SET a 1 | GET a | PUBLISH c m | DEL a | DEL a"), "+OK | \"1\" | :0 | :1 | :0");
    assert_eq!(told(&kit, 0), ["0 a", "0 a gone"]);
    assert_eq!(told(&kit, 1), ["__keyspace@0__:a set", "c m", "__keyspace@0__:a del"]);
    // What is refused has changed nothing.
    kit.run("SET s x | INCR s | SELECT 1 | RPUSH l x y");
    assert_eq!(told(&kit, 0), ["0 s", "1 l"]);
    assert_eq!(told(&kit, 1), ["__keyspace@0__:s set"]);
    kit.run("SWAPDB 0 1");
    assert_eq!(told(&kit, 0), ["Database { db: 0 }", "Database { db: 1 }"]);
    assert!(told(&kit, 1).is_empty());
}

#[test]
fn what_comes_reaches_those_who_listen_and_cache_here() {
    let mut kit = kit(&[], Interest::default(), Interest::default());
    kit.run("SUBSCRIBE c");
    let mut received = receive::Received::new(&kit.node);
    let publish = |kind, channel| Message::Published { kind, channel, message: b"m" };
    assert!(received.take(&publish(Kind::Channel, b"other")) && !kit.node.pubsub.has_some(0));
    assert!(received.take(&publish(Kind::Channel, b"c")) && kit.node.pubsub.has_some(0));
    // It is not sent on.
    assert_eq!(waiting(&kit.node.nodes), [0, 0]);
    let change = Message::Changed { db: 0, may_be_gone: false, key: b"k" };
    assert!(received.take(&change) && kit.node.tracking.take(0).is_empty());
    let mut other = Kit::of(&kit.node);
    other.run("CLIENT TRACKING ON | GET k");
    assert!(received.take(&Message::Changed { db: 0, may_be_gone: false, key: b"x" }));
    assert!(kit.node.tracking.take(0).is_empty());
    assert!(received.take(&change));
    assert_eq!(kit.node.tracking.take(0).len(), 1);
    for everything in [Message::Anything, Message::Database { db: 3 }] {
        assert!(received.take(&everything));
        assert_eq!(kit.node.tracking.take(0).len(), 1);
    }
    for other in [Message::Alive, Message::Heard { number: 1 }] {
        assert!(!received.take(&other));
    }
    received.finish();
}
