//! Where the bytes of a call gather: rows that it has read, and what it answers. A long answer is cut into chunks, so that none of it is in
//! memory twice and each goes when it is sent. On a worker room is set aside before it is taken.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::client_memory::{ClientBudget, ClientMemory, Reserved};
use crate::error::{Error, Result, Stop, Why};

/// A long reply is cut into chunks of about this size, and what gathers on an I/O thread goes to a worker beyond it.
pub const CHUNK_BYTES: usize = 1 << 20;
/// What a reply takes that is not handed over in chunks: it is copied while it is put together with others.
const COPIES: usize = 3;

/// A long reply, in the order in which it is sent.
pub type Chunks = Vec<Vec<u8>>;

#[derive(Debug, Default)]
pub struct Arena {
    bytes: Vec<u8>,
    extent: Extent,
    /// There was more than there is room for, and it was dropped.
    over: bool,
}

/// How much may gather.
#[derive(Debug, Default)]
enum Extent {
    /// The server's own work.
    #[default]
    Any,
    /// A chunk: what is more goes to a worker.
    Short,
    /// As much as there is room for.
    Long(Box<Long>),
}

#[derive(Debug)]
struct Long {
    memory: Arc<ClientMemory>,
    budget: ClientBudget,
    chunks: Chunks,
    /// Bytes in them.
    chunked: usize,
    /// What a unit's calls before this one have answered takes.
    said: usize,
    /// What was asked for last.
    asked: usize,
    copies: usize,
    reserved: Reserved,
    /// May wait for room.
    is_patient: bool,
}

impl Arena {
    pub const fn new() -> Arena {
        Arena { bytes: Vec::new(), extent: Extent::Any, over: false }
    }

    /// For an I/O thread.
    pub fn short() -> Arena {
        Arena { extent: Extent::Short, ..Arena::new() }
    }

    /// Takes its room from this from now on, for one unit. Who is not patient is refused where there is none at the moment.
    /// `hands_over`: the reply leaves in the chunks that it was made in.
    pub fn take_room_from(
        &mut self,
        memory: &Arc<ClientMemory>,
        budget: ClientBudget,
        is_patient: bool,
        hands_over: bool,
    ) {
        self.extent = Extent::Long(Box::new(Long {
            memory: Arc::clone(memory),
            budget,
            chunks: Chunks::new(),
            chunked: 0,
            said: 0,
            asked: 0,
            copies: if hands_over { 1 } else { COPIES },
            reserved: Reserved::default(),
            is_patient,
        }));
    }

    /// What was set aside for the unit, and the most that it asked for.
    pub fn end_unit(&mut self) -> (Reserved, usize) {
        match std::mem::take(&mut self.extent) {
            Extent::Long(long) => (long.reserved, long.asked),
            extent => {
                self.extent = extent;
                (Reserved::default(), 0)
            }
        }
    }

    /// For a run of a unit, which may be one of several.
    pub fn begin_run(&mut self) {
        self.clear();
        if let Extent::Long(long) = &mut self.extent {
            (long.said, long.asked) = (0, 0);
        }
    }

    /// For the next call of a unit.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        if self.over || matches!(self.extent, Extent::Long(_)) {
            self.clear_long();
        }
    }

    #[cold]
    fn clear_long(&mut self) {
        self.over = false;
        if let Extent::Long(long) = &mut self.extent {
            if long.copies > 1 {
                long.said = long.asked;
            }
            long.chunks.clear();
            long.chunked = 0;
        }
    }

    /// Gives back a buffer that is larger than this.
    pub fn shrink(&mut self, keep_bytes: usize) {
        if self.bytes.capacity() > keep_bytes {
            self.bytes = Vec::new();
        }
    }

    /// Whether so much more may be read into it.
    #[inline]
    pub fn ask(&mut self, more: usize) -> Result<()> {
        match &mut self.extent {
            Extent::Long(long) => long.ask(self.bytes.len() + more),
            _ => Ok(()),
        }
    }

    /// Whether what has gathered may become a reply. To be asked before it does.
    #[inline]
    pub fn admit(&mut self) -> Result<()> {
        if self.over || self.bytes.len() > CHUNK_BYTES { self.admit_long() } else { Ok(()) }
    }

    #[cold]
    fn admit_long(&mut self) -> Result<()> {
        match &mut self.extent {
            Extent::Any => Ok(()),
            Extent::Short => Err(Stop::Move(Why::Heavy)),
            Extent::Long(long) if self.over => Err(long.refuse()),
            Extent::Long(long) => long.ask(self.bytes.len()),
        }
    }

    /// Whether a unit may have answered so much by now.
    #[inline]
    pub fn admit_unit(&self, bytes: usize) -> Result<()> {
        match self.extent {
            Extent::Short if bytes > CHUNK_BYTES => Err(Stop::Move(Why::Heavy)),
            _ => Ok(()),
        }
    }

    /// Makes what stands behind `start` a chunk; where there is no room it is dropped.
    #[cold]
    pub(super) fn cut(&mut self, start: usize) {
        match &mut self.extent {
            Extent::Any => {}
            Extent::Short => {
                self.over = true;
                self.bytes.truncate(start);
            }
            Extent::Long(long) => {
                if self.over || long.ask(self.bytes.len()).is_err() {
                    self.over = true;
                    self.bytes.truncate(start);
                    long.drop_chunks();
                    return;
                }
                let chunk = self.bytes.split_off(start);
                long.chunked += chunk.len();
                long.chunks.push(chunk);
            }
        }
    }

    /// How many chunks there are.
    pub(super) fn chunk_count(&self) -> usize {
        if let Extent::Long(long) = &self.extent { long.chunks.len() } else { 0 }
    }

    /// Chunks from one to another.
    pub(super) fn chunks(&self, from: usize, to: usize) -> &[Vec<u8>] {
        let Extent::Long(long) = &self.extent else { return &[] };
        long.chunks.get(from..to).unwrap_or_default()
    }

    pub(super) fn take_chunks(&mut self) -> Chunks {
        let Extent::Long(long) = &mut self.extent else { return Chunks::new() };
        long.chunked = 0;
        std::mem::take(&mut long.chunks)
    }

    /// The same bytes, as a chunk that nobody copies where it need not be.
    pub(super) fn take_bytes(&mut self, at: super::Span) -> Vec<u8> {
        self.bytes.truncate(at.start + at.len);
        if at.start == 0 { std::mem::take(&mut self.bytes) } else { self.bytes.split_off(at.start) }
    }

    /// An arena that gathers beside this one, with its chunks and its room. See [`Arena::join`].
    pub(super) fn beside(&mut self) -> Arena {
        Arena { bytes: Vec::new(), extent: std::mem::take(&mut self.extent), over: self.over }
    }

    /// Takes back what [`Arena::beside`] gave, with what has gathered there; where that stands.
    pub(super) fn join(&mut self, beside: Arena) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&beside.bytes);
        (self.extent, self.over) = (beside.extent, beside.over);
        start
    }
}

impl Long {
    /// Room for the chunks and this many bytes.
    fn ask(&mut self, bytes: usize) -> Result<()> {
        let wanted = self.said.saturating_add(self.chunked.saturating_add(bytes).saturating_mul(self.copies));
        self.asked = wanted;
        if self.reserved.grow(wanted, &self.memory, self.budget) { Ok(()) } else { Err(self.refuse()) }
    }

    fn drop_chunks(&mut self) {
        self.chunks = Chunks::new();
        self.chunked = 0;
    }

    #[cold]
    fn refuse(&self) -> Stop {
        if self.asked > self.budget.most() {
            Error::ReplyTooLong.into()
        } else if self.is_patient {
            Stop::Move(Why::Room)
        } else {
            Error::NoRoomForReply.into()
        }
    }
}

impl Deref for Arena {
    type Target = Vec<u8>;

    #[inline]
    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Arena {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Packer, Reply, Shape};
    use super::*;
    use tarn_resp::Protocol;

    const BUDGET: ClientBudget = ClientBudget { together_bytes: 8 << 20, alone_bytes: 16 << 20 };

    fn long(memory: &Arc<ClientMemory>, is_patient: bool, hands_over: bool) -> Arena {
        let mut arena = Arena::new();
        arena.take_room_from(memory, BUDGET, is_patient, hands_over);
        arena
    }

    /// About so many MiB of strings, numbers and gaps.
    fn pack(arena: &mut Arena, mib: usize, is_plain: bool, shape: Shape) -> Reply {
        let mut packer = Packer::begin(arena);
        for n in 0..mib * 2048 {
            packer.push(&[b'x'; 500]);
            match n % 3 {
                0 if !is_plain => packer.push_nil(),
                1 if !is_plain => packer.push_double(n as f64 + 0.5),
                _ => packer.push(n.to_string().as_bytes()),
            }
        }
        packer.push(&vec![b'y'; 3 << 20]);
        packer.push(b"");
        packer.finish(arena, shape)
    }

    #[test]
    fn chunks_are_the_same_bytes() {
        let memory = Arc::new(ClientMemory::default());
        for shape in [Shape::Array, Shape::Map, Shape::Pairs, Shape::Nested] {
            for (protocol, is_plain) in
                [(Protocol::Resp2, true), (Protocol::Resp3, true), (Protocol::Resp3, false)]
            {
                let (mut whole, mut want) = (Arena::new(), Vec::new());
                pack(&mut whole, 3, is_plain, shape).write(protocol, &whole, &mut want);
                let mut arena = long(&memory, true, true);
                arena.extend_from_slice(b"what the call has read");
                let reply = pack(&mut arena, 3, is_plain, shape);
                arena.admit().unwrap();
                let (mut out, mut chunks) = (Vec::new(), Chunks::new());
                reply.write_out(protocol, &mut arena, &mut out, Some(&mut chunks));
                assert!(chunks.len() > 4, "{shape:?}");
                assert!([out, chunks.concat()].concat() == want, "{shape:?} {protocol:?}");
                drop(arena);
                // Or put together with others.
                let mut arena = long(&memory, true, false);
                let mut out = Vec::new();
                let reply = pack(&mut arena, 1, is_plain, shape);
                arena.admit().unwrap();
                reply.write_out(protocol, &mut arena, &mut out, None);
                let (mut whole, mut want) = (Arena::new(), Vec::new());
                pack(&mut whole, 1, is_plain, shape).write(protocol, &whole, &mut want);
                assert!(out == want, "{shape:?} {protocol:?}");
            }
        }
        assert_eq!(memory.used(), 0, "all of it was given back");
    }

    #[test]
    fn strings_in_parts_are_the_same_bytes() {
        let memory = Arc::new(ClientMemory::default());
        let value: Vec<u8> = (0..3_500_000_u32).map(|n| n as u8).collect();
        let mut arena = long(&memory, true, true);
        arena.extend_from_slice(b"at hand");
        let mut packer = Packer::beside(&mut arena);
        assert_eq!(&arena[..], b"at hand");
        let read = |range: std::ops::Range<u64>, out: &mut Vec<u8>| {
            out.extend_from_slice(&value[range.start as usize..range.end as usize]);
            Ok(())
        };
        packer.push_nil();
        packer.push_parts(value.len() as u64, read).unwrap();
        packer.push(b"behind");
        let reply = packer.finish(&mut arena, Shape::Array);
        let (mut out, mut chunks) = (Vec::new(), Chunks::new());
        reply.write_out(Protocol::Resp2, &mut arena, &mut out, Some(&mut chunks));
        let sent = [out, chunks.concat()].concat();
        let want = [b"*3\r\n$-1\r\n$3500000\r\n", &*value, b"\r\n$6\r\nbehind\r\n"].concat();
        assert!(sent == want);
        let used = memory.used();
        assert!((value.len()..value.len() + (2 << 20)).contains(&used), "{used}");
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_told() {
        let memory = Arc::new(ClientMemory::default());
        let mut others = Reserved::default();
        assert!(others.grow(6 << 20, &memory, BUDGET));
        let told = |arena: &mut Arena| match arena.admit() {
            Ok(()) => "fits".to_owned(),
            Err(Stop::Move(why)) => format!("{why:?}"),
            Err(stop) => stop.to_string().split(' ').take(5).collect::<Vec<_>>().join(" "),
        };
        let mut arena = long(&memory, true, true);
        pack(&mut arena, 5, true, Shape::Array);
        assert_eq!(told(&mut arena), "Room");
        assert!(arena.len() < CHUNK_BYTES && arena.chunk_count() == 0, "nothing of it is kept");
        let (reserved, asked) = arena.end_unit();
        assert!(asked > 2 << 20);
        drop(reserved);
        assert_eq!(memory.used(), 6 << 20);
        let mut arena = long(&memory, false, true);
        pack(&mut arena, 5, true, Shape::Array);
        assert_eq!(told(&mut arena), "OOM too many long replies");
        arena.clear();
        assert_eq!(told(&mut arena), "fits", "the next call may be short");
        drop((others, arena));
        let mut arena = long(&memory, true, true);
        pack(&mut arena, 12, true, Shape::Array);
        assert_eq!(told(&mut arena), "fits", "alone");
        let mut arena = long(&memory, true, true);
        pack(&mut arena, 20, true, Shape::Array);
        assert_eq!(told(&mut arena), "Room", "beside the first");
        drop(arena);
    }

    #[test]
    fn an_io_thread_keeps_what_is_short() {
        let mut arena = Arena::short();
        arena.resize(CHUNK_BYTES, 0);
        assert!(arena.admit().is_ok() && arena.admit_unit(CHUNK_BYTES).is_ok());
        arena.push(0);
        assert!(matches!(arena.admit(), Err(Stop::Move(Why::Heavy))));
        assert!(matches!(arena.admit_unit(CHUNK_BYTES + 1), Err(Stop::Move(Why::Heavy))));
        let mut arena = Arena::short();
        pack(&mut arena, 3, true, Shape::Array);
        assert!(arena.len() <= CHUNK_BYTES, "no more than that is gathered");
        assert!(matches!(arena.admit(), Err(Stop::Move(Why::Heavy))));
    }
}
