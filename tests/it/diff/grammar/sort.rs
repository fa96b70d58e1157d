//! SORT. It has keys of its own: a number out of range anywhere makes redis-server refuse good ones as well for a while, and
//! texts are compared as C strings there.

use super::{Family, Filling};
use crate::rng::Rng;

pub const SORT: Family = Family {
    name: "sort",
    templates: &[
        (12, "RPUSH {sorted} {sortable} {sortable*}"),
        (3, "RPUSH {sorted} {many_sortable}"),
        (4, "LPOP {sorted}"),
        (10, "SADD {sorted} {sortable} {sortable*}"),
        (2, "SADD {sorted} {many_sortable}"),
        (10, "ZADD {sorted} {small} {sortable}"),
        (4, "ZADD {sorted} {small} {sortable} {small} {sortable}"),
        (3, "DEL {sorted}"),
        (1, "SET {sorted} 1"),
        (12, "SET {weight_key} {weight}"),
        (8, "HSET {weight_key} f {weight}"),
        (6, "DEL {weight_key}"),
        (3, "EXPIRE {weight_key} {ttl_s}"),
        (10, "SORT {sorted} {sort_order*}"),
        (10, "SORT {sorted} BY {by} {sort_option*}"),
        (5, "SORT {sorted} BY nosort"),
        (3, "SORT {sorted} BY nostar GET # GET {weights}"),
        (5, "RPUSH {ordered} {sortable} {sortable*}"),
        (5, "ZADD {ordered} {small} {sortable} {small} {sortable}"),
        (2, "DEL {ordered}"),
        (10, "SORT {ordered} BY nosort {sort_option*}"),
        (3, "SORT {ordered} BY # {sort_option*}"),
        (10, "SORT {sorted} GET {weights} {sort_option*}"),
        (6, "SORT {sorted} BY {by} ALPHA"),
        (3, "SORT {sorted} BY {by} ALPHA DESC GET {weights} GET #"),
        (8, "SORT {sorted} {sort_order*} STORE {sorted}"),
        (6, "SORT {sorted} BY {by} {sort_option*} STORE {sorted}"),
        (4, "SORT {sorted} BY nosort {sort_option*} STORE {sorted}"),
        (3, "SORT_RO {sorted} {sort_option*}"),
        (1, "SORT_RO {sorted} STORE {sorted}"),
        (2, "SORT {sorted} {word*}"),
        (6, "LRANGE {sorted} 0 -1"),
        (3, "EXPIRE {sorted} {ttl_s}"),
        (3, "TTL {sorted}"),
        (2, "RENAME {sorted} {sorted}"),
        (4, "COMMAND GETKEYS SORT {sorted} {sort_option*} STORE {sorted}"),
        (2, "COMMAND GETKEYSANDFLAGS SORT {sorted} {sort_option*} STORE {sorted}"),
    ],
    holes,
};

fn holes(rng: &mut Rng, hole: &str) -> Option<Filling> {
    Some(match hole {
        "sorted" => word(rng.pick::<&str>(&["sort:1", "sort:2", "sort:3"])),
        // Never a set, whose own order is any.
        "ordered" => word(rng.pick::<&str>(&["order:1", "order:2"])),
        "sortable" => word(&match rng.below(12) {
            0 => (*rng.pick(&["a", "b", "x y", "", "1.5", "-2e3", "0x1f", " 4", "inf", "nan", "01"]))
                .to_owned(),
            1..=3 => rng.between(-50, 50).to_string(),
            _ => rng.below(6).to_string(),
        }),
        "many_sortable" => {
            let count = *rng.pick(&[20, 129, 300, 520, 1_001]);
            let factor = 7;
            Filling::Args((0..count).map(|n| (n * factor % 1_009).to_string().into_bytes()).collect())
        }
        "weight_key" => word(&format!("weight:{}", rng.below(6))),
        "weight" => word(&match rng.below(12) {
            0 => (*rng.pick(&["a", "b", "", "x"])).to_owned(),
            1 => "-1.5".to_owned(),
            _ => rng.below(5).to_string(),
        }),
        "weights" => word(rng.weighted::<&str>(&[
            (10, "weight:*"),
            (8, "weight:*->f"),
            (2, "weight:*->g"),
            (2, "nosuch:*"),
            (2, "#"),
            (1, "*"),
            (1, "weight:*->"),
            (1, "nostar"),
        ])),
        "by" => word(rng.weighted::<&str>(&[
            (10, "weight:*"),
            (8, "weight:*->f"),
            (2, "weight:*->g"),
            (2, "nosuch:*"),
            (1, "*"),
            (1, "weight:*->"),
        ])),
        "sort_order" => Filling::Template(rng.weighted::<&str>(&[
            (6, "ASC"),
            (8, "DESC"),
            (8, "ALPHA"),
            (8, "LIMIT {small} {small}"),
            (2, "LIMIT {number} {number}"),
            (1, "desc"),
            (1, "LIMIT 1"),
        ])),
        // Never by the texts of other keys: what is alike there comes in any order.
        "sort_option" => Filling::Template(rng.weighted::<&str>(&[
            (4, "ASC"),
            (8, "DESC"),
            (8, "LIMIT {small} {small}"),
            (8, "GET {weights}"),
            (4, "GET #"),
            (1, "LIMIT 0 -1"),
            (1, "GET"),
        ])),
        _ => return None,
    })
}

fn word(word: &str) -> Filling {
    Filling::Args(vec![word.as_bytes().to_vec()])
}
