//! The laws of the tree that the compiler does not know.

mod layers;
mod links;
mod tested;
mod text;

use std::path::{Path, PathBuf};

/// A file of the tree, by its path from the root.
struct File {
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The file without comments and without its unit tests: what runs in the product.
    fn product_code(&self) -> String {
        if self.path.ends_with("/tests.rs") {
            return String::new();
        }
        let text = self.text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        text.lines().map(without_comment).collect::<Vec<_>>().join("\n")
    }
}

fn without_comment(line: &str) -> &str {
    let mut from = 0;
    while let Some(at) = line[from..].find("//").map(|at| at + from) {
        // The slashes of an address are not a comment.
        if !line[..at].ends_with(':') {
            return &line[..at];
        }
        from = at + 2;
    }
    line
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every text file that belongs to the tree, sorted.
fn files() -> Vec<File> {
    let mut found = Vec::new();
    for folder in ["src", "crates", "tests", "docs", "scripts", "packaging", "fuzz", ".ci"] {
        collect(&root().join(folder), &mut found);
    }
    for entry in std::fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    let mut files = Vec::new();
    for path in found {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        // Binary fixtures and corpora are not text; the lock file is cargo's.
        if name == "Cargo.lock" || name.starts_with('.') && !name.starts_with(".ci/") {
            continue;
        }
        if let Ok(text) = std::fs::read_to_string(&path) {
            files.push(File { path: name, text });
        }
    }
    assert!(files.iter().any(|file| file.path == "src/lib.rs"), "the walk has lost the tree");
    files
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    // Not every folder of the list has to be there.
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap();
            if name != "target" && name != "corpus" && name != "fixtures" {
                collect(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}

/// Fails with all violations at once.
fn assert_none(law: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{law}:\n  {}", violations.join("\n  "));
}

#[test]
fn comments_and_unit_tests_are_not_product_code() {
    let file = File {
        path: "src/x.rs".into(),
        text: "let a = \"https://b\"; // c\n/// d\nfn e() {}\n#[cfg(test)]\nmod tests { f }\n".into(),
    };
    assert_eq!(file.product_code(), "let a = \"https://b\"; \n\nfn e() {}");
}
