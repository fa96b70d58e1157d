//! CRC-64 with the polynomial of Jones, as payloads of DUMP and RDB files end with it. The algorithm is public; this is a
//! table for each of eight bytes at a time.

/// The polynomial, its bits in reverse.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

static TABLES: [[u64; 256]; 8] = tables();

#[allow(clippy::indexing_slicing, reason = "made by the compiler, which would find a wrong index")]
const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut byte = 0;
    while byte < 256 {
        let mut zeros = 1;
        while zeros < 8 {
            let before = tables[zeros - 1][byte];
            tables[zeros][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            zeros += 1;
        }
        byte += 1;
    }
    tables
}

fn entry(table: &[u64; 256], byte: u64) -> u64 {
    table.get((byte & 0xff) as usize).copied().unwrap_or(0)
}

pub fn crc64(bytes: &[u8]) -> u64 {
    let [t0, t1, t2, t3, t4, t5, t6, t7] = &TABLES;
    let (chunks, tail) = bytes.as_chunks::<8>();
    let mut crc = 0;
    for chunk in chunks {
        #[allow(clippy::disallowed_methods, reason = "not on disk: the order in which bytes enter the sum")]
        let word = crc ^ u64::from_le_bytes(*chunk);
        crc = entry(t7, word)
            ^ entry(t6, word >> 8)
            ^ entry(t5, word >> 16)
            ^ entry(t4, word >> 24)
            ^ entry(t3, word >> 32)
            ^ entry(t2, word >> 40)
            ^ entry(t1, word >> 48)
            ^ entry(t0, word >> 56);
    }
    for byte in tail {
        crc = entry(t0, crc ^ u64::from(*byte)) ^ crc >> 8;
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_redis() {
        assert_eq!(crc64(b""), 0);
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        let text = b"This is a test of the emergency broadcast system.".repeat(3);
        let slow = text.iter().fold(0, |crc, byte| entry(&TABLES[0], crc ^ u64::from(*byte)) ^ crc >> 8);
        for len in 0..text.len() {
            let slow =
                text[..len].iter().fold(0, |crc, byte| entry(&TABLES[0], crc ^ u64::from(*byte)) ^ crc >> 8);
            assert_eq!(crc64(&text[..len]), slow, "{len}");
        }
        assert_eq!(crc64(&text), slow);
    }
}
