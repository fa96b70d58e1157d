//! Formats: `>` and `<` set the byte order, `![n]` the greatest alignment, `b B h H l L T i[n] I[n]` are integers, `f d` are
//! floating point, `c[n]` are n bytes, `s` is a string with a zero at its end, `x` is a byte of padding, and spaces mean
//! nothing.

use std::ffi::c_int;

use crate::scripting::stack::Stack;

/// Largest integer that a format may name, in bytes.
const MOST_INTEGER_BYTES: usize = 32;
/// What `!` alone means, in bytes.
const NATIVE_ALIGNMENT: usize = 8;

/// One option of a format, with its size in bytes. Strings of no fixed size have 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    Signed(usize),
    Unsigned(usize),
    Float,
    Double,
    Padding,
    Bytes(usize),
    ZeroTerminated,
    /// An option that stands for no bytes, or none at all: see [`Format::apply`].
    Control(u8),
}

impl Item {
    pub fn size(self) -> usize {
        match self {
            Item::Signed(size) | Item::Unsigned(size) | Item::Bytes(size) => size,
            Item::Float => size_of::<f32>(),
            Item::Double => size_of::<f64>(),
            Item::Padding => 1,
            Item::ZeroTerminated | Item::Control(_) => 0,
        }
    }
}

/// What is left of a format, and the options that hold for it.
#[derive(Debug)]
pub struct Format<'f> {
    rest: &'f [u8],
    pub is_big_endian: bool,
    alignment: usize,
}

impl<'f> Format<'f> {
    /// A zero ends a format.
    pub fn new(text: &'f [u8]) -> Format<'f> {
        let end = memchr::memchr(0, text).unwrap_or(text.len());
        Format {
            rest: text.get(..end).unwrap_or_default(),
            is_big_endian: cfg!(target_endian = "big"),
            alignment: 1,
        }
    }

    pub fn next(&mut self, stack: &Stack<'_>) -> Option<Item> {
        let (option, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(match option {
            b'b' => Item::Signed(1),
            b'B' => Item::Unsigned(1),
            b'h' => Item::Signed(2),
            b'H' => Item::Unsigned(2),
            b'l' => Item::Signed(8),
            b'L' | b'T' => Item::Unsigned(8),
            b'i' => Item::Signed(self.integer_size(stack)),
            b'I' => Item::Unsigned(self.integer_size(stack)),
            b'f' => Item::Float,
            b'd' => Item::Double,
            b'x' => Item::Padding,
            b'c' => Item::Bytes(self.number(stack, 1)),
            b's' => Item::ZeroTerminated,
            other => Item::Control(*other),
        })
    }

    /// Obeys an option that stands for no bytes; raises if there is no such option.
    pub fn apply(&mut self, stack: &Stack<'_>, option: u8) {
        match option {
            b' ' => {}
            b'>' => self.is_big_endian = true,
            b'<' => self.is_big_endian = false,
            b'!' => {
                let alignment = self.number(stack, NATIVE_ALIGNMENT);
                if !alignment.is_power_of_two() {
                    stack.raise(format_args!("alignment {alignment} is not a power of 2"));
                }
                self.alignment = alignment;
            }
            other => stack.raise_argument_byte(1, c"invalid format option '%c'", other),
        }
    }

    /// How many bytes of padding come before an item that would begin at `at`. For integers whose size is no power of two
    /// the sum is odd, and part of the format.
    pub fn padding(&self, at: usize, item: Item) -> usize {
        let size = item.size().min(self.alignment);
        if size == 0 || matches!(item, Item::Bytes(_)) {
            return 0;
        }
        (size - (at & (size - 1))) & (size - 1)
    }

    fn integer_size(&mut self, stack: &Stack<'_>) -> usize {
        let size = self.number(stack, size_of::<c_int>());
        if size > MOST_INTEGER_BYTES {
            stack.raise(format_args!("integral size {size} is larger than limit of {MOST_INTEGER_BYTES}"));
        }
        size
    }

    /// The number that follows an option.
    fn number(&mut self, stack: &Stack<'_>, default: usize) -> usize {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at_checked(digits).unwrap_or_default();
        self.rest = rest;
        if digits.is_empty() {
            return default;
        }
        let number = digits
            .iter()
            .try_fold(0_i32, |number, digit| number.checked_mul(10)?.checked_add(i32::from(digit - b'0')));
        match number {
            Some(number) => number as usize,
            None => stack.raise(format_args!("integral size overflow")),
        }
    }
}

/// `struct.size(format)`: how many bytes a format stands for. It takes letters that mean nothing, as `pack` does not.
pub fn size(stack: &Stack<'_>) -> c_int {
    // SAFETY: the argument stays on the stack.
    let mut format = Format::new(unsafe { stack.check_bytes(1) });
    let mut at = 0_usize;
    while let Some(item) = format.next(stack) {
        at += format.padding(at, item);
        match item {
            Item::ZeroTerminated => stack.raise_argument(1, c"option 's' has no fixed size"),
            Item::Bytes(0) => stack.raise_argument(1, c"option 'c0' has no fixed size"),
            Item::Control(option) if !option.is_ascii_alphanumeric() => format.apply(stack, option),
            _ => {}
        }
        // A format's length times the largest number in it: no overflow.
        at += item.size();
    }
    stack.push_number(at as f64);
    1
}
