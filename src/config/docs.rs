//! docs/config.md, out of the table.

use super::option::{Change, Effect, Kind, Opt, Section};
use super::table;

const HEAD: &str = "\
# Configuration

Generated from the table of options in `src/config/table/`; a test compares it.

Options come from a file in redis.conf's form, from the command line and, where *live* says yes, from CONFIG SET at run
time. CONFIG REWRITE writes the current values back into the file. A misspelt option or a bad value stops the start with
exit code 1 and a message that names the line.

```
tarn [config-file] [--port 6379] [--option value ...] [-]
```

* A file has one option per line, `name value`; `#` begins a comment. Values with spaces are quoted: `\"...\"` with
  `\\n \\r \\t \\b \\a \\xHH` escapes, or `'...'`. `include path` reads another file there; the last part of its path may be a
  pattern, which may find nothing.
* `rename-command old new` gives a command another name; `rename-command old \"\"` takes it away. In a file or as a flag, not
  by CONFIG SET.
* `-` reads such lines from the standard input. Order: file, standard input, flags; the last value counts.
* Bytes have units: `1k` is 1000, `1kb` 1024, and so on with `m`, `mb`, `g`, `gb`.
* *protected* options can be set at run time only where `enable-protected-configs` allows it.
";

pub(super) const SECTIONS: [(Section, &str, &str); 11] = [
    (Section::Network, "Network and threads", ""),
    (
        Section::Tls,
        "TLS",
        "CONFIG SET of these options is all or nothing: what does not fit together is refused, the reason is in the log, and the old \
         certificate stays in use. Connections that are open keep what they were opened with. [security.md](security.md) says more.",
    ),
    (Section::Storage, "Storage", ""),
    (
        Section::Memory,
        "Memory",
        "`maxmemory` is one budget for everything that grows. What the parts below leave of it, at least 5 %, is for the \
         engine's own buffers, the allocator's slack and the program. A `maxmemory` under 32mb counts as 32mb.",
    ),
    (Section::Clients, "Clients", ""),
    (Section::Security, "Security", ""),
    (Section::Keyspace, "Keyspace", ""),
    (Section::Observability, "Observability", ""),
    (Section::Scripts, "Scripts", ""),
    (Section::Cluster, "Cluster", ""),
    (
        Section::Compatibility,
        "Accepted for compatibility",
        "Options of Redis that mean nothing here. They are checked, kept and shown, so that a redis.conf and the software \
         around it work unchanged; the log names those that were given. Where a value would promise what Tarn does not do, it \
         is refused, or the log says what it means here. Options of Redis that are not on this page are refused with the reason.",
    ),
];

/// The whole page.
pub fn docs() -> String {
    let mut page = String::from(HEAD);
    for (section, title, text) in SECTIONS {
        page.push_str(&format!("\n## {title}\n\n"));
        if !text.is_empty() {
            page.push_str(&format!("{text}\n\n"));
        }
        let help = section != Section::Compatibility;
        page.push_str("| option | values | default | live | |\n|---|---|---|---|---|\n");
        for option in table::options().filter(|option| option.section == section) {
            page.push_str(&row(option, help));
        }
    }
    page
}

fn row(option: &Opt, effective: bool) -> String {
    let mut help = String::from(option.help);
    if help.is_empty() && !effective {
        help.push_str("No effect.");
    }
    if !option.aliases.is_empty() {
        help.push_str(&format!(" Also called `{}`.", option.aliases.join("`, `")));
    }
    let default = if option.default.is_empty() { "empty".into() } else { format!("`{}`", option.default) };
    let live = match option.change {
        Change::Live => "yes",
        Change::Start => "no",
        Change::Protected => "protected",
    };
    format!(
        "| `{}` | {} | {default} | {live} | {} |\n",
        option.name,
        values(option),
        help.replace('|', "\\|")
    )
}

/// The heading that an option is under.
pub fn section_title(option: &Opt) -> &'static str {
    SECTIONS.iter().find(|(section, _, _)| *section == option.section).map_or("", |(_, title, _)| title)
}

/// Which values an option takes.
pub fn values(option: &Opt) -> String {
    if let Effect::Only { values, .. } = option.effect {
        return code_list(values);
    }
    match option.kind {
        Kind::Bool => "`yes`, `no`".into(),
        Kind::Int { min, max } if max >= i128::from(i32::MAX) && min > i128::from(i32::MIN) => {
            format!("integer from {min}")
        }
        Kind::Int { min, .. } if min == i128::from(i32::MIN) => "integer".into(),
        Kind::Int { min, max } => format!("{min} to {max}"),
        Kind::Memory { min: 0, .. } => "bytes".into(),
        Kind::Memory { min, .. } => format!("bytes from {}", super::units::format_memory(min)),
        Kind::MemoryOrPercent => "bytes or percent".into(),
        Kind::Octal { max } => format!("octal up to {max:o}"),
        Kind::Choice(names) => code_list(names),
        Kind::Choices(names) => format!("some of {}", code_list(names)),
        Kind::Text => "text".into(),
        Kind::FileName => "file name".into(),
        Kind::Words { max } => format!("up to {max} words"),
        Kind::OutputLimits => "class, bytes, bytes, seconds".into(),
        Kind::Events => "letters of `Ag$lshzxeKEtmdnSTIV`".into(),
        Kind::Percentiles => "numbers from 0 to 100".into(),
        Kind::SavePoints => "seconds, changes".into(),
        Kind::OomScores => "three integers, -2000 to 2000".into(),
    }
}

fn code_list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
