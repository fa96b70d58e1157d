//! Random commands against a map: replies, and that each member has exactly its two rows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use tarn_engine::Range;

use super::range::Ranks;
use super::*;
use crate::encoding::zset::{ordered, read_score};
use crate::keyspace::draws;
use crate::testkit::Kit;

type Model = BTreeMap<Vec<u8>, f64>;

struct Random<I>(I);

impl<I: Iterator<Item = u64>> Random<I> {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next().unwrap() % n
    }

    fn member(&mut self) -> String {
        format!("m{}", self.below(60))
    }

    fn score(&mut self) -> f64 {
        match self.below(12) {
            0 => f64::INFINITY,
            1 => f64::NEG_INFINITY,
            2 => 0.5,
            _ => self.below(9) as f64 - 4.0,
        }
    }
}

/// In the order of a sorted set.
fn sorted(model: &Model) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> =
        model.iter().map(|(member, score)| (String::from_utf8(member.clone()).unwrap(), *score)).collect();
    all.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap().then_with(|| a.0.cmp(&b.0)));
    all
}

fn listed<'a>(members: impl IntoIterator<Item = &'a (String, f64)>) -> String {
    let words: Vec<String> =
        members.into_iter().map(|(member, score)| format!("\"{member}\" \"{score}\"")).collect();
    format!("[{}]", words.join(" "))
}

/// Rows of both spaces agree with each other, with the size and with the model.
fn check_rows(kit: &mut Kit, key: &[u8], model: &Model) {
    kit.executor
        .look(0, |cx| {
            let Some(set) = SortedSet::find(cx, key)? else {
                assert!(model.is_empty());
                return Ok(());
            };
            assert_eq!(set.size(), model.len() as u64);
            let mut by_name = Model::new();
            set.rows.each(cx, &mut |element| {
                by_name.insert(element.member().to_vec(), read_value(element.value).unwrap());
                ControlFlow::Continue(())
            })?;
            assert_eq!(by_name, *model);
            let Interval { start, end } = set.whole();
            let (mut by_score, mut last) = (Model::new(), None);
            let range = Range { start: &start, end: &end };
            cx.scan_with(SCORE, range, Direction::Forward, usize::MAX, &mut |row, value| {
                let (score, member) = read_score(&row[start.len()..], value).unwrap();
                let place = Some((ordered(score), member.to_vec()));
                assert!(last < place);
                last = place;
                by_score.insert(member.to_vec(), score);
                ControlFlow::Continue(())
            })?;
            assert_eq!(by_score, *model);
            Ok(())
        })
        .unwrap();
}

fn combined(models: [&Model; 2], both: bool) -> Model {
    let mut all = Model::new();
    for (member, score) in models[0].iter().chain(models[1]) {
        let total = all.get(member).copied().map_or(*score, |before: f64| before + score);
        all.insert(member.clone(), if total.is_nan() { 0.0 } else { total });
    }
    if both {
        all.retain(|member, _| models.iter().all(|model| model.contains_key(member)));
    }
    all
}

#[test]
fn random_commands_do_what_a_map_does() {
    for seed in 0..12 {
        let mut kit = Kit::new();
        let mut random = Random(draws(seed));
        let mut models: BTreeMap<&str, Model> = ["a", "b", "c"].map(|key| (key, Model::new())).into();
        for _ in 0..400 {
            let key = ["a", "b", "c"][random.below(3) as usize];
            let mut model = models.get(key).unwrap().clone();
            let (member, score) = (random.member(), random.score());
            let all = sorted(&model);
            let size = all.len() as i64;
            let (from, to) = (random.below(20) as i64 - 10, random.below(40) as i64 - 10);
            let ranks = Ranks::between(size as u64, from, to)
                .map_or(0..0, |ranks| ranks.first as usize..(ranks.first + ranks.len) as usize);
            let (min, max) = (random.score(), random.score());
            let in_range = |score: f64| min <= score && score <= max;
            let (line, want) = match random.below(13) {
                0..=2 => {
                    let is_new = model.insert(member.clone().into_bytes(), score).is_none();
                    (format!("ZADD {key} {score} {member}"), format!(":{}", u8::from(is_new)))
                }
                3 => {
                    let before = model.get(member.as_bytes()).copied().unwrap_or(0.0);
                    let after = before + score;
                    let line = format!("ZINCRBY {key} {score} {member}");
                    if after.is_nan() {
                        (line, "-ERR resulting score is not a number (NaN)".to_owned())
                    } else {
                        model.insert(member.into_bytes(), after);
                        (line, format!("\"{after}\""))
                    }
                }
                4 => {
                    let had = model.remove(member.as_bytes()).is_some();
                    (format!("ZREM {key} {member}"), format!(":{}", u8::from(had)))
                }
                5 => (format!("ZRANGE {key} {from} {to} WITHSCORES"), listed(&all[ranks])),
                6 => {
                    let want = listed(all.iter().rev().filter(|(_, score)| in_range(*score)));
                    (format!("ZREVRANGEBYSCORE {key} {max} {min} WITHSCORES"), want)
                }
                7 => {
                    let count = all.iter().filter(|(_, score)| in_range(*score)).count();
                    (format!("ZCOUNT {key} {min} {max}"), format!(":{count}"))
                }
                8 => {
                    let rank = all.iter().position(|(name, _)| *name == member);
                    (
                        format!("ZRANK {key} {member}"),
                        rank.map_or("nil".to_owned(), |rank| format!(":{rank}")),
                    )
                }
                9 => {
                    let gone = &all[ranks];
                    model.retain(|name, _| !gone.iter().any(|(member, _)| member.as_bytes() == name));
                    (format!("ZREMRANGEBYRANK {key} {from} {to}"), format!(":{}", gone.len()))
                }
                10 => {
                    let before = model.len();
                    model.retain(|_, score| !in_range(*score));
                    (format!("ZREMRANGEBYSCORE {key} {min} {max}"), format!(":{}", before - model.len()))
                }
                11 => {
                    let both = random.below(2) == 0;
                    model = combined([&models["a"], &models["b"]], both);
                    let name = if both { "ZINTERSTORE" } else { "ZUNIONSTORE" };
                    (format!("{name} {key} 2 a b"), format!(":{}", model.len()))
                }
                _ => {
                    let popped: Vec<_> = all.iter().rev().take(2).cloned().collect();
                    model.retain(|name, _| !popped.iter().any(|(member, _)| member.as_bytes() == name));
                    (format!("ZPOPMAX {key} 2"), listed(&popped))
                }
            };
            assert_eq!(kit.run(&line), want, "seed {seed}: {line}");
            check_rows(&mut kit, key.as_bytes(), &model);
            models.insert(key, model);
        }
    }
}

#[test]
fn ranks_between_indexes() {
    let ranks = |start, end| Ranks::between(5, start, end).map(|ranks| (ranks.first, ranks.len));
    assert_eq!(ranks(0, -1), Some((0, 5)));
    assert_eq!(ranks(-2, 9), Some((3, 2)));
    assert_eq!(ranks(-9, 0), Some((0, 1)));
    assert_eq!(ranks(i64::MIN, i64::MAX), Some((0, 5)));
    for (start, end) in [(5, 9), (3, 2), (0, -6), (-9, -6), (i64::MAX, i64::MIN)] {
        assert_eq!(ranks(start, end), None, "{start} {end}");
    }
    assert_eq!(Ranks::between(0, 0, -1), None);
    assert_eq!(Ranks { first: 1, len: 2 }.mirrored(5), Ranks { first: 2, len: 2 });
}
