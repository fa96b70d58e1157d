//! Is the directory the one that was meant? A wrong path or a file system that is not mounted must not look like a database
//! that lost everything.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tarn_engine::rocksdb::holds_database;

use crate::config::{Config, EngineKind, table};

/// What Redis and Valkey leave in their directory.
const OF_REDIS: [&str; 2] = ["dump.rdb", "appendonlydir"];

/// Refuses what looks like a slip, and says in the log what the start finds. Touches nothing.
pub fn check(config: &Config) -> Result<(), String> {
    let dir = &config.dir;
    match config.engine {
        EngineKind::RocksDb => {}
        EngineKind::Memory if config.require_data => {
            return Err("require-data yes: engine memory has no data at a start".into());
        }
        // Theirs is not in the directory.
        EngineKind::Memory | EngineKind::Tikv => return Ok(()),
    }
    if holds_database(dir) {
        tracing::info!("opening the database in {}", dir.display());
        return Ok(());
    }
    if config.require_data {
        return Err(format!(
            "require-data yes: there is no database in {}. Is the path right, and the file system mounted?",
            dir.display()
        ));
    }
    if !dir.exists() {
        check_missing(dir)?;
    }
    tracing::warn!("no database in {}: a new one is made, which is empty", dir.display());
    for name in OF_REDIS.into_iter().filter(|name| dir.join(name).exists()) {
        tracing::warn!("{} holds {name} of Redis, which is not read", dir.display());
    }
    Ok(())
}

/// A directory is made where only its own name is missing, and nothing speaks for another one.
fn check_missing(dir: &Path) -> Result<(), String> {
    let parent = dir.parent().unwrap_or(Path::new("/"));
    let shown = dir.display();
    if !parent.exists() {
        return Err(format!(
            "{shown} does not exist, and {} does not either. Is the path right, and the file system mounted? If it is, make \
             the directory first",
            parent.display()
        ));
    }
    if holds_database(parent) {
        return Err(format!(
            "{shown} does not exist, and there is a database in {} itself. Is that meant? If not, make the directory first",
            parent.display()
        ));
    }
    match similar_database(parent, dir.file_name().unwrap_or_default()) {
        Some(other) => Err(format!(
            "{shown} does not exist, and there is a database in {}. Is that meant? If not, make the directory first",
            other.display()
        )),
        None => Ok(()),
    }
}

/// A database beside the directory whose name is a slip of the pen away. Numbers are what tells servers on one machine apart.
fn similar_database(parent: &Path, name: &OsStr) -> Option<PathBuf> {
    let name = name.to_str()?.to_lowercase();
    let without_digits = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let is_similar = |other: &str| {
        let other = other.to_lowercase();
        let apart = table::distance(name.as_bytes(), other.as_bytes());
        apart <= table::slips(name.len()) && (apart == 0 || without_digits(&name) != without_digits(&other))
    };
    let mut similar: Vec<PathBuf> = std::fs::read_dir(parent)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name().and_then(OsStr::to_str).is_some_and(is_similar) && holds_database(path)
        })
        .collect();
    similar.sort();
    similar.into_iter().next()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn database(dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("FORMAT"), "tarn data format 2\n").unwrap();
    }

    #[test]
    fn a_directory_is_made_where_nothing_speaks_for_another() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let refused = |name: &str| check_missing(&at(name)).err().unwrap_or_default();
        assert_eq!(refused("data"), "");
        assert!(refused("data/below").contains("does not either"));
        database(&at("tarn-6379"));
        database(&at("orders"));
        fs::create_dir(at("users")).unwrap();
        for fine in ["tarn-6380", "tarn-16379", "stock", "user", "billing"] {
            assert_eq!(refused(fine), "", "{fine}");
        }
        for slip in ["order", "oders", "Orders", "odrers", "tern-6379"] {
            assert!(refused(slip).contains("Is that meant?"), "{slip}");
        }
        database(root.path());
        assert!(refused("data").contains("itself"));
    }

    #[test]
    fn data_can_be_required() {
        let root = tempfile::tempdir().unwrap();
        let look = |name: &str, require_data| {
            let mut config = Config::default();
            (config.dir, config.require_data) = (root.path().join(name), require_data);
            check(&config)
        };
        assert_eq!(look("", false), Ok(()));
        assert!(look("", true).unwrap_err().starts_with("require-data yes: there is no database in "));
        database(&root.path().join("here"));
        assert_eq!(look("here", true), Ok(()));
        let mut memory = Config::default();
        (memory.engine, memory.require_data) = (EngineKind::Memory, true);
        assert_eq!(check(&memory), Err("require-data yes: engine memory has no data at a start".into()));
    }
}
