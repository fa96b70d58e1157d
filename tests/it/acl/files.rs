//! Users of files: the ACL file, and `user` lines of the configuration.

use std::fs;
use std::path::Path;

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, free_port, run_to_end};
use crate::value::Value;

fn program() -> Program {
    if is_tarn() { Program::Memory } else { Program::Redis }
}

fn is_tarn() -> bool {
    std::env::var("TARN_CHECK_AGAINST").is_err()
}

fn with_file(path: &Path) -> Options {
    Options::new(program()).with("aclfile", path.to_str().unwrap())
}

fn call(conn: &mut Conn, line: &str) -> String {
    conn.call(&line.split(' ').collect::<Vec<_>>()).to_string()
}

#[test]
fn users_come_from_the_acl_file_and_go_back_there() {
    // 7.0 shows rules otherwise, names another word in its errors, and closes a connection that loads users.
    if !is_tarn() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.acl");
    fs::write(&path, "\nuser alice on >pw ~a* +@read  \r\n\n\tuser default on nopass ~* &* +@all\n").unwrap();
    let server = Server::start(with_file(&path));
    let (mut admin, mut alice) = (server.conn(), server.conn());
    assert_eq!(call(&mut alice, "AUTH alice pw"), "+OK");
    assert!(call(&mut alice, "SET a 1").starts_with("-NOPERM"));
    assert_eq!(call(&mut admin, "ACL SETUSER alice +set"), "+OK");
    assert_eq!(call(&mut admin, "ACL SETUSER bob on nopass +ping &c (+get ~b)"), "+OK");
    assert_eq!(call(&mut admin, "ACL SAVE"), "+OK");
    let saved = fs::read_to_string(&path).unwrap();
    let hash = "30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4";
    let lines: Vec<&str> = saved.lines().collect();
    assert_eq!(lines[0], format!("user alice on #{hash} ~a* resetchannels -@all +@read +set"));
    assert_eq!(lines[1], "user bob on nopass resetchannels &c -@all +ping (~b resetchannels -@all +get)");
    assert_eq!(lines[2..], ["user default on nopass ~* &* +@all"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside the file");
    // A connection stays the user of its name; whose user is gone is closed.
    let mut bob = server.conn();
    assert_eq!(call(&mut bob, "AUTH bob x"), "+OK");
    fs::write(&path, "user alice on >pw ~* +@all\n").unwrap();
    assert_eq!(call(&mut admin, "ACL LOAD"), "+OK");
    assert_eq!(call(&mut alice, "SET x 1"), "+OK");
    assert!(bob.closes());
    assert_eq!(call(&mut admin, "ACL USERS"), r#"["alice" "default"]"#);
}

#[test]
fn who_loads_users_and_may_not_listen_any_more_is_answered_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.acl");
    fs::write(&path, "user default on nopass ~* &* +@all\n").unwrap();
    let server = Server::start(with_file(&path));
    let mut conn = server.conn3();
    assert!(!conn.call(&["SUBSCRIBE", "channel"]).is_error());
    fs::write(&path, "user default on nopass ~* resetchannels &other +@all\n").unwrap();
    assert_eq!(call(&mut conn, "ACL LOAD"), "+OK");
    assert!(conn.closes());
}

#[test]
fn a_bad_acl_file_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.acl");
    fs::write(&path, "user alice on\n").unwrap();
    let server = Server::start(with_file(&path));
    let mut conn = server.conn();
    let name = path.display().to_string();
    let nothing = "WARNING: ACL errors detected, no change to the previously active ACL rules was performed";
    for (text, errors) in [
        (
            "# comment\n".to_owned(),
            format!("{name}:1 should start with user keyword followed by the username. "),
        ),
        (
            "\nuser\n".to_owned(),
            format!("{name}:2 should start with user keyword followed by the username. "),
        ),
        ("user b on\nuser b off\n".to_owned(), "WARNING: Duplicate user 'b' found on line 2. ".to_owned()),
        ("user b foo bar\n".to_owned(), format!("{name}:1: Syntax error. ")),
        (
            "user b +foo -bar\nuser c #x\n".to_owned(),
            format!(
                "{name}:1: Error in applying operation '+foo': Unknown command or category name in ACL. {name}:1: Error in applying operation '-bar': Unknown command or category name in ACL. {name}:2: The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters. "
            ),
        ),
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(call(&mut conn, "ACL LOAD"), format!("-ERR {errors}{nothing}"));
        assert_eq!(call(&mut conn, "ACL USERS"), r#"["alice" "default"]"#);
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(
        call(&mut conn, "ACL LOAD"),
        format!("-ERR Error loading ACLs, opening file '{name}': No such file or directory")
    );
    fs::remove_dir(dir.path()).unwrap();
    assert_eq!(
        call(&mut conn, "ACL SAVE"),
        "-ERR There was an error trying to save the ACLs. Please check the server logs for more information"
    );
}

#[test]
fn without_an_acl_file_there_is_none_to_load() {
    let server = Server::start(Options::new(program()));
    let mut conn = server.conn();
    let none = "-ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration.";
    for line in ["ACL LOAD", "ACL SAVE"] {
        assert_eq!(call(&mut conn, line), none);
    }
    assert_eq!(call(&mut conn, "ACL LOAD x"), "-ERR wrong number of arguments for 'acl|load' command");
    assert_eq!(
        call(&mut conn, "CONFIG SET aclfile x"),
        "-ERR CONFIG SET failed (possibly related to argument 'aclfile') - can't set immutable config"
    );
}

#[test]
fn users_of_the_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.conf");
    fs::write(
        &path,
        "user alice on '>p w' ~a +@all (+get ~x*)\nuser bob\nuser default on >sesame ~* &* +@all\n",
    )
    .unwrap();
    let server = Server::start(Options::new(program()).with("include", path.to_str().unwrap()));
    let mut conn = server.conn();
    assert!(call(&mut conn, "PING").starts_with("-NOAUTH"));
    assert_eq!(call(&mut conn, "AUTH sesame"), "+OK");
    assert_eq!(call(&mut conn, "ACL USERS"), r#"["alice" "bob" "default"]"#);
    assert_eq!(conn.call(&["AUTH", "alice", "p w"]), Value::ok());
    assert_eq!(call(&mut conn, "GET xy"), "nil");
    assert!(call(&mut conn, "GET y").starts_with("-NOPERM"));
    assert!(call(&mut conn, "AUTH bob x").starts_with("-WRONGPASS"));
}

#[test]
fn a_start_with_bad_users_is_refused() {
    // 7.0 shows rules otherwise, names another word in its errors, and closes a connection that loads users.
    if !is_tarn() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (conf, acl) = (dir.path().join("users.conf"), dir.path().join("users.acl"));
    let refuse = |options: Options, words: &str| {
        let (status, output) = run_to_end(&options, free_port(), dir.path());
        assert_eq!(status.code(), Some(1), "{output}");
        assert!(output.contains(words), "no {words:?} in:\n{output}");
    };
    let included = || Options::new(program()).with("include", conf.to_str().unwrap());
    for (text, words) in [
        (
            "user alice on\nuser alice off\n",
            "Duplicate user found. A user can only be defined once in config files",
        ),
        ("user alice on foo\n", "Error in user declaration 'foo': Syntax error"),
        ("user alice (+get\n", "Error in user declaration"),
    ] {
        fs::write(&conf, text).unwrap();
        refuse(included(), words);
    }
    fs::write(&conf, "user alice on\n").unwrap();
    fs::write(&acl, "user bob on\n").unwrap();
    refuse(included().with("aclfile", acl.to_str().unwrap()), "as well");
    fs::write(&acl, "user bob nosuch\n").unwrap();
    refuse(with_file(&acl), "users.acl:1: Syntax error. ");
    refuse(with_file(&dir.path().join("none")), "opening file");
}
