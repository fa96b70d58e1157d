//! CLIENT KILL, in its old form (an address) and its new one (filters that all must match).

use super::Class;
use crate::clients::Client;
use crate::commands::connection::DEFAULT_USER;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::error::{Error, Result};
use crate::number;
use crate::reply::Reply;

#[derive(Debug, Default)]
struct Filter<'a> {
    id: Option<u64>,
    addr: Option<&'a [u8]>,
    local_addr: Option<&'a [u8]>,
    class: Option<Class>,
    spare_self: bool,
}

impl<'a> Filter<'a> {
    fn parse(mut args: Args<'a>) -> Result<Filter<'a>> {
        let mut filter = Filter { spare_self: true, ..Filter::default() };
        while let Some(option) = args.peek() {
            args.next()?;
            let value = args.next()?;
            match option.to_ascii_lowercase().as_slice() {
                b"id" => {
                    let id =
                        number::parse_i64(value).and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0);
                    filter.id = Some(id.ok_or(Error::reply("ERR client-id should be greater than 0"))?);
                }
                b"addr" => filter.addr = Some(value),
                b"laddr" => filter.local_addr = Some(value),
                b"type" => filter.class = Some(Class::parse(value)?),
                b"user" if value != DEFAULT_USER => {
                    return Err(Error::about("ERR No such user '", value, "'").into());
                }
                // Everybody is that user.
                b"user" => {}
                b"skipme" if value.eq_ignore_ascii_case(b"yes") => filter.spare_self = true,
                b"skipme" if value.eq_ignore_ascii_case(b"no") => filter.spare_self = false,
                _ => return Err(Error::Syntax.into()),
            }
        }
        Ok(filter)
    }

    fn matches(&self, client: &Client) -> bool {
        self.id.is_none_or(|id| id == client.id)
            && self.addr.is_none_or(|addr| addr == client.addr.as_bytes())
            && self.local_addr.is_none_or(|addr| addr == client.local_addr.as_bytes())
            && self.class.is_none_or(|class| class == Class::of(client))
    }
}

pub fn kill(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    if args.left() > 1 {
        let killed = kill_matching(cx, &Filter::parse(args)?);
        return Ok(Reply::Integer(killed as i64).into());
    }
    match kill_matching(cx, &Filter { addr: args.peek(), ..Filter::default() }) {
        0 => Err(Error::reply("ERR No such client").into()),
        _ => Ok(Reply::OK.into()),
    }
}

fn kill_matching(cx: &mut SessionCx<'_>, filter: &Filter<'_>) -> usize {
    let own_id = cx.session.client.id;
    let mut killed = 0;
    for client in cx.node.clients.list() {
        if !filter.matches(&client) || filter.spare_self && client.id == own_id {
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
