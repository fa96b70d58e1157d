//! The double as a program of its own.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use tikv_double::{Double, Flags, USAGE, obey};

fn main() -> ExitCode {
    let flags = match Flags::parse(std::env::args().skip(1)) {
        Ok(flags) => flags,
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if flags.help {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tikv-double: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: Flags) -> io::Result<()> {
    let double = Double::start(flags.options)?;
    let mut output = io::stdout();
    writeln!(output, "{}", double.pd_address())?;
    output.flush()?;
    if !flags.stdin {
        loop {
            std::thread::park();
        }
    }
    // Whoever started it ends it by closing the pipe, or by dying.
    for line in io::stdin().lock().lines() {
        writeln!(output, "{}", obey(&double, &line?))?;
        output.flush()?;
    }
    Ok(())
}
