//! Servers as child processes: a free port, a directory of their own, and no child outlives the tests.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::certs::Files;
use crate::conn::Conn;
use crate::value::Value;

/// How long a stop, or what a test waits for, may take before the test fails.
const DEADLINE: Duration = Duration::from_secs(60);
/// For a start: the server itself is patient for two minutes with sorted data that cannot be opened.
const START_DEADLINE: Duration = Duration::from_secs(180);
/// What the server logs when it serves.
const READY: &str = "ready to accept connections";
/// How often a condition is looked at again.
const POLL: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// Tarn on its disk engine.
    Rocksdb,
    /// Tarn on the engine in memory, which stands in for a distributed one: see [`DISTRIBUTED`].
    Memory,
    /// Tarn on a cluster, which is a double of TiKV: see [`cluster`].
    #[cfg(feature = "tikv")]
    Tikv,
    /// The real redis-server, 7.0.
    Redis,
}

/// Every read that may not wait is refused, as if its row were far away, and one commit of a hundred meets a conflict.
const DISTRIBUTED: &str = "conflict=10000 not-resident=1000000 seed=7";

/// What a test of Tarn runs on; where it is built with engine tikv on a cluster as well.
#[cfg(not(feature = "tikv"))]
pub const ENGINES: [Program; 2] = [Program::Rocksdb, Program::Memory];
#[cfg(feature = "tikv")]
pub const ENGINES: [Program; 3] = [Program::Rocksdb, Program::Memory, Program::Tikv];

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Program::Rocksdb => "tarn --engine rocksdb",
            Program::Memory => "tarn --engine memory",
            #[cfg(feature = "tikv")]
            Program::Tikv => "tarn --engine tikv",
            Program::Redis => "redis-server",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Options {
    pub program: Program,
    config: Option<PathBuf>,
    args: Vec<(String, String)>,
    tls: Option<Arc<Files>>,
    /// Tests that do not care for TLS use it all the same.
    speaks_tls: bool,
    open_files: Option<u64>,
    clock_step_ms: i64,
}

impl Options {
    pub fn new(program: Program) -> Options {
        let speaks_tls =
            program != Program::Redis && std::env::var("TARN_CHECK_TLS").is_ok_and(|v| v == "yes");
        let tls = speaks_tls.then(|| {
            static FILES: OnceLock<Arc<Files>> = OnceLock::new();
            Arc::clone(FILES.get_or_init(|| Arc::new(Files::new())))
        });
        Options {
            program,
            config: None,
            args: Vec::new(),
            tls,
            speaks_tls,
            open_files: None,
            clock_step_ms: 0,
        }
    }

    /// With so many file descriptors, and no right to have more.
    pub fn with_open_files(mut self, count: u64) -> Options {
        self.open_files = Some(count);
        self
    }

    /// With a port for TLS.
    pub fn with_tls(mut self, files: &Arc<Files>) -> Options {
        self.tls = Some(Arc::clone(files));
        self
    }

    /// As [`Options::with_tls`], and [`Server::conn`] connects by it.
    pub fn over_tls(mut self, files: &Arc<Files>) -> Options {
        self.speaks_tls = true;
        self.with_tls(files)
    }

    /// A configuration file, whose options the others go over.
    pub fn config(mut self, file: &Path) -> Options {
        self.config = Some(file.to_owned());
        self
    }

    /// `--name value`.
    pub fn with(mut self, name: &str, value: &str) -> Options {
        self.args.push((name.into(), value.into()));
        self
    }
}

pub struct Server {
    options: Options,
    /// Where the data directory is a file system of its own; unmounted before the directory is removed.
    _mount: Option<Mount>,
    /// Holds the data directory and the log.
    dir: TempDir,
    port: u16,
    tls_port: u16,
    child: Option<Child>,
}

impl Server {
    #[track_caller]
    pub fn start(options: Options) -> Server {
        let mut server = Server::prepare(options);
        server.launch();
        server
    }

    /// On a copy of this data directory.
    #[track_caller]
    pub fn start_on_copy(options: Options, from: &Path) -> Server {
        let mut server = Server::prepare(options);
        copy_files(from, &server.dir());
        server.launch();
        server
    }

    /// As [`Server::start_on_copy`], where the start may be refused: then how it ended and what it wrote.
    pub fn try_start_on_copy(options: Options, from: &Path) -> Result<Server, (ExitStatus, String)> {
        let mut server = Server::prepare(options);
        copy_files(from, &server.dir());
        (server.port, server.tls_port) = (free_port(), free_port());
        let log = File::create(server.log_path()).unwrap();
        let command = server.command(log);
        server.child = Some(spawn(command).expect("the server's program starts"));
        match server.wait_ready() {
            Ok(()) => Ok(server),
            Err(status) => Err((status, server.log())),
        }
    }

    fn prepare(options: Options) -> Server {
        let dir = tempfile::Builder::new().prefix("tarn-it-").tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("data")).unwrap();
        Server { options, _mount: None, dir, port: 0, tls_port: 0, child: None }
    }

    /// On a file system of its own, of this size. None, and a printed reason, where mounting one is not permitted.
    #[track_caller]
    pub fn start_on_small_disk(options: Options, mib: usize) -> Option<Server> {
        let mut server = Server::prepare(options);
        server._mount = Some(Mount::new(&server.dir(), mib)?);
        server.launch();
        Some(server)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn tls_port(&self) -> u16 {
        self.tls_port
    }

    /// The server's data directory.
    pub fn dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn program(&self) -> Program {
        self.options.program
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    #[track_caller]
    pub fn conn(&self) -> Conn {
        self.try_conn().expect("the server accepts")
    }

    fn try_conn(&self) -> io::Result<Conn> {
        match &self.options.tls {
            Some(files) if self.options.speaks_tls => Conn::connect_tls(self.tls_port, &files.connector()),
            _ => Conn::connect(self.port),
        }
    }

    #[track_caller]
    pub fn conn3(&self) -> Conn {
        let mut conn = self.conn();
        conn.hello3();
        conn
    }

    /// Orderly, as an operator would: SIGTERM, then wait.
    #[track_caller]
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(libc::SIGTERM);
        self.wait_exit()
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the child is ours and not yet waited for, so its id is not reused.
        unsafe { libc::kill(self.pid() as libc::pid_t, signal) };
    }

    /// As a crash: SIGKILL, nothing is flushed.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    #[track_caller]
    pub fn wait_exit(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("the server runs");
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                panic!("the server did not stop; its log:\n{}", self.log());
            }
            std::thread::sleep(POLL);
        }
    }

    /// Starts again on the same directory, after `stop` or `kill` (and kills when neither was called).
    #[track_caller]
    pub fn restart(&mut self) {
        self.kill();
        self.launch();
    }

    /// The machine's clock is off by so much, for the next start.
    pub fn step_clock(&mut self, ms: i64) {
        self.options.clock_step_ms = ms;
    }

    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log.txt")
    }

    fn command(&self, log: File) -> Command {
        let mut command = command(&self.options, self.port, &self.dir(), log);
        if let Some(files) = &self.options.tls {
            command.arg("--tls-port").arg(self.tls_port.to_string());
            for (option, name) in [
                ("--tls-cert-file", "server.pem"),
                ("--tls-key-file", "server.key"),
                ("--tls-ca-cert-file", "ca.pem"),
            ] {
                command.arg(option).arg(files.path(name));
            }
        }
        command
    }

    #[track_caller]
    fn launch(&mut self) {
        for _ in 0..20 {
            (self.port, self.tls_port) = (free_port(), free_port());
            let log = File::options().create(true).append(true).open(self.log_path()).unwrap();
            let command = self.command(log);
            self.child = Some(spawn(command).expect("the server's program starts"));
            let before = self.log().len();
            match self.wait_ready() {
                Ok(()) => return,
                Err(status) => {
                    let log = self.log();
                    // Somebody took the port between our look and the server's bind.
                    if !log[before.min(log.len())..].contains("in use") {
                        panic!("the server ended with {status} at its start; its log:\n{log}");
                    }
                }
            }
        }
        panic!("no free port found; the server's log:\n{}", self.log());
    }

    /// Until the server answers PING, or that it wants a password first. While nobody listens a connection may meet itself,
    /// and hears what it says.
    fn wait_ready(&mut self) -> Result<(), ExitStatus> {
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            let answered = self.try_conn().is_ok_and(|mut conn| {
                conn.try_call(&["PING"]).is_ok_and(|reply| match &reply {
                    // Who has to give a password is not told that the data is still being loaded.
                    Value::Error(text) if text.starts_with(b"NOAUTH") => {
                        self.options.program == Program::Redis || self.log().contains(READY)
                    }
                    Value::Error(text) => !text.starts_with(b"LOADING"),
                    Value::Array(_) => false,
                    _ => true,
                })
            });
            if let Some(status) = self.child.as_mut().unwrap().try_wait().unwrap() {
                self.child = None;
                return Err(status);
            }
            if answered {
                return Ok(());
            }
            if Instant::now() > deadline {
                panic!("the server does not answer; its log:\n{}", self.log());
            }
            std::thread::sleep(POLL);
        }
    }
}

/// A file system in memory.
struct Mount(PathBuf);

impl Mount {
    fn new(at: &Path, mib: usize) -> Option<Mount> {
        let size = format!("size={mib}m");
        let output =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output().ok()?;
        if !output.status.success() {
            println!("not tried: mounting says {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        Some(Mount(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _gone = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(40).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            eprintln!("the end of the log of {}:\n{}", self.options.program.name(), tail.join("\n"));
        }
    }
}

pub fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir(&target).unwrap();
            copy_files(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The command line. The same options mean the same on both programs; what is needed to make redis-server start
/// without a disk and with the commands that tests use is added here.
pub fn command(options: &Options, port: u16, dir: &Path, log: File) -> Command {
    let mut command = match options.program {
        Program::Redis => Command::new(program("TARN_REDIS_SERVER", "redis-server")),
        _ => Command::new(program("TARN_SERVER", env!("CARGO_BIN_EXE_tarn"))),
    };
    command.args(&options.config);
    if options.clock_step_ms != 0 {
        command.env("TARN_TEST_CLOCK_STEP_MS", options.clock_step_ms.to_string());
    }
    let mut arg = |name: &str, value: &str| {
        command.arg(format!("--{name}")).arg(value);
    };
    arg("port", &port.to_string());
    arg("dir", dir.to_str().unwrap());
    arg("enable-debug-command", "yes");
    match options.program {
        Program::Rocksdb => arg("engine", "rocksdb"),
        Program::Memory => {
            arg("engine", "memory");
            arg("memory-engine-faults", DISTRIBUTED);
        }
        #[cfg(feature = "tikv")]
        Program::Tikv => {
            arg("engine", "tikv");
            for (name, value) in cluster::options(dir) {
                if options.args.iter().all(|(given, _)| given != name) {
                    arg(name, &value);
                }
            }
            // The default, 10000 above the port, may be the port of another test.
            arg("cluster-port", &free_port().to_string());
        }
        Program::Redis => arg("save", ""),
    }
    for (name, value) in &options.args {
        arg(name, value);
        if options.program == Program::Redis && name == "cluster-enabled" {
            // The default, 10000 above the port, may not be a port at all.
            arg("cluster-port", &free_port().to_string());
        }
    }
    if let Some(count) = options.open_files {
        let limit = libc::rlimit { rlim_cur: count, rlim_max: count };
        // SAFETY: setrlimit is async-signal-safe, and reads a struct that the closure owns.
        unsafe {
            command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_NOFILE, &limit) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
    }
    command.current_dir(dir).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command
}

/// The cluster that servers on engine tikv share. Each has a prefix of its own, by its directory, so that it finds its data again.
///
/// One request of a hundred meets a region error, and one commit of a hundred a conflict. The environment may name a real cluster
/// instead.
#[cfg(feature = "tikv")]
pub mod cluster {
    use std::path::Path;
    use std::sync::LazyLock;

    use tikv_double::{Double, Options, Rates};

    static SHARED: LazyLock<Double> = LazyLock::new(|| {
        let rates = Rates { region_error: 0.01, conflict: 0.01, ..Rates::default() };
        Double::start(Options { rates, seed: 7, ..Options::default() }).expect("a free port")
    });

    pub fn options(dir: &Path) -> [(&'static str, String); 4] {
        let address = std::env::var("TARN_TIKV_PD").unwrap_or_else(|_| SHARED.pd_address());
        let prefix = dir.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let prefix = format!("{}-{}", prefix.unwrap_or("tarn-it"), std::process::id());
        [
            ("tikv-pd-addresses", address),
            ("tikv-prefix", prefix),
            ("tikv-timeout", "10000".to_owned()),
            ("tikv-workers", "8".to_owned()),
        ]
    }
}

/// The environment may name another program, as an installed one.
fn program(variable: &str, default: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| default.into())
}

/// Runs a command that is expected to end by itself: its exit status and what it wrote.
#[track_caller]
pub fn run_to_end(options: &Options, port: u16, dir: &Path) -> (ExitStatus, String) {
    let log_dir = TempDir::new().unwrap();
    let log_path = log_dir.path().join("log.txt");
    let log = File::create(&log_path).unwrap();
    let mut child = spawn(command(options, port, dir, log)).expect("the program starts");
    let deadline = Instant::now() + DEADLINE;
    loop {
        let output = || String::from_utf8_lossy(&fs::read(&log_path).unwrap()).into_owned();
        if let Some(status) = child.try_wait().unwrap() {
            return (status, output());
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the program did not end; its output:\n{}", output());
        }
        std::thread::sleep(POLL);
    }
}

/// Tells helping threads to end, also when the test ends by a panic: a scope waits for them either way.
pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Looks again and again until `done` is true.
#[track_caller]
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !done() {
        assert!(Instant::now() < deadline, "still not true: {what}");
        std::thread::sleep(POLL);
    }
}

/// A port that nobody listens on at this moment, and that no other test has been or will be given: a server that is killed
/// or not yet up must not be taken for another one.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().unwrap().port();
        if GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return port;
        }
    }
}

type SpawnRequest = (Command, mpsc::Sender<io::Result<Child>>);

/// Starts a child that dies with this process, however this process dies. Linux ties that to the thread which
/// forked, so one thread that lives as long as the process forks them all.
pub fn spawn(mut command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<SpawnRequest>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, requests) = mpsc::channel::<SpawnRequest>();
        std::thread::spawn(move || {
            for (mut command, reply) in requests {
                let _ = reply.send(command.spawn());
            }
        });
        Mutex::new(sender)
    });
    // SAFETY: prctl is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let (sender, reply) = mpsc::channel();
    spawner.lock().unwrap().send((command, sender)).expect("the spawning thread lives");
    reply.recv().expect("the spawning thread answers")
}

/// Servers that tests share, one at a time: whoever takes one starts from FLUSHALL.
pub mod pool {
    use super::{Options, Program, Server};
    use std::collections::BTreeMap;
    use std::ops::{Deref, DerefMut};
    use std::sync::{Mutex, Once};

    /// By program, and whether the clock was moved.
    static IDLE: Mutex<BTreeMap<(Program, bool), Vec<Shared>>> = Mutex::new(BTreeMap::new());

    pub struct Shared {
        pub server: Server,
        /// How far the server's clock was moved, in milliseconds. It is never moved back.
        pub clock_offset_ms: u64,
    }

    pub struct Lease(Option<Shared>);

    /// A server whose clock may have been moved.
    pub fn take(program: Program) -> Lease {
        let idle = idle(program, true).or_else(|| idle(program, false));
        Lease(Some(idle.unwrap_or_else(|| start(program))))
    }

    /// A server whose clock is right.
    pub fn take_on_time(program: Program) -> Lease {
        Lease(Some(idle(program, false).unwrap_or_else(|| start(program))))
    }

    fn idle(program: Program, moved: bool) -> Option<Shared> {
        IDLE.lock().unwrap().get_mut(&(program, moved)).and_then(Vec::pop)
    }

    fn start(program: Program) -> Shared {
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(|| {
            // Statics are not dropped, but the servers' directories shall be removed.
            // SAFETY: the callback touches nothing that exit has torn down before.
            unsafe { libc::atexit(clear) };
        });
        Shared { server: Server::start(Options::new(program)), clock_offset_ms: 0 }
    }

    extern "C" fn clear() {
        if let Ok(mut idle) = IDLE.lock() {
            idle.clear();
        }
    }

    impl Deref for Lease {
        type Target = Shared;
        fn deref(&self) -> &Shared {
            self.0.as_ref().unwrap()
        }
    }

    impl DerefMut for Lease {
        fn deref_mut(&mut self) -> &mut Shared {
            self.0.as_mut().unwrap()
        }
    }

    impl Drop for Lease {
        fn drop(&mut self) {
            let shared = self.0.take().unwrap();
            // A server on which a test failed may be in any state.
            if !std::thread::panicking() {
                let kind = (shared.server.program(), shared.clock_offset_ms > 0);
                IDLE.lock().unwrap().entry(kind).or_default().push(shared);
            }
        }
    }
}
