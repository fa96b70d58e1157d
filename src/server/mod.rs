//! A socket becomes commands; replies become bytes on it again.
