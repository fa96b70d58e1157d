//! How TiKV writes a key so that keys of any length stay in order: groups of eight bytes, each followed by a byte that
//! tells how many of the eight are padding. The bounds of regions are in this form on the wire; keys in requests are not.

const GROUP: usize = 8;
const FULL: u8 = 0xff;

/// The length of a key of `len` bytes once it is encoded.
pub fn encoded_len(len: usize) -> usize {
    (len / GROUP + 1) * (GROUP + 1)
}

pub fn encode(key: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(encoded_len(key.len()));
    let mut groups = key.chunks_exact(GROUP);
    for group in &mut groups {
        encoded.extend_from_slice(group);
        encoded.push(FULL);
    }
    let rest = groups.remainder();
    let padding = GROUP - rest.len();
    encoded.extend_from_slice(rest);
    encoded.resize(encoded.len() + padding, 0);
    encoded.push(FULL - padding as u8);
    encoded
}

/// The bound of a region as PD and TiKV send it: an empty one stays empty, it means no bound.
pub fn encode_bound(bound: &[u8]) -> Vec<u8> {
    if bound.is_empty() { Vec::new() } else { encode(bound) }
}

/// `None` if the bytes are not the code of a key.
pub fn decode(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(encoded.len());
    let mut groups = encoded.chunks_exact(GROUP + 1);
    loop {
        let (&marker, group) = groups.next()?.split_last()?;
        let padding = usize::from(FULL - marker);
        if padding == 0 {
            key.extend_from_slice(group);
            continue;
        }
        let (data, zeros) = group.split_at_checked(GROUP.checked_sub(padding)?)?;
        key.extend_from_slice(data);
        let ends_here = groups.next().is_none() && groups.remainder().is_empty();
        return (ends_here && zeros.iter().all(|&byte| byte == 0)).then_some(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_stay_in_order() {
        let keys: Vec<Vec<u8>> = [
            &b""[..],
            b"\0",
            b"\0\0\0\0\0\0\0\0",
            b"\0\0\0\0\0\0\0\0\0",
            b"a",
            b"a\0",
            b"abcdefg",
            b"abcdefgh",
            b"abcdefghi",
            b"\xff",
        ]
        .map(<[u8]>::to_vec)
        .to_vec();
        for pair in keys.windows(2) {
            assert!(encode(&pair[0]) < encode(&pair[1]), "{pair:?}");
        }
        for key in keys {
            let encoded = encode(&key);
            assert_eq!(encoded.len(), encoded_len(key.len()));
            assert_eq!(decode(&encoded), Some(key));
        }
    }

    #[test]
    fn the_code_is_that_of_the_wire() {
        assert_eq!(encode(b"abc"), b"abc\0\0\0\0\0\xfa");
        assert_eq!(encode(b"abcdefgh"), b"abcdefgh\xff\0\0\0\0\0\0\0\0\xf7");
        assert_eq!(encode_bound(b""), b"");
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for bytes in [&b""[..], b"abc", b"abc\0\0\0\0\x01\xfa", b"abc\0\0\0\0\0\xf0", b"abc\0\0\0\0\0\xfax"] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }
}
