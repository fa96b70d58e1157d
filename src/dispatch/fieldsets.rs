//! HIMPORT: lists of fields that a connection has prepared, so that it need send values only.
//!
//! A handler knows no connection. So the fields are put in between the values before the command is run or queued.

use std::collections::HashMap;
use std::sync::Arc;

use tarn_resp::{Args as Words, OwnedArgs};

/// Bytes of names and fields that a connection may have prepared.
pub const MAX_BYTES: usize = 16 << 20;

/// What stands in place of `SET` where fields and values follow by turns, and where they did not match. No client can say
/// so: there are no such subcommands.
const EXPANDED: &[u8] = b"set\0";
const UNEVEN: &[u8] = b"set\0\0";

#[derive(Debug, Default)]
pub struct Fieldsets {
    by_name: HashMap<Box<[u8]>, Arc<[Box<[u8]>]>>,
    bytes: usize,
}

/// Why a list is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    Duplicate,
    TooLong,
}

impl Fieldsets {
    /// Keeps a list of fields under a name, in place of the one that has it.
    pub fn prepare<'a>(
        &mut self,
        name: &[u8],
        fields: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) -> Result<(), Refused> {
        let mut sorted: Vec<&[u8]> = fields.clone().collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(Refused::Duplicate);
        }
        let freed = self.by_name.get(name).map_or(0, |fields| bytes_of(name, fields));
        let fields: Arc<[Box<[u8]>]> = fields.map(Box::from).collect();
        let bytes = self.bytes - freed + bytes_of(name, &fields);
        if bytes > MAX_BYTES {
            return Err(Refused::TooLong);
        }
        self.bytes = bytes;
        self.by_name.insert(name.into(), fields);
        Ok(())
    }

    /// Whether there was such a list.
    pub fn discard(&mut self, name: &[u8]) -> bool {
        let fields = self.by_name.remove(name);
        self.bytes -= fields.as_ref().map_or(0, |fields| bytes_of(name, fields));
        fields.is_some()
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

fn bytes_of(name: &[u8], fields: &[Box<[u8]>]) -> usize {
    /// What an entry costs beside its bytes.
    const OVERHEAD: usize = 32;
    OVERHEAD + name.len() + fields.iter().map(|field| OVERHEAD + field.len()).sum::<usize>()
}

/// The words of HIMPORT SET with fields and values by turns behind the name of their list. As they are where there is no such
/// list.
pub fn expand(fieldsets: Option<&Fieldsets>, words: Words<'_>) -> OwnedArgs {
    let word = |at: usize| words.get(at).unwrap_or_default();
    let fields = fieldsets.and_then(|fieldsets| fieldsets.by_name.get(word(3)));
    let Some(fields) = fields else { return words.to_owned_args() };
    let values = words.skip(4);
    let is_even = values.len() == fields.len();
    let head = [word(0), if is_even { EXPANDED } else { UNEVEN }, word(2), word(3)];
    let pairs = fields.iter().zip(values.iter()).flat_map(|(field, value)| [&**field, value]);
    head.into_iter().chain(pairs).collect()
}

/// What became of the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expanded {
    Pairs,
    /// There are not as many values as fields.
    Uneven,
    /// There is no such list.
    No,
}

/// From the word in place of `SET`.
pub fn expanded(word: &[u8]) -> Expanded {
    match word {
        EXPANDED => Expanded::Pairs,
        UNEVEN => Expanded::Uneven,
        _ => Expanded::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare(fieldsets: &mut Fieldsets, line: &str) -> Result<(), Refused> {
        let mut words = line.split(' ').map(str::as_bytes);
        let name = words.next().unwrap_or_default();
        let fields: Vec<&[u8]> = words.collect();
        fieldsets.prepare(name, fields.iter().copied())
    }

    fn shown(fieldsets: &Fieldsets, line: &str) -> String {
        let words: OwnedArgs = line.split(' ').collect();
        let words = expand(Some(fieldsets), words.view());
        let words = words.view();
        words.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn fields_come_between_values() {
        let mut sets = Fieldsets::default();
        assert_eq!(prepare(&mut sets, "u b a"), Ok(()));
        assert_eq!(shown(&sets, "himport set k u 1 2"), r"himport set\x00 k u b 1 a 2");
        assert_eq!(shown(&sets, "himport set k u 1"), r"himport set\x00\x00 k u b 1");
        assert_eq!(shown(&sets, "himport set k x 1"), "himport set k x 1");
        assert_eq!(prepare(&mut sets, "u c a c"), Err(Refused::Duplicate));
        assert_eq!(prepare(&mut sets, "u c"), Ok(()));
        assert_eq!(shown(&sets, "himport set k u 1"), r"himport set\x00 k u c 1");
        assert!(sets.discard(b"u") && !sets.discard(b"u") && sets.is_empty() && sets.bytes == 0);
    }

    #[test]
    fn what_is_prepared_is_bounded() {
        let mut sets = Fieldsets::default();
        let long = vec![b'x'; MAX_BYTES - 2 * 32 - 1];
        assert_eq!(sets.prepare(b"a", [&long[..]].into_iter()), Ok(()));
        assert_eq!(sets.prepare(b"b", [&b"f"[..]].into_iter()), Err(Refused::TooLong));
        let longer = vec![b'x'; MAX_BYTES - 2 * 32];
        assert_eq!(sets.prepare(b"a", [&longer[..]].into_iter()), Err(Refused::TooLong));
        assert_eq!(sets.prepare(b"a", [&b"f"[..]].into_iter()), Ok(()));
        assert_eq!(sets.prepare(b"b", [&b"f"[..]].into_iter()), Ok(()));
        assert_eq!(sets.len(), 2);
    }
}
