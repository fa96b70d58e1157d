//! The arguments of one command: ranges into a buffer, borrowed or owned.

use std::fmt;
use std::iter::FusedIterator;

/// Where one argument lies in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arg {
    pub start: usize,
    pub len: usize,
}

/// A command and its arguments, the command's name first. A view: copying it is free.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    buf: &'a [u8],
    ranges: &'a [Arg],
}

impl<'a> Args<'a> {
    /// Views `ranges` of `buf`. A range that is not inside `buf` reads as an empty argument.
    pub fn new(buf: &'a [u8], ranges: &'a [Arg]) -> Self {
        Self { buf, ranges }
    }

    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.ranges.get(index).map(|arg| slice(self.buf, arg))
    }

    /// The view without its first `count` arguments.
    pub fn skip(&self, count: usize) -> Self {
        Self { buf: self.buf, ranges: self.ranges.get(count..).unwrap_or_default() }
    }

    pub fn iter(&self) -> ArgsIter<'a> {
        ArgsIter { buf: self.buf, ranges: self.ranges.iter() }
    }

    /// From where the first argument begins to where the last one ends: at least [`Args::bytes`], and known without a look at each.
    pub fn span(&self) -> usize {
        match (self.ranges.first(), self.ranges.last()) {
            (Some(first), Some(last)) => (last.start + last.len).saturating_sub(first.start),
            _ => 0,
        }
    }

    /// The bytes of all arguments together.
    pub fn bytes(&self) -> usize {
        self.ranges.iter().map(|arg| arg.len).sum()
    }

    /// Copies the arguments, and nothing else of the buffer.
    pub fn to_owned_args(&self) -> OwnedArgs {
        let mut bytes = Vec::with_capacity(self.bytes());
        let mut ranges = Vec::with_capacity(self.len());
        for arg in self.iter() {
            push(&mut bytes, &mut ranges, arg);
        }
        OwnedArgs { bytes: bytes.into_boxed_slice(), ranges: ranges.into_boxed_slice() }
    }
}

#[inline]
fn slice<'a>(buf: &'a [u8], arg: &Arg) -> &'a [u8] {
    buf.get(arg.start..).and_then(|tail| tail.get(..arg.len)).unwrap_or_default()
}

fn push(bytes: &mut Vec<u8>, ranges: &mut Vec<Arg>, arg: &[u8]) {
    ranges.push(Arg { start: bytes.len(), len: arg.len() });
    bytes.extend_from_slice(arg);
}

impl PartialEq for Args<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Args<'_> {}

impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|arg| arg.escape_ascii().to_string())).finish()
    }
}

impl<'a> IntoIterator for Args<'a> {
    type Item = &'a [u8];
    type IntoIter = ArgsIter<'a>;

    fn into_iter(self) -> ArgsIter<'a> {
        self.iter()
    }
}

/// Walks the arguments of [`Args`].
#[derive(Clone)]
pub struct ArgsIter<'a> {
    buf: &'a [u8],
    ranges: std::slice::Iter<'a, Arg>,
}

impl<'a> Iterator for ArgsIter<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.ranges.next().map(|arg| slice(self.buf, arg))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ranges.size_hint()
    }
}

impl DoubleEndedIterator for ArgsIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.ranges.next_back().map(|arg| slice(self.buf, arg))
    }
}

impl ExactSizeIterator for ArgsIter<'_> {}
impl FusedIterator for ArgsIter<'_> {}

/// A command that outlives the buffer it came in: queued by MULTI, or run later on another thread.
/// One allocation for the bytes and one for the ranges, however many arguments.
#[derive(Clone, Default)]
pub struct OwnedArgs {
    bytes: Box<[u8]>,
    ranges: Box<[Arg]>,
}

impl OwnedArgs {
    pub fn view(&self) -> Args<'_> {
        Args::new(&self.bytes, &self.ranges)
    }

    /// Heap memory held, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.ranges)
    }
}

impl<A: AsRef<[u8]>> FromIterator<A> for OwnedArgs {
    fn from_iter<I: IntoIterator<Item = A>>(args: I) -> Self {
        let (mut bytes, mut ranges) = (Vec::new(), Vec::new());
        for arg in args {
            push(&mut bytes, &mut ranges, arg.as_ref());
        }
        Self { bytes: bytes.into_boxed_slice(), ranges: ranges.into_boxed_slice() }
    }
}

impl PartialEq for OwnedArgs {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl Eq for OwnedArgs {}

impl fmt::Debug for OwnedArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGES: [Arg; 3] = [Arg { start: 0, len: 3 }, Arg { start: 4, len: 0 }, Arg { start: 5, len: 2 }];

    #[test]
    fn views_ranges() {
        let args = Args::new(b"SET kv", &RANGES);
        assert_eq!((args.len(), args.is_empty(), args.bytes()), (3, false, 5));
        assert_eq!(args.get(0), Some(&b"SET"[..]));
        assert_eq!(args.get(1), Some(&b""[..]));
        // One byte past the end of the buffer.
        assert_eq!(args.get(2), Some(&b""[..]));
        assert_eq!(args.get(3), None);
        assert_eq!(args.iter().rev().next_back(), Some(&b"SET"[..]));
        assert_eq!(args.iter().len(), 3);
    }

    #[test]
    fn skips_from_the_front() {
        let args = Args::new(b"SET k22", &RANGES);
        assert_eq!(args.skip(2).iter().collect::<Vec<_>>(), [b"22"]);
        assert!(args.skip(3).is_empty());
        assert!(args.skip(4).is_empty());
    }

    #[test]
    fn owns_only_the_arguments() {
        let args = Args::new(b"SET k22", &RANGES);
        let owned = args.to_owned_args();
        assert_eq!(owned.view(), args);
        assert_eq!(owned, ["SET", "", "22"].into_iter().collect());
        assert_ne!(owned, ["SET", "", "23"].into_iter().collect());
        assert_ne!(owned, ["SET", ""].into_iter().collect());
        assert_eq!(owned.heap_bytes(), 5 + 3 * size_of::<Arg>());
        assert_eq!(format!("{owned:?}"), r#"["SET", "", "22"]"#);
    }
}
