//! The one table of options. File, flags, CONFIG, defaults and docs/config.md all derive from it.

mod compatibility;
mod newer;
mod server;
mod tls;
mod unsupported;

use super::option::{Kind, Opt};
pub use unsupported::reason_unsupported;

const GROUPS: [&[Opt]; 4] = [server::OPTIONS, tls::OPTIONS, compatibility::OPTIONS, newer::OPTIONS];

/// Every option once, in the order of the documentation.
pub fn options() -> impl Iterator<Item = &'static Opt> {
    GROUPS.into_iter().flatten()
}

/// Every name an option goes by, with the option.
pub fn names() -> impl Iterator<Item = (&'static str, &'static Opt)> {
    options().flat_map(|option| {
        std::iter::once(option.name).chain(option.aliases.iter().copied()).map(move |name| (name, option))
    })
}

/// Names are the same in either case.
pub fn find(name: &[u8]) -> Option<&'static Opt> {
    names().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name)).map(|(_, option)| option)
}

/// The name most like a misspelt one, if any is near enough to be meant.
pub fn nearest(name: &[u8]) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let allowed = slips(name.len());
    let scored = names().map(|(known, _)| (distance(&name, known.as_bytes()), known));
    scored.filter(|(distance, _)| *distance <= allowed).min().map(|(_, known)| known)
}

/// Edits up to which a name of this length may be a misspelt one.
pub fn slips(length: usize) -> usize {
    (length / 4).clamp(1, 3)
}

/// Edits between two names, where swapping two neighbours is one edit.
pub fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut last_a = None;
    for (row, &x) in a.iter().enumerate() {
        let mut current = Vec::with_capacity(above.len());
        current.push(row + 1);
        let mut last_b = None;
        for (column, &y) in b.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut cost = (at(&above, column) + usize::from(x != y))
                .min(at(&above, column + 1) + 1)
                .min(at(&current, column) + 1);
            if column > 0 && last_a == Some(y) && last_b == Some(x) {
                cost = cost.min(at(&before, column - 1) + 1);
            }
            current.push(cost);
            last_b = Some(y);
        }
        before = std::mem::replace(&mut above, current);
        last_a = Some(x);
    }
    above.last().copied().unwrap_or(a.len())
}

// Short names for the bounds that Redis's own types give its options.
const fn int(min: i128, max: i128) -> Kind {
    Kind::Int { min, max }
}

const fn memory(min: u64) -> Kind {
    Kind::Memory { min, max: i64::MAX as u64 }
}

const fn count() -> Kind {
    Kind::Int { min: 0, max: i64::MAX as i128 }
}

const fn small_count() -> Kind {
    Kind::Int { min: 0, max: i32::MAX as i128 }
}

/// How a field of `Config` is read and set.
macro_rules! at {
    ($field:ident) => {
        (
            (|config| $crate::config::value::Field::load(&config.$field)) as fn(&$crate::config::Config) -> _,
            (|config, value| $crate::config::value::Field::store(&mut config.$field, value))
                as fn(&mut $crate::config::Config, _) -> bool,
        )
    };
}
use at;
