//! Who does the work in the background that is done once, whoever shares the data.
//!
//! The nodes that are there divide it among themselves by their order. Two that see it differently for a moment do no harm: each step is a
//! transaction that looks first whether there is anything left to do. It is divided so that they do not meet.

use std::sync::atomic::{AtomicU64, Ordering};

/// Work that has one owner at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duty {
    /// Reaping what is due in a bucket of the expire space.
    Expiry(u8),
    /// Walking the metadata for parts that expire, and dropping their index.
    Parts,
    /// Removing what flushed databases left behind.
    Dropped,
    /// Removing what dead collections of nodes that are gone left behind, and counting it.
    Garbage,
    /// Telling the cluster which old versions of rows nobody will read.
    OldVersions,
}

impl Duty {
    const fn number(self) -> u32 {
        match self {
            Duty::Expiry(bucket) => bucket as u32,
            Duty::Parts => 1,
            Duty::Dropped => 2,
            Duty::Garbage => 3,
            Duty::OldVersions => 4,
        }
    }
}

/// The place of this process among those that are there.
#[derive(Debug)]
pub struct Ownership(AtomicU64);

impl Ownership {
    /// Nobody else can be there.
    pub fn alone() -> Ownership {
        let all = Ownership::none();
        all.set(0, 1);
        all
    }

    /// It is not known yet who is there.
    pub fn none() -> Ownership {
        Ownership(AtomicU64::new(0))
    }

    pub fn set(&self, place: u32, count: u32) {
        self.0.store(u64::from(place) << 32 | u64::from(count), Ordering::Release);
    }

    #[inline]
    pub fn owns(&self, duty: Duty) -> bool {
        let known = self.0.load(Ordering::Acquire);
        let (place, count) = ((known >> 32) as u32, known as u32);
        duty.number().checked_rem(count) == Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duty_has_one_owner() {
        let duties = [Duty::Parts, Duty::Dropped, Duty::Garbage, Duty::OldVersions];
        let duties = duties.into_iter().chain((0..=255).map(Duty::Expiry));
        let places: Vec<Ownership> = (0..3)
            .map(|place| {
                let ownership = Ownership::none();
                ownership.set(place, 3);
                ownership
            })
            .collect();
        for duty in duties {
            assert!(Ownership::alone().owns(duty) && !Ownership::none().owns(duty), "{duty:?}");
            assert_eq!(places.iter().filter(|place| place.owns(duty)).count(), 1, "{duty:?}");
        }
    }
}
