//! Who started the process and wants to know when it serves: a shell that it leaves for the background (`daemonize`), or
//! systemd (`supervised`).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::config::{Config, Supervised};

/// Where systemd listens: a path, or `@` and a name without a file.
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";

#[derive(Default)]
pub struct Supervisor {
    /// To the process that the shell started, which waits.
    starter: Option<io::PipeWriter>,
    systemd: Option<(UnixDatagram, SocketAddr)>,
}

impl Supervisor {
    /// To be called before the process has threads. With `daemonize` only the child returns.
    pub fn begin(config: &Config) -> io::Result<Supervisor> {
        let systemd = match by_systemd(config) {
            Some(socket) => Some((UnixDatagram::unbound()?, address(&socket)?)),
            None => None,
        };
        let in_background = config.daemonize && systemd.is_none() && config.supervised != Supervised::Systemd;
        let starter = if in_background { Some(leave_shell()?) } else { None };
        Ok(Supervisor { starter, systemd })
    }

    pub fn loading(&self) {
        self.tell("STATUS=Loading the data");
    }

    /// Commands are served from now on.
    pub fn ready(&mut self) {
        self.tell("READY=1\nSTATUS=Ready to accept connections");
        if let Some(mut starter) = self.starter.take() {
            // It was there to show why the start failed.
            silence(&io::stderr());
            // A shell that is gone does not wait.
            let _ = starter.write_all(b"1");
        }
    }

    pub fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=Stopping");
    }

    fn tell(&self, words: &str) {
        if let Some((socket, address)) = &self.systemd
            && let Err(error) = socket.send_to_addr(words.as_bytes(), address)
        {
            tracing::warn!(%error, "systemd cannot be told: {words:?}");
        }
    }
}

/// What INFO says in `process_supervised`.
pub fn name(config: &Config) -> &'static str {
    if by_systemd(config).is_some() { "systemd" } else { "no" }
}

fn by_systemd(config: &Config) -> Option<std::ffi::OsString> {
    (config.supervised != Supervised::No).then(|| std::env::var_os(NOTIFY_SOCKET)).flatten()
}

fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(socket),
    }
}

/// Goes on in a child without a terminal. The process that the shell started ends when the child serves, or with the child's
/// exit code if it does not come to that.
fn leave_shell() -> io::Result<io::PipeWriter> {
    let (mut from_child, to_parent) = io::pipe()?;
    // SAFETY: the caller says that there are no other threads; the allocator's own are made for it.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(from_child);
            // SAFETY: it has no arguments.
            unsafe { libc::setsid() };
            silence(&io::stdin());
            silence(&io::stdout());
            Ok(to_parent)
        }
        child => {
            drop(to_parent);
            let mut word = [0];
            let code = match from_child.read(&mut word) {
                Ok(1) => 0,
                _ => exit_code_of(child),
            };
            // SAFETY: what the child took over is not to be cleaned up here.
            unsafe { libc::_exit(code) }
        }
    }
}

fn exit_code_of(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: it writes only to `status`.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    if waited == child && libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1 }
}

/// What it was is closed; it reads and writes nothing from now on.
fn silence(stream: &impl std::os::fd::AsFd) {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        // SAFETY: both are open.
        unsafe { libc::dup2(null.as_raw_fd(), stream.as_fd().as_raw_fd()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_is_told_by_path_and_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let name = format!("@tarn-test-{}", std::process::id());
        for socket in [path.as_os_str(), OsStr::new(&name)] {
            let address = address(socket).unwrap();
            let listener = UnixDatagram::bind_addr(&address).unwrap();
            let mut supervisor =
                Supervisor { starter: None, systemd: Some((UnixDatagram::unbound().unwrap(), address)) };
            supervisor.ready();
            supervisor.stopping();
            let mut words = [0; 100];
            for expected in ["READY=1\nSTATUS=Ready to accept connections", "STOPPING=1\nSTATUS=Stopping"] {
                let length = listener.recv(&mut words).unwrap();
                assert_eq!(std::str::from_utf8(&words[..length]), Ok(expected));
            }
        }
    }
}
