//! Passwords do not appear in MONITOR and SLOWLOG.

use tarn_resp::{Args as Words, OwnedArgs};

use super::registry::Registered;
use crate::config::table;

const INSTEAD: &[u8] = b"(redacted)";

/// The words without secrets, if the command has any.
pub fn redacted(command: &Registered, words: Words<'_>) -> Option<OwnedArgs> {
    match command.full_name.as_str() {
        "auth" => Some(replace(words, |at| at > 0)),
        "hello" => {
            let secrets = secrets_of_hello(words);
            (!secrets.is_empty()).then(|| replace(words, |at| secrets.contains(&at)))
        }
        "acl|setuser" | "acl|getuser" | "acl|deluser" => Some(replace(words, |at| at > 1)),
        "migrate" => {
            // Passwords stand behind AUTH, names and passwords behind AUTH2. What follows KEYS is keys.
            let secrets = |at: usize| match words.get(at) {
                Some(word) if word.eq_ignore_ascii_case(b"auth") => Some(at + 1..at + 2),
                Some(word) if word.eq_ignore_ascii_case(b"auth2") => Some(at + 1..at + 3),
                _ => None,
            };
            let (mut at, mut hidden) = (6, 0..0);
            while at < words.len() && !words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(b"keys")) {
                hidden = secrets(at).unwrap_or(hidden);
                at = hidden.end.max(at + 1);
            }
            (!hidden.is_empty()).then(|| replace(words, |at| hidden.contains(&at)))
        }
        "config|set" => {
            let is_secret = |at: usize| {
                // Names stand at even places behind the two words of the command, values behind them.
                let name = words.get(at.wrapping_sub(1)).unwrap_or(&[]);
                at >= 3 && at % 2 == 1 && table::find(name).is_some_and(|option| option.sensitive)
            };
            (0..words.len()).any(is_secret).then(|| replace(words, is_secret))
        }
        _ => None,
    }
}

/// Where the user names and passwords of HELLO stand. A client may be called `auth`.
fn secrets_of_hello(words: Words<'_>) -> Vec<usize> {
    let mut secrets = Vec::new();
    // Behind the command and the version.
    let mut at = 2;
    while let Some(word) = words.get(at) {
        at += if word.eq_ignore_ascii_case(b"auth") {
            secrets.extend([at + 1, at + 2]);
            3
        } else if word.eq_ignore_ascii_case(b"setname") {
            2
        } else {
            1
        };
    }
    secrets
}

fn replace(words: Words<'_>, is_secret: impl Fn(usize) -> bool) -> OwnedArgs {
    words.iter().enumerate().map(|(at, word)| if is_secret(at) { INSTEAD } else { word }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::gate;

    fn shown(line: &str) -> String {
        let words: OwnedArgs = line.split(' ').collect();
        let (command, _) = gate::find(words.view()).unwrap();
        let shown = redacted(command, words.view()).unwrap_or(words);
        let words: Vec<String> = shown.view().iter().map(|word| word.escape_ascii().to_string()).collect();
        words.join(" ")
    }

    #[test]
    fn secrets_are_replaced_and_nothing_else() {
        for (line, expected) in [
            ("AUTH pw", "AUTH (redacted)"),
            ("auth user pw", "auth (redacted) (redacted)"),
            ("HELLO 3 AUTH user pw SETNAME bob", "HELLO 3 AUTH (redacted) (redacted) SETNAME bob"),
            ("HELLO 3 SETNAME auth2", "HELLO 3 SETNAME auth2"),
            ("HELLO 3 SETNAME auth", "HELLO 3 SETNAME auth"),
            ("HELLO 3 SETNAME auth AUTH user pw", "HELLO 3 SETNAME auth AUTH (redacted) (redacted)"),
            ("HELLO 3 setname SETNAME auth auth pw", "HELLO 3 setname SETNAME auth (redacted) (redacted)"),
            ("HELLO 3 AUTH setname pw", "HELLO 3 AUTH (redacted) (redacted)"),
            ("HELLO 3 AUTH user", "HELLO 3 AUTH (redacted)"),
            ("HELLO 3 NONSENSE AUTH user pw", "HELLO 3 NONSENSE AUTH (redacted) (redacted)"),
            (
                "CONFIG SET timeout 0 requirepass pw hz 10",
                "CONFIG SET timeout 0 requirepass (redacted) hz 10",
            ),
            ("CONFIG SET timeout 0 hz 10", "CONFIG SET timeout 0 hz 10"),
            ("ECHO requirepass", "ECHO requirepass"),
            ("ACL SETUSER bob on >pw", "ACL SETUSER (redacted) (redacted) (redacted)"),
            ("ACL GETUSER bob", "ACL GETUSER (redacted)"),
            ("ACL DELUSER bob", "ACL DELUSER (redacted)"),
            ("ACL LOG", "ACL LOG"),
            ("MIGRATE h 1 k 0 9 COPY AUTH pw REPLACE", "MIGRATE h 1 k 0 9 COPY AUTH (redacted) REPLACE"),
            (
                "MIGRATE h 1 k 0 9 auth2 me pw KEYS auth",
                "MIGRATE h 1 k 0 9 auth2 (redacted) (redacted) KEYS auth",
            ),
            ("MIGRATE h 1 k 0 9 KEYS auth x", "MIGRATE h 1 k 0 9 KEYS auth x"),
        ] {
            assert_eq!(shown(line), expected);
        }
    }
}
