//! Random rules and random commands: ACL SETUSER and ACL DRYRUN answer as redis-server does.
//!
//! With `TARN_REDIS_SERVER` set to a later server the rules about commands are compared as they are shown, too; with Valkey's, rules
//! about databases take part (`TARN_DIFF_ACL=databases`).

use super::{Setup, env_number};
use crate::conn::Conn;
use crate::harness::{Options, Program, Server};
use crate::rng::Rng;
use crate::value::{Value, quote};

/// Commands that `cargo test` asks about.
const DEFAULT_CALLS: usize = 4_000;
/// Commands that a user is asked about before it gets other rules.
const CALLS_PER_USER: usize = 8;

const KEYS: &[&str] = &["a", "ab", "abc", "b", "ba", "{a}b", "x", "", "a*"];
const CHANNELS: &[&str] = &["a", "ab", "news", "news.1", "n*", "*", ""];
const PATTERNS: &[&str] =
    &["a", "a*", "*", "?", "[ab]*", "b", "*b", "x", "", "\\a", "ab?", "{a}*", "n*", "news*"];

const CATEGORIES: &[&str] = &[
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
    "all",
    "nosuch",
    "READ",
    "",
];

/// K is a key, C a channel, N a number of keys that follow, D a database, W any word.
const CALLS: &[&str] = &[
    "GET K",
    "SET K W",
    "SET K W GET",
    "SET K W EX 10 get",
    "SET K get",
    "MSET K W K W",
    "MSETNX K W",
    "MGET K K K",
    "DEL K K",
    "UNLINK K",
    "EXISTS K K",
    "RENAME K K",
    "RENAMENX K K",
    "COPY K K",
    "COPY K K REPLACE",
    "COPY K K DB D",
    "MOVE K D",
    "SELECT D",
    "SWAPDB D D",
    "APPEND K W",
    "STRLEN K",
    "GETRANGE K 0 1",
    "SETRANGE K 0 W",
    "GETEX K",
    "GETDEL K",
    "GETSET K W",
    "INCR K",
    "INCRBYFLOAT K 1",
    "LCS K K",
    "BITCOUNT K",
    "BITOP AND K K K",
    "BITOP NOT K K",
    "BITFIELD K GET u8 0",
    "BITFIELD K SET u8 0 1",
    "BITFIELD K GET u8 0 INCRBY u8 0 1",
    "BITFIELD_RO K GET u8 0",
    "BITPOS K 1",
    "SETBIT K 0 1",
    "GETBIT K 0",
    "HSET K W W",
    "HGET K W",
    "HGETALL K",
    "HSCAN K 0",
    "HRANDFIELD K",
    "LPUSH K W",
    "RPOP K",
    "LMOVE K K LEFT RIGHT",
    "RPOPLPUSH K K",
    "BRPOPLPUSH K K 1",
    "BLMOVE K K LEFT LEFT 1",
    "BLPOP K K 1",
    "BRPOP K 1",
    "LMPOP N LEFT",
    "BLMPOP 1 N LEFT",
    "LRANGE K 0 1",
    "LPOS K W",
    "SADD K W",
    "SMOVE K K W",
    "SINTER K K",
    "SINTERSTORE K K K",
    "SINTERCARD N",
    "SDIFFSTORE K K",
    "SUNION K",
    "SPOP K",
    "SMISMEMBER K W",
    "ZADD K 1 W",
    "ZRANGE K 0 1",
    "ZRANGESTORE K K 0 1",
    "ZUNION N",
    "ZUNIONSTORE K N",
    "ZINTERSTORE K N",
    "ZDIFF N",
    "ZDIFFSTORE K N",
    "ZINTERCARD N",
    "ZMPOP N MIN",
    "BZMPOP 1 N MAX",
    "BZPOPMIN K K 1",
    "ZPOPMAX K",
    "ZRANGEBYSCORE K 0 1",
    "SORT K",
    "SORT K STORE K",
    "SORT K BY nosort STORE K",
    "SORT K BY W GET # LIMIT 0 1 STORE K",
    "SORT K STORE K STORE K",
    "SORT_RO K",
    "SORT_RO K BY W",
    "GEOADD K 1 1 W",
    "GEOSEARCH K FROMMEMBER W BYRADIUS 1 m",
    "GEOSEARCHSTORE K K FROMMEMBER W BYRADIUS 1 m",
    "GEORADIUS K 1 1 1 m",
    "GEORADIUS K 1 1 1 m STORE K",
    "GEORADIUS K 1 1 1 m STOREDIST K",
    "GEORADIUS K 1 1 1 m STORE K STOREDIST K",
    "GEORADIUS_RO K 1 1 1 m",
    "GEORADIUSBYMEMBER K W 1 m STORE K",
    "GEORADIUSBYMEMBER K W 1 m COUNT 1 STOREDIST K",
    "PFADD K W",
    "PFCOUNT K K",
    "PFMERGE K K",
    "XADD K * W W",
    "XREAD STREAMS K K 0 0",
    "XREAD COUNT 1 BLOCK 0 STREAMS K 0",
    "XREADGROUP GROUP W W STREAMS K >",
    "XREADGROUP GROUP W W NOACK COUNT 1 STREAMS K K > >",
    "XGROUP CREATE K W 0",
    "XGROUP DESTROY K W",
    "XINFO STREAM K",
    "XINFO GROUPS K",
    "XLEN K",
    "XTRIM K MAXLEN 1",
    "XCLAIM K W W 0 0",
    "XACK K W 0",
    "XDEL K 0",
    "XPENDING K W",
    "EXPIRE K 10",
    "TTL K",
    "PERSIST K",
    "TYPE K",
    "TOUCH K K",
    "OBJECT HELP",
    "OBJECT ENCODING K",
    "OBJECT FREQ K",
    "DUMP K",
    "RESTORE K 0 W",
    "MIGRATE W 1 K 0 1",
    "MIGRATE W 1  0 1 KEYS K K",
    "MIGRATE W 1  0 1 COPY AUTH keys KEYS K",
    "MEMORY USAGE K",
    "WATCH K K",
    "UNWATCH",
    "MULTI",
    "EXEC",
    "DISCARD",
    "KEYS W",
    "SCAN 0",
    "RANDOMKEY",
    "DBSIZE",
    "FLUSHALL",
    "FLUSHDB",
    "EVAL W N",
    "EVAL_RO W N W",
    "EVALSHA W N",
    "EVALSHA_RO W N",
    "FCALL W N",
    "FCALL_RO W N",
    "SCRIPT LOAD W",
    "SCRIPT EXISTS W",
    "FUNCTION LIST",
    "FUNCTION LOAD W",
    "PUBLISH C W",
    "SPUBLISH C W",
    "SUBSCRIBE C C",
    "PSUBSCRIBE C C",
    "SSUBSCRIBE C",
    "UNSUBSCRIBE C",
    "PUNSUBSCRIBE",
    "SUNSUBSCRIBE C",
    "PUBSUB CHANNELS",
    "PUBSUB NUMSUB C",
    "PING",
    "ECHO W",
    "AUTH W",
    "AUTH W W",
    "HELLO",
    "QUIT",
    "RESET",
    "CLIENT LIST",
    "CLIENT KILL W",
    "CLIENT ID",
    "CLIENT SETNAME W",
    "CLIENT NO-EVICT ON",
    "CLIENT TRACKING ON",
    "CONFIG GET W",
    "CONFIG SET W W",
    "CONFIG REWRITE",
    "COMMAND",
    "COMMAND INFO W",
    "COMMAND COUNT",
    "INFO",
    "ACL WHOAMI",
    "ACL LIST",
    "ACL SETUSER W",
    "ACL CAT",
    "SLOWLOG GET",
    "LATENCY LATEST",
    "DEBUG OBJECT K",
    "SAVE",
    "BGSAVE",
    "LASTSAVE",
    "SHUTDOWN",
    "MONITOR",
    "ROLE",
    "TIME",
    "CLUSTER INFO",
    "CLUSTER KEYSLOT K",
    "READONLY",
    "LOLWUT",
    "NOSUCH W",
    "GET",
    "CONFIG",
    "CONFIG NOSUCH",
    "SET K",
];

/// Commands whose rules are given: as they are, or with a subcommand or a first argument.
const COMMANDS: &[&str] = &[
    "get",
    "set",
    "GET",
    "mget",
    "del",
    "sort",
    "sort_ro",
    "copy",
    "config",
    "config|get",
    "config|set",
    "CONFIG|Get",
    "client",
    "client|id",
    "client|list",
    "acl",
    "acl|whoami",
    "acl|setuser",
    "object",
    "object|encoding",
    "xgroup|create",
    "xinfo",
    "memory|usage",
    "select|0",
    "select|1",
    "get|a",
    "publish",
    "subscribe",
    "eval",
    "fcall",
    "multi",
    "exec",
    "ping",
    "auth",
    "hello",
    "flushall",
    "keys",
    "zadd",
    "hset",
    "script",
    "script|load",
    "function",
    "nosuch",
    "config|nosuch",
    "config|get|x",
    "select|",
    "config|",
    "",
    "|",
    "|x",
    "command",
    "command|info",
    "pubsub",
    "watch",
    "georadius",
    "xreadgroup",
    "bitfield",
    "echo|W",
    "echo|w",
];

fn key_rule(rng: &mut Rng) -> String {
    let prefix = rng.pick(&["~", "~", "~", "%R~", "%W~", "%RW~", "%wr~", "%r~", "%~", "%X~", "%RR~", "%R"]);
    format!("{prefix}{}", rng.pick(PATTERNS))
}

fn command_rule(rng: &mut Rng) -> String {
    let sign = if rng.percent(60) { '+' } else { '-' };
    match rng.percent(45) {
        true => format!("{sign}@{}", rng.pick(CATEGORIES)),
        false => format!("{sign}{}", rng.pick(COMMANDS)),
    }
}

/// What a selector takes as well.
fn plain_rule(rng: &mut Rng, with_databases: bool) -> String {
    match rng.below(if with_databases { 24 } else { 20 }) {
        0..=8 => command_rule(rng),
        9..=13 => key_rule(rng),
        14..=16 => format!("&{}", rng.pick(PATTERNS)),
        17 => (*rng.pick(&["allkeys", "resetkeys", "RESETKEYS", "~*"])).into(),
        18 => (*rng.pick(&["allchannels", "resetchannels", "&*"])).into(),
        19 => (*rng.pick(&["allcommands", "nocommands", "+@all", "-@all"])).into(),
        20 => "alldbs".into(),
        21 => "resetdbs".into(),
        _ => (*rng.pick(&["db=0", "db=1", "db=0,1", "db=2,0", "DB=1,1", "db=", "db=x", "db=-1", "db=99"]))
            .into(),
    }
}

fn rule(rng: &mut Rng, with_databases: bool) -> String {
    match rng.below(100) {
        0..=69 => plain_rule(rng, with_databases),
        70..=81 => {
            let count = rng.below(5);
            let inner: Vec<String> = (0..count).map(|_| plain_rule(rng, with_databases)).collect();
            format!("({})", inner.join(" "))
        }
        82..=83 => {
            (*rng.pick(&["(", "(+get", "~x)", "()", "((+get))", ")", "(+get 'a", "(+get \"~a\")"])).into()
        }
        84..=87 => (*rng.pick(&["on", "off", "ON", "nopass", "resetpass"])).into(),
        88..=91 => (*rng.pick(&[">p", "<p", ">", "<", "#x", "!x", "!p", ">p q"])).into(),
        92 => format!("#{}", "0a".repeat(32)),
        93 => format!("!{}", "0a".repeat(32)),
        94..=95 => (*rng.pick(&["clearselectors", "reset"])).into(),
        96 => (*rng.pick(&["skip-sanitize-payload", "sanitize-payload"])).into(),
        _ => (*rng.pick(&["", "foo", "~a b", "&a b", "+get x", "on ", "%", "+@", "-", "*"])).into(),
    }
}

fn call(rng: &mut Rng) -> Vec<String> {
    let mut words = Vec::new();
    for word in rng.pick(CALLS).split(' ') {
        match word {
            "K" => words.push((*rng.pick(KEYS)).to_owned()),
            "C" => words.push((*rng.pick(CHANNELS)).to_owned()),
            "D" => words.push((*rng.pick(&["0", "1", "2", "15", "16", "x", "-1"])).to_owned()),
            "W" => words.push((*rng.pick(&["w", "W", "a", "store", "get"])).to_owned()),
            "N" => {
                let count = 1 + rng.below(3);
                words.push(count.to_string());
                words.extend((0..count).map(|_| (*rng.pick(KEYS)).to_owned()));
            }
            other => words.push(other.to_owned()),
        }
    }
    words
}

/// What ACL GETUSER says that every version says.
fn shown(user: &Value, with_commands: bool) -> Value {
    let Value::Array(items) = user else { return user.clone() };
    let mut kept = Vec::new();
    for pair in items.chunks(2) {
        let [name, value] = pair else { continue };
        let name_text = name.bytes().unwrap_or_default();
        if name_text == b"databases" || !with_commands && name_text == b"commands" {
            continue;
        }
        let value = match value {
            Value::Array(items) if name_text == b"selectors" => {
                Value::Array(items.iter().map(|item| shown(item, with_commands)).collect())
            }
            // 8.0 shows a flag that all users have but for those with the opposite one, Valkey neither.
            Value::Array(items) if name_text == b"flags" => {
                let is_other = |item: &&Value| {
                    !String::from_utf8_lossy(item.bytes().unwrap_or_default()).contains("sanitize")
                };
                Value::Array(items.iter().filter(is_other).cloned().collect())
            }
            other => other.clone(),
        };
        kept.extend([name.clone(), value]);
    }
    Value::Array(kept)
}

/// 7.0 says "This user" where later versions give its name, and of several parentheses that are not closed it names the last.
fn settled(value: Value) -> Value {
    const OPEN: &[u8] = b"ERR Unmatched parenthesis in acl selector";
    match &value {
        Value::Error(text) if text.starts_with(OPEN) => Value::Error(OPEN.to_vec()),
        Value::Bulk(text) if text.starts_with(b"This user ") => {
            Value::bulk([b"User u ", &text[b"This user ".len()..]].concat())
        }
        _ => value,
    }
}

#[derive(Clone, Copy)]
struct Version {
    /// Shows rules about commands in the order in which they were given.
    ordered: bool,
    /// Forgets what was open when a second selector is opened within it.
    reopens: bool,
    databases: bool,
}

fn version(conn: &mut Conn) -> Version {
    let info = String::from_utf8(conn.call(&["INFO", "server"]).bytes().unwrap().to_vec()).unwrap();
    let databases = std::env::var("TARN_DIFF_ACL").is_ok_and(|what| what == "databases");
    let is_7_0 = info.contains("redis_version:7.0");
    Version { ordered: !is_7_0, reopens: is_7_0, databases }
}

/// Whether a selector that goes on in further words has another such one within it.
fn opens_twice(rules: &[String]) -> bool {
    let mut is_open = false;
    for rule in rules {
        let opens = rule.starts_with('(') && !rule.ends_with(')');
        if is_open && opens {
            return true;
        }
        is_open = opens || is_open && !rule.ends_with(')');
    }
    false
}

#[test]
fn random_rules_allow_what_redis_allows() {
    let seed = env_number("TARN_DIFF_SEED").unwrap_or_else(Rng::fresh_seed);
    let calls = env_number("TARN_DIFF_ACL_CALLS").map_or(DEFAULT_CALLS, |n| n as usize);
    let redis = Server::start(Options::new(Program::Redis));
    let tarn = Server::start(Options::new(Setup::of(seed).program));
    let (mut redis, mut tarn) = (redis.conn(), tarn.conn());
    let version = version(&mut redis);
    let mut rng = Rng::new(seed);
    let mut both = |words: &[String], history: &[Vec<String>], settle: &dyn Fn(Value) -> Value| {
        let (theirs, ours) = (settle(redis.call(words)), settle(tarn.call(words)));
        if theirs != ours {
            let line =
                |words: &[String]| words.iter().map(|w| quote(w.as_bytes())).collect::<Vec<_>>().join(" ");
            let before: Vec<String> = history.iter().map(|words| line(words)).collect();
            panic!("seed {seed}\n{}\n{}\nredis: {theirs}\ntarn:  {ours}", before.join("\n"), line(words));
        }
        ours
    };
    let mut history: Vec<Vec<String>> = Vec::new();
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    for _ in 0..calls / CALLS_PER_USER {
        if rng.percent(40) {
            let mut begin = own(&["ACL", "SETUSER", "u", "reset"]);
            // Where nothing is allowed, nothing else is looked at.
            begin.extend(
                rng.pick(&["", "+@all", "+@all ~a*", "+@all &*", "+@all %R~*"]).split(' ').map(str::to_owned),
            );
            both(&begin, &[], &settled);
            history = vec![begin];
        }
        for _ in 0..1 + rng.below(4) {
            let mut set = own(&["ACL", "SETUSER", "u"]);
            set.extend((0..1 + rng.below(4)).map(|_| rule(&mut rng, version.databases)));
            // `%` alone ends redis-server when it shows the user.
            if set.iter().any(|rule| rule.ends_with('%')) || version.reopens && opens_twice(&set) {
                continue;
            }
            both(&set, &history, &settled);
            history.push(set);
        }
        both(&own(&["ACL", "GETUSER", "u"]), &history, &|user| shown(&user, version.ordered));
        for _ in 0..CALLS_PER_USER {
            let mut dry = own(&["ACL", "DRYRUN", "u"]);
            dry.extend(call(&mut rng));
            // Of all commands that only help, to Valkey this one is about a database.
            if version.databases && dry.ends_with(&own(&["OBJECT", "HELP"])) {
                continue;
            }
            // Valkey looks at the last of several keys that a result goes to only.
            if version.databases
                && ["STORE", "STOREDIST"].iter().all(|option| dry.iter().any(|word| word == option))
            {
                continue;
            }
            both(&dry, &history, &settled);
        }
    }
}
