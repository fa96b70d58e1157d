//! The embedded engine: a log of our own and tables of dirty rows in front of RocksDB.
