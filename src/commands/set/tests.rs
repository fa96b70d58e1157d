use crate::keyspace::Env;
use crate::testkit::Kit;

/// SADD of the members `from` to `to`, without the last.
fn fill(kit: &mut Kit, key: &str, from: usize, to: usize) {
    let members: Vec<String> = (from..to).map(|n| n.to_string()).collect();
    for part in members.chunks(Env::IO_THREAD_MAX_ROWS) {
        kit.words(["SADD", key].into_iter().chain(part.iter().map(String::as_str)));
    }
}

#[test]
fn long_work_leaves_the_io_thread() {
    let mut kit = Kit::new();
    fill(&mut kit, "s", 0, Env::IO_THREAD_MAX_ROWS);
    assert!(!kit.moved);
    for line in ["SMEMBERS s", "SINTER s", "SRANDMEMBER s 1000", "SSCAN s 0 COUNT 5000", "SUNIONSTORE t s"] {
        kit.run(line);
        assert!(!kit.moved, "{line}");
    }
    fill(&mut kit, "big", 0, 20 * Env::IO_THREAD_MAX_ROWS);
    for line in ["SMEMBERS big", "SUNION big s", "SINTER big s", "SDIFF s big", "SDIFFSTORE t s big"] {
        kit.run(line);
        assert!(kit.moved, "{line}");
    }
    fill(&mut kit, "few", 5, 15);
    for line in [
        "SINTER few big",
        "SINTER big few",
        "SDIFF few big",
        "SINTERSTORE t big few",
        "SINTERCARD 2 big few",
        "SDIFFCARD 2 big few",
        "SUNIONCARD 2 few big",
        "SINTERCARD 2 big big LIMIT 10",
        "SINTERCARD 2 big s LIMIT 10",
        "SUNIONCARD 2 big s LIMIT 10",
        "SDIFFCARD 1 big",
        "SCARD big",
        "SPOP big",
        "SPOP big 3",
        "SRANDMEMBER big",
        "SRANDMEMBER big -3",
        "SSCAN big 0",
        "DEL big",
    ] {
        kit.run(line);
        assert!(!kit.moved, "{line}");
    }
}

#[test]
fn a_limit_that_is_far_away_leaves_the_io_thread() {
    let mut kit = Kit::new();
    fill(&mut kit, "a", 0, 3_000);
    fill(&mut kit, "b", 2_999, 6_000);
    assert_eq!(kit.run("SINTERCARD 2 a b LIMIT 2"), ":1");
    assert!(kit.moved);
    assert_eq!(kit.run("SDIFFCARD 2 a b LIMIT 5"), ":5");
    assert!(!kit.moved);
}

#[test]
fn a_big_result_is_stored_whole() {
    let mut kit = Kit::new();
    fill(&mut kit, "a", 0, 30_000);
    fill(&mut kit, "b", 20_000, 50_000);
    for (line, size) in [
        ("SUNIONSTORE to a b", 50_000),
        ("SINTERSTORE to a b", 10_000),
        ("SDIFFSTORE to a b", 20_000),
        ("SUNIONSTORE a a b", 50_000),
        ("SDIFFSTORE b a b", 20_000),
        ("SINTERSTORE b b b", 20_000),
    ] {
        kit.run("SET to x EX 100");
        assert_eq!(kit.run(line), format!(":{size}"));
        assert!(kit.moved, "{line}");
        let to = line.split(' ').nth(1).expect("a key");
        let members = kit.run(&format!("SMEMBERS {to}"));
        assert_eq!(members.split(' ').count(), size, "{line}");
        assert_eq!(kit.run(&format!("SCARD {to} | TTL {to}")), format!(":{size} | :-1"));
    }
    assert_eq!(kit.run("SDIFFSTORE to b b | EXISTS to | SDIFFSTORE to b a | DBSIZE"), ":0 | :0 | :0 | :2");
}

/// Sources are let go while a big result is stored: what is written to them meanwhile is not seen in parts.
#[test]
fn a_big_result_is_of_one_moment() {
    let mut kit = Kit::new();
    fill(&mut kit, "a", 0, 20_000);
    fill(&mut kit, "b", 10_000, 30_000);
    for line in ["SUNIONSTORE to a b", "COPY a to REPLACE", "SDIFFSTORE b a b"] {
        let mut storing = Kit::of(&kit.node);
        let before = kit.run("SCARD a").trim_start_matches(':').parse::<usize>().expect("a number");
        let thread = std::thread::spawn(move || {
            let reply = storing.run(line);
            (reply, storing.moved)
        });
        let mut written = before;
        while !thread.is_finished() {
            assert_eq!(kit.words(["SADD", "a", &format!("new:{written:08}")]), ":1");
            written += 1;
        }
        assert!(thread.join().expect("a thread that ends").1, "{line}");
        let to = line.split(' ').nth(1).filter(|_| !line.starts_with("COPY")).unwrap_or("to");
        let all = kit.run(&format!("SMEMBERS {to}"));
        let mut new: Vec<&str> = all.split(['"', ' ']).filter(|member| member.starts_with("new:")).collect();
        new.sort_unstable();
        for (member, n) in new.iter().zip(20_000..) {
            assert_eq!(*member, format!("new:{n:08}"), "{line}: no gaps");
        }
        assert_eq!(kit.run(&format!("SCARD {to}")), format!(":{}", all.split(' ').count()), "{line}");
    }
}

#[test]
fn everything_is_popped_once() {
    for size in [1, 50, 3_000] {
        for count in [1, size / 3 + 1, size - size / 7, size, size + 5] {
            let mut kit = Kit::new();
            fill(&mut kit, "s", 0, size);
            kit.run("EXPIRE s 100");
            let mut popped: Vec<usize> = Vec::new();
            let calls = size.div_ceil(count);
            for call in 0..calls.min(40) {
                let reply = kit.run(&format!("SPOP s {count}"));
                let words = reply.trim_matches(['[', ']']).split(' ').filter(|word| !word.is_empty());
                popped.extend(words.map(|word| word.trim_matches('"').parse::<usize>().expect("a member")));
                let left = size.saturating_sub((call + 1) * count);
                let ttl = if left == 0 { -2 } else { 100 };
                assert_eq!(kit.run("SCARD s | TTL s"), format!(":{left} | :{ttl}"));
                let stays = kit.run("SMEMBERS s");
                assert_eq!(stays.matches('"').count(), 2 * left);
            }
            let len = popped.len();
            popped.sort_unstable();
            popped.dedup();
            assert_eq!((popped.len(), len), (len, size.min(calls.min(40) * count)), "{size} {count}");
        }
    }
}

#[test]
fn picks_are_fair() {
    let mut kit = Kit::new();
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..300 {
        kit.run("SADD s a b c");
        *counts.entry(kit.run("SRANDMEMBER s")).or_insert(0) += 1;
        *counts.entry(kit.run("SPOP s")).or_insert(0) += 1;
    }
    assert!(counts.len() == 3 && counts.values().all(|count| *count > 130), "{counts:?}");
}
