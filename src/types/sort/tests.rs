use crate::keyspace::Env;
use crate::testkit::Kit;

fn numbers(command: &str, key: &str, count: usize) -> Vec<String> {
    [command, key].into_iter().map(str::to_owned).chain((0..count).map(|n| n.to_string())).collect()
}

#[test]
fn much_is_sorted_on_a_worker() {
    let mut kit = Kit::new();
    let light = Env::IO_THREAD_MAX_ROWS;
    kit.words(numbers("RPUSH", "light", light));
    kit.words(numbers("RPUSH", "half", light / 2));
    kit.words(numbers("RPUSH", "heavy", light + 1));
    for (line, is_heavy) in [
        ("SORT light LIMIT 0 1", false),
        ("SORT heavy LIMIT 0 1", true),
        ("SORT_RO heavy LIMIT 0 1", true),
        ("SORT heavy BY nosort LIMIT 0 1000", false),
        ("SORT heavy BY nosort LIMIT 1 1000", true),
        ("SORT heavy BY nosort DESC LIMIT 1 1000 STORE to", true),
        ("SORT half BY w* LIMIT 0 1", false),
        ("SORT light BY w* LIMIT 0 1", true),
        ("SORT half BY nosort GET w*", false),
        ("SORT half BY nosort GET w* GET #", true),
    ] {
        kit.run(line);
        assert_eq!(kit.moved, is_heavy, "{line}");
    }
    assert_eq!(kit.run("LLEN to | LINDEX to 0 | LINDEX to -1"), ":1000 | \"999\" | \"0\"");
}

/// Many more than are read or written in one step.
#[test]
fn long_results_are_whole() {
    let mut kit = Kit::new();
    let count = 5_000;
    kit.words(numbers("RPUSH", "list", count));
    let reversed: Vec<String> = (0..count).rev().map(|n| format!("\"{n}\"")).collect();
    assert_eq!(kit.run("SORT list DESC"), format!("[{}]", reversed.join(" ")));
    assert_eq!(kit.run("SORT list BY nosort DESC"), format!("[{}]", reversed.join(" ")));
    assert_eq!(kit.run("SORT list DESC LIMIT 4000 2"), "[\"999\" \"998\"]");
    assert_eq!(kit.run("SET w17 -1 | SORT list BY w* LIMIT 0 2"), "+OK | [\"17\" \"0\"]");
    // By the texts 0, 1, 10, 100, 1000, 1001, ...
    assert_eq!(kit.run("SORT list ALPHA STORE list | LINDEX list 4"), ":5000 | \"1000\"");
    assert_eq!(kit.run("SORT list GET # GET nosuch* STORE list | LLEN list"), ":10000 | :10000");
    assert_eq!(kit.run("LINDEX list 9998 | LINDEX list 9999"), "\"4999\" | \"\"");
}
