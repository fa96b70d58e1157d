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
        "redis_version:7.0.15",
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
