//! FCALL and FUNCTION.

use crate::check::{check, check3, split_words, tarn_only, tarn_only_with};
use crate::harness::{Options, Program, Server};
use crate::value::Value;

const LIB: &str = "FUNCTION LOAD \"#!lua name=lib\\n\
    redis.register_function('pair', function(keys, args) return {keys[1], args[1], #keys, #args} end)\\n\
    redis.register_function('put', function(keys, args) return redis.call('set', keys[1], args[1]) end)\\n\
    redis.register_function{function_name='look', callback=function(keys) return redis.call('get', keys[1]) end, flags={'no-writes'}, description='reads'}\"";

fn after(lines: &str, replies: &str) {
    check(&format!("FUNCTION FLUSH | {LIB} | {lines}"), &format!("+OK | \"lib\" | {replies}"));
}

#[test]
fn functions_are_called_with_keys_and_arguments() {
    after(
        "FCALL pair 2 a b c | FCALL put 1 k v | FCALL look 1 k | FCALL_RO look 1 k | FCALL pair 0",
        "[\"a\" \"c\" :2 :1] | +OK | \"v\" | \"v\" | []",
    );
    after(
        "FCALL nosuch 0 | FCALL look x | FCALL look -1 | FCALL look 5 a | FCALL look | FCALL_RO put 1 k v | EXISTS k",
        "-ERR Function not found | -ERR Bad number of keys provided | -ERR Number of keys can't be negative | \
         -ERR Number of keys can't be greater than number of args | -ERR wrong number of arguments for 'fcall' command | \
         -ERR Can not execute a script with write flag using *_ro command. | :0",
    );
    after(
        "SET s x | MULTI | FCALL put 1 k 1 | INCR k | FCALL look 1 k | EXEC | EVAL \"return redis.call('fcall','look',0)\" 0",
        "+OK | +OK | +QUEUED | +QUEUED | +QUEUED | [+OK :2 \"2\"] | -ERR This Redis command is not allowed from script ...",
    );
}

#[test]
fn names_of_functions_have_no_case() {
    let library = |name: &str, function: &str| {
        format!(
            "FUNCTION LOAD \"#!lua name={name}\\nredis.register_function('{function}', function() error('x') end)\""
        )
    };
    after(
        &format!(
            "FCALL PAIR 1 a b | FCALL_RO LooK 1 k | {} | {} | {} | FCALL TEST 0 | FUNCTION DELETE LIB",
            library("other", "Put"),
            library("LIB", "PUT"),
            library("LIB", "tEst"),
        ),
        "[\"a\" \"b\" :1 :1] | nil | -ERR Function Put already exists | -ERR Function PUT already exists | \"LIB\" | \
         -ERR user_function:2: x script: tEst, on @user_function:2. | +OK",
    );
    // Redis finds one of the two, now this one and now that, and ends when such a library is deleted.
    tarn_only(
        "FUNCTION FLUSH | FUNCTION LOAD \"#!lua name=l\\nredis.register_function('ab', function() return 1 end) redis.register_function('AB', function() return 2 end)\" | \
         FCALL ab 0 | FCALL AB 0 | FUNCTION LOAD REPLACE \"#!lua name=l\\nredis.register_function('Ab', function() return 3 end)\" | FCALL aB 0",
        "+OK | \"l\" | :1 | :2 | \"l\" | :3",
    );
}

#[test]
fn functions_are_registered_by_their_library_only() {
    let refusal = "ERR redis.register_function can only be called on FUNCTION LOAD command";
    check(
        "FUNCTION FLUSH | FUNCTION LOAD \"#!lua name=l\\nlocal lib = redis\\n\
         lib.register_function('fa', function() return lib.register_function('g', function() end) end)\\n\
         lib.register_function('fb', function() return lib.register_function() end)\\n\
         lib.register_function('fc', function() return {pcall(lib.register_function, 'g', 1)} end)\\n\
         lib.register_function('fd', function() return type(getmetatable(_G).__index) end)\" | \
         FCALL fa 0 | FCALL fb 0 | FCALL fc 0 | FCALL fd 0 | FCALL g 0",
        &format!(
            "+OK | \"l\" | -{refusal} script: fa, on @user_function:3. | -{refusal} script: fb, on @user_function:4. | \
             [nil \"{refusal}\"] | \"function\" | -ERR Function not found"
        ),
    );
}

#[test]
fn errors_name_the_function_and_the_line() {
    check(
        "FUNCTION FLUSH | FUNCTION LOAD \"#!lua name=ab\\n\
         redis.register_function('zz', function() return x end) redis.register_function('zy', function() error('oops') end)\\n\
         redis.register_function('zw', function() return redis.call('lpush','str','x') end)\\n\
         redis.register_function('zr', function() redis.register_function('q', function() end) end)\\n\
         redis.register_function('zk', function() return KEYS end)\" | \
         SET str x | FCALL zz 0 | FCALL zy 0 | FCALL zw 0 | FCALL zr 0 | FCALL zk 0",
        "+OK | \"ab\" | +OK | \
         -ERR user_function:2: Script attempted to access nonexistent global variable 'x' script: zz, on @user_function:2. | \
         -ERR user_function:2: oops script: zy, on @user_function:2. | \
         -WRONGTYPE Operation against a key holding the wrong kind of value script: zw, on @user_function:3. | \
         -ERR user_function:4: attempt to call field 'register_function' (a nil value) script: zr, on @user_function:4. | \
         -ERR user_function:5: Script attempted to access nonexistent global variable 'KEYS' script: zk, on @user_function:5.",
    );
}

#[test]
fn libraries_are_refused_for_what_is_wrong_with_them() {
    let load = |code: &str| format!("FUNCTION FLUSH | FUNCTION LOAD \"{code}\"");
    let register = |code: &str| load(&format!("#!lua name=ab\\nredis.register_function{code}"));
    let refused = |words: &str| format!("+OK | -ERR {words}");
    let failed = |words: &str| refused(&format!("Error registering functions: ERR {words}"));
    check(&load("return 1"), &refused("Missing library metadata"));
    check(&load("#!lua\\nx"), &refused("Library name was not given"));
    check(&load("#!lua name=a b=c\\nx"), &refused("Invalid metadata value given: b=c"));
    check(
        &load("#!lua name=ab name=c\\nx"),
        &refused("Invalid metadata value, name argument was given multiple times"),
    );
    check(&load("#!py name=ab\\nx"), &refused("Engine 'py' not found"));
    check(
        &load("#!lua name=ab\\nx x"),
        &refused("Error compiling function: user_function:2: '=' expected near 'x'"),
    );
    check(&load("#!lua name=ab\\nreturn 1"), &refused("No functions registered"));
    check(&load("#!lua name=ab\\nx=1"), &failed("user_function:2: Attempt to modify a readonly table"));
    let missing = |name: &str| {
        failed(&format!("user_function:2: Script attempted to access nonexistent global variable '{name}'"))
    };
    check(&load("#!lua name=ab\\nredis.call('set','a',1)"), &missing("call"));
    check(&load("#!lua name=ab\\nerror('boo')"), &missing("error"));
    check(&load("#!lua name=ab\\nreturn string.upper('a')"), &missing("string"));
    check(&register("('fx', 1)"), &failed("second argument to redis.register_function must be a function"));
    check(
        &register("(function() end, function() end)"),
        &failed("first argument to redis.register_function must be a string"),
    );
    check(&register("()"), &failed("wrong number of arguments to redis.register_function"));
    check(&register("('a', 'b', 'c')"), &failed("wrong number of arguments to redis.register_function"));
    check(
        &register("('fx')"),
        &failed(
            "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).",
        ),
    );
    check(
        &register("{function_name='x', callback=1}"),
        &failed("callback argument given to redis.register_function must be a function"),
    );
    check(
        &register("{function_name='x', callback=function() end, flags={'bad'}}"),
        &failed("unknown flag given"),
    );
    check(
        &register("{function_name='x', callback=function() end, flags=1}"),
        &failed("flags argument to redis.register_function must be a table representing function flags"),
    );
    check(
        &register("{function_name='x', foo=1}"),
        &failed("unknown argument given to redis.register_function"),
    );
    check(
        &register("{callback=function() end}"),
        &failed("redis.register_function must get a function name argument"),
    );
    check(&register("{function_name='x'}"), &failed("redis.register_function must get a callback argument"));
    check(
        &register("('f-x', function() end)"),
        &failed(
            "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
        ),
    );
    check(
        &register("('zz', function() end) redis.register_function('zz', function() end)"),
        &failed("Function already exists in the library"),
    );
}

#[test]
fn the_first_line_of_a_library_is_quoted_like_a_command() {
    const F: &str = "redis.register_function('f', function() return 1 end)";
    let load = |line: &str| format!(r#"FUNCTION FLUSH | FUNCTION LOAD "{line}\n{F}""#);
    for (line, name) in [
        (r#"#!lua name=\"foo\""#, "foo"),
        (r#"#!lua \"name=u5\""#, "u5"),
        ("#!lua 'name=u6'", "u6"),
        (r#"#!'lua' \"Name=\\x41b\""#, "Ab"),
        (r#"#!lua name=x\"y\""#, "xy"),
        (r"#!lua\t name=u9\r", "u9"),
    ] {
        check(&load(line), &format!("+OK | \"{name}\""));
    }
    for (line, refusal) in [
        (r#"#!lua name=\"u"#, "Invalid library metadata"),
        ("#!lua 'name=u", "Invalid library metadata"),
        (r#"#!lua name=\"a\"b"#, "Invalid library metadata"),
        (r"#!lua name=a\x00b", "Invalid library metadata"),
        (r#"#!lua \"b c\" name=a"#, "Invalid metadata value given: b c"),
        (r#"#!\"py x\" name=a"#, "Engine 'py x' not found"),
        (
            r#"#!lua \"name=a b\""#,
            "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
        ),
    ] {
        check(&load(line), &format!("+OK | -ERR {refusal}"));
    }
}

#[test]
fn libraries_are_replaced_listed_and_deleted() {
    after(
        "FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('f', function() return 1 end)\" | \
         FUNCTION LOAD \"#!lua name=other\\nredis.register_function('put', function() return 1 end)\" | FCALL put 1 k v | \
         FUNCTION LOAD REPLACE \"#!lua name=lib\\nredis.register_function('f', function() return 1 end)\" | FCALL f 0 | FCALL put 1 k v | \
         FUNCTION LOAD BAD x | FUNCTION DELETE nosuch | FUNCTION DELETE lib | FCALL f 0 | FUNCTION KILL | FUNCTION FLUSH BAD",
        "-ERR Library 'lib' already exists | -ERR Function put already exists | +OK | \"lib\" | :1 | -ERR Function not found | \
         -ERR Unknown option given: BAD | -ERR Library not found | +OK | -ERR Function not found | \
         -NOTBUSY No scripts in execution right now. | -ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
    );
    let wrong = |word: &str| {
        format!("-ERR unknown subcommand or wrong number of arguments for '{word}'. Try FUNCTION HELP.")
    };
    after(
        "FUNCTION FLUSH SYNC x | FUNCTION FlusH x async | FCALL put 1 k v | FUNCTION FLUSH sync | FCALL put 1 k v",
        &format!("{} | {} | +OK | +OK | -ERR Function not found", wrong("FLUSH"), wrong("FlusH")),
    );
    let one = "FUNCTION LOAD \"#!lua name=lib\\nredis.register_function{function_name='f', callback=function() return 1 end, flags={'no-writes','allow-oom'}, description='d'}\"";
    let flags2 = "~[+no-writes +allow-oom]";
    check3(
        &format!(
            "FUNCTION FLUSH | {one} | FUNCTION LIST | FUNCTION LIST LIBRARYNAME x* | FUNCTION LIST BAD | FUNCTION LIST LIBRARYNAME"
        ),
        &format!(
            "+OK | \"lib\" | [[\"library_name\" \"lib\" \"engine\" \"LUA\" \"functions\" [[\"name\" \"f\" \"description\" \"d\" \"flags\" {flags2}]]]] | \
             [] | -ERR Unknown argument BAD | -ERR library name argument was not given"
        ),
        "+OK | \"lib\" | [{\"library_name\" \"lib\" \"engine\" \"LUA\" \"functions\" [{\"name\" \"f\" \"description\" \"d\" \"flags\" #{+no-writes +allow-oom}}]}] | \
         [] | -ERR Unknown argument BAD | -ERR library name argument was not given",
    );
    check3(
        &format!("FUNCTION FLUSH | {one} | FUNCTION STATS"),
        "+OK | \"lib\" | [\"running_script\" nil \"engines\" [\"LUA\" [\"libraries_count\" :1 \"functions_count\" :1]]]",
        "+OK | \"lib\" | {\"running_script\" nil \"engines\" {\"LUA\" {\"libraries_count\" :1 \"functions_count\" :1}}}",
    );
    tarn_only(
        "FUNCTION NOSUCH | FUNCTION HELP",
        "-ERR unknown subcommand 'NOSUCH'. Try FUNCTION HELP. | ...",
    );
}

#[test]
fn libraries_survive_a_restart_and_a_kill() {
    let mut server = Server::start(Options::new(Program::Rocksdb));
    for in_order in [true, false] {
        let mut conn = server.conn();
        assert_eq!(conn.call(&split_words("FUNCTION FLUSH")), Value::Simple(b"OK".to_vec()));
        assert_eq!(conn.call(&split_words(LIB)), Value::bulk("lib"));
        if in_order {
            server.stop();
        }
        server.restart();
        let mut conn = server.conn();
        assert_eq!(conn.call(&split_words("FCALL pair 1 a b")).to_string(), "[\"a\" \"b\" :1 :1]");
    }
}

#[test]
fn a_function_that_never_ends_can_be_stopped() {
    let server = Server::start(Options::new(Program::Rocksdb));
    let mut conn = server.conn();
    let code = "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function(keys) redis.call('set',keys[1],1) while true do end end)\"";
    assert_eq!(conn.call(&split_words(code)), Value::bulk("l"));
    let mut runner = server.conn();
    runner.send(&split_words("FCALL f 1 k"));
    while conn.call(&split_words("FUNCTION KILL")) != Value::Simple(b"OK".to_vec()) {}
    let Value::Error(killed) = runner.recv() else { panic!("a killed function answers with an error") };
    assert!(
        killed
            .starts_with(b"ERR Script killed by user with FUNCTION KILL... script: f, on @user_function:2.")
    );
    assert_eq!(conn.call(&split_words("EXISTS k")), Value::Int(0));
}

/// A library with a function `f` that returns 1, as redis-server 7.0 dumps it.
const DUMPED: &str = r#""\xf5@A#!lua name=a\x0aredis.register_function('f',function() return 1 end)\x0a\x00\x17\x9d\xab\xc7\x87\xfc\x9c\xad""#;
const NOTHING: &str = r#""\x0a\x00]\x9b\x5c@\x0f\x7f\xa2\xda""#;
const OTHER: &str =
    "FUNCTION FLUSH | FUNCTION LOAD \"#!lua name=b\\nredis.register_function('f',function() return 2 end)\"";

#[test]
fn libraries_are_dumped_and_restored() {
    let line = |text: &str| text.replace("{a}", DUMPED).replace("{0}", NOTHING).replace("{b}", OTHER);
    let play = |text: &str, expected: &str| check(&line(text), expected);
    play(
        "FUNCTION FLUSH | FUNCTION RESTORE {a} | FCALL f 0 | FUNCTION RESTORE {a} | FUNCTION RESTORE {a} append",
        "+OK | +OK | :1 | -ERR Library a already exists | -ERR Library a already exists",
    );
    play(
        "FUNCTION FLUSH | FUNCTION RESTORE {a} | FUNCTION RESTORE {a} REPLACE | FUNCTION RESTORE {0} | FCALL f 0 | \
        FUNCTION RESTORE {0} FLUSH | FUNCTION LIST",
        "+OK | +OK | +OK | +OK | :1 | +OK | []",
    );
    play(
        "{b} | FUNCTION RESTORE {a} | FUNCTION RESTORE {a} REPLACE | FCALL f 0 | FUNCTION RESTORE {a} FLUSH | FCALL f 0 | FUNCTION FLUSH",
        "+OK | \"b\" | -ERR Function f already exists | -ERR Function f already exists | :2 | +OK | :1 | +OK",
    );
    let wrong = "-ERR DUMP payload version or checksum are wrong";
    play(
        "FUNCTION RESTORE x | FUNCTION RESTORE \"\" | FUNCTION RESTORE {a} foo | FUNCTION RESTORE {a} flush x | FUNCTION RESTORE | FUNCTION DUMP x",
        &format!(
            "{wrong} | {wrong} | -ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE. | \
            -ERR unknown subcommand or wrong number of arguments for 'RESTORE'. Try FUNCTION HELP. | \
            -ERR wrong number of arguments for 'function|restore' command | -ERR wrong number of arguments for 'function|dump' command"
        ),
    );
    // The function is F there.
    play(
        r#"{b} | FUNCTION RESTORE "\xf5@A#!lua name=a\x0aredis.register_function('F',function() return 1 end)\x0a\x00*\x01\x88qE-$\x0e" | FCALL F 0"#,
        "+OK | \"b\" | -ERR Function F already exists | :2",
    );
    // A value, code that is no library, one that comes twice: nothing is flushed.
    play(
        r#"{b} | FUNCTION RESTORE "\x00\x01v\n\x00\x91\x08\xce\xb2\x198\x8a\xce" FLUSH | FUNCTION RESTORE "\xf5\x01a\x0a\x00\xc9\xdb\xc4\x13\xfena\xd3" FLUSH | FUNCTION RESTORE "\xf5@A#!lua name=a\x0aredis.register_function('f',function() return 1 end)\xf5@A#!lua name=a\x0aredis.register_function('f',function() return 1 end)\x0a\x00\xbc\xd3\xe4)\x90(\x8cR" FLUSH | FCALL f 0 | FUNCTION FLUSH"#,
        "+OK | \"b\" | -ERR given type is not a function | -ERR Missing library metadata | -ERR Library 'a' already exists | :2 | +OK",
    );
    play(
        "MULTI | FUNCTION RESTORE {a} FLUSH | EXEC | FCALL f 0 | FUNCTION FLUSH",
        "+OK | +QUEUED | [+OK] | :1 | +OK",
    );
}

/// The bytes are those of redis-server 7.0, where its version is asked for.
#[test]
fn a_dump_of_libraries_is_that_of_redis() {
    let options = [("dump-rdb-version", "10")];
    tarn_only_with(
        &options,
        &format!("FUNCTION DUMP | FUNCTION RESTORE {DUMPED} | FUNCTION DUMP"),
        &format!("{NOTHING} | +OK | {DUMPED}"),
    );
}

#[test]
fn restored_libraries_survive_a_restart() {
    let mut server = Server::start(Options::new(Program::Rocksdb));
    let mut conn = server.conn();
    let words = split_words(&format!("FUNCTION RESTORE {DUMPED}"));
    assert_eq!(conn.call(&words), Value::ok());
    server.kill();
    server.restart();
    assert_eq!(server.conn().call(&["FCALL", "f", "0"]), Value::Int(1));
}
