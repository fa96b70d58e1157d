//! The connection itself: PING to RESET, HELLO, AUTH and SELECT.

use std::sync::Arc;

use tarn_resp::Protocol;

use super::acl::note_refused;
use super::client;
use crate::acl::{Context, DEFAULT_NAME, Login, Reason};
use crate::clients::flag;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, ReplyMode, SessionCx};
use crate::dispatch::spec::{Arity, Databases, Flags, Group, Spec, session};
use crate::error::{Error, Result};
use crate::number;
use crate::reply::Reply;

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
        .databases(Databases::Words(&[1]))
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
    cx.session.set_login(Login::at_connect(&cx.node.acl));
    cx.session.client.set_flag(flag::READONLY | flag::NO_TOUCH, false);
    cx.session.client.set_labels(|labels| labels.name.clear());
    Ok(Answer::Unsubscribed(Reply::Simple("RESET")))
}

fn hello(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let protocol = match args.peek() {
        None => None,
        Some(word) => {
            let version = number::parse_i64(word)
                .ok_or_else(|| Error::reply("ERR Protocol version is not an integer or out of range"))?;
            args.next()?;
            Some(match version {
                2 => Protocol::Resp2,
                3 => Protocol::Resp3,
                _ => return Err(Error::reply("NOPROTO unsupported protocol version").into()),
            })
        }
    };
    let config = cx.node.config.current();
    let name = cx.session.client.labels().name;
    if let Err(stop) = take_hello_options(cx, args) {
        // A HELLO that is refused changes nothing; a name is set where it is checked.
        cx.session.client.set_labels(|labels| labels.name = name);
        return Err(stop);
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

/// Of options that are given more than once the last one counts.
fn take_hello_options(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<()> {
    let mut login = None;
    while let Some(option) = args.peek() {
        let left = args.left();
        if left > 2 && args.keyword("auth") {
            login = Some((args.next()?, args.next()?));
        } else if left > 1 && args.keyword("setname") {
            client::set_name(cx, args.next()?)?;
        } else {
            return Err(Error::about("ERR Syntax error in HELLO option '", option, "'").into());
        }
    }
    if let Some((user, password)) = login {
        authenticate(cx, args.words().get(0).unwrap_or(&[]), user, password)?;
    }
    if !cx.session.is_authenticated() {
        return Err(Error::reply(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> \
             option can be used to authenticate the client and select the RESP protocol version at the same time",
        ).into());
    }
    Ok(())
}

fn auth(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.left() > 2 {
        return Err(Error::Syntax.into());
    }
    let word = args.words().get(0).unwrap_or(&[]);
    let first = args.next()?;
    let (user, password) = if args.is_empty() {
        if cx.node.acl.users().0.default_user().nopass {
            return Err(Error::reply(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?",
            ).into());
        }
        (DEFAULT_NAME, first)
    } else {
        (first, args.next()?)
    };
    authenticate(cx, word, user, password)?;
    Ok(Reply::OK.into())
}

/// `word` is the command as the client has written it.
fn authenticate(cx: &mut SessionCx<'_>, word: &[u8], user: &[u8], password: &[u8]) -> Result<()> {
    let (users, seen) = cx.node.acl.users();
    if let Some(user) = users.get(user).filter(|user| user.admits(password)) {
        cx.session.set_login(Login::of(Arc::clone(user), true, seen));
        return Ok(());
    }
    let context = if cx.session.multi.is_some() { Context::Multi } else { Context::TopLevel };
    note_refused(cx.node, &cx.session.client, cx.now_ms, context, Reason::Auth, (word, user));
    Err(Error::reply("WRONGPASS invalid username-password pair or user is disabled.").into())
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

    /// A client that has not given the password.
    fn locked() -> Kit {
        let kit = Kit::new();
        kit.node.acl.set_default_password(b"sesame");
        Kit::of(&kit.node)
    }

    #[test]
    fn a_password_is_asked_for_and_given_once() {
        let mut kit = locked();
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
        let mut kit = locked();
        assert_eq!(kit.run("ECHO a"), "-NOAUTH Authentication required.");
        assert_eq!(Kit::of(&kit.node).run("AUTH sesame | CONFIG SET requirepass ''"), "+OK | +OK");
        assert_eq!(kit.run("ECHO a"), "\"a\"");
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
