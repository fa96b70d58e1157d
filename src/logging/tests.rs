use std::fs;
use std::path::Path;

use super::{Logging, Sink, change};
use crate::config::LogLevel;

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn lines_go_to_the_file_at_the_level_of_the_moment() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let (subscriber, logging) = Logging::new(LogLevel::Notice, Sink::new(&path).unwrap()).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        tracing::debug!("verbose one");
        tracing::info!("notice one");
        change(&logging.level, LogLevel::Verbose);
        tracing::trace!("debug two");
        tracing::debug!("verbose two");
        change(&logging.level, LogLevel::Warning);
        tracing::info!("notice three");
        tracing::warn!("warning three");
        change(&logging.level, LogLevel::Nothing);
        tracing::error!("four");
        change(&logging.level, LogLevel::Debug);
        tracing::trace!("debug five");
        logging.flush();
    });
    let written = text(&path);
    let messages: Vec<&str> =
        written.lines().map(|line| line.split_once("Z ").unwrap().1.trim_start()).collect();
    assert_eq!(messages, ["INFO notice one", "DEBUG verbose two", "WARN warning three", "TRACE debug five"]);
}

#[test]
fn a_renamed_file_is_left_alone_and_a_new_one_begun() {
    let dir = tempfile::tempdir().unwrap();
    let (path, moved) = (dir.path().join("log"), dir.path().join("log.1"));
    let (subscriber, logging) = Logging::new(LogLevel::Notice, Sink::new(&path).unwrap()).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!("before");
        logging.flush();
        fs::rename(&path, &moved).unwrap();
        tracing::info!("after");
        logging.flush();
    });
    assert!(text(&moved).ends_with("before\n"));
    assert!(text(&path).ends_with("after\n"));
}

#[test]
fn dropping_the_log_writes_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let (subscriber, logging) = Logging::new(LogLevel::Notice, Sink::new(&path).unwrap()).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        (0..100).for_each(|number| tracing::info!("line {number}"));
        drop(logging);
    });
    assert_eq!(text(&path).lines().count(), 100);
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Sink::new(&dir.path().join("missing/log")).is_err());
}
