//! MONITOR: how a command looks to those who watch.

use std::sync::Arc;

use tarn_resp::Args as Words;

use super::redact;
use super::registry::Registered;
use super::spec::{Flags, Run};
use crate::clients::Client;
use crate::node::Node;

/// Shows a command that begins to everybody who watches.
pub fn feed(node: &Node, client: &Client, db: u16, command: &Registered, words: Words<'_>) {
    // The calls of a script come behind it.
    let is_script = matches!(command.spec.run, Run::Script(_));
    let flags = command.spec.flags;
    let is_hidden = flags.has(Flags::SKIP_MONITOR) && !is_script || flags.has(Flags::ADMIN);
    if is_hidden || node.clients.monitors() == 0 {
        return;
    }
    let redacted = redact::redacted(command, words);
    let words = redacted.as_ref().map_or(words, |redacted| redacted.view());
    let line = line(node.clock.now_us(), db, &client.addr, words);
    let Some(post) = node.post() else { return };
    for thread in node.clients.monitor_threads() {
        post.feed_monitors(thread, line.clone());
    }
}

/// The line for one command, as bytes of either protocol.
pub fn line(now_us: u64, db: u16, addr: &str, words: Words<'_>) -> Arc<[u8]> {
    let mut text = format!("+{}.{:06} [{db} {addr}]", now_us / 1_000_000, now_us % 1_000_000).into_bytes();
    for word in words.iter() {
        text.push(b' ');
        quote(word, &mut text);
    }
    text.extend_from_slice(b"\r\n");
    text.into()
}

/// A word between quotes, escaped as redis-cli reads it.
fn quote(word: &[u8], text: &mut Vec<u8>) {
    text.push(b'"');
    for byte in word {
        match byte {
            b'\\' | b'"' => text.extend_from_slice(&[b'\\', *byte]),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\r' => text.extend_from_slice(b"\\r"),
            b'\t' => text.extend_from_slice(b"\\t"),
            0x07 => text.extend_from_slice(b"\\a"),
            0x08 => text.extend_from_slice(b"\\b"),
            0x20..=0x7e => text.push(*byte),
            other => text.extend_from_slice(format!("\\x{other:02x}").as_bytes()),
        }
    }
    text.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line() {
        let words: tarn_resp::OwnedArgs = [&b"SET"[..], b"a\"\r\n", b"\x00\xff"].iter().collect();
        let line = line(1_339_518_083_107_412, 3, "127.0.0.1:60866", words.view());
        assert_eq!(
            &line[..],
            b"+1339518083.107412 [3 127.0.0.1:60866] \"SET\" \"a\\\"\\r\\n\" \"\\x00\\xff\"\r\n"
        );
    }
}
