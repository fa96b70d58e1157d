//! `cargo +nightly fuzz run decode` in crates/resp.
#![no_main]

libfuzzer_sys::fuzz_target!(|stream: &[u8]| tarn_resp::fuzzing::decode(stream));
