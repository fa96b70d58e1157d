//! Places on the earth. Keys of their own: other scores than places have may lie anywhere, and so may what is as far away.

use super::{Family, Filling, Rng};

pub const GEO: Family = Family {
    name: "geo",
    templates: &[
        (20, "GEOADD {geo} {place}"),
        (12, "GEOADD {geo} {place} {place} {place*}"),
        (6, "GEOADD {geo} {geo_add_option*} {place} {place}"),
        (5, "GEOADD {geo} {places}"),
        (8, "GEOPOS {geo} {geo_member} {geo_member*}"),
        (5, "GEOHASH {geo} {geo_member} {geo_member*}"),
        (8, "GEODIST {geo} {geo_member} {geo_member}"),
        (6, "GEODIST {geo} {geo_member} {geo_member} {unit}"),
        (25, "GEOSEARCH {geo} {geo_from} {geo_by} {geo_option*}"),
        (8, "GEOSEARCH {geo} {geo_by} {geo_option*} {geo_from} {geo_option*}"),
        (10, "GEOSEARCHSTORE {geo_target} {geo} {geo_from} {geo_by} {geo_store_option*}"),
        (8, "GEORADIUS {geo} {lon} {lat} {radius} {unit} {geo_option*}"),
        (4, "GEORADIUS {geo} {lon} {lat} {radius} {unit} {geo_order} STORE {geo_target}"),
        (4, "GEORADIUS {geo} {lon} {lat} {radius} {unit} STOREDIST {geo_target}"),
        (5, "GEORADIUS_RO {geo} {lon} {lat} {radius} {unit} {geo_option*}"),
        (8, "GEORADIUSBYMEMBER {geo} {geo_member} {radius} {unit} {geo_option*}"),
        (3, "GEORADIUSBYMEMBER {geo} {geo_member} {radius} {unit} STORE {geo_target}"),
        (4, "GEORADIUSBYMEMBER_RO {geo} {geo_member} {radius} {unit} {geo_option*}"),
        (8, "ZRANGE {geo_target} 0 -1 WITHSCORES"),
        (4, "ZREM {geo} {geo_member} {geo_member*}"),
        (2, "ZADD {geo} {number} {geo_member}"),
        (3, "DEL {geo}"),
        (2, "SET {geo_target} {value}"),
        (1, "EXPIRE {geo} {ttl_s}"),
    ],
    holes,
};

fn holes(rng: &mut Rng, hole: &str) -> Option<Filling> {
    Some(match hole {
        "geo" => Filling::one_of(rng, &[(10, "geo:1"), (10, "geo:2"), (1, "geo:3")]),
        "geo_target" => Filling::one_of(rng, &[(10, "geo:to:1"), (10, "geo:to:2")]),
        "geo_member" => one(match rng.below(20) {
            0 => String::new(),
            _ => format!("place {}", rng.below(60)),
        }),
        "place" => Filling::Template("{lon} {lat} {geo_member}"),
        "places" => Filling::Args((0..=rng.below(200)).flat_map(|_| place(rng)).collect()),
        "lon" => one(degrees(rng, 180.0)),
        "lat" => one(degrees(rng, 85.05112878)),
        "radius" => one(length(rng)),
        "unit" => Filling::one_of(rng, &[(10, "m"), (20, "km"), (5, "mi"), (5, "ft"), (2, "KM"), (1, "yd")]),
        "geo_add_option" => Filling::one_of(rng, &[(10, "NX"), (10, "XX"), (10, "CH"), (1, "GT"), (1, "xx")]),
        "geo_from" => Filling::one_of(
            rng,
            &[(20, "FROMLONLAT {lon} {lat}"), (20, "FROMMEMBER {geo_member}"), (1, "FROMMEMBER"), (1, "")],
        ),
        "geo_by" => Filling::one_of(
            rng,
            &[
                (20, "BYRADIUS {radius} {unit}"),
                (20, "BYBOX {radius} {radius} {unit}"),
                (1, "BYBOX 1 m"),
                (1, ""),
            ],
        ),
        "geo_option" => Filling::one_of(
            rng,
            &[
                (5, "WITHDIST"),
                (5, "WITHCOORD"),
                (5, "WITHHASH"),
                (5, "{geo_order}"),
                (4, "COUNT {small}"),
                (2, "COUNT {small} ANY"),
                (1, "{word}"),
            ],
        ),
        "geo_store_option" => Filling::one_of(
            rng,
            &[
                (8, "STOREDIST"),
                (5, "{geo_order}"),
                (4, "COUNT {small}"),
                (2, "COUNT {small} ANY"),
                (1, "WITHDIST"),
            ],
        ),
        "geo_order" => Filling::one_of(rng, &[(10, "ASC"), (10, "DESC")]),
        _ => return None,
    })
}

fn one(word: String) -> Filling {
    Filling::Args(vec![word.into_bytes()])
}

/// Mostly in one region, so that searches find something.
fn degrees(rng: &mut Rng, max: f64) -> String {
    let share = rng.between(-1_000_000_000, 1_000_000_000) as f64 / 1e9;
    match rng.below(40) {
        0 => format!("{}", max * share.signum()),
        1 => "x".to_owned(),
        2 => format!("{}", 100.0 * share),
        3..=9 => format!("{:.9}", max * share),
        10..=19 => format!("{:.9}", 10.0 + share),
        _ => format!("{:.9}", 10.0 + share / 50.0),
    }
}

fn length(rng: &mut Rng) -> String {
    let share = rng.between(1, 1_000_000_000) as f64 / 1e9;
    match rng.below(40) {
        0 => (*rng.pick(&["0", "-1", "inf", "x", "1e300"])).to_owned(),
        _ => format!("{}", share * *rng.pick(&[1.0, 10.0, 100.0, 1_000.0, 20_000.0])),
    }
}

fn place(rng: &mut Rng) -> [Vec<u8>; 3] {
    let share = |rng: &mut Rng| rng.between(-1_000_000_000, 1_000_000_000) as f64 / 1e9;
    let spread = *rng.pick(&[0.01, 0.5, 30.0]);
    let [lon, lat] = [0, 1].map(|_| 10.0 + share(rng) * spread);
    [format!("{lon:.9}"), format!("{lat:.9}"), format!("many {}", rng.below(1_000))].map(String::into_bytes)
}
