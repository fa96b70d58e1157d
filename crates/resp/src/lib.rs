//! RESP2 and RESP3.
