//! The first elements of an order, found without holding all.

use std::cmp::Ordering;

use crate::reply::Span;
use crate::types::strings::Strings;

/// Elements that may be held beyond those that are wanted, at least: choosing among few does not pay.
const SLACK: usize = 1_024;

/// What an element is sorted by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weight<'w> {
    Score(f64),
    Text(&'w [u8]),
    /// Before every text.
    Missing,
}

#[derive(Debug, Clone, Copy)]
enum Kept {
    Score(f64),
    Text(Span),
    Missing,
}

#[derive(Debug, Clone, Copy)]
struct Item {
    element: Span,
    weight: Kept,
    /// What is alike stays in the order in which it came.
    number: u64,
}

/// Holds the first `wanted` elements of those that were added, and for a while some more.
#[derive(Debug)]
pub struct Chosen {
    wanted: usize,
    descending: bool,
    items: Vec<Item>,
    bytes: Vec<u8>,
    added: u64,
}

impl Chosen {
    pub fn new(wanted: usize, descending: bool) -> Chosen {
        Chosen { wanted, descending, items: Vec::new(), bytes: Vec::new(), added: 0 }
    }

    pub fn add(&mut self, element: &[u8], weight: Weight<'_>) {
        if self.wanted == 0 {
            return;
        }
        let element_at = keep(&mut self.bytes, element);
        let weight = match weight {
            Weight::Score(score) => Kept::Score(score),
            Weight::Text(text) if text == element => Kept::Text(element_at),
            Weight::Text(text) => Kept::Text(keep(&mut self.bytes, text)),
            Weight::Missing => Kept::Missing,
        };
        self.items.push(Item { element: element_at, weight, number: self.added });
        self.added += 1;
        if self.items.len() / 2 >= self.wanted.max(SLACK) {
            self.drop_last();
        }
    }

    /// Leaves only those that may still be wanted.
    fn drop_last(&mut self) {
        let Chosen { wanted, descending, items, bytes, .. } = self;
        items.select_nth_unstable_by(*wanted, |a, b| compare(bytes, *descending, a, b));
        items.truncate(*wanted);
        let mut left = Vec::new();
        for item in items {
            let old = item.element;
            item.element = keep(&mut left, old.of(bytes));
            if let Kept::Text(text) = &mut item.weight {
                *text = if *text == old { item.element } else { keep(&mut left, text.of(bytes)) };
            }
        }
        *bytes = left;
    }

    /// The elements from one rank on, in order.
    pub fn finish(mut self, first: usize) -> Strings {
        let Chosen { wanted, descending, items, bytes, .. } = &mut self;
        items.sort_unstable_by(|a, b| compare(bytes, *descending, a, b));
        let mut strings = Strings::default();
        items.iter().take(*wanted).skip(first).for_each(|item| strings.push(item.element.of(bytes)));
        strings
    }
}

fn keep(bytes: &mut Vec<u8>, string: &[u8]) -> Span {
    let start = bytes.len();
    bytes.extend_from_slice(string);
    Span { start, len: string.len() }
}

fn compare(bytes: &[u8], descending: bool, a: &Item, b: &Item) -> Ordering {
    let order = match (a.weight, b.weight) {
        (Kept::Score(x), Kept::Score(y)) => {
            let scores = x.partial_cmp(&y).unwrap_or(Ordering::Equal);
            scores.then_with(|| a.element.of(bytes).cmp(b.element.of(bytes)))
        }
        (Kept::Text(x), Kept::Text(y)) => x.of(bytes).cmp(y.of(bytes)),
        (Kept::Missing, Kept::Text(_)) => Ordering::Less,
        (Kept::Text(_), Kept::Missing) => Ordering::Greater,
        _ => Ordering::Equal,
    };
    let order = if descending { order.reverse() } else { order };
    order.then(a.number.cmp(&b.number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyspace::draws;

    #[test]
    fn the_first_are_those_of_sorting_all() {
        for wanted in [0, 1, 10, SLACK, 5_000, 20_000] {
            for descending in [false, true] {
                let mut chosen = Chosen::new(wanted, descending);
                let mut all = Vec::new();
                for (n, random) in draws(wanted as u64).take(10_000).enumerate() {
                    let (element, score) = (n.to_string().into_bytes(), (random % 500) as f64);
                    chosen.add(&element, Weight::Score(score));
                    all.push((score as u64, element));
                }
                assert!(chosen.items.len() <= 2 * wanted.max(SLACK));
                all.sort();
                if descending {
                    all.reverse();
                }
                let want: Vec<_> =
                    all.iter().take(wanted).skip(3).map(|(_, element)| element.as_slice()).collect();
                assert_eq!(chosen.finish(3).iter().collect::<Vec<_>>(), want);
            }
        }
    }

    #[test]
    fn texts_stand_behind_what_has_none_and_in_the_order_they_came() {
        let weights =
            [Weight::Text(b"b"), Weight::Missing, Weight::Text(b"a"), Weight::Missing, Weight::Text(b"b")];
        for (descending, want) in [(false, b"13204"), (true, b"04213")] {
            let mut chosen = Chosen::new(9, descending);
            for (n, weight) in weights.iter().enumerate() {
                chosen.add(n.to_string().as_bytes(), *weight);
            }
            assert_eq!(chosen.finish(0).iter().collect::<Vec<_>>().concat(), want);
        }
    }

    #[test]
    fn what_was_dropped_leaves_no_bytes() {
        let mut chosen = Chosen::new(1, false);
        for n in 0..100_000_u32 {
            chosen.add(&n.to_be_bytes(), Weight::Text(&(u32::MAX - n).to_be_bytes()));
        }
        assert!(chosen.bytes.len() <= 2 * SLACK * 8);
        assert_eq!(chosen.finish(0).get(0), 99_999_u32.to_be_bytes());
    }
}
