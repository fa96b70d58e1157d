//! What is noted of a command that has run: its count and time, and, where it took long, SLOWLOG and LATENCY.

use tarn_resp::Args as Words;

use super::redact;
use super::registry::Registered;
use super::spec::Flags;
use crate::clients::Client;
use crate::config::Config;
use crate::metrics::ThreadCounters;
use crate::metrics::slowlog::{self, Slow};
use crate::node::Node;

/// A command, whose it was and how long it took.
pub struct Ended<'a> {
    pub command: &'a Registered,
    pub words: Words<'a>,
    pub client: &'a Client,
    pub now_ms: u64,
    pub nanos: u64,
}

pub fn note(node: &Node, config: &Config, counters: &ThreadCounters, ended: &Ended<'_>) {
    if let Some(counters) = counters.command(ended.command.id) {
        counters.took(ended.nanos);
    }
    let (micros, millis) = (ended.nanos / 1_000, ended.nanos / 1_000_000);
    let threshold = config.slowlog_log_slower_than_micros;
    if threshold >= 0 && micros >= threshold as u64 {
        note_slow(node, config, ended, micros);
    }
    if config.latency_monitor_threshold_millis != 0 && millis >= config.latency_monitor_threshold_millis {
        let event = if ended.command.spec.flags.has(Flags::FAST) { "fast-command" } else { "command" };
        node.metrics.spikes.add(event, ended.now_ms / 1_000, millis);
    }
}

/// Notes a call of a script if it was slow. It has no client of its own.
pub fn note_in_script(node: &Node, config: &Config, (command, words): (&Registered, Words<'_>), nanos: u64) {
    let (micros, threshold) = (nanos / 1_000, config.slowlog_log_slower_than_micros);
    if threshold >= 0 && micros >= threshold as u64 {
        let now_ms = node.clock.now_ms();
        let nobody = Client::new(0, 0, -1, String::new(), String::new(), now_ms);
        note_slow(node, config, &Ended { command, words, client: &nobody, now_ms, nanos }, micros);
    }
}

#[cold]
fn note_slow(node: &Node, config: &Config, ended: &Ended<'_>, micros: u64) {
    if ended.command.spec.flags.has(Flags::SKIP_SLOWLOG) {
        return;
    }
    let redacted = redact::redacted(ended.command, ended.words);
    let words = redacted.as_ref().map_or(ended.words, |redacted| redacted.view());
    let slow = Slow {
        id: 0,
        at_secs: ended.now_ms / 1_000,
        micros,
        args: slowlog::shorten(words),
        addr: ended.client.addr.to_string(),
        name: ended.client.labels().name,
    };
    node.metrics.slowlog.push(slow, config.slowlog_max_len);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::gate;
    use crate::testkit::Kit;

    fn end(kit: &Kit, line: &str, micros: u64) {
        let words: tarn_resp::OwnedArgs = line.split(' ').collect();
        let (command, _) = gate::find(words.view()).unwrap();
        let client = &kit.session.client;
        let ended = Ended { command, words: words.view(), client, now_ms: kit.now_ms, nanos: micros * 1_000 };
        note(&kit.node, &kit.node.config.current(), &kit.executor.counters, &ended);
    }

    #[test]
    fn what_took_long_is_noted_and_secrets_are_not() {
        let mut kit = Kit::with(&[("slowlog-log-slower-than", "1000"), ("latency-monitor-threshold", "2")]);
        end(&kit, "ECHO a", 999);
        assert_eq!(kit.run("SLOWLOG LEN"), ":0");
        end(&kit, "ECHO b", 1_000);
        end(&kit, "AUTH secret", 1_999);
        let log = kit.run("SLOWLOG GET");
        assert!(log.contains("[\"AUTH\" \"(redacted)\"]") && log.contains("[\"ECHO\" \"b\"]"), "{log}");
        assert_eq!(kit.run("LATENCY LATEST"), "[]");
        end(&kit, "ECHO c", 2_000);
        end(&kit, "INFO", 3_000);
        let latest = kit.run("LATENCY LATEST");
        assert!(
            latest.contains("[\"command\" :1700000000 :3 :3] [\"fast-command\" :1700000000 :2 :2]"),
            "{latest}"
        );
    }

    #[test]
    fn the_log_can_be_off_or_take_all() {
        let mut kit = Kit::with(&[("slowlog-log-slower-than", "-1")]);
        end(&kit, "ECHO a", 1_000_000);
        assert_eq!(kit.run("SLOWLOG LEN"), ":0");
        let mut kit = Kit::with(&[("slowlog-log-slower-than", "0"), ("slowlog-max-len", "2")]);
        for _ in 0..3 {
            end(&kit, "ECHO a", 0);
        }
        assert_eq!(kit.run("SLOWLOG LEN | LATENCY LATEST"), ":2 | []");
    }
}
