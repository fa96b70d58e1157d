//! Many strings in two allocations.

/// Strings, one behind the other.
#[derive(Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    pub fn push(&mut self, string: &[u8]) {
        self.push_parts(&[string]);
    }

    /// Adds a string that is given in parts.
    pub fn push_parts(&mut self, parts: &[&[u8]]) {
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.ends.push(self.bytes.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How long all of them are together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The string with this number; an empty one where there is none.
    pub fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(number).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|number| self.get(number))
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_as_they_were() {
        let mut strings = Strings::default();
        assert!(strings.is_empty() && strings.get(0).is_empty());
        strings.push(b"a");
        strings.push(b"");
        strings.push_parts(&[b"b", b"", b"cd"]);
        assert_eq!(strings.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"bcd"]);
        assert_eq!((strings.len(), strings.bytes(), strings.get(3)), (3, 4, &b""[..]));
        strings.clear();
        assert_eq!(strings.iter().count(), 0);
    }
}
