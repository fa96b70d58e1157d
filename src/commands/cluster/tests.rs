use super::*;
use crate::testkit::Kit;

const ID: &str = "0123456789abcdef0123456789abcdef01234567";

fn enabled() -> Kit {
    Kit::with(&[("cluster-enabled", "yes"), ("port", "7000")])
}

#[test]
fn everything_is_refused_where_the_cluster_is_off() {
    let mut kit = Kit::new();
    let mut lines: Vec<String> = ["READONLY", "READWRITE", "ASKING"].map(str::to_owned).to_vec();
    for spec in SUBCOMMANDS {
        let words = spec.arity.number().unsigned_abs() as usize;
        lines.push(format!("CLUSTER {}{}", spec.name, " 1".repeat(words - 2)));
    }
    for line in lines {
        assert_eq!(kit.run(&line), "-ERR This instance has cluster support disabled", "{line}");
    }
}

#[test]
fn one_node_owns_every_slot() {
    let mut kit = enabled();
    assert_eq!(kit.run("CLUSTER MYID"), format!("{ID:?}"));
    assert_eq!(kit.run("CLUSTER SLOTS"), format!(r#"[[:0 :16383 ["" :7000 "{ID}" []]]]"#));
    assert_eq!(
        kit.run("CLUSTER SHARDS"),
        format!(
            r#"[["slots" [:0 :16383] "nodes" [["id" "{ID}" "port" :7000 "ip" "" "endpoint" "" "role" "master" "replication-offset" :0 "health" "online"]]]]"#
        )
    );
    assert_eq!(
        kit.run("CLUSTER NODES"),
        format!(r#""{ID} :7000@17000 myself,master - 0 0 1 connected 0-16383\n""#)
    );
    assert!(kit.run("CLUSTER INFO").starts_with(r#""cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"#));
    assert_eq!(
        kit.run("CLUSTER LINKS | READONLY | READWRITE | ASKING | CLUSTER SAVECONFIG"),
        "[] | +OK | +OK | +OK | +OK"
    );
    assert_eq!(
        kit.run("CLUSTER FLUSHSLOTS | CLUSTER MEET 127.0.0.1 1"),
        "-ERR This node serves every slot, its cluster cannot be changed | -ERR This node serves every slot, its cluster cannot be changed"
    );
}

#[test]
fn the_announced_address_is_told() {
    let mut kit = Kit::with(&[
        ("cluster-enabled", "yes"),
        ("cluster-announce-ip", "10.0.0.9"),
        ("cluster-announce-port", "7001"),
        ("cluster-announce-hostname", "db.example"),
    ]);
    assert_eq!(
        kit.run("CLUSTER SLOTS"),
        format!(r#"[[:0 :16383 ["10.0.0.9" :7001 "{ID}" ["hostname" "db.example"]]]]"#)
    );
    assert!(kit.run("CLUSTER NODES").contains("10.0.0.9:7001@17001,db.example myself,master"));
    assert!(kit.run("CLUSTER SHARDS").contains(r#""endpoint" "10.0.0.9" "hostname" "db.example" "role""#));
}

#[test]
fn only_this_node_is_known() {
    let mut kit = enabled();
    assert_eq!(kit.run(&format!("CLUSTER REPLICAS {ID} | CLUSTER COUNT-FAILURE-REPORTS {ID}")), "[] | :0");
    assert_eq!(kit.run("CLUSTER SLAVES abc"), "-ERR Unknown node abc");
}

#[test]
fn keys_are_counted_and_listed_by_slot() {
    let mut kit = enabled();
    kit.run("SET {a}1 x | SET {a}2 x | SET {a}gone x PXAT 1 | SET b x");
    let slot = slot::of(b"a");
    assert_eq!(kit.run(&format!("CLUSTER COUNTKEYSINSLOT {slot} | CLUSTER COUNTKEYSINSLOT 0")), ":2 | :0");
    assert!(kit.moved);
    assert_eq!(kit.run(&format!("CLUSTER GETKEYSINSLOT {slot} 1")).matches("{a}").count(), 1);
    assert_eq!(kit.run(&format!("CLUSTER GETKEYSINSLOT {slot} 9")).matches("{a}").count(), 2);
    assert_eq!(
        kit.run("CLUSTER COUNTKEYSINSLOT 16384 | CLUSTER COUNTKEYSINSLOT x | CLUSTER GETKEYSINSLOT 0 -1"),
        "-ERR Invalid slot | -ERR value is not an integer or out of range | -ERR Invalid slot or number of keys"
    );
    assert_eq!(kit.run("CLUSTER KEYSLOT {a}1"), format!(":{slot}"));
}

#[test]
fn slots_are_counted_walked_and_flushed() {
    let mut kit = enabled();
    kit.run("SET a 1 | SET b 1 | SET {b}2 1 | SADD c 1");
    assert_eq!(
        kit.run("CLUSTER SLOT-STATS SLOTSRANGE 3299 3301"),
        r#"[[:3299 ["key-count" :0]] [:3300 ["key-count" :2]] [:3301 ["key-count" :0]]]"#
    );
    assert_eq!(
        kit.run("CLUSTER SLOT-STATS ORDERBY KEY-COUNT LIMIT 2"),
        r#"[[:3300 ["key-count" :2]] [:7365 ["key-count" :1]]]"#
    );
    assert_eq!(kit.run("CLUSTER SLOT-STATS ORDERBY key-count ASC LIMIT 1"), r#"[[:0 ["key-count" :0]]]"#);
    let unknown = "unknown subcommand or wrong number of arguments for 'SLOT-STATS'. Try CLUSTER HELP.";
    for (words, refusal) in [
        ("foo 1", unknown),
        ("slotsrange 1", unknown),
        ("slotsrange 1 2 3", unknown),
        ("orderby foo", "Unrecognized sort metric for ORDERBY."),
        ("orderby key-count foo", "syntax error"),
        ("orderby key-count limit", "syntax error"),
        ("orderby key-count limit 0", "Limit has to lie in between 1 and 16384 (maximum number of slots)."),
        ("orderby key-count asc desc", "Multiple filters of the same type are disallowed."),
        ("slotsrange 0 16384", "Invalid or out of range slot"),
        ("slotsrange 5 1", "Start slot number 5 is greater than end slot number 1"),
    ] {
        assert_eq!(kit.run(&format!("CLUSTER SLOT-STATS {words}")), format!("-ERR {refusal}"), "{words}");
    }
    let (mut cursor, mut keys) = ("0".to_owned(), Vec::new());
    loop {
        let page = kit.run(&format!("CLUSTERSCAN {cursor} COUNT 1"));
        let (next, found) =
            page.strip_prefix('[').and_then(|page| page.strip_suffix("]]")?.split_once(" [")).unwrap();
        keys.extend(found.split(' ').filter(|key| !key.is_empty()).map(str::to_owned));
        cursor = next.trim_matches('"').to_owned();
        if cursor == "0" {
            break;
        }
        assert!(cursor.starts_with("0-{"), "{page}");
    }
    keys.sort();
    assert_eq!(keys, [r#""a""#, r#""b""#, r#""c""#, r#""{b}2""#]);
    assert_eq!(kit.run("CLUSTERSCAN 0-{a}-0 TYPE set"), r#"["0" []]"#);
    assert_eq!(kit.run("CLUSTERSCAN 0-{b}-0 SLOT 3300 MATCH {*"), r#"["0" ["{b}2"]]"#);
    let refused = kit
        .run("CLUSTERSCAN x | CLUSTERSCAN 0-{a}-0 SLOT 1 | CLUSTERSCAN 0 COUNT 0 | CLUSTERSCAN 0 SLOT 16384");
    assert_eq!(
        refused,
        "-ERR Invalid cursor | -ERR Cursor slot mismatch with SLOT argument | -ERR syntax error | -ERR Invalid or out of range slot"
    );
    assert_eq!(kit.run("CLUSTER FLUSHSLOT 3300 ASYNC | KEYS *b*"), "+OK | []");
    assert_eq!(
        kit.run("CLUSTER FLUSHSLOT x | CLUSTER FLUSHSLOT 1 foo"),
        "-ERR Invalid or out of range slot | -ERR syntax error"
    );
    assert_eq!(kit.run("SFLUSH 8000 16383 0 1 SYNC | KEYS *"), r#"[[:0 :1] [:8000 :16383]] | ["c"]"#);
    assert_eq!(
        kit.run("SFLUSH 0 5 5 6 | SFLUSH 3 2 | SFLUSH 1 2 3"),
        "-ERR Slot 5 specified multiple times | -ERR Start slot number 3 is greater than end slot number 2 | -ERR syntax error"
    );
    assert_eq!(kit.run("SFLUSH 0 16383 | DBSIZE"), "[[:0 :16383]] | :0");
}
