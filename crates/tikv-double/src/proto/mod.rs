//! The messages of PD and TiKV as far as the client sends or reads them.
//!
//! Names and field numbers are those of the protocol. Fields that nobody sets or reads here are left out: protobuf
//! skips what it does not know.

pub mod errorpb;
pub mod kvrpcpb;
pub mod metapb;
pub mod pdpb;
