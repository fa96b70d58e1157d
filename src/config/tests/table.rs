//! The table against itself.

use std::collections::HashSet;

use crate::config::option::{Effect, Kind, Opt, Section};
use crate::config::parse::{self, Source};
use crate::config::{Config, table};

fn apply(config: &mut Config, option: &Opt, text: &[u8]) -> Result<(), String> {
    parse::apply(config, option, &[text], Source::Set)
}

#[test]
fn names_are_unique_and_lower_case() {
    let mut seen = HashSet::new();
    for (name, _) in table::names() {
        assert!(seen.insert(name), "{name} twice");
        assert_eq!(name, name.to_ascii_lowercase());
        assert_eq!(table::reason_unsupported(name.as_bytes()), None, "{name}");
    }
}

#[test]
fn defaults_are_valid_and_shown_as_they_were_set() {
    let config = Config::default();
    for option in table::options() {
        let mut again = config.clone();
        assert_eq!(apply(&mut again, option, option.default.as_bytes()), Ok(()), "{}", option.name);
        let shown = option.text(&config);
        assert_eq!(apply(&mut again, option, &shown), Ok(()), "{}", option.name);
        assert_eq!(option.load(&again), option.load(&config), "{}", option.name);
    }
}

#[test]
fn bounds_fit_the_fields() {
    for option in table::options() {
        let edges: Vec<String> = match option.kind {
            Kind::Int { min, max } => vec![min.to_string(), max.to_string()],
            Kind::Memory { min, max } => vec![min.to_string(), max.to_string()],
            Kind::Octal { max } => vec!["0".into(), format!("{max:o}")],
            Kind::Choice(names) | Kind::Choices(names) => names.iter().map(|name| name.to_string()).collect(),
            Kind::Bool => vec!["yes".into(), "no".into()],
            _ => continue,
        };
        for edge in edges {
            let mut config = Config::default();
            match option.effect {
                Effect::Only { values, reason } if !values.contains(&edge.as_str()) => {
                    assert_eq!(apply(&mut config, option, edge.as_bytes()), Err(reason.into()));
                }
                _ => {
                    assert_eq!(apply(&mut config, option, edge.as_bytes()), Ok(()), "{} {edge}", option.name);
                    if option.name != "appendonly" {
                        assert_eq!(option.text(&config), edge.as_bytes(), "{}", option.name);
                    }
                }
            }
        }
    }
}

#[test]
fn values_beyond_the_bounds_are_refused() {
    let mut config = Config::default();
    for option in table::options() {
        let (beyond, expected) = match option.kind {
            Kind::Int { min, max } if max < i128::from(i64::MAX) => {
                (max + 1, format!("argument must be between {min} and {max} inclusive"))
            }
            Kind::Int { min, max } => {
                (min - 1, format!("argument must be between {min} and {max} inclusive"))
            }
            Kind::Memory { min, max } => {
                (i128::from(max) + 1, format!("argument must be between {min} and {max} inclusive"))
            }
            _ => continue,
        };
        assert_eq!(
            apply(&mut config, option, beyond.to_string().as_bytes()),
            Err(expected),
            "{}",
            option.name
        );
    }
    assert_eq!(config, Config::default());
}

#[test]
fn every_option_says_what_it_is_for() {
    for option in table::options() {
        let effective = matches!(option.effect, Effect::Field { .. });
        assert_eq!(effective, option.section != Section::Compatibility, "{}", option.name);
        if effective || matches!(option.effect, Effect::Only { .. }) {
            assert!(option.help.ends_with('.'), "{}", option.name);
        }
    }
}

#[test]
fn every_field_is_set_by_its_own_option() {
    // Changing one option changes what that option shows and nothing else.
    for option in table::options() {
        let other = match (option.kind, option.effect) {
            (_, Effect::Only { .. }) => continue,
            (Kind::Bool, _) => if option.default == "yes" { "no" } else { "yes" }.to_string(),
            (Kind::Int { max, .. }, _) => (max - 1).to_string(),
            (Kind::Memory { max, .. }, _) => (max - 1).to_string(),
            (Kind::MemoryOrPercent, _) => "12%".into(),
            (Kind::Octal { .. }, _) => "751".into(),
            (Kind::Choice(names) | Kind::Choices(names), _) => {
                names.iter().find(|name| **name != option.default).unwrap().to_string()
            }
            (Kind::Text | Kind::FileName | Kind::Words { .. }, _) => "other".into(),
            (Kind::OutputLimits, _) => "normal 1 2 3 slave 4 5 6 pubsub 7 8 9".into(),
            (Kind::Events, _) => "AKE".into(),
            (Kind::Percentiles, _) => "1 2.5".into(),
            (Kind::SavePoints, _) => "3600 1".into(),
            (Kind::OomScores, _) => "1 2 -3".into(),
        };
        let mut config = Config::default();
        assert_eq!(apply(&mut config, option, other.as_bytes()), Ok(()), "{}", option.name);
        for checked in table::options() {
            // `appendonly` shows what the engine does, and is checked where contradictions are.
            let changed = match (checked.name, option.name) {
                ("appendonly", "engine") => true,
                ("appendonly", "appendonly") => false,
                (checked, set) => checked == set,
            };
            let differs = checked.load(&config) != checked.load(&Config::default());
            assert_eq!(differs, changed, "{} after {}", checked.name, option.name);
            if checked.name == option.name && changed {
                assert_eq!(checked.text(&config), other.as_bytes());
            }
        }
    }
}

#[test]
fn misspelt_names_have_a_suggestion() {
    let near = |name: &str| table::nearest(name.as_bytes());
    assert_eq!(near("maxmemroy"), Some("maxmemory"));
    assert_eq!(near("prot"), Some("port"));
    assert_eq!(near("MaxClient"), Some("maxclients"));
    assert_eq!(near("apendfsync"), Some("appendfsync"));
    assert_eq!(near("xyzzy"), None);
    assert_eq!(near(""), None);
}

#[test]
fn sensitive_options_are_marked() {
    let names: Vec<&str> =
        table::options().filter(|option| option.sensitive).map(|option| option.name).collect();
    assert_eq!(
        names,
        ["requirepass", "metrics-password", "tls-key-file-pass", "tls-client-key-file-pass", "masterauth"]
    );
}
