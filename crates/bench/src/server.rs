//! A server under measurement: Tarn or redis-server, on a free loopback port, with data in a folder of its own.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::cleanup::Folder;
use crate::client::Client;
use crate::process::Process;
use crate::{Result, process};

/// How long a server may take until it answers; replaying a log is part of it.
const START_LIMIT: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Tarn,
    Redis,
}

impl Kind {
    pub fn of(program: &Path) -> Kind {
        let name = program.file_name().unwrap_or_default().as_encoded_bytes();
        if name.starts_with(b"redis") { Kind::Redis } else { Kind::Tarn }
    }
}

pub struct Server {
    kind: Kind,
    program: PathBuf,
    options: Vec<String>,
    folder: Folder,
    port: u16,
    /// The port for TLS, where it is measured.
    tls_port: Option<u16>,
    process: Process,
    /// From the start of the process until it answered PING.
    pub startup: Duration,
}

impl Server {
    /// The server that the targets are about.
    pub fn under_test(args: &Args, options: &[&str]) -> Result<Server> {
        let program = match &args.server {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("tarn"),
        };
        let extra = args.server_args.iter().map(String::as_str);
        let options: Vec<&str> = options.iter().copied().chain(extra).collect();
        Server::start(Kind::of(&program), program, args, &options)
    }

    /// redis-server with the durability that Tarn has by default.
    pub fn redis(args: &Args) -> Result<Server> {
        Server::start(Kind::Redis, args.redis.clone(), args, &[])
    }

    fn start(kind: Kind, program: PathBuf, args: &Args, options: &[&str]) -> Result<Server> {
        let folder = Folder::new(&args.dir)?;
        let mut options: Vec<String> = options.iter().map(|&word| word.to_owned()).collect();
        let port = free_port()?;
        let tls_port = if args.tls { Some(free_port()?) } else { None };
        if let Some(tls_port) = tls_port {
            options.extend(tls_options(folder.path(), tls_port)?);
        }
        let (process, startup) = launch(kind, &program, &options, folder.path(), port)?;
        Ok(Server { kind, program, options, folder, port, tls_port, process, startup })
    }

    /// How redis-benchmark connects.
    pub fn benchmark_options(&self) -> Vec<String> {
        let Some(tls_port) = self.tls_port else { return vec!["-p".into(), self.port.to_string()] };
        let cert = self.folder.path().join(CERTIFICATE).display().to_string();
        vec!["-p".into(), tls_port.to_string(), "--tls".into(), "--cacert".into(), cert]
    }

    /// kill -9, then a start on the same data; `startup` is the time until it answered.
    pub fn kill_and_restart(&mut self) -> Result<()> {
        self.process.kill();
        self.restart()
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    pub fn restart(&mut self) -> Result<()> {
        // A new port: the old one may still hold connections that are being closed.
        self.port = free_port()?;
        let (process, startup) =
            launch(self.kind, &self.program, &self.options, self.folder.path(), self.port)?;
        self.process = process;
        self.startup = startup;
        Ok(())
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Tarn => "Tarn",
            Kind::Redis => "Redis",
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn client(&self) -> Result<Client> {
        Client::connect(self.port)
    }

    pub fn memory(&self) -> Result<process::Memory> {
        process::memory(self.pid())
    }

    pub fn cpu_time(&self) -> Result<Duration> {
        process::cpu_time(self.pid())
    }

    pub fn disk_usage(&self) -> u64 {
        process::disk_usage(self.folder.path())
    }
}

fn launch(
    kind: Kind,
    program: &Path,
    options: &[String],
    folder: &Path,
    port: u16,
) -> Result<(Process, Duration)> {
    let log_path = folder.join("server.log");
    let log = File::create(&log_path)?;
    let mut command = Command::new(program);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--dir"]).arg(folder);
    if kind == Kind::Redis {
        command.args(["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]);
    }
    command.args(options).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let began = Instant::now();
    let mut process = Process::spawn(&mut command)?;
    loop {
        if let Ok(mut client) = Client::connect(port)
            && client.ping().is_ok()
        {
            return Ok((process, began.elapsed()));
        }
        if process.has_ended()? || began.elapsed() > START_LIMIT {
            let log = std::fs::read_to_string(&log_path).unwrap_or_default();
            let tail: Vec<&str> = log.lines().rev().take(5).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            return Err(format!("{} did not start:\n{}", program.display(), tail.join("\n")).into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// In the server's folder.
const CERTIFICATE: &str = "cert.pem";

/// Makes a certificate that signs itself, and names it to the server.
fn tls_options(folder: &Path, port: u16) -> Result<Vec<String>> {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    let (cert_path, key_path) = (folder.join(CERTIFICATE), folder.join("key.pem"));
    std::fs::write(&cert_path, cert.pem())?;
    std::fs::write(&key_path, signing_key.serialize_pem())?;
    let (cert, key) = (cert_path.display().to_string(), key_path.display().to_string());
    let port = port.to_string();
    let words =
        ["--tls-port", &port, "--tls-cert-file", &cert, "--tls-key-file", &key, "--tls-auth-clients", "no"];
    Ok(words.map(str::to_owned).into())
}

pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
