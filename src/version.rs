//! Which build this is: for `tarn --version`.

/// What is linked in.
const LOCK: &str = include_str!("../Cargo.lock");
const ENGINE: &str = "rust-librocksdb-sys";

/// One line. `commit` is known to the program, not to the library, which would be compiled anew for each.
pub fn text(commit: Option<&str>) -> String {
    format!(
        "Tarn server v={} sha={} malloc=jemalloc bits={} rocksdb={} redis={}",
        env!("CARGO_PKG_VERSION"),
        commit.filter(|commit| !commit.is_empty()).unwrap_or("unknown"),
        usize::BITS,
        rocksdb(),
        crate::commands::connection::REDIS_VERSION,
    )
}

/// The crate's version names RocksDB's behind a plus.
pub fn rocksdb() -> &'static str {
    let version = locked(ENGINE).unwrap_or_default();
    version.split_once('+').map_or("unknown", |(_, version)| version)
}

fn locked(package: &str) -> Option<&'static str> {
    let (_, entry) = LOCK.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    entry.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_of_what_is_linked_in_are_known() {
        let parts: Vec<&str> = rocksdb().split('.').collect();
        assert_eq!(parts.len(), 3, "{}", rocksdb());
        assert!(parts.iter().all(|part| part.parse::<u32>().is_ok()), "{}", rocksdb());
        assert_eq!(locked("no-such-package"), None);
        let line = text(Some("0123456789ab"));
        assert!(
            line.starts_with(concat!("Tarn server v=", env!("CARGO_PKG_VERSION"), " sha=0123456789ab ")),
            "{line}"
        );
        assert!(text(None).contains(" sha=unknown "));
    }
}
