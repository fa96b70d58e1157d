//! The machines that run scripts: one per thread, made when it is first needed.

use std::cell::Cell;
use std::collections::HashMap;
use std::os::raw::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mlua::chunk::ChunkMode;
use mlua::state::{GcIncParams, GcMode};
use mlua::{Function, HookTriggers, Lua, LuaOptions, LuaString, StdLib, Table, VmState};
use tarn_resp::{Args as Words, Protocol, encode};

use super::api::host_functions;
use super::current::{Buffers, Current, Running, with_current};
use super::entry::{Entry, Job, Kept, give_back, keep};
use super::functions::{Function as LibraryFunction, Library};
use super::pace::Pace;
use super::sha1::{self, ByFirstBytes, Sha};
use super::shebang::{self, Flags};
use super::{Host, Level, Stopped, library};
use crate::error::{Error, shown};

/// Instructions between two looks at whether a script may go on: some tens of microseconds.
const INSTRUCTIONS_PER_LOOK: u32 = 5_000;
/// Memory of one machine: a script that needs more is refused.
const MAX_MEMORY_BYTES: usize = 256 << 20;
/// A machine that holds more than this behind a script is made anew.
const KEEP_MEMORY_BYTES: usize = 16 << 20;
/// Scripts that a machine keeps ready; when there are more, it begins anew.
const MAX_COMPILED: usize = 1_000;
/// How much a machine may grow before its garbage is collected, in percent of what was left. Most of what is in a small one belongs
/// to the sandbox, and every collection walks it.
const COLLECT_AT_PERCENT: c_int = 400;
/// The same of a large one: Lua's own number.
const COLLECT_LARGE_AT_PERCENT: c_int = 200;
/// Memory that a machine may take or give back before that is counted.
const COUNT_BYTES: usize = 4 << 10;
/// What a script of EVAL is called in messages.
const CHUNK_NAME: &str = "@user_script";
/// A library that registers its functions for longer is refused. As in Redis.
const MAX_LOADING: Duration = Duration::from_millis(500);

/// A script as a machine takes it.
#[derive(Debug)]
pub struct Program {
    pub sha: Sha,
    /// Without its first line, if that says something of it.
    pub code: Box<[u8]>,
}

/// What runs.
#[derive(Debug, Clone, Copy)]
pub enum Code<'a> {
    Script(&'a Program),
    /// The function at this place.
    Function(&'a Arc<Library>, usize),
}

impl Code<'_> {
    /// What it is called in messages.
    pub fn name(&self) -> String {
        match self {
            Code::Script(program) => sha1::hex(&program.sha),
            Code::Function(library, place) => {
                library.functions.get(*place).map(|function| shown(&function.name)).unwrap_or_default()
            }
        }
    }
}

/// One run of a script.
pub struct Run<'a> {
    pub code: Code<'a>,
    /// Its keys, and behind them its arguments.
    pub words: Words<'a>,
    pub keys: usize,
    pub protocol: Protocol,
    /// Where its random numbers begin.
    pub random: u64,
}

thread_local! {
    static MACHINE: Cell<Option<Box<Machine>>> = const { Cell::new(None) };
}

/// Memory of all machines.
static MEMORY_BYTES: AtomicUsize = AtomicUsize::new(0);

pub fn memory_bytes() -> usize {
    MEMORY_BYTES.load(Ordering::Relaxed)
}

struct Machine {
    lua: Lua,
    entry: Entry,
    compiled: HashMap<Sha, Kept, ByFirstBytes>,
    load_library: Function,
    /// What functions of libraries see.
    functions: Table,
    /// The libraries it has loaded, and their functions.
    libraries: HashMap<String, Loaded>,
    kept: Buffers,
    /// What was added to [`MEMORY_BYTES`] for it.
    counted_bytes: usize,
}

/// A library in a machine.
struct Loaded {
    library: Weak<Library>,
    /// At the places of the library's own.
    functions: Vec<Kept>,
}

/// Whether Lua takes the code.
pub fn compile(program: &Program) -> Result<(), Error> {
    with_machine(|machine| machine.function(program).map(|_| ()))
}

/// Runs the code of a library; the functions that it registers.
pub fn load_library(body: &[u8]) -> Result<Vec<LibraryFunction>, Error> {
    let loaded = with_machine(|machine| machine.load(body))?;
    Ok(loaded.into_iter().map(|(function, _)| function).collect())
}

/// Runs a script; its reply, which may be an error, is appended to `out`.
pub fn run(run: Run<'_>, host: &mut dyn Host, out: &mut Vec<u8>) -> Result<(), Stopped> {
    let ran = with_machine(|machine| Ok(machine.run(run, host, out)));
    match ran {
        Ok(ran) => ran,
        Err(error) => {
            encode::error_bytes(out, &error.wire());
            Ok(())
        }
    }
}

/// The machine of this thread.
fn with_machine<T>(work: impl FnOnce(&mut Machine) -> Result<T, Error>) -> Result<T, Error> {
    let mut machine = match MACHINE.take() {
        Some(machine) if machine.is_small() => machine,
        _ => {
            let refuse = |error| Error::reply(format!("ERR no machine for scripts: {error}"));
            Box::new(Machine::new().map_err(refuse)?)
        }
    };
    let done = work(&mut machine);
    machine.count();
    MACHINE.set(Some(machine));
    done
}

impl Machine {
    fn new() -> mlua::Result<Machine> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::OS;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        library::install(&lua)?;
        let host = host_functions(&lua)?;
        let sandbox = lua.load(include_str!("sandbox.lua")).set_name("=tarn").into_function()?;
        let made: Table = sandbox.call(host)?;
        lua.set_globals(made.raw_get("scripts")?)?;
        let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_PER_LOOK);
        lua.set_global_hook(triggers, |lua, debug| {
            // What has become large is collected as soon as in Redis: there is a limit.
            if lua.used_memory() > KEEP_MEMORY_BYTES {
                collect_at(lua, COLLECT_LARGE_AT_PERCENT);
            }
            let goes_on = with_current(|current| {
                if !current.stopped && !current.host.may_go_on() {
                    current.stopped = true;
                    current.line = debug.current_line();
                }
                !current.stopped
            });
            match goes_on {
                Some(false) => Err(mlua::Error::runtime("stopped")),
                _ => Ok(VmState::Continue),
            }
        })?;
        lua.set_memory_limit(MAX_MEMORY_BYTES)?;
        collect_at(&lua, COLLECT_AT_PERCENT);
        Ok(Machine {
            entry: Entry::new(&lua, made.raw_get("handler")?, made.raw_get("globals")?)?,
            compiled: HashMap::default(),
            load_library: made.raw_get("load_library")?,
            functions: made.raw_get("functions")?,
            libraries: HashMap::new(),
            kept: Buffers::default(),
            counted_bytes: 0,
            lua,
        })
    }

    fn is_small(&self) -> bool {
        self.compiled.len() + self.libraries.len() < MAX_COMPILED
            && self.lua.used_memory() < KEEP_MEMORY_BYTES
    }

    fn count(&mut self) {
        let used = self.lua.used_memory();
        if used.abs_diff(self.counted_bytes) < COUNT_BYTES {
            return;
        }
        MEMORY_BYTES.fetch_add(used, Ordering::Relaxed);
        MEMORY_BYTES.fetch_sub(self.counted_bytes, Ordering::Relaxed);
        self.counted_bytes = used;
    }

    fn function(&mut self, program: &Program) -> Result<Kept, Error> {
        if let Some(function) = self.compiled.get(&program.sha) {
            return Ok(*function);
        }
        let chunk = self.lua.load(&*program.code).set_name(CHUNK_NAME).set_mode(ChunkMode::Text);
        let function = chunk.into_function().and_then(|function| keep(&self.lua, function));
        let function = function.map_err(|error| {
            Error::reply(format!("ERR Error compiling script (new function): {}", message(&error)))
        })?;
        self.compiled.insert(program.sha, function);
        Ok(function)
    }

    fn run(&mut self, run: Run<'_>, host: &mut dyn Host, out: &mut Vec<u8>) -> Result<(), Stopped> {
        let Run { code, words, keys, protocol, random } = run;
        let (function, takes_words) = match code {
            Code::Script(program) => (self.function(program), false),
            Code::Function(library, place) => (self.library_function(library, place), true),
        };
        let function = match function {
            Ok(function) => function,
            Err(error) => {
                encode::error_bytes(out, &error.wire());
                return Ok(());
            }
        };
        self.kept.writer.out.clear();
        let mut current = Current::new(host, &mut self.kept, Some(code), protocol, random);
        let is_written = {
            let _running = Running::begin(&mut current);
            self.entry.run(&Job { function, words, keys, takes_words })
        };
        let (stopped, line) = (current.stopped, current.line);
        if !stopped && is_written {
            out.extend_from_slice(&self.kept.writer.out);
        } else if !stopped {
            encode::error(out, "ERR the script has failed");
        }
        self.kept.shrink();
        if stopped { Err(Stopped { line }) } else { Ok(()) }
    }

    fn library_function(&mut self, library: &Arc<Library>, place: usize) -> Result<Kept, Error> {
        let is_loaded = |loaded: &&Loaded| loaded.library.as_ptr() == Arc::as_ptr(library);
        let function = match self.libraries.get(&library.name).filter(is_loaded) {
            Some(loaded) => loaded.functions.get(place).copied(),
            None => self.load_again(library)?.get(place).copied(),
        };
        function.ok_or_else(|| Error::reply("ERR Function not found"))
    }

    /// Loads a library that is known, in place of an older one of its name.
    fn load_again(&mut self, library: &Arc<Library>) -> Result<&[Kept], Error> {
        let body = shebang::first_line(&library.code).map_or(&[][..], |(_, body)| body);
        let mut registered = self.load(body)?;
        registered.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        let functions = registered.into_iter().map(|(_, called)| keep(&self.lua, called));
        let refuse = |error: mlua::Error| Error::reply(format!("ERR {}", message(&error)));
        let functions = functions.collect::<mlua::Result<Vec<Kept>>>().map_err(refuse)?;
        let loaded = Loaded { library: Arc::downgrade(library), functions };
        if let Some(older) = self.libraries.remove(&library.name) {
            give_back(&self.lua, &older.functions).map_err(refuse)?;
        }
        Ok(&self.libraries.entry(library.name.clone()).or_insert(loaded).functions)
    }

    /// Runs the code of a library; the functions that it registers.
    fn load(&mut self, body: &[u8]) -> Result<Vec<(LibraryFunction, Function)>, Error> {
        let chunk = self.lua.load(body).set_name("@user_function").set_mode(ChunkMode::Text);
        let code = chunk.set_environment(self.functions.clone()).into_function();
        let code =
            code.map_err(|error| Error::reply(format!("ERR Error compiling function: {}", message(&error))))?;
        let refuse = |words: &str| Error::reply(format!("ERR Error registering functions: {words}"));
        let mut host = LoadingHost { begun: Instant::now() };
        let mut current = Current::new(&mut host, &mut self.kept, None, Protocol::Resp2, 0);
        let loaded = {
            let _running = Running::begin(&mut current);
            self.load_library.call::<(Option<Table>, Option<LuaString>)>(code)
        };
        if current.stopped {
            return Err(refuse("ERR FUNCTION LOAD timeout"));
        }
        let registered = match loaded {
            Ok((Some(registered), _)) => registered,
            Ok((None, words)) => {
                let words = words.map(|words| shown(&words.as_bytes())).unwrap_or_default();
                return Err(refuse(&words));
            }
            Err(error) => return Err(refuse(&message(&error))),
        };
        read_registered(&registered).map_err(|error| refuse(&message(&error)))
    }
}

fn collect_at(lua: &Lua, percent: c_int) {
    lua.gc_set_mode(GcMode::Incremental(GcIncParams::default().pause(percent)));
}

impl Drop for Machine {
    fn drop(&mut self) {
        MEMORY_BYTES.fetch_sub(self.counted_bytes, Ordering::Relaxed);
    }
}

fn read_registered(registered: &Table) -> mlua::Result<Vec<(LibraryFunction, Function)>> {
    let mut functions = Vec::new();
    for pair in registered.pairs::<LuaString, Table>() {
        let (name, about) = pair?;
        let mut flags = Flags::default();
        for flag in about.raw_get::<Table>("flags")?.sequence_values::<LuaString>() {
            flags = Flags::find(&flag?.as_bytes()).map_or(flags, |flag| flags.with(flag));
        }
        let description: Option<LuaString> = about.raw_get("description")?;
        let function = LibraryFunction {
            name: (&*name.as_bytes()).into(),
            description: description.map(|text| (&*text.as_bytes()).into()),
            flags,
            pace: Pace::default(),
        };
        functions.push((function, about.raw_get("callback")?));
    }
    Ok(functions)
}

/// What a library may do while it is loaded: nothing, and not for long.
struct LoadingHost {
    begun: Instant,
}

impl Host for LoadingHost {
    fn call(&mut self, _: Words<'_>, _: Protocol, reply: &mut Vec<u8>) -> bool {
        encode::error(reply, "ERR redis.call can only be called inside a script invocation");
        true
    }

    fn may_go_on(&mut self) -> bool {
        self.begun.elapsed() < MAX_LOADING
    }

    fn may_call(&mut self, _: Words<'_>) -> Option<bool> {
        None
    }

    fn log(&mut self, _: Level, text: &[u8]) {
        tracing::info!("library: {}", shown(text));
    }
}

/// What Lua says, without the story of where it came through.
pub(super) fn message(error: &mlua::Error) -> String {
    match error {
        mlua::Error::SyntaxError { message, .. } | mlua::Error::RuntimeError(message) => {
            message.split("\nstack traceback:").next().unwrap_or_default().to_owned()
        }
        mlua::Error::MemoryError(_) => "not enough memory".to_owned(),
        other => other.to_string(),
    }
}
