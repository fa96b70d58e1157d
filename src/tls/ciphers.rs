//! Versions and ciphers by the names that redis.conf has for them, which are OpenSSL's.

use rustls::crypto::ring::cipher_suite as suite;
use rustls::version::{TLS12, TLS13};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

use crate::config::Config;

const TLS12_SUITES: [(&str, SupportedCipherSuite); 6] = [
    ("ECDHE-ECDSA-AES256-GCM-SHA384", suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-AES256-GCM-SHA384", suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-AES128-GCM-SHA256", suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-CHACHA20-POLY1305", suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

const TLS13_SUITES: [(&str, SupportedCipherSuite); 3] = [
    ("TLS_AES_256_GCM_SHA384", suite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", suite::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", suite::TLS13_CHACHA20_POLY1305_SHA256),
];

/// Words of OpenSSL's lists that stand for all that there is here: every cipher of rustls is of the strongest class.
const ALL: [&str; 4] = ["DEFAULT", "ALL", "HIGH", "COMPLEMENTOFDEFAULT"];
/// Words that stand for a part of it.
const PARTS: [(&str, &str); 7] = [
    ("ECDHE", "ECDHE-"),
    ("EECDH", "ECDHE-"),
    ("AESGCM", "-GCM-"),
    ("CHACHA20", "CHACHA20"),
    ("AES128", "AES128"),
    ("AES256", "AES256"),
    ("ECDSA", "-ECDSA-"),
];

/// `tls-protocols`. The reason for a refusal is in Redis's words where it has any.
pub fn versions(names: &str) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let mut versions: Vec<&'static SupportedProtocolVersion> = Vec::new();
    for name in names.split_ascii_whitespace() {
        match name.to_ascii_lowercase().as_str() {
            "tlsv1.2" => versions.push(&TLS12),
            "tlsv1.3" => versions.push(&TLS13),
            "tlsv1" | "tlsv1.1" => {
                return Err(format!(
                    "tls-protocols: {name} is not safe and not spoken here; use TLSv1.2 and TLSv1.3"
                ));
            }
            _ => {
                return Err("Invalid tls-protocols specified. Use a combination of 'TLSv1.2' and 'TLSv1.3'."
                    .to_owned());
            }
        }
    }
    if versions.is_empty() {
        versions.extend([&TLS12, &TLS13]);
    }
    Ok(versions)
}

/// `tls-ciphersuites` and `tls-ciphers`.
pub fn suites(config: &Config) -> Result<Vec<SupportedCipherSuite>, String> {
    let mut suites = chosen("tls-ciphersuites", &config.tls_ciphersuites, &TLS13_SUITES)?;
    suites.extend(chosen("tls-ciphers", &config.tls_ciphers, &TLS12_SUITES)?);
    Ok(suites)
}

/// Those of `known` that a list names, in its order. As OpenSSL does, unknown ones are passed over unless nothing is left.
fn chosen(
    option: &str,
    list: &str,
    known: &[(&str, SupportedCipherSuite)],
) -> Result<Vec<SupportedCipherSuite>, String> {
    if list.trim().is_empty() {
        return Ok(known.iter().map(|(_, suite)| *suite).collect());
    }
    let (mut chosen, mut passed_over): (Vec<&(&str, SupportedCipherSuite)>, Vec<&str>) =
        (Vec::new(), Vec::new());
    let mut banned: Vec<&str> = Vec::new();
    for word in list.split([':', ',', ' ']).filter(|word| !word.is_empty() && !word.starts_with('@')) {
        let (sign, name) = match word.split_at_checked(1) {
            Some((sign @ ("!" | "-" | "+"), name)) => (sign, name),
            _ => ("", word),
        };
        let meant: Vec<_> = known.iter().filter(|(known, _)| stands_for(name, known)).collect();
        match sign {
            "!" => {
                banned.extend(meant.iter().map(|(name, _)| *name));
                chosen.retain(|(name, _)| !banned.contains(name));
            }
            "-" => chosen.retain(|(name, _)| !meant.iter().any(|(other, _)| other == name)),
            // To the end of the list.
            "+" => chosen.sort_by_key(|(name, _)| meant.iter().any(|(other, _)| other == name)),
            _ if meant.is_empty() => passed_over.push(name),
            _ => {
                for new in meant {
                    if !chosen.iter().any(|(name, _)| *name == new.0) && !banned.contains(&new.0) {
                        chosen.push(new);
                    }
                }
            }
        }
    }
    if chosen.is_empty() {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        return Err(format!("{option}: none of '{list}' is available; there are {}", names.join(", ")));
    }
    if !passed_over.is_empty() {
        tracing::info!("{option}: not available here, and passed over: {}", passed_over.join(", "));
    }
    Ok(chosen.into_iter().map(|(_, suite)| *suite).collect())
}

/// Whether a word of a list means this cipher. Words joined by `+` must all.
fn stands_for(word: &str, cipher: &str) -> bool {
    word.split('+').all(|word| {
        let is_part = PARTS.iter().any(|(name, part)| *name == word && cipher.contains(part));
        word == cipher
            || ALL.contains(&word)
            || is_part
            || (matches!(word, "aRSA" | "RSA") && cipher.contains("-RSA-"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(list: &str) -> Result<Vec<&'static str>, String> {
        let chosen = chosen("tls-ciphers", list, &TLS12_SUITES)?;
        Ok(chosen.iter().map(|one| TLS12_SUITES.iter().find(|(_, suite)| suite == one).unwrap().0).collect())
    }

    #[test]
    fn lists_of_ciphers_are_read_as_openssl_does() {
        assert_eq!(named("").unwrap().len(), 6);
        assert_eq!(named("DEFAULT:!MEDIUM:!aNULL").unwrap().len(), 6);
        assert_eq!(
            named("AES256-SHA:ECDHE-RSA-CHACHA20-POLY1305,ECDHE-RSA-AES128-GCM-SHA256"),
            Ok(vec!["ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-RSA-AES128-GCM-SHA256"])
        );
        assert_eq!(
            named("HIGH:!AES256:-ECDSA"),
            Ok(vec!["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"])
        );
        assert_eq!(
            named("ECDHE+AESGCM:!ECDSA:+AES256"),
            Ok(vec!["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384"])
        );
        assert_eq!(named("!AES256:ALL:!ECDSA").unwrap().len(), 2, "what is banned does not come back");
        let refused = named("DHE-RSA-AES256-GCM-SHA384").unwrap_err();
        assert!(
            refused.starts_with(
                "tls-ciphers: none of 'DHE-RSA-AES256-GCM-SHA384' is available; there are ECDHE-"
            )
        );
        assert!(named("foo").is_err() && named("ALL:!ALL").is_err());
    }

    #[test]
    fn versions_are_the_two_that_are_safe() {
        assert_eq!(versions("").unwrap(), [&TLS12, &TLS13]);
        assert_eq!(versions("tlsv1.3").unwrap(), [&TLS13]);
        assert_eq!(versions("TLSv1.2 TLSv1.3").unwrap(), [&TLS12, &TLS13]);
        assert!(versions("TLSv1.1 TLSv1.2").unwrap_err().contains("TLSv1.1 is not safe"));
        assert!(versions("foo").unwrap_err().starts_with("Invalid tls-protocols specified."));
    }
}
