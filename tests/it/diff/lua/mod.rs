//! The libraries of scripts (`cjson`, `cmsgpack`, `struct`, `bit`): the same expressions in a VM of this process and in
//! redis-server must come to the same, to the byte, errors and the order of tables included.

mod answers;
mod expressions;
mod limits;

use mlua::{Lua, LuaOptions, StdLib};

use super::{commands, env_number, explored};
use crate::conn::Conn;
use crate::harness::{Program, pool};
use crate::rng::Rng;
use crate::value::{Value, quote};

/// How many expressions are sent at once.
const SCRIPT_EXPRESSIONS: usize = 40;

/// Functions for the expressions, on one line, so that errors name the line of the expression. `try` makes a string of
/// whatever a function returns or raises. The order of a table is shown too, unless keys are tables, whose order is that of
/// their addresses, or strings of 32 bytes and more: redis-server has changed how Lua hashes these. `sorted` shows
/// no order: a key whose value is nil is not seen, and has its place in the order of the others.
const PRELUDE: &str = r#"
local sorts = false
local function show(v)
  local t = type(v)
  if t == 'number' then return ('%.17g'):format(v) end
  if t == 'string' then return #v .. ':' .. v end
  if t == 'userdata' then return v == cjson.null and 'null' or t end
  if t ~= 'table' then return t == 'function' and t or tostring(v) end
  local out, ordered = {}, true
  for k, w in pairs(v) do
    out[#out + 1] = show(k) .. '=' .. show(w)
    if type(k) == 'table' or type(k) == 'string' and #k > 31 then ordered = false end
  end
  if sorts or not ordered then table.sort(out) end
  return '{' .. table.concat(out, ' ') .. '}'
end
local function list(...)
  local out, values = {}, {...}
  for i = 1, select('#', ...) do out[i] = show(values[i]) end
  return table.concat(out, ' ')
end
local function try(f, ...) return list(pcall(f, ...)) end
local function sorted(f, ...)
  sorts = true
  local shown = try(f, ...)
  sorts = false
  return shown
end
local function seq(n) local t = {} for i = 1, n do t[i] = i end return t end
local function words(n) local t = {} for i = 1, n do t['k' .. i] = i end return t end
local function nested(n, v) for i = 1, n do v = {v} end return v end
local function under(n, v) for i = 1, n do v = {a = v} end return v end
local function itself() local t = {} t[1] = t return t end
local function fill(n) return ('x'):rep(n) end
local c = cjson.new()
local out = {}
"#;

/// A script that returns one string for each of the expressions; the line of an expression is its number, from 1.
fn script(expressions: &[String]) -> String {
    let prelude = PRELUDE.trim().replace('\n', " ");
    let lines: Vec<_> = expressions.iter().map(|line| format!(" out[#out + 1] = {line}\n")).collect();
    format!("{prelude}{}return out", lines.concat())
}

/// A VM with the libraries of this crate.
fn vm() -> Lua {
    let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
    let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false)).unwrap();
    tarn::scripting::library::install(&lua).unwrap();
    lua
}

fn run_here(lua: &Lua, script: &str) -> Vec<Vec<u8>> {
    let strings: Vec<mlua::LuaString> = lua.load(script).set_name("@user_script").eval().unwrap();
    strings.iter().map(|string| string.as_bytes().to_vec()).collect()
}

fn run_in_redis(conn: &mut Conn, script: &str) -> Vec<Vec<u8>> {
    match conn.call(&["EVAL", script, "0"]) {
        Value::Array(values) => values.iter().map(|value| value.bytes().unwrap().to_vec()).collect(),
        other => panic!("redis-server answers {other:?} to\n{script}"),
    }
}

/// Runs on both sides and compares; returns how many expressions raised an error.
fn compare(lua: &Lua, conn: &mut Conn, expressions: &[String], seed: u64) -> usize {
    let script = script(expressions);
    let here = run_here(lua, &script);
    let there = run_in_redis(conn, &script);
    assert_eq!((here.len(), there.len()), (expressions.len(), expressions.len()), "seed {seed}");
    for ((expression, here), there) in expressions.iter().zip(&here).zip(&there) {
        assert!(
            here == there,
            "the libraries differ, seed {seed}:\n\n    {expression}\n\n    tarn:  {}\n    redis: {}\n\nagain: \
             TARN_DIFF_SEED={seed} scripts/cargo test --test it differential_lua",
            quote(here),
            quote(there)
        );
    }
    here.iter().filter(|shown| shown.starts_with(b"false ")).count()
}

#[test]
fn differential_lua() {
    let base = env_number("TARN_DIFF_SEED").or(explored(16_000_000)).unwrap_or_else(Rng::fresh_seed);
    let scripts = (commands() / 10 / SCRIPT_EXPRESSIONS).max(1) as u64;
    println!("differential lua: {scripts} scripts of {SCRIPT_EXPRESSIONS} expressions from seed {base}");
    let redis = pool::take(Program::Redis);
    let mut conn = redis.server.conn();
    let lua = vm();
    let mut errors = 0;
    for seed in base..base + scripts {
        errors += compare(&lua, &mut conn, &expressions::grow(&mut Rng::new(seed), SCRIPT_EXPRESSIONS), seed);
        // Scripts are kept; they are all different.
        if seed % 256 == 255 {
            assert_eq!(conn.call(&["SCRIPT", "FLUSH"]), Value::ok());
        }
    }
    let all = scripts as usize * SCRIPT_EXPRESSIONS;
    println!("differential lua: {errors} of {all} expressions are errors");
    assert!((all / 10..all / 2).contains(&errors), "the expressions no longer are of both kinds");
}

/// The fixed answers hold here and there.
#[test]
fn differential_lua_answers() {
    let redis = pool::take(Program::Redis);
    let mut conn = redis.server.conn();
    let lua = vm();
    let tables = [
        answers::ENCODE,
        answers::DECODE,
        answers::SETTINGS,
        answers::CMSGPACK,
        answers::STRUCT,
        answers::BIT,
    ];
    for (body, answer) in tables.concat() {
        let script = script(&[format!("try(function() {body} end)")]);
        for (who, shown) in [("tarn", run_here(&lua, &script)), ("redis", run_in_redis(&mut conn, &script))] {
            assert_eq!(quote(&shown[0]), quote(answer), "{who}: {body}");
        }
    }
}

/// What a script sees that walks over the libraries.
#[test]
fn differential_lua_contents() {
    let libraries = ["cjson", "cmsgpack", "struct", "bit", "cjson.new()"];
    let expressions = libraries.map(|name| format!("show({name})"));
    let redis = pool::take(Program::Redis);
    assert_eq!(compare(&vm(), &mut redis.server.conn(), &expressions, 0), 0);
}

#[test]
fn bytes_of_any_kind_do_no_harm() {
    let lua = vm();
    let mut rng = Rng::new(17);
    let functions =
        ["cjson.decode", "cmsgpack.unpack", "cmsgpack.unpack_one", "struct.size", "struct.pack", "bit.tohex"]
            .map(|name| lua.load(format!("return {name}")).eval::<mlua::Function>().unwrap());
    let (mut good, mut bad) = (0, 0);
    while good + bad < 50_000 {
        let bytes: Vec<u8> = (0..rng.below(24)).map(|_| rng.next() as u8).collect();
        for function in &functions {
            match function.call::<mlua::MultiValue>(lua.create_string(&bytes).unwrap()) {
                Ok(_) => good += 1,
                Err(mlua::Error::RuntimeError(_)) => bad += 1,
                Err(other) => panic!("{other:?} for {}", quote(&bytes)),
            }
        }
    }
    assert!(good > 1000 && bad > 1000, "{good} good, {bad} bad");
}
