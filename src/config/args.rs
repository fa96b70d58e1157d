//! The command line: `tarn [config-file] [-] [--option value ...]`, as redis-server reads its own.
//!
//! The file comes first, then the standard input (`-`), then the flags; the last value of an option counts.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::load::{LoadError, Loaded, Loader};
use super::words;
use crate::offline::Work;

/// What the command line asks for.
#[derive(Debug)]
pub enum Invocation {
    Run(Box<Loaded>),
    /// Not a server: `check` and `salvage`.
    Offline(Work),
    /// Whether the server there answers.
    Ping(String),
    Version,
    Help,
}

pub const HELP: &str = "\
Usage: tarn [/path/to/tarn.conf] [--option value ...] [-]
       tarn - (read the configuration from the standard input)
       tarn check /path/to/data (reads all of it and says what is damaged)
       tarn salvage /path/to/data /path/to/new (writes what can be read into a new directory)
       tarn ping [port, host:port or socket] (whether a server answers; for health checks)
       tarn -v or --version
       tarn -h or --help

Examples:
       tarn (run with the defaults, data in the current directory)
       tarn /etc/tarn/tarn.conf
       tarn --port 7777 --dir /var/lib/tarn
       tarn /etc/tarn/tarn.conf --appendfsync always
       echo 'maxmemory 128mb' | tarn - --port 7777

Options of the file and of the command line are the same; docs/config.md lists them.";

/// `args` without the program's name.
pub fn read(args: &[OsString], stdin: impl Read) -> Result<Invocation, LoadError> {
    match args {
        [only] if only == "-v" || only == "--version" => return Ok(Invocation::Version),
        [only] if only == "-h" || only == "--help" => return Ok(Invocation::Help),
        [word] if word == "ping" => return Ok(Invocation::Ping("6379".into())),
        [word, target] if word == "ping" => {
            return Ok(Invocation::Ping(target.as_bytes().escape_ascii().to_string()));
        }
        [word, dir] if word == "check" => return Ok(Invocation::Offline(Work::Check { dir: dir.into() })),
        [word, dir, new] if word == "salvage" => {
            return Ok(Invocation::Offline(Work::Salvage { dir: dir.into(), new: new.into() }));
        }
        _ => {}
    }
    let mut loader = Loader::default();
    let mut rest = args;
    if let Some((first, after)) = args.split_first()
        && !first.as_bytes().starts_with(b"-")
    {
        loader.main_file(Path::new(first))?;
        rest = after;
    }
    // A lone `-` is the standard input in front and at the end, and a value anywhere else.
    let mut wants_stdin = false;
    if let Some((first, after)) = rest.split_first()
        && first == "-"
    {
        wants_stdin = true;
        rest = after;
    }
    if let Some((last, before)) = rest.split_last()
        && last == "-"
        && !wants_stdin
    {
        wants_stdin = true;
        rest = before;
    }
    if wants_stdin {
        loader.stdin(stdin)?;
    }
    for flag in flags(rest) {
        loader.flag(&flag)?;
    }
    loader.finish().map(|loaded| Invocation::Run(Box::new(loaded)))
}

/// Groups the arguments by option. The argument behind a name is its value even if it begins with `--`, so that a
/// password may; further values end at the next `--`. Name and values may also come as one argument.
fn flags(args: &[OsString]) -> Vec<Vec<Vec<u8>>> {
    let mut flags: Vec<Vec<Vec<u8>>> = Vec::new();
    let mut value_due = false;
    for (index, arg) in args.iter().map(|arg| arg.as_bytes()).enumerate() {
        match arg.strip_prefix(b"--") {
            Some(name) if !value_due => {
                let words = words::split(name).unwrap_or_else(|| vec![name.to_vec()]);
                value_due = words.len() == 1;
                let next = args.get(index + 1).map(|next| OsStr::as_bytes(next));
                let mut flag = words;
                // `--save` alone is the way to say "no save points".
                if flag.first().is_some_and(|name| name.eq_ignore_ascii_case(b"save"))
                    && value_due
                    && next.is_none_or(|next| next.starts_with(b"--"))
                {
                    flag.push(Vec::new());
                    value_due = false;
                }
                flags.push(flag);
            }
            _ => {
                value_due = false;
                match flags.last_mut() {
                    Some(flag) => flag.push(arg.to_vec()),
                    None => flags.push(vec![arg.to_vec()]),
                }
            }
        }
    }
    flags
}
