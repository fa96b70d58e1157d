use crate::dispatch::registry::registry;
use crate::testkit::Kit;

#[test]
fn the_tables_are_counted_and_listed() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("COMMAND COUNT"), format!(":{}", registry().commands().len()));
    let listed = kit.run("COMMAND LIST");
    for name in ["ping", "client", "client|kill", "command|getkeysandflags"] {
        assert!(listed.contains(&format!("\"{name}\"")), "{name}: {listed}");
    }
    assert_eq!(kit.run("COMMAND LIST FILTERBY PATTERN ech?"), "[\"echo\"]");
    assert!(kit.run("COMMAND LIST FILTERBY ACLCAT CONNECTION").contains("\"hello\""));
    assert_eq!(kit.run("COMMAND LIST FILTERBY MODULE x | COMMAND LIST FILTERBY ACLCAT none"), "[] | []");
    assert_eq!(kit.run("COMMAND LIST FILTERBY PATTERN"), "-ERR syntax error");
}

#[test]
fn a_command_is_described_in_both_protocols() {
    let mut kit = Kit::new();
    assert_eq!(
        kit.run("COMMAND INFO echo nosuch client|id"),
        "[[\"echo\" :2 [+loading +stale +fast] :0 :0 :0 [+@fast +@connection] [] [] []] nil \
         [\"client|id\" :2 [+noscript +loading +stale] :0 :0 :0 [+@slow +@connection] [] [] []]]"
    );
    kit.resp3();
    let words: tarn_resp::OwnedArgs = ["COMMAND", "INFO", "echo"].iter().collect();
    let expected =
        b"*1\r\n*10\r\n$4\r\necho\r\n:2\r\n~3\r\n+loading\r\n+stale\r\n+fast\r\n:0\r\n:0\r\n:0\r\n\
        ~2\r\n+@fast\r\n+@connection\r\n~0\r\n~0\r\n~0\r\n";
    assert_eq!(kit.bytes(words.view()), expected);
}

#[test]
fn documentation_names_only_what_exists() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("COMMAND DOCS nosuch"), "[]");
    let docs = kit.run("COMMAND DOCS client ping");
    assert!(docs.contains("\"client|kill\"") && docs.contains("\"complexity\" \"O(1)\""), "{docs}");
}

#[test]
fn unknown_subcommands_are_refused() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("COMMAND FOO"), "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.");
    assert_eq!(kit.run("COMMAND GETKEYS nosuch a"), "-ERR Invalid command specified");
    assert_eq!(kit.run("COMMAND GETKEYS ECHO a"), "-ERR The command has no key arguments");
}
