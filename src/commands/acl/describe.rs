//! Users and refusals as replies.

use crate::acl::User;
use crate::acl::log::Entry;
use crate::acl::selector::Selector;
use crate::reply::Reply;

/// ACL GETUSER.
pub fn user(user: &User) -> Reply {
    let flags = Reply::Set(user.flags().map(Reply::text).collect());
    let passwords = user.passwords.iter().map(|hash| Reply::bulk(hash.hex())).collect();
    let mut fields = vec![(Reply::text("flags"), flags), (Reply::text("passwords"), Reply::Array(passwords))];
    fields.extend(selector(&user.root));
    let others = user.selectors.iter().map(|other| Reply::Map(selector(other))).collect();
    fields.push((Reply::text("selectors"), Reply::Array(others)));
    Reply::Map(fields)
}

fn selector(selector: &Selector) -> Vec<(Reply, Reply)> {
    vec![
        (Reply::text("commands"), Reply::bulk(selector.commands_text())),
        (Reply::text("keys"), Reply::bulk(selector.keys_text())),
        (Reply::text("channels"), Reply::bulk(selector.channels_text())),
        (Reply::text("databases"), Reply::bulk(selector.databases_text())),
    ]
}

/// An entry of ACL LOG.
pub fn entry(entry: &Entry, now_ms: u64) -> Reply {
    let refused = &entry.refused;
    let age_ms = now_ms.saturating_sub(entry.updated_ms);
    Reply::Map(vec![
        (Reply::text("count"), Reply::Integer(entry.count as i64)),
        (Reply::text("reason"), Reply::text(refused.reason.name())),
        (Reply::text("context"), Reply::text(refused.context.name())),
        (Reply::text("object"), Reply::bulk(&*refused.object)),
        (Reply::text("username"), Reply::bulk(&*refused.user)),
        (Reply::text("age-seconds"), Reply::Double(age_ms as f64 / 1000.0)),
        (Reply::text("client-info"), Reply::bulk(&*refused.client)),
        (Reply::text("entry-id"), Reply::Integer(entry.id as i64)),
        (Reply::text("timestamp-created"), Reply::Integer(entry.created_ms as i64)),
        (Reply::text("timestamp-last-updated"), Reply::Integer(entry.updated_ms as i64)),
    ])
}
