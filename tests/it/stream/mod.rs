//! Streams. Where lines are Tarn's alone, Redis 8.0 answers as they say; 7.0 knows less, or answers otherwise.

mod blocking;
mod claim;
mod entry;
mod group;
mod info;
mod newer;
mod producers;
mod read;
