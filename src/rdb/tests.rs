//! Payloads that no server of today writes, made by hand, and what the writer makes.

use proptest::prelude::*;

use super::packed::listpack;
use super::packed::ziplist::tests::ziplist;
use super::*;
use crate::types::strings::Strings;

const MAX_LEN: usize = 1 << 20;

/// A value as text: elements parted by blanks, by what they are.
fn shown(content: &[u8], version: u16) -> Result<String, Bad> {
    let payload = Payload::of(content, version, MAX_LEN)?;
    let mut out = Vec::new();
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    match payload.shape {
        Shape::String => out.push(text(&payload.string()?)),
        Shape::List | Shape::Set => payload.strings(&mut |string| {
            out.push(text(string));
            Ok::<_, Bad>(())
        })?,
        Shape::SortedSet => payload.scores(&mut |member, score| {
            out.push(format!("{}={score:?}", text(member)));
            Ok::<_, Bad>(())
        })?,
        Shape::Hash => payload.fields(&mut |field| {
            let Field { name, value, expire_at_ms, version } = field;
            let time = if expire_at_ms == 0 { String::new() } else { format!("@{expire_at_ms}") };
            let version = if version == 1 { String::new() } else { format!("#{version}") };
            out.push(format!("{}={}{time}{version}", text(name), text(value)));
            Ok::<_, Bad>(())
        })?,
        Shape::Stream => {
            let tail = payload.stream(&mut |(ms, seq), strings: &Strings| {
                let strings: Vec<String> = strings.iter().map(text).collect();
                out.push(format!("{ms}-{seq}:{}", strings.join(",")));
                Ok::<_, Bad>(())
            })?;
            out.push(format!("last {:?} deleted {:?} added {}", tail.last, tail.max_deleted, tail.added));
            for group in &tail.groups {
                let consumer =
                    |place: Option<usize>| place.map_or("".into(), |at| text(&group.consumers[at].name));
                let pending: Vec<String> = group
                    .pending
                    .iter()
                    .map(|p| {
                        format!("{:?} {} {} {}", p.id, p.delivered_ms, p.deliveries, consumer(p.consumer))
                    })
                    .collect();
                let consumers: Vec<String> = group
                    .consumers
                    .iter()
                    .map(|c| format!("{} {} {:?}", text(&c.name), c.seen_ms, c.active_ms))
                    .collect();
                out.push(format!(
                    "{} {:?} {:?} {pending:?} {consumers:?}",
                    text(&group.name),
                    group.last,
                    group.read
                ));
            }
        }
    }
    Ok(out.join(" "))
}

/// A string that is not compressed.
fn string(bytes: &[u8]) -> Vec<u8> {
    let mut out = Writer::new(0);
    out.number(bytes.len() as u64);
    out.bytes(bytes);
    let mut content = out.finish();
    content.truncate(content.len() - 10);
    content
}

fn pack(strings: &[&str]) -> Vec<u8> {
    let mut writer = listpack::Writer::default();
    strings.iter().for_each(|item| writer.push(item.as_bytes()));
    string(&writer.finish())
}

#[test]
fn strings_in_every_form() {
    for (body, expected) in [
        (&b"\x05hello"[..], "hello"),
        (b"\x00", ""),
        (b"\x40\x05hello", "hello"),
        (b"\x80\0\0\0\x05hello", "hello"),
        (b"\x81\0\0\0\0\0\0\0\x05hello", "hello"),
        (b"\xc0\xff", "-1"),
        (b"\xc1\x00\x80", "-32768"),
        (b"\xc2\xff\xff\xff\x7f", "2147483647"),
        (b"\xc3\x09\x32\x01aa\xe0\x25\x00\x01aa", &"a".repeat(50)),
    ] {
        let content = [&[0], body].concat();
        assert_eq!(shown(&content, 9).as_deref(), Ok(expected), "{body:?}");
        assert_eq!(shown(&content[..content.len() - 1], 9), Err(Bad), "{body:?}");
        assert_eq!(shown(&[&content[..], b"x"].concat(), 9), Err(Bad), "{body:?}");
    }
    for bad in [
        &b""[..],
        b"\0",
        b"\0\x82\0\0\0\0\0",
        b"\0\xc4\0",
        b"\0\x81\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xff",
        b"\x08",
    ] {
        assert_eq!(shown(bad, 9), Err(Bad), "{bad:?}");
    }
}

#[test]
fn old_forms_are_read() {
    let zipmap = b"\x02\x01a\x01\0b\x02cc\x02\x01dd.\xff";
    let strings = ziplist(&[b"\x01a", b"\xf2", b"\x01b", b"\xc0\xfe\xff"]);
    let scored = ziplist(&[b"\x01a", b"\xf2", b"\x01b", b"\x032.5"]);
    for (number, body, expected) in [
        (1, b"\x02\x01a\xc0\x05".to_vec(), "a 5"),
        (2, b"\x02\x01a\xc0\x05".to_vec(), "a 5"),
        (3, b"\x04\x01a\x031.5\x01b\xfe\x01c\xff\x01d\x03-1e".to_vec(), ""),
        (3, b"\x03\x01a\x031.5\x01b\xfe\x01c\xff".to_vec(), "a=1.5 b=inf c=-inf"),
        (3, b"\x01\x01a\xfd".to_vec(), ""),
        (4, b"\x02\x01a\x01b\xc0\x05\x00".to_vec(), "a=b 5="),
        (9, string(zipmap), "a=b cc=dd"),
        (10, string(&strings), "a 1 b -2"),
        (11, string(b"\x02\0\0\0\x02\0\0\0\xff\xff\x05\0"), "-1 5"),
        (12, string(&scored), "a=1.0 b=2.5"),
        (13, string(&strings), "a=1 b=-2"),
        (14, [&[2][..], &string(&strings), &string(&strings)].concat(), "a 1 b -2 a 1 b -2"),
        (16, pack(&["a", "1", "b", "x"]), "a=1 b=x"),
        (16, pack(&["a", "1", "b"]), ""),
        (17, pack(&["a", "1", "b", "-inf", "c", "1e300"]), "a=1.0 b=-inf c=1e300"),
        (17, pack(&["a", "nan"]), ""),
        (17, pack(&["a", ""]), ""),
        (18, [&[2, 2][..], &pack(&["a", "1"]), &[1], &string(b"long")].concat(), "a 1 long"),
        (18, [&[1, 3][..], &string(b"long")].concat(), ""),
        (20, pack(&["a", "1"]), "a 1"),
    ] {
        let content = [&[number], body.as_slice()].concat();
        let found = shown(&content, 9);
        if expected.is_empty() {
            assert_eq!(found, Err(Bad), "{number}");
        } else {
            assert_eq!(found.as_deref(), Ok(expected), "{number}");
        }
    }
}

#[test]
fn hashes_whose_fields_expire() {
    let earliest = b"\x0a\0\0\0\0\0\0\0";
    let relative = [&[24][..], earliest, b"\x02\x01\x01a\x01x\x00\x01b\x01y"].concat();
    assert_eq!(shown(&relative, 12).as_deref(), Ok("a=x@10 b=y"));
    let absolute = b"\x16\x02\x07\x01a\x01x\x00\x01b\x01y";
    assert_eq!(shown(absolute, 12).as_deref(), Ok("a=x@7 b=y"));
    // The same number means something else to Valkey.
    let behind = b"\x16\x02\x01a\x01x\x07\0\0\0\0\0\0\0\x01b\x01y\xff\xff\xff\xff\xff\xff\xff\xff";
    assert_eq!(shown(behind, 80).as_deref(), Ok("a=x@7 b=y"));
    assert_eq!((shown(behind, 12), shown(absolute, 80)), (Err(Bad), Err(Bad)));
    let triples = pack(&["a", "x", "0", "b", "y", "7"]);
    assert_eq!(shown(&[&[23], triples.as_slice()].concat(), 12).as_deref(), Ok("a=x b=y@7"));
    assert_eq!(shown(&[&[25][..], earliest, &triples].concat(), 12).as_deref(), Ok("a=x b=y@7"));
    for bad in [pack(&["a", "x"]), pack(&["a", "x", "y"]), pack(&["a", "x", "-1"])] {
        assert_eq!(shown(&[&[23], bad.as_slice()].concat(), 12), Err(Bad));
    }
    // Later than can be told.
    let late = [&[24][..], b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\x01\x02\x01a\x01x"].concat();
    assert_eq!(shown(&late, 12), Err(Bad));
}

#[test]
fn hashes_by_templates() {
    let plain = b"\x1f\x01\x02\x01a\x01b\xc0\x01\x01x";
    assert_eq!(shown(plain, 16).as_deref(), Ok("a=1 b=x"));
    let packed = [&[29, 0][..], &pack(&["a", "b"]), &pack(&["7", "1", "x"])].concat();
    assert_eq!(shown(&packed, 16).as_deref(), Ok("a=1 b=x"));
    for values in [&["7", "1"][..], &["7", "1", "x", "y"], &["x", "1", "x"]] {
        assert_eq!(shown(&[&[29, 0][..], &pack(&["a", "b"]), &pack(values)].concat(), 16), Err(Bad));
    }
}

#[test]
fn hashes_of_tairhash() {
    let head = b"\x07\x81\xb5\xa8\xab\x68\x75\xac\xf8\x00";
    let mut out = Writer::new(11);
    let place = out.tair_hash(b"k");
    out.tair_field((b"a", b"x"), 9, 0);
    out.tair_field((b"b", b"1"), 1, 77);
    out.fill(place, 2);
    out.end_tair_hash();
    let content = open(&out.finish()).unwrap().0.to_vec();
    assert_eq!(content[0], head[0]);
    assert_eq!(shown(&content, 11).as_deref(), Ok("a=x#9 b=1@77"));
    // As an older one writes it, with the number of a database.
    let number = content[1..10].to_vec();
    let older =
        [&[7][..], &number, b"\x02\x01\x05\x01k\x02\x00\x05\x01a\x02\x03\x02\x00\x05\x01x\x00"].concat();
    assert_eq!(shown(&older, 9).as_deref(), Ok("a=x#3"));
    let unknown = [&[7][..], b"\x81\0\0\0\0\0\0\x04\0", b"\x02\x01\x00"].concat();
    assert_eq!(shown(&unknown, 9), Err(Bad));
}

/// A stream with a group, of which one entry is pending.
fn stream(age: u8, tail: &[u8]) -> Vec<u8> {
    let id = |ms: u8| [&[0; 7][..], &[ms], &[0; 7], &[1]].concat();
    let node = [
        "2", "1", "1", "f", "0", // of entries that have f
        "2", "0", "0", "v", "4", // 1-1
        "3", "1", "0", "gone", "4", // 2-1, deleted
        "0", "2", "4", "1", "g", "w", "6", // 3-5
    ];
    let mut body = [vec![age, 1], string(&id(1)), pack(&node), vec![2, 3, 5]].concat();
    if age > 15 {
        // The first one, the greatest deleted one, how many were added.
        body.extend([1, 1, 2, 1, 3]);
    }
    body.extend_from_slice(tail);
    body
}

#[test]
fn streams_of_every_age() {
    let id = |ms: u8| [&[0; 7][..], &[ms], &[0; 7], &[1]].concat();
    let pending = [&[1][..], &id(1), b"\x64\0\0\0\0\0\0\0", &[7]].concat();
    let consumer = |times: &[u8], ids: &[u8]| [b"\x01\x01c", times, ids].concat();
    let seen = b"\x65\0\0\0\0\0\0\0";
    let both = [&seen[..], b"\xff\xff\xff\xff\xff\xff\xff\xff"].concat();
    let owned = [&[1][..], &id(1)].concat();
    let group = |read: &[u8], consumer: &[u8], nobody: &[u8]| {
        [b"\x01\x01G\x01\x01", read, pending.as_slice(), consumer, nobody].concat()
    };
    let producers = b"\x40\x64\x40\x64\x01\x01p\x01\x01i\x03\x05\x01\x02";
    let entries = "1-1:f,v 3-5:g,w last (3, 5)";
    let of = |read: &str, owner: &str, active: &str| {
        format!("G (1, 1) {read} [\"(1, 1) 100 7 {owner}\"] [\"c 101 {active}\"]")
    };
    for (content, expected) in [
        (
            stream(15, &group(b"", &consumer(seen, &owned), b"")),
            format!("{entries} deleted (0, 0) added 2 {}", of("None", "c", "Some(101)")),
        ),
        (
            stream(19, &group(b"\x01", &consumer(seen, &owned), b"")),
            format!("{entries} deleted (2, 1) added 3 {}", of("Some(1)", "c", "Some(101)")),
        ),
        (
            stream(21, &group(b"\x01", &consumer(&both, &owned), b"")),
            format!("{entries} deleted (2, 1) added 3 {}", of("Some(1)", "c", "None")),
        ),
        (
            stream(26, &[group(b"\x01", &consumer(&both, &owned), b""), producers.to_vec()].concat()),
            format!("{entries} deleted (2, 1) added 3 {}", of("Some(1)", "c", "None")),
        ),
        (
            stream(27, &[group(b"\x01", &consumer(&both, &[0]), &owned), producers.to_vec()].concat()),
            format!("{entries} deleted (2, 1) added 3 {}", of("Some(1)", "", "None")),
        ),
    ] {
        assert_eq!(shown(&content, 16), Ok(expected), "{}", content[0]);
        for len in 0..content.len() {
            assert_eq!(shown(&content[..len], 16), Err(Bad), "{} cut at {len}", content[0]);
        }
    }
    // Nobody has it, and nobody says so; somebody has what is not pending; it is had twice.
    for ids in [vec![0], [&[1][..], &id(2)].concat(), [&[2][..], &id(1), &id(1)].concat()] {
        let content = stream(21, &group(b"\x01", &consumer(&both, &ids), b""));
        assert_eq!(shown(&content, 16), Err(Bad));
    }
}

/// What entries have in common is not to be made much of.
#[test]
fn long_fields_of_many_entries_are_refused() {
    let content = |name: usize, entries: usize| {
        let name = "n".repeat(name);
        let count = entries.to_string();
        let numbers: Vec<String> = (1..=entries).map(|n| n.to_string()).collect();
        let mut items = vec![count.as_str(), "0", "1", &name, "0"];
        numbers.iter().for_each(|number| items.extend(["2", number, "0", "v", "4"]));
        let mut out = Writer::new(0);
        out.number(entries as u64);
        let entries = out.finish();
        // The last ID is 16383-0, and there are no groups.
        let last = [&entries[..entries.len() - 10], &[0x7f, 0xff, 0, 0]].concat();
        [vec![15, 1], string(&[0; 16]), pack(&items), last].concat()
    };
    assert!(shown(&content(100, 200), 9).is_ok());
    assert_eq!(shown(&content(60_000, 600), 9), Err(Bad));
}

#[test]
fn the_footer_is_checked() {
    let mut out = Writer::new(11);
    out.u8(encode::STRING);
    out.string(b"hello");
    let payload = out.finish();
    assert_eq!(open(&payload), Some((&payload[..7], 11)));
    for at in 0..payload.len() {
        let mut bad = payload.clone();
        bad[at] ^= 1;
        assert_eq!(open(&bad), None, "{at}");
    }
    for len in 0..payload.len() {
        assert_eq!(open(&payload[..len]), None);
    }
    for (version, is_known) in [
        (0, true),
        (6, true),
        (16, true),
        (17, false),
        (79, false),
        (80, true),
        (81, false),
        (u16::MAX, false),
    ] {
        let mut payload = payload[..7].to_vec();
        seal(&mut payload, version);
        assert_eq!(open(&payload).is_some(), is_known, "{version}");
    }
}

#[test]
fn what_is_written_is_what_redis_writes() {
    for (value, bytes) in [
        (&b"hello"[..], &b"\0\x05hello\x0b\0"[..]),
        (b"", b"\0\0\x0b\0"),
        (b"-1", b"\0\xc0\xff\x0b\0"),
        (b"-32768", b"\0\xc1\0\x80\x0b\0"),
        (b"2147483647", b"\0\xc2\xff\xff\xff\x7f\x0b\0"),
        (b"2147483648", b"\0\x0a2147483648\x0b\0"),
        (b"01", b"\0\x0201\x0b\0"),
    ] {
        let mut out = Writer::new(11);
        out.u8(encode::STRING);
        out.string(value);
        let payload = out.finish();
        assert_eq!(payload[..payload.len() - 8], *bytes);
    }
}

#[test]
fn functions_come_and_go() {
    let payload = functions::dump([&b"#!lua name=a\ncode"[..], b"x"].into_iter(), 10);
    let (content, version) = open(&payload).unwrap();
    let mut codes = functions::Codes::of(content);
    assert_eq!(codes.next().unwrap().as_deref(), Some(&b"#!lua name=a\ncode"[..]));
    assert_eq!(codes.next().unwrap().as_deref(), Some(&b"x"[..]));
    assert_eq!((codes.next().unwrap(), version), (None, 10));
    for (content, unfit) in [
        (&b"\xf6\x01x"[..], functions::Unfit::BeforeRelease),
        (b"\x00\x01x", functions::Unfit::NotAFunction),
        (b"\xf5\x02x", functions::Unfit::Bad),
    ] {
        assert_eq!(functions::Codes::of(content).next(), Err(unfit));
    }
}

proptest! {
    #[test]
    fn numbers_and_strings_come_back(number: u64, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut out = Writer::new(11);
        let place = out.place();
        out.number(number);
        out.string(&bytes);
        out.fill(place, number);
        let payload = out.finish();
        let mut reader = Reader::new(open(&payload).unwrap().0, MAX_LEN);
        prop_assert_eq!(reader.len().unwrap(), number);
        prop_assert_eq!(reader.len().unwrap(), number);
        let found = reader.string().unwrap();
        prop_assert_eq!(&found[..], &bytes[..]);
        prop_assert!(reader.end().is_ok());
    }

    #[test]
    fn scores_come_back_in_every_version(score: f64, version in 6..12u16) {
        prop_assume!(!score.is_nan());
        let mut out = Writer::new(version);
        out.sorted_set();
        out.number(1);
        out.string(b"m");
        out.score(score);
        let payload = out.finish();
        let (content, version) = open(&payload).unwrap();
        let mut found = None;
        Payload::of(content, version, MAX_LEN).unwrap().scores(&mut |_, score| {
            found = Some(score);
            Ok::<_, Bad>(())
        }).unwrap();
        prop_assert_eq!(found.map(f64::to_bits), Some(score.to_bits()));
    }

    #[test]
    fn any_bytes_are_read_or_refused(number in 0..34u8, bytes in proptest::collection::vec(any::<u8>(), 0..200), version: u16) {
        let _ = shown(&[&[number], bytes.as_slice()].concat(), version);
    }
}
