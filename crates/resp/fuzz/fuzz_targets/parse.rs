//! `cargo +nightly fuzz run parse` in crates/resp.
#![no_main]

libfuzzer_sys::fuzz_target!(|stream: &[u8]| tarn_resp::fuzzing::parse(stream));
