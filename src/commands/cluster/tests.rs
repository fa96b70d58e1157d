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
        "-ERR This node owns every slot, its cluster cannot be changed | -ERR This node owns every slot, its cluster cannot be changed"
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
