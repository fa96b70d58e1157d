use super::*;
use crate::encoding::rows::collection;

#[test]
fn golden_metadata() {
    let state = State {
        last: Id::new(0x0102, 3),
        max_deleted: Id::new(1, 2),
        first: Id::new(1, 3),
        added: 5,
        groups: 1,
    };
    let bytes = state.encode();
    assert_eq!(bytes[..16], *b"\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03");
    assert_eq!(bytes[16..32], *b"\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02");
    assert_eq!(bytes[32..48], *b"\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x03");
    assert_eq!(bytes[48..], *b"\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x01");
    assert_eq!(State::decode(&bytes), Ok((state, None)));
    for len in 0..STATE_LEN {
        assert!(State::decode(&bytes[..len]).is_err(), "{len}");
    }
    let producers = Producers {
        version: 9,
        duration_s: 100,
        limit: 0x0102,
        producers: 2,
        records: 3,
        added: 4,
        duplicates: 5,
    };
    let more = producers.encode();
    assert_eq!(more[..16], *b"\0\0\0\0\0\0\0\x09\0\0\0\x64\0\0\x01\x02");
    assert_eq!(more[16..32], *b"\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03");
    assert_eq!(more[32..], *b"\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x05");
    let both = [&bytes[..], &more].concat();
    assert_eq!(State::decode(&both), Ok((state, Some(producers))));
    for len in STATE_LEN + 1..both.len() {
        assert!(State::decode(&both[..len]).is_err(), "{len}");
    }
}

#[test]
fn golden_records() {
    let prefix = collection(1, 0x1234, b"key", 9);
    let record = producers::Record { producer: [b'p'; 16], word: [b'w'; 16], id: Id::new(0x0102, 3) };
    let behind = |row: &RowKey| row[prefix.len()..].to_vec();
    let [by_word, by_producer, by_id] = record.rows(&prefix);
    assert_eq!(behind(&by_word), b"\x01ppppppppppppppppwwwwwwwwwwwwwwww");
    assert_eq!(
        behind(&by_producer),
        b"\x02pppppppppppppppp\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03wwwwwwwwwwwwwwww"
    );
    assert_eq!(behind(&producers::producer_row(&prefix, &record.producer)), b"\x03pppppppppppppppp");
    assert_eq!(behind(&by_id), b"\x04\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03ppppppppppppppppwwwwwwwwwwwwwwww");
    let sub = |row: &RowKey, start: RowKey| row[start.len()..].to_vec();
    let by_id = sub(&by_id, producers::by_id(&prefix));
    assert_eq!(producers::Record::read_by_id(&by_id), Ok(record));
    let by_producer = sub(&by_producer, producers::of_producer(&prefix, &record.producer));
    assert_eq!(producers::Record::read_of_producer(record.producer, &by_producer), Ok(record));
    for len in 0..by_producer.len() {
        assert!(producers::Record::read_of_producer(record.producer, &by_producer[..len]).is_err());
        assert!(producers::Record::read_by_id(&by_id[..len]).is_err());
    }
    assert_eq!(producers::read_count(b"\0\0\0\0\0\0\0\x07"), Ok(7));
    assert_eq!(producers::hash(1, b"p"), producers::hash(1, b"p"));
    assert_ne!(producers::hash(1, b"p"), producers::hash(2, b"p"));
}

#[test]
fn golden_entries() {
    let mut row = collection(1, 0x1234, b"key", 7);
    row.extend_from_slice(&Id::new(0x0102, 3).encode());
    assert_eq!(
        row[..],
        *b"\0\0\0\x01\x12\x34\0\0\0\x03key\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03"
    );
    let strings = [&b"f"[..], b"vw"];
    let value = encode_entry(strings.into_iter());
    assert_eq!(value, b"\0\0\0\x02\0\0\0\x01f\0\0\0\x02vw");
    assert_eq!(Strings::of(&value).unwrap().collect::<Vec<_>>(), strings);
    assert_eq!(Strings::of(&value).unwrap().len(), 2);
    assert_eq!(Strings::of(&encode_entry([].into_iter())).unwrap().count(), 0);
}

#[test]
fn golden_groups() {
    let prefix = collection(1, 0x1234, b"key", 7);
    let behind = |row: RowKey| row[prefix.len()..].to_vec();
    assert_eq!(behind(group_row(&prefix, b"g")), b"\x01g");
    assert_eq!(behind(owner_row(&prefix, 9)), b"\x02\0\0\0\0\0\0\0\x09");
    assert_eq!(behind(name_row(&prefix, b"c")), b"\x01c");
    assert_eq!(behind(consumer_row(&prefix, 1)), b"\x02\0\0\0\0\0\0\0\x01");
    assert_eq!(
        behind(pending_row(&prefix, Id::new(0x0102, 3))),
        b"\x03\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03"
    );
    assert_eq!(
        behind(owned_row(&prefix, 1, Id::new(0x0102, 3))),
        b"\x04\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03"
    );
    let delivered = delivered_row(&prefix, 0x0102, Id::new(0x0102, 3));
    assert_eq!(behind(delivered.clone()), b"\x05\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03");
    let times = delivered_prefix(&prefix).len();
    assert_eq!(read_delivered(&delivered[times..]), Ok((0x0102, Id::new(0x0102, 3))));
    assert!(read_delivered(&delivered[times + 1..]).is_err());
    let group = GroupState {
        version: 9,
        last: Id::new(0x0102, 3),
        read: Some(4),
        pending: 1,
        consumers: 2,
        last_consumer: 3,
        greatest: Id::new(0x0102, 3),
    };
    assert_eq!(
        group.encode(),
        *b"\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03"
    );
    let unknown = GroupState { read: None, ..group };
    assert_eq!(unknown.encode()[24..32], [0xff; 8]);
    for group in [group, unknown] {
        assert_eq!(GroupState::decode(&group.encode()), Ok(group));
        assert!(GroupState::decode(&group.encode()[..GROUP_LEN - 1]).is_err());
    }
    let consumer = ConsumerState { seen_ms: 0x0102, active_ms: 3, pending: 4 };
    let value = [&consumer.encode()[..], b"c"].concat();
    assert_eq!(value, b"\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04c");
    assert_eq!(ConsumerState::decode(&value), Ok((consumer, &b"c"[..])));
    assert!(ConsumerState::decode(&value[..23]).is_err());
    let pending = Pending { consumer: 1, delivered_ms: 0x0102, deliveries: 3 };
    assert_eq!(pending.encode(), *b"\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03");
    assert_eq!(Pending::decode(&pending.encode()), Ok(pending));
    assert!(Pending::decode(&pending.encode()[..23]).is_err());
    assert_eq!(read_number(b"\0\0\0\0\0\0\0\x05"), Ok(5));
    assert!(read_number(b"1234567").is_err());
}

#[test]
fn ids_sort_as_their_bytes_and_count_on() {
    let ids = [
        Id::MIN,
        Id::new(0, 1),
        Id::new(0, u64::MAX),
        Id::new(1, 0),
        Id::new(256, 0),
        Id::new(u64::MAX, 0),
        Id::MAX,
    ];
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1] && pair[0].encode() < pair[1].encode()));
    for id in ids {
        assert_eq!(Id::decode(&id.encode()), Ok(id));
        assert_eq!(id.next().map_or(Some(Id::MAX), Id::prev), Some(id));
    }
    assert_eq!((Id::new(1, u64::MAX).next(), Id::MAX.next()), (Some(Id::new(2, 0)), None));
    assert_eq!((Id::new(1, 0).prev(), Id::MIN.prev()), (Some(Id::new(0, u64::MAX)), None));
}

#[test]
fn what_is_no_entry_is_refused() {
    let value = encode_entry([&b"f"[..], b"v"].into_iter());
    for len in 0..value.len() {
        assert!(Strings::of(&value[..len]).is_err(), "{len}");
    }
    assert!(Strings::of(&[&value[..], b"x"].concat()).is_err());
    assert!(Strings::of(b"\xff\xff\xff\xff").is_err());
    assert!(Id::decode(&[0; 15]).is_err() && Id::decode(&[0; 17]).is_err());
}
