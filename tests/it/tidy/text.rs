//! Sizes, names and words.

use super::{assert_none, files, root};

/// A file longer than this is split into a folder of concepts.
const MOST_LINES: usize = 800;
/// From here on it is mentioned.
const MANY_LINES: usize = 600;

/// Spelt in two parts, so that this file does not hold them.
const NEVER_WRITTEN: &[&str] =
    &[concat!("to", "do!("), concat!("#[", "ignore"), concat!("db", "g!("), concat!("unimple", "mented!(")];

/// Names of machines and folders that mean nothing to a reader.
const NEVER_MENTIONED: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("crates", ".io"),
    concat!("arti", "factory"),
    concat!("pypi", ".org"),
    concat!("npm", "js"),
];

const MEANINGLESS_STEMS: &[&str] = &["utils", "util", "common", "helpers", "helper", "misc"];

#[test]
fn files_are_of_a_size_that_can_be_read() {
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        if lines > MOST_LINES {
            violations.push(format!("{}: {lines} lines", file.path));
        } else if lines > MANY_LINES {
            eprintln!("{}: {lines} lines; time to think of a split", file.path);
        }
    }
    assert_none("no file is longer than 800 lines", &violations);
}

#[test]
fn nothing_is_left_half_done() {
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        for (number, line) in file.text.lines().enumerate() {
            for word in NEVER_WRITTEN.iter().filter(|word| line.contains(**word)) {
                violations.push(format!("{}:{}: {word}", file.path, number + 1));
            }
        }
    }
    assert_none("no unfinished code, no test that is switched off", &violations);
}

/// An error that is handed to `ok_or` is made, and boxed, each time all is well.
#[test]
fn refusals_are_made_only_where_there_is_one() {
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.is_rust() && file.path.starts_with("src/")) {
        for (number, line) in file.product_code().lines().enumerate() {
            let Some((_, made)) = line.split_once(".ok_or(") else { continue };
            if made.contains(".into()") || made.contains("Error::reply(") {
                violations.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    assert_none("what has to be made for a refusal stands in `ok_or_else`", &violations);
}

#[test]
fn no_machine_is_mentioned() {
    let mut violations = Vec::new();
    for file in &files() {
        for (number, line) in file.text.lines().enumerate() {
            for word in NEVER_MENTIONED.iter().filter(|word| mentions(line, word)) {
                violations.push(format!("{}:{}: {word}", file.path, number + 1));
            }
        }
    }
    assert_none("texts are about the product, not about a machine", &violations);
}

/// An absolute path counts only where a path can begin: `src/work/x` is not one.
fn mentions(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().unwrap_or(' ');
        !(word.starts_with('/') && (before.is_alphanumeric() || "_-.*}~/".contains(before)))
    })
}

#[test]
fn files_are_named_for_what_they_hold() {
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        if file.path.split(['/', '.']).any(|part| MEANINGLESS_STEMS.contains(&part)) {
            violations.push(file.path.clone());
        }
    }
    assert_none("a name says what is inside", &violations);
}

#[test]
fn there_is_one_integration_test_binary() {
    let mut binaries = Vec::new();
    for entry in std::fs::read_dir(root().join("tests")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ext| ext == "rs") || path.join("main.rs").exists() {
            binaries.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    assert_eq!(binaries, ["it"]);
}

/// A lint that is switched off says why: a `reason`, or a comment on the line or above it.
#[test]
fn lints_are_switched_off_with_a_reason() {
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            if !["#[allow(", "#![allow(", "#[expect("].iter().any(|mark| line.trim_start().starts_with(mark))
            {
                continue;
            }
            let attribute = lines[number..].iter().take_while(|next| !next.ends_with(")]")).count() + 1;
            let text = lines[number..(number + attribute).min(lines.len())].join(" ");
            let above = number.checked_sub(1).map_or("", |above| lines[above].trim_start());
            if !text.contains("reason =") && !text.contains("//") && !above.starts_with("//") {
                violations.push(format!("{}:{}", file.path, number + 1));
            }
        }
    }
    assert_none("an allowed lint has a reason", &violations);
}

#[test]
fn paths_of_machines_are_recognised() {
    let (path, part) = (format!("cd {}x", NEVER_MENTIONED[1]), format!("src{}x", NEVER_MENTIONED[1]));
    assert!(mentions(&path, NEVER_MENTIONED[1]));
    assert!(!mentions(&part, NEVER_MENTIONED[1]));
}
