use tarn_resp::Protocol;

use super::*;

fn change<T>(pubsub: &PubSub, change: impl FnOnce(&mut Registry) -> T) -> T {
    pubsub.change(1, &mut Queue::default(), change)
}

fn received(pubsub: &PubSub, thread: usize, protocol: Protocol) -> Vec<String> {
    let mut queue = Queue::default();
    pubsub.take(thread, &mut queue);
    let shown = |queue: &Queue, run: &Run| {
        let mut out = Vec::new();
        queue.messages(run).write(protocol, &mut out);
        let (values, len) = tarn_resp::decode::all(&out).unwrap();
        assert_eq!(len, out.len());
        assert_eq!(queue.messages(run).count(), values.len());
        let kinds: std::collections::HashSet<_> = values.iter().map(|value| value.to_string()).collect();
        assert!(!kinds.is_empty());
        format!("{}@{}", out.escape_ascii(), run.at.0)
    };
    let items = queue.take_items();
    items
        .iter()
        .map(|item| match item {
            Item::Run(run) => shown(&queue, run),
            Item::Arrival(_) => "arrival".to_owned(),
        })
        .collect()
}

#[test]
fn a_message_waits_for_the_threads_that_have_subscribers() {
    let pubsub = PubSub::new(3, Events::default());
    assert_eq!(pubsub.publish(Kind::Channel, b"c", b"nobody", Position(0)), 0);
    assert_eq!(pubsub.to_note(), Events::default());
    let name = change(&pubsub, |registry| {
        registry.add(Kind::Channel, b"c", 0);
        registry.add(Kind::Channel, b"c", 2);
        registry.add(Kind::Channel, b"c", 2)
    });
    assert!(pubsub.to_note().contains(Events::SUBSCRIBED));
    assert_eq!(pubsub.waiting().count(), 0);
    assert_eq!(pubsub.publish(Kind::Channel, b"c", b"1", Position(0)), 3);
    assert_eq!(pubsub.publish(Kind::Channel, b"c", b"\r\n", Position(0)), 3);
    assert_eq!(pubsub.publish(Kind::Shard, b"c", b"3", Position(0)), 0);
    assert_eq!(pubsub.waiting().collect::<Vec<_>>(), [0, 2]);
    assert_eq!(received(&pubsub, 1, Protocol::Resp2), [""; 0]);
    assert_eq!(
        received(&pubsub, 0, Protocol::Resp3),
        [concat!(
            r">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n1\r\n",
            r">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n\r\n\r\n@0"
        )]
    );
    assert_eq!(received(&pubsub, 2, Protocol::Resp2).len(), 1);
    assert_eq!(pubsub.waiting().count(), 0);
    change(&pubsub, |registry| {
        registry.remove(Kind::Channel, &name, 0);
        registry.remove(Kind::Channel, &name, 0);
        registry.remove(Kind::Channel, &name, 2);
    });
    assert_eq!(pubsub.publish(Kind::Channel, b"c", b"4", Position(0)), 1);
    change(&pubsub, |registry| registry.remove(Kind::Channel, &name, 2));
    assert_eq!(pubsub.publish(Kind::Channel, b"c", b"5", Position(0)), 0);
    assert_eq!(pubsub.to_note(), Events::default());
    assert!(pubsub.registry().is_empty());
}

#[test]
fn patterns_come_behind_the_channel_and_keep_the_order_of_messages() {
    let pubsub = PubSub::new(1, Events::default());
    change(&pubsub, |registry| {
        registry.add(Kind::Channel, b"ab", 0);
        registry.add(Kind::Pattern, b"a*", 0);
        registry.add(Kind::Pattern, b"b*", 0);
    });
    assert_eq!(pubsub.publish(Kind::Channel, b"ab", b"1", Position(0)), 2);
    assert_eq!(pubsub.publish(Kind::Channel, b"ab", b"2", Position(0)), 2);
    assert_eq!(pubsub.publish(Kind::Shard, b"ab", b"3", Position(0)), 0);
    let message = |text: &str| format!(r"*3\r\n$7\r\nmessage\r\n$2\r\nab\r\n$1\r\n{text}\r\n@0");
    let by_pattern =
        |text: &str| format!(r"*4\r\n$8\r\npmessage\r\n$2\r\na*\r\n$2\r\nab\r\n$1\r\n{text}\r\n@0");
    assert_eq!(
        received(&pubsub, 0, Protocol::Resp2),
        [message("1"), by_pattern("1"), message("2"), by_pattern("2")]
    );
}
