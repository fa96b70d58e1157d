//! Which slots a node has, as clients of a cluster are told. Any node serves any key; so a client's map may be old without harm.

use std::ops::RangeInclusive;

use crate::encoding::slot::SLOTS;

/// The slots of one of so many nodes, by its place among their sorted names. None where there are more nodes than slots.
pub fn share(place: usize, nodes: usize) -> Option<RangeInclusive<u16>> {
    let first = |place: usize| place * usize::from(SLOTS) / nodes.max(1);
    let (first, next) = (first(place), first(place + 1));
    (first < next && next <= usize::from(SLOTS)).then(|| first as u16..=(next - 1) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_even_and_leave_nothing_out() {
        assert_eq!(share(0, 1), Some(0..=SLOTS - 1));
        let thirds: Vec<_> = (0..3).filter_map(|place| share(place, 3)).collect();
        assert_eq!(thirds, [0..=5460, 5461..=10921, 10922..=16383]);
        for nodes in [2, 7, 100, 16_384, 20_000] {
            let shares: Vec<_> = (0..nodes).filter_map(|place| share(place, nodes)).collect();
            assert_eq!(shares.iter().map(|share| share.len()).sum::<usize>(), usize::from(SLOTS));
            assert_eq!(*shares[0].start(), 0);
            assert!(shares.windows(2).all(|two| two[0].end() + 1 == *two[1].start()), "{nodes}");
            let sizes = shares.iter().map(|share| share.len());
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1, "{nodes}");
        }
        assert_eq!(share(3, 3), None);
    }
}
