//! Keys of one group in order, each with some bytes: the rows of a cached group, or the addresses of the dirty rows
//! of one that is scanned.

mod copied;
mod few;
mod leaves;

pub use self::copied::CopiedRows;
use self::few::Few;
use self::leaves::Leaves;
pub use self::leaves::head_of;
use super::hash::prefetch_line;
use crate::Direction;

enum Form {
    Few(Few),
    Many(Box<Leaves>),
}

pub struct Ordered {
    form: Form,
}

impl Default for Ordered {
    fn default() -> Ordered {
        Ordered { form: Form::Few(Few::default()) }
    }
}

/// What a scan wants of a group; keys are without the group.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub start: &'a [u8],
    /// None: up to the group's end.
    pub end: Option<&'a [u8]>,
    pub direction: Direction,
    pub max_rows: usize,
    pub max_bytes: usize,
}

impl Ordered {
    /// With room for the rows of a small group, so that adding them does not reallocate. [`Ordered::shrink_to_fit`] frees what was
    /// not needed.
    pub fn with_room() -> Ordered {
        Ordered { form: Form::Few(Few::with_room()) }
    }

    pub fn shrink_to_fit(&mut self) {
        if let Form::Few(rows) = &mut self.form {
            rows.shrink_to_fit();
        }
    }

    pub fn len(&self) -> usize {
        match &self.form {
            Form::Few(rows) => rows.len(),
            Form::Many(rows) => rows.len(),
        }
    }

    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::Few(rows) => rows.bytes(),
            Form::Many(rows) => rows.bytes(),
        }
    }

    /// Prefetches what a search reads first.
    #[inline]
    pub fn prefetch(&self) {
        match &self.form {
            Form::Few(rows) => rows.prefetch(),
            Form::Many(rows) => prefetch_line(&raw const **rows),
        }
    }

    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        match &self.form {
            Form::Few(rows) => rows.get(key),
            Form::Many(rows) => rows.get(key),
        }
    }

    pub fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.make_room(key, value.unwrap_or_default());
        match &mut self.form {
            Form::Few(rows) => rows.set(key, value),
            Form::Many(rows) => rows.set(key, value),
        }
    }

    /// Sets a row behind all others.
    pub fn push_last(&mut self, key: &[u8], value: &[u8]) {
        self.make_room(key, value);
        match &mut self.form {
            Form::Few(rows) => rows.push_last(key, value),
            Form::Many(rows) => rows.push_last(key, value),
        }
    }

    /// Few rows become many.
    #[inline]
    fn make_room(&mut self, key: &[u8], value: &[u8]) {
        if let Form::Few(few) = &self.form
            && !few.has_room(key, value)
        {
            let mut many = Box::<Leaves>::default();
            few.rows().for_each(|(key, value)| many.push_last(key, value));
            self.form = Form::Many(many);
        }
    }

    /// Copies one row out, each with the same chance; false where that did not come about.
    pub fn copy_any(&self, draw: &mut dyn FnMut() -> u64, out: &mut CopiedRows) -> bool {
        let show = &mut |key: &[u8], value: &[u8]| out.rows.push(key, Some(value), 0);
        match &self.form {
            Form::Few(rows) => {
                let rank = (u128::from(draw()) * rows.len() as u128) >> 64;
                rows.show_nth(&[], None, rank as usize, show).is_none()
            }
            Form::Many(rows) => rows.show_any(draw, show),
        }
    }

    /// Copies the row of this rank out; if there is none before the end, how many there are.
    pub fn copy_nth(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
        rank: usize,
        out: &mut CopiedRows,
    ) -> Option<usize> {
        let show = &mut |key: &[u8], value: &[u8]| out.rows.push(key, Some(value), 0);
        match &self.form {
            Form::Few(rows) => rows.show_nth(start, end, rank, show),
            Form::Many(rows) => rows.show_nth(start, end, rank, show),
        }
    }

    /// Copies rows out until enough is copied; true when that is all of the part.
    pub fn copy(&self, part: &Part<'_>, out: &mut CopiedRows) -> bool {
        if let (Form::Few(rows), Direction::Forward) = (&self.form, part.direction) {
            let (copied, is_all) = rows.copy(part, &mut out.packed);
            out.packed_rows += copied;
            return is_all;
        }
        let (mut rows_left, mut bytes_left) = (part.max_rows, part.max_bytes);
        self.walk(part.start, part.end, part.direction, &mut |key, value| {
            if rows_left == 0 || bytes_left == 0 {
                return false;
            }
            out.rows.push(key, Some(value), 0);
            rows_left -= 1;
            bytes_left = bytes_left.saturating_sub(key.len() + value.len());
            true
        })
    }

    /// Shows rows until that is refused; true when all of the part were shown.
    pub fn walk(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
        direction: Direction,
        show: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> bool {
        match &self.form {
            Form::Few(rows) => rows.walk(start, end, direction, show),
            Form::Many(rows) => rows.walk(start, end, direction, show),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;

    use super::*;
    use crate::rocksdb::tests::random::Random;

    fn key(random: &mut Random, most: usize) -> Vec<u8> {
        // Short ones, equal beginnings, zeroes: what their first bytes cannot tell apart.
        let number = random.below(most);
        match number % 4 {
            0 => number.to_be_bytes().to_vec(),
            1 => vec![0; number / 4 % 12],
            2 => [&[7; 8][..], &number.to_be_bytes()].concat(),
            _ => number.to_le_bytes()[..3].to_vec(),
        }
    }

    fn told(copied: &mut CopiedRows) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut list = Vec::new();
        let all = copied.for_each(&mut |key, value| {
            list.push((key.strip_prefix(b"g").unwrap().to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        });
        assert!(all.is_continue());
        assert_eq!(list.len(), copied.len());
        if let Some((last, _)) = list.last() {
            assert_eq!(copied.last_key(), [b"g", &**last].concat());
        }
        list
    }

    fn copied(ordered: &Ordered, part: &Part<'_>) -> (Vec<(Vec<u8>, Vec<u8>)>, bool) {
        let mut copied = CopiedRows::default();
        copied.begin(b"g");
        let is_all = ordered.copy(part, &mut copied);
        (told(&mut copied), is_all)
    }

    #[test]
    fn holds_what_an_ordered_map_holds() {
        // Few rows, some more, and many.
        for most in [12, 60, 600] {
            compare(most);
        }
    }

    fn compare(most: usize) {
        let mut random = Random::new(11);
        let mut ordered = Ordered::default();
        let mut map = BTreeMap::new();
        for step in 0..60_000 {
            let key = key(&mut random, most);
            // Long runs of growth and of decay.
            if (step / 5_000) % 2 == 0 || random.below(3) == 0 {
                let value = vec![b'v'; random.below(if step % 97 == 0 { 4_000 } else { 20 })];
                ordered.set(&key, Some(&value));
                map.insert(key, value);
            } else {
                ordered.set(&key, None);
                map.remove(&key);
            }
            assert_eq!(ordered.len(), map.len());
            if step % 16 != 0 {
                continue;
            }
            let (a, b) = (self::key(&mut random, most), self::key(&mut random, most));
            assert_eq!(ordered.get(&a), map.get(&a).map(|value| &**value));
            let (start, end) = if a <= b { (a, b) } else { (b, a) };
            let end = (random.below(4) > 0).then_some(&*end);
            let within: Vec<_> = map
                .range(start.clone()..)
                .filter(|(key, _)| end.is_none_or(|end| &***key < end))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            // Now and then one that no row has.
            let rank = if random.below(8) == 0 { usize::MAX } else { random.below(most) };
            let mut row = CopiedRows::default();
            row.begin(b"g");
            let outcome = ordered.copy_nth(&start, end, rank, &mut row);
            let wanted = within.get(rank);
            assert_eq!(outcome, wanted.is_none().then_some(within.len()));
            assert_eq!(told(&mut row).first(), wanted);
            let max_rows = random.below(100);
            for direction in [Direction::Forward, Direction::Backward] {
                let part = Part { start: &start, end, direction, max_rows, max_bytes: 1 << 20 };
                let (rows, is_all) = copied(&ordered, &part);
                let mut want = within.clone();
                if direction == Direction::Backward {
                    want.reverse();
                }
                assert_eq!(is_all, want.len() <= max_rows);
                want.truncate(max_rows);
                assert_eq!(rows, want);
            }
        }
    }

    #[test]
    fn stops_copying_when_there_are_enough_bytes() {
        let mut ordered = Ordered::default();
        for number in 0..10_u64 {
            ordered.push_last(&number.to_be_bytes(), &[0; 92]);
        }
        let part =
            Part { start: b"", end: None, direction: Direction::Forward, max_rows: 100, max_bytes: 250 };
        let (rows, is_all) = copied(&ordered, &part);
        assert_eq!((rows.len(), is_all), (3, false));
    }
}
