//! DEBUG subcommands that look at keys, or make some.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use xxhash_rust::xxh3::Xxh3;

use crate::commands::object;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx, read_rows, write_key};
use crate::encoding::meta::{Body, Kind};
use crate::error::{Error, Result};
use crate::keyspace::kind::Elements;
use crate::keyspace::{Entry, Env, ReadCx, View, entry, scan};
use crate::reply::Reply;
use crate::types::collection::Collection;
use crate::types::string;

/// Bytes of a value that are read at a time.
const CHUNK: u64 = 64 * 1024;
/// Most keys, and longest values, that POPULATE makes at once.
const MAX_KEYS: i64 = 100_000_000;
const MAX_VALUE_LEN: i64 = 64 * 1024 * 1024;

/// 160 bits, as in Redis; keys are combined by XOR, so that their order does not matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Digest(u128, u32);

impl Digest {
    fn combine(&mut self, other: Digest) {
        self.0 ^= other.0;
        self.1 ^= other.1;
    }

    fn hex(self) -> String {
        let mut text = String::with_capacity(40);
        // Writing into a string does not fail.
        let _ = write!(text, "{:032x}{:08x}", self.0, self.1);
        text
    }
}

/// The digest of all databases. Two servers with the same data answer the same.
pub fn digest(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let databases = cx.node.keyspace.shared.database_count();
    Ok(Answer::Worker(Box::new(move |node| {
        let mut all = Digest::default();
        for logical in 0..databases as u16 {
            all.combine(read_rows(node, logical, of_database)?);
        }
        Ok(Reply::Status(all.hex()))
    })))
}

fn of_database(cx: &mut ReadCx<'_>) -> Result<Digest> {
    let logical = cx.env().db.logical;
    let mut all = Digest::default();
    let mut cursor = 0;
    loop {
        let mut keys = Vec::new();
        cursor = scan::page(cx, cursor, Env::IO_THREAD_MAX_ROWS, &mut |found| keys.push(found.key.to_vec()))?;
        for key in keys {
            let begun = cx.arena().len();
            all.combine(of_key(cx, &key, Some(logical))?.unwrap_or_default());
            cx.arena().truncate(begun);
        }
        if cursor == 0 {
            return Ok(all);
        }
    }
}

/// The digest of a live key's value, with its name and database if these count.
fn of_key(cx: &mut ReadCx<'_>, key: &[u8], db: Option<u16>) -> Result<Option<Digest>> {
    let found = entry::find(cx, key)?;
    let Some(meta) = found.live().copied() else { return Ok(None) };
    let mut hash = Xxh3::new();
    if let Some(logical) = db {
        hash.update(&logical.to_be_bytes());
        hash.update(&(key.len() as u64).to_be_bytes());
        hash.update(key);
    }
    hash.update(meta.header.kind.info().name.as_bytes());
    hash.update(&[u8::from(meta.header.expire_at_ms != 0)]);
    if meta.header.kind.info().elements != Elements::Bytes {
        of_elements(cx, found, meta.header.kind, &mut hash)?;
    } else if let Some(value) = string::value(&found)? {
        let mut part = Vec::new();
        for start in (0..value.len()).step_by(CHUNK as usize) {
            part.clear();
            value.read_into(cx, start..start + CHUNK, &mut part)?;
            hash.update(&part);
        }
    }
    let wide = hash.digest128();
    hash.update(b"more");
    Ok(Some(Digest(wide, hash.digest() as u32)))
}

/// Adds the elements of a collection: in their order where it counts, otherwise in one that does not depend on the
/// data directory.
fn of_elements(cx: &ReadCx<'_>, found: Entry<'_>, kind: Kind, hash: &mut Xxh3) -> Result<()> {
    let Some(all) = Collection::of(cx, found, kind)? else { return Ok(()) };
    let mut unordered: u128 = 0;
    let info = kind.info();
    let expiring = if info.parts_expire { Some(cx.env.keyspace.parts.of(kind)?) } else { None };
    all.each(cx, &mut |element| {
        if expiring.is_some_and(|parts| (parts.is_expired)(element.value, cx.env.now_ms)) {
            return ControlFlow::Continue(());
        }
        let (parts, is_ordered): (&[&[u8]], bool) = match info.elements {
            Elements::Named => (&[element.member(), element.value], false),
            Elements::Numbered => (&[element.value], true),
            Elements::Bytes | Elements::Ordered => (&[element.sub, element.value], true),
        };
        let mut own = Xxh3::new();
        for part in parts {
            own.update(&(part.len() as u64).to_be_bytes());
            own.update(part);
        }
        let own = own.digest128();
        if is_ordered {
            hash.update(&own.to_be_bytes());
        } else {
            unordered ^= own;
        }
        ControlFlow::Continue(())
    })?;
    hash.update(&unordered.to_be_bytes());
    Ok(())
}

pub fn digest_value(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let keys: Vec<Vec<u8>> = args.rest().map(<[u8]>::to_vec).collect();
    Ok(Answer::reading(cx.session.db, move |cx| {
        let digests =
            keys.iter().map(|key| Ok(Reply::Status(of_key(cx, key, None)?.unwrap_or_default().hex())));
        Ok(Reply::Array(digests.collect::<Result<_>>()?))
    }))
}

/// Makes keys `prefix:0`, `prefix:1`, ... that do not exist yet.
pub fn populate(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let count = in_range(args.int()?, MAX_KEYS)?;
    let prefix = if args.is_empty() { b"key".as_slice() } else { args.next()? }.to_vec();
    let len = if args.is_empty() { None } else { Some(in_range(args.int()?, MAX_VALUE_LEN)? as usize) };
    let db = cx.session.db;
    Ok(Answer::Worker(Box::new(move |node| {
        for n in 0..count {
            let key = [prefix.as_slice(), format!(":{n}").as_bytes()].concat();
            let mut value = format!("value:{n}").into_bytes();
            if let Some(len) = len {
                value.resize(len, 0);
            }
            write_key(node, db, &key, |cx| {
                let found = entry::find(cx, &key)?;
                if found.exists() { Ok(()) } else { string::set(cx, &found, &value, 0) }
            })?;
        }
        node.engine.flush()?;
        Ok(Reply::OK)
    })))
}

fn in_range(number: i64, most: i64) -> Result<i64> {
    if (0..=most).contains(&number) {
        Ok(number)
    } else {
        Err(Error::reply("ERR value is out of range, must be positive").into())
    }
}

/// What Redis tells of a value, as far as it has a meaning.
pub fn object(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let key = args.next()?.to_vec();
    Ok(Answer::reading(cx.session.db, move |cx| {
        let found = entry::find(cx, &key)?;
        let meta = *found.live().ok_or(Error::NoSuchKey)?;
        let len = match meta.header.body {
            Body::Rows { size, .. } => size,
            Body::Inline => meta.rest.len as u64,
        };
        let encoding = object::encoding_name(cx, &meta);
        Ok(Reply::Status(format!(
            "Value at:0x0 refcount:1 encoding:{encoding} serializedlength:{len} lru:0 lru_seconds_idle:0"
        )))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    const NOTHING: &str = "+0000000000000000000000000000000000000000";

    fn open() -> Kit {
        Kit::with(&[("enable-debug-command", "yes")])
    }

    #[test]
    fn a_digest_follows_the_data_and_nothing_else() {
        let (mut a, mut b) = (open(), open());
        assert_eq!(a.run("DEBUG DIGEST"), NOTHING);
        a.run("SET x 1 | SET y 2 | SELECT 3 | SET x 1");
        b.run("SELECT 3 | SET x 9 | SET x 1 | SELECT 0 | SET y 2 | SET x 1 | SET z 1 | DEL z");
        let digest = a.run("DEBUG DIGEST");
        assert_ne!(digest, NOTHING);
        assert_eq!(digest.len(), 41);
        assert_eq!(b.run("DEBUG DIGEST"), digest);
        for change in ["SET y 3", "EXPIRE y 100", "SELECT 1 | SET y 2"] {
            let mut changed = open();
            changed.run("SELECT 3 | SET x 1 | SELECT 0 | SET x 1 | SET y 2");
            assert_eq!(changed.run("DEBUG DIGEST"), digest);
            changed.run(change);
            assert_ne!(changed.run("DEBUG DIGEST"), digest, "{change}");
        }
    }

    #[test]
    fn a_digest_of_a_hash_follows_its_fields() {
        let mut kit = open();
        kit.run("HSET a x 1 y 2 | HSET b y 2 x 1 | HSET c x 2 y 1 | HSET d x 1");
        let reply = kit.run("DEBUG DIGEST-VALUE a b c d");
        let digests: Vec<&str> = reply.trim_matches(['[', ']']).split(' ').collect();
        assert_eq!(digests[0], digests[1]);
        assert!(digests[0] != digests[2] && digests[0] != digests[3], "{reply}");
        assert!(kit.run("DEBUG OBJECT a").contains("encoding:listpack serializedlength:2 "));
    }

    #[test]
    fn a_value_has_a_digest_whatever_its_key() {
        let mut kit = open();
        let long = "v".repeat(3 * CHUNK as usize / 2);
        kit.run("SET a 1 | SET b 1 | SET c 2");
        kit.words(["SET", "long", &long]);
        kit.words(["SET", "longer", &format!("{long}v")]);
        let reply = kit.run("DEBUG DIGEST-VALUE a b c missing long longer");
        let digests: Vec<&str> = reply.trim_matches(['[', ']']).split(' ').collect();
        assert_eq!((digests[0], digests[3]), (digests[1], NOTHING));
        assert!(digests[0] != digests[2] && digests[4] != digests[5], "{reply}");
    }

    #[test]
    fn keys_are_made_up_to_a_number() {
        let mut kit = open();
        assert_eq!(
            kit.run("DEBUG POPULATE 3 | DEBUG POPULATE 2 p 5 | SET p:1 x | DEBUG POPULATE 3 p 9"),
            "+OK | +OK | +OK | +OK"
        );
        assert_eq!(
            kit.run("GET key:2 | GET key:3 | GET p:0 | GET p:1"),
            "\"value:2\" | nil | \"value\" | \"x\""
        );
        assert_eq!(kit.run("GET p:2"), "\"value:2\\x00\\x00\"");
        let refused = "-ERR value is out of range, must be positive";
        assert_eq!(kit.run("DEBUG POPULATE -1 | DEBUG POPULATE 1 p -1"), format!("{refused} | {refused}"));
        assert_eq!(kit.run(&format!("DEBUG POPULATE {}", MAX_KEYS + 1)), refused);
        assert_eq!(kit.run(&format!("DEBUG POPULATE 0 p {}", MAX_VALUE_LEN)), "+OK");
        assert_eq!(kit.run(&format!("DEBUG POPULATE 0 p {}", MAX_VALUE_LEN + 1)), refused);
    }

    #[test]
    fn objects_are_described() {
        let mut kit = open();
        assert_eq!(kit.run("DEBUG OBJECT missing"), "-ERR no such key");
        let described = kit.run("SET a 12 | DEBUG OBJECT a");
        assert!(
            described.ends_with("refcount:1 encoding:int serializedlength:2 lru:0 lru_seconds_idle:0"),
            "{described}"
        );
    }
}
