//! What a search has found.

use std::cmp::Ordering;

use super::grid::Position;

/// Points that may be held beyond those that are wanted, at least: choosing among few does not pay.
const SLACK: usize = 1_024;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point<'a> {
    pub member: &'a [u8],
    pub score: f64,
    pub position: Position,
    /// From the centre of the area.
    pub distance_m: f64,
}

/// By distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    score: f64,
    position: Position,
    distance_m: f64,
    start: usize,
    len: usize,
    /// What is as far away stays in the order in which it came.
    number: u64,
}

/// Holds the first `wanted` points in an order, and for a while some more; without an order, those that came first.
#[derive(Debug)]
pub struct Points {
    wanted: usize,
    order: Option<Order>,
    bytes: Vec<u8>,
    held: Vec<Held>,
    added: u64,
}

impl Points {
    pub fn new(wanted: usize, order: Option<Order>) -> Points {
        Points { wanted, order, bytes: Vec::new(), held: Vec::new(), added: 0 }
    }

    pub fn len(&self) -> usize {
        self.held.len()
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub fn add(&mut self, Point { member, score, position, distance_m }: Point<'_>) {
        if self.order.is_none() && self.len() >= self.wanted {
            return;
        }
        let (start, len) = (self.bytes.len(), member.len());
        self.bytes.extend_from_slice(member);
        self.held.push(Held { score, position, distance_m, start, len, number: self.added });
        self.added += 1;
        if self.len() / 2 >= self.wanted.max(SLACK) {
            self.drop_last();
        }
    }

    /// Leaves only those that may still be wanted.
    fn drop_last(&mut self) {
        let Some(order) = self.order else { return };
        self.held.select_nth_unstable_by(self.wanted, |a, b| compare(order, a, b));
        self.held.truncate(self.wanted);
        let mut left = Vec::new();
        for held in &mut self.held {
            let start = left.len();
            left.extend_from_slice(self.bytes.get(held.start..held.start + held.len).unwrap_or_default());
            held.start = start;
        }
        self.bytes = left;
    }

    /// Those that are wanted, in order.
    pub fn sort(&mut self) {
        if let Some(order) = self.order {
            self.held.sort_unstable_by(|a, b| compare(order, a, b));
        }
        self.held.truncate(self.wanted);
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Point<'_>> {
        self.held.iter().map(|held| Point {
            member: self.bytes.get(held.start..held.start + held.len).unwrap_or_default(),
            score: held.score,
            position: held.position,
            distance_m: held.distance_m,
        })
    }
}

fn compare(order: Order, a: &Held, b: &Held) -> Ordering {
    let by_distance = a.distance_m.total_cmp(&b.distance_m);
    let by_distance = if order == Order::Ascending { by_distance } else { by_distance.reverse() };
    by_distance.then(a.number.cmp(&b.number))
}
