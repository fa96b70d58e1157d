//! Keyspace notifications: which events there are, in which order, and who is told.

use crate::check::{check3, tarn_only, tarn_only3};
use crate::conn::Conn;
use crate::harness::{ENGINES, Options, Program, Server, eventually};
use crate::value::Value;

fn programs() -> &'static [Program] {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() { &[Program::Redis] } else { &ENGINES }
}

/// A server, somebody who works on it and somebody who listens.
struct Stage {
    server: Server,
    worker: Conn,
    listener: Conn,
}

impl Stage {
    fn new(program: Program, classes: &str, pattern: &str) -> Stage {
        let options = Options::new(program).with("notify-keyspace-events", classes);
        let server = Server::start(options);
        let (worker, mut listener) = (server.conn(), server.conn());
        listener.call(&["PSUBSCRIBE", pattern]);
        listener.call(&["SUBSCRIBE", "mark"]);
        Stage { server, worker, listener }
    }

    /// Runs the commands, each with words parted by blanks, and returns what was told since, `channel message`.
    fn told(&mut self, commands: &str) -> Vec<String> {
        for command in commands.split(" | ") {
            let reply = self.worker.call(&command.split(' ').collect::<Vec<_>>());
            assert!(!reply.is_error(), "{command}: {reply}");
        }
        self.heard()
    }

    fn heard(&mut self) -> Vec<String> {
        self.worker.call(&["PUBLISH", "mark", ""]);
        let mut told = Vec::new();
        loop {
            let message = self.listener.recv();
            let items = message.items().unwrap();
            let text = |at: usize| String::from_utf8_lossy(items[at].bytes().unwrap()).into_owned();
            if items[0] == Value::bulk("message") {
                return told;
            }
            told.push(format!("{} {}", text(2), text(3)));
        }
    }
}

/// Plays commands with all events on and compares `event key` of what `__keyevent` channels tell.
#[track_caller]
fn events(commands: &str, expected: &[&str]) {
    for &program in programs() {
        let mut stage = Stage::new(program, "KEAnm", "__keyevent@0__:*");
        let told = stage.told(commands);
        let told: Vec<&str> = told.iter().map(|line| line.strip_prefix("__keyevent@0__:").unwrap()).collect();
        assert_eq!(told, expected, "{commands} on {}", program.name());
    }
}

#[test]
fn streams() {
    events(
        "XADD s 1-1 a 1 | XADD s MAXLEN 1 1-2 a 1 | XADD s MAXLEN 5 1-3 a 1 | XDEL s 1-2 9-9 | XDEL s 9-9 | XTRIM s MAXLEN 0 | XTRIM s MAXLEN 0 | XSETID s 5-5",
        &["new s", "xadd s", "xadd s", "xtrim s", "xadd s", "xdel s", "xtrim s", "xsetid s"],
    );
    events(
        "XGROUP CREATE s g $ MKSTREAM | XGROUP CREATECONSUMER s g c | XGROUP CREATECONSUMER s g c | XGROUP SETID s g 0 | XADD s 1-1 a 1 | XREADGROUP GROUP g d STREAMS s > | XACK s g 1-1 | XCLAIM s g e 0 1-1 FORCE | XAUTOCLAIM s g f 0 0 | XGROUP DELCONSUMER s g c | XGROUP DELCONSUMER s g c | XGROUP DESTROY s g | XGROUP DESTROY s g",
        &[
            "new s",
            "xgroup-create s",
            "xgroup-createconsumer s",
            "xgroup-setid s",
            "xadd s",
            "xgroup-createconsumer s",
            "xgroup-createconsumer s",
            "xgroup-createconsumer s",
            "xgroup-delconsumer s",
            "xgroup-destroy s",
        ],
    );
    events(
        "XGROUP CREATE s g $ MKSTREAM | XADD s NOMKSTREAM 1-1 a 1 | DEL s | XLEN s",
        &["new s", "xgroup-create s", "xadd s", "del s", "keymiss s"],
    );
}

#[test]
fn both_channels_of_an_event() {
    for &program in programs() {
        let mut stage = Stage::new(program, "KEA", "__key*");
        assert_eq!(
            stage.told("SET k v | SELECT 3 | LPUSH l x"),
            [
                "__keyspace@0__:k set",
                "__keyevent@0__:set k",
                "__keyspace@3__:l lpush",
                "__keyevent@3__:lpush l"
            ]
        );
    }
}

#[test]
fn classes_are_chosen() {
    let all = "SET s v | EXPIRE s 100 | GET nope | HSET h f v | SADD m x | DEL h | LPUSH l x | ZADD z 1 a";
    for (classes, expected) in [
        ("", ""),
        ("A", ""),
        ("K", ""),
        ("Kg", "expire del"),
        ("E$", "set"),
        ("Eh", "hset"),
        ("Es", "sadd"),
        ("El", "lpush"),
        ("Ez", "zadd"),
        ("Em", "keymiss"),
        ("En", "new new new new new"),
        ("E$g", "set expire del"),
        ("EA", "set expire hset sadd del lpush zadd"),
    ] {
        for &program in programs() {
            let mut stage = Stage::new(program, classes, "__key*");
            let told = stage.told(all);
            let names: Vec<&str> = told
                .iter()
                .map(|line| match line.strip_prefix("__keyevent@0__:") {
                    Some(rest) => rest.split(' ').next().unwrap(),
                    None => line.rsplit(' ').next().unwrap(),
                })
                .collect();
            assert_eq!(names.join(" "), expected, "{classes} on {}", program.name());
        }
    }
}

#[test]
fn the_option() {
    for (letters, shown) in
        [("KEA", "AKE"), ("Kgx", "gxK"), ("KEm", "KEm"), ("", ""), ("g$lshzxetdKE", "AKE")]
    {
        check3(
            &format!(
                "CONFIG SET notify-keyspace-events \"{letters}\" | CONFIG GET notify-keyspace-events | CONFIG SET notify-keyspace-events \"\""
            ),
            &format!("+OK | [\"notify-keyspace-events\" \"{shown}\"] | +OK"),
            &format!("+OK | {{\"notify-keyspace-events\" \"{shown}\"}} | +OK"),
        );
    }
}

#[test]
fn it_can_be_switched_while_the_server_runs() {
    for &program in programs() {
        let mut stage = Stage::new(program, "", "__key*");
        assert_eq!(stage.told("SET a 1"), [""; 0]);
        assert_eq!(stage.told("CONFIG SET notify-keyspace-events E$ | SET a 1"), ["__keyevent@0__:set a"]);
        assert_eq!(stage.told("CONFIG SET notify-keyspace-events  | SET a 2"), [""; 0]);
    }
}

#[test]
fn strings() {
    events("SET k v | SET k v", &["new k", "set k", "set k"]);
    events(
        "SET k v EX 100 | SETEX k 5 v | PSETEX k 5000 v",
        &["new k", "set k", "expire k", "set k", "expire k", "set k", "expire k"],
    );
    events("SET k v GET", &["keymiss k", "new k", "set k"]);
    events("SET k v XX | SETNX k v | SETNX k v", &["new k", "set k"]);
    events(
        "GETSET k v | GETSET k v | GETDEL k | GETDEL k",
        &["keymiss k", "new k", "set k", "set k", "del k", "keymiss k"],
    );
    events(
        "SET k v | GETEX k | GETEX k EX 100 | GETEX k PERSIST | GETEX k PERSIST | GETEX k PXAT 1 | GETEX k",
        &["new k", "set k", "expire k", "persist k", "del k", "keymiss k"],
    );
    events(
        "MSET a 1 b 2 a 3 | MSETNX a 1 c 2 | MSETNX c 1 d 2",
        &["new a", "set a", "new b", "set b", "set a", "new c", "set c", "new d", "set d"],
    );
    events(
        "PFADD h | PFADD h a | PFADD h a | PFCOUNT h | PFMERGE h | PFMERGE g h none | PFCOUNT g none",
        &[
            "new h",
            "pfadd h",
            "pfadd h",
            "pfadd h",
            "keymiss g",
            "keymiss none",
            "new g",
            "pfadd g",
            "keymiss none",
        ],
    );
    events(
        "GEOADD g 1 1 a 2 2 b | GEOADD g 1 1 a | GEOSEARCHSTORE d g FROMMEMBER a BYRADIUS 1 m | GEOSEARCHSTORE d none FROMMEMBER a BYRADIUS 1 m",
        &["new g", "zadd g", "new d", "geosearchstore d", "keymiss none", "del d"],
    );
    events(
        "GEOADD g 1 1 a | GEORADIUS g 1 1 1 m STORE d | GEORADIUSBYMEMBER g a 1 m STOREDIST d | GEORADIUS g 9 9 1 m STORE d",
        &["new g", "zadd g", "new d", "georadiusstore d", "georadiusstore d", "del d"],
    );
    events("APPEND k x | APPEND k y | SETRANGE k 0 z", &["new k", "append k", "append k", "setrange k"]);
    events(
        "INCR n | DECR n | INCRBY n 5 | DECRBY n 2 | INCRBYFLOAT n 1.5",
        &["new n", "incrby n", "incrby n", "incrby n", "incrby n", "incrbyfloat n"],
    );
    events(
        "GET k | STRLEN k | MGET k l | LCS k l",
        &["keymiss k", "keymiss k", "keymiss k", "keymiss l", "keymiss k", "keymiss l"],
    );
}

#[test]
fn bits() {
    events(
        "SETBIT b 0 1 | SETBIT b 0 1 | SETBIT b 0 0 | SETBIT b 100 0",
        &["new b", "setbit b", "setbit b", "setbit b"],
    );
    events(
        "BITFIELD b GET u8 0 | BITFIELD b SET u8 0 0 | BITFIELD b SET u8 0 0 | BITFIELD b SET u8 0 1 SET u8 0 2 | BITFIELD c OVERFLOW FAIL INCRBY u8 0 256",
        &["keymiss b", "new b", "setbit b", "setbit b", "new c"],
    );
    events(
        "SET a x | BITOP NOT d a | BITOP OR d none | BITOP OR d none",
        &["new a", "set a", "new d", "set d", "keymiss none", "del d", "keymiss none"],
    );
}

#[test]
fn keys() {
    events(
        "SET a 1 | SET b 2 | DEL a a none | UNLINK b",
        &["new a", "set a", "new b", "set b", "del a", "del b"],
    );
    events(
        "SET a 1 | EXPIRE a 100 | PERSIST a | PERSIST a | PEXPIRE a 5 XX | EXPIRE a -1",
        &["new a", "set a", "expire a", "persist a", "del a"],
    );
    events(
        "SET a 1 | RENAME a b | RENAME b b | SET c 1 | RENAME b c | RENAMENX c d",
        &[
            "new a",
            "set a",
            "new b",
            "rename_from a",
            "rename_to b",
            "new c",
            "set c",
            "new c",
            "rename_from b",
            "rename_to c",
            "new d",
            "rename_from c",
            "rename_to d",
        ],
    );
    events(
        "SET a 1 | COPY a b | COPY a b | COPY a b REPLACE | COPY none b",
        &["new a", "set a", "new b", "copy_to b", "new b", "copy_to b", "keymiss none"],
    );
    events("EXISTS none | TYPE none | TTL none | TOUCH none | OBJECT ENCODING none", &["keymiss none"; 4]);
    for &program in programs() {
        let mut stage = Stage::new(program, "EAn", "__key*");
        assert_eq!(
            stage.told("SET a 1 | MOVE a 1 | SET a 1 | COPY a c DB 2"),
            [
                "__keyevent@0__:new a",
                "__keyevent@0__:set a",
                "__keyevent@1__:new a",
                "__keyevent@0__:move_from a",
                "__keyevent@1__:move_to a",
                "__keyevent@0__:new a",
                "__keyevent@0__:set a",
                "__keyevent@2__:new c",
                "__keyevent@2__:copy_to c",
            ]
        );
    }
}

#[test]
fn hashes() {
    events(
        "HSET h a 1 b 2 | HSET h a 1 | HMSET h a 2 | HSETNX h a 1 | HSETNX h c 1 | HINCRBY h n 1 | HINCRBYFLOAT h n 1.5 | HDEL h x | HDEL h a b | HDEL h c n",
        &[
            "new h",
            "hset h",
            "hset h",
            "hset h",
            "hset h",
            "hincrby h",
            "hincrbyfloat h",
            "hdel h",
            "hdel h",
            "del h",
        ],
    );
    events("HGET h a | HLEN h | HGETALL h | HSCAN h 0", &["keymiss h"; 4]);
}

#[test]
fn sets() {
    events("SADD s a b | SADD s a | SREM s x | SREM s a b", &["new s", "sadd s", "srem s", "del s"]);
    events(
        "SADD s a b | SADD t a | SMOVE s t a | SMOVE s t x | SMOVE s u b",
        &["new s", "sadd s", "new t", "sadd t", "srem s", "srem s", "del s", "new u", "sadd u"],
    );
    events(
        "SADD s a b c | SPOP s 0 | SPOP s | SPOP s 5 | SPOP s",
        &["new s", "sadd s", "spop s", "spop s", "del s"],
    );
    events(
        "SADD s a b | SINTERSTORE d s s | SUNIONSTORE d s none | SDIFFSTORE d s s | SDIFFSTORE d s s",
        &["new s", "sadd s", "new d", "sinterstore d", "keymiss none", "sunionstore d", "del d"],
    );
}

#[test]
fn lists() {
    events(
        "RPUSH l a b c | LPUSHX l z | RPUSHX none z | LINSERT l BEFORE a q | LINSERT l BEFORE none q | LSET l 0 y | LREM l 0 none | LREM l 0 q",
        &["new l", "rpush l", "lpush l", "linsert l", "lset l", "lrem l"],
    );
    events(
        "RPUSH l a b c | LPOP l 0 | LPOP l | RPOP l 5 | LPOP l",
        &["new l", "rpush l", "lpop l", "rpop l", "del l"],
    );
    events(
        "RPUSH l a b | LTRIM l 0 9 | LTRIM l 5 9 | LTRIM l 5 9",
        &["new l", "rpush l", "ltrim l", "ltrim l", "del l"],
    );
    events(
        "RPUSH l a | RPOPLPUSH l m | RPOPLPUSH m m | LMOVE m n LEFT RIGHT | LMPOP 2 none n LEFT",
        &[
            "new l", "rpush l", "new m", "lpush m", "rpop l", "del l", "lpush m", "rpop m", "new n",
            "rpush n", "lpop m", "del m", "lpop n", "del n",
        ],
    );
    events(
        "RPUSH l 2 1 | SORT l STORE s | SORT l STORE s | SORT none STORE s",
        &["new l", "rpush l", "new s", "sortstore s", "sortstore s", "keymiss none", "del s"],
    );
}

#[test]
fn sorted_sets() {
    events(
        "ZADD z 1 a 2 b | ZADD z 1 a | ZADD z INCR 1 a | ZINCRBY z 0 a | ZINCRBY z 1 c | ZREM z x | ZREM z a b c",
        &["new z", "zadd z", "zincr z", "zincr z", "zrem z", "del z"],
    );
    events(
        "ZADD z 1 a 2 b 3 c | ZPOPMIN z 0 | ZPOPMIN z | ZPOPMAX z | ZMPOP 1 z MIN",
        &["new z", "zadd z", "zpopmin z", "zpopmax z", "zpopmin z", "del z"],
    );
    events(
        "ZADD z 1 a 2 b 3 c | ZREMRANGEBYRANK z 0 0 | ZREMRANGEBYSCORE z 2 2 | ZREMRANGEBYLEX z - +",
        &["new z", "zadd z", "zremrangebyrank z", "zremrangebyscore z", "zremrangebylex z", "del z"],
    );
    events(
        "ZADD z 1 a | ZRANGESTORE d z 0 -1 | ZRANGESTORE d z 5 9 | ZUNIONSTORE d 2 z none | ZINTERSTORE d 1 z | ZDIFFSTORE d 2 z z",
        &[
            "new z",
            "zadd z",
            "new d",
            "zrangestore d",
            "del d",
            "keymiss none",
            "new d",
            "zunionstore d",
            "zinterstore d",
            "del d",
        ],
    );
}

/// A key is told to have expired once, by whoever removes it: a command that meets it, or the sweep.
#[test]
fn expiry() {
    for &program in programs() {
        let mut stage = Stage::new(program, "ExgA", "__keyevent@0__:expired");
        stage.told("DEBUG SET-ACTIVE-EXPIRE 0 | SET a 1 PX 1 | SET b 1 PX 1 | SET c 1 PX 1 | SET d 1 PX 1 | SELECT 1 | SELECT 0");
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(stage.told("GET a | GET a"), ["__keyevent@0__:expired a"]);
        assert_eq!(
            stage.told("SET b 2 | SADD c x | EXPIRE d 10"),
            ["__keyevent@0__:expired b", "__keyevent@0__:expired c", "__keyevent@0__:expired d",]
        );
        stage.told("SET e 1 PX 1 | HSET h f v | PEXPIRE h 1 | DEBUG SET-ACTIVE-EXPIRE 1");
        let mut heard = Vec::new();
        eventually("both have expired", || {
            heard.extend(stage.heard());
            heard.len() >= 2
        });
        heard.sort();
        assert_eq!(heard, ["__keyevent@0__:expired e", "__keyevent@0__:expired h"]);
        assert_eq!(stage.told("GET e | GET h"), [""; 0], "once");
        drop(stage.server);
    }
}

/// What is told to a RESP3 client about its own commands stands behind their replies, as since Redis 7.2.
#[test]
fn ones_own_events() {
    tarn_only3(
        "CONFIG SET notify-keyspace-events E$ | SUBSCRIBE __keyevent@0__:set | SET k v | !recv | GET k | CONFIG SET notify-keyspace-events \"\"",
        "",
        r#"+OK | >["subscribe" "__keyevent@0__:set" :1] | +OK | >["message" "__keyevent@0__:set" "k"] | "v" | +OK"#,
    );
}

/// The order between events and messages of one client is that of its commands.
#[test]
fn events_and_messages_keep_their_order() {
    for &program in programs() {
        let mut stage = Stage::new(program, "EA", "*");
        let told = stage.told("SET a 1 | PUBLISH x 1 | DEL a | PUBLISH x 2");
        // The mark is heard twice: by its name and by the pattern.
        assert_eq!(told, ["__keyevent@0__:set a", "x 1", "__keyevent@0__:del a", "x 2"]);
    }
}

/// Redis 8.8's: the fields of a hash that an event happened to.
#[test]
fn fields() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    for &program in programs() {
        let mut stage = Stage::new(program, "STIVhg", "__sub*");
        assert_eq!(
            stage.told("HSET h a 1 bc 2 a 3"),
            [
                "__subkeyspace@0__:h hset|1:a,2:bc,1:a",
                "__subkeyevent@0__:hset 1:h|1:a,2:bc,1:a",
                "__subkeyspaceitem@0__:h\na hset",
                "__subkeyspaceitem@0__:h\nbc hset",
                "__subkeyspaceitem@0__:h\na hset",
                "__subkeyspaceevent@0__:hset|h 1:a,2:bc,1:a",
            ]
        );
        stage.told("CONFIG SET notify-keyspace-events Sh");
        assert_eq!(
            stage.told("HINCRBY h n 1 | HDEL h x bc n | HDEL h a"),
            [
                "__subkeyspace@0__:h hincrby|1:n",
                "__subkeyspace@0__:h hdel|2:bc,1:n",
                "__subkeyspace@0__:h hdel|1:a"
            ]
        );
    }
    tarn_only(
        "CONFIG SET notify-keyspace-events KEASTIV | CONFIG GET notify-keyspace-events | CONFIG SET notify-keyspace-events \"\"",
        r#"+OK | ... | +OK"#,
    );
}

/// Much work is done by workers, over many commits or again after a first attempt; what happened is told once.
#[test]
fn big_work_is_told_once() {
    for &program in programs() {
        let mut stage = Stage::new(program, "EAn", "__keyevent@0__:*");
        let members: Vec<String> = (0..5_000).map(|i| format!("member:{i}")).collect();
        for chunk in members.chunks(500) {
            let mut command = vec!["SADD".to_owned(), "s".to_owned()];
            command.extend_from_slice(chunk);
            stage.worker.call(&command);
        }
        let told = stage.heard();
        assert_eq!(told.len(), 11, "one new key and ten commands");
        let event = |text: &str| format!("__keyevent@0__:{text}");
        assert_eq!(
            stage.told("SUNIONSTORE d s none | COPY d e | RENAME e f | DEL d | SPOP s 4999 | SPOP s 5"),
            [
                "new d",
                "sunionstore d",
                "new e",
                "copy_to e",
                "new f",
                "rename_from e",
                "rename_to f",
                "del d",
                "spop s",
                "spop s",
                "del s"
            ]
            .map(event)
        );
    }
}

/// Fields that expire: TairHash's channel is told whatever the classes are, and the key goes with its last field.
#[test]
fn fields_that_expire_are_announced() {
    for program in ENGINES {
        for (classes, expected) in [
            ("", vec!["tairhash@0@h__:expired a", "tairhash@0@h__:expired b"]),
            (
                "EA",
                vec![
                    "tairhash@0@h__:expired a",
                    "tairhash@0@h__:expired b",
                    "__keyevent@0__:hexpired h",
                    "__keyevent@0__:del h",
                ],
            ),
        ] {
            let options = Options::new(program)
                .with("notify-keyspace-events", classes)
                .with("enable-debug-command", "yes");
            let server = Server::start(options);
            let (worker, mut listener) = (server.conn(), server.conn());
            let mut stage = {
                listener.call(&["PSUBSCRIBE", "tairhash@*"]);
                listener.call(&["PSUBSCRIBE", "__keyevent@*"]);
                listener.call(&["SUBSCRIBE", "mark"]);
                Stage { server, worker, listener }
            };
            let before = stage.told("HSETEX h PX 50000 FIELDS 2 a 1 b 2");
            assert_eq!(before.is_empty(), classes.is_empty(), "{before:?}");
            let mut told = stage.told("DEBUG TIME-OFFSET 50001");
            eventually("both fields are reaped", || {
                told.extend(stage.heard());
                told.len() >= expected.len()
            });
            assert_eq!(told, expected, "{classes:?} on {}", program.name());
            assert_eq!(stage.worker.call(&["DBSIZE"]), Value::Int(0));
        }
    }
}

/// What the field commands tell, one event for each kind of thing they did.
#[test]
fn field_commands_tell_what_they_did() {
    for (commands, expected) in [
        ("HSETEX h EX 100 FIELDS 1 a 1", "new h | hset h | hexpire h"),
        ("HSETEX h EX 0 FIELDS 1 a 1", "hset h | hdel h"),
        ("HSET h a 1 b 2 | HEXPIRE h 100 FIELDS 2 a c", "new h | hset h | hexpire h"),
        ("HSET h a 1 | HEXPIRE h 0 FIELDS 1 a", "new h | hset h | hdel h | del h"),
        ("HSET h a 1 | HEXPIRE h 100 XX FIELDS 1 a", "new h | hset h"),
        ("HSETEX h EX 100 FIELDS 1 a 1 | HPERSIST h FIELDS 1 a", "new h | hset h | hexpire h | hpersist h"),
        ("HSET h a 1 | HGETEX h EX 9 FIELDS 1 a | HGETEX h FIELDS 1 a", "new h | hset h | hexpire h"),
        ("HSET h a 1 | HGETDEL h FIELDS 2 a b", "new h | hset h | hdel h | del h"),
        ("EXHSET h a 1 EX 10 | EXHINCRBY h a 1", "new h | hset h | hexpire h | hincrby h"),
        ("EXHSET h a 1 | EXHEXPIRE h a 10 | EXHPERSIST h a", "new h | hset h | hexpire h | hpersist h"),
        ("EXHMSET h a 1 b 2 | EXHDEL h a | EXHDELWITHVER h b 1", "new h | hset h | hdel h | hdel h | del h"),
        ("EXHSETNX h a 1 | EXHSETNX h a 2 | EXHINCRBYFLOAT h a 1", "new h | hset h | hincrbyfloat h"),
    ] {
        for program in ENGINES {
            let mut stage = Stage::new(program, "EAn", "__keyevent@0__:*");
            let told = stage.told(commands);
            let told: Vec<&str> =
                told.iter().map(|line| line.strip_prefix("__keyevent@0__:").unwrap()).collect();
            assert_eq!(told.join(" | "), expected, "{commands} on {}", program.name());
        }
    }
}

/// Classes `o` and `c` of Redis 8.2.
#[test]
fn keys_that_are_overwritten_are_told() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    for engine in ENGINES {
        let mut stage = Stage::new(engine, "Eoc$", "__keyevent*");
        let events = |told: Vec<String>| {
            told.iter().map(|line| line.replacen("__keyevent@0__:", "", 1)).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(events(stage.told("SET k v")), "set k");
        assert_eq!(events(stage.told("SET k w")), "overwritten k, set k");
        assert_eq!(events(stage.told("APPEND k x | INCR n | INCR n")), "append k, incrby n, incrby n");
        assert_eq!(events(stage.told("MSET k 1 m 1")), "overwritten k, set k, set m");
        assert_eq!(
            events(stage.told("DEL m | RPUSH m a | RPUSH m b | SET m x")),
            "overwritten m, type_changed m, set m"
        );
        assert_eq!(
            events(stage.told("SADD a 1 2 | SUNIONSTORE k a | SUNIONSTORE k a")),
            "overwritten k, type_changed k, overwritten k"
        );
        assert_eq!(
            events(stage.told("RENAME a m | SET l y | COPY k l REPLACE")),
            "overwritten m, type_changed m, set l, overwritten l, type_changed l"
        );
        assert_eq!(
            events(
                stage.told("HSET h f v | HIMPORT PREPARE u f | HIMPORT SET h u w | EXPIRE h 100 | SADD k 3")
            ),
            "overwritten h"
        );
    }
}
