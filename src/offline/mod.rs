//! Work on a data directory that no server has open: `tarn check DIR` and `tarn salvage DIR NEW`.

mod check;
mod salvage;
mod survey;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Reads everything and says what is damaged.
    Check { dir: PathBuf },
    /// Writes what can be read into a new directory.
    Salvage { dir: PathBuf, new: PathBuf },
}

/// What is to be told, and whether all was well.
pub(crate) type Outcome = Result<bool, String>;

/// Does it and reports to `out`. Fails where anything is damaged or left out.
pub fn run(work: &Work, out: &mut dyn Write) -> ExitCode {
    let mut say = |line: &str| {
        // Who does not listen is told by the exit code.
        let _ = writeln!(out, "{line}");
    };
    let outcome = match work {
        Work::Check { dir } => check::check(dir, &mut say),
        Work::Salvage { dir, new } => salvage::salvage(dir, new, &mut say),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            say(&why);
            ExitCode::FAILURE
        }
    }
}

/// A name as a report shows it.
fn shown(name: &[u8]) -> String {
    const MAX: usize = 64;
    let cut = name.get(..MAX);
    let dots = if cut.is_some_and(|cut| cut.len() < name.len()) { "..." } else { "" };
    format!("'{}'{dots}", cut.unwrap_or(name).escape_ascii())
}
