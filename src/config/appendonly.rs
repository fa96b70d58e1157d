//! `appendonly` follows from the engine; setting it is a question that is answered yes or refused.

use super::Config;
use super::choice::EngineKind;
use super::value::Value;

pub fn load(config: &Config) -> Value {
    Value::Bool(config.engine != EngineKind::Memory)
}

pub fn store(config: &mut Config, value: Value) -> bool {
    let Value::Bool(wanted) = value else { return false };
    config.appendonly_wanted = Some(wanted);
    true
}

/// Asked when every option is known, since `engine` may come after `appendonly`. What CONFIG SET asks for is given or
/// refused.
pub fn check(config: &Config) -> Result<(), &'static str> {
    match (config.appendonly_wanted, config.engine) {
        (Some(false), EngineKind::RocksDb) => {
            Err("engine rocksdb logs every write; leave out 'appendonly no', or use 'engine memory'")
        }
        (Some(false), EngineKind::Tikv) => {
            Err("engine tikv keeps every write; leave out 'appendonly no', or use 'engine memory'")
        }
        (Some(true), EngineKind::Memory) => Err(
            "engine memory keeps nothing over a restart; leave out 'appendonly yes', or use 'engine rocksdb'",
        ),
        _ => Ok(()),
    }
}

/// As [`check`], of a start: `appendonly no` is the default of every redis.conf, and more than it asks for is kept.
pub fn check_at_start(config: &Config) -> Result<(), &'static str> {
    match config.appendonly_wanted {
        Some(true) => check(config),
        _ => Ok(()),
    }
}
