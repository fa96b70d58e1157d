//! The connection itself: PING to RESET, HELLO, AUTH and SELECT.

use tarn_resp::Protocol;

use super::client;
use crate::clients::flag;
use crate::config::Config;
use crate::dispatch::args::Args;
use crate::dispatch::caller::User;
use crate::dispatch::session::{Answer, ReplyMode, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Spec, session};
use crate::error::{Error, Result};
use crate::number;
use crate::reply::Reply;

/// What Redis calls the only user there is.
pub const DEFAULT_USER: &[u8] = b"default";
/// The newest release of Redis all of whose core commands are here: clients choose features by it.
pub const REDIS_VERSION: &str = "8.6.2";

/// Allowed before AUTH, and while anything is going on.
const ALWAYS: Flags = Flags::NO_AUTH
    .or(Flags::NOSCRIPT)
    .or(Flags::LOADING)
    .or(Flags::STALE)
    .or(Flags::FAST)
    .or(Flags::ALLOW_BUSY);

pub const COMMANDS: &[Spec] = &[
    session("ping", Arity::AtLeast(1), ping)
        .group(Group::Connection)
        .fast()
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .complexity("O(1)")
        .summary("Answers PONG, or the message it was given."),
    session("echo", Arity::Exactly(2), echo)
        .group(Group::Connection)
        .flags(Flags::LOADING.or(Flags::STALE))
        .fast()
        .complexity("O(1)")
        .summary("Answers the message it was given."),
    session("quit", Arity::AtLeast(1), quit)
        .group(Group::Connection)
        .not_queued()
        .flags(ALWAYS)
        .complexity("O(1)")
        .summary("Closes the connection once the reply is sent."),
    session("reset", Arity::Exactly(1), reset)
        .group(Group::Connection)
        .not_queued()
        .since("6.2.0")
        .flags(ALWAYS)
        .complexity("O(1)")
        .summary("Puts the connection back into the state it began with."),
    session("hello", Arity::AtLeast(1), hello)
        .group(Group::Connection)
        .since("6.0.0")
        .flags(ALWAYS)
        .complexity("O(1)")
        .summary("Chooses the protocol, authenticates and names the connection, and describes the server."),
    session("auth", Arity::AtLeast(2), auth)
        .group(Group::Connection)
        .flags(ALWAYS)
        .complexity("O(N) where N is the number of passwords defined for the user")
        .summary("Authenticates the connection."),
    session("select", Arity::Exactly(2), select)
        .group(Group::Connection)
        .flags(Flags::LOADING.or(Flags::STALE))
        .fast()
        .complexity("O(1)")
        .summary("Chooses the database of the connection."),
];

fn ping(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    match args.left() {
        // What a client that listens takes for a message.
        left @ 0..=1 if cx.session.only_listens() => {
            let text = if left == 0 { &[] } else { args.next()? };
            Ok(Reply::Array(vec![Reply::text("pong"), Reply::bulk(text)]).into())
        }
        0 => Ok(Reply::Simple("PONG").into()),
        1 => Ok(Reply::bulk(args.next()?).into()),
        _ => Err(Error::Arity("ping".into()).into()),
    }
}

fn echo(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    Ok(Reply::bulk(args.next()?).into())
}

fn quit(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    cx.session.closing = true;
    cx.session.client.set_flag(flag::CLOSE_AFTER_REPLY, true);
    Ok(Reply::OK.into())
}

fn reset(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    cx.session.monitor(cx.node, false);
    cx.session.end_multi();
    cx.session.unwatch(cx.node);
    cx.session.untrack(cx.node);
    cx.session.fieldsets = None;
    cx.session.select(0);
    cx.session.speak(Protocol::Resp2);
    cx.session.reply_mode = ReplyMode::On;
    cx.session.no_touch = false;
    cx.session.user = User::at_connect(&cx.node.config.current());
    cx.session.client.set_flag(flag::READONLY | flag::NO_TOUCH, false);
    cx.session.client.set_labels(|labels| labels.name.clear());
    Ok(Answer::Unsubscribed(Reply::Simple("RESET")))
}

fn hello(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let protocol = match args.peek() {
        None => None,
        Some(word) => {
            let version = number::parse_i64(word)
                .ok_or(Error::reply("ERR Protocol version is not an integer or out of range"))?;
            args.next()?;
            Some(match version {
                2 => Protocol::Resp2,
                3 => Protocol::Resp3,
                _ => return Err(Error::reply("NOPROTO unsupported protocol version").into()),
            })
        }
    };
    let config = cx.node.config.current();
    // Each option takes effect as it is read, also when a later one is refused.
    while let Some(option) = args.peek() {
        let left = args.left();
        if left > 2 && args.keyword("auth") {
            let (user, password) = (args.next()?, args.next()?);
            authenticate(cx, &config, user, password)?;
        } else if left > 1 && args.keyword("setname") {
            client::set_name(cx, args.next()?)?;
        } else {
            return Err(Error::about("ERR Syntax error in HELLO option '", option, "'").into());
        }
    }
    if !cx.session.is_authenticated() {
        return Err(Error::reply(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> \
             option can be used to authenticate the client and select the RESP protocol version at the same time",
        ).into());
    }
    if let Some(protocol) = protocol {
        cx.session.speak(protocol);
    }
    let version = match cx.session.protocol {
        Protocol::Resp2 => 2,
        Protocol::Resp3 => 3,
    };
    let mode = if config.cluster_enabled { "cluster" } else { "standalone" };
    Ok(Reply::Map(vec![
        (Reply::text("server"), Reply::text("redis")),
        (Reply::text("version"), Reply::text(REDIS_VERSION)),
        (Reply::text("proto"), Reply::Integer(version)),
        (Reply::text("id"), Reply::Integer(cx.session.client.id as i64)),
        (Reply::text("mode"), Reply::text(mode)),
        (Reply::text("role"), Reply::text("master")),
        (Reply::text("modules"), Reply::Array(Vec::new())),
    ])
    .into())
}

fn auth(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.left() > 2 {
        return Err(Error::Syntax.into());
    }
    let config = cx.node.config.current();
    let first = args.next()?;
    let (user, password) = if args.is_empty() {
        if config.requirepass.is_empty() {
            return Err(Error::reply(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?",
            ).into());
        }
        (DEFAULT_USER, first)
    } else {
        (first, args.next()?)
    };
    authenticate(cx, &config, user, password)?;
    Ok(Reply::OK.into())
}

/// A user without a password has every password.
fn authenticate(cx: &mut SessionCx<'_>, config: &Config, user: &[u8], password: &[u8]) -> Result<()> {
    let right = config.requirepass.is_empty() || same_secret(&config.requirepass, password);
    if user != DEFAULT_USER || !right {
        return Err(Error::reply("WRONGPASS invalid username-password pair or user is disabled.").into());
    }
    cx.session.user = User::Default;
    Ok(())
}

/// Takes as long for a nearly right guess as for a wrong one of the same length.
fn same_secret(secret: &[u8], guess: &[u8]) -> bool {
    let differing = secret.iter().zip(guess).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differing) == 0 && secret.len() == guess.len()
}

fn select(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let index = args.int()?;
    if i32::try_from(index).is_err() {
        return Err(
            Error::reply("ERR value is out of range, value must between -2147483648 and 2147483647").into()
        );
    }
    if cx.node.config.current().cluster_enabled && index != 0 {
        return Err(Error::reply("ERR SELECT is not allowed in cluster mode").into());
    }
    let db = u16::try_from(index).ok().and_then(|db| cx.node.keyspace.shared.database(db));
    cx.session.select(db.ok_or(Error::DbOutOfRange)?.logical);
    Ok(Reply::OK.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    const WRONGPASS: &str = "-WRONGPASS invalid username-password pair or user is disabled.";

    #[test]
    fn a_password_is_asked_for_and_given_once() {
        let mut kit = Kit::with(&[("requirepass", "sesame")]);
        kit.session.user = User::Unknown;
        assert_eq!(kit.run("PING"), "-NOAUTH Authentication required.");
        for wrong in
            ["AUTH sesam", "AUTH sesamee", "AUTH default x", "AUTH nobody sesame", "HELLO 3 AUTH default x"]
        {
            assert_eq!(kit.run(wrong), WRONGPASS, "{wrong}");
        }
        assert_eq!(
            kit.run("AUTH sesame | PING | RESET | PING"),
            "+OK | +PONG | +RESET | -NOAUTH Authentication required."
        );
        assert!(kit.run("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
        assert!(kit.run("HELLO 3 AUTH default sesame").contains("proto"));
        assert_eq!(kit.session.protocol, Protocol::Resp3);
    }

    #[test]
    fn nobody_is_locked_out_once_the_password_is_gone() {
        let mut kit = Kit::with(&[("requirepass", "sesame")]);
        kit.session.user = User::Unknown;
        assert_eq!(kit.run("ECHO a"), "-NOAUTH Authentication required.");
        kit.node.config.set(&[(b"requirepass", b"")], true).unwrap();
        assert_eq!(kit.run("ECHO a"), "\"a\"");
    }

    #[test]
    fn secrets_are_the_same_only_if_all_bytes_are() {
        assert!(same_secret(b"", b"") && same_secret(b"abc", b"abc"));
        assert!(!same_secret(b"abc", b"abd") && !same_secret(b"abc", b"ab") && !same_secret(b"", b"a"));
    }

    #[test]
    fn select_knows_its_databases() {
        let mut kit = Kit::with(&[("databases", "4")]);
        assert_eq!(
            kit.run("SELECT 3 | SELECT 4 | SELECT -1"),
            "+OK | -ERR DB index is out of range | -ERR DB index is out of range"
        );
        assert_eq!(kit.session.client.db(), 3);
        assert_eq!(kit.run("SELECT x"), "-ERR value is not an integer or out of range");
        assert_eq!(
            kit.run("SELECT 2147483648"),
            "-ERR value is out of range, value must between -2147483648 and 2147483647"
        );
    }

    #[test]
    fn quit_and_reset_change_the_session() {
        let mut kit = Kit::new();
        assert_eq!(kit.run("MONITOR"), "+OK");
        assert_eq!(kit.node.clients.monitors(), 1);
        assert_eq!(kit.run("RESET"), "+RESET");
        assert_eq!((kit.node.clients.monitors(), kit.session.is_monitor), (0, false));
        assert!(!kit.session.closing);
        assert_eq!(kit.run("QUIT"), "+OK");
        assert!(kit.session.closing);
    }
}
