//! Arguments in, reply out: one file per family. A command is a row of its family's table and a function; everything
//! else about it derives from the row.

pub mod acl;
pub mod bits;
pub mod client;
pub mod cluster;
pub mod command;
pub mod config;
pub mod connection;
pub mod databases;
pub mod debug;
pub mod docs;
pub mod dump;
pub mod exhash;
pub mod expire;
pub mod function;
pub mod geo;
pub mod hash;
mod help;
pub mod hotkeys;
pub mod hyperloglog;
pub mod keys;
pub mod latency;
pub mod list;
pub mod memory;
pub mod migrate;
pub mod module;
pub mod object;
pub mod pubsub;
pub mod scan;
pub mod scripting;
pub mod server;
pub mod set;
pub mod slowlog;
pub mod sort;
pub mod stream;
pub mod string;
pub mod transaction;
pub mod zset;

use crate::dispatch::args::Args;
use crate::dispatch::spec::Spec;
use crate::error::{Error, Result};
use crate::number;

/// Every family's table.
pub const FAMILIES: &[&[Spec]] = &[
    acl::COMMANDS,
    bits::COMMANDS,
    client::COMMANDS,
    cluster::COMMANDS,
    command::COMMANDS,
    config::COMMANDS,
    connection::COMMANDS,
    databases::COMMANDS,
    debug::COMMANDS,
    dump::COMMANDS,
    exhash::COMMANDS,
    expire::COMMANDS,
    function::COMMANDS,
    geo::COMMANDS,
    hash::COMMANDS,
    hotkeys::COMMANDS,
    hyperloglog::COMMANDS,
    keys::COMMANDS,
    latency::COMMANDS,
    list::COMMANDS,
    memory::COMMANDS,
    migrate::COMMANDS,
    module::COMMANDS,
    object::COMMANDS,
    pubsub::COMMANDS,
    scan::COMMANDS,
    scripting::COMMANDS,
    server::COMMANDS,
    set::COMMANDS,
    slowlog::COMMANDS,
    sort::COMMANDS,
    stream::COMMANDS,
    string::COMMANDS,
    transaction::COMMANDS,
    zset::COMMANDS,
];

/// What containers answer to a known subcommand with too many words.
fn subcommand_syntax(container: &str, args: Args<'_>) -> Error {
    let word = args.words().get(1).unwrap_or(&[]);
    let end = format!("'. Try {container} HELP.");
    Error::about("ERR unknown subcommand or wrong number of arguments for '", word, &end)
}

/// The longest wait. Redis refuses what ends behind the last millisecond that it can count to; the time of day, which it adds, is
/// above 2^40 ms since 2004.
const MAX_WAIT_MS: i64 = i64::MAX - (1 << 40);

/// A time to wait in seconds and fractions, as blocking commands take it; 0 is for ever.
fn seconds_ms(word: &[u8]) -> Result<u64> {
    let seconds = number::double::parse(word)
        .ok_or_else(|| Error::reply("ERR timeout is not a float or out of range"))?;
    let ms = (seconds * 1_000.0).ceil();
    if ms > MAX_WAIT_MS as f64 {
        return Err(too_long_a_wait().into());
    }
    if ms < 0.0 {
        return Err(Error::reply("ERR timeout is negative").into());
    }
    Ok(ms as u64)
}

/// A time to wait, as the commands that wait take it.
fn timeout_ms(word: &[u8]) -> Result<u64> {
    let ms = number::parse_i64(word)
        .ok_or_else(|| Error::reply("ERR timeout is not an integer or out of range"))?;
    if ms > MAX_WAIT_MS {
        return Err(too_long_a_wait().into());
    }
    u64::try_from(ms).map_err(|_| Error::reply("ERR timeout is negative").into())
}

fn too_long_a_wait() -> Error {
    Error::reply("ERR timeout is out of range")
}
