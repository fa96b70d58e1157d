//! The seeds of the fuzz targets, and mutations of them, go through what the targets check.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(seeds.len() >= 10, "only {} seeds for {target}", seeds.len());
    seeds
}

/// A seed with a few bytes changed, inserted or removed.
fn mutated(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), prop::sample::select(b"\r\n*$:%~>,#(_=|!-0129\0\"'\\ ".to_vec())];
    let edits = prop::collection::vec((any::<prop::sample::Index>(), byte, 0..3u8), 0..6);
    (prop::sample::select(seeds(target)), edits).prop_map(|(mut bytes, edits)| {
        for (at, byte, edit) in edits {
            let at = at.index(bytes.len() + 1);
            match edit {
                0 => bytes.insert(at, byte),
                _ if at == bytes.len() => {}
                1 => bytes[at] = byte,
                _ => _ = bytes.remove(at),
            }
        }
        bytes
    })
}

#[test]
fn every_seed_parses_the_same_in_any_pieces() {
    seeds("parse").iter().for_each(|seed| super::parse(seed));
}

#[test]
fn every_seed_decodes_the_same_in_any_pieces() {
    seeds("decode").iter().for_each(|seed| super::decode(seed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_seeds_parse_the_same_in_any_pieces(stream in mutated("parse")) {
        super::parse(&stream);
    }

    #[test]
    fn mutated_seeds_decode_the_same_in_any_pieces(stream in mutated("decode")) {
        super::decode(&stream);
    }
}
