//! The first line of a script, `#!lua flags=no-writes`, and of a library of functions, `#!lua name=mylib`.

use tarn_resp::{Limits, OwnedArgs, Parsed, Parser};

use crate::error::{Error, shown};

/// What a script says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

/// A flag and its word.
const WORDS: [(Flags, &str); 5] = [
    (Flags::NO_WRITES, "no-writes"),
    (Flags::ALLOW_OOM, "allow-oom"),
    (Flags::ALLOW_STALE, "allow-stale"),
    (Flags::NO_CLUSTER, "no-cluster"),
    (Flags::ALLOW_CROSS_SLOT_KEYS, "allow-cross-slot-keys"),
];

impl Flags {
    pub const NO_WRITES: Flags = Flags(1);
    pub const ALLOW_OOM: Flags = Flags(1 << 1);
    pub const ALLOW_STALE: Flags = Flags(1 << 2);
    pub const NO_CLUSTER: Flags = Flags(1 << 3);
    pub const ALLOW_CROSS_SLOT_KEYS: Flags = Flags(1 << 4);
    /// Of a script without a first line like this: what old scripts were allowed.
    pub const OLD: Flags = Flags(1 << 5);

    pub fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 == flag.0
    }

    pub fn with(self, flag: Flags) -> Flags {
        Flags(self.0 | flag.0)
    }

    pub fn find(word: &[u8]) -> Option<Flags> {
        WORDS.iter().find(|(_, name)| name.as_bytes() == word).map(|(flag, _)| *flag)
    }

    pub fn words(self) -> impl Iterator<Item = &'static str> {
        WORDS.iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, word)| *word)
    }
}

/// A script taken apart: what its first line says, and the bytes that are Lua. The line's end stays, so that lines are
/// counted as in the whole.
pub fn split(script: &[u8]) -> Result<(Flags, &[u8]), Error> {
    if !script.starts_with(b"#!") {
        return Ok((Flags::OLD, script));
    }
    let (line, code) = first_line(script).map_err(|unfit| {
        Error::reply(match unfit {
            Unfit::NoEnd => "ERR Invalid script shebang",
            Unfit::Quotes => "ERR Invalid engine in script shebang",
        })
    })?;
    let mut words = line.view().iter();
    let engine = words.next().unwrap_or_default();
    if engine != b"#!lua" {
        return Err(Error::reply(format!("ERR Unexpected engine in script shebang: {}", shown(engine))));
    }
    let mut flags = Flags::default();
    for word in words {
        let Some(named) = word.strip_prefix(b"flags=") else {
            return Err(Error::reply(format!("ERR Unknown lua shebang option: {}", shown(word))));
        };
        let named = (!named.is_empty()).then_some(named);
        for flag in named.into_iter().flat_map(|named| named.split(|byte| *byte == b',')) {
            let found = Flags::find(flag).ok_or_else(|| {
                Error::reply(format!("ERR Unexpected flag in script shebang: {}", shown(flag)))
            })?;
            flags = flags.with(found);
        }
    }
    Ok((flags, code))
}

/// Why a first line cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// There is one line only, or a zero byte in the first one.
    NoEnd,
    /// A quote is not closed, or not at the end of its word.
    Quotes,
}

/// The words of the first line, which are quoted as in an inline command, and the rest, which begins with the line's end.
pub fn first_line(script: &[u8]) -> Result<(OwnedArgs, &[u8]), Unfit> {
    // The script itself has a limit.
    let limits = Limits { max_inline: usize::MAX, ..Limits::default() };
    let mut parser = Parser::new();
    match parser.parse(script, &limits) {
        Ok(Parsed::Command { consumed }) => {
            let rest = script.get(consumed.saturating_sub(1)..).unwrap_or_default();
            Ok((parser.args(script).to_owned_args(), rest))
        }
        Ok(_) => Err(Unfit::NoEnd),
        Err(_) => Err(Unfit::Quotes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_and_lines_stay_counted() {
        assert_eq!(split(b"return 1").unwrap(), (Flags::OLD, &b"return 1"[..]));
        assert_eq!(split(b"#!lua flags=\n1").unwrap().0, Flags::default());
        let (flags, code) = split(b"#!lua flags=no-writes,allow-oom\nreturn 1").unwrap();
        assert_eq!(code, b"\nreturn 1");
        assert_eq!(flags.words().collect::<Vec<_>>(), ["no-writes", "allow-oom"]);
        let (flags, code) = split(b"#!\"lua\"\tflags=\"no-writes\" 'flags=allow-oom'\r\n1").unwrap();
        assert_eq!((flags, code), (Flags::NO_WRITES.with(Flags::ALLOW_OOM), &b"\n1"[..]));
        for (script, words) in [
            (&b"#!lua flags=bad\n1"[..], "ERR Unexpected flag in script shebang: bad"),
            (b"#!python\n1", "ERR Unexpected engine in script shebang: #!python"),
            (b"#!lua", "ERR Invalid script shebang"),
            (b"#!lua flags=no-writes,\n1", "ERR Unexpected flag in script shebang: "),
            (b"#!lua name=x\n1", "ERR Unknown lua shebang option: name=x"),
            (b"#!lua \"x y\"\n1", "ERR Unknown lua shebang option: x y"),
            (b"#!lua flags=\"no-writes\n1", "ERR Invalid engine in script shebang"),
            (b"#!lua 'flags=no-writes'x\n1", "ERR Invalid engine in script shebang"),
            (b"#!lua\0\n1", "ERR Invalid script shebang"),
        ] {
            assert_eq!(split(script).unwrap_err().to_string(), words);
        }
    }
}
