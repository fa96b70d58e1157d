//! Databases of every format that was ever released open and hold what they held: see tests/fixtures/README.md.

use std::fs;
use std::path::{Path, PathBuf};

use crate::check::split_words;
use crate::harness::{Options, Program, Server, copy_files};
use crate::pattern;

fn folders() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut folders: Vec<PathBuf> = fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.join("data").is_dir());
    folders.sort();
    folders
}

/// The lines of a file that are neither empty nor a remark.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn formats_of_all_releases_open() {
    if let Ok(folder) = std::env::var("TARN_WRITE_FIXTURE") {
        write(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
    }
    let folders = folders();
    assert!(!folders.is_empty());
    for folder in folders {
        let options = Options::new(Program::Rocksdb);
        let mut server = Server::start_on_copy(options, &folder.join("data"));
        check(&server, &folder);
        // What was replayed is written anew, in the format of this version.
        assert!(server.stop().success());
        server.restart();
        check(&server, &folder);
    }
}

fn check(server: &Server, folder: &Path) {
    let mut conn = server.conn();
    for line in lines(&folder.join("check.txt")) {
        let (command, expected) = line.split_once(" => ").expect("command => reply");
        let reply = conn.call(&split_words(command));
        let expected = pattern::parse(expected).remove(0);
        assert!(expected.matches(&reply, false), "{}: {line}\n  found {reply}", folder.display());
    }
}

/// Makes the database of a folder's fill.txt.
fn write(folder: &Path) {
    let mut server = Server::start(Options::new(Program::Rocksdb));
    let mut conn = server.conn();
    for line in lines(&folder.join("fill.txt")) {
        let command = if line == "# sorted" { "SAVE" } else { &line };
        let reply = conn.call(&split_words(command));
        assert!(!reply.is_error(), "{line}: {reply}");
    }
    server.stop();
    let data = folder.join("data");
    let _ = fs::remove_dir_all(&data);
    fs::create_dir_all(&data).unwrap();
    copy_files(&server.dir(), &data);
    for folder in ["backups", "ingest"] {
        fs::remove_dir_all(data.join(folder)).unwrap();
    }
    remove_reports(&data);
}

/// What RocksDB writes for people to read, and what it writes anew at each start.
fn remove_reports(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            remove_reports(&path);
        } else if name.starts_with("LOG") || name.starts_with("OPTIONS") {
            fs::remove_file(path).unwrap();
        }
    }
}
