//! The log: tracing events as lines on the standard output or in a file, at a level that can be changed at run time.
//!
//! A thread of its own writes the lines, so that an I/O thread never waits for a full disk or a stalled pipe. Where lines
//! come faster than they can be written, the newest are dropped and counted, and the log says so. The file is opened
//! anew for each batch of lines: it can be renamed or removed at any time and the next lines go to a new one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use tarn_engine::failpoint;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, fmt, reload};

use crate::config::LogLevel;

/// Lines that wait to be written.
pub const MAX_WAITING_LINES: usize = 8192;
/// How long a stop of the server waits for the last lines.
const FLUSH_PATIENCE: Duration = Duration::from_secs(2);

type Level = reload::Handle<LevelFilter, Registry>;

/// Of the log of the process, as the log itself is.
static LEVEL: OnceLock<Level> = OnceLock::new();
static LINES: OnceLock<Lines> = OnceLock::new();

/// The thread that writes the lines.
pub const THREAD: &str = "log";

/// Changes the level of the log of the process, if it has one.
pub fn set_level(level: LogLevel) {
    if let Some(handle) = LEVEL.get() {
        change(handle, level);
    }
}

/// Writes the lines of the log of the process that wait, if it has one.
pub fn flush() {
    if let Some(lines) = LINES.get() {
        lines.flush();
    }
}

fn change(handle: &Level, level: LogLevel) {
    // Fails only when the subscriber is gone, and then nobody logs.
    let _ = handle.reload(filter(level));
}

/// The log of this process; dropping it writes the lines that wait.
pub struct Logging {
    level: Level,
    lines: Lines,
}

impl Logging {
    /// Makes this the log of the process, which can have only one.
    pub fn init(level: LogLevel, file: &Path) -> io::Result<Self> {
        let (subscriber, logging) = Self::new(level, Sink::new(file)?)?;
        tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)?;
        LEVEL.get_or_init(|| logging.level.clone());
        LINES.get_or_init(|| logging.lines.clone());
        Ok(logging)
    }

    fn new(level: LogLevel, sink: Sink) -> io::Result<(impl Subscriber + Send + Sync, Self)> {
        let lines = Lines::start(sink)?;
        let (filter, level) = reload::Layer::new(filter(level));
        let format = fmt::layer().with_ansi(false).with_target(false).with_writer(lines.clone());
        Ok((Registry::default().with(filter).with(format), Self { level, lines }))
    }

    pub fn flush(&self) {
        self.lines.flush();
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.flush();
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Debug => LevelFilter::TRACE,
        LogLevel::Verbose => LevelFilter::DEBUG,
        LogLevel::Notice => LevelFilter::INFO,
        LogLevel::Warning => LevelFilter::WARN,
        LogLevel::Nothing => LevelFilter::OFF,
    }
}

enum Message {
    Line(Vec<u8>),
    Flush(Sender<()>),
}

/// The way of lines to the thread that writes them.
#[derive(Clone)]
struct Lines {
    queue: Sender<Message>,
    dropped: Arc<AtomicU64>,
}

impl Lines {
    fn start(sink: Sink) -> io::Result<Self> {
        let (queue, waiting) = bounded(MAX_WAITING_LINES);
        let dropped = Arc::new(AtomicU64::new(0));
        let lines = Self { queue, dropped: Arc::clone(&dropped) };
        let thread = std::thread::Builder::new().name(THREAD.into());
        thread.spawn(move || write_lines(&waiting, &dropped, sink))?;
        Ok(lines)
    }

    /// Waits until the lines logged so far are written, or for a little while.
    fn flush(&self) {
        let (done, wait) = bounded(1);
        if self.queue.send_timeout(Message::Flush(done), FLUSH_PATIENCE).is_ok() {
            // Either it is done or the output is stalled; there is nothing more to do in both.
            let _ = wait.recv_timeout(FLUSH_PATIENCE);
        }
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Lines;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

/// One call of `write` is one event.
impl Write for &Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Line(line.to_vec())) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ends when the last sender is gone.
fn write_lines(waiting: &Receiver<Message>, dropped: &AtomicU64, sink: Sink) {
    let mut batch = Vec::new();
    let mut flushed = Vec::new();
    while let Ok(first) = waiting.recv() {
        failpoint::reach(THREAD);
        for message in std::iter::once(first).chain(waiting.try_iter().take(MAX_WAITING_LINES)) {
            match message {
                Message::Line(line) => batch.extend_from_slice(&line),
                Message::Flush(done) => flushed.push(done),
            }
        }
        match dropped.swap(0, Ordering::Relaxed) {
            0 => {}
            count => {
                batch.extend_from_slice(format!("({count} lines of log were dropped here)\n").as_bytes())
            }
        }
        // A log that cannot be written must not stop the server, and there is nowhere to log it.
        let _ = sink.append(&batch);
        batch.clear();
        for done in flushed.drain(..) {
            let _ = done.send(());
        }
    }
}

enum Sink {
    Stdout,
    File(PathBuf),
}

impl Sink {
    /// Empty is the standard output. A file that cannot be opened is an error now rather than silence later.
    fn new(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Ok(Self::Stdout);
        }
        let sink = Self::File(std::path::absolute(path)?);
        sink.append(b"")?;
        Ok(sink)
    }

    fn append(&self, text: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text)?;
                stdout.flush()
            }
            Self::File(path) => open(path)?.write_all(text),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests;
