//! Handlers over the in-memory engine; the wire lines are in tests/it.

use super::spell_distance;
use crate::testkit::Kit;

#[test]
fn much_is_searched_on_a_worker() {
    let mut kit = Kit::new();
    for chunk in 0..30 {
        let mut words = vec!["GEOADD".to_owned(), "g".to_owned()];
        for i in 0..50 {
            let lon = f64::from(chunk * 50 + i) / 10_000.0;
            words.extend([lon.to_string(), "10".to_owned(), format!("m{}", chunk * 50 + i)]);
        }
        kit.words(words.iter().map(String::as_str));
    }
    kit.moved = false;
    assert_eq!(kit.run("GEOSEARCH g FROMLONLAT 0 10 BYRADIUS 15 m"), r#"["m0" "m1"]"#);
    assert!(!kit.moved);
    let all = "GEOSEARCH g FROMLONLAT 0 10 BYRADIUS 100 km";
    assert_eq!(kit.run(&format!("{all} COUNT 3 DESC")), r#"["m1499" "m1498" "m1497"]"#);
    assert!(kit.moved);
    kit.moved = false;
    assert_eq!(kit.run(&format!("{all} COUNT 2 ANY")).matches('m').count(), 2);
    assert!(!kit.moved);
    assert_eq!(kit.run("GEOSEARCHSTORE d g FROMLONLAT 0 10 BYRADIUS 100 km | ZCARD d"), ":1500 | :1500");
}

#[test]
fn distances_are_spelt_with_four_digits() {
    for (distance, spelt) in [
        (0.0, "0.0000"),
        (0.00005, "0.0000"),
        (0.00025, "0.0002"),
        (0.00075, "0.0008"),
        (12.34567, "12.3457"),
        (0.775, "0.7750"),
        (1e15, "-922337203685477.5808"),
        (f64::NAN, "-922337203685477.5808"),
    ] {
        assert_eq!(spell_distance(distance), spelt.as_bytes(), "{distance}");
    }
}
