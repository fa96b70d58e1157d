//! An in-memory engine with snapshot isolation and injected faults.
