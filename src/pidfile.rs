//! The file that tells other programs which process the server is.

use std::io;
use std::path::{Path, PathBuf};

/// Exists while the server runs; the file goes with it.
pub struct PidFile(PathBuf);

impl PidFile {
    /// Writes nothing for an empty path.
    pub fn create(path: &Path) -> io::Result<Option<Self>> {
        if path.as_os_str().is_empty() {
            return Ok(None);
        }
        let path = std::path::absolute(path)?;
        std::fs::write(&path, format!("{}\n", std::process::id()))?;
        Ok(Some(Self(path)))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Whoever removed it first wanted the same.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::PidFile;

    #[test]
    fn the_file_lives_as_long_as_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pid");
        let file = PidFile::create(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn an_empty_path_is_no_file_and_a_bad_one_an_error() {
        assert!(PidFile::create(Path::new("")).unwrap().is_none());
        let dir = tempfile::tempdir().unwrap();
        assert!(PidFile::create(&dir.path().join("missing/pid")).is_err());
    }
}
