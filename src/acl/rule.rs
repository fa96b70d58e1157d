//! One rule of a user: a word of ACL SETUSER, of a `user` line or of the ACL file.

use super::selector::Access;

/// What a rule says. The words of a pattern, a command or a password are not looked at yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule<'a> {
    On,
    Off,
    SkipSanitizing,
    Sanitize,
    NoPassword,
    ResetPasswords,
    AddPassword(&'a [u8]),
    AddHash(&'a [u8]),
    RemovePassword(&'a [u8]),
    RemoveHash(&'a [u8]),
    Selector(&'a [u8]),
    ClearSelectors,
    Reset,
    // What selectors take as well:
    AllKeys,
    ResetKeys,
    AllChannels,
    ResetChannels,
    AllDatabases,
    ResetDatabases,
    AllCommands,
    NoCommands,
    Key(Result<Access, RuleError>, &'a [u8]),
    Channel(&'a [u8]),
    Databases(&'a [u8]),
    Category { allows: bool, name: &'a [u8] },
    Allow(&'a [u8]),
    Deny(&'a [u8]),
    Unknown,
}

/// What new users and new selectors have (`acl-pubsub-default`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Defaults {
    pub all_channels: bool,
}

/// Why a rule is refused, in Redis's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("Unknown command or category name in ACL")]
    Unknown,
    #[error("Syntax error")]
    Syntax,
    #[error(
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try \
         'resetkeys' to start with an empty list of patterns"
    )]
    AfterAllKeys,
    #[error(
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. \
         Try 'resetchannels' to start with an empty list of channels"
    )]
    AfterAllChannels,
    #[error("The password you are trying to remove from the user does not exist")]
    NoSuchPassword,
    #[error(
        "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
    )]
    BadHash,
    #[error("Allowing first-arg of a subcommand is not supported")]
    FirstArgOfSubcommand,
    #[error("The provided database ID is out of range")]
    DatabaseOutOfRange,
    #[error("Duplicate user found. A user can only be defined once in config files")]
    DuplicateUser,
}

/// Rules that are a word.
const WORDS: &[(&str, Rule<'static>)] = &[
    ("on", Rule::On),
    ("off", Rule::Off),
    ("skip-sanitize-payload", Rule::SkipSanitizing),
    ("sanitize-payload", Rule::Sanitize),
    ("nopass", Rule::NoPassword),
    ("resetpass", Rule::ResetPasswords),
    ("clearselectors", Rule::ClearSelectors),
    ("reset", Rule::Reset),
    ("allkeys", Rule::AllKeys),
    ("~*", Rule::AllKeys),
    ("resetkeys", Rule::ResetKeys),
    ("allchannels", Rule::AllChannels),
    ("&*", Rule::AllChannels),
    ("resetchannels", Rule::ResetChannels),
    ("alldbs", Rule::AllDatabases),
    ("resetdbs", Rule::ResetDatabases),
    ("allcommands", Rule::AllCommands),
    ("+@all", Rule::AllCommands),
    ("nocommands", Rule::NoCommands),
    ("-@all", Rule::NoCommands),
];

impl<'a> Rule<'a> {
    pub fn parse(text: &'a [u8]) -> Rule<'a> {
        let word = WORDS.iter().find(|(word, _)| text.eq_ignore_ascii_case(word.as_bytes()));
        if let Some((_, rule)) = word {
            return *rule;
        }
        if let Some((prefix, list)) = text.split_at_checked(3)
            && prefix.eq_ignore_ascii_case(b"db=")
        {
            return Rule::Databases(list);
        }
        match text {
            [b'>', password @ ..] => Rule::AddPassword(password),
            [b'#', hash @ ..] => Rule::AddHash(hash),
            [b'<', password @ ..] => Rule::RemovePassword(password),
            [b'!', hash @ ..] => Rule::RemoveHash(hash),
            [b'(', inner @ .., b')'] => Rule::Selector(inner),
            [b'~', pattern @ ..] => Rule::Key(Ok(Access::BOTH), pattern),
            [b'%', rest @ ..] => {
                let (access, pattern) = access(rest);
                Rule::Key(access, pattern)
            }
            [b'&', pattern @ ..] => Rule::Channel(pattern),
            [b'+', b'@', name @ ..] => Rule::Category { allows: true, name },
            [b'-', b'@', name @ ..] => Rule::Category { allows: false, name },
            [b'+', name @ ..] => Rule::Allow(name),
            [b'-', name @ ..] => Rule::Deny(name),
            _ => Rule::Unknown,
        }
    }
}

/// What stands between `%` and the pattern. A rule that ends before the pattern has an empty one.
fn access(rest: &[u8]) -> (Result<Access, RuleError>, &[u8]) {
    let mut access = Access::default();
    for (at, letter) in rest.iter().enumerate() {
        match letter.to_ascii_uppercase() {
            b'R' if !access.reads => access.reads = true,
            b'W' if !access.writes => access.writes = true,
            b'~' if access != Access::default() => {
                return (Ok(access), rest.get(at + 1..).unwrap_or_default());
            }
            _ => return (Err(RuleError::Syntax), &[]),
        }
    }
    // Redis takes `%` alone, and dies when it shows it.
    if access == Access::default() { (Err(RuleError::Syntax), &[]) } else { (Ok(access), &[]) }
}

/// Names and patterns have neither spaces nor zero bytes, so that rules can be written in lines and read again.
pub fn has_spaces(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | 0))
}

/// Rules, where a selector may be spread over several words. An opening parenthesis that is not closed is refused: its place.
pub fn merge_selectors<'a>(words: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, usize> {
    let mut merged: Vec<Vec<u8>> = Vec::new();
    let mut open: Option<(usize, Vec<u8>)> = None;
    for (at, word) in words.into_iter().enumerate() {
        match open.take() {
            None if word.starts_with(b"(") && !word.ends_with(b")") => open = Some((at, word.to_vec())),
            None => merged.push(word.to_vec()),
            Some((begin, mut selector)) => {
                selector.push(b' ');
                selector.extend_from_slice(word);
                if word.ends_with(b")") {
                    merged.push(selector);
                } else {
                    open = Some((begin, selector));
                }
            }
        }
    }
    match open {
        None => Ok(merged),
        Some((begin, _)) => Err(begin),
    }
}
