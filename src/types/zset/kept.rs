//! Members in memory, for replies whose order is not the one in which they are found.

use super::Scored;

#[derive(Debug, Default)]
pub struct Kept {
    bytes: Vec<u8>,
    members: Vec<(f64, usize, usize)>,
}

impl Kept {
    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn push(&mut self, Scored { member, score }: Scored<'_>) {
        self.members.push((score, self.bytes.len(), member.len()));
        self.bytes.extend_from_slice(member);
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Scored<'_>> + ExactSizeIterator {
        self.members.iter().map(|(score, start, len)| Scored {
            member: self.bytes.get(*start..start + len).unwrap_or_default(),
            score: *score,
        })
    }

    /// By score, members of one score by their bytes.
    pub fn sort(&mut self) {
        let Kept { bytes, members } = self;
        let member = |start: usize, len: usize| bytes.get(start..start + len).unwrap_or_default();
        // Not total_cmp: minus zero is zero. No score is NaN.
        members.sort_unstable_by(|a, b| {
            let by_score = a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal);
            by_score.then_with(|| member(a.1, a.2).cmp(member(b.1, b.2)))
        });
    }
}
