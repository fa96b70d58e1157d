//! Dependencies point down the way of a request, and each layer knows only what it is about.

use super::{File, assert_none, files};

/// From the socket to the bytes.
const LAYERS: &[&str] = &["server", "dispatch", "commands", "types", "keyspace", "encoding"];

/// The one thing that points up: the vocabulary that a command is written in. It holds no locks and commits nothing.
const VOCABULARY: &[(&str, &[&str])] = &[(
    "commands",
    &[
        "dispatch::spec",
        "dispatch::args",
        "dispatch::fieldsets",
        "dispatch::session",
        "dispatch::registry",
        "dispatch::caller",
        "dispatch::script",
    ],
)];

/// Words that a folder's code never holds, and why.
const NEVER_NAMED: &[(&str, &[&str], &str)] = &[
    (
        "src/commands/",
        &["tarn_engine", "AnyEngine", "rocksdb"],
        "a command does not know where rows are kept",
    ),
    ("src/types/", &["tarn_resp", "Reply", "tarn_engine::rocksdb"], "a type does not know the protocol"),
    (
        "src/encoding/",
        &["std::io", "std::fs", "std::net", "std::time", "Instant", "SystemTime", "Clock", "tracing"],
        "encoding is bytes: no I/O, no clock",
    ),
    ("crates/resp/", &["mio", "tokio", "tarn_engine"], "the protocol knows no sockets and no storage"),
];

fn layer_of(path: &str) -> Option<usize> {
    let rest = path.strip_prefix("src/")?;
    let name = rest.split('/').next()?.trim_end_matches(".rs");
    LAYERS.iter().position(|layer| *layer == name)
}

/// Every path that follows `crate::`, groups unfolded: `crate::{a::b, c}` gives `a::b` and `c`.
fn crate_paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, found) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back().unwrap_or(' ');
        if before.is_alphanumeric() || before == '_' {
            continue;
        }
        unfold("", &code[at + found.len()..], &mut paths);
    }
    paths
}

/// Appends the paths at the start of `code` below `prefix`; returns how many bytes they took.
fn unfold(prefix: &str, code: &str, paths: &mut Vec<String>) -> usize {
    let name: String = code.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':').collect();
    let mut used = name.len();
    if !code[used..].starts_with('{') {
        paths.push(format!("{prefix}{}", name.trim_end_matches(':')));
        return used;
    }
    let prefix = format!("{prefix}{name}");
    used += 1;
    while used < code.len() && !code[used..].starts_with('}') {
        let rest = &code[used..];
        let skip = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
        used += skip;
        if code[used..].starts_with('}') {
            break;
        }
        let taken = unfold(&prefix, &code[used..], paths);
        used += taken;
        // A rename, a star, or something that is no path: on to the next item.
        if let Some(next) = code[used..].find([',', '}']) {
            used += next;
        } else {
            break;
        }
    }
    used + 1
}

fn points_up(path: &str, target: &str) -> bool {
    let Some(from) = layer_of(path) else { return false };
    let first = target.split("::").next().unwrap_or(target);
    let Some(to) = LAYERS.iter().position(|layer| *layer == first) else { return false };
    let excused = VOCABULARY.iter().any(|(layer, words)| {
        LAYERS[from] == *layer
            && words.iter().any(|word| target == *word || target.starts_with(&format!("{word}::")))
    });
    to < from && !excused
}

#[test]
fn dependencies_point_down() {
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        for target in crate_paths(&file.product_code()) {
            if points_up(&file.path, &target) {
                violations.push(format!("{} names crate::{target}", file.path));
            }
        }
    }
    assert_none("a layer names only the ones below it", &violations);
}

#[test]
fn layers_know_only_what_they_are_about() {
    let files = files();
    for (folder, words, why) in NEVER_NAMED {
        let inside = |file: &&File| file.is_rust() && file.path.starts_with(folder);
        let mut violations = Vec::new();
        for file in files.iter().filter(inside) {
            let code = file.product_code();
            for word in words.iter().filter(|word| names(&code, word)) {
                violations.push(format!("{} names {word}", file.path));
            }
        }
        assert_none(why, &violations);
    }
}

/// Whether `word` stands in `code`, not as a part of a longer name.
fn names(code: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(is_name);
        let after = code[at + word.len()..].chars().next().is_some_and(is_name);
        !before && !after
    })
}

/// Where kinds of keys are named: their numbers, their table, and each type's own files.
const NAMES_KINDS: &[(&str, &[&str])] = &[
    ("src/encoding/meta.rs", KINDS),
    ("src/keyspace/kind.rs", KINDS),
    ("src/types/string/", &["String"]),
    ("src/types/hash/", &["Hash"]),
    ("src/types/set/", &["Set"]),
    ("src/types/list/", &["List"]),
    ("src/types/zset/", &["SortedSet"]),
];
const KINDS: &[&str] = &["String", "Hash", "Set", "List", "SortedSet"];

/// Tests may name them.
#[test]
fn a_type_is_named_in_the_kind_table_and_in_its_own_files() {
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.is_rust() && file.path.starts_with("src/")) {
        if file.path.starts_with("src/model/") {
            continue;
        }
        let own = NAMES_KINDS.iter().find(|(path, _)| file.path.starts_with(path));
        let code = file.product_code();
        for kind in KINDS.iter().filter(|kind| own.is_none_or(|(_, own)| !own.contains(kind))) {
            if names(&code, &format!("Kind::{kind}")) {
                violations.push(format!("{} names Kind::{kind}", file.path));
            }
        }
    }
    assert_none("what is to be known of a type stands in src/keyspace/kind.rs", &violations);
}

/// Comments count too. The crate's own page may say what it has never heard of.
#[test]
fn the_engine_has_never_heard_of_the_protocol_above() {
    const WORD: &str = "redis";
    const EXCUSED: &str = "This crate has never heard of";
    let mut violations = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("crates/engine/")) {
        for (number, line) in file.text.lines().enumerate() {
            if line.to_ascii_lowercase().contains(WORD) && !line.contains(EXCUSED) {
                violations.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    assert_none("the engine is ordered bytes and nothing of the layers above", &violations);
}

#[test]
fn paths_are_found_in_every_form_of_use() {
    let code = "use crate::{server::x, types::{a, b as c}, error::*};\nlet d = crate::keyspace::meta(1); mycrate::no;";
    assert_eq!(crate_paths(code), ["server::x", "types::a", "types::b", "error", "keyspace::meta"]);
}

#[test]
fn a_violation_is_seen() {
    assert!(points_up("src/types/string.rs", "commands::string"));
    assert!(points_up("src/commands/string.rs", "dispatch::locks"));
    assert!(!points_up("src/commands/string.rs", "dispatch::spec::Spec"));
    assert!(!points_up("src/commands/string.rs", "types::string"));
    assert!(!points_up("src/error.rs", "server"));
    assert!(names("a: Reply)", "Reply") && !names("Replying", "Reply"));
}
