//! Who does the work in the background that must be done once, whoever shares the data.

/// Work that has one owner at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duty {
    /// Reaping what is due in a bucket of the expire space.
    Expiry(u8),
    /// Walking the metadata for parts that expire, and dropping their index.
    Parts,
    /// Removing what flushed databases left behind.
    Dropped,
    /// Removing what dead collections left behind, and counting it.
    Garbage,
}

/// One process owns its data, and so all of it.
#[inline]
pub const fn owns(duty: Duty) -> bool {
    match duty {
        Duty::Expiry(_) | Duty::Parts | Duty::Dropped | Duty::Garbage => true,
    }
}
