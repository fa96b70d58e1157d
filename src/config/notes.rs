//! What a configuration asks for and gets in another way here: a line of the log each.

use super::choice::EngineKind;
use super::{Config, table};

/// Asked once, at the start.
pub fn notes(config: &Config) -> Vec<String> {
    [appendonly(config), eviction(config)].into_iter().flatten().collect()
}

fn text(config: &Config, name: &str) -> String {
    let text = table::find(name.as_bytes()).map(|option| option.text(config)).unwrap_or_default();
    super::words::printable(&text)
}

fn appendonly(config: &Config) -> Option<String> {
    if config.appendonly_wanted != Some(false) || config.engine != EngineKind::RocksDb {
        return None;
    }
    let save = if text(config, "save").is_empty() { "" } else { " ('save' has no effect)" };
    Some(format!(
        "appendonly no: every write is logged before it is answered, and is there after a restart{save}. For data that a restart \
         forgets there is 'engine memory'"
    ))
}

fn eviction(config: &Config) -> Option<String> {
    let policy = text(config, "maxmemory-policy");
    (policy != "noeviction" && config.maxdisk == 0).then(|| {
        format!(
            "maxmemory-policy {policy}: nothing is evicted. 'maxmemory' bounds the memory of the process, what does not fit is on \
             disk, and 'maxdisk' says how much of that may be taken before keys are evicted"
        )
    })
}
