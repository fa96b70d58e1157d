//! A command as COMMAND DOCS shows it.

use crate::dispatch::registry::Registered;
use crate::reply::Reply;

pub fn docs(commands: impl IntoIterator<Item = &'static Registered>) -> Reply {
    let named =
        |command: &'static Registered| (Reply::Bulk(command.full_name.as_str().into()), document(command));
    Reply::Map(commands.into_iter().map(named).collect())
}

fn document(command: &'static Registered) -> Reply {
    let spec = command.spec;
    let mut map = vec![
        (Reply::text("summary"), Reply::text(spec.summary)),
        (Reply::text("since"), Reply::text(spec.since)),
        (Reply::text("group"), Reply::text(spec.group.name())),
    ];
    if !spec.complexity.is_empty() {
        map.push((Reply::text("complexity"), Reply::text(spec.complexity)));
    }
    if spec.internal {
        map.push((Reply::text("doc_flags"), Reply::Set(vec![Reply::Simple("syscmd")])));
    }
    if let Some((since, other)) = spec.deprecated {
        map.push((Reply::text("doc_flags"), Reply::Set(vec![Reply::Simple("deprecated")])));
        map.push((Reply::text("deprecated_since"), Reply::text(since)));
        map.push((Reply::text("replaced_by"), Reply::text(other)));
    }
    if !command.subcommands.is_empty() {
        map.push((Reply::text("subcommands"), docs(&command.subcommands)));
    }
    Reply::Map(map)
}
