//! Numbers cast to integers as C does on x86-64, also where it says nothing of the result: what is too large, too small or
//! NaN becomes the smallest integer. Rust saturates instead.

const TWO_TO_31: f64 = 2_147_483_648.0;
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

pub fn to_i32(number: f64) -> i32 {
    let whole = number.trunc();
    if (-TWO_TO_31..TWO_TO_31).contains(&whole) { whole as i32 } else { i32::MIN }
}

pub fn to_i64(number: f64) -> i64 {
    if (-TWO_TO_63..TWO_TO_63).contains(&number) { number as i64 } else { i64::MIN }
}

/// Compilers subtract 2^63 from what is at least that and cast as above; the rest they cast as above.
pub fn to_u64(number: f64) -> u64 {
    if number >= TWO_TO_63 { to_i64(number - TWO_TO_63) as u64 ^ (1 << 63) } else { to_i64(number) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_cut_towards_zero() {
        assert_eq!((to_i32(-1.9), to_i64(-1.9), to_u64(1.9)), (-1, -1, 1));
        assert_eq!((to_i32(TWO_TO_31 - 0.5), to_i32(-TWO_TO_31 - 0.5)), (i32::MAX, i32::MIN));
        assert_eq!(to_u64(TWO_TO_63), 1 << 63);
    }

    #[test]
    fn what_does_not_fit_is_the_smallest() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e30] {
            assert_eq!((to_i32(number), to_i64(number)), (i32::MIN, i64::MIN), "{number}");
        }
        assert_eq!(to_i32(TWO_TO_31), i32::MIN);
        assert_eq!(to_i64(TWO_TO_63), i64::MIN);
        assert_eq!((to_u64(f64::NAN), to_u64(-1e30), to_u64(-1.0)), (1 << 63, 1 << 63, u64::MAX));
        assert_eq!((to_u64(1e30), to_u64(f64::INFINITY)), (0, 0));
    }
}
