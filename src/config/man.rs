//! The man page, out of the table of options.

use super::args::HELP;
use super::docs::{SECTIONS, values};
use super::option::{Change, Opt, Section};
use super::table;

/// packaging/tarn.1.
pub fn man() -> String {
    let mut page = format!(
        ".\\\" Generated from the table of options in src/config/table/; a test compares it.\n\
         .TH TARN 1 \"\" \"Tarn {}\"\n\
         .SH NAME\ntarn \\- a durable, larger-than-memory database that speaks Redis\n\
         .SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION")
    );
    page.push_str(
        ".B tarn\n[\\fIconfig-file\\fR] [\\fB\\-\\-option\\fR \\fIvalue\\fR ...] [\\-]\n.br\n\
         .B tarn check\n\\fIdirectory\\fR\n.br\n\
         .B tarn salvage\n\\fIdirectory\\fR \\fInew-directory\\fR\n.br\n\
         .B tarn ping\n[\\fIport\\fR | \\fIhost:port\\fR | \\fIsocket\\fR]\n.br\n\
         .B tarn \\-\\-version\n",
    );
    page.push_str(".SH DESCRIPTION\n.nf\n");
    page.push_str(&escape(HELP));
    page.push_str("\n.fi\n.SH OPTIONS\nThe same in a file (without the dashes), on the command line and, where it says live, in CONFIG SET.\n");
    for (section, title, text) in SECTIONS {
        if section == Section::Compatibility {
            continue;
        }
        page.push_str(&format!(".SS {title}\n"));
        if !text.is_empty() {
            page.push_str(&format!("{}\n", prose(text)));
        }
        for option in table::options().filter(|option| option.section == section) {
            page.push_str(&entry(option));
        }
    }
    page.push_str(
        ".PP\nOptions of Redis and Valkey that have no effect here are taken too, and named in the log.\n\
         .SH SIGNALS\nSIGTERM and SIGINT stop the server in order.\n\
         .SH EXIT STATUS\n0 after an orderly stop, 1 where the start was refused, 101 where a thread could not go on.\n\
         .SH FILES\n/etc/tarn/tarn.conf, /var/lib/tarn, /var/log/tarn/tarn.log: as the Debian package has them.\n\
         .SH SEE ALSO\n.BR redis-cli (1)\n",
    );
    page
}

fn entry(option: &Opt) -> String {
    let live = match option.change {
        Change::Live => ", live",
        Change::Start => "",
        Change::Protected => ", protected",
    };
    let default = if option.default.is_empty() { "empty" } else { option.default };
    format!(
        ".TP\n\\fB\\-\\-{}\\fR\n{} ({}; default {}{live})\n",
        escape(option.name),
        prose(option.help),
        prose(&values(option)),
        escape(default)
    )
}

/// Code in bold.
fn prose(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    pieces
        .map(|(i, piece)| if i % 2 == 1 { format!("\\fB{}\\fR", escape(piece)) } else { escape(piece) })
        .collect()
}

/// Dashes, backslashes and line beginnings mean something to roff.
fn escape(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}
