//! A typed cursor over a command's arguments. The name (and the subcommand's) is already behind it.

use tarn_resp::Args as Words;

use crate::error::{Error, Result};
use crate::number;

#[derive(Clone, Copy)]
pub struct Args<'a> {
    words: Words<'a>,
    at: usize,
}

impl<'a> Args<'a> {
    /// `skip` words are the command's own name.
    pub fn new(words: Words<'a>, skip: usize) -> Args<'a> {
        Args { words, at: skip }
    }

    /// All words, the command's name first.
    pub fn words(&self) -> Words<'a> {
        self.words
    }

    /// The words that are left.
    pub fn left_words(&self) -> Words<'a> {
        self.words.skip(self.at)
    }

    /// How many words are left.
    pub fn left(&self) -> usize {
        self.words.len().saturating_sub(self.at)
    }

    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    pub fn peek(&self) -> Option<&'a [u8]> {
        self.words.get(self.at)
    }

    /// The n-th of the words that are left.
    pub fn peek_at(&self, n: usize) -> Option<&'a [u8]> {
        self.words.get(self.at + n)
    }

    /// The next word; a missing one is a syntax error (what the arity guarantees is never missing).
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<&'a [u8]> {
        let word = self.words.get(self.at).ok_or(Error::Syntax)?;
        self.at += 1;
        Ok(word)
    }

    pub fn key(&mut self) -> Result<&'a [u8]> {
        self.next()
    }

    pub fn int(&mut self) -> Result<i64> {
        number::parse_i64(self.next()?).ok_or_else(|| Error::NotInteger.into())
    }

    /// Takes the next word if it is this one, in any case.
    pub fn keyword(&mut self, word: &str) -> bool {
        let matches = self.peek().is_some_and(|next| next.eq_ignore_ascii_case(word.as_bytes()));
        if matches {
            self.at += 1;
        }
        matches
    }

    pub fn rest(self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        let Args { words, at } = self;
        (at..words.len()).map(move |i| words.get(i).unwrap_or(&[]))
    }

    /// The next `count` of the words that are left, and what follows them.
    pub fn split_at(self, count: usize) -> (impl ExactSizeIterator<Item = &'a [u8]> + Clone, Args<'a>) {
        let Args { words, at } = self;
        let end = at + count.min(self.left());
        ((at..end).map(move |i| words.get(i).unwrap_or(&[])), Args { words, at: end })
    }

    /// The rest as pairs; the caller reports an odd tail as its command does.
    pub fn rest_in_pairs(self) -> Option<impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> + Clone> {
        let Args { words, at } = self;
        let left = self.left();
        left.is_multiple_of(2).then(|| {
            (0..left / 2).map(move |i| {
                (words.get(at + 2 * i).unwrap_or(&[]), words.get(at + 2 * i + 1).unwrap_or(&[]))
            })
        })
    }

    /// Nothing may follow.
    pub fn end(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(Error::Syntax.into()) }
    }
}
