use super::estimate::Histogram;
use super::place::Place;
use super::*;

const MAX_SPARSE: usize = 3_000;

fn numbered(count: u32) -> Sketch {
    let mut sketch = Sketch::new();
    for number in 0..count {
        sketch.raise(Place::of(format!("element:{number}").as_bytes()), MAX_SPARSE).unwrap();
    }
    sketch
}

fn estimate(sketch: &Sketch) -> u64 {
    sketch.histogram().unwrap().estimate()
}

/// Values that redis-server 7.0 made of the same commands.
#[test]
fn golden_bytes() {
    let mut sketch = Sketch::new();
    assert_eq!(sketch.bytes(), b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff");
    assert!(sketch.raise(Place::of(b"a"), MAX_SPARSE).unwrap());
    assert!(!sketch.raise(Place::of(b"a"), MAX_SPARSE).unwrap());
    sketch.forget_estimate();
    assert_eq!(sketch.bytes(), b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80q\xa6\x84NW");
    assert_eq!(sketch.spell().unwrap().unwrap(), "Z:12711 v:2,1 Z:3672");
}

#[test]
fn both_forms_hold_the_same_registers() {
    for count in [0, 1, 10, 100, 700, 1_000] {
        let sparse = numbered(count);
        assert_eq!(sparse.form(), Form::Sparse, "{count}");
        let mut dense = sparse.clone();
        assert!(dense.make_dense().unwrap() && !dense.make_dense().unwrap());
        assert_eq!(sparse.histogram(), dense.histogram());
        let mut joined = [[0; REGISTERS], [0; REGISTERS]];
        sparse.join_into(&mut joined[0]).unwrap();
        dense.join_into(&mut joined[1]).unwrap();
        assert_eq!(joined[0], joined[1]);
        assert!(dense.ranks().eq(joined[0].iter().copied()));
        assert!(estimate(&sparse).abs_diff(u64::from(count)) <= u64::from(count) / 20, "{count}");
    }
    assert_eq!(numbered(20_000).form(), Form::Dense);
}

#[test]
fn ranks_all_at_once_make_the_same_bytes_as_one_after_the_other() {
    for seed in 0..20 {
        let mut ranks = [0; REGISTERS];
        let mut drawn = crate::keyspace::context::draws(seed);
        for rank in &mut ranks {
            if drawn.next().unwrap().is_multiple_of(seed + 1) {
                *rank = (drawn.next().unwrap() % 4) as u8 + u8::from(seed > 10);
            }
        }
        let (mut one, mut other) = (numbered(50 * seed as u32), numbered(50 * seed as u32));
        one.raise_all(&ranks, usize::MAX).unwrap();
        for (register, rank) in ranks.into_iter().enumerate().filter(|(_, rank)| *rank > 0) {
            other.raise(Place { register, rank }, usize::MAX).unwrap();
        }
        assert_eq!(one, other, "{seed}");
    }
}

#[test]
fn the_sparse_form_ends_at_its_limits() {
    let place = |rank| Place { register: 100, rank };
    let mut sketch = Sketch::new();
    assert!(sketch.raise(place(32), MAX_SPARSE).unwrap());
    assert_eq!(sketch.form(), Form::Sparse);
    assert!(sketch.raise(place(33), MAX_SPARSE).unwrap());
    assert_eq!((sketch.form(), sketch.bytes().len()), (Form::Dense, DENSE_LEN));
    for (limit, form) in [(21, Form::Sparse), (20, Form::Dense)] {
        let mut sketch = Sketch::new();
        sketch.raise(place(1), limit).unwrap();
        assert_eq!(sketch.form(), form, "XZERO, VAL and XZERO behind the header");
    }
}

#[test]
fn registers_that_do_not_add_up_are_refused() {
    for runs in [&b""[..], b"\x7f", b"\x7f\xfe", b"\x7f\xff\0", b"\x7f\xff\x80", b"\x80\x7f\xff"] {
        let bytes = [&b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0"[..], runs].concat();
        let sketch = Sketch::from_parts(Form::Sparse, bytes);
        assert_eq!(sketch.histogram(), Err(Corrupt), "{runs:?}");
        assert_eq!(sketch.join_into(&mut [0; REGISTERS]), Err(Corrupt));
        assert_eq!(sketch.clone().make_dense(), Err(Corrupt));
    }
    let short = Sketch::from_parts(Form::Sparse, b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x3f".to_vec());
    assert!(short.clone().raise(Place { register: 63, rank: 1 }, MAX_SPARSE).unwrap());
    assert_eq!(short.clone().raise(Place { register: 64, rank: 1 }, MAX_SPARSE), Err(Corrupt));
    assert_eq!(short.clone().raise(Place { register: 63, rank: 40 }, MAX_SPARSE), Err(Corrupt));
}

#[test]
fn headers() {
    let header = |bytes: &[u8], len: usize| Header::decode(bytes, len as u64);
    let cached = |number| Some(Header { form: Form::Sparse, cached: number });
    assert_eq!(header(b"HYLL\x01\0\0\0\x02\x01\0\0\0\0\0\0", 18), cached(Some(258)));
    assert_eq!(header(b"HYLL\x01\0\0\0\x02\x01\0\0\0\0\0\x80", 18), cached(None));
    for bytes in [&b"HYLL\x01\0\0\0\0\0\0\0\0\0\0"[..], b"HYLM\x01\0\0\0\0\0\0\0\0\0\0\0", b""] {
        assert_eq!(header(bytes, bytes.len()), None);
    }
    let dense = b"HYLL\0\0\0\0\0\0\0\0\0\0\0\0";
    assert!(header(dense, DENSE_LEN).is_some());
    assert_eq!((header(dense, DENSE_LEN - 1), header(dense, DENSE_LEN + 1)), (None, None));
    assert_eq!(header(b"HYLL\x02\0\0\0\0\0\0\0\0\0\0\0", DENSE_LEN), None);
}

#[test]
fn estimates_at_the_ends() {
    let all = |rank| {
        let mut histogram = Histogram::default();
        histogram.note(rank, REGISTERS as u32);
        histogram.estimate()
    };
    // As redis-server 7.0 answers.
    assert_eq!(
        (all(0), all(30), all(50), all(51), all(63)),
        (0, 12_690_079_782_337, 1 << 63, 1 << 63, 1 << 63)
    );
}

#[test]
fn the_self_test_finds_nothing() {
    assert_eq!(selftest::run(1), Ok(()));
}
