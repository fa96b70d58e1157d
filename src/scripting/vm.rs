//! The machines that run scripts: one per thread, made when it is first needed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mlua::chunk::ChunkMode;
use mlua::{Function, HookTriggers, Lua, LuaOptions, LuaString, StdLib, Table, VmState};
use tarn_resp::{Args as Words, Protocol, encode};

use super::api::host_functions;
use super::current::{Current, Running, with_current};
use super::functions::{Function as LibraryFunction, Library};
use super::pace::Pace;
use super::reply::Writer;
use super::sha1::{self, Sha};
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
    /// The function of this name.
    Function(&'a Arc<Library>, &'a [u8]),
}

impl Code<'_> {
    /// What it is called in messages.
    pub fn name(&self) -> String {
        match self {
            Code::Script(program) => sha1::hex(&program.sha),
            Code::Function(_, name) => shown(name),
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
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
}

/// Memory of all machines.
static MEMORY_BYTES: AtomicUsize = AtomicUsize::new(0);

pub fn memory_bytes() -> usize {
    MEMORY_BYTES.load(Ordering::Relaxed)
}

struct Machine {
    lua: Lua,
    /// Global variables of scripts, behind what scripts see of them.
    globals: Table,
    run_script: Function,
    compiled: HashMap<Sha, Function>,
    run_function: Function,
    load_library: Function,
    /// What functions of libraries see.
    functions: Table,
    /// The libraries it has loaded, and their functions.
    libraries: HashMap<String, Loaded>,
    writer: Writer,
    /// What was added to [`MEMORY_BYTES`] for it.
    counted_bytes: usize,
}

/// A library in a machine.
struct Loaded {
    library: Weak<Library>,
    functions: HashMap<Box<[u8]>, Function>,
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
        _ => Machine::new().map_err(|error| Error::reply(format!("ERR no machine for scripts: {error}")))?,
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
        lua.set_global_hook(triggers, |_, debug| {
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
        Ok(Machine {
            globals: made.raw_get("globals")?,
            run_script: made.raw_get("run_script")?,
            compiled: HashMap::new(),
            run_function: made.raw_get("run_function")?,
            load_library: made.raw_get("load_library")?,
            functions: made.raw_get("functions")?,
            libraries: HashMap::new(),
            writer: Writer::default(),
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
        MEMORY_BYTES.fetch_add(used, Ordering::Relaxed);
        MEMORY_BYTES.fetch_sub(self.counted_bytes, Ordering::Relaxed);
        self.counted_bytes = used;
    }

    fn function(&mut self, program: &Program) -> Result<Function, Error> {
        if let Some(function) = self.compiled.get(&program.sha) {
            return Ok(function.clone());
        }
        let chunk = self.lua.load(&*program.code).set_name(CHUNK_NAME).set_mode(ChunkMode::Text);
        let function = chunk.into_function().map_err(|error| {
            Error::reply(format!("ERR Error compiling script (new function): {}", message(&error)))
        })?;
        self.compiled.insert(program.sha, function.clone());
        Ok(function)
    }

    fn run(&mut self, run: Run<'_>, host: &mut dyn Host, out: &mut Vec<u8>) -> Result<(), Stopped> {
        let begun = match run.code {
            Code::Script(program) => self.prepare_script(program, &run).map(|function| (function, None)),
            Code::Function(library, name) => {
                self.prepare_function(library, name, &run).map(|(function, words)| (function, Some(words)))
            }
        };
        let (function, words) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                encode::error_bytes(out, &error.wire());
                return Ok(());
            }
        };
        self.writer.out.clear();
        if let Err(error) = library::reset(&self.lua) {
            encode::error_bytes(out, format!("ERR {}", message(&error)).as_bytes());
            return Ok(());
        }
        let mut current = Current::new(host, &mut self.writer, run.code.name(), run.protocol, run.random);
        let ran = {
            let _running = Running::begin(&mut current);
            match words {
                None => self.run_script.call::<()>(function),
                Some((keys, args)) => self.run_function.call::<()>((function, keys, args)),
            }
        };
        if current.stopped {
            return Err(Stopped { line: current.line });
        }
        match ran {
            Ok(()) => out.extend_from_slice(&self.writer.out),
            Err(error) => encode::error_bytes(out, format!("ERR {}", message(&error)).as_bytes()),
        }
        Ok(())
    }

    fn prepare_script(&mut self, program: &Program, run: &Run<'_>) -> Result<Function, Error> {
        let function = self.function(program)?;
        self.set_global("KEYS", run.words.iter().take(run.keys))
            .and_then(|()| self.set_global("ARGV", run.words.iter().skip(run.keys)))
            .map_err(|error| Error::reply(format!("ERR {}", message(&error))))?;
        Ok(function)
    }

    fn prepare_function(
        &mut self,
        library: &Arc<Library>,
        name: &[u8],
        run: &Run<'_>,
    ) -> Result<(Function, (Table, Table)), Error> {
        let is_loaded = self
            .libraries
            .get(&library.name)
            .is_some_and(|loaded| loaded.library.as_ptr() == Arc::as_ptr(library));
        if !is_loaded {
            let body = shebang::first_line(&library.code).map_or(&[][..], |(_, body)| body);
            let functions = self.load(body)?.into_iter().map(|(function, called)| (function.name, called));
            let loaded = Loaded { library: Arc::downgrade(library), functions: functions.collect() };
            self.libraries.insert(library.name.clone(), loaded);
        }
        let loaded = self.libraries.get(&library.name);
        let function = loaded.and_then(|loaded| loaded.functions.get(name)).cloned();
        let function = function.ok_or_else(|| Error::reply("ERR Function not found"))?;
        let words = self
            .table(run.words.iter().take(run.keys))
            .and_then(|keys| Ok((keys, self.table(run.words.iter().skip(run.keys))?)))
            .map_err(|error| Error::reply(format!("ERR {}", message(&error))))?;
        Ok((function, words))
    }

    /// Runs the code of a library; the functions that it registers.
    fn load(&mut self, body: &[u8]) -> Result<Vec<(LibraryFunction, Function)>, Error> {
        let chunk = self.lua.load(body).set_name("@user_function").set_mode(ChunkMode::Text);
        let code = chunk.set_environment(self.functions.clone()).into_function();
        let code =
            code.map_err(|error| Error::reply(format!("ERR Error compiling function: {}", message(&error))))?;
        let refuse = |words: &str| Error::reply(format!("ERR Error registering functions: {words}"));
        let mut host = LoadingHost { begun: Instant::now() };
        let mut current = Current::new(&mut host, &mut self.writer, String::new(), Protocol::Resp2, 0);
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

    fn table<'a>(&self, values: impl Iterator<Item = &'a [u8]>) -> mlua::Result<Table> {
        let table = self.lua.create_table()?;
        for value in values {
            table.raw_push(self.lua.create_string(value)?)?;
        }
        Ok(table)
    }

    fn set_global<'a>(&self, name: &str, values: impl Iterator<Item = &'a [u8]>) -> mlua::Result<()> {
        self.globals.raw_set(name, self.table(values)?)
    }
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
