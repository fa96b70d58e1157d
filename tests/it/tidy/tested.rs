//! Every command has wire lines and a place in the documentation.

use tarn::dispatch::registry::{Registered, registry};
use tarn::dispatch::spec::Run;

use super::{assert_none, files};

/// As a client writes it.
fn written(command: &Registered) -> String {
    command.full_name.to_uppercase().replace('|', " ")
}

/// Whether a string of the source has the command where a command stands: at its beginning, behind a bar, or behind the
/// name of a connection.
fn has_line(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let (before, after) = (&source[..at], &source[at + name.len()..]);
        let begins = before.ends_with('"')
            || before.ends_with("| ")
            || before.ends_with(' ')
                && before.trim_end().rsplit([' ', '"']).next().is_some_and(|word| word.starts_with('@'));
        begins && after.starts_with([' ', '"'])
    })
}

fn sources() -> String {
    let tests = files().into_iter().filter(|file| {
        file.is_rust() && file.path.starts_with("tests/it/") && !file.path.starts_with("tests/it/tidy/")
    });
    tests.map(|file| file.text).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_command_is_tested_over_the_wire() {
    let sources = sources();
    let runs = |command: &&Registered| !matches!(command.spec.run, Run::Container);
    let untested = registry().all().filter(runs).map(written).filter(|name| !has_line(&sources, name));
    assert_none("every command stands in a wire line under tests/it", &untested.collect::<Vec<_>>());
}

#[test]
fn a_line_is_told_from_a_mention() {
    assert!(has_line(r#"check("GET a | SET b c", "nil | +OK");"#, "SET"));
    assert!(has_line(r#"check("@b GET a", "nil");"#, "GET"));
    assert!(has_line(r##"check(r#"PING"#, "+PONG");"##, "PING"));
    assert!(!has_line(r#"check("GET SET", "nil");"#, "SET"));
    assert!(!has_line(r#"check("SETEX a", "nil");"#, "SET"));
}
