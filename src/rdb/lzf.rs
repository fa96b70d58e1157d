//! LZF, the compression of long strings in payloads. The format is public; the compressor is a small one of our own, whose
//! output need not be that of another.
//!
//! ```text
//! 000nnnnn | n + 1 bytes                       bytes as they are
//! nnnooooo | oooooooo                          n + 2 bytes, from o + 1 bytes before; n is 1 to 6
//! 111ooooo | nnnnnnnn | oooooooo               n + 9 bytes
//! ```

use super::Bad;

const MAX_LITERALS: usize = 32;
const MIN_MATCH: usize = 3;
const MAX_MATCH: usize = 255 + 9;
const MAX_DISTANCE: usize = 1 << 13;
/// Three bytes stand for at most so many: who claims more lies.
const MAX_GAIN: usize = MAX_MATCH / 3;

const TABLE_BITS: u32 = 13;

/// Where sequences of three bytes were seen last. Kept from string to string, since it is long.
pub struct Table(Box<[u32]>);

impl Default for Table {
    fn default() -> Table {
        Table(vec![0; 1 << TABLE_BITS].into())
    }
}

/// The compressed bytes, if that spares at least four.
pub fn compress(table: &mut Table, input: &[u8]) -> Option<Vec<u8>> {
    let limit = input.len().checked_sub(4)?;
    u32::try_from(input.len()).ok()?;
    table.0.fill(0);
    let mut out = Vec::with_capacity(limit);
    let (mut at, mut literals_from) = (0, 0);
    while let Some([a, b, c]) = input.get(at..).and_then(|rest| rest.first_chunk()) {
        let three = u32::from(*a) << 16 | u32::from(*b) << 8 | u32::from(*c);
        let hash = three.wrapping_mul(0x9e37_79b1) >> (32 - TABLE_BITS);
        let place = table.0.get_mut(hash as usize)?;
        // Places are counted from 1: 0 is none.
        let seen = std::mem::replace(place, at as u32 + 1).checked_sub(1).map(|seen| seen as usize);
        let found = seen.filter(|seen| at - seen <= MAX_DISTANCE);
        let len = found.map_or(0, |seen| common(input, seen, at));
        let Some(seen) = found.filter(|_| len >= MIN_MATCH) else {
            at += 1;
            continue;
        };
        push_literals(&mut out, input.get(literals_from..at)?);
        let distance = at - seen - 1;
        let (high, low) = ((distance >> 8) as u8, distance as u8);
        match u8::try_from(len - 2) {
            Ok(short @ ..=6) => out.extend_from_slice(&[short << 5 | high, low]),
            _ => out.extend_from_slice(&[7 << 5 | high, (len - 9) as u8, low]),
        }
        at += len;
        literals_from = at;
        if out.len() > limit {
            return None;
        }
    }
    push_literals(&mut out, input.get(literals_from..)?);
    (out.len() <= limit).then_some(out)
}

/// How many bytes are the same from two places on.
fn common(input: &[u8], first: usize, second: usize) -> usize {
    let (first, second) = (input.get(first..).unwrap_or_default(), input.get(second..).unwrap_or_default());
    first.iter().zip(second).take(MAX_MATCH).take_while(|(a, b)| a == b).count()
}

fn push_literals(out: &mut Vec<u8>, literals: &[u8]) {
    for run in literals.chunks(MAX_LITERALS) {
        out.push(run.len() as u8 - 1);
        out.extend_from_slice(run);
    }
}

/// The bytes that were compressed, of which there must be `len`.
pub fn decompress(input: &[u8], len: usize) -> Result<Vec<u8>, Bad> {
    if len > input.len().saturating_mul(MAX_GAIN) {
        return Err(Bad);
    }
    let mut out = Vec::with_capacity(len);
    let mut left = input;
    let mut take = |count: usize| {
        let (taken, rest) = left.split_at_checked(count)?;
        left = rest;
        Some(taken)
    };
    while let Some(control) = take(1).and_then(<[u8]>::first).copied() {
        let mut byte = || take(1).and_then(<[u8]>::first).copied().map(usize::from).ok_or(Bad);
        if control < 1 << 5 {
            out.extend_from_slice(take(usize::from(control) + 1).ok_or(Bad)?);
        } else {
            let count = match usize::from(control >> 5) {
                7 => 9 + byte()?,
                short => 2 + short,
            };
            let distance = (usize::from(control & 0x1f) << 8 | byte()?) + 1;
            let from = out.len().checked_sub(distance).ok_or(Bad)?;
            // What is copied may reach into itself.
            let mut copied = 0;
            while copied < count {
                let step = (count - copied).min(out.len() - from - copied);
                out.extend_from_within(from + copied..from + copied + step);
                copied += step;
            }
        }
        if out.len() > len {
            return Err(Bad);
        }
    }
    if out.len() == len { Ok(out) } else { Err(Bad) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_bytes() {
        // As redis-server 7.0 writes 50 times `a` and `abcabc...`.
        assert_eq!(decompress(b"\x01aa\xe0\x25\x00\x01aa", 50).unwrap(), b"a".repeat(50));
        for (input, len) in [
            (&b"\x01aa\xe0\x25\x00\x01aa"[..], 49),
            (b"\x20\x00", 3),
            (b"\x01a", 2),
            (b"\xe0\x25", 46),
            (b"", 1),
        ] {
            assert_eq!(decompress(input, len), Err(Bad), "{input:?}");
        }
        assert_eq!(decompress(b"\x00a", usize::MAX), Err(Bad), "no room is made for a lie");
    }

    #[test]
    fn only_what_gets_shorter_is_compressed() {
        let mut table = Table::default();
        assert_eq!(compress(&mut table, b""), None);
        assert_eq!(compress(&mut table, b"abcdefghijklmnopqrstuvwxyz"), None);
        assert!(compress(&mut table, &b"x".repeat(100_000)).unwrap().len() < 1_200);
    }

    proptest! {
        #[test]
        fn what_was_compressed_comes_back(
            parts in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..40), 1..60usize), 0..40)
        ) {
            let input: Vec<u8> = parts.iter().flat_map(|(bytes, times)| bytes.repeat(*times)).collect();
            if let Some(small) = compress(&mut Table::default(), &input) {
                prop_assert!(small.len() + 4 <= input.len());
                prop_assert_eq!(decompress(&small, input.len()).unwrap(), input);
            }
        }

        #[test]
        fn any_bytes_are_taken_or_refused(input in proptest::collection::vec(any::<u8>(), 0..200), len in 0..4000usize) {
            if let Ok(out) = decompress(&input, len) {
                prop_assert_eq!(out.len(), len);
            }
        }
    }
}
