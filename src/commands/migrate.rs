//! MIGRATE: keys go to another server. What happens then is in [`crate::migrate`].

use std::time::Duration;

use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, KeyFlags, KeyList, Keys, Spec, session};
use crate::error::{Error, Result};
use crate::migrate::{self, Order};
use crate::number;

const TAKE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE);
const KEYS: KeyList =
    KeyList { word: "KEYS", instead_of: 3, options: 6, others: &[("AUTH", 1), ("AUTH2", 2)] };

/// Where nobody says how long a step may take.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

pub const COMMANDS: &[Spec] = &[session("migrate", Arity::AtLeast(6), migrate)
    .keys(Keys::one_or_list(&KEYS, TAKE))
    .flags(Flags::WRITE)
    .acl(&["keyspace", "dangerous"])
    .tips(&["nondeterministic_output"])
    .since("2.6.0")
    .complexity("O(N) where N is the size of the values, here and on the target, and the way between them.")
    .summary("Moves keys to another server, or copies them there.")];

fn migrate(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let (host, port, key) = (args.next()?, args.next()?, args.key()?);
    let (to_db, timeout) = (args.next()?, args.next()?);
    let mut order = Order {
        host: host.into(),
        // No server listens at port 0.
        port: number::parse_i64(port).and_then(|port| u16::try_from(port).ok()).unwrap_or(0),
        to_db: 0,
        timeout: DEFAULT_TIMEOUT,
        copy: false,
        replace: false,
        auth: Vec::new(),
        keys: vec![key.into()],
        db: cx.session.db,
    };
    while !args.is_empty() {
        if args.keyword("copy") {
            order.copy = true;
        } else if args.keyword("replace") {
            order.replace = true;
        } else if args.keyword("auth") {
            order.auth = vec![args.next()?.into()];
        } else if args.left() >= 3 && args.keyword("auth2") {
            order.auth = vec![args.next()?.into(), args.next()?.into()];
        } else if args.keyword("keys") {
            if !key.is_empty() {
                return Err(Error::reply(
                    "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string",
                )
                .into());
            }
            order.keys = args.rest().map(Box::from).collect();
            break;
        } else {
            return Err(Error::Syntax.into());
        }
    }
    let timeout_ms = number::parse_i64(timeout).ok_or(Error::NotInteger)?;
    order.to_db = number::parse_i64(to_db).ok_or(Error::NotInteger)?;
    if let Some(timeout_ms) = u64::try_from(timeout_ms).ok().filter(|ms| *ms > 0) {
        order.timeout = Duration::from_millis(timeout_ms).min(MAX_TIMEOUT);
    }
    Ok(Answer::Network(Box::new(move |node| migrate::run(node, &order))))
}
