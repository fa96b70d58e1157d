use std::collections::BTreeMap;

use super::*;
use crate::dispatch::locks::StripeSet;
use crate::error::Stop;
use crate::keyspace::{ReadCx, draws};
use crate::testkit::Kit;

const KIND: Kind = Kind::Set;
const KEY: &[u8] = b"key";

/// A kit whose commands run at the time of the server's own work.
fn open() -> Kit {
    let mut kit = Kit::new();
    kit.now_ms = kit.node.clock.now_ms();
    kit
}

fn write<T>(kit: &mut Kit, mut work: impl FnMut(&mut WriteCx<'_>) -> Result<T>) -> T {
    kit.executor.transact(&StripeSet::ALL, 0, &mut work).expect("a commit")
}

fn read<T>(kit: &mut Kit, work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>) -> T {
    kit.executor.look(0, work).expect("a read")
}

fn name(n: u64) -> Vec<u8> {
    format!("member:{n}").into_bytes()
}

/// A collection of members `member:0` and so on, each with its number as value.
fn fill(kit: &mut Kit, key: &[u8], count: u64) {
    for from in (0..count).step_by(5_000) {
        write(kit, |cx| {
            let mut all = Collection::open_or_create(cx, key, KIND)?;
            for n in from..count.min(from + 5_000) {
                all.put(cx, &name(n), &[&n.to_be_bytes()])?;
            }
            all.save(cx)
        });
    }
}

fn find<'k>(cx: &mut impl View, key: &'k [u8]) -> Collection<'k> {
    Collection::find(cx, key, KIND).expect("a read").expect("a collection")
}

fn subs(kit: &mut Kit, key: &[u8]) -> Vec<Vec<u8>> {
    read(kit, |cx| {
        let all = find(cx, key);
        let mut found = Vec::new();
        all.each(cx, &mut |element| {
            found.push(element.sub.to_vec());
            ControlFlow::Continue(())
        })?;
        assert_eq!(found.len() as u64, all.size());
        Ok(found)
    })
}

#[test]
fn the_size_follows_the_elements_and_the_key_goes_with_the_last() {
    let mut kit = open();
    write(&mut kit, |cx| {
        let mut all = Collection::open_or_create(cx, KEY, KIND)?;
        assert!(all.is_fresh() && all.is_empty());
        assert!(!all.has(cx, b"a")? && all.get(cx, b"a")?.is_none());
        assert!(all.put(cx, b"a", &[b"1"])? && all.put(cx, b"", &[])? && !all.put(cx, b"a", &[b"2"])?);
        assert!(all.delete(cx, b"")? && !all.delete(cx, b"")?);
        all.save(cx)
    });
    assert_eq!(kit.run("DBSIZE | PEXPIREAT key 9000000000000 | TYPE key"), ":1 | :1 | +set");
    let version = write(&mut kit, |cx| {
        let mut all = Collection::open(cx, KEY, KIND)?.expect("a collection");
        assert_eq!((all.size(), all.is_fresh(), all.has_grown()), (1, false, false));
        let value = all.get(cx, b"a")?.expect("a member");
        assert_eq!(cx.bytes(value), b"2");
        assert!(all.put(cx, b"b", &[])?);
        all.set_own(b"own");
        all.save(cx).map(|()| all.version())
    });
    assert_eq!(kit.run("PEXPIRETIME key"), ":9000000000000", "kept");
    write(&mut kit, |cx| {
        let mut all = Collection::open(cx, KEY, KIND)?.expect("a collection");
        assert_eq!((all.size(), all.version(), all.own()), (2, version, &b"own"[..]));
        assert!(all.delete(cx, b"a")? && all.delete(cx, b"b")?);
        all.save(cx)
    });
    assert_eq!(kit.run("DBSIZE | EXISTS key"), ":0 | :0");
    write(&mut kit, |cx| {
        assert!(Collection::open(cx, KEY, KIND)?.is_none());
        let mut all = Collection::open_or_create(cx, KEY, KIND)?;
        assert!(all.version() > version);
        all.save(cx)
    });
    assert_eq!(kit.run("DBSIZE | SET key x"), ":0 | +OK", "nothing was put");
    let refused =
        kit.executor.transact(&StripeSet::ALL, 0, |cx| Collection::open_or_create(cx, KEY, KIND).map(|_| ()));
    assert!(matches!(refused.err().as_ref().and_then(Stop::refusal), Some(Error::WrongType)));
}

#[test]
fn an_element_of_the_same_size_leaves_the_metadata_alone() {
    let mut kit = open();
    fill(&mut kit, KEY, 3);
    write(&mut kit, |cx| {
        let mut all = Collection::open(cx, KEY, KIND)?.expect("a collection");
        assert!(!all.put(cx, &name(1), &[b"other"])? && !all.changed);
        all.save(cx)
    });
    write(&mut kit, |cx| {
        let mut all = Collection::open(cx, KEY, KIND)?.expect("a collection");
        all.grow();
        all.save(cx)
    });
    read(&mut kit, |cx| {
        assert!(find(cx, KEY).has_grown());
        Ok(())
    });
}

#[test]
fn a_collection_grows_above_the_compact_limit_and_stays_so() {
    let mut kit = open();
    let grown = |kit: &mut Kit| read(kit, |cx| Ok(find(cx, KEY).has_grown()));
    fill(&mut kit, KEY, 512);
    assert!(!grown(&mut kit));
    fill(&mut kit, KEY, 513);
    assert!(grown(&mut kit));
    write(&mut kit, |cx| {
        let mut all = Collection::open(cx, KEY, KIND)?.expect("a collection");
        all.delete(cx, &name(0))?;
        all.save(cx)
    });
    assert!(grown(&mut kit));
}

#[test]
fn many_are_read_as_few_are() {
    let mut kit = open();
    fill(&mut kit, KEY, 600);
    for count in [1, FEW_READS as u64, FEW_READS as u64 + 1, READS_PER_STEP as u64 + 1, 700] {
        let names: Vec<Vec<u8>> = (0..count).map(name).collect();
        let found = read(&mut kit, |cx| {
            let mut all = find(cx, KEY);
            let mut found = Vec::new();
            all.get_each(cx, names.iter().map(Vec::as_slice), &mut |value| {
                found.push(value.map(<[u8]>::to_vec))
            })?;
            Ok(found)
        });
        let want: Vec<_> = (0..count).map(|n| (n < 600).then(|| n.to_be_bytes().to_vec())).collect();
        assert_eq!(found, want, "{count}");
    }
}

#[test]
fn a_walk_shows_everything_in_steps_both_ways() {
    let mut kit = open();
    fill(&mut kit, KEY, 1_000);
    fill(&mut kit, b"other", 10);
    let sorted = subs(&mut kit, KEY);
    assert!(sorted.is_sorted() && sorted.len() == 1_000);
    for direction in [Direction::Forward, Direction::Backward] {
        let mut found = read(&mut kit, |cx| {
            let (start, end) = find(cx, KEY).bounds();
            let mut walk = Walk::over(DATA, start.len(), start, end, direction);
            let mut found = Vec::new();
            while let Some(element) = walk.next(cx)? {
                assert_eq!(element.sub.len(), 8 + element.member().len());
                found.push(element.sub.to_vec());
            }
            assert!(walk.next(cx)?.is_none() && walk.peek(cx)?.is_none(), "stays at the end");
            Ok(found)
        });
        if direction == Direction::Backward {
            found.reverse();
        }
        assert_eq!(found, sorted);
    }
}

#[test]
fn a_walk_seeks_near_and_far_and_never_back() {
    let mut kit = open();
    fill(&mut kit, KEY, 1_000);
    let sorted = subs(&mut kit, KEY);
    for stride in [1, 2, 3, 7, 100, 999] {
        read(&mut kit, |cx| {
            let mut walk = find(cx, KEY).walk();
            for (at, sub) in sorted.iter().enumerate().step_by(stride) {
                walk.seek(sub);
                assert_eq!(walk.peek(cx)?.map(|element| element.sub), Some(sub.as_slice()), "{stride} {at}");
                walk.seek(&sorted[0]);
                assert_eq!(walk.peek(cx)?.map(|element| element.sub), Some(sub.as_slice()), "not back");
                let between = [sub.as_slice(), b"\0"].concat();
                walk.seek(&between);
                let next = sorted.get(at + 1).map(Vec::as_slice);
                assert_eq!(walk.peek(cx)?.map(|element| element.sub), next);
            }
            walk.seek(&[0xff; 40]);
            assert!(walk.peek(cx)?.is_none());
            Ok(())
        });
    }
}

#[test]
fn a_walk_goes_on_while_the_collection_is_written() {
    let mut kit = open();
    fill(&mut kit, KEY, 700);
    write(&mut kit, |cx| {
        let mut all = Collection::open(cx, KEY, KIND)?.expect("a collection");
        let mut walk = all.walk();
        let mut seen = 0;
        while let Some(element) = walk.next(cx)? {
            let member = element.member().to_vec();
            all.delete_known(cx, &member);
            seen += 1;
        }
        assert_eq!((seen, all.size()), (700, 0));
        all.save(cx)
    });
    assert_eq!(kit.run("EXISTS key"), ":0");
}

#[test]
fn pages_show_what_stays_once() {
    let mut kit = open();
    fill(&mut kit, KEY, 2_000);
    for count in [1, 10, 999, 5_000] {
        let mut seen = BTreeMap::new();
        let mut cursor = 0;
        let mut calls = 0;
        loop {
            cursor = read(&mut kit, |cx| {
                let all = find(cx, KEY);
                let mut shown = 0;
                let next = page::page(cx, &all, cursor, count, &mut |element| {
                    shown += 1;
                    *seen.entry(element.member().to_vec()).or_insert(0) += 1;
                })?;
                assert!(shown <= count && next < 1 << 53 && (next == 0 || next > cursor));
                Ok(next)
            });
            calls += 1;
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(calls, 2_000_usize.div_ceil(count));
        assert!(seen.len() == 2_000 && seen.values().all(|times| *times == 1));
    }
    for behind in [1 << 53, u64::MAX] {
        let all = read(&mut kit, |cx| {
            let all = find(cx, KEY);
            page::page(cx, &all, behind, 10, &mut |_| panic!("nothing is behind"))
        });
        assert_eq!(all, 0);
    }
}

#[test]
fn a_compact_collection_is_one_page() {
    let mut kit = open();
    fill(&mut kit, KEY, 512);
    for cursor in [0, 77, u64::MAX] {
        let shown = read(&mut kit, |cx| {
            let all = find(cx, KEY);
            let mut shown = 0;
            assert_eq!(page::page(cx, &all, cursor, 1, &mut |_| shown += 1)?, 0);
            Ok(shown)
        });
        assert_eq!(shown, 512);
    }
}

/// Pearson's statistic for counts that should all be the same.
fn chi_square(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().map(|count| (*count as f64 - mean).powi(2) / mean).sum()
}

/// Five standard deviations above what even chances give.
fn limit(cells: usize) -> f64 {
    let free = cells as f64 - 1.0;
    free + 5.0 * (2.0 * free).sqrt()
}

#[test]
fn picks_are_even() {
    for size in [1, 3, random::SMALL, random::SMALL + 1, 700, random::EXACT, random::EXACT + 1] {
        let mut kit = open();
        fill(&mut kit, KEY, size);
        let draws_of_each = 40;
        let counts = read(&mut kit, |cx| {
            let all = find(cx, KEY);
            let mut counts = vec![0_u64; size as usize];
            let mut random = draws(size);
            for _ in 0..size * draws_of_each {
                random::one(cx, &all, &mut random, &mut |element| {
                    let n = u64::from_be_bytes(element.value.try_into().expect("a number"));
                    counts[n as usize] += 1;
                })?;
            }
            Ok(counts)
        });
        assert_eq!(counts.iter().sum::<u64>(), size * draws_of_each);
        let statistic = chi_square(&counts);
        assert!(statistic <= limit(size as usize), "{size}: {statistic} over {}", limit(size as usize));
        if size > 100 {
            let free = size as f64 - 1.0;
            assert!(statistic > free - 5.0 * (2.0 * free).sqrt(), "{size}: {statistic} is too even");
        }
    }
}

#[test]
fn repeated_picks_are_as_many_as_asked_for_and_even() {
    let mut kit = open();
    fill(&mut kit, KEY, 2_000);
    // Few picks are drawn one by one, many in one walk.
    for (count, rounds) in [(10, 1_000), (40_000, 1)] {
        let counts = read(&mut kit, |cx| {
            let all = find(cx, KEY);
            let mut counts = vec![0_u64; 100];
            let mut order = Vec::new();
            let mut random = draws(count);
            for _ in 0..rounds {
                random::repeated(cx, &all, count, &mut random, &mut |element| {
                    let n = u64::from_be_bytes(element.value.try_into().expect("a number"));
                    counts[n as usize % 100] += 1;
                    order.push(element.sub.to_vec());
                })?;
            }
            assert!(!order.is_sorted(), "in no order");
            Ok(counts)
        });
        assert_eq!(counts.iter().sum::<u64>(), count * rounds);
        assert!(chi_square(&counts) <= limit(100), "{count}");
    }
}

#[test]
fn distinct_picks_are_distinct_and_even() {
    let mut kit = open();
    fill(&mut kit, KEY, 2_000);
    // Few are drawn, many are chosen in one walk, too many are all.
    for (count, rounds) in [(10, 1_000), (500, 20), (1_999, 5), (2_000, 1), (3_000, 1)] {
        let counts = read(&mut kit, |cx| {
            let all = find(cx, KEY);
            let mut counts = vec![0_u64; 100];
            let mut random = draws(count + 1);
            for _ in 0..rounds {
                let mut seen = std::collections::BTreeSet::new();
                random::distinct(cx, &all, count, &mut random, &mut |element| {
                    let n = u64::from_be_bytes(element.value.try_into().expect("a number"));
                    counts[n as usize % 100] += 1;
                    assert!(seen.insert(n), "{n} twice");
                })?;
                assert_eq!(seen.len() as u64, count.min(2_000));
            }
            Ok(counts)
        });
        assert!(chi_square(&counts) <= limit(100), "{count}");
    }
}

#[test]
fn copies_of_any_size_are_whole_and_apart() {
    let mut kit = open();
    for size in [1, Env::IO_THREAD_MAX_ROWS as u64, Env::IO_THREAD_MAX_ROWS as u64 + 1, 30_000] {
        kit.run("FLUSHALL | SET to x");
        fill(&mut kit, KEY, size);
        kit.run("PEXPIREAT key 9000000000000");
        assert_eq!(kit.run("COPY key to | COPY key to REPLACE | PEXPIRETIME to"), ":0 | :1 | :9000000000000");
        assert_eq!(subs(&mut kit, b"to"), subs(&mut kit, KEY));
        assert_eq!(kit.run("RENAME to there | EXISTS to | DEL key | DBSIZE"), "+OK | :0 | :1 | :1");
        assert_eq!(subs(&mut kit, b"there").len() as u64, size);
    }
}

#[test]
fn a_big_copy_is_work_for_a_worker() {
    let mut kit = open();
    fill(&mut kit, KEY, Env::IO_THREAD_MAX_ROWS as u64);
    kit.run("COPY key a");
    assert!(!kit.moved);
    fill(&mut kit, KEY, Env::IO_THREAD_MAX_ROWS as u64 + 1);
    kit.run("COPY key b");
    assert!(kit.moved);
}
