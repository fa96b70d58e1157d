use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::config::{Config, Guard, Live, LogLevel};

fn set(live: &Live, pairs: &[(&str, &str)]) -> Result<(), String> {
    let pairs: Vec<(&[u8], &[u8])> =
        pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    live.set(&pairs, false).map(drop).map_err(|error| String::from_utf8(error.message()).unwrap())
}

fn get(live: &Live, patterns: &[&str]) -> Vec<(String, String)> {
    let patterns: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    live.get(&patterns).into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

#[test]
fn a_change_is_seen_and_counted() {
    let live = Live::new(Config::default());
    let before = live.current();
    assert_eq!(live.generation(), 0);
    let after = live.set(&[(b"timeout", b"7"), (b"LogLevel", b"WARNING")], false).unwrap();
    assert_eq!((after.timeout_secs, after.loglevel), (7, LogLevel::Warning));
    assert!(Arc::ptr_eq(&after, &live.current()));
    assert_eq!(live.generation(), 1);
    assert_eq!(before.timeout_secs, 0);
}

#[test]
fn all_of_it_or_nothing() {
    let live = Live::new(Config::default());
    let refused = set(&live, &[("timeout", "7"), ("maxclients", "0")]);
    assert_eq!(
        refused,
        Err("CONFIG SET failed (possibly related to argument 'maxclients') - argument must be between 1 and 4294967295 inclusive".into())
    );
    assert_eq!(*live.current(), Config::default());
    assert_eq!(live.generation(), 0);
}

#[test]
fn hooks_see_old_and_new_and_only_successes() {
    let live = Live::new(Config::default());
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    live.on_change(Box::new(move |old, new| {
        assert_eq!((old.timeout_secs, new.timeout_secs), (0, 9));
        counted.fetch_add(1, Ordering::SeqCst);
    }));
    assert!(set(&live, &[("timeout", "-9")]).is_err());
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    assert_eq!(set(&live, &[("timeout", "9")]), Ok(()));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn protected_options_follow_the_guard() {
    let refused =
        "CONFIG SET failed (possibly related to argument 'dbfilename') - can't set protected config";
    let allowed = |guard, local| {
        let config = Config { enable_protected_configs: guard, ..Config::default() };
        let set = Live::new(config).set(&[(b"dbfilename", b"other")], local);
        set.map(|config| config.dbfilename.clone()).map_err(|error| error.to_string())
    };
    assert_eq!(allowed(Guard::No, true), Err(refused.into()));
    assert_eq!(allowed(Guard::Local, false), Err(refused.into()));
    assert_eq!(allowed(Guard::Local, true), Ok("other".into()));
    assert_eq!(allowed(Guard::Yes, false), Ok("other".into()));
}

#[test]
fn get_answers_names_and_patterns_once() {
    let live = Live::new(Config::default());
    assert_eq!(get(&live, &["DataBases", "databases"]), pairs(&[("DataBases", "16")]));
    assert_eq!(get(&live, &["DATABASE*", "nope", "databases"]), pairs(&[("databases", "16")]));
    assert_eq!(
        get(&live, &["hash-max-*"]),
        pairs(&[
            ("hash-max-listpack-entries", "512"),
            ("hash-max-ziplist-entries", "512"),
            ("hash-max-listpack-value", "64"),
            ("hash-max-ziplist-value", "64"),
        ])
    );
    assert_eq!(get(&live, &[]), []);
}

#[test]
fn names_may_be_any_bytes() {
    let live = Live::new(Config::default());
    let error = live.set(&[(b"\xff\r\n", b"1")], false).unwrap_err();
    assert_eq!(error.message(), b"Unknown option or number of arguments for CONFIG SET - '\xff\r\n'");
    assert_eq!(error.to_string(), r"Unknown option or number of arguments for CONFIG SET - '\xff??'");
}

#[test]
fn values_that_promise_too_much_are_refused() {
    let live = Live::new(Config::default());
    let refused = |name: &str, value: &str, reason: &str| {
        let text = format!("CONFIG SET failed (possibly related to argument '{name}') - {reason}");
        assert_eq!(set(&live, &[(name, value)]), Err(text));
    };
    refused("min-slaves-to-write", "1", "Tarn has no replicas to wait for; use 0");
    refused(
        "appendonly",
        "no",
        "engine rocksdb logs every write; leave out 'appendonly no', or use 'engine memory'",
    );
    assert_eq!(set(&live, &[("min-slaves-to-write", "0"), ("appendonly", "yes")]), Ok(()));
}

#[test]
fn hints_are_brought_into_range() {
    let live = Live::new(Config::default());
    for (given, kept) in [("0", "1"), ("1", "1"), ("500", "500"), ("501", "500")] {
        assert_eq!(set(&live, &[("hz", given)]), Ok(()));
        assert_eq!(get(&live, &["hz"]), pairs(&[("hz", kept)]));
    }
}
