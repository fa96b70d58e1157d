//! docs/commands.md, out of the tables.

use crate::dispatch::registry::{Registered, registry};
use crate::dispatch::spec::{Flags, Group, Run, Spec};

const HEAD: &str = "\
# Commands

Generated from the tables in `src/commands/`; a test compares it.

They take the options of Redis 7.0 and answer as it does; what differs is in [differences.md](differences.md). *since* is the
version of Redis that brought the command, for `EXH*` that of TairHash. COMMAND INFO and COMMAND DOCS tell the same to programs.
";

const GROUPS: &[(Group, &str)] = &[
    (Group::String, "Strings"),
    (Group::Hash, "Hashes"),
    (Group::Set, "Sets"),
    (Group::List, "Lists"),
    (Group::SortedSet, "Sorted sets"),
    (Group::Stream, "Streams"),
    (Group::Bitmap, "Bitmaps"),
    (Group::HyperLogLog, "HyperLogLog"),
    (Group::Geo, "Geo"),
    (Group::Generic, "Keys"),
    (Group::Connection, "Connections"),
    (Group::Server, "Server"),
    (Group::Cluster, "Cluster"),
    (Group::PubSub, "Publish and subscribe"),
    (Group::Transactions, "Transactions"),
    (Group::Scripting, "Scripts and functions"),
];

/// The whole page.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for (group, title) in GROUPS {
        let mut commands: Vec<&Registered> =
            registry().commands().iter().filter(|command| command.spec.group == *group).collect();
        if commands.is_empty() {
            continue;
        }
        commands.sort_by_key(|command| command.spec.name);
        page.push_str(&format!("\n## {title}\n\n| command | | since |\n|---|---|---|\n"));
        for command in commands {
            let mut rows = vec![command];
            rows.extend(&command.subcommands);
            // A container does nothing by itself.
            rows.retain(|row| !matches!(row.spec.run, Run::Container));
            page.extend(rows.into_iter().map(row));
        }
    }
    page
}

fn row(command: &Registered) -> String {
    let name = command.full_name.to_uppercase().replace('|', " ");
    format!("| `{name}` | {} | {} |\n", remarks(command.spec), command.spec.since)
}

fn remarks(spec: &Spec) -> String {
    let mut text = spec.summary.to_owned();
    if let Some((since, other)) = spec.deprecated {
        // COMMAND DOCS marks arguments with `!`, which means nothing on a page.
        text.push_str(&format!(" Deprecated since {since}: use {}.", other.replace("`!", "`")));
    }
    if spec.flags.has(Flags::ADMIN) && spec.internal && spec.name != "replconf" {
        text.push_str(" Needs `enable-debug-command`.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_a_place() {
        for command in registry().commands() {
            assert!(GROUPS.iter().any(|(group, _)| *group == command.spec.group), "{}", command.full_name);
        }
    }

    /// TARN_REGENERATE_DOCS=1 writes the page instead.
    #[test]
    fn the_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/commands.md");
        if std::env::var_os("TARN_REGENERATE_DOCS").is_some() {
            std::fs::write(path, markdown()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == markdown(),
            "docs/commands.md is out of date: run the tests once with TARN_REGENERATE_DOCS=1"
        );
    }
}
