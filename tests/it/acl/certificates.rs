//! Users that certificates name.

use std::sync::Arc;

use rcgen::SanType;

use crate::certs::{Files, Pair};
use crate::conn::Conn;
use crate::harness::{Options, Program, Server};
use crate::value::Value;

fn connect(server: &Server, files: &Files, pair: &Pair) -> Conn {
    Conn::connect_tls(server.tls_port(), &files.authority.client(Some(pair))).expect("the handshake succeeds")
}

fn whoami(conn: &mut Conn) -> String {
    conn.call(&["ACL", "WHOAMI"]).to_string()
}

#[test]
fn a_certificate_names_the_user() {
    let files = Arc::new(Files::new());
    let options = Options::new(Program::Memory).with_tls(&files).with("tls-auth-clients-user", "CN");
    let server = Server::start(options);
    let mut admin = server.conn();
    for (name, state) in [("alice", "on"), ("urn:tarn:bob", "on"), ("eve", "off")] {
        assert_eq!(admin.call(&["ACL", "SETUSER", name, state, ">secret", "+@all", "~*"]), Value::ok());
    }
    let [alice, bob, eve] = ["alice", "bob", "eve"].map(|name| files.authority.sign(name));
    let mut conn = connect(&server, &files, &alice);
    assert_eq!(whoami(&mut conn), r#""alice""#);
    assert_eq!(conn.call(&["RESET"]).to_string(), "+RESET");
    assert_eq!(whoami(&mut conn), r#""default""#);
    // Nobody of that name, and one that is off: the default user, and a line in the log.
    assert_eq!(whoami(&mut connect(&server, &files, &bob)), r#""default""#);
    assert_eq!(whoami(&mut connect(&server, &files, &eve)), r#""default""#);
    let log = admin.call(&["ACL", "LOG"]).to_string();
    assert!(
        log.contains(r#""reason" "tls-cert" "context" "toplevel" "object" "" "username" "eve""#),
        "{log}"
    );
    let stats = admin.call(&["INFO", "stats"]).to_string();
    assert!(stats.contains("acl_access_denied_tls_cert:2"), "{stats}");
    // With URIs it is the first one that names a user.
    assert_eq!(admin.call(&["CONFIG", "SET", "tls-auth-clients-user", "URI"]), Value::ok());
    let both = files.authority.sign_with("x", |params| {
        params.subject_alt_names.push(SanType::URI("urn:tarn:bob".to_owned().try_into().unwrap()));
    });
    assert_eq!(whoami(&mut connect(&server, &files, &bob)), r#""urn:tarn:bob""#);
    assert_eq!(whoami(&mut connect(&server, &files, &both)), r#""urn:tarn:bob""#);
    assert_eq!(whoami(&mut connect(&server, &files, &alice)), r#""default""#);
    // Where a password is needed, who has no user by its certificate gives it.
    assert_eq!(admin.call(&["CONFIG", "SET", "requirepass", "x"]), Value::ok());
    assert_eq!(whoami(&mut connect(&server, &files, &bob)), r#""urn:tarn:bob""#);
    assert!(whoami(&mut connect(&server, &files, &alice)).starts_with("-NOAUTH"));
}
