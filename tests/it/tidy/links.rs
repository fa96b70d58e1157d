//! Every link of the documents leads somewhere.

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

#[test]
fn links_and_headings_are_found() {
    let text = "# A `b` C!\n[x](docs/a.md#b) and [y](z \"t\")\n```\n[not](me)\n```\n";
    assert_eq!(targets(text), ["docs/a.md#b", "z"]);
    assert_eq!(anchors(text), ["a-b-c"]);
}
