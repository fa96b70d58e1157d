//! What the memory of the process is used for. The parts add up to what the operating system counts, but for [`Parts::other`].

use super::process;
use crate::node::Node;
use crate::scripting;

/// In bytes.
#[derive(Debug, Clone)]
pub struct Parts {
    pub rss: u64,
    pub known: [(&'static str, u64); 12],
}

impl Parts {
    pub fn of(node: &Node) -> Parts {
        let (heap, rss, engine) = (process::allocator(), process::rss_bytes(), node.engine.stats());
        let scripts =
            scripting::memory_bytes() + node.scripting.scripts.totals().1 + node.scripting.functions.bytes();
        let clients: usize =
            node.clients.list().iter().map(|client| client.query_bytes() + client.reply_bytes()).sum();
        let known = [
            // Code, stacks, and whatever else did not come from the allocator.
            ("mem_program", rss.saturating_sub(heap.resident_bytes)),
            // Pages that are kept for the next request, and what does not fill its page.
            ("mem_allocator_pages", heap.resident_bytes.saturating_sub(heap.allocated_bytes)),
            ("used_memory_startup", node.metrics.startup_bytes()),
            ("mem_dirty_rows", engine.dirty_bytes + engine.dirty_spare_bytes),
            ("mem_held_by_snapshots", engine.held_bytes),
            ("mem_write_back", engine.write_back_bytes),
            ("mem_row_cache", engine.row_cache_bytes),
            ("mem_block_cache", engine.block_cache_bytes),
            ("mem_table_readers", engine.table_reader_bytes),
            ("mem_memtables", engine.memtable_bytes),
            ("mem_clients_normal", clients as u64),
            ("mem_scripts", scripts as u64),
        ];
        Parts { rss, known }
    }

    /// The server is about to serve: what nobody has counted by now is its own.
    pub fn note_startup(node: &Node) {
        node.metrics.set_startup_bytes(u64::try_from(Parts::of(node).other()).unwrap_or(0));
    }

    /// What nobody counts; below 0 where something is counted that is not in memory.
    pub fn other(&self) -> i64 {
        let known: u64 = self.known.iter().map(|(_, bytes)| bytes).sum();
        self.rss as i64 - known as i64
    }
}
