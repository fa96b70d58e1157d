//! PFSELFTEST: the two forms hold the same, and estimates are as good as the theory says.

use super::place::Place;
use super::{REGISTERS, Sketch, dense};
use crate::keyspace::context::draws;

/// Elements added in all.
const ELEMENTS: u64 = 1_000_000;
/// Rounds in which random ranks are written and read again.
const ROUNDS: usize = 100;
/// The standard error of the estimate is this over the root of the number of registers.
const ERROR: f64 = 1.04;
/// An estimate further away than so many standard errors is a fault.
const MAX_ERRORS: f64 = 6.0;
/// Redis's default for `hll-sparse-max-bytes`.
const MAX_SPARSE_LEN: usize = 3_000;
/// Up to so many elements both forms must give the same estimate.
const COMPARED: u64 = 1_000;

/// What is wrong, if anything. It takes a part of a second.
pub fn run(random: u64) -> Result<(), String> {
    registers(random)?;
    estimates(random)
}

fn registers(random: u64) -> Result<(), String> {
    let mut draws = draws(random);
    let mut bytes = vec![0; dense::LEN];
    let mut ranks = vec![0; REGISTERS];
    for round in 0..ROUNDS {
        for (register, rank) in ranks.iter_mut().enumerate() {
            let drawn = draws.next().map_or(0, |draw| (draw & 63) as u8);
            dense::raise(&mut bytes, register, drawn);
            *rank = drawn.max(*rank);
        }
        if !dense::ranks(&bytes).eq(ranks.iter().copied()) {
            return Err(format!("TESTFAILED round {round}: a register is not what was written"));
        }
        if round % 10 == 9 {
            bytes.fill(0);
            ranks.fill(0);
        }
    }
    Ok(())
}

fn estimates(random: u64) -> Result<(), String> {
    let (mut sparse, mut dense) = (Sketch::new(), Sketch::new());
    let failed = |at: u64, what: &str| format!("TESTFAILED {at} elements: {what}");
    dense.make_dense().map_err(|_| failed(0, "an empty one does not become dense"))?;
    let allowed = ERROR / (REGISTERS as f64).sqrt() * MAX_ERRORS;
    let (mut added, mut checkpoint) = (0, 1);
    while added < ELEMENTS {
        let place = Place::of(&(random ^ added).to_be_bytes());
        added += 1;
        for sketch in [&mut sparse, &mut dense] {
            sketch.raise(place, MAX_SPARSE_LEN).map_err(|_| failed(added, "runs do not add up"))?;
        }
        if added != checkpoint {
            continue;
        }
        checkpoint *= 10;
        let estimate = |sketch: &Sketch| sketch.histogram().map(|histogram| histogram.estimate());
        let [one, other] = [&sparse, &dense]
            .map(|sketch| estimate(sketch).map_err(|_| failed(added, "registers cannot be read")));
        let (one, other) = (one?, other?);
        if added <= COMPARED && one != other {
            return Err(failed(added, "the two forms differ"));
        }
        if one.abs_diff(added) as f64 > (allowed * added as f64).ceil() {
            return Err(failed(added, &format!("the estimate is {one}")));
        }
    }
    Ok(())
}
