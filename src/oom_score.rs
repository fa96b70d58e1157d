//! How readily the kernel ends this process when memory is short: `oom-score-adj`.

use std::io;
use std::sync::OnceLock;

use crate::config::{Config, OomScoreAdj};

const FILE: &str = "/proc/self/oom_score_adj";
/// What the kernel takes.
const MOST: i32 = 1_000;

/// What the process was started with, once it was changed.
static AT_START: OnceLock<i32> = OnceLock::new();

/// Also to be called when the options change: `no` brings the first score back.
pub fn apply(config: &Config) {
    if let Err(error) = try_apply(config) {
        tracing::warn!(%error, "oom-score-adj {}: the score stays as it is", config.oom_score_adj_values);
    }
}

fn try_apply(config: &Config) -> io::Result<()> {
    if config.oom_score_adj == OomScoreAdj::No && AT_START.get().is_none() {
        return Ok(());
    }
    let at_start = match AT_START.get() {
        Some(score) => *score,
        None => {
            let text = std::fs::read_to_string(FILE)?;
            let score = text.trim().parse().map_err(io::Error::other)?;
            *AT_START.get_or_init(|| score)
        }
    };
    std::fs::write(FILE, score(config, at_start).to_string())
}

fn score(config: &Config, at_start: i32) -> i32 {
    let [given, _, _] = config.oom_score_adj_values.0;
    let score = match config.oom_score_adj {
        OomScoreAdj::No => at_start,
        OomScoreAdj::Yes | OomScoreAdj::Relative => at_start + given,
        OomScoreAdj::Absolute => given,
    };
    score.clamp(-MOST, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OomScores;

    #[test]
    fn scores_count_from_the_start_or_alone() {
        let of = |mode, first, at_start| {
            let mut config = Config::default();
            config.oom_score_adj = mode;
            config.oom_score_adj_values = OomScores([first, 200, 800]);
            score(&config, at_start)
        };
        assert_eq!(of(OomScoreAdj::No, 7, 100), 100);
        assert_eq!((of(OomScoreAdj::Yes, 7, 100), of(OomScoreAdj::Relative, 7, 100)), (107, 107));
        assert_eq!(of(OomScoreAdj::Absolute, 7, 100), 7);
        assert_eq!(
            (of(OomScoreAdj::Relative, 2_000, 0), of(OomScoreAdj::Absolute, -2_000, 0)),
            (1_000, -1_000)
        );
    }
}
