//! The engine contract as tests.
//!
//! Each case is a function over a [`Harness`]; [`conformance_suite!`](crate::conformance_suite) makes one `#[test]`
//! of each. An engine is right when all of them pass. Cases write in rounds and call [`Harness::move_rows_down`] between
//! them, so that in an engine of several layers the rows of one scan come from all of them.
//!
//! Some cases hold an engine to a [`Promise`]. No case leaves an engine out by itself: where an engine does not make that promise
//! its suite says so, and the case stands in the output under `not_promised`.

// Test support: a case that finds a fault has to panic, and says where by doing so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

pub mod durability;
pub mod model;
pub mod points;
pub mod savepoints;
pub mod scans;
pub mod snapshots;
pub mod threads;
pub mod writes;

use std::ops::ControlFlow;

use crate::{
    Direction, Engine, Error, Groups, LocalStore, Position, Range, Read, Space, SpaceDef, Wait, Write,
};

/// What not every engine promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// What was flushed is there again after [`Harness::reopen`].
    Lasting,
    /// [`LocalStore`].
    Local,
    /// Of two open writes that write or lock the same row, and have read it, one is refused. Otherwise the cases keep such writes
    /// apart.
    Conflicts,
    /// The same where neither has read it.
    Blind,
    /// An open read sees commits that are made while it is open.
    Fresh,
    /// Of two open writes of which one reads what the other writes one is refused.
    Serialisable,
}

impl Promise {
    pub const ALL: [Promise; 6] = [
        Promise::Lasting,
        Promise::Local,
        Promise::Conflicts,
        Promise::Blind,
        Promise::Fresh,
        Promise::Serialisable,
    ];
}

/// How the cases get at an engine.
pub trait Harness: Sync {
    type Engine: Engine;

    fn promises(&self) -> &'static [Promise];

    /// An empty engine over [`SPACES`].
    fn open(&self) -> Self::Engine;

    /// Moves what is committed so far into an older layer, if the engine has layers.
    fn move_rows_down(&self, _engine: &Self::Engine) {}

    /// Drops the engine, closed or not, and opens it again.
    fn reopen(&self, _engine: Self::Engine) -> Self::Engine {
        panic!("an engine that promises to last can be reopened")
    }

    fn local<'e>(&self, _engine: &'e Self::Engine) -> Option<&'e dyn LocalStore> {
        None
    }

    /// Opens a checkpoint of the engine as a database of its own.
    fn open_copy(&self, _engine: &Self::Engine) -> Self::Engine {
        panic!("a local engine can be copied")
    }
}

/// The engine as one that promises [`Promise::Local`].
fn local<'e, H: Harness>(harness: &H, engine: &'e H::Engine) -> &'e dyn LocalStore {
    harness.local(engine).expect("the engine promises to be local")
}

/// Groups of four bytes.
pub const PLAIN: Space = Space(0);
/// Groups of a length that the first byte tells, as with rows that begin with the length of a key.
pub const GROUPED: Space = Space(1);
/// Rows that come and go at the head.
pub const QUEUE: Space = Space(2);

pub static SPACES: &[SpaceDef] = &[
    SpaceDef { name: "plain", group_len: |key| key.len().min(4), queue_like: false, groups: Groups::Kept },
    SpaceDef { name: "grouped", group_len: grouped_len, queue_like: false, groups: Groups::Kept },
    SpaceDef { name: "queue", group_len: |key| key.len().min(1), queue_like: true, groups: Groups::Ordered },
];

fn grouped_len(key: &[u8]) -> usize {
    key.first().map_or(0, |len| (1 + usize::from(*len)).min(key.len()))
}

type Row = (Vec<u8>, Vec<u8>);

/// Greater than every key of the cases.
const END: &[u8] = &[0xff; 24];
const ALL: Range<'static> = Range { start: b"", end: END };

/// Commits the rows in one write.
fn put<E: Engine, K: AsRef<[u8]>, V: AsRef<[u8]>>(
    engine: &E,
    space: Space,
    rows: impl IntoIterator<Item = (K, V)>,
) -> Position {
    let mut write = engine.begin_write(Wait::Allowed);
    for (key, value) in rows {
        write.put(space, key.as_ref(), &[value.as_ref()]);
    }
    write.commit().unwrap()
}

/// Commits the deletes in one write.
fn delete<E: Engine, K: AsRef<[u8]>>(
    engine: &E,
    space: Space,
    keys: impl IntoIterator<Item = K>,
) -> Position {
    let mut write = engine.begin_write(Wait::Allowed);
    for key in keys {
        write.delete(space, key.as_ref());
    }
    write.commit().unwrap()
}

fn get(read: &impl Read, space: Space, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    read.get(space, key.as_ref(), &mut out).unwrap().then_some(out)
}

/// The committed value of a row.
fn committed<E: Engine>(engine: &E, space: Space, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    get(&engine.begin_read(Wait::Allowed), space, key)
}

fn scan(read: &impl Read, space: Space, range: Range<'_>, direction: Direction, limit: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    read.scan(space, range, direction, limit, &mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    rows
}

/// All rows of a space. Asserts on the way that both directions tell the same.
fn all(read: &impl Read, space: Space) -> Vec<Row> {
    let forward = scan(read, space, ALL, Direction::Forward, usize::MAX);
    let mut backward = scan(read, space, ALL, Direction::Backward, usize::MAX);
    backward.reverse();
    assert_eq!(forward, backward, "a scan backwards differs from one forwards");
    forward
}

/// The keys that a scan meets.
fn keys(
    read: &impl Read,
    space: Space,
    range: Range<'_>,
    direction: Direction,
    limit: usize,
) -> Vec<Vec<u8>> {
    scan(read, space, range, direction, limit).into_iter().map(|row| row.0).collect()
}

fn owned<K: AsRef<[u8]>, V: AsRef<[u8]>>(rows: impl IntoIterator<Item = (K, V)>) -> Vec<Row> {
    rows.into_iter().map(|(key, value)| (key.as_ref().to_vec(), value.as_ref().to_vec())).collect()
}

#[track_caller]
fn assert_unavailable<T>(what: &str, result: crate::Result<T>) {
    match result {
        Err(Error::Unavailable(_)) => {}
        Err(error) => panic!("{what}: expected Unavailable, got {error:?}"),
        Ok(_) => panic!("{what}: expected Unavailable, got success"),
    }
}

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From zero up to, not including, `bound`.
    fn below(&mut self, bound: usize) -> usize {
        ((self.roll() >> 16) % bound as u64) as usize
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }
}

/// Makes a `#[test]` of each case. The expression builds the harness of one test.
#[macro_export]
macro_rules! conformance_suite {
    ($harness:expr, promised: [$($promised:ident),*], not_promised: [$($missing:ident),*]) => {
        $crate::conformance_suite!(@of run $harness, Every);
        $($crate::conformance_suite!(@of run $harness, $promised);)*

        mod not_promised {
            #[allow(unused_imports)] // by an engine that promises everything
            use super::*;

            $($crate::conformance_suite!(@of name $harness, $missing);)*
        }

        #[test]
        fn every_promise_is_kept_or_named() {
            use $crate::conformance::{Harness as _, Promise};
            let promised = [$(Promise::$promised),*];
            assert_eq!($harness.promises(), promised);
            let mut all: Vec<Promise> = [$(Promise::$missing),*].into_iter().chain(promised).collect();
            all.sort();
            assert_eq!(all, Promise::ALL);
        }
    };
    (@of $verb:ident $harness:expr, Every) => {
        $crate::conformance_suite!(@$verb $harness, Every,
            points: rows_are_found_as_written;
            points: values_are_joined_from_parts;
            points: get_appends_to_what_is_there;
            points: empty_and_binary_rows;
            points: keys_that_are_prefixes_of_each_other;
            points: spaces_are_apart;
            points: get_many_keeps_order_duplicates_and_gaps;
            points: get_many_of_many;
            points: parts_of_values;
            points: values_of_a_mebibyte;
            points: not_waiting_answers_rightly_or_not_at_all;
            writes: a_write_sees_its_own_rows;
            writes: the_last_of_several_writes_to_a_row_counts;
            writes: rows_become_visible_together;
            writes: rollback_and_drop_leave_nothing;
            writes: dirty_once_something_was_put_or_deleted;
            writes: a_commit_of_nothing_is_allowed;
            writes: positions_grow_with_each_commit;
            writes: many_rows_with_settling_between;
            writes: rows_put_again_after_a_delete;
            savepoints: what_was_set_since_is_undone;
            savepoints: rows_of_before_are_as_they_were;
            savepoints: nested_and_repeated;
            savepoints: few_rows_and_many;
            savepoints: random_rollbacks_match_copies_of_a_map;
            savepoints: locked_rows_are_as_they_were;
            scans: bounds_are_inclusive_below_and_exclusive_above;
            scans: bounds_that_hold_nothing;
            scans: bounds_between_prefixes;
            scans: limits;
            scans: a_break_ends_the_scan;
            scans: ranges_come_one_after_the_other;
            scans: own_rows_and_deletes_are_merged_in;
            scans: of_a_write_with_many_rows;
            scans: between_the_puts_of_a_long_write;
            scans: ranks_and_picks_of_a_write;
            scans: newer_layers_hide_older_ones;
            scans: deletes_hide_rows_of_older_layers;
            scans: across_groups;
            scans: within_a_group_among_many;
            scans: the_head_of_a_queue;
            scans: ranks_follow_the_scan;
            scans: callbacks_may_read;
            snapshots: a_snapshot_stays_as_it_was;
            snapshots: a_snapshot_outlives_many_commits;
            snapshots: several_snapshots_see_their_own_time;
            snapshots: a_snapshot_does_not_see_an_open_write;
            snapshots: a_snapshot_is_read_from_another_thread;
            durability: flush_covers_every_commit;
            durability: durability_is_told;
            durability: a_closed_engine_is_unavailable;
            threads: transfers_keep_their_sum;
            threads: commits_are_seen_whole;
            threads: a_shared_counter_loses_nothing;
            threads: positions_are_unique_and_flushes_reach_them;
            threads: callbacks_read_while_others_commit;
            model: random_histories_match_an_ordered_map;
        );
    };
    (@of $verb:ident $harness:expr, Lasting) => {
        $crate::conformance_suite!(@$verb $harness, Lasting,
            durability: flushed_rows_are_there_after_reopening;
            durability: closed_and_reopened_nothing_is_missing;
        );
    };
    (@of $verb:ident $harness:expr, Local) => {
        $crate::conformance_suite!(@$verb $harness, Local,
            snapshots: deleting_a_range;
            snapshots: deleting_a_range_of_many_rows;
            snapshots: a_snapshot_survives_the_deletion_of_its_range;
            durability: every_durability_setting_gets_there;
            durability: a_checkpoint_is_a_database;
            durability: housekeeping_may_be_called_at_any_time;
            durability: a_closed_store_is_unavailable;
            durability: a_deleted_range_stays_deleted;
        );
    };
    (@of $verb:ident $harness:expr, Conflicts) => {
        $crate::conformance_suite!(@$verb $harness, Conflicts,
            writes: conflicting_writes_are_refused;
            savepoints: locked_rows_are_refused_to_others;
        );
    };
    (@of $verb:ident $harness:expr, Blind) => {
        $crate::conformance_suite!(@$verb $harness, Blind,
            writes: conflicting_blind_writes_are_refused;
            savepoints: rows_locked_blindly_are_refused_to_others;
        );
    };
    (@of $verb:ident $harness:expr, Fresh) => {
        $crate::conformance_suite!(@$verb $harness, Fresh,
            writes: a_read_sees_commits_made_while_it_is_open;
        );
    };
    (@of $verb:ident $harness:expr, Serialisable) => {
        $crate::conformance_suite!(@$verb $harness, Serialisable,
            writes: changed_reads_are_refused;
            writes: changed_scans_are_refused;
        );
    };
    (@run $harness:expr, $promise:ident, $($module:ident: $case:ident;)*) => {
        $(
            #[test]
            fn $case() {
                $crate::conformance::$module::$case(&$harness);
            }
        )*
    };
    (@name $harness:expr, $promise:ident, $($module:ident: $case:ident;)*) => {
        $(
            #[test]
            fn $case() {
                use $crate::conformance::{Harness as _, Promise};
                assert!(!$harness.promises().contains(&Promise::$promise));
            }
        )*
    };
}
