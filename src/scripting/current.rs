//! The run under way on a thread, as the functions that a script calls find it.

use std::cell::Cell;
use std::ptr::NonNull;

use tarn_resp::{Arg, Args as Words, Protocol, encode};

use super::random::Random;
use super::reply::Writer;
use super::stack::{Stack, Type};
use super::{Code, Host};

/// A buffer that has grown beyond this is not kept.
const KEEP_BYTES: usize = 64 << 10;

thread_local! {
    /// Set by [`Running`] only.
    static CURRENT: Cell<Option<NonNull<Current<'static>>>> = const { Cell::new(None) };
}

/// What the functions of a machine need while a script runs.
pub struct Current<'a> {
    pub host: &'a mut dyn Host,
    pub kept: &'a mut Buffers,
    /// What runs; None while a library is loaded.
    pub code: Option<Code<'a>>,
    pub caller: Protocol,
    pub script: Protocol,
    pub random: Random,
    pub stopped: bool,
    /// Where it was stopped.
    pub line: Option<usize>,
}

impl<'a> Current<'a> {
    pub fn new(
        host: &'a mut dyn Host,
        kept: &'a mut Buffers,
        code: Option<Code<'a>>,
        caller: Protocol,
        random: u64,
    ) -> Current<'a> {
        Current {
            host,
            kept,
            code,
            caller,
            script: Protocol::Resp2,
            random: Random::new(random),
            stopped: false,
            line: None,
        }
    }
}

/// What a machine keeps between runs, so that nothing of it is lost where Lua leaves a function early.
#[derive(Debug, Default)]
pub struct Buffers {
    /// The words of a call, and its reply.
    pub bytes: Vec<u8>,
    pub ranges: Vec<Arg>,
    pub reply: Vec<u8>,
    /// The result of a script.
    pub writer: Writer,
}

impl Buffers {
    /// Gives back what a long run has left.
    pub fn shrink(&mut self) {
        for buffer in [&mut self.bytes, &mut self.reply, &mut self.writer.out] {
            if buffer.capacity() > KEEP_BYTES {
                *buffer = Vec::new();
            }
        }
        if self.ranges.capacity() > KEEP_BYTES / size_of::<Arg>() {
            self.ranges = Vec::new();
        }
    }
}

/// Keeps [`CURRENT`] set.
pub struct Running;

impl Running {
    pub fn begin(current: &mut Current<'_>) -> Running {
        // SAFETY of the lifetime: the pointer is taken back before `current` ends, by `drop`, and is used on this thread only, by
        // `with_current`.
        CURRENT.set(Some(NonNull::from(current).cast()));
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// The run under way, for one of the functions that it calls; None where there is none (a machine is being made).
pub fn with_current<T>(work: impl FnOnce(&mut Current<'_>) -> T) -> Option<T> {
    // Taken out meanwhile, so that nobody else can have it.
    let current = CURRENT.take()?;
    // SAFETY: set by `Running`, which outlives the call of Lua that we are in.
    let done = work(unsafe { &mut *current.as_ptr() });
    CURRENT.set(Some(current));
    Some(done)
}

/// As [`with_current`], for who may be left by Lua in the middle of it: nobody else may ask meanwhile.
///
/// # Safety
///
/// No other function of the run is called as long as it is used.
pub unsafe fn current<'a>() -> Option<&'a mut Current<'a>> {
    // SAFETY: set by `Running`, which outlives the call of Lua that we are in; and by the caller.
    CURRENT.get().map(|current| unsafe { &mut *current.as_ptr().cast() })
}

/// What became of a call. Holds nothing that has to be dropped, since Lua may leave the function that has it.
#[derive(Clone, Copy)]
pub enum Called {
    Stopped,
    Refused(&'static str),
    Replied { reply: NonNull<[u8]>, failed: bool },
}

impl Current<'_> {
    pub fn call(&mut self, stack: &Stack<'_>) -> Called {
        if self.stopped {
            return Called::Stopped;
        }
        if stack.top() == 0 {
            return Called::Refused("ERR Please specify at least one argument for this redis lib call");
        }
        if self.take_words(stack).is_none() {
            return Called::Refused("ERR Lua redis lib command arguments must be strings or integers");
        }
        let Buffers { bytes, ranges, reply, .. } = &mut *self.kept;
        reply.clear();
        if !self.host.call(Words::new(bytes, ranges), self.script, reply) {
            self.stopped = true;
            return Called::Stopped;
        }
        let failed = reply.first() == Some(&b'-');
        Called::Replied { reply: NonNull::from(reply.as_slice()), failed }
    }

    /// The arguments as the words of a command; None where one of them is neither a string nor a number.
    pub fn take_words(&mut self, stack: &Stack<'_>) -> Option<()> {
        let Buffers { bytes, ranges, .. } = &mut *self.kept;
        bytes.clear();
        ranges.clear();
        for at in 1..=stack.top() {
            let start = bytes.len();
            match stack.type_of(at) {
                // SAFETY: the argument is on the stack.
                Type::String => bytes.extend_from_slice(unsafe { stack.bytes(at) }),
                Type::Number => write_number(bytes, stack.number(at)),
                _ => return None,
            }
            ranges.push(Arg { start, len: bytes.len() - start });
        }
        Some(())
    }
}

/// A number as an argument: without a point if it is whole.
fn write_number(out: &mut Vec<u8>, number: f64) {
    let whole = number as i64;
    if whole as f64 == number && number.abs() < 2_f64.powi(63) {
        out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
    } else {
        encode::double_text(out, number);
    }
}
