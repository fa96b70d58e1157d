//! How the double is set up, by a program or by flags.

use std::time::Duration;

use crate::faults::Rates;

#[derive(Clone, Debug)]
pub struct Options {
    /// Where PD listens. The stores listen on free ports of the same host.
    pub listen: String,
    pub stores: u64,
    pub cluster_id: u64,
    /// Of everything that happens by chance.
    pub seed: u64,
    pub rates: Rates,
    /// A region that has more keys than this splits. 0: none does by itself.
    pub split_keys: usize,
    /// Bounds that are there from the beginning.
    pub split_at: Vec<Vec<u8>>,
    /// How long a pessimistic lock is waited for.
    pub lock_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            stores: 3,
            cluster_id: 7_001,
            seed: 1,
            rates: Rates::default(),
            split_keys: 0,
            split_at: Vec::new(),
            lock_wait: Duration::from_secs(1),
        }
    }
}

pub const USAGE: &str = "\
tikv-double: PD and TiKV for tests, in memory, with faults on demand

It prints PD's address as its first line.

  --listen HOST:PORT      where PD listens (127.0.0.1:0)
  --stores N              number of stores (3)
  --seed N                of everything that happens by chance (1)
  --split-keys N          a region with more keys splits (0: never)
  --split-at KEY          a bound from the beginning; may be given often
  --lock-wait-ms N        how long a pessimistic lock is waited for (1000)
  --stdin                 take commands from standard input, end with it; `help` lists them

Chances per request, from 0 to 1 (0):
  --region-error P  --busy P  --conflict P  --abandoned-lock P  --split P  --move-leader P
  --unavailable P  --unavailable-after P  --timeout-before P  --timeout-after P
  --late P  --delay P  --max-delay-ms N
";

/// What the flags of the program ask for.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub options: Options,
    pub stdin: bool,
    pub help: bool,
}

impl Flags {
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut flags = Self::default();
        let mut args = args.into_iter();
        while let Some(flag) = args.next() {
            match flag.as_str() {
                "--stdin" => flags.stdin = true,
                "--help" | "-h" => flags.help = true,
                _ => {
                    let value = args.next().ok_or_else(|| format!("{flag}: a value is missing"))?;
                    set(&mut flags.options, &flag, &value)?;
                }
            }
        }
        Ok(flags)
    }
}

fn set(options: &mut Options, flag: &str, value: &str) -> Result<(), String> {
    match flag {
        "--listen" => options.listen = value.to_owned(),
        "--stores" => options.stores = number(flag, value)?.max(1),
        "--seed" => options.seed = number(flag, value)?,
        "--split-keys" => options.split_keys = number(flag, value)? as usize,
        "--split-at" => options.split_at.push(value.as_bytes().to_vec()),
        "--lock-wait-ms" => options.lock_wait = Duration::from_millis(number(flag, value)?),
        _ => set_rate(&mut options.rates, flag, value)?,
    }
    Ok(())
}

/// Sets one chance by the name of its flag.
pub fn set_rate(rates: &mut Rates, flag: &str, value: &str) -> Result<(), String> {
    let rate = match flag.trim_start_matches('-') {
        "region-error" => &mut rates.region_error,
        "busy" => &mut rates.busy,
        "conflict" => &mut rates.conflict,
        "abandoned-lock" => &mut rates.abandoned_lock,
        "split" => &mut rates.split,
        "move-leader" => &mut rates.move_leader,
        "unavailable" => &mut rates.unavailable,
        "unavailable-after" => &mut rates.unavailable_after,
        "timeout-before" => &mut rates.timeout_before,
        "timeout-after" => &mut rates.timeout_after,
        "late" => &mut rates.late,
        "delay" => &mut rates.delay,
        "max-delay-ms" => {
            rates.max_delay = Duration::from_millis(number(flag, value)?);
            return Ok(());
        }
        _ => return Err(format!("{flag}: not known")),
    };
    *rate = value
        .parse()
        .ok()
        .filter(|chance| (0.0..=1.0).contains(chance))
        .ok_or_else(|| format!("{flag}: {value} is not a chance from 0 to 1"))?;
    Ok(())
}

fn number(flag: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{flag}: {value} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Flags, String> {
        Flags::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_say_what_is_wanted() {
        let flags =
            parse("--seed 9 --stores 5 --split-at m --split-at t --conflict 0.01 --delay 1 --stdin").unwrap();
        assert_eq!((flags.options.seed, flags.options.stores, flags.stdin), (9, 5, true));
        assert_eq!(flags.options.split_at, [b"m".to_vec(), b"t".to_vec()]);
        assert_eq!(flags.options.rates, Rates { conflict: 0.01, delay: 1.0, ..Rates::default() });
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for line in ["--seed", "--seed x", "--conflict 1.5", "--conflict -1", "--never 1"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn every_flag_is_in_the_help() {
        for flag in
            ["--listen", "--stores", "--split-keys", "--lock-wait-ms", "--timeout-after", "--max-delay-ms"]
        {
            assert!(USAGE.contains(flag), "{flag}");
        }
    }
}
