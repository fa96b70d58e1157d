//! A string that is being changed in place: only the pieces that are touched are read and written.

use super::{KIND, Pieces, Value, pieces, store_pieces, value};
use crate::encoding::DATA;
use crate::encoding::meta::{Body, Header};
use crate::encoding::string::{INLINE_MAX, PIECE_LEN};
use crate::error::Result;
use crate::keyspace::{Entry, Env, View as _, WriteCx, entry};
use crate::reply::Span;

/// Begun with [`Draft::open`], on record after [`Draft::finish`]. The bytes at work are the last ones of the arena.
pub struct Draft<'k> {
    entry: Entry<'k>,
    /// The metadata row must be put.
    changed: bool,
    form: Form,
}

enum Form {
    Inline(Span),
    Pieces { pieces: Pieces, open: Option<Open>, arena_len: usize },
}

/// The one piece that is in the arena.
#[derive(Clone, Copy)]
struct Open {
    number: u32,
    bytes: Span,
    dirty: bool,
}

impl<'k> Draft<'k> {
    /// The key's string, extended with zeros to at least `min_len` bytes. Zeros behind the last piece cost nothing.
    pub fn open(cx: &mut WriteCx<'_>, found: Entry<'k>, min_len: u64) -> Result<Draft<'k>> {
        let before = value(&found)?;
        let len_before = before.as_ref().map_or(0, Value::len);
        let len = len_before.max(min_len);
        let changed = !found.exists() || len != len_before;
        let form = match before {
            Some(Value::Pieces(old)) => {
                Form::Pieces { pieces: old.with_len(len), open: None, arena_len: cx.arena().len() }
            }
            Some(Value::Inline(span)) if len > INLINE_MAX as u64 => {
                let pieces = Pieces::new(&found, cx.new_version()?, len);
                let open = Open { number: 0, bytes: at_end(cx, span), dirty: !span.is_empty() };
                Form::Pieces { pieces, open: Some(open), arena_len: cx.arena().len() }
            }
            None if len > INLINE_MAX as u64 => {
                let pieces = Pieces::new(&found, cx.new_version()?, len);
                Form::Pieces { pieces, open: None, arena_len: cx.arena().len() }
            }
            inline => {
                let span = match inline {
                    Some(Value::Inline(span)) => span,
                    _ => Span::default(),
                };
                let span = at_end(cx, span);
                Form::Inline(extend(cx, span, len as usize))
            }
        };
        Ok(Draft { entry: found, changed, form })
    }

    pub fn len(&self) -> u64 {
        match &self.form {
            Form::Inline(span) => span.len as u64,
            Form::Pieces { pieces, .. } => pieces.len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` from the string; what lies behind its end is zeros.
    pub fn read(&mut self, cx: &mut WriteCx<'_>, at: u64, out: &mut [u8]) -> Result<()> {
        out.fill(0);
        let mut at = at;
        let mut rest = out;
        while !rest.is_empty() && at < self.len() {
            let (bytes, offset) = match &mut self.form {
                Form::Inline(span) => (*span, at as usize),
                Form::Pieces { .. } => (self.load(cx, pieces::number(at)?)?, at as usize % PIECE_LEN),
            };
            let unit = if matches!(self.form, Form::Inline(_)) { bytes.len } else { PIECE_LEN };
            let (part, behind) = rest.split_at_mut(rest.len().min(unit - offset));
            let found = cx.bytes(bytes.behind(offset));
            for (to, from) in part.iter_mut().zip(found) {
                *to = *from;
            }
            at += part.len() as u64;
            rest = behind;
        }
        Ok(())
    }

    /// Overwrites bytes of the string, which must be long enough.
    pub fn write(&mut self, cx: &mut WriteCx<'_>, at: u64, bytes: &[u8]) -> Result<()> {
        cx.env.move_if_heavy(bytes.len(), Env::IO_THREAD_MAX_BYTES)?;
        if let Form::Inline(span) = self.form {
            copy_to(cx, span.behind(at as usize), bytes);
            self.changed = true;
            return Ok(());
        }
        let mut at = at;
        let mut rest = bytes;
        while !rest.is_empty() {
            let number = pieces::number(at)?;
            let offset = at as usize % PIECE_LEN;
            let (part, behind) = rest.split_at(rest.len().min(PIECE_LEN - offset));
            if part.len() == PIECE_LEN {
                self.replace(cx, number, part);
            } else {
                let old = self.load(cx, number)?;
                let new = extend(cx, old, old.len.max(offset + part.len()));
                copy_to(cx, new.behind(offset), part);
                if let Form::Pieces { open, .. } = &mut self.form {
                    *open = Some(Open { number, bytes: new, dirty: true });
                }
            }
            at += part.len() as u64;
            rest = behind;
        }
        Ok(())
    }

    /// Puts what has changed on record.
    pub fn finish(mut self, cx: &mut WriteCx<'_>) -> Result<()> {
        self.flush(cx);
        if !self.changed {
            return Ok(());
        }
        let expire_at_ms = self.entry.expire_at_ms();
        match &self.form {
            Form::Inline(span) => cx.lend(|cx, arena| {
                let header = Header { kind: KIND, expire_at_ms, body: Body::Inline };
                entry::store(cx, &self.entry, &header, &[span.of(arena)])
            }),
            Form::Pieces { pieces, .. } => store_pieces(cx, &self.entry, pieces, expire_at_ms),
        }
    }

    /// Brings a piece into the arena.
    fn load(&mut self, cx: &mut WriteCx<'_>, number: u32) -> Result<Span> {
        if let Form::Pieces { open: Some(open), .. } = &self.form
            && open.number == number
        {
            return Ok(open.bytes);
        }
        self.flush(cx);
        let Form::Pieces { pieces, open, arena_len } = &mut self.form else { return Ok(Span::default()) };
        cx.arena().truncate(*arena_len);
        let bytes = cx.get(DATA, &pieces.row(number))?.unwrap_or(Span { start: *arena_len, len: 0 });
        *open = Some(Open { number, bytes, dirty: false });
        Ok(bytes)
    }

    /// Puts a whole piece.
    fn replace(&mut self, cx: &mut WriteCx<'_>, number: u32, bytes: &[u8]) {
        if let Form::Pieces { pieces, open, .. } = &mut self.form {
            cx.put(DATA, &pieces.row(number), &[bytes]);
            *open = open.filter(|open| open.number != number);
        }
    }

    fn flush(&mut self, cx: &mut WriteCx<'_>) {
        if let Form::Pieces { pieces, open, .. } = &mut self.form
            && let Some(piece) = open.take_if(|open| open.dirty)
        {
            cx.lend(|cx, arena| cx.put(DATA, &pieces.row(piece.number), &[piece.bytes.of(arena)]));
        }
    }
}

/// The same bytes as the last ones of the arena, where they can grow.
fn at_end(cx: &mut WriteCx<'_>, span: Span) -> Span {
    let arena = cx.arena();
    if span.start + span.len == arena.len() {
        return span;
    }
    let start = arena.len();
    arena.extend_from_within(span.start..span.start + span.len);
    Span { start, len: span.len }
}

/// Adds zeros to the last bytes of the arena.
fn extend(cx: &mut WriteCx<'_>, span: Span, len: usize) -> Span {
    cx.arena().resize(span.start + len, 0);
    Span { start: span.start, len }
}

fn copy_to(cx: &mut WriteCx<'_>, span: Span, bytes: &[u8]) {
    if let Some(room) = cx.arena().get_mut(span.start..span.start + bytes.len()) {
        room.copy_from_slice(bytes);
    }
}
