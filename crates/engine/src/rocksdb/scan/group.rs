//! Which groups a range of keys touches.

use smallvec::SmallVec;

use crate::SpaceDef;

/// More than any header that a group's length is read from.
const PADDING: usize = 16;
/// Groups of more bytes than a number has are not counted through.
const COUNTED_BYTES: usize = 8;

/// The group of every key of the range, if it is one and all of it is in `start`.
pub fn single<'a>(def: &SpaceDef, start: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let group = start.get(..padded_group_len(def, start))?;
    if end.starts_with(group) {
        return Some(group);
    }
    match successor(group) {
        Some(next) if end > &*next => None,
        _ => Some(group),
    }
}

/// The length of the group of keys that begin with `start` and go on with zeroes: longer than `start` when the group
/// is not whole in it.
pub fn padded_group_len(def: &SpaceDef, start: &[u8]) -> usize {
    let mut padded: SmallVec<[u8; 128]> = SmallVec::from_slice(start);
    padded.extend_from_slice(&[0; PADDING]);
    (def.group_len)(&padded)
}

/// The least key greater than all that begin with `prefix`; None when there is none.
pub fn successor(prefix: &[u8]) -> Option<SmallVec<[u8; 64]>> {
    let mut next: SmallVec<[u8; 64]> = SmallVec::from_slice(prefix);
    while let Some(last) = next.pop() {
        if last < u8::MAX {
            next.push(last + 1);
            return Some(next);
        }
    }
    None
}

/// Groups of one fixed length, taken as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub len: usize,
    pub first: u64,
    /// Inclusive.
    pub last: u64,
}

/// The groups of a range, if they have a short length in common where it begins.
pub fn counted(def: &SpaceDef, start: &[u8], end: &[u8]) -> Option<Counted> {
    let len = padded_group_len(def, start);
    if len == 0 || len > COUNTED_BYTES {
        return None;
    }
    Some(Counted { len, first: number(start, len), last: number(end, len) })
}

impl Counted {
    pub fn count(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    pub fn group(&self, number: u64) -> SmallVec<[u8; 8]> {
        number.to_be_bytes().get(8 - self.len..).unwrap_or_default().into()
    }

    /// Keys too short to hold a group are groups of their own; these come before the group `number` and after the
    /// one before it.
    pub fn short_groups(&self, number: u64) -> impl Iterator<Item = SmallVec<[u8; 8]>> {
        let group = self.group(number);
        let zeroes = group.iter().rev().take_while(|byte| **byte == 0).count();
        let shortest = group.len() - zeroes;
        (shortest..group.len()).map(move |len| SmallVec::from_slice(group.get(..len).unwrap_or_default()))
    }

    /// The least key that belongs to the group or to a short one right before it.
    pub fn floor(&self, number: u64) -> SmallVec<[u8; 8]> {
        let mut group = self.group(number);
        while group.last() == Some(&0) {
            group.pop();
        }
        group
    }
}

/// The first `len` bytes, filled up with zeroes, as a number.
fn number(key: &[u8], len: usize) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().skip(8 - len).zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Groups;

    const FIXED: SpaceDef =
        SpaceDef { name: "f", group_len: |key| key.len().min(2), queue_like: false, groups: Groups::Plain };
    /// A length byte, then that many bytes.
    const CHOSEN: SpaceDef = SpaceDef {
        name: "c",
        group_len: |key| key.first().map_or(0, |len| (1 + usize::from(*len)).min(key.len())),
        queue_like: false,
        groups: Groups::Plain,
    };

    #[test]
    fn one_group_is_known_by_its_bounds() {
        assert_eq!(single(&FIXED, b"ab", b"ac"), Some(&b"ab"[..]));
        assert_eq!(single(&FIXED, b"abx", b"abz"), Some(&b"ab"[..]));
        assert_eq!(single(&FIXED, b"abx", b"ac\0"), None);
        assert_eq!(single(&FIXED, b"a", b"b"), None, "the group is not whole in the start");
        assert_eq!(single(&FIXED, b"\xff\xff", b"\xff\xff\xff"), Some(&b"\xff\xff"[..]));
        assert_eq!(single(&CHOSEN, b"\x02ab", b"\x02ac"), Some(&b"\x02ab"[..]));
        assert_eq!(single(&CHOSEN, b"\x02a", b"\x02b"), None);
    }

    #[test]
    fn successors_end_where_nothing_is_greater() {
        assert_eq!(successor(b"a\xff").as_deref(), Some(&b"b"[..]));
        assert_eq!(successor(b"\xff\xff"), None);
        assert_eq!(successor(b""), None);
    }

    #[test]
    fn short_keys_are_met_once_and_in_order() {
        let counted = counted(&FIXED, b"", b"\x01\x01").unwrap();
        assert_eq!(counted, Counted { len: 2, first: 0, last: 0x0101 });
        let mut met: Vec<Vec<u8>> = Vec::new();
        for number in counted.first..=counted.last {
            met.extend(counted.short_groups(number).map(|group| group.to_vec()));
            met.push(counted.group(number).to_vec());
        }
        let mut want = met.clone();
        want.sort();
        want.dedup();
        assert_eq!(met, want);
        assert!(met.contains(&b"\x01".to_vec()) && met.contains(&b"".to_vec()));
        assert_eq!(counted.floor(0x0100).as_slice(), b"\x01");
    }
}
