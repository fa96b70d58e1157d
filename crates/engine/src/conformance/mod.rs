//! The engine contract as tests.
