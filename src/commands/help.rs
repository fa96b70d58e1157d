//! What HELP of a container answers, in the form redis-cli users know.

use crate::dispatch::session::Answer;
use crate::reply::Reply;

/// The lines of a container's HELP. `usage` holds a subcommand's form in a line of its own and, indented, what it does.
pub fn help(title: &'static str, usage: &[&'static str]) -> Answer {
    let mut lines = Vec::with_capacity(usage.len() + 3);
    lines.push(Reply::Simple(title));
    lines.extend(usage.iter().map(|line| Reply::Simple(line)));
    lines.push(Reply::Simple("HELP"));
    lines.push(Reply::Simple("    Prints this help."));
    Answer::Reply(Reply::Array(lines))
}
