//! CLIENT KILL, in its old form (an address) and its new one (filters that all must match).

use super::filter::Filter;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::error::{Error, Result};
use crate::reply::Reply;

pub fn kill(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    if args.left() > 1 {
        let filter = Filter::parse(cx, args, false)?;
        let killed = kill_matching(cx, &filter, filter.spares_self.unwrap_or(true));
        return Ok(Reply::Integer(killed as i64).into());
    }
    match kill_matching(cx, &Filter::of_addr(args.peek().unwrap_or_default()), false) {
        0 => Err(Error::reply("ERR No such client").into()),
        _ => Ok(Reply::OK.into()),
    }
}

fn kill_matching(cx: &mut SessionCx<'_>, filter: &Filter, spares_self: bool) -> usize {
    let (own_id, now_ms) = (cx.session.client.id, cx.now_ms);
    let mut killed = 0;
    for client in cx.node.clients.list() {
        if !filter.matches(&client, now_ms) || spares_self && client.id == own_id {
            continue;
        }
        killed += 1;
        if client.id == own_id {
            // The reply is still sent.
            cx.session.closing = true;
            continue;
        }
        client.kill();
        if let Some(post) = cx.node.post() {
            post.wake(client.thread());
        }
    }
    killed
}
