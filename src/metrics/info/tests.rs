use super::*;
use crate::testkit::Kit;

fn info(kit: &Kit, names: &[&str]) -> String {
    text(&kit.node, &Sections::parse(names.iter().map(|name| name.as_bytes()))).unwrap()
}

fn headings(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("# ")).collect()
}

#[test]
fn sections_are_chosen_by_name() {
    let kit = Kit::new();
    let all = [
        "Server",
        "Clients",
        "Memory",
        "Persistence",
        "Stats",
        "Replication",
        "CPU",
        "Modules",
        "Tarn",
        "Fieldexpiry",
        "Commandstats",
        "Errorstats",
        "Latencystats",
        "Cluster",
        "Keyspace",
    ];
    let default: Vec<_> =
        all.into_iter().filter(|name| *name != "Commandstats" && *name != "Latencystats").collect();
    assert_eq!(headings(&info(&kit, &[])), default);
    assert_eq!(headings(&info(&kit, &["default"])), default);
    assert_eq!(headings(&info(&kit, &["all"])), all);
    assert_eq!(headings(&info(&kit, &["EVERYTHING"])), all);
    assert_eq!(headings(&info(&kit, &["keyspace", "CPU", "nosuch"])), ["CPU", "Keyspace"]);
    assert_eq!(info(&kit, &["nosuch"]), "");
    assert_eq!(info(&kit, &["cluster", "keyspace"]), "# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n");
}

#[test]
fn every_line_is_a_heading_a_field_or_empty() {
    let mut kit = Kit::new();
    kit.run("NOSUCH | ECHO a");
    let text = info(&kit, &["all"]);
    for line in text.split("\r\n") {
        let is_field = line.split_once(':').is_some_and(|(name, _)| !name.is_empty() && !name.contains(' '));
        assert!(line.is_empty() || line.starts_with("# ") || is_field, "{line:?}");
    }
    for field in [
        "redis_version:8.6.2",
        "errorstat_ERR:count=1",
        "role:master",
        "connected_clients:0",
        "maxmemory_policy:",
    ] {
        assert!(text.contains(&format!("\r\n{field}")), "{field}: {text}");
    }
}

#[test]
fn sizes_for_people() {
    assert_eq!((human(0), human(1023), human(1024)), ("0B".into(), "1023B".into(), "1.00K".into()));
    assert_eq!((human(1_163_432), human(25_274_793_984)), ("1.11M".into(), "23.54G".into()));
}

#[test]
fn keys_and_those_that_expire_are_counted() {
    let mut kit = Kit::new();
    let counted = |kit: &Kit| info(kit, &["keyspace"]).replace("# Keyspace\r\n", "");
    kit.run("SET a 1 | SET b 1 EX 100 | SELECT 2 | SET c 1 PX 100000");
    assert_eq!(counted(&kit), "db0:keys=2,expires=1,avg_ttl=0\r\ndb2:keys=1,expires=1,avg_ttl=0\r\n");
    kit.run("PERSIST c | SELECT 0 | EXPIRE a 50 | EXPIRE b 60 | SET b 2 | RENAME a d | COPY d e");
    assert_eq!(counted(&kit), "db0:keys=3,expires=2,avg_ttl=0\r\ndb2:keys=1,expires=0,avg_ttl=0\r\n");
    kit.run("MOVE d 2 | DEL e | SELECT 2 | DEL c");
    assert_eq!(counted(&kit), "db0:keys=1,expires=0,avg_ttl=0\r\ndb2:keys=1,expires=1,avg_ttl=0\r\n");
    kit.pass_ms(50_000);
    assert_eq!(kit.run("SET d 1"), "+OK");
    assert_eq!(counted(&kit), "db0:keys=1,expires=0,avg_ttl=0\r\ndb2:keys=1,expires=0,avg_ttl=0\r\n");
    kit.run("SET d 1 EX 10 | FLUSHALL");
    assert_eq!(counted(&kit), "");
}
