//! Every expectation here was read off redis-server 7.0.15 over a raw socket.

use proptest::prelude::*;

use super::*;
use crate::OwnedArgs;
use crate::fuzzing::{Event, commands, encoded};

const PING: &str = "*1\r\n$4\r\nPING\r\n";

fn unauthenticated() -> Limits {
    Limits { authenticated: false, ..Limits::default() }
}

/// The events of a stream, one line: `PING a` for a command, `""` for an empty argument, `()` for an
/// empty command, the words of an error, `...` if bytes are left over.
fn events(stream: &[u8], limits: &Limits) -> String {
    let whole = commands(stream, limits, []);
    for size in [1, 2, 5] {
        assert_eq!(commands(stream, limits, (0..stream.len()).step_by(size)), whole, "in pieces of {size}");
    }
    let (events, left) = whole;
    let failed = matches!(events.last(), Some(Event::Error(_)));
    let mut texts: Vec<String> = events
        .into_iter()
        .map(|event| match event {
            Event::Empty => "()".to_owned(),
            Event::Error(error) => error.to_string(),
            Event::Command(args) => args
                .view()
                .iter()
                .map(|arg| if arg.is_empty() { "\"\"".to_owned() } else { arg.escape_ascii().to_string() })
                .collect::<Vec<_>>()
                .join(" "),
        })
        .collect();
    if left > 0 && !failed {
        texts.push("...".to_owned());
    }
    texts.join(" | ")
}

#[track_caller]
fn check(stream: impl AsRef<[u8]>, expected: &str) {
    assert_eq!(events(stream.as_ref(), &Limits::default()), expected);
}

#[track_caller]
fn check_before_auth(stream: impl AsRef<[u8]>, expected: &str) {
    assert_eq!(events(stream.as_ref(), &unauthenticated()), expected);
}

const BAD_MULTIBULK: &str = "Protocol error: invalid multibulk length";
const BAD_BULK: &str = "Protocol error: invalid bulk length";
const QUOTES: &str = "Protocol error: unbalanced quotes in request";

#[test]
fn reads_multibulk_commands() {
    check("", "");
    check(PING, "PING");
    check("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n", "SET k \"\"");
    check("*2\r\n$3\r\nGET\r\n$4\r\n\r\n\0$\r\n", r"GET \r\n\x00$");
    check(format!("{PING}*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n{PING}"), "PING | ECHO hi | PING");
    check("*1\r\n$0\r\n\r\n", "\"\"");
}

#[test]
fn skips_line_ends_unread() {
    check(format!("*1\rX$4\rYPINGab{PING}"), "PING | PING");
    check(format!("*1\r\n$4\r\nPINGxx{PING}"), "PING | PING");
}

#[test]
fn waits_for_a_carriage_return() {
    check("*1\n$4\nPING\n", "...");
    check("*1\r\nx4\n", "...");
    check("*1\r", "...");
    check("*1\r\n$4\r", "...");
    check("*1\r\n$4\r\nPING\r", "...");
}

#[test]
fn skips_commands_of_no_arguments() {
    for count in ["0", "-1", "-5", "-9223372036854775808"] {
        check(format!("*{count}\r\n{PING}"), "() | PING");
        check_before_auth(format!("*{count}\r\n{PING}"), "() | PING");
    }
}

#[test]
fn rejects_bad_counts() {
    let bad = ["", "+1", "01", "00", "-0", "a", " 1", "1 ", "2147483648", "9999999999", "99999999999"];
    for count in bad {
        check(format!("*{count}\r\n"), BAD_MULTIBULK);
        check_before_auth(format!("*{count}\r\n"), BAD_MULTIBULK);
        // The unauthenticated limit is only looked at for lengths that are valid.
        if count != "2147483648" {
            check(format!("*1\r\n${count}\r\n"), BAD_BULK);
            check_before_auth(format!("*1\r\n${count}\r\n"), BAD_BULK);
        }
    }
    for count in ["9999999999999999999", "99999999999999999999999999999", "-9223372036854775809"] {
        check(format!("*{count}\r\n"), BAD_MULTIBULK);
        check(format!("*1\r\n${count}\r\n"), BAD_BULK);
    }
    check("*1\r\n$-1\r\n", BAD_BULK);
    check("*1048577\r\n$-1\r\n", BAD_BULK);
}

#[test]
fn expects_a_dollar() {
    check("*1\r\nx4\r\nPING\r\n", "Protocol error: expected '$', got 'x'");
    check("*1\r\n%d\r\n", "Protocol error: expected '$', got '%'");
    check("*2\r\n$3\r\nGET\r\n:1\r\n", "Protocol error: expected '$', got ':'");
    check("*1\r\n:", "...");
}

#[test]
fn error_replies_are_redis_bytes() {
    let reply = |stream: &[u8]| {
        let mut out = Vec::new();
        Parser::new().parse(stream, &Limits::default()).unwrap_err().encode(&mut out);
        out
    };
    assert_eq!(reply(b"*x\r\n"), b"-ERR Protocol error: invalid multibulk length\r\n");
    assert_eq!(reply(b"*1\r\n\xff4\r\n"), b"-ERR Protocol error: expected '$', got '\xff'\r\n");
    assert_eq!(reply(b"*1\r\n\r\nPING\r\n"), b"-ERR Protocol error: expected '$', got ' '\r\n");
    assert_eq!(reply(b"*1\r\n\n4\r\nPING\r\n"), b"-ERR Protocol error: expected '$', got ' '\r\n");
}

#[test]
fn counts_up_to_the_limits() {
    check("*2147483647\r\n", "...");
    check("*1\r\n$536870912\r\n", "...");
    check("*1\r\n$536870913\r\n", BAD_BULK);

    let limits = Limits { max_bulk_len: 4, max_multibulk: 2, ..Limits::default() };
    assert_eq!(events(b"*2\r\n$4\r\nECHO\r\n$4\r\nabcd\r\n", &limits), "ECHO abcd");
    assert_eq!(events(b"*2\r\n$4\r\nECHO\r\n$5\r\nabcde\r\n", &limits), BAD_BULK);
    assert_eq!(events(b"*3\r\n", &limits), BAD_MULTIBULK);
    let none = Limits { max_multibulk: usize::MAX, max_bulk_len: usize::MAX, ..Limits::default() };
    assert_eq!(events(b"*2147483648\r\n", &none), BAD_MULTIBULK);
    assert_eq!(events(b"*1\r\n$9223372036854775807\r\n", &none), "...");
}

#[test]
fn counts_less_before_auth() {
    let ten = format!("*10\r\n{}", "$1\r\na\r\n".repeat(10));
    check_before_auth(ten, "a a a a a a a a a a");
    check_before_auth("*11\r\n", "Protocol error: unauthenticated multibulk length");
    check_before_auth("*2147483647\r\n", "Protocol error: unauthenticated multibulk length");
    check("*11\r\n", "...");

    let long = "a".repeat(16_384);
    check_before_auth(format!("*1\r\n$16384\r\n{long}\r\n"), &long);
    check_before_auth("*1\r\n$16385\r\n", "Protocol error: unauthenticated bulk length");
    check_before_auth("*1\r\n$536870913\r\n", BAD_BULK);
    check("*1\r\n$16385\r\n", "...");
    // Inline commands have no stricter limit.
    check_before_auth(format!("{}\n", "a ".repeat(11)), "a a a a a a a a a a a");
}

#[test]
fn ends_long_lines() {
    let (fits, over) = ("1".repeat(65_535), "1".repeat(65_536));
    check(format!("*{fits}"), "...");
    check(format!("*{fits}\r\n"), BAD_MULTIBULK);
    check(format!("*{over}"), "Protocol error: too big mbulk count string");
    check(format!("*{over}\r\n"), "Protocol error: too big mbulk count string");
    check(format!("*1\r\n${fits}"), "...");
    check(format!("*1\r\n${fits}\r\n"), BAD_BULK);
    check(format!("*1\r\n${over}"), "Protocol error: too big bulk count string");
    check(format!("*1\r\n1{over}"), "Protocol error: too big bulk count string");
    check(format!("1{fits}"), "...");
    check(format!("1{fits}\n"), &format!("1{fits}"));
    check(format!("1{over}"), "Protocol error: too big inline request");
    check(format!("1{over}\n"), "Protocol error: too big inline request");
    let short = Limits { max_inline: 0, ..Limits::default() };
    assert_eq!(events("a".repeat(Limits::MIN_INLINE).as_bytes(), &short), "...");
    assert_eq!(
        events("a".repeat(Limits::MIN_INLINE + 1).as_bytes(), &short),
        "Protocol error: too big inline request"
    );
}

#[test]
fn a_nul_byte_keeps_a_line_open() {
    check(format!("PING\0\n{PING}"), "...");
    check("\0\n", "...");
    check("*1\0\r\n", "...");
    check("*1\r\n$4\0\r\nPING\r\n", "...");
    check("*1\r\n\0\r\n", "...");
    check(format!("a\0{}", "x".repeat(65_534)), "...");
    check(format!("a\0{}", "x".repeat(65_535)), "Protocol error: too big inline request");
    check(format!("*\0\r{}", "x".repeat(65_533)), "...");
    check(format!("*\0\r{}", "x".repeat(65_534)), "Protocol error: too big mbulk count string");
    check(format!("*1\r\n\0\r{}", "x".repeat(65_535)), "Protocol error: too big bulk count string");
}

#[test]
fn reads_inline_commands() {
    check("PING\n", "PING");
    check("PING\r\n", "PING");
    check("PING\r\r\n", "PING");
    check("  SET \t k   v  \r\nPING", "SET k v | ...");
    check(format!("GET k\n{PING}GET k\n"), "GET k | PING | GET k");
    check(" *1\r\n$5\r\n", "*1 | $5");
    check("\n\r\n\r\r\n   \t \n\x0b\x0c\n", "() | () | () | () | ()");
    check("PING \\x41 a\\n\n", r"PING \\x41 a\\n");
    check(b"GET \xff\x01\n", r"GET \xff\x01");
}

#[test]
fn splits_words_as_redis_does() {
    check("PING\rhello\n", "PING hello");
    check("PING\x0bhello\n", r"PING\x0bhello");
    check("\x0bPING hello\n", "PING hello");
    check("PING \x0chello\n", "PING hello");
    check("'PING'\x0chello\n", "PING hello");
}

#[test]
fn unescapes_quotes() {
    check("PING \"a b\"\n", "PING a b");
    check("PING \"\"\n", "PING \"\"");
    check("PING ''\r\n", "PING \"\"");
    check("\"\"\n", "\"\"");
    check("'' \"\"\n", "\"\" \"\"");
    check("PING a\"b\" c\n", "PING ab c");
    check("PING a'b'\n", "PING ab");
    check(r#"PING "\x41\x4g\n\r\t\b\a\q\"\xfF""#.to_owned() + "\n", r#"PING Ax4g\n\r\t\x08\x07q\"\xff"#);
    check("PING \"\\x4\"\n", "PING x4");
    check("PING 'a\\'b\\n\"'\n", r#"PING a\'b\\n\""#);
    check("PING \"a'b\"\n", r"PING a\'b");
    check("PING \"a\"\x0b\n", "PING a");
    // The unescaped bytes of one command are gone in the next.
    check(format!("PING \"a\"\nPING b\n\n{PING}PING ''\n"), "PING a | PING b | () | PING | PING \"\"");
}

#[test]
fn rejects_unbalanced_quotes() {
    for line in [
        "PING \"a",
        "PING 'a",
        "PING \"a\"b",
        "PING 'a'b",
        "PING \"\\",
        "PING \"a\\\"",
        "PING 'a\\'",
        "\"",
        "'",
    ] {
        check(format!("{line}\n"), QUOTES);
        check(format!("{line}\r\n"), QUOTES);
        check(line, "...");
    }
}

#[test]
fn says_how_much_is_missing() {
    let mut parser = Parser::new();
    let mut need = |buf: &[u8]| match parser.parse(buf, &Limits::default()) {
        Ok(Parsed::Incomplete { need }) => need,
        other => panic!("{other:?}"),
    };
    assert_eq!(need(b""), 1);
    assert_eq!(need(b"*2\r\n"), 1);
    assert_eq!(need(b"*2\r\n$1000\r\n"), 1002);
    assert_eq!(need(b"*2\r\n$1000\r\nabc"), 999);
}

#[test]
fn an_idle_parser_is_small() {
    assert!(size_of::<Parser>() < 64);
    let mut parser = Parser::new();
    let buf = b"PING \"a\"\n";
    assert_eq!(parser.parse(buf, &Limits::default()), Ok(Parsed::Command { consumed: 9 }));
    assert_eq!(parser.args(buf).get(1), Some(&b"a"[..]));
    parser.shrink();
    assert_eq!((parser.args.capacity(), parser.unescaped.is_none()), (0, true));

    // In the middle of a command nothing is forgotten.
    let buf = b"*2\r\n$4\r\nECHO\r\n$1\r\na\r\n";
    assert_eq!(parser.parse(&buf[..20], &Limits::default()), Ok(Parsed::Incomplete { need: 1 }));
    parser.shrink();
    assert_eq!(parser.parse(buf, &Limits::default()), Ok(Parsed::Command { consumed: 21 }));
    assert_eq!(parser.args(buf).iter().collect::<Vec<_>>(), [&b"ECHO"[..], b"a"]);
}

#[test]
fn a_claimed_count_takes_no_memory() {
    let mut parser = Parser::new();
    assert_eq!(parser.parse(b"*2147483647\r\n", &Limits::default()), Ok(Parsed::Incomplete { need: 1 }));
    assert!(parser.args.capacity() <= 2 * MAX_RESERVED_ARGS);
}

#[test]
fn a_parser_is_as_new_after_an_error() {
    for bad in ["*1\r\nx\r\n", "*2\r\n$1\r\na\r\n$-1\r\n", "*x\r\n", "\"\n"] {
        let mut parser = Parser::new();
        assert!(parser.parse(bad.as_bytes(), &Limits::default()).is_err());
        assert!(parser.is_idle());
        assert_eq!(parser.parse(PING.as_bytes(), &Limits::default()), Ok(Parsed::Command { consumed: 14 }));
        assert_eq!(parser.args(PING.as_bytes()).len(), 1);
    }
}

/// One command as a client may send it, with what it should come out as.
fn sent() -> impl Strategy<Value = (Vec<u8>, Event)> {
    let arg = || prop_oneof![3 => prop::collection::vec(any::<u8>(), 0..20), 1 => prop::collection::vec(any::<u8>(), 90..300)];
    let args = || prop::collection::vec(arg(), 1..12).prop_map(OwnedArgs::from_iter);
    let words = prop::collection::vec("[!#-&(-~]{1,12}", 1..6);
    prop_oneof![
        4 => args().prop_map(|args| (encoded(&args), Event::Command(args))),
        2 => words.prop_map(|words| {
            (format!("{}\r\n", words.join(" ")).into_bytes(), Event::Command(words.iter().collect()))
        })
        .prop_filter("a word that starts a multibulk", |(line, _)| line.first() != Some(&b'*')),
        2 => args().prop_map(|args| {
            let words: Vec<String> =
                args.view().iter().map(|arg| crate::decode::text::Quoted(arg).to_string()).collect();
            (format!("{}\n", words.join("\t")).into_bytes(), Event::Command(args))
        }),
        1 => prop::sample::select(vec!["\n", "\r\n", "  \r\n", "*0\r\n", "*-1\r\n"])
            .prop_map(|empty| (empty.as_bytes().to_vec(), Event::Empty)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_pipeline_in_any_pieces_parses_the_same(
        sent in prop::collection::vec(sent(), 0..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let stream: Vec<u8> = sent.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let expected: Vec<Event> = sent.into_iter().map(|(_, event)| event).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.sort_unstable();
        prop_assert_eq!(&commands(&stream, &Limits::default(), cuts), &(expected.clone(), 0));
        prop_assert_eq!(&commands(&stream, &Limits::default(), 0..stream.len()), &(expected, 0));
    }

    #[test]
    fn nearly_valid_streams_parse_the_same_in_any_pieces(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "*", "$", "1", "2", "0", "3", "10", "-1", "+", "\r\n", "\r\n", "\r\n", "\r", "\n", "PING", "a", " ", "\"", "'", "\\",
                "\\x41", "\0", "*1\r\n$1\r\na\r\n", "$3\r\nabc\r\n", "16385", "2147483648",
            ]),
            0..40,
        ),
    ) {
        crate::fuzzing::parse(tokens.concat().as_bytes());
    }
}

/// A command that is passed over byte by byte, or in any pieces, ends where it would have ended.
#[test]
fn what_is_skipped_ends_where_the_command_ends() {
    let limits = Limits::default();
    let command = b"*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n$12\r\n\r\n$3\r\n*1\r\nxx\r\n";
    let next = b"*1\r\n$4\r\nPING\r\n";
    for refused in 4..command.len() {
        let mut parser = Parser::new();
        if !matches!(parser.parse(&command[..refused], &limits), Ok(Parsed::Incomplete { .. })) {
            continue;
        }
        if parser.is_idle() {
            continue;
        }
        for piece in [1, 2, 3, 7, 100] {
            let mut parser = Parser::new();
            parser.parse(&command[..refused], &limits).unwrap();
            let all = [&command[..], next].concat();
            let (mut begin, mut end, mut done) = (0, refused, false);
            while !done {
                let (used, is_done) = parser.skip(&all[begin..end], &limits).unwrap();
                begin += used;
                done = is_done;
                end = (end + piece).min(all.len());
            }
            assert_eq!(begin, command.len(), "refused at {refused}, pieces of {piece}");
            assert!(parser.is_idle());
            let parsed = parser.parse(&all[begin..], &limits);
            assert_eq!(parsed, Ok(Parsed::Command { consumed: next.len() }));
        }
    }
}

#[test]
fn what_is_skipped_keeps_to_the_protocol() {
    let limits = Limits::default();
    for (command, error) in [
        (&b"*3\r\n$3\r\nSET\r\n:1\r\n"[..], ProtocolError::ExpectedDollar(b':')),
        (b"*3\r\n$3\r\nSET\r\n$-1\r\n", ProtocolError::InvalidBulkLength),
        (b"*3\r\n$3\r\nSET\r\n$9999999999\r\n", ProtocolError::InvalidBulkLength),
    ] {
        let mut parser = Parser::new();
        assert_eq!(parser.parse(&command[..10], &limits), Ok(Parsed::Incomplete { need: 3 }));
        assert_eq!(parser.skip(command, &limits), Err(error));
        assert!(parser.is_idle());
    }
}
