//! The configuration file of the packages, out of the table of options: every option that does something, with its default and
//! what it is for.

use super::docs::SECTIONS;
use super::option::{Opt, Section};
use super::table;

const HEAD: &str = "\
# Tarn's configuration. Every option with an effect is here, commented out with its default; lines without `#` count. The
# options are those of a redis.conf where Redis has them, and a redis.conf works unchanged.
#
# `tarn /etc/tarn/tarn.conf --option value` overrides a line; CONFIG SET changes most of them at run time, and CONFIG REWRITE
# writes them back. Bytes have units: 1k is 1000, 1kb is 1024, and so on with m, mb, g, gb.
";

/// What an installed server has other than the defaults.
const INSTALLED: [(&str, &str); 4] = [
    ("bind", "127.0.0.1 -::1"),
    ("supervised", "auto"),
    ("dir", "/var/lib/tarn"),
    ("logfile", "/var/log/tarn/tarn.log"),
];
/// For tests of the server itself.
const LEFT_OUT: [&str; 1] = ["memory-engine-faults"];
const WIDTH: usize = 110;

/// packaging/tarn.conf.
pub fn sample() -> String {
    let mut text = String::from(HEAD);
    for (section, title, note) in SECTIONS {
        if section == Section::Compatibility {
            continue;
        }
        text.push_str(&format!("\n### {title}\n"));
        if !note.is_empty() {
            text.push_str(&format!("\n{}", comment(note)));
        }
        let shown = |option: &&Opt| option.section == section && !LEFT_OUT.contains(&option.name);
        for option in table::options().filter(shown) {
            text.push_str(&entry(option));
        }
    }
    text
}

fn entry(option: &Opt) -> String {
    let installed = INSTALLED.iter().find(|(name, _)| *name == option.name);
    let line = match installed {
        Some((name, value)) => format!("{name} {value}"),
        None if option.default.is_empty() => format!("# {} \"\"", option.name),
        None => format!("# {} {}", option.name, option.default),
    };
    format!("\n{}{line}\n", comment(option.help))
}

fn comment(text: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("# {word}")),
        }
    }
    lines.join("\n") + "\n"
}
