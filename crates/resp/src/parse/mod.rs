//! Finds commands in what a client sends: multibulk (`*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`) or inline (`GET k\r\n`).
//!
//! Redis reads count lines and inline commands as C strings. What follows from that is kept, since
//! it shows on the wire: the byte after a `\r` and the two bytes after an argument are skipped
//! unread, and a line with a NUL byte in it never ends (until it is too big).

mod inline;
#[cfg(test)]
mod tests;

use memchr::memchr2;

use crate::args::{Arg, Args};
use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::number::parse_i64;

/// What [`Parser::parse`] found at the start of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// No whole command yet. At least `need` more bytes will come, if the client keeps its word: a
    /// hint for growing the buffer, to be trusted within limits.
    Incomplete { need: usize },
    /// A command; [`Parser::args`] views it. The next one starts `consumed` bytes on.
    Command { consumed: usize },
    /// An empty line or a command of no arguments: skip `consumed` bytes, nothing to run or answer.
    Empty { consumed: usize },
}

/// The place in one connection's stream of commands.
///
/// `parse` is given a buffer that starts where a command starts. After `Incomplete` it must be given
/// the same bytes again with more behind them; it does not look twice at what it has seen.
#[derive(Debug)]
pub struct Parser {
    args: Vec<Arg>,
    /// The arguments of an inline command that had quotes. Empty otherwise.
    unescaped: Option<Box<Unescaped>>,
    /// Start of the token that is being read, counted from the start of the command.
    pos: usize,
    /// Length of the argument that is being read; `NO_BULK` while its count line is.
    bulk: usize,
    /// How much of the current line is known not to hold its end.
    scanned: u32,
    /// Arguments still to come; 0 between commands and in the first line of one.
    remaining: u32,
}

/// Boxed apart: few connections ever need it, and an idle parser is to be small.
#[derive(Debug, Default)]
struct Unescaped(Vec<u8>);

const NO_BULK: usize = usize::MAX;

/// Arguments for which room is made up front; a claimed count beyond that must be backed by bytes.
const MAX_RESERVED_ARGS: usize = 1024;

/// Digits that the fast path reads; longer counts are rare.
const SHORT_DIGITS: usize = 10;

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl Parser {
    pub const fn new() -> Self {
        Self { args: Vec::new(), unescaped: None, pos: 0, bulk: NO_BULK, scanned: 0, remaining: 0 }
    }

    /// Reads the command at the start of `buf`, or what there is of it.
    ///
    /// After an error the connection has no more commands; the parser is as new.
    #[inline]
    pub fn parse(&mut self, buf: &[u8], limits: &Limits) -> Result<Parsed, ProtocolError> {
        let parsed = if self.remaining == 0 { self.first_line(buf, limits) } else { self.bulks(buf, limits) };
        if !matches!(parsed, Ok(Parsed::Incomplete { .. })) {
            self.pos = 0;
            self.bulk = NO_BULK;
            self.scanned = 0;
            self.remaining = 0;
        }
        parsed
    }

    /// The command that the last `parse` returned; `buf` is what it was given.
    #[inline]
    pub fn args<'a>(&'a self, buf: &'a [u8]) -> Args<'a> {
        match &self.unescaped {
            Some(unescaped) if !unescaped.0.is_empty() => Args::new(&unescaped.0, &self.args),
            _ => Args::new(buf, &self.args),
        }
    }

    /// In the middle of a command that nobody wants: passes over what there is of it, from where the buffer that `parse` was given
    /// last begins. Tells how many bytes of the buffer are not needed any more, and whether the command has ended with them. If not, the
    /// next call is given what follows them.
    pub fn skip(&mut self, buf: &[u8], limits: &Limits) -> Result<(usize, bool), ProtocolError> {
        self.args.clear();
        let outcome = self.skip_bulks(buf, limits);
        if !matches!(outcome, Ok((_, false))) {
            *self = Self::new();
        }
        outcome
    }

    fn skip_bulks(&mut self, buf: &[u8], limits: &Limits) -> Result<(usize, bool), ProtocolError> {
        while self.remaining > 0 {
            if self.bulk == NO_BULK {
                let found = match short_count(b'$', buf, self.pos) {
                    Some(found) => Some(found),
                    None => self.bulk_line(buf, limits)?,
                };
                let Some((len, next)) = found else { return Ok((std::mem::take(&mut self.pos), false)) };
                if len > limits.max_bulk_len {
                    return Err(ProtocolError::InvalidBulkLength);
                }
                (self.bulk, self.pos, self.scanned) = (len, next, 0);
            }
            let end = self.pos.saturating_add(self.bulk).saturating_add(2);
            if buf.len() < end {
                // The two bytes behind an argument are passed over together.
                let skipped = buf.len().saturating_sub(self.pos).min(self.bulk);
                self.bulk -= skipped;
                return Ok((std::mem::take(&mut self.pos) + skipped, false));
            }
            (self.pos, self.bulk) = (end, NO_BULK);
            self.remaining -= 1;
        }
        Ok((self.pos, true))
    }

    /// Whether the parser is between two commands.
    pub fn is_idle(&self) -> bool {
        self.remaining == 0 && self.scanned == 0
    }

    /// Gives back the memory that earlier commands needed; for connections that fall idle.
    /// The last command's arguments are forgotten. Does nothing in the middle of a command.
    pub fn shrink(&mut self) {
        if self.is_idle() {
            *self = Self::new();
        }
    }

    fn first_line(&mut self, buf: &[u8], limits: &Limits) -> Result<Parsed, ProtocolError> {
        self.args.clear();
        if let Some(unescaped) = &mut self.unescaped {
            unescaped.0.clear();
        }
        match buf.first() {
            None => return Ok(Parsed::Incomplete { need: 1 }),
            Some(b'*') => {}
            Some(_) => return self.inline(buf, limits),
        }
        let (count, next) = match short_count(b'*', buf, 0) {
            Some((count, next)) => (count as i64, next),
            None => match self.count_line(buf, limits).ok_or(ProtocolError::TooBigMultibulkCount)? {
                Line::Unended => return Ok(Parsed::Incomplete { need: 1 }),
                Line::Count(Some(count), next) => (count, next),
                Line::Count(None, _) => return Err(ProtocolError::InvalidMultibulkLength),
            },
        };
        if count > limits.max_multibulk.min(Limits::MAX_MULTIBULK) as i64 {
            return Err(ProtocolError::InvalidMultibulkLength);
        }
        if count > Limits::UNAUTHENTICATED_MULTIBULK as i64 && !limits.authenticated {
            return Err(ProtocolError::UnauthenticatedMultibulkLength);
        }
        if count <= 0 {
            return Ok(Parsed::Empty { consumed: next });
        }
        self.args.reserve((count as usize).min(MAX_RESERVED_ARGS));
        self.pos = next;
        self.scanned = 0;
        self.remaining = count as u32;
        self.bulks(buf, limits)
    }

    fn bulks(&mut self, buf: &[u8], limits: &Limits) -> Result<Parsed, ProtocolError> {
        let (mut pos, mut bulk, mut remaining) = (self.pos, self.bulk, self.remaining);
        while remaining > 0 {
            if bulk == NO_BULK {
                let (len, next) = match short_count(b'$', buf, pos) {
                    Some(found) => found,
                    None => {
                        (self.pos, self.bulk, self.remaining) = (pos, NO_BULK, remaining);
                        match self.bulk_line(buf, limits)? {
                            Some(found) => found,
                            None => return Ok(Parsed::Incomplete { need: 1 }),
                        }
                    }
                };
                if len > limits.max_bulk_len {
                    return Err(ProtocolError::InvalidBulkLength);
                }
                if len > Limits::UNAUTHENTICATED_BULK_LEN && !limits.authenticated {
                    return Err(ProtocolError::UnauthenticatedBulkLength);
                }
                bulk = len;
                pos = next;
                self.scanned = 0;
            }
            let end = pos.saturating_add(bulk).saturating_add(2);
            if buf.len() < end {
                (self.pos, self.bulk, self.remaining) = (pos, bulk, remaining);
                return Ok(Parsed::Incomplete { need: end - buf.len() });
            }
            self.args.push(Arg { start: pos, len: bulk });
            remaining -= 1;
            pos = end;
            bulk = NO_BULK;
        }
        Ok(Parsed::Command { consumed: pos })
    }

    /// The line before an argument, when the fast path could not read it.
    #[cold]
    fn bulk_line(&mut self, buf: &[u8], limits: &Limits) -> Result<Option<(usize, usize)>, ProtocolError> {
        let line = self.count_line(buf, limits).ok_or(ProtocolError::TooBigBulkCount)?;
        let Line::Count(count, next) = line else { return Ok(None) };
        match (buf.get(self.pos), count) {
            (Some(b'$'), Some(count)) => usize::try_from(count)
                .map(|len| Some((len, next)))
                .map_err(|_| ProtocolError::InvalidBulkLength),
            (Some(b'$'), None) => Err(ProtocolError::InvalidBulkLength),
            (byte, _) => Err(ProtocolError::ExpectedDollar(byte.copied().unwrap_or_default())),
        }
    }

    /// Reads the line at `pos`: a type byte, a number, `\r` and any byte. `None` if it is too long.
    #[cold]
    fn count_line(&mut self, buf: &[u8], limits: &Limits) -> Option<Line> {
        let line = buf.get(self.pos..).unwrap_or_default();
        let fresh = line.get(self.scanned as usize..).unwrap_or_default();
        let found = memchr2(b'\r', 0, fresh).map(|at| self.scanned as usize + at);
        match found.and_then(|at| Some((at, *line.get(at)?))) {
            Some((end, b'\r')) => {
                if end > limits.line() {
                    return None;
                }
                self.scanned = end as u32;
                if line.len() < end + 2 {
                    return Some(Line::Unended);
                }
                let number = line.get(1..end).and_then(parse_i64);
                Some(Line::Count(number, self.pos + end + 2))
            }
            // A NUL byte (which ends the search for good), or nothing.
            other => {
                if line.len() > limits.line() {
                    return None;
                }
                self.scanned = other.map_or(line.len(), |(at, _)| at) as u32;
                Some(Line::Unended)
            }
        }
    }
}

enum Line {
    Unended,
    /// What the line says, if it is a number, and where the next one starts.
    Count(Option<i64>, usize),
}

/// Reads the line at `at` if it is `kind` and a short number; returns the number and where the next
/// line starts. `None` for what is unfinished, long, negative or wrong: the slow path tells these
/// apart. Nearly all counts have one digit or two.
#[inline(always)]
fn short_count(kind: u8, buf: &[u8], at: usize) -> Option<(usize, usize)> {
    match *buf.get(at..)? {
        [first, a @ b'0'..=b'9', b'\r', _, ..] if first == kind => Some((digit(a), at + 4)),
        [first, a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', _, ..] if first == kind => {
            Some((digit(a) * 10 + digit(b), at + 5))
        }
        [first, b'1'..=b'9', b'0'..=b'9', b'0'..=b'9', ..] if first == kind => longer_count(buf, at),
        _ => None,
    }
}

fn longer_count(buf: &[u8], at: usize) -> Option<(usize, usize)> {
    let digits = buf.get(at + 1..)?;
    let mut value = 0;
    for (len, &byte) in digits.iter().enumerate().take(SHORT_DIGITS + 1) {
        if !byte.is_ascii_digit() {
            let ended = byte == b'\r' && digits.len() > len + 1;
            return ended.then_some((value, at + len + 3));
        }
        value = value * 10 + digit(byte);
    }
    None
}

#[inline(always)]
fn digit(byte: u8) -> usize {
    usize::from(byte - b'0')
}
