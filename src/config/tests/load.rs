use std::fs;
use std::path::Path;

use crate::config::limits::{MAX_FILE_BYTES, MAX_INCLUDE_DEPTH};
use crate::config::load::{LoadError, Loaded, Loader};
use crate::config::{Config, EngineKind};

fn load(text: &str) -> Result<Loaded, LoadError> {
    let mut loader = Loader::default();
    loader.stdin(text.as_bytes())?;
    loader.finish()
}

fn config(text: &str) -> Config {
    load(text).unwrap().config
}

fn refused(text: &str) -> String {
    load(text).unwrap_err().to_string()
}

fn load_file(path: &Path) -> Result<Loaded, LoadError> {
    let mut loader = Loader::default();
    loader.main_file(path)?;
    loader.finish()
}

#[test]
fn a_file_in_the_form_of_redis_conf() {
    let read = config(
        "# comment\n\n  PORT 7000  \r\n\tmaxmemory 1gb\nrequirepass \"a \\x41\"\nbind 127.0.0.1 -::1\nlogfile ''\n#end",
    );
    assert_eq!(read.port, 7000);
    assert_eq!(read.maxmemory.0, 1 << 30);
    assert_eq!(read.requirepass, b"a A");
    assert_eq!(read.bind, ["127.0.0.1", "-::1"]);
    assert_eq!(read.config_file, None);
    assert!(read.dir.is_absolute());
}

#[test]
fn nothing_gives_the_defaults() {
    let mut read = config("");
    read.dir = Config::default().dir;
    assert_eq!(read, Config::default());
}

#[test]
fn the_last_value_counts_and_save_points_add_up() {
    assert_eq!(config("timeout 1\ntimeout 2").timeout_secs, 2);
    let save = |text: &str| {
        let config = config(text);
        crate::config::table::find(b"save").unwrap().text(&config)
    };
    assert_eq!(save("save 900 1\nsave 300 10 60 5"), b"900 1 300 10 60 5");
    assert_eq!(save("save 900 1\nsave \"\""), b"");
    assert_eq!(save("save \"\"\nsave 60 1"), b"60 1");
}

#[test]
fn a_mistake_names_its_line() {
    let head = concat!("*** FATAL CONFIG FILE ERROR (Tarn ", env!("CARGO_PKG_VERSION"), ") ***\n");
    let from_stdin = "Reading the configuration from the standard input, at line ";
    for (text, line, reason) in [
        ("#\nport abc", "2\n>>> 'port abc'", "argument couldn't be parsed into an integer"),
        ("port 1 2", "1\n>>> 'port 1 2'", "wrong number of arguments"),
        ("port", "1\n>>> 'port'", "wrong number of arguments"),
        ("\n\nport \"1", "3\n>>> 'port \"1'", "Unbalanced quotes in configuration line"),
        ("nope 1", "1\n>>> 'nope 1'", "Bad directive or wrong number of arguments"),
        ("prot 1", "1\n>>> 'prot 1'", "Bad directive or wrong number of arguments (did you mean 'port'?)"),
        ("replicaof a 1", "1\n>>> 'replicaof a 1'", "not supported: Tarn does not replicate"),
        ("include a b", "1\n>>> 'include a b'", "wrong number of arguments"),
        (
            "syslog-enabled yes",
            "1\n>>> 'syslog-enabled yes'",
            "Tarn does not write to syslog; its log goes to 'logfile' or the standard output",
        ),
        ("tls-port 65536", "1\n>>> 'tls-port 65536'", "argument must be between 0 and 65535 inclusive"),
        (
            "tls-key-file-pass x",
            "1\n>>> 'tls-key-file-pass x'",
            "Tarn reads private keys without a password only; decrypt the file (openssl pkey) and let only the server \
             read it",
        ),
        ("port \u{1b}[1m", "1\n>>> 'port ?[1m'", "argument couldn't be parsed into an integer"),
    ] {
        assert_eq!(refused(text), format!("{head}{from_stdin}{line}\n{reason}"));
    }
}

#[test]
fn appendonly_must_say_what_the_engine_does() {
    assert_eq!(config("appendonly yes").engine, EngineKind::RocksDb);
    assert_eq!(config("appendonly no\nengine memory").engine, EngineKind::Memory);
    assert_eq!(load("appendonly yes\nsave 900 1").unwrap().notes, [""; 0]);
    let notes = load("appendonly no").unwrap().notes;
    assert!(notes.len() == 1 && notes[0].starts_with("appendonly no: every write is logged"), "{notes:?}");
    assert!(refused("engine memory\nappendonly yes").contains("engine memory keeps nothing over a restart"));
}

#[test]
fn the_directory_may_be_missing_but_not_be_something_else() {
    let dir = tempfile::tempdir().unwrap();
    let (missing, file) = (dir.path().join("missing"), dir.path().join("file"));
    fs::write(&file, "").unwrap();
    assert_eq!(config(&format!("dir {}", missing.display())).dir, missing);
    let head = "Checking option 'dir'\ncan't use the directory: ";
    assert!(refused(&format!("dir {}", file.display())).ends_with(&format!("{head}not a directory")));
    let below = refused(&format!("dir {}/below", file.display()));
    assert!(below.ends_with(&format!("{head}Not a directory (os error 20)")), "{below}");
}

#[test]
fn memory_parts_must_leave_a_reserve() {
    assert_eq!(config("memory-row-cache-percent 50").memory_row_cache_percent, 50);
    assert!(
        refused("memory-row-cache-percent 51")
            .ends_with("the memory-*-percent options add up to 96, more than 95")
    );
}

#[test]
fn options_without_effect_are_listed() {
    let loaded =
        load("port 1\nsave 900 1\nrdbcompression yes\nslave-read-only no\nsyslog-enabled no\nhz 10").unwrap();
    assert_eq!(loaded.without_effect, ["hz", "rdbcompression", "replica-read-only", "save"]);
    assert_eq!(loaded.notes, [""; 0]);
    let notes = load("maxmemory-policy volatile-ttl").unwrap().notes;
    assert!(
        notes.len() == 1 && notes[0].starts_with("maxmemory-policy volatile-ttl: nothing is evicted"),
        "{notes:?}"
    );
}

#[test]
fn files_include_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("b.inc"), "timeout 2\n").unwrap();
    fs::write(path("a.inc"), "timeout 1\ndatabases 3\n").unwrap();
    fs::write(path(".hidden.inc"), "nope\n").unwrap();
    fs::write(path("main"), format!("hz 20\ninclude {}/*.inc\nhz 30\n", dir.path().display())).unwrap();
    let read = load_file(&path("main")).unwrap().config;
    assert_eq!((read.hz, read.timeout_secs, read.databases), (30, 2, 3));
    assert_eq!(read.config_file, Some(path("main")));

    fs::write(path("main"), format!("include {}/none-*\n", dir.path().display())).unwrap();
    assert!(load_file(&path("main")).is_ok());

    fs::write(path("main"), format!("include {}/none/*.conf\n", dir.path().display())).unwrap();
    assert!(load_file(&path("main")).is_ok());

    fs::write(path("a.inc"), "\nport x\n").unwrap();
    fs::write(path("main"), format!("include '{}'\n", path("a.inc").display())).unwrap();
    let error = load_file(&path("main")).unwrap_err().to_string();
    assert!(error.contains(&format!("'{}', at line 2\n>>> 'port x'", path("a.inc").display())), "{error}");
}

#[test]
fn files_that_cannot_be_read_stop_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let (missing, main) = (dir.path().join("missing"), dir.path().join("main"));
    let expected = format!(
        "Fatal error, can't open config file '{}': No such file or directory (os error 2)",
        missing.display()
    );
    assert_eq!(load_file(&missing).unwrap_err().to_string(), expected);
    fs::write(&main, format!("include {}\n", missing.display())).unwrap();
    assert_eq!(load_file(&main).unwrap_err().to_string(), expected);
}

#[test]
fn includes_end_at_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = |depth: usize| dir.path().join(depth.to_string());
    for depth in 0..MAX_INCLUDE_DEPTH {
        fs::write(path(depth), format!("include {}\n", path(depth + 1).display())).unwrap();
    }
    fs::write(path(MAX_INCLUDE_DEPTH), "timeout 5\n").unwrap();
    assert_eq!(load_file(&path(0)).unwrap().config.timeout_secs, 5);
    fs::write(path(MAX_INCLUDE_DEPTH), format!("include {}\n", path(0).display())).unwrap();
    let error = load_file(&path(0)).unwrap_err().to_string();
    assert!(error.ends_with("more than 16 files include each other"), "{error}");
}

#[test]
fn a_file_has_a_largest_size() {
    let text = |bytes: u64| "#".repeat(bytes as usize);
    assert!(load(&text(MAX_FILE_BYTES)).is_ok());
    assert!(refused(&text(MAX_FILE_BYTES + 1)).ends_with("larger than 1048576 bytes"));
}

#[test]
fn some_way_in_is_needed() {
    assert_eq!(config("port 0\nunixsocket /tmp/s").port, 0);
    assert!(
        refused("port 0")
            .ends_with("Checking option 'port'\nit is 0, and there is neither 'tls-port' nor 'unixsocket': no client could connect")
    );
}

#[test]
fn renamed_commands_are_kept_in_order() {
    let renamed = config("rename-command GET fetch\nRENAME-COMMAND flushall \"\"").renamed_commands;
    assert_eq!(renamed, [(b"GET".to_vec(), b"fetch".to_vec()), (b"flushall".to_vec(), Vec::new())]);
    assert!(refused("rename-command get").ends_with("Bad directive or wrong number of arguments"));
}
