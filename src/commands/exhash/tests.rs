use crate::keyspace::Env;
use crate::testkit::Kit;

#[test]
fn long_work_leaves_the_io_thread() {
    let mut kit = Kit::new();
    for (name, width) in [("EXHMSET", 2), ("EXHMSETWITHOPTS", 4), ("EXHMGET", 1), ("EXHDEL", 1)] {
        for (count, offloaded) in [(Env::IO_THREAD_MAX_ROWS, false), (Env::IO_THREAD_MAX_ROWS + 1, true)] {
            let words = (0..count).flat_map(|n| {
                [format!("f{n}"), "v".to_owned(), "0".to_owned(), "100".to_owned()].into_iter().take(width)
            });
            kit.words([name.to_owned(), "h".to_owned()].into_iter().chain(words));
            assert_eq!(kit.moved, offloaded, "{name} {count}");
        }
    }
}

#[test]
fn a_failed_write_changes_nothing() {
    let mut kit = Kit::new();
    kit.run("EXHSET h a 1 EX 100 | EXHSET h b x");
    let before = kit.run("EXHGETALLWITHVER h | EXHTTL h a | DBSIZE");
    for line in [
        "EXHSET h a 2 VER 9",
        "EXHSET h a 2 EX bad",
        "EXHSET h a 2 NX",
        "EXHSET h c 2 XX",
        "EXHINCRBY h b 1",
        "EXHINCRBY h a 1 MAX 1",
        "EXHINCRBY new a 1 MAX 0",
        "EXHINCRBYFLOAT h a 1 MAX 1",
        "EXHMSETWITHOPTS h a 2 0 100 b 3 9 100",
        "EXHMSETWITHOPTS h a 2 0 100 b 3 0 bad",
        "EXHDELWITHVER h a 1 b bad",
        "EXHEXPIRE h a 5 VER 9",
        "EXHSETVER h a 0",
        "EXHMSET new",
        "EXHMSETWITHOPTS new",
    ] {
        kit.run(line);
        assert_eq!(kit.run("EXHGETALLWITHVER h | EXHTTL h a | DBSIZE"), before, "{line}");
    }
}
