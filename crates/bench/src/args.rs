//! What the user asked for.

use std::path::PathBuf;

use crate::Result;

pub const HELP: &str = "\
make bench ARGS=\"...\"

  --suite NAME         throughput (default), collections, units, tls, idle-connections, cold, recovery, sustained, bigkey, stream, maxdisk, flushall, pubsub, fields, users, tikv, or all
  --check              exit with an error when a target is missed
  --quick              fewer rounds and requests: a look, not a measurement
  --server PATH        the server under test (default: the tarn beside this program); a redis-server works too
  --server-args WORDS  further options for it, in one word: \"--io-threads 1 --engine memory\"
  --redis PATH         the server to compare with (default: redis-server)
  --dir PATH           where the servers' data goes (default: the system's temporary folder)

throughput:
  --only NAME,NAME     workloads, by the start of their names (GET SET INCR MSET; of fields: COMMANDS REAPING; of
                       units: BLOCKED SCRIPT beside its lines)
  --pipeline N,N       pipeline depths (default 1,16,64)
  --rounds N           runs of each, alternating between the servers; the table shows medians (default 5)
  --requests N         requests of one run at pipeline 16 (default 1000000; other depths in proportion)
  --clients N          connections (default 50)
  --threads N          threads of redis-benchmark (default 1)

other suites:
  --keys N             keys of cold and flushall (default 4000000)
  --connections N      of idle-connections and of BLOCKED (default 10000)
  --seconds N          of sustained and maxdisk (default 60)
";

#[derive(Debug, Clone)]
pub struct Args {
    pub suite: String,
    pub check: bool,
    pub quick: bool,
    pub server: Option<PathBuf>,
    pub server_args: Vec<String>,
    pub redis: PathBuf,
    pub dir: PathBuf,
    pub only: Vec<String>,
    pub pipelines: Vec<u32>,
    pub rounds: u32,
    pub requests: u64,
    pub clients: u32,
    pub threads: u32,
    pub keys: u64,
    pub connections: u64,
    pub seconds: u64,
    /// Both servers are spoken with over TLS; a suite says so.
    pub tls: bool,
}

impl Default for Args {
    fn default() -> Args {
        Args {
            suite: "throughput".into(),
            check: false,
            quick: false,
            server: None,
            server_args: Vec::new(),
            redis: "redis-server".into(),
            dir: std::env::temp_dir(),
            only: Vec::new(),
            pipelines: vec![1, 16, 64],
            rounds: 5,
            requests: 1_000_000,
            clients: 50,
            threads: 1,
            keys: 4_000_000,
            connections: 10_000,
            seconds: 60,
            tls: false,
        }
    }
}

impl Args {
    /// `None` when help was asked for.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Option<Args>> {
        let mut args = Args::default();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--help" | "-h" => return Ok(None),
                "--check" => args.check = true,
                "--quick" => {
                    args.quick = true;
                    args.rounds = 3;
                    args.requests = 300_000;
                }
                "--suite" => args.suite = value()?,
                "--server" => args.server = Some(value()?.into()),
                "--server-args" => {
                    args.server_args = value()?.split_whitespace().map(str::to_owned).collect()
                }
                "--redis" => args.redis = value()?.into(),
                "--dir" => args.dir = value()?.into(),
                "--only" => args.only = value()?.split(',').map(str::to_ascii_uppercase).collect(),
                "--pipeline" => {
                    args.pipelines = value()?
                        .split(',')
                        .map(|depth| number(&word, depth, 1, 1024))
                        .collect::<Result<_>>()?;
                }
                "--rounds" => args.rounds = number(&word, &value()?, 1, 100)?,
                "--requests" => args.requests = number(&word, &value()?, 1_000, 1_000_000_000)?,
                "--clients" => args.clients = number(&word, &value()?, 1, 10_000)?,
                "--threads" => args.threads = number(&word, &value()?, 1, 64)?,
                "--keys" => args.keys = number(&word, &value()?, 1_000, 1_000_000_000)?,
                "--connections" => args.connections = number(&word, &value()?, 1, 25_000)?,
                "--seconds" => args.seconds = number(&word, &value()?, 1, 3_600)?,
                _ => return Err(format!("unknown option '{word}'").into()),
            }
        }
        Ok(Some(args))
    }
}

fn number<T: std::str::FromStr + PartialOrd + std::fmt::Display>(
    option: &str,
    text: &str,
    least: T,
    most: T,
) -> Result<T> {
    match text.parse::<T>() {
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(format!("{option} takes a number from {least} to {most}, not '{text}'").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Args>> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read_and_bounded() {
        let args = parse("--only get,set --pipeline 1,64 --rounds 100 --check").unwrap().unwrap();
        assert_eq!(args.only, ["GET", "SET"]);
        assert_eq!(args.pipelines, [1, 64]);
        assert_eq!(args.rounds, 100);
        assert!(args.check);
        assert!(parse("--rounds 101").unwrap_err().to_string().contains("from 1 to 100"));
        assert!(parse("--rounds").unwrap_err().to_string().contains("needs a value"));
        assert!(parse("--no-such").unwrap_err().to_string().contains("--no-such"));
        assert!(parse("--help").unwrap().is_none());
    }
}
