//! The Redis Cluster slot of a key: CRC16 (XMODEM) of the key, or of its hash tag, modulo 16384.

/// Number of hash slots.
pub const SLOTS: u16 = 16_384;

const TABLE: [u16; 256] = table();

// Evaluated by the compiler, which would report an index out of bounds.
#[allow(clippy::indexing_slicing)]
const fn table() -> [u16; 256] {
    let mut table = [0u16; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = (i as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        // The index is a u8, the table has 256 entries.
        #[allow(clippy::indexing_slicing)]
        let step = TABLE[usize::from((crc >> 8) as u8 ^ byte)];
        (crc << 8) ^ step
    })
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
        assert_eq!(of(b"foo"), 12182);
        assert_eq!(of(b""), 0);
        assert_eq!(of(b"{user1000}.following"), of(b"{user1000}.followers"));
        assert_eq!(hash_tag(b"foo{}{bar}"), b"foo{}{bar}");
        assert_eq!(hash_tag(b"foo{{bar}}zap"), b"{bar");
        assert_eq!(hash_tag(b"foo{bar}{zap}"), b"bar");
        assert_eq!(hash_tag(b"foo{bar"), b"foo{bar");
    }
}
