//! What is noted of a command that has run: its count and time; SLOWLOG and LATENCY where it took long; COMMANDLOG where it was
//! large; HOTKEYS where these are wanted.

use tarn_resp::Args as Words;

use super::redact;
use super::registry::Registered;
use super::spec::Flags;
use crate::clients::{Client, flag};
use crate::config::Config;
use crate::keyspace::clocks::place_of;
use crate::metrics::ThreadCounters;
use crate::metrics::slowlog::{self, Slow, Slowlog};
use crate::node::Node;

/// A command, whose it was and how long it took.
pub struct Ended<'a> {
    pub command: &'a Registered,
    pub words: Words<'a>,
    pub client: &'a Client,
    pub now_ms: u64,
    pub nanos: u64,
    /// Bytes of its reply.
    pub reply_len: usize,
}

/// From where on more is noted of a command than its count and time. Made of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notable {
    nanos: u64,
    reply_len: usize,
    /// Of the words, with as much around each as there can be on the wire.
    request_len: usize,
}

impl Notable {
    pub fn of(config: &Config) -> Notable {
        let slow = u64::try_from(config.slowlog_log_slower_than_micros).ok();
        let slow_nanos = slow.map_or(u64::MAX, |micros| micros.saturating_mul(1_000));
        let spike_nanos = match config.latency_monitor_threshold_millis {
            0 => u64::MAX,
            millis => millis.saturating_mul(1_000_000),
        };
        // A limit below 0 is none.
        let len = |limit: i64| usize::try_from(limit).unwrap_or(usize::MAX);
        Notable {
            nanos: slow_nanos.min(spike_nanos),
            reply_len: len(config.commandlog_reply_larger_than),
            request_len: len(config.commandlog_request_larger_than),
        }
    }

    #[inline]
    fn includes(&self, ended: &Ended<'_>) -> bool {
        ended.nanos >= self.nanos
            || ended.reply_len >= self.reply_len
            || most_wire_len(ended.words) >= self.request_len
    }
}

/// Notes a command. `notable` is of the same configuration.
#[inline]
pub fn note(node: &Node, config: &Config, notable: &Notable, counters: &ThreadCounters, ended: &Ended<'_>) {
    if let Some(counters) = counters.command(ended.command.id) {
        counters.took(ended.nanos);
    }
    if notable.includes(ended) || node.keyspace.clocks.is_on() || node.hotkeys.is_on() {
        note_more(node, config, ended);
    }
}

#[cold]
fn note_more(node: &Node, config: &Config, ended: &Ended<'_>) {
    let (micros, millis) = (ended.nanos / 1_000, ended.nanos / 1_000_000);
    let threshold = config.slowlog_log_slower_than_micros;
    if threshold >= 0 && micros >= threshold as u64 {
        put_down(&node.metrics.slowlog, config.slowlog_max_len, ended, micros);
    }
    if is_over(config.commandlog_reply_larger_than, ended.reply_len) {
        let (log, len) = (&node.metrics.large_replies, config.commandlog_large_reply_max_len);
        put_down(log, len, ended, ended.reply_len as u64);
    }
    // What goes around the words on the wire is counted only where it could matter.
    if is_over(config.commandlog_request_larger_than, most_wire_len(ended.words)) {
        note_large_request(node, config, ended);
    }
    if node.keyspace.clocks.is_on() {
        touch(node, ended);
    }
    if node.hotkeys.is_on() {
        node.hotkeys.note(ended, wire_len(ended.words));
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
        let ended = Ended { command, words, client: &nobody, now_ms, nanos, reply_len: 0 };
        put_down(&node.metrics.slowlog, config.slowlog_max_len, &ended, micros);
    }
}

/// Notes that keys were used, unless the client does not want that.
fn touch(node: &Node, ended: &Ended<'_>) {
    let (client, spec) = (ended.client, ended.command.spec);
    if client.has(flag::NO_TOUCH) {
        return;
    }
    for (at, _) in spec.keys.positions(ended.words) {
        if let Some(key) = ended.words.get(at) {
            let place = place_of(node.keyspace.seed(), client.db(), key);
            node.keyspace.clocks.touch(place, spec.is_write(), ended.now_ms);
        }
    }
}

/// Bytes that stand around a word on the wire, at most: `$`, a number, and two line ends.
const MAX_FRAME: usize = 1 + 20 + 2 + 2;

/// How long a command is on the wire at most.
#[inline]
fn most_wire_len(words: Words<'_>) -> usize {
    words.span() + MAX_FRAME * (1 + words.len())
}

/// A limit below 0 is none.
fn is_over(limit: i64, len: usize) -> bool {
    limit >= 0 && len as u64 >= limit as u64
}

/// How long a command is on the wire.
fn wire_len(words: Words<'_>) -> usize {
    let digits = |number: usize| itoa::Buffer::new().format(number).len();
    let framed = |len: usize| 1 + digits(len) + 2 + len + 2;
    1 + digits(words.len()) + 2 + words.iter().map(|word| framed(word.len())).sum::<usize>()
}

#[cold]
fn note_large_request(node: &Node, config: &Config, ended: &Ended<'_>) {
    let len = wire_len(ended.words);
    if is_over(config.commandlog_request_larger_than, len) {
        let max_len = config.commandlog_large_request_max_len;
        put_down(&node.metrics.large_requests, max_len, ended, len as u64);
    }
}

#[cold]
fn put_down(log: &Slowlog, max_len: usize, ended: &Ended<'_>, amount: u64) {
    if ended.command.spec.flags.has(Flags::SKIP_SLOWLOG) {
        return;
    }
    let redacted = redact::redacted(ended.command, ended.words);
    let words = redacted.as_ref().map_or(ended.words, |redacted| redacted.view());
    let slow = Slow {
        id: 0,
        at_secs: ended.now_ms / 1_000,
        amount,
        args: slowlog::shorten(words),
        addr: ended.client.addr.to_string(),
        name: ended.client.labels().name,
    };
    log.push(slow, max_len);
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
        let ended = Ended {
            command,
            words: words.view(),
            client,
            now_ms: kit.now_ms,
            nanos: micros * 1_000,
            reply_len: 5,
        };
        let config = kit.node.config.current();
        note(&kit.node, &config, &Notable::of(&config), &kit.executor.counters, &ended);
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

    #[test]
    fn what_is_large_is_noted_with_its_length() {
        let mut kit = Kit::with(&[
            ("commandlog-request-larger-than", "30"),
            ("commandlog-reply-larger-than", "6"),
            ("commandlog-large-request-max-len", "2"),
        ]);
        // *2 $4 ECHO $3 abc, with their line ends: 4 + 10 + 9.
        end(&kit, "ECHO abc", 0);
        assert_eq!(kit.run("COMMANDLOG LEN large-request | COMMANDLOG LEN large-reply"), ":0 | :0");
        for _ in 0..3 {
            end(&kit, "ECHO 0123456789", 0);
        }
        assert_eq!(kit.run("COMMANDLOG LEN large-request"), ":2");
        let log = kit.run("COMMANDLOG GET 1 Large-Request");
        assert!(log.starts_with("[[:2 :1700000000 :31 [\"ECHO\" \"0123456789\"]"), "{log}");
        assert_eq!(kit.run("COMMANDLOG RESET large-request | COMMANDLOG LEN large-request"), "+OK | :0");
    }
}
