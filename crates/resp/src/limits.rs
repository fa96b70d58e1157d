//! How much a client may ask for before it is cut off.

/// Bounds on what one command may be. `Default` is Redis's defaults for a client that is logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest argument, in bytes (`proto-max-bulk-len`).
    pub max_bulk_len: usize,
    /// The most arguments of one command. Redis 7.0 allows all that its `int` can count.
    pub max_multibulk: usize,
    /// The longest inline command, and the longest line that carries a count, in bytes.
    /// Values under [`Limits::MIN_INLINE`] count as that.
    pub max_inline: usize,
    /// Whether the client has logged in (or need not). Until then the two limits below hold.
    pub authenticated: bool,
}

impl Limits {
    /// Default of `proto-max-bulk-len`.
    pub const MAX_BULK_LEN: usize = 512 << 20;
    /// The largest count of arguments that Redis 7.0 takes.
    pub const MAX_MULTIBULK: usize = i32::MAX as usize;
    /// Redis's fixed limit for lines.
    pub const MAX_INLINE: usize = 64 << 10;
    /// Every valid count line fits in this, so a limit on lines never rejects a valid count.
    pub const MIN_INLINE: usize = 32;
    /// The most arguments before AUTH.
    pub const UNAUTHENTICATED_MULTIBULK: usize = 10;
    /// The longest argument before AUTH, in bytes.
    pub const UNAUTHENTICATED_BULK_LEN: usize = 16_384;

    pub(crate) fn line(&self) -> usize {
        // The upper bound keeps positions within a line in 32 bits.
        self.max_inline.clamp(Self::MIN_INLINE, 1 << 30)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bulk_len: Self::MAX_BULK_LEN,
            max_multibulk: Self::MAX_MULTIBULK,
            max_inline: Self::MAX_INLINE,
            authenticated: true,
        }
    }
}
