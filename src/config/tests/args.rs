use std::ffi::OsString;

use crate::config::args::{self, Invocation};
use crate::config::load::Loaded;
use crate::config::table;

fn read(args: &[&str], stdin: &str) -> Result<Invocation, String> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    args::read(&args, stdin.as_bytes()).map_err(|error| error.to_string())
}

fn run(args: &[&str]) -> Loaded {
    match read(args, "") {
        Ok(Invocation::Run(loaded)) => *loaded,
        other => panic!("{args:?}: {other:?}"),
    }
}

fn shown(args: &[&str], name: &str) -> String {
    let text = table::find(name.as_bytes()).unwrap().text(&run(args).config);
    String::from_utf8(text).unwrap()
}

fn refused(args: &[&str]) -> String {
    read(args, "").unwrap_err()
}

#[test]
fn nothing_runs_with_the_defaults() {
    assert_eq!(run(&[]).config.port, 6379);
}

#[test]
fn flags_are_options() {
    let config = run(&["--port", "7000", "--bind", "127.0.0.1", "::1", "--appendfsync", "always"]).config;
    assert_eq!(config.port, 7000);
    assert_eq!(config.bind, ["127.0.0.1", "::1"]);
    assert_eq!(shown(&["--appendfsync", "always"], "appendfsync"), "always");
    assert_eq!(shown(&["--port 7001", "--timeout 5"], "port"), "7001");
    assert_eq!(shown(&["--PORT", "7002"], "port"), "7002");
    assert_eq!(shown(&["--slowlog-log-slower-than", "-1"], "slowlog-log-slower-than"), "-1");
    assert_eq!(
        shown(&["--client-output-buffer-limit", "normal", "1", "2", "3"], "client-output-buffer-limit"),
        "normal 1 2 3 slave 268435456 67108864 60 pubsub 33554432 8388608 60"
    );
}

#[test]
fn the_argument_behind_a_name_is_its_value() {
    assert_eq!(shown(&["--requirepass", "--secret", "--port", "1"], "requirepass"), "--secret");
    assert_eq!(shown(&["--logfile", "", "--port", "1"], "port"), "1");
    assert_eq!(shown(&["--dbfilename", "-", "--port", "1"], "dbfilename"), "-");
    // At the very end a dash is the standard input.
    assert!(refused(&["--dbfilename", "-"]).ends_with("wrong number of arguments"));
}

#[test]
fn save_alone_means_none() {
    assert_eq!(shown(&["--save", "3600", "1", "--save", "60", "2"], "save"), "3600 1 60 2");
    assert_eq!(shown(&["--save", "--port", "1"], "port"), "1");
    assert_eq!(shown(&["--save"], "save"), "");
    assert_eq!(shown(&["--save", ""], "save"), "");
}

#[test]
fn file_then_standard_input_then_flags() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tarn.conf");
    std::fs::write(&path, "port 1\ntimeout 1\nhz 11\n").unwrap();
    let path = path.to_str().unwrap();
    for args in [[path, "-", "--timeout", "3"], [path, "--timeout", "3", "-"]] {
        let Ok(Invocation::Run(loaded)) = read(&args, "timeout 2\nhz 12\n") else { panic!() };
        let config = loaded.config;
        assert_eq!((config.port, config.hz, config.timeout_secs), (1, 12, 3));
        assert_eq!(config.config_file.as_deref(), Some(path.as_ref()));
    }
    let Ok(Invocation::Run(loaded)) = read(&["-"], "port 2") else { panic!() };
    assert_eq!((loaded.config.port, loaded.config.config_file), (2, None));
}

#[test]
fn mistakes_stop_the_start() {
    let tail = |args: &[&str]| refused(args).split_once('\n').unwrap().1.to_string();
    assert_eq!(
        tail(&["--port", "abc"]),
        "Reading the command line\n>>> 'port \"abc\"'\nargument couldn't be parsed into an integer"
    );
    assert_eq!(tail(&["--port"]), "Reading the command line\n>>> 'port'\nwrong number of arguments");
    assert_eq!(
        tail(&["--maxmemroy", "1gb"]),
        "Reading the command line\n>>> 'maxmemroy \"1gb\"'\nBad directive or wrong number of arguments (did you mean 'maxmemory'?)"
    );
    assert_eq!(
        tail(&["--port", "1", "2"]),
        "Reading the command line\n>>> 'port \"1\" \"2\"'\nwrong number of arguments"
    );
    assert!(tail(&["-x"]).contains(">>> '-x'"));
    assert!(tail(&["--"]).contains("Bad directive"));
    assert!(
        refused(&["/nonexistent/tarn.conf"])
            .starts_with("Fatal error, can't open config file '/nonexistent/tarn.conf'")
    );
}

#[test]
fn version_and_help_stand_alone() {
    for flag in ["-v", "--version"] {
        assert!(matches!(read(&[flag], ""), Ok(Invocation::Version)), "{flag}");
    }
    assert!(matches!(read(&["ping", "7000"], ""), Ok(Invocation::Ping(target)) if target == "7000"));
    for flag in ["-h", "--help"] {
        assert!(matches!(read(&[flag], ""), Ok(Invocation::Help)), "{flag}");
    }
}
