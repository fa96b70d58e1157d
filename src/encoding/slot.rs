//! The Redis Cluster slot of a key: CRC16 (XMODEM) of the key, or of its hash tag, modulo 16384.

/// Number of hash slots.
pub const SLOTS: u16 = 16_384;

/// Bytes that are taken at a time: their lookups do not wait for each other.
const STEP: usize = 8;

/// `TABLES[n][byte]` is what a byte with n bytes behind it does to the sum.
static TABLES: [[u16; 256]; STEP] = tables();

// Evaluated by the compiler, which would report an index out of bounds.
#[allow(clippy::indexing_slicing)]
const fn tables() -> [[u16; 256]; STEP] {
    let mut tables = [[0u16; 256]; STEP];
    let mut i = 0;
    while i < 256 {
        let mut crc = (i as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        tables[0][i] = crc;
        i += 1;
    }
    let mut behind = 1;
    while behind < STEP {
        let mut i = 0;
        while i < 256 {
            let crc = tables[behind - 1][i];
            tables[behind][i] = (crc << 8) ^ tables[0][(crc >> 8) as usize];
            i += 1;
        }
        behind += 1;
    }
    tables
}

// The first index is below STEP, the second a u8; the tables have STEP times 256 entries.
#[allow(clippy::indexing_slicing)]
fn crc16(bytes: &[u8]) -> u16 {
    let [t0, t1, t2, t3, t4, t5, t6, t7] = &TABLES;
    let (steps, rest) = bytes.as_chunks::<STEP>();
    let mut crc = 0u16;
    for [a, b, c, d, e, f, g, h] in steps {
        let [high, low] = crc.to_be_bytes();
        let at = |table: &[u16; 256], byte: u8| table[usize::from(byte)];
        crc = at(t7, a ^ high)
            ^ at(t6, b ^ low)
            ^ at(t5, *c)
            ^ at(t4, *d)
            ^ at(t3, *e)
            ^ at(t2, *f)
            ^ at(t1, *g)
            ^ at(t0, *h);
    }
    rest.iter().fold(crc, |crc, byte| (crc << 8) ^ t0[usize::from((crc >> 8) as u8 ^ byte)])
}

/// The part of the key that is hashed: between the first `{` and the first `}` after it, when that is not empty.
pub fn hash_tag(key: &[u8]) -> &[u8] {
    let Some(open) = memchr::memchr(b'{', key) else { return key };
    let Some(inside) = key.get(open + 1..) else { return key };
    match memchr::memchr(b'}', inside) {
        None | Some(0) => key,
        Some(close) => inside.get(..close).unwrap_or(key),
    }
}

pub fn of(key: &[u8]) -> u16 {
    crc16(hash_tag(key)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        // Long ones are summed in steps, with a rest behind them.
        let one_by_one = |bytes: &[u8]| {
            bytes.iter().fold(0u16, |crc, byte| {
                (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| (crc << 1) ^ (0x1021 * (crc >> 15)))
            })
        };
        let bytes: Vec<u8> = (0..=255).map(|n: u8| n.wrapping_mul(167)).collect();
        for len in 0..bytes.len() {
            assert_eq!(crc16(&bytes[..len]), one_by_one(&bytes[..len]), "{len}");
        }
        assert_eq!(of(b"foo"), 12182);
        assert_eq!(of(b""), 0);
        assert_eq!(of(b"{user1000}.following"), of(b"{user1000}.followers"));
        assert_eq!(hash_tag(b"foo{}{bar}"), b"foo{}{bar}");
        assert_eq!(hash_tag(b"foo{{bar}}zap"), b"{bar");
        assert_eq!(hash_tag(b"foo{bar}{zap}"), b"bar");
        assert_eq!(hash_tag(b"foo{bar"), b"foo{bar");
    }
}
