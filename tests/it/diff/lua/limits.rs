//! What scripts cannot do with the libraries, however hard they try.

use mlua::Lua;
use tarn::scripting::library;
use tarn::scripting::stack::Stack;

use super::vm;

/// The stack of a thread that runs scripts is at least this large, in bytes.
const THREAD_STACK: usize = 512 << 10;

fn shown(lua: &Lua, body: &str) -> String {
    let text = format!("return tostring(select(2, pcall(function() {body} end)))");
    lua.load(text).set_name("@user_script").eval().unwrap()
}

/// Runs on a thread with a small stack.
fn on_a_small_stack(body: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(THREAD_STACK).spawn(body).unwrap().join().unwrap();
}

#[test]
fn nesting_ends_where_the_stack_of_lua_does() {
    on_a_small_stack(|| {
        let lua = vm();
        let deepest = "local c = cjson.new() c.encode_max_depth(2147483647) c.decode_max_depth(2147483647) ";
        let run = |body: &str| shown(&lua, &format!("{deepest}{body}"));
        for (open, name) in [("[", "arrays"), (r#"{"a":"#, "objects")] {
            let found = run(&format!("return c.decode((\'{open}\'):rep(1000000))"));
            assert!(found.contains("Found too many nested data structures ("), "{name}: {found}");
        }
        for table in ["{t}", "{a = t}"] {
            let found =
                run(&format!("local t = {{}} for i = 1, 100000 do t = {table} end return c.encode(t)"));
            assert!(found.contains("Cannot serialise, excessive nesting ("), "{table}: {found}");
        }
        for open in [r"\145", r"\129\001", r"\129"] {
            let found = run(&format!("return cmsgpack.unpack((\'{open}\'):rep(1000000))"));
            assert!(found.contains("stack overflow ("), "{open}: {found}");
        }
        let found = run("return #c.encode(c.decode((\'[\'):rep(2000) .. (\']\'):rep(2000)))");
        assert_eq!(found, "4000");
    });
}

/// Without a limit these would take all memory there is.
#[test]
fn results_count_to_the_memory_of_the_vm() {
    const LIMIT: usize = 16 << 20;
    let lua = vm();
    lua.set_memory_limit(LIMIT).unwrap();
    let doubled = "local t = {'x'} for i = 1, 60 do t = {t, t} end ";
    let cases = [
        format!("{doubled}return cjson.encode(t)"),
        "local t = {} for i = 1, 60000 do t[i] = ('x'):rep(1000) end return cmsgpack.pack(t)".into(),
        "local s = ('x'):rep(100000) return struct.pack(('s'):rep(200), unpack((function() local t = {} for i = 1, 200 do t[i] = s end return t end)()))".into(),
        "local c = cjson.new() c.encode_sparse_array(false, 0) return c.encode({[2147483647] = 1})".into(),
    ];
    for body in &cases {
        assert_eq!(shown(&lua, body), "not enough memory", "{body}");
        lua.gc_collect().unwrap();
        assert!(lua.used_memory() < LIMIT / 8, "{body} leaves {} bytes", lua.used_memory());
        assert_eq!(shown(&lua, "return cjson.encode({1, cmsgpack.unpack(cmsgpack.pack(2))})"), "[1,2]");
    }
}

/// A length that is not there takes no memory.
#[test]
fn lengths_are_not_believed() {
    let lua = vm();
    lua.set_memory_limit(lua.used_memory() + (64 << 10)).unwrap();
    for head in [r"\221\255\255\255\255", r"\223\255\255\255\255", r"\219\255\255\255\255", r"\220\255\255"] {
        let found = shown(&lua, &format!("return cmsgpack.unpack(\'{head}\')"));
        assert_eq!(found, "user_script:1: Missing bytes in input.", "{head}");
    }
    let found = shown(&lua, "return struct.unpack(\'c2147483647\', \'abc\')");
    assert_eq!(found, "user_script:1: bad argument #2 to 'unpack' (data string too short)");
    let found = shown(&lua, "return cjson.encode({[2147483647] = 1})");
    assert_eq!(found, "user_script:1: Cannot serialise table: excessively sparse array");
}

#[test]
fn settings_can_be_put_back() {
    let lua = vm();
    assert_eq!(shown(&lua, "return cjson.encode_max_depth(3)"), "3");
    assert_eq!(shown(&lua, "return cjson.encode_max_depth()"), "3");
    // SAFETY: the closure owns nothing, and leaves the stack as it was.
    let put_back = unsafe {
        lua.exec_raw::<()>((), |state| {
            let stack = Stack::new(state);
            library::push_settings(&stack);
            library::reset(&stack, -1);
            stack.pop(1);
        })
    };
    put_back.unwrap();
    assert_eq!(shown(&lua, "return cjson.encode_max_depth()"), "1000");
}

/// Messages are plain strings to a script, not objects of this program.
#[test]
fn errors_are_strings() {
    let lua = vm();
    for call in
        ["cjson.encode()", "cjson.decode('[')", "cmsgpack.unpack('\\193')", "struct.size('%')", "bit.band()"]
    {
        let text = format!("return type(select(2, pcall(function() return {call} end)))");
        assert_eq!(lua.load(text).eval::<String>().unwrap(), "string", "{call}");
    }
}
