use crate::keyspace::Env;
use crate::testkit::Kit;
use crate::types::zset::remove::MAX_DELETED;

const LIGHT: usize = Env::IO_THREAD_MAX_ROWS;

/// A sorted set of members `m:0` and so on, whose scores are their numbers.
fn fill(kit: &mut Kit, key: &str, count: usize) {
    for from in (0..count).step_by(5_000) {
        let mut words = vec!["ZADD".to_owned(), key.to_owned()];
        for n in from..count.min(from + 5_000) {
            words.extend([n.to_string(), format!("m:{n}")]);
        }
        kit.words(&words);
    }
}

/// Runs a command and tells whether it went to a worker.
fn goes(kit: &mut Kit, line: &str) -> bool {
    kit.run(line);
    kit.moved
}

#[test]
fn what_touches_few_rows_of_a_big_key_stays() {
    let mut kit = Kit::new();
    fill(&mut kit, "z", 5_000);
    for light in [
        "ZRANGE z 0 9",
        "ZRANGE z -10 -1 WITHSCORES",
        "ZRANGE z 4990 4999 REV",
        "ZREVRANGE z 4990 4999",
        "ZREVRANGE z 0 9",
        "ZRANGEBYSCORE z 2500 2600",
        "ZRANGEBYSCORE z 0 +inf LIMIT 100 800",
        "ZREVRANGEBYSCORE z +inf -inf LIMIT 0 10",
        "ZRANK z m:3",
        "ZRANK z m:4990",
        "ZREVRANK z m:4990",
        "ZCOUNT z 100 200",
        "ZCOUNT z -inf +inf",
        "ZCOUNT z 100 4900",
        "ZSCORE z m:2500",
        "ZADD z 1 m:2500",
        "ZINCRBY z 1 m:2500",
        "ZREM z m:2500",
        "ZPOPMIN z",
        "ZPOPMAX z 10",
        "ZREMRANGEBYRANK z 0 5",
        "ZREMRANGEBYSCORE z 40 50",
        "ZRANGESTORE d z 10 20",
        "ZRANGESTORE d z -20 -10",
        "ZRANDMEMBER z",
        "ZSCAN z 0",
    ] {
        assert!(!goes(&mut kit, light), "{light}");
    }
    for heavy in [
        "ZRANGE z 0 -1",
        "ZRANGE z 2000 2010",
        "ZRANGEBYSCORE z 0 +inf LIMIT 2000 1",
        "ZRANGEBYSCORE z 100 2000",
        "ZRANK z m:2400",
        "ZCOUNT z 1500 3500",
        "ZRANGESTORE d z 0 3000",
        "ZUNION 1 z",
        "ZUNIONSTORE d 2 z z",
        "ZREMRANGEBYRANK z 100 2000",
    ] {
        assert!(goes(&mut kit, heavy), "{heavy}");
    }
}

#[test]
fn the_most_that_stays_and_one_more() {
    let mut kit = Kit::new();
    fill(&mut kit, "z", 3 * LIGHT);
    assert!(!goes(&mut kit, &format!("ZRANGE z 0 {}", LIGHT - 1)));
    assert!(goes(&mut kit, &format!("ZRANGE z 0 {LIGHT}")));
    assert!(!goes(&mut kit, &format!("ZRANGEBYSCORE z 0 ({LIGHT}")));
    assert!(goes(&mut kit, &format!("ZRANGEBYSCORE z 0 {LIGHT}")));
    assert!(goes(&mut kit, &format!("ZPOPMIN z {}", LIGHT + 1)));
    assert_eq!(kit.run("ZCARD z | ZRANGE z 0 0"), format!(":{} | [\"m:{}\"]", 2 * LIGHT - 1, LIGHT + 1));
}

#[test]
fn ranks_and_counts_of_a_big_key_are_exact() {
    let mut kit = Kit::new();
    fill(&mut kit, "z", 5_000);
    for n in [0, 1, 63, 64, 65, 500, 1_999, 2_500, 4_321, 4_998, 4_999] {
        assert_eq!(kit.run(&format!("ZRANK z m:{n}")), format!(":{n}"));
        assert_eq!(kit.run(&format!("ZREVRANK z m:{n}")), format!(":{}", 4_999 - n));
        assert_eq!(kit.run(&format!("ZCOUNT z {n} +inf")), format!(":{}", 5_000 - n));
        assert_eq!(kit.run(&format!("ZCOUNT z (100 {n}")), format!(":{}", (n as i64 - 100).max(0)));
        assert_eq!(kit.run(&format!("ZRANGE z {n} {n}")), format!("[\"m:{n}\"]"));
        assert_eq!(kit.run(&format!("ZREVRANGE z {n} {n}")), format!("[\"m:{}\"]", 4_999 - n));
    }
}

#[test]
fn many_members_go_at_once() {
    let all = MAX_DELETED as usize + 3_000;
    // In one commit, at the most that goes so, and one more: what stays is written anew.
    for gone in [2_000, MAX_DELETED as usize, MAX_DELETED as usize + 1] {
        let mut kit = Kit::new();
        fill(&mut kit, "z", all);
        kit.run("PEXPIREAT z 9000000000000");
        let end = 1_000 + gone - 1;
        let removed = match gone % 2 {
            0 => kit.run(&format!("ZREMRANGEBYSCORE z 1000 {end}")),
            _ => kit.run(&format!("ZREMRANGEBYRANK z 1000 {end}")),
        };
        assert_eq!(removed, format!(":{gone}"));
        assert_eq!(kit.run("ZCARD z | PEXPIRETIME z"), format!(":{} | :9000000000000", all - gone));
        assert_eq!(kit.run("ZRANGE z 999 1000"), format!("[\"m:999\" \"m:{}\"]", end + 1));
        assert_eq!(kit.run("ZCOUNT z -inf +inf"), format!(":{}", all - gone));
        assert_eq!(
            kit.run(&format!("ZSCORE z m:1000 | ZSCORE z m:{}", end + 1)),
            format!("nil | \"{}\"", end + 1)
        );
        assert_eq!(
            kit.run("OBJECT ENCODING z | ZADD z 5000000 x | ZRANK z x"),
            format!("\"skiplist\" | :1 | :{}", all - gone)
        );
        assert_eq!(kit.run("ZREMRANGEBYSCORE z -inf +inf | EXISTS z"), format!(":{} | :0", all - gone + 1));
    }
}

#[test]
fn copies_and_stores_of_any_size_are_whole() {
    let mut kit = Kit::new();
    for size in [1, LIGHT, LIGHT + 1, 20_000] {
        kit.run("FLUSHALL");
        fill(&mut kit, "z", size);
        let ends = format!("[\"m:0\"] | [\"m:{0}\"] | :{size} | :{size}", size - 1);
        for make in [
            "COPY z d",
            "ZUNIONSTORE d 1 z",
            "ZINTERSTORE d 2 z z",
            "ZDIFFSTORE d 2 z x",
            "ZRANGESTORE d z 0 -1",
        ] {
            kit.run(&format!("DEL d | {make}"));
            assert_eq!(
                kit.run("ZRANGE d 0 0 | ZREVRANGE d 0 0 | ZCARD d | ZCOUNT d -inf +inf"),
                ends,
                "{make}"
            );
        }
        assert_eq!(
            kit.run("RENAME d e | ZREVRANGE e 0 0 | EXISTS d"),
            format!("+OK | [\"m:{}\"] | :0", size - 1)
        );
    }
}

#[test]
fn picks_with_repeats_have_a_limit() {
    let mut kit = Kit::new();
    kit.run("ZADD z 1 a");
    let most = super::member::MAX_REPEATS;
    assert_eq!(kit.run(&format!("ZRANDMEMBER z -{}", most + 1)), "-ERR value is out of range");
    assert_eq!(kit.run(&format!("ZRANDMEMBER missing -{}", most + 1)), "[]");
    assert_eq!(kit.run("ZRANDMEMBER z -3"), r#"["a" "a" "a"]"#);
}
