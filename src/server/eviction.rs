//! `maxmemory-clients`: when the buffers of all clients together are more, those who hold the most are let go.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::clients::{Client, flag};
use crate::node::Node;

/// Buffers of less than this in all are no reason to look at anybody.
const NEVER_TOO_MUCH_BYTES: u64 = 1 << 20;

fn held(client: &Client) -> usize {
    client.query_bytes() + client.reply_bytes() + client.queued_bytes()
}

/// Those whose end brings the buffers of all within the limit: the largest, and as few as that takes. Who asked for it
/// with CLIENT NO-EVICT stays.
fn victims(clients: &[Arc<Client>], limit_bytes: usize) -> Vec<Arc<Client>> {
    let mut total: usize = clients.iter().map(|client| held(client)).sum();
    if total <= limit_bytes {
        return Vec::new();
    }
    let mut evictable: Vec<_> =
        clients.iter().filter(|client| !client.has(flag::NO_EVICT) && held(client) > 0).collect();
    evictable.sort_unstable_by_key(|client| std::cmp::Reverse(held(client)));
    let largest = evictable.into_iter().take_while(|client| {
        let is_needed = total > limit_bytes;
        total = total.saturating_sub(held(client));
        is_needed
    });
    largest.cloned().collect()
}

/// Looks at the buffers of all clients, as their threads last told them.
pub fn evict(node: &Node) {
    let total = node.metrics.sum(|thread| thread.client_bytes.load(Relaxed));
    if total <= NEVER_TOO_MUCH_BYTES {
        return;
    }
    let Some(limit) = node.config.current().memory().clients_bytes.filter(|limit| total > *limit) else {
        return;
    };
    for client in victims(&node.clients.list(), usize::try_from(limit).unwrap_or(usize::MAX)) {
        tracing::warn!(
            client = client.id,
            bytes = held(&client),
            "a client was closed: maxmemory-clients is passed"
        );
        node.metrics.evicted_clients.fetch_add(1, Relaxed);
        client.kill();
        if let Some(post) = node.post() {
            post.wake(client.thread());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(id: u64, bytes: usize) -> Arc<Client> {
        let client = Client::new(id, 0, 0, String::new(), String::new(), 0);
        client.set_buffers(bytes / 2, bytes - bytes / 2);
        Arc::new(client)
    }

    fn chosen(clients: &[Arc<Client>], limit_bytes: usize) -> Vec<u64> {
        victims(clients, limit_bytes).iter().map(|client| client.id).collect()
    }

    #[test]
    fn the_largest_go_and_no_more_than_that_takes() {
        let clients = [client(1, 10), client(2, 500), client(3, 0), client(4, 300), client(5, 90)];
        assert!(chosen(&clients, 900).is_empty(), "at the limit");
        assert_eq!(chosen(&clients, 899), [2]);
        assert_eq!(chosen(&clients, 400), [2]);
        assert_eq!(chosen(&clients, 399), [2, 4]);
        assert_eq!(chosen(&clients, 0), [2, 4, 5, 1]);
    }

    #[test]
    fn who_may_not_be_evicted_stays() {
        let clients = [client(1, 500), client(2, 300)];
        clients[0].set_flag(flag::NO_EVICT, true);
        assert_eq!(chosen(&clients, 100), [2]);
    }
}
