use tarn_resp::OwnedArgs;

use super::*;

#[test]
fn keys_behind_a_word_are_half_of_what_follows() {
    let keys = Keys::half_behind("STREAMS", 2, KeyFlags::RO);
    for (line, positions) in [
        ("xread", &[][..]),
        ("xread streams a 0", &[]),
        ("xread x streams a 0", &[3]),
        ("xread x STREAMS a b 0 0", &[3, 4]),
        ("xread x streams a b 0", &[3]),
        ("xread x streams", &[]),
        ("xread x streams streams streams 0 0", &[3, 4]),
    ] {
        let words: OwnedArgs = line.split(' ').collect();
        let found: Vec<usize> = keys.positions(words.view()).map(|(at, _)| at).collect();
        assert_eq!(found, positions, "{line}");
        let alone = if let [at] = positions { Some(*at) } else { None };
        assert_eq!(keys.single_of(words.view()), alone, "{line}");
    }
    assert!(keys.single().is_none());
}

#[test]
fn a_range_may_be_one_key() {
    let single = |keys: &Keys, line: &str| {
        let words: OwnedArgs = line.split(' ').collect();
        keys.single_of(words.view())
    };
    let keys = Keys::range(1, -1, 1, KeyFlags::RO);
    assert_eq!(
        (single(&keys, "del a"), single(&keys, "del a b"), single(&keys, "del")),
        (Some(1), None, None)
    );
    assert_eq!(single(&Keys::at(1, KeyFlags::RO), "get a b"), Some(1));
    let counted = Keys::counted(2, KeyFlags::RW);
    for (line, alone) in [
        ("eval x 1 a", Some(3)),
        ("eval x 1 a b", Some(3)),
        ("eval x 1", None),
        ("eval x 2 a", None),
        ("eval x 2 a b", None),
        ("eval x 0 a", None),
        ("eval x 01 a", None),
        ("eval x", None),
    ] {
        assert_eq!(single(&counted, line), alone, "{line}");
    }
    let waiting = Keys::range(1, -2, 1, KeyFlags::RW);
    assert_eq!(
        (single(&waiting, "blpop a 0"), single(&waiting, "blpop a b 0"), single(&waiting, "blpop 0")),
        (Some(1), None, None)
    );
    assert_eq!(single(&keys.and(Keys::at(1, KeyFlags::RO)), "del a"), None);
}

#[test]
fn a_list_takes_the_place_of_the_one_key() {
    const LIST: KeyList =
        KeyList { word: "KEYS", instead_of: 1, options: 2, others: &[("AUTH", 1), ("AUTH2", 2)] };
    let keys = Keys::one_or_list(&LIST, KeyFlags::RW);
    for (line, positions) in [
        ("migrate k", &[1][..]),
        ("migrate k copy", &[1]),
        ("migrate k keys a b", &[1]),
        ("migrate ", &[1]),
        ("migrate  copy keys a b", &[4, 5]),
        ("migrate  KEYS keys keys", &[3, 4]),
        ("migrate  auth keys keys a", &[5]),
        ("migrate  auth2 keys keys keys a", &[6]),
        ("migrate  keys", &[]),
    ] {
        let words: OwnedArgs = line.split(' ').collect();
        let found: Vec<usize> = keys.positions(words.view()).map(|(at, _)| at).collect();
        assert_eq!(found, positions, "{line}");
    }
    assert!(keys.single().is_none());
}

#[test]
fn a_key_behind_an_option_is_found_wherever_it_stands() {
    const STORE: KeyOption = KeyOption { word: "STORE", others: &[("BY", 1), ("LIMIT", 2)], is_shown: false };
    let keys =
        Keys::at(1, KeyFlags::RO).and(Keys::unknown(KeyFlags::RO)).and(Keys::behind(&STORE, 2, KeyFlags::OW));
    for (line, positions) in [
        ("sort k", &[1][..]),
        ("sort k store d", &[1, 3]),
        ("sort k STORE", &[1]),
        ("sort k by store x", &[1]),
        ("sort k limit 0 store store d", &[1, 6]),
        ("sort k store a asc store b", &[1, 6]),
        ("sort k store store", &[1, 3]),
        ("sort", &[]),
    ] {
        let words: OwnedArgs = line.split(' ').collect();
        let found: Vec<usize> = keys.positions(words.view()).map(|(at, _)| at).collect();
        assert_eq!(found, positions, "{line}");
    }
    assert!(keys.single().is_none() && Keys::at(1, KeyFlags::RO).single() == Some(1));
}
