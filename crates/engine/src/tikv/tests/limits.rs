//! What the cluster would not take is refused before it is sent, and what it takes goes through.

use super::*;
use crate::Error;
use crate::tikv::keys::Keys;
use crate::tikv::{MAX_TRANSACTION_BYTES, MAX_TRANSACTION_ROWS, MAX_VALUE_BYTES};

fn refused<T: std::fmt::Debug>(result: Result<T>, limit: usize) {
    match result {
        Err(Error::TooLarge(why)) => assert!(why.contains(&limit.to_string()), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys() {
    let (_double, engine) = alone();
    let longest = vec![b'k'; Keys::new("alone").unwrap().max_row_len()];
    put(&engine, &longest, b"v");
    assert_eq!(committed(&engine, &longest), Some(b"v".to_vec()));
    let longer = [&*longest, b"k"].concat();
    refused(try_put(&engine, &longer, b"v"), 8_192);
    refused(engine.begin_read(Wait::Allowed).get(PLAIN, &longer, &mut Vec::new()), 8_192);
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, &longer, &[b"v"]);
    refused(write.commit(), 8_192);
    // A range may end wherever.
    let range = crate::Range { start: b"", end: &[0xff; 9_000] };
    let mut rows = 0;
    let each = &mut |_: &[u8], _: &[u8]| {
        rows += 1;
        std::ops::ControlFlow::Continue(())
    };
    engine.begin_read(Wait::Allowed).scan(PLAIN, range, crate::Direction::Forward, usize::MAX, each).unwrap();
    assert_eq!(rows, 1);
}

#[test]
fn values() {
    let (_double, engine) = alone();
    let largest = vec![7; MAX_VALUE_BYTES];
    put(&engine, b"large", &largest);
    assert!(committed(&engine, b"large").unwrap() == largest);
    refused(try_put(&engine, b"larger", &[&*largest, &[7]].concat()), MAX_VALUE_BYTES);
    assert_eq!(committed(&engine, b"larger"), None);
}

#[test]
fn transactions() {
    let (_double, engine) = alone();
    let begin = |rows: usize| {
        let mut write = engine.begin_write(Wait::Allowed);
        (0..rows as u32).for_each(|row| write.put(PLAIN, &row.to_be_bytes(), &[b"v"]));
        write
    };
    refused(begin(MAX_TRANSACTION_ROWS + 1).commit(), MAX_TRANSACTION_ROWS);
    begin(MAX_TRANSACTION_ROWS / 10).commit().unwrap();
    let mut write = engine.begin_write(Wait::Allowed);
    let value = vec![0; MAX_VALUE_BYTES];
    for row in 0..=(MAX_TRANSACTION_BYTES / MAX_VALUE_BYTES) as u8 {
        write.put(PLAIN, &[row], &[&value]);
    }
    refused(write.commit(), MAX_TRANSACTION_BYTES);
}

#[test]
fn prefixes_are_apart() {
    let double = start(DoubleOptions::default());
    let (a, ab) = (open(&double, "a"), open(&double, "ab"));
    put(&a, b"row", b"a");
    put(&ab, b"row", b"ab");
    for (engine, value) in [(&a, "a"), (&ab, "ab")] {
        let read = engine.begin_read(Wait::Allowed);
        let mut rows = Vec::new();
        let range = crate::Range { start: b"", end: &[0xff; 32] };
        read.scan(PLAIN, range, crate::Direction::Backward, usize::MAX, &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(rows, [(b"row".to_vec(), value.as_bytes().to_vec())]);
    }
}
