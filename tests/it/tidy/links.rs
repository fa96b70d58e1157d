//! Every link of the documents leads somewhere, and every file that they name is there.

use super::{assert_none, files, root};

/// The targets of `[text](target)`, code blocks left out.
fn targets(markdown: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for (at, mark) in line.match_indices("](") {
            let rest = &line[at + mark.len()..];
            found.push(&rest[..rest.find([')', ' ']).unwrap_or(rest.len())]);
        }
    }
    found
}

/// The anchors that headings make, as the usual renderers spell them.
fn anchors(markdown: &str) -> Vec<String> {
    let headings = markdown.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            words
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}

#[test]
fn links_resolve() {
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.path.ends_with(".md")) {
        let folder = root().join(&file.path).parent().unwrap().to_owned();
        for target in targets(&file.text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let full = if path.is_empty() { root().join(&file.path) } else { folder.join(path) };
            let reached = match (full.exists(), anchor) {
                (false, _) => false,
                (true, "") => true,
                (true, anchor) => std::fs::read_to_string(&full)
                    .is_ok_and(|text| anchors(&text).iter().any(|a| a == anchor)),
            };
            if !reached {
                violations.push(format!("{}: {target}", file.path));
            }
        }
    }
    assert_none("links lead somewhere", &violations);
}

/// The paths of this tree among what stands between backticks, code blocks left out.
fn paths(markdown: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for block in markdown.split("```").step_by(2) {
        for code in block.split('`').skip(1).step_by(2) {
            let is_ours = FOLDERS.iter().any(|folder| code.starts_with(folder));
            if is_ours && !code.contains([' ', '*', '<']) {
                found.push(code);
            }
        }
    }
    found
}

const FOLDERS: &[&str] = &["src/", "crates/", "tests/", "docs/", "scripts/"];

#[test]
fn files_that_documents_name_are_there() {
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.path.ends_with(".md")) {
        for path in paths(&file.text).into_iter().filter(|path| !root().join(path).exists()) {
            violations.push(format!("{}: {path}", file.path));
        }
    }
    assert_none("documents name files that exist", &violations);
}

/// The modules that the map lists under the heading of a folder.
fn mapped(map: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folder = None;
    for line in map.lines() {
        if line.starts_with('#') {
            folder = paths(line).first().copied();
        } else if let (Some(folder), Some(cells)) = (folder, line.strip_prefix("| `")) {
            let names = cells.split(" |").next().unwrap_or_default();
            found.extend(
                names.split([',', ' ', '`']).filter(|n| !n.is_empty()).map(|n| format!("{folder}{n}")),
            );
        }
    }
    found
}

#[test]
fn the_map_shows_the_tree() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(map.lines().count() < 300, "a map is short");
    let modules = mapped(&map);
    assert!(modules.len() > 10, "{modules:?}");
    let is_there =
        |module: &str| root().join(module).is_dir() || root().join(format!("{module}.rs")).is_file();
    let missing: Vec<String> = modules.into_iter().filter(|module| !is_there(module)).collect();
    assert_none("the map names modules that exist", &missing);
}

#[test]
fn paths_and_modules_are_found() {
    let text = "A `src/x.rs`, `b` and `tests/it/`.\n```\n`src/not.rs`\n```\n`docs/*.md` `crates/y`";
    assert_eq!(paths(text), ["src/x.rs", "tests/it/", "crates/y"]);
    let map = "### `src/a/`: words\n| module | x |\n|---|---|\n| `b`, `c` | `d` |\n## Other\n| `e` | f |\n";
    assert_eq!(mapped(map), ["src/a/b", "src/a/c"]);
}

#[test]
fn links_and_headings_are_found() {
    let text = "# A `b` C!\n[x](docs/a.md#b) and [y](z \"t\")\n```\n[not](me)\n```\n";
    assert_eq!(targets(text), ["docs/a.md#b", "z"]);
    assert_eq!(anchors(text), ["a-b-c"]);
}
