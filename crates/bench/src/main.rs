//! Comparisons of Tarn with redis-server on one machine, and the promises that are numbers.
//!
//! Every suite starts the servers it needs on free loopback ports with data in temporary folders, and takes them down
//! again however it ends. Results are Markdown tables on standard output; progress goes to standard error.

mod args;
mod cleanup;
mod client;
mod load;
mod process;
mod report;
mod server;
mod suites;

use args::Args;
use report::Check;

/// Errors are for the person at the terminal: words are enough.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> std::process::ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            print!("{}", args::HELP);
            return std::process::ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("bench: {error}; --help lists the options");
            return std::process::ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(checks) => {
            report::print_checks(&checks);
            let missed = checks.iter().any(|check| !check.ok);
            if missed && args.check {
                std::process::ExitCode::FAILURE
            } else {
                std::process::ExitCode::SUCCESS
            }
        }
        Err(error) => {
            eprintln!("bench: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<Vec<Check>> {
    cleanup::install()?;
    process::raise_open_file_limit();
    report::print_heading(args);
    let mut checks = Vec::new();
    for suite in suites::chosen(&args.suite)? {
        eprintln!("bench: suite {}", suite.name);
        checks.extend((suite.run)(args)?);
    }
    Ok(checks)
}
