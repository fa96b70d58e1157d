//! Arguments to configuration to server to exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use tarn::config::args::{self, Invocation};
use tarn::config::load::{LoadError, Loaded};
use tarn::dispatch::registry::registry;
use tarn::logging::Logging;
use tarn::pidfile::PidFile;
use tarn::server::Ended;
use tarn::supervision::Supervisor;

/// One allocator for Rust and C++, so that memory is counted and given back in one place.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Freed pages go back to the system within a quarter of a second, not within ten: a table of dirty rows is freed as a whole, and
/// `maxmemory` is a promise about what the process takes.
// SAFETY: the allocator reads a symbol of this name and type, and nothing else defines it.
#[unsafe(export_name = "malloc_conf")]
pub static ALLOCATOR_OPTIONS: &[u8; 42] = b"background_thread:true,dirty_decay_ms:250\0";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args::read(&arguments, std::io::stdin()) {
        Ok(Invocation::Version) => {
            println!("{}", tarn::version::text(option_env!("TARN_COMMIT")));
            ExitCode::SUCCESS
        }
        Ok(Invocation::Help) => {
            println!("{}", args::HELP);
            ExitCode::SUCCESS
        }
        Ok(Invocation::Run(loaded)) => run(*loaded),
        Ok(Invocation::Ping(target)) => match tarn::ping::ping(&target) {
            Ok(reply) => {
                println!("{reply}");
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprintln!("{why}");
                ExitCode::FAILURE
            }
        },
        Ok(Invocation::Offline(work)) => tarn::offline::run(&work, &mut std::io::stdout()),
        Err(error) => {
            eprintln!("\n{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(loaded: Loaded) -> ExitCode {
    let config = &loaded.config;
    if let Err(reason) = registry().rename(&config.renamed_commands) {
        eprintln!("\n{}", LoadError::Refused { name: "rename-command", reason: reason.into() });
        return ExitCode::FAILURE;
    }
    let mut supervisor = match Supervisor::begin(config) {
        Ok(supervisor) => supervisor,
        Err(error) => {
            eprintln!("tarn: daemonize or supervised: {error}");
            return ExitCode::FAILURE;
        }
    };
    let logging = match Logging::init(config.loglevel, &config.logfile) {
        Ok(logging) => logging,
        Err(error) => {
            eprintln!("Can't open the log file '{}': {error}", config.logfile.display());
            return ExitCode::FAILURE;
        }
    };
    tarn::fatal::end_on_panic();
    if !loaded.without_effect.is_empty() {
        tracing::info!("options without effect here: {}", loaded.without_effect.join(", "));
    }
    for note in &loaded.notes {
        tracing::warn!("{note}");
    }
    let pidfile = match PidFile::create(&config.pidfile) {
        Ok(file) => file,
        Err(error) => {
            tracing::warn!("could not write the pid file {}: {error}", config.pidfile.display());
            None
        }
    };
    match tarn::server::run(loaded.config, &mut supervisor) {
        Ok(Ended::InOrder) => ExitCode::SUCCESS,
        Ok(Ended::WhileLoading) => {
            drop(pidfile);
            drop(logging);
            tarn::fatal::leave();
        }
        Err(error) => {
            tracing::error!("{error}");
            eprintln!("tarn: {error}");
            ExitCode::FAILURE
        }
    }
}
