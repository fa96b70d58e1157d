//! INFO: what the server says about itself, under the names that monitoring software knows.

mod loading;
mod sections;
#[cfg(test)]
mod tests;

use std::fmt::{Display, Write as _};
use std::sync::Arc;

use crate::error::Result;
use crate::node::Node;

pub use loading::Loading;
pub use sections::key_counts;

/// A section: its name as an argument, its heading, whether it is shown unless asked for.
struct Section {
    name: &'static str,
    heading: &'static str,
    default: bool,
    write: fn(&Arc<Node>, &mut Text) -> Result<()>,
}

const fn section(
    name: &'static str,
    heading: &'static str,
    default: bool,
    write: fn(&Arc<Node>, &mut Text) -> Result<()>,
) -> Section {
    Section { name, heading, default, write }
}

/// In the order of the report.
const SECTIONS: &[Section] = &[
    section("server", "Server", true, sections::server),
    section("clients", "Clients", true, sections::clients),
    section("memory", "Memory", true, sections::memory),
    section("persistence", "Persistence", true, sections::persistence),
    section("stats", "Stats", true, sections::stats),
    section("replication", "Replication", true, sections::replication),
    section("cpu", "CPU", true, sections::cpu),
    section("modules", "Modules", true, |_, _| Ok(())),
    section("tarn", "Tarn", true, sections::tarn),
    section("tikv", "Tikv", true, sections::tikv),
    section("fieldexpiry", "Fieldexpiry", true, sections::field_expiry),
    section("commandstats", "Commandstats", false, sections::command_stats),
    section("errorstats", "Errorstats", true, sections::error_stats),
    section("latencystats", "Latencystats", false, sections::latency_stats),
    section("cluster", "Cluster", true, sections::cluster),
    section("keyspace", "Keyspace", true, sections::keyspace),
    section(KEYSIZES, "Keysizes", false, sections::key_sizes),
];

/// Shown only where it is asked for by its name: it walks all keys.
const KEYSIZES: &str = "keysizes";

/// Which sections to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sections(u32);

impl Sections {
    /// Names that are unknown show nothing; none at all stand for the default.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> Sections {
        let mut chosen = 0;
        let mut any = false;
        for name in names {
            any = true;
            chosen |= match name.to_ascii_lowercase().as_slice() {
                b"all" | b"everything" => bits(|section| section.name != KEYSIZES),
                b"default" => bits(|section| section.default),
                other => bits(|section| section.name.as_bytes() == other),
            };
        }
        Sections(if any { chosen } else { bits(|section| section.default) })
    }
}

fn bits(chosen: impl Fn(&Section) -> bool) -> u32 {
    SECTIONS.iter().enumerate().filter(|(_, section)| chosen(section)).fold(0, |bits, (i, _)| bits | 1 << i)
}

/// Waits for rows that are not in memory.
pub fn text(node: &Arc<Node>, sections: &Sections) -> Result<String> {
    let mut text = Text(String::new());
    for (i, section) in SECTIONS.iter().enumerate() {
        let is_about_a_cluster = section.name == "tikv";
        if sections.0 & 1 << i == 0 || is_about_a_cluster && !node.engine.is_shared() {
            continue;
        }
        text.heading(section.heading);
        (section.write)(node, &mut text)?;
    }
    Ok(text.0)
}

/// The report as it grows.
struct Text(String);

impl Text {
    fn heading(&mut self, name: &str) {
        let gap = if self.0.is_empty() { "" } else { "\r\n" };
        // Writing into a string does not fail.
        let _ = write!(self.0, "{gap}# {name}\r\n");
    }

    fn field(&mut self, name: &str, value: impl Display) {
        // Writing into a string does not fail.
        let _ = write!(self.0, "{name}:{value}\r\n");
    }

    fn fields<const N: usize>(&mut self, fields: [(&str, u64); N]) {
        for (name, value) in fields {
            self.field(name, value);
        }
    }

    /// A number of bytes, and beside it the same for people.
    fn bytes(&mut self, name: &str, bytes: u64) {
        self.field(name, bytes);
        self.field(&format!("{name}_human"), human(bytes));
    }
}

/// `1.11M`
fn human(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];
    match UNITS.iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.2}{unit}", bytes as f64 / *size as f64),
        None => format!("{bytes}B"),
    }
}
