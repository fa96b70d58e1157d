//! Connections: PING to RESET, HELLO, AUTH, CLIENT, and commands that do not exist.

use crate::check::{check, check2_with, check3, tarn_only, tarn_only_with};

#[test]
fn ping_echo() {
    check(r#"PING | PING hello | PING "" | PING "\x00\r\n""#, r#"+PONG | "hello" | "" | "\x00\r\n""#);
    check("ping | PiNg x", r#"+PONG | "x""#);
    check("PING a b", "-ERR wrong number of arguments for 'ping' command");
    check(
        r#"ECHO hello | ECHO "" | ECHO "\x00\xff" | ECHO "x"*70000"#,
        r#""hello" | "" | "\x00\xff" | "x"*70000"#,
    );
    check("ECHO", "-ERR wrong number of arguments for 'echo' command");
    check("ECHO a b", "-ERR wrong number of arguments for 'echo' command");
}

#[test]
fn quit() {
    check("QUIT | !recv", "+OK | closed");
    check("QUIT now | !recv", "+OK | closed");
    check("QUIT | PING", "+OK | closed");
}

#[test]
fn select() {
    check("SELECT 1 | SET k v | SELECT 0 | GET k | SELECT 1 | GET k", r#"+OK | +OK | +OK | nil | +OK | "v""#);
}

#[test]
fn reset() {
    check("RESET | PING", "+RESET | +PONG");
    check("SELECT 3 | SET k v | RESET | GET k | SELECT 3 | GET k", r#"+OK | +OK | +RESET | nil | +OK | "v""#);
    check("CLIENT SETNAME bob | RESET | CLIENT GETNAME", "+OK | +RESET | nil");
    check("RESET now", "-ERR wrong number of arguments for 'reset' command");
    check(
        "HELLO 3 | RESET | GET missing",
        r#"{"server" "redis" "version" %"..." "proto" :3 "id" ... "mode" "standalone" "role" "master" "modules" []} | +RESET | nil"#,
    );
    check("CLIENT REPLY OFF | RESET | PING", "none | +RESET | +PONG");
}

#[test]
fn hello() {
    check("HELLO 1", "-NOPROTO unsupported protocol version");
    check("HELLO 4", "-NOPROTO unsupported protocol version");
    check("HELLO abc", "-ERR Protocol version is not an integer or out of range");
    check(r#"HELLO """#, "-ERR Protocol version is not an integer or out of range");
    check("HELLO 99999999999999999999", "-ERR Protocol version is not an integer or out of range");
    check("HELLO 3 FOO", "-ERR Syntax error in HELLO option 'FOO'");
    check("HELLO 3 SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'");
    check("HELLO 3 AUTH", "-ERR Syntax error in HELLO option 'AUTH'");
    check("HELLO 3 AUTH default", "-ERR Syntax error in HELLO option 'AUTH'");
    check("HELLO 3 AUTH nobody x", "-WRONGPASS invalid username-password pair or user is disabled.");
    check("HELLO FOO", "-ERR Protocol version is not an integer or out of range");
    check(
        r#"HELLO 2 SETNAME "a b""#,
        "-ERR Client names cannot contain spaces, newlines or special characters.",
    );
    check(
        r#"HELLO 3 SETNAME "bad\nname" | CLIENT GETNAME"#,
        "-ERR Client names cannot contain spaces, newlines or special characters. | nil",
    );
    check3(
        "HELLO",
        r#"["server" "redis" "version" %"..." "proto" :2 "id" ... "mode" "standalone" "role" "master" "modules" []]"#,
        r#"{"server" "redis" "version" %"..." "proto" :3 "id" ... "mode" "standalone" "role" "master" "modules" []}"#,
    );
    check(
        "HELLO 2 | GET missing",
        r#"["server" "redis" "version" %"..." "proto" :2 "id" ... "mode" "standalone" "role" "master" "modules" []] | nil"#,
    );
    check(
        "HELLO 3 | GET missing",
        r#"{"server" "redis" "version" %"..." "proto" :3 "id" ... "mode" "standalone" "role" "master" "modules" []} | nil"#,
    );
    check(
        "HELLO 3 | HELLO 2 | HELLO",
        r#"{"server" "redis" "version" %"..." "proto" :3 "id" ... "mode" "standalone" "role" "master" "modules" []} | ["server" "redis" "version" %"..." "proto" :2 "id" ... "mode" "standalone" "role" "master" "modules" []] | ["server" "redis" "version" %"..." "proto" :2 "id" ... "mode" "standalone" "role" "master" "modules" []]"#,
    );
    check(
        "HELLO 3 AUTH default any | PING",
        r#"{"server" "redis" "version" %"..." "proto" :3 "id" ... "mode" "standalone" "role" "master" "modules" []} | +PONG"#,
    );
    check(
        "hello 3 setname bob auth default x | CLIENT GETNAME",
        r#"{"server" "redis" "version" %"..." "proto" :3 "id" ... "mode" "standalone" "role" "master" "modules" []} | "bob""#,
    );
    check(
        "HELLO 3 SETNAME bob | CLIENT GETNAME",
        r#"{"server" "redis" "version" %"..." "proto" :3 "id" ... "mode" "standalone" "role" "master" "modules" []} | "bob""#,
    );
    check(
        "HELLO 2 SETNAME a SETNAME b | CLIENT GETNAME",
        r#"["server" "redis" "version" %"..." "proto" :2 "id" ... "mode" "standalone" "role" "master" "modules" []] | "b""#,
    );
}

#[test]
fn auth() {
    check("AUTH", "-ERR wrong number of arguments for 'auth' command");
    check("AUTH a b c", "-ERR syntax error");
    check(
        "AUTH secret",
        "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
    );
    check("AUTH default secret", "+OK");
    check(r#"AUTH default """#, "+OK");
    check("AUTH nobody secret", "-WRONGPASS invalid username-password pair or user is disabled.");
    check2_with(
        &[("requirepass", "sesame")],
        "PING | GET k | ECHO a | AUTH wrong | AUTH default wrong | AUTH nobody sesame | GET k | AUTH sesame | SET k v | GET k | @b GET k | @b AUTH default sesame | @b GET k",
        r#"-NOAUTH Authentication required. | -NOAUTH Authentication required. | -NOAUTH Authentication required. | -WRONGPASS invalid username-password pair or user is disabled. | -WRONGPASS invalid username-password pair or user is disabled. | -WRONGPASS invalid username-password pair or user is disabled. | -NOAUTH Authentication required. | +OK | +OK | "v" | -NOAUTH Authentication required. | +OK | "v""#,
    );
    check2_with(
        &[("requirepass", "sesame")],
        "FOO | HELLO | HELLO 2 | QUIT",
        r#"-"ERR unknown command 'FOO', with args beginning with: " | -NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO ...AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time | -NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO ...AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time | +OK"#,
    );
    check2_with(
        &[("requirepass", "sesame")],
        "AUTH sesame | RESET | GET k",
        "+OK | +RESET | -NOAUTH Authentication required.",
    );
    check2_with(
        &[("requirepass", "sesame")],
        "HELLO 2 AUTH default wrong | GET k",
        "-WRONGPASS invalid username-password pair or user is disabled. | -NOAUTH Authentication required.",
    );
    check2_with(
        &[("requirepass", "sesame")],
        "COMMAND COUNT | CLIENT SETNAME x | SELECT 1 | GET | SET a",
        "-NOAUTH Authentication required. | -NOAUTH Authentication required. | -NOAUTH Authentication required. | -ERR wrong number of arguments for 'get' command | -ERR wrong number of arguments for 'set' command",
    );
}

#[test]
fn client_name() {
    check(
        r#"CLIENT GETNAME | CLIENT SETNAME bob | CLIENT GETNAME | CLIENT SETNAME "" | CLIENT GETNAME"#,
        r#"nil | +OK | "bob" | +OK | nil"#,
    );
    check(
        r#"CLIENT SETNAME "a b""#,
        "-ERR Client names cannot contain spaces, newlines or special characters.",
    );
    check(
        r#"CLIENT SETNAME "a\nb""#,
        "-ERR Client names cannot contain spaces, newlines or special characters.",
    );
    check(
        r#"CLIENT SETNAME "\xc3\xa4""#,
        "-ERR Client names cannot contain spaces, newlines or special characters.",
    );
    check("CLIENT SETNAME !~", "+OK");
    check("CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command");
    check("CLIENT SETNAME a b", "-ERR wrong number of arguments for 'client|setname' command");
    check("CLIENT GETNAME x", "-ERR wrong number of arguments for 'client|getname' command");
    check(
        "CLIENT SETNAME a | @b CLIENT GETNAME | @b CLIENT SETNAME a | CLIENT GETNAME",
        r#"+OK | nil | +OK | "a""#,
    );
}

#[test]
fn client_errors() {
    check("CLIENT", "-ERR wrong number of arguments for 'client' command");
    check("CLIENT FOO", "-ERR unknown subcommand 'FOO'. Try CLIENT HELP.");
    check("CLIENT FOO bar", "-ERR unknown subcommand 'FOO'. Try CLIENT HELP.");
    check("CLIENT ID x", "-ERR wrong number of arguments for 'client|id' command");
    check("CLIENT INFO x", "-ERR wrong number of arguments for 'client|info' command");
    check("CLIENT LIST FOO", "-ERR syntax error");
    check("CLIENT LIST TYPE", "-ERR syntax error");
    check("CLIENT LIST TYPE FOO", "-ERR Unknown client type 'FOO'");
    check("CLIENT LIST ID", "-ERR syntax error");
    check("CLIENT LIST ID abc", "-ERR Invalid client ID");
    check3("CLIENT LIST ID 0", r#""""#, r#"=txt:"""#);
    check3("CLIENT LIST ID 999999999", r#""""#, r#"=txt:"""#);
    check3("CLIENT LIST TYPE master", r#""""#, r#"=txt:"""#);
    check3("CLIENT LIST TYPE pubsub", r#""""#, r#"=txt:"""#);
    check("CLIENT KILL", "-ERR wrong number of arguments for 'client|kill' command");
    check("CLIENT KILL 1.2.3.4:5", "-ERR No such client");
    check("CLIENT KILL ID abc", "-ERR client-id should be greater than 0");
    check("CLIENT KILL ID 0", "-ERR client-id should be greater than 0");
    check("CLIENT KILL ID 999999999", ":0");
    check("CLIENT KILL ID 1 FOO", "-ERR syntax error");
    check("CLIENT KILL TYPE FOO", "-ERR Unknown client type 'FOO'");
    check("CLIENT KILL USER nobody", "-ERR No such user 'nobody'");
    check("CLIENT KILL SKIPME maybe", "-ERR syntax error");
    check("CLIENT KILL ADDR 1.2.3.4:5", ":0");
    check("CLIENT KILL LADDR 1.2.3.4:5", ":0");
    check("CLIENT KILL FOO bar", "-ERR syntax error");
    tarn_only(
        "CLIENT KILL MAXAGE 1000000 | CLIENT KILL NAME foo | CLIENT KILL IDLE 10000 | CLIENT KILL DB 3 | CLIENT KILL TYPE primary",
        ":0 | :0 | :0 | :0 | :0",
    );
    tarn_only(
        "CLIENT KILL ID 999997 999998 999999 | CLIENT KILL FLAGS P | CLIENT KILL LIB-NAME x NOT-IP 1.2.3.4",
        ":0 | :0 | :0",
    );
    tarn_only(
        "CLIENT KILL ID 5 x | CLIENT KILL MAXAGE x | CLIENT KILL MAXAGE 0",
        "-ERR syntax error | -ERR maxage is not an integer or out of range | -ERR maxage should be greater than 0",
    );
    tarn_only(
        "CLIENT LIST IDLE x | CLIENT LIST IDLE 0 | CLIENT LIST DB 99 | CLIENT LIST DB x",
        "-ERR idle is not an integer or out of range | -ERR idle should be greater than 0 | -ERR DB number should be between 0 and 15 | -ERR DB is not an integer or out of range",
    );
    tarn_only(
        "CLIENT LIST FLAGS Z | CLIENT LIST NOT-FLAGS ZZ | CLIENT LIST CAPA z | CLIENT LIST NOT-CAPA z",
        "-ERR Unknown flags found in the provided filter: Z | -ERR Unknown flags found in the NOT-FLAGS filter: ZZ | -ERR Unknown capa found in the provided filter: z | -ERR Unknown capa found in the NOT-CAPA filter: z",
    );
    for words in
        ["NAME", "NOT-IDLE 5", "NOT-MAXAGE 5", "NOT-SKIPME yes", "SKIPME x", "TYPE normal NAME", "NOT-FOO x"]
    {
        tarn_only(&format!("CLIENT LIST {words}"), "-ERR syntax error");
    }
    check("CLIENT PAUSE", "-ERR wrong number of arguments for 'client|pause' command");
    check("CLIENT PAUSE abc", "-ERR timeout is not an integer or out of range");
    check("CLIENT PAUSE -1", "-ERR timeout is negative");
    check("CLIENT PAUSE 0", "+OK");
    check("CLIENT PAUSE 0 WRITE", "+OK");
    check("CLIENT PAUSE 0 ALL", "+OK");
    check("CLIENT PAUSE 0 FOO", "-ERR CLIENT PAUSE mode must be WRITE or ALL");
    check(
        "CLIENT UNPAUSE | CLIENT UNPAUSE x",
        "+OK | -ERR wrong number of arguments for 'client|unpause' command",
    );
    check("CLIENT REPLY", "-ERR wrong number of arguments for 'client|reply' command");
    check("CLIENT REPLY FOO", "-ERR syntax error");
    check("CLIENT REPLY ON | PING", "+OK | +PONG");
    check("CLIENT NO-EVICT", "-ERR wrong number of arguments for 'client|no-evict' command");
    check("CLIENT NO-EVICT ON | CLIENT NO-EVICT OFF | CLIENT NO-EVICT FOO", "+OK | +OK | -ERR syntax error");
    check("CLIENT UNBLOCK 999999999", ":0");
    check("CLIENT UNBLOCK abc", "-ERR value is not an integer or out of range");
    check("CLIENT UNBLOCK 1 FOO", "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
}

#[test]
fn client_id_info_list() {
    check3(
        "CLIENT ID | CLIENT INFO",
        r#":1..999999999 | %"id=... addr=127.0.0.1:... laddr=127.0.0.1:... fd=... name= age=... idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 ...qbuf=... qbuf-free=... argv-mem=... multi-mem=0 rbs=... rbp=... obl=0 oll=0 omem=0 tot-mem=... events=r cmd=client|info user=default redir=-1 resp=2\n""#,
        r#":1..999999999 | %"id=... resp=3\n""#,
    );
    check(
        "SELECT 3 | CLIENT SETNAME bob | CLIENT INFO",
        r#"+OK | +OK | %"... name=bob age=... idle=0 flags=N db=3 ... cmd=client|info user=default redir=-1 resp=...\n""#,
    );
    check("CLIENT LIST", r#"%"id=... cmd=client|list user=default ...\n""#);
    check("CLIENT LIST TYPE normal", r#"%"id=... cmd=client|list user=default ...\n""#);
    for (filter, is_shown) in [
        ("NAME me", true),
        ("NOT-NAME me", false),
        ("NAME me NAME you", false),
        ("LIB-NAME lib LIB-VER 1.2", true),
        ("NOT-LIB-NAME lib", false),
        ("DB 2", true),
        ("NOT-DB 2", false),
        ("IP 127.0.0.1 NAME me", true),
        ("NOT-IP 127.0.0.1", false),
        ("FLAGS N DB 2", true),
        ("NOT-FLAGS N", false),
        ("FLAGS Nb", false),
        ("CAPA r", true),
        ("NOT-CAPA r DB 2", false),
        ("USER default NAME me", true),
        ("SKIPME yes NAME me", false),
        ("SKIPME no NAME me", true),
        ("MAXAGE 100000", false),
        ("IDLE 100000", false),
        ("NOT-ID 999999998 999999999 NAME me", true),
        ("NOT-TYPE pubsub NAME me", true),
        ("ID 999999999 TYPE normal", false),
    ] {
        let shown = if is_shown { r#"%"id=... name=me ...""# } else { r#"%"""# };
        tarn_only(
            &format!(
                "CLIENT SETNAME me | CLIENT SETINFO LIB-NAME lib | CLIENT SETINFO LIB-VER 1.2 | CLIENT CAPA redirect other | SELECT 2 | CLIENT LIST {filter}"
            ),
            &format!("+OK | +OK | +OK | +OK | +OK | {shown}"),
        );
    }
    tarn_only("CLIENT CAPA", "-ERR wrong number of arguments for 'client|capa' command");
    check(
        "@b CLIENT SETNAME second | CLIENT LIST",
        r#"+OK | %"... name=second ... cmd=client|setname ... cmd=client|list ...""#,
    );
    check("CLIENT NO-EVICT ON | CLIENT INFO", r#"+OK | %"... flags=e ...""#);
}

#[test]
fn client_setinfo_and_no_touch() {
    tarn_only(
        "CLIENT SETINFO lib-name redis-py | CLIENT SETINFO LIB-VER 1.2.3 | CLIENT INFO",
        r#"+OK | +OK | %"... lib-name=redis-py lib-ver=1.2.3\n""#,
    );
    tarn_only(
        r#"CLIENT SETINFO lib-name "a b""#,
        "-ERR lib-name cannot contain spaces, newlines or special characters.",
    );
    tarn_only(
        r#"CLIENT SETINFO lib-ver "a\nb""#,
        "-ERR lib-ver cannot contain spaces, newlines or special characters.",
    );
    tarn_only("CLIENT SETINFO foo x", "-ERR Unrecognized option 'foo'");
    tarn_only("CLIENT SETINFO lib-name", "-ERR wrong number of arguments for 'client|setinfo' command");
    tarn_only("CLIENT NO-TOUCH ON | CLIENT NO-TOUCH OFF", "+OK | +OK");
    tarn_only("CLIENT NO-TOUCH FOO", "-ERR syntax error");
}

#[test]
fn client_reply() {
    check("CLIENT REPLY SKIP | SET k v | GET k", r#"none | none | "v""#);
    check(
        "CLIENT REPLY OFF | SET k v | GET k | CLIENT REPLY ON | GET k",
        r#"none | none | none | +OK | "v""#,
    );
    check("CLIENT REPLY OFF | CLIENT REPLY SKIP | CLIENT REPLY ON | PING", "none | none | +OK | +PONG");
    check("CLIENT REPLY SKIP | FOO | PING", "none | none | +PONG");
    check("CLIENT REPLY skip | CLIENT REPLY on | PING", "none | +OK | +PONG");
}

/// Connections of lines before may be counted too: the server hears of their end when it comes to it.
#[test]
fn client_kill() {
    check("CLIENT KILL TYPE normal SKIPME yes | PING", ":0..9 | +PONG");
    check("@b PING | CLIENT KILL TYPE normal | PING | @b !recv", "+PONG | :1..9 | +PONG | closed");
    check(
        "@b PING | @b CLIENT SETNAME victim | CLIENT KILL SKIPME yes | @b !recv",
        "+PONG | +OK | :1..9 | closed",
    );
    check("CLIENT KILL SKIPME no | !recv", ":1..9 | closed");
    check("@b PING | CLIENT KILL USER default | @b !recv | PING", "+PONG | :1..9 | closed | +PONG");
}

#[test]
fn client_pause() {
    check("CLIENT PAUSE 100000 WRITE | GET k | @b CLIENT UNPAUSE | SET k v", "+OK | nil | +OK | +OK");
    check(
        "CLIENT PAUSE 100000 WRITE | @b SET k v | GET k | CLIENT UNPAUSE | @b !recv | GET k",
        r#"+OK | none | nil | +OK | +OK | "v""#,
    );
    // What others are told of is held, too.
    check(
        "CLIENT PAUSE 100000 WRITE | @b PUBLISH c m | GET k | CLIENT UNPAUSE | @b !recv",
        "+OK | none | nil | +OK | :0",
    );
}

#[test]
fn unknown_commands() {
    check("FOO", r#"-"ERR unknown command 'FOO', with args beginning with: ""#);
    check("FOO bar", r#"-"ERR unknown command 'FOO', with args beginning with: 'bar' ""#);
    check("FOO a b c d", r#"-"ERR unknown command 'FOO', with args beginning with: 'a' 'b' 'c' 'd' ""#);
    check(r#"foo "a b" """#, r#"-"ERR unknown command 'foo', with args beginning with: 'a b' '' ""#);
    check(
        r#"FOO "x"*200"#,
        r#"-"ERR unknown command 'FOO', with args beginning with: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' ""#,
    );
    check(
        r#""x"*200 a"#,
        r#"-"ERR unknown command 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', with args beginning with: 'a' ""#,
    );
    check(
        r#"FOO "\x00\r\n" "it's""#,
        r#"-"ERR unknown command 'FOO', with args beginning with: '' 'it's' ""#,
    );
    check(r#"FOO "\xff\xc3""#, r#"-"ERR unknown command 'FOO', with args beginning with: '\xff\xc3' ""#);
    check(r#""\xff""#, r#"-"ERR unknown command '\xff', with args beginning with: ""#);
    check(r#""""#, r#"-"ERR unknown command '', with args beginning with: ""#);
    check(r#""GET\x00" a"#, r#"-"ERR unknown command 'GET', with args beginning with: 'a' ""#);
    check(r#"GET\x00"#, r#"-"ERR unknown command 'GET\\x00', with args beginning with: ""#);
}

#[test]
fn client_tracking_is_off_at_first() {
    check("CLIENT TRACKING OFF | CLIENT GETREDIR", "+OK | :-1");
    check("CLIENT TRACKING FOO", "-ERR syntax error");
    check3(
        "CLIENT TRACKINGINFO",
        r#"["flags" ["off"] "redirect" :-1 "prefixes" []]"#,
        r#"{"flags" #{"off"} "redirect" :-1 "prefixes" []}"#,
    );
    check(
        "CLIENT CACHING YES",
        "-ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
    );
}

#[test]
fn client_help() {
    check(
        "CLIENT PAUSE 0 WRITE x",
        "-ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.",
    );
    check(
        "CLIENT UNBLOCK 1 TIMEOUT x",
        "-ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.",
    );
    check("CLIENT HELP x", "-ERR wrong number of arguments for 'client|help' command");
    check("CLIENT HELP | PING", "... | +PONG");
}

/// In Redis 7.0 each option takes effect as it is read.
#[test]
fn hello_changes_nothing_unless_all_of_it_is_right() {
    const WRONGPASS: &str = "-WRONGPASS invalid username-password pair or user is disabled.";
    const BAD_NAME: &str = "-ERR Client names cannot contain spaces, newlines or special characters.";
    let user = "ACL SETUSER bob on >bp +@all ~* | CLIENT SETNAME old";
    for (options, reply) in [
        ("AUTH nobody x FOO", "-ERR Syntax error in HELLO option 'FOO'"),
        ("SETNAME new FOO", "-ERR Syntax error in HELLO option 'FOO'"),
        ("AUTH bob bp SETNAME new FOO", "-ERR Syntax error in HELLO option 'FOO'"),
        ("AUTH bob bp AUTH bob bad", WRONGPASS),
        ("SETNAME new AUTH bob bad", WRONGPASS),
        (r#"AUTH bob bp SETNAME "a b""#, BAD_NAME),
        (r#"SETNAME "a b" SETNAME new"#, BAD_NAME),
        (r#"SETNAME "a b" FOO"#, BAD_NAME),
    ] {
        tarn_only_with(
            &[],
            &format!("{user} | HELLO 3 {options} | ACL WHOAMI | CLIENT GETNAME"),
            &format!(r#"+OK | +OK | {reply} | "default" | "old""#),
        );
    }
    tarn_only_with(
        &[],
        &format!(
            "{user} | HELLO 3 AUTH bob bad AUTH bob bp SETNAME a SETNAME b | ACL WHOAMI | CLIENT GETNAME | ACL LOG"
        ),
        r#"+OK | +OK | {"server" "redis" "version" %"..." "proto" :3 "id" ... "mode" "standalone" "role" "master" "modules" []} | "bob" | "b" | []"#,
    );
}
