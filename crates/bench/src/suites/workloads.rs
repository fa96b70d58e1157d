//! What redis-benchmark is asked to send. A later command family adds lines here and nothing else.

/// Keys, or elements of one key, that the random ones are drawn from.
const KEYSPACE: u64 = 100_000;

/// What must be there before a workload runs.
#[derive(Clone, Copy)]
pub enum Setup {
    Nothing,
    /// Every key of the keyspace holds a value of this many bytes.
    Strings(usize),
    /// As `Strings(3)`, and these commands, word by word.
    Scripts(&'static [&'static [&'static str]]),
    /// This command for every number of the keyspace. `{elements}` becomes twenty elements.
    Each(&'static str),
    /// This command for so many keys, before each run and as often as gives every request an element.
    Elements {
        template: &'static str,
        keys: u64,
    },
    /// Streams, each made anew by one command, another one for each of its entries, and one more if there is any. `{key}` is the
    /// key, with its number where there are several.
    Streams {
        key: &'static str,
        keys: u64,
        entries: Entries,
        create: &'static str,
        each: &'static str,
        last: &'static str,
    },
}

/// How many entries a stream has.
#[derive(Clone, Copy)]
pub enum Entries {
    /// As many, and they stay.
    Kept(u64),
    /// As many; each request takes one of all streams' at random.
    Drawn(u64),
    /// Enough for every request to take one.
    Taken,
}

/// One line of the comparison.
#[derive(Clone, Copy)]
pub struct Workload {
    pub name: &'static str,
    pub setup: Setup,
    /// A key that is deleted first.
    pub fresh: &'static str,
    /// What redis-benchmark sends: `__rand_int__` becomes a number below the keyspace, `{value:N}` N bytes.
    pub command: &'static str,
    pub keyspace: u64,
    /// Cost of one request in units of a GET, so that each run takes about as long.
    pub cost: u64,
    /// The least ratio of throughput at pipeline 1, and at 16 and above.
    pub targets: Option<(f64, f64)>,
    /// Whether it may take no more CPU per request than redis-server.
    pub cpu_target: bool,
    /// Who sends it; nobody in particular where it is empty.
    pub user: &'static str,
}

const READ: Workload = Workload {
    name: "",
    setup: Setup::Strings(3),
    fresh: "",
    command: "GET key:__rand_int__",
    keyspace: KEYSPACE,
    cost: 1,
    targets: Some((1.0, 1.5)),
    cpu_target: false,
    user: "",
};

const WRITE: Workload =
    Workload { setup: Setup::Nothing, targets: Some((1.0, 1.2)), cpu_target: true, ..READ };

pub const STRINGS: &[Workload] = &[
    Workload { name: "GET", ..READ },
    Workload { name: "GET 64 B", setup: Setup::Strings(64), ..READ },
    Workload { name: "SET", command: "SET key:__rand_int__ {value:3}", ..WRITE },
    Workload { name: "SET 64 B", command: "SET key:__rand_int__ {value:64}", ..WRITE },
    Workload { name: "INCR", command: "INCR counter:__rand_int__", ..WRITE },
    Workload {
        name: "MSET 10 keys",
        command: "MSET key:__rand_int__ {value:3} key:__rand_int__ {value:3} key:__rand_int__ {value:3} \
                  key:__rand_int__ {value:3} key:__rand_int__ {value:3} key:__rand_int__ {value:3} \
                  key:__rand_int__ {value:3} key:__rand_int__ {value:3} key:__rand_int__ {value:3} \
                  key:__rand_int__ {value:3}",
        cost: 6,
        ..WRITE
    },
];

/// The same by a user without a limit, and by one with these rules.
pub const LIMITED_USER: &str = "limited";
pub const LIMITED_RULES: &[&str] = &[
    "on",
    "nopass",
    "~app:*",
    "%R~cache:*",
    "~session:[0-9]*",
    "~key:*",
    "&news:*",
    "+@read",
    "+@write",
    "-@dangerous",
];
pub const BY_USER: &[Workload] = &[
    Workload { name: "GET", ..READ },
    Workload { name: "SET", command: "SET key:__rand_int__ {value:3}", ..WRITE },
];

/// Both servers encrypt; at pipeline 1 that is a small part of the whole.
pub const TLS: &[Workload] = &[
    Workload { name: "GET", targets: Some((1.0, 1.0)), ..READ },
    Workload { name: "GET 1 KB", setup: Setup::Strings(1_000), targets: Some((1.0, 1.0)), ..READ },
    Workload { name: "SET", command: "SET key:__rand_int__ {value:3}", targets: Some((1.0, 1.0)), ..WRITE },
];

/// For engine tikv: each takes a request or more of the cluster.
pub const TIKV: &[Workload] = &[
    Workload { name: "GET", keyspace: 10_000, ..READ },
    Workload { name: "SET", command: "SET key:__rand_int__ {value:100}", keyspace: 10_000, ..WRITE },
    Workload { name: "HSET", command: "HSET hash:__rand_int__ field {value:3}", keyspace: 10_000, ..WRITE },
    Workload { name: "SADD", command: "SADD set element:__rand_int__", keyspace: 10_000, ..WRITE },
    Workload {
        name: "ZADD",
        command: "ZADD zset __rand_int__ element:__rand_int__",
        keyspace: 10_000,
        ..WRITE
    },
    Workload { name: "LPUSH", command: "LPUSH list {value:3}", keyspace: 10_000, ..WRITE },
];

const GET_SCRIPT: &str = "return redis.call('get', KEYS[1])";
const FIVE_CALLS: &str = "local v = redis.call('get', KEYS[1]) redis.call('set', KEYS[1], v) redis.call('incr', KEYS[2]) redis.call('expire', KEYS[2], 100) return redis.call('get', KEYS[2])";
const FUNCTION: &str =
    "#!lua name=bench\nredis.register_function('get', function(keys) return redis.call('get', keys[1]) end)";
const UNIT: Workload = Workload {
    setup: Setup::Scripts(&[
        &["SCRIPT", "LOAD", GET_SCRIPT],
        &["SCRIPT", "LOAD", FIVE_CALLS],
        &["FUNCTION", "LOAD", "REPLACE", FUNCTION],
    ]),
    targets: Some((1.0, 1.2)),
    cpu_target: false,
    cost: 4,
    ..READ
};

/// Scripts and functions, by the SHA-1 of the texts above.
pub const UNITS: &[Workload] = &[
    Workload {
        name: "EVALSHA, one GET",
        command: "EVALSHA 4e6d8fc8bb01276962cce5371fa795a7763657ae 1 key:__rand_int__",
        ..UNIT
    },
    Workload {
        name: "EVALSHA, five calls",
        command: "EVALSHA 030478163a76f2a713585101f2526491b04b70ca 2 key:__rand_int__ counter:__rand_int__",
        cost: 8,
        ..UNIT
    },
    Workload { name: "FCALL, one GET", command: "FCALL get 1 key:__rand_int__", ..UNIT },
];

const ELEMENT: Workload = Workload { targets: Some((1.0, 1.0)), cpu_target: false, ..WRITE };

/// A number for the key and one for the entry come out of the same keyspace: this many streams of this many entries.
const MANY_STREAMS: u64 = 1_000;

const fn tasks(keys: u64, entries: Entries) -> Setup {
    Setup::Streams {
        key: "tasks",
        keys,
        entries,
        create: "XGROUP CREATE {key} workers 0 MKSTREAM",
        each: "XADD {key} * field value",
        last: "",
    }
}

/// All of them delivered, with ids that can be drawn.
const fn pending(keys: u64, entries: u64) -> Setup {
    Setup::Streams {
        key: "tasks",
        keys,
        entries: Entries::Drawn(entries),
        create: "XGROUP CREATE {key} workers 0 MKSTREAM",
        each: "XADD {key} 1-__rand_int__ field value",
        last: "XREADGROUP GROUP workers worker STREAMS {key} >",
    }
}

pub const COLLECTIONS: &[Workload] = &[
    Workload {
        name: "HSET one key",
        fresh: "hash",
        command: "HSET hash field:__rand_int__ {value:3}",
        ..ELEMENT
    },
    Workload { name: "HSET", command: "HSET hash:__rand_int__ field {value:3}", ..ELEMENT },
    Workload {
        name: "HGET one key",
        setup: Setup::Each("HSET hash field:__rand_int__ xyz"),
        command: "HGET hash field:__rand_int__",
        ..ELEMENT
    },
    Workload {
        name: "HGET",
        setup: Setup::Each("HSET hash:__rand_int__ field xyz"),
        command: "HGET hash:__rand_int__ field",
        ..ELEMENT
    },
    Workload { name: "SADD one key", fresh: "set", command: "SADD set member:__rand_int__", ..ELEMENT },
    Workload { name: "SADD", command: "SADD set:__rand_int__ member", ..ELEMENT },
    Workload {
        name: "SISMEMBER one key",
        setup: Setup::Each("SADD set member:__rand_int__"),
        command: "SISMEMBER set member:__rand_int__",
        ..ELEMENT
    },
    Workload {
        name: "SISMEMBER",
        setup: Setup::Each("SADD set:__rand_int__ member"),
        command: "SISMEMBER set:__rand_int__ member",
        ..ELEMENT
    },
    Workload {
        name: "SPOP one key",
        fresh: "pops",
        setup: Setup::Elements { template: "SADD pops {elements}", keys: 1 },
        command: "SPOP pops",
        ..ELEMENT
    },
    Workload {
        name: "SPOP",
        setup: Setup::Elements { template: "SADD pops:__rand_int__ {elements}", keys: KEYSPACE },
        command: "SPOP pops:__rand_int__",
        ..ELEMENT
    },
    Workload {
        name: "GEOSEARCH one key",
        fresh: "geo",
        setup: Setup::Each("GEOADD geo __rand_int__e-3 __rand_int__e-4 place:__rand_int__"),
        command: "GEOSEARCH geo FROMMEMBER place:__rand_int__ BYRADIUS 500 m",
        cost: 4,
        ..ELEMENT
    },
    Workload {
        name: "GEOSEARCH",
        setup: Setup::Each("GEOADD geo:__rand_int__ 13.1 38.1 a 13.2 38.2 b 13.3 38.3 c 14 39 d 15 40 e"),
        command: "GEOSEARCH geo:__rand_int__ FROMLONLAT 13.2 38.2 BYRADIUS 50 km",
        cost: 3,
        ..ELEMENT
    },
    Workload { name: "PFADD one key", fresh: "hll", command: "PFADD hll element:__rand_int__", ..ELEMENT },
    Workload { name: "PFADD", command: "PFADD hll:__rand_int__ element", ..ELEMENT },
    Workload {
        name: "PFCOUNT one key",
        setup: Setup::Each("PFADD hll element:__rand_int__"),
        command: "PFCOUNT hll",
        ..ELEMENT
    },
    Workload {
        name: "PFCOUNT",
        setup: Setup::Each("PFADD hll:__rand_int__ a b c"),
        command: "PFCOUNT hll:__rand_int__",
        ..ELEMENT
    },
    Workload { name: "LPUSH one key", fresh: "list", command: "LPUSH list {value:3}", ..ELEMENT },
    Workload { name: "LPUSH", command: "LPUSH list:__rand_int__ {value:3}", ..ELEMENT },
    Workload {
        name: "RPOP one key",
        fresh: "queue",
        setup: Setup::Elements { template: "LPUSH queue {elements}", keys: 1 },
        command: "RPOP queue",
        ..ELEMENT
    },
    Workload {
        name: "RPOP",
        setup: Setup::Elements { template: "LPUSH queue:__rand_int__ {elements}", keys: KEYSPACE },
        command: "RPOP queue:__rand_int__",
        ..ELEMENT
    },
    Workload {
        name: "LRANGE_100 one key",
        setup: Setup::Each("RPUSH range:__rand_int__ {elements} {elements} {elements} {elements} {elements}"),
        command: "LRANGE range:000000000000 0 99",
        keyspace: 1_000,
        cost: 10,
        ..ELEMENT
    },
    Workload {
        name: "LRANGE_100",
        setup: Setup::Each("RPUSH range:__rand_int__ {elements} {elements} {elements} {elements} {elements}"),
        command: "LRANGE range:__rand_int__ 0 99",
        cost: 10,
        ..ELEMENT
    },
    Workload {
        name: "ZADD one key",
        fresh: "zset",
        command: "ZADD zset __rand_int__ member:__rand_int__",
        cost: 2,
        ..ELEMENT
    },
    Workload { name: "ZADD", command: "ZADD zset:__rand_int__ 1 member", cost: 2, ..ELEMENT },
    Workload {
        name: "ZRANGEBYSCORE one key",
        fresh: "scores",
        setup: Setup::Each("ZADD scores __rand_int__ member:__rand_int__"),
        command: "ZRANGEBYSCORE scores __rand_int__ +inf LIMIT 0 10",
        cost: 3,
        ..ELEMENT
    },
    Workload {
        name: "ZRANK one key",
        fresh: "scores",
        setup: Setup::Each("ZADD scores __rand_int__ member:__rand_int__"),
        command: "ZRANK scores member:__rand_int__",
        cost: 2,
        ..ELEMENT
    },
    Workload {
        name: "ZRANGEBYSCORE",
        setup: Setup::Each("ZADD scores:__rand_int__ 1 a 2 b 3 c 4 d 5 e 6 f 7 g 8 h 9 i 10 j"),
        command: "ZRANGEBYSCORE scores:__rand_int__ 0 5",
        cost: 2,
        ..ELEMENT
    },
    Workload { name: "XADD one key", fresh: "stream", command: "XADD stream * field {value:3}", ..ELEMENT },
    Workload { name: "XADD", command: "XADD stream:__rand_int__ * field {value:3}", ..ELEMENT },
    Workload {
        name: "XRANGE_100 one key",
        fresh: "entries",
        setup: Setup::Each("XADD entries * field __rand_int__"),
        command: "XRANGE entries - + COUNT 100",
        keyspace: 1_000,
        cost: 10,
        ..ELEMENT
    },
    Workload {
        name: "XRANGE_100",
        setup: Setup::Streams {
            key: "entries",
            keys: MANY_STREAMS,
            entries: Entries::Kept(100),
            create: "XGROUP CREATE {key} workers 0 MKSTREAM",
            each: "XADD {key} * field __rand_int__",
            last: "",
        },
        command: "XRANGE entries:__rand_int__ - + COUNT 100",
        keyspace: MANY_STREAMS,
        cost: 10,
        ..ELEMENT
    },
    Workload {
        name: "XREADGROUP one key",
        setup: tasks(1, Entries::Taken),
        command: "XREADGROUP GROUP workers worker COUNT 1 STREAMS tasks >",
        cost: 3,
        ..ELEMENT
    },
    Workload {
        name: "XREADGROUP",
        setup: tasks(MANY_STREAMS, Entries::Taken),
        command: "XREADGROUP GROUP workers worker COUNT 1 STREAMS tasks:__rand_int__ >",
        keyspace: MANY_STREAMS,
        cost: 3,
        ..ELEMENT
    },
    Workload {
        name: "XACK one key",
        setup: pending(1, 1_000_000),
        command: "XACK tasks workers 1-__rand_int__",
        keyspace: 1_000_000,
        cost: 2,
        ..ELEMENT
    },
    Workload {
        name: "XACK",
        setup: pending(MANY_STREAMS, MANY_STREAMS),
        command: "XACK tasks:__rand_int__ workers 1-__rand_int__",
        keyspace: MANY_STREAMS,
        cost: 2,
        ..ELEMENT
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_have_different_names() {
        for workloads in [STRINGS, COLLECTIONS] {
            let mut names: Vec<&str> = workloads.iter().map(|workload| workload.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), workloads.len());
            assert!(!names.contains(&""));
        }
    }
}
