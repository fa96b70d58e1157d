//! INFO before the data is there: who this is, and how far it is.

use std::time::{Duration, Instant};

use tarn_engine::rocksdb;

use super::Text;
use crate::commands::connection::REDIS_VERSION;
use crate::config::Config;
use crate::metrics::process;

/// Of the data that is being loaded.
pub struct Loading {
    pub engine: rocksdb::Progress,
    began: Instant,
    began_ms: u64,
}

impl Loading {
    pub fn begin(now_ms: u64) -> Loading {
        Loading { engine: rocksdb::Progress::default(), began: Instant::now(), began_ms: now_ms }
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The sections that are known this early; of those that were named, if any were.
    pub fn text(&self, config: &Config, clients: usize, names: &[&[u8]]) -> String {
        let everything: [&[u8]; 3] = [b"all", b"everything", b"default"];
        let is_wanted = |section: &str| {
            let asks = |name: &&[u8]| {
                name.eq_ignore_ascii_case(section.as_bytes())
                    || everything.iter().any(|all| name.eq_ignore_ascii_case(all))
            };
            names.is_empty() || names.iter().any(asks)
        };
        let mut text = Text(String::new());
        if is_wanted("server") {
            text.heading("Server");
            text.field("redis_version", REDIS_VERSION);
            text.field("redis_mode", if config.cluster_enabled { "cluster" } else { "standalone" });
            text.field("os", process::system());
            text.field("process_id", std::process::id());
            text.field("tcp_port", config.port);
            text.field("uptime_in_seconds", self.elapsed().as_secs());
        }
        if is_wanted("clients") {
            text.heading("Clients");
            text.field("connected_clients", clients);
        }
        if is_wanted("persistence") {
            text.heading("Persistence");
            self.persistence(&mut text);
        }
        text.0
    }

    fn persistence(&self, text: &mut Text) {
        let (read, total) = self.engine.log_bytes();
        let part = read as f64 / total.max(1) as f64;
        let left = self.elapsed().as_secs_f64() * (1.0 - part) / part.max(0.001);
        text.field("loading", 1);
        text.field("async_loading", 0);
        text.field("loading_start_time", self.began_ms / 1_000);
        text.field("loading_total_bytes", total);
        text.field("loading_rdb_used_mem", 0);
        text.field("loading_loaded_bytes", read);
        text.field("loading_loaded_perc", format_args!("{:.2}", part * 100.0));
        text.field("loading_eta_seconds", left.ceil() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_shown_as_they_are_named() {
        let loading = Loading::begin(7_000);
        let config = Config::default();
        let headings = |names: &[&[u8]]| {
            let text = loading.text(&config, 1, names);
            text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(headings(&[]), ["# Server", "# Clients", "# Persistence"]);
        assert_eq!(headings(&[b"ALL"]), headings(&[]));
        assert_eq!(headings(&[b"Persistence", b"nope"]), ["# Persistence"]);
        assert_eq!(headings(&[b"keyspace"]), [""; 0]);
        let text = loading.text(&config, 1, &[b"persistence"]);
        assert!(
            text.starts_with("# Persistence\r\nloading:1\r\nasync_loading:0\r\nloading_start_time:7\r\n")
        );
    }
}
