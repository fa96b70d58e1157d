//! A HyperLogLog in memory.

use super::estimate::Histogram;
use super::place::Place;
use super::sparse::{self, Cursor, Raised};
use super::{Corrupt, DENSE_LEN, FORM_AT, Form, HEADER_LEN, MAGIC, REGISTERS, STALE, STALE_AT, dense};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    form: Form,
    /// The header and the registers.
    bytes: Vec<u8>,
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch::new()
    }
}

impl Sketch {
    /// Nothing was added to it yet, and its estimate is known.
    pub fn new() -> Sketch {
        let mut bytes = Vec::with_capacity(HEADER_LEN + sparse::EMPTY.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.resize(HEADER_LEN, 0);
        if let Some(form) = bytes.get_mut(FORM_AT) {
            *form = 1;
        }
        bytes.extend_from_slice(&sparse::EMPTY);
        Sketch { form: Form::Sparse, bytes }
    }

    /// Bytes whose header says this form, and whose length suits it.
    pub(super) fn from_parts(form: Form, bytes: Vec<u8>) -> Sketch {
        Sketch { form, bytes }
    }

    pub fn form(&self) -> Form {
        self.form
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn registers(&self) -> &[u8] {
        self.bytes.get(HEADER_LEN..).unwrap_or_default()
    }

    /// The cached estimate is out of date from now on.
    pub fn forget_estimate(&mut self) {
        if let Some(byte) = self.bytes.get_mut(STALE_AT) {
            *byte |= STALE;
        }
    }

    /// Raises a register. Whether it was lower.
    pub fn raise(&mut self, place: Place, max_sparse_len: usize) -> Result<bool, Corrupt> {
        self.raise_from(place, max_sparse_len, &mut { Cursor::START })
    }

    fn raise_from(
        &mut self,
        Place { register, rank }: Place,
        max_sparse_len: usize,
        from: &mut Cursor,
    ) -> Result<bool, Corrupt> {
        if self.form == Form::Sparse {
            match sparse::raise(&mut self.bytes, register, rank, max_sparse_len, from)? {
                Raised::Yes => return Ok(true),
                Raised::No => return Ok(false),
                Raised::DoesNotFit => {
                    self.make_dense()?;
                }
            }
        }
        let registers = self.bytes.get_mut(HEADER_LEN..).unwrap_or_default();
        Ok(dense::raise(registers, register, rank))
    }

    /// Raises every register to at least these ranks.
    pub fn raise_all(&mut self, ranks: &[u8; REGISTERS], max_sparse_len: usize) -> Result<(), Corrupt> {
        let mut from = Cursor::START;
        for (register, rank) in ranks.iter().copied().enumerate().filter(|(_, rank)| *rank > 0) {
            self.raise_from(Place { register, rank }, max_sparse_len, &mut from)?;
        }
        Ok(())
    }

    /// Whether it was not dense before.
    pub fn make_dense(&mut self) -> Result<bool, Corrupt> {
        if self.form == Form::Dense {
            return Ok(false);
        }
        let mut bytes = self.bytes.get(..HEADER_LEN).unwrap_or_default().to_vec();
        bytes.resize(DENSE_LEN, 0);
        if let Some(form) = bytes.get_mut(FORM_AT) {
            *form = 0;
        }
        let registers = bytes.get_mut(HEADER_LEN..).unwrap_or_default();
        let mut register = 0;
        sparse::each(self.registers(), &mut |run| {
            if run.rank > 0 {
                (register..register + run.registers).for_each(|register| {
                    dense::raise(registers, register, run.rank);
                });
            }
            register += run.registers;
        })?;
        *self = Sketch { form: Form::Dense, bytes };
        Ok(true)
    }

    pub fn histogram(&self) -> Result<Histogram, Corrupt> {
        let mut histogram = Histogram::default();
        match self.form {
            Form::Dense => dense::ranks(self.registers()).for_each(|rank| histogram.note(rank, 1)),
            Form::Sparse => {
                sparse::each(self.registers(), &mut |run| histogram.note(run.rank, run.registers as u32))?;
            }
        }
        Ok(histogram)
    }

    /// Raises `ranks` to those of the registers.
    pub fn join_into(&self, ranks: &mut [u8; REGISTERS]) -> Result<(), Corrupt> {
        match self.form {
            Form::Dense => {
                ranks
                    .iter_mut()
                    .zip(dense::ranks(self.registers()))
                    .for_each(|(rank, own)| *rank = (*rank).max(own));
            }
            Form::Sparse => {
                let mut left = ranks.iter_mut();
                sparse::each(self.registers(), &mut |run| {
                    left.by_ref().take(run.registers).for_each(|rank| *rank = (*rank).max(run.rank));
                })?;
            }
        }
        Ok(())
    }

    /// The ranks of all registers, of a dense one.
    pub fn ranks(&self) -> impl Iterator<Item = u8> {
        dense::ranks(self.registers())
    }

    /// As PFDEBUG DECODE spells a sparse one; None for a dense one.
    pub fn spell(&self) -> Result<Option<String>, Corrupt> {
        match self.form {
            Form::Dense => Ok(None),
            Form::Sparse => sparse::spell(self.registers()).map(Some),
        }
    }
}
