//! CLUSTER with several nodes.

use super::{double, options, start};
use crate::harness::{Server, eventually};

/// All nodes show the same map.
#[test]
fn slots_are_divided_among_the_nodes_that_are_there() {
    let double = double();
    let mut servers = start(&double, 3);
    let mut ids: Vec<(String, u16)> = Vec::new();
    for server in &servers {
        let id = server.conn().call(&["CLUSTER", "MYID"]);
        ids.push((String::from_utf8_lossy(id.bytes().unwrap()).into_owned(), server.port()));
    }
    ids.sort();
    let ranges = [(0, 5460), (5461, 10921), (10922, 16383)];
    let slots = ids
        .iter()
        .zip(ranges)
        .map(|((id, port), (first, last))| format!("[:{first} :{last} [\"127.0.0.1\" :{port} \"{id}\" []]]"));
    let slots = format!("[{}]", slots.collect::<Vec<_>>().join(" "));
    for server in &servers {
        let mut conn = server.conn();
        assert_eq!(conn.call(&["CLUSTER", "SLOTS"]).to_string(), slots);
        let shards = conn.call(&["CLUSTER", "SHARDS"]).to_string();
        let nodes = String::from_utf8_lossy(conn.call(&["CLUSTER", "NODES"]).bytes().unwrap()).into_owned();
        for ((id, port), (first, last)) in ids.iter().zip(ranges) {
            assert!(shards.contains(&format!("\"slots\" [:{first} :{last}] \"nodes\" [[\"id\" \"{id}\"")));
            let line = nodes.lines().find(|line| line.starts_with(id.as_str())).unwrap();
            assert!(line.contains(&format!(" 127.0.0.1:{port}@")), "{line}");
            assert_eq!(line.contains(" myself,master "), *port == server.port(), "{line}");
            assert!(line.ends_with(&format!(" connected {first}-{last}")), "{line}");
        }
        let info = String::from_utf8_lossy(conn.call(&["CLUSTER", "INFO"]).bytes().unwrap()).into_owned();
        assert!(info.contains("cluster_known_nodes:3\r\ncluster_size:3\r\n"), "{info}");
        let links = conn.call(&["CLUSTER", "LINKS"]).to_string();
        for (id, _) in ids.iter().filter(|(_, port)| *port != server.port()) {
            for direction in ["to", "from"] {
                assert!(
                    links.contains(&format!("\"direction\" \"{direction}\" \"node\" \"{id}\"")),
                    "{links}"
                );
            }
        }
    }
    servers[0].kill();
    let mut conn = servers[1].conn();
    let halves = |slots: &str| slots.starts_with("[[:0 :8191 [") && slots.contains(" [:8192 :16383 [");
    eventually("two are left", || halves(&conn.call(&["CLUSTER", "SLOTS"]).to_string()));
    // Who has not asked for a cluster is not told of one.
    let plain = Server::start(options(&double).with("cluster-enabled", "no"));
    let refused = "-ERR This instance has cluster support disabled";
    assert_eq!(plain.conn().call(&["CLUSTER", "SLOTS"]).to_string(), refused);
}
