//! Who is being answered, and for how long anybody may take.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Requests that are answered at a time.
pub const MAX_VISITORS: usize = 16;

#[derive(Default)]
pub struct Visitors {
    present: Mutex<Present>,
    left: Condvar,
}

#[derive(Default)]
struct Present {
    next_id: u64,
    /// In the order in which they came; those that are being answered have no socket here.
    entries: Vec<(u64, Option<TcpStream>)>,
}

impl Visitors {
    /// A place for one more. If all are taken, the visitor that has been silent longest is sent away; if none is silent, the new one.
    pub fn admit(self: &Arc<Visitors>, stream: TcpStream) -> Option<Visitor> {
        let handle = stream.try_clone().ok()?;
        let mut present = self.present.lock();
        if present.entries.len() >= MAX_VISITORS {
            let silent = present.entries.iter().position(|(_, socket)| socket.is_some())?;
            if let (_, Some(socket)) = present.entries.remove(silent) {
                // Its thread sees the end of the stream and ends; where it is gone already there is nothing to end.
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
        present.next_id += 1;
        let id = present.next_id;
        present.entries.push((id, Some(handle)));
        Some(Visitor { id, stream, visitors: Arc::clone(self) })
    }

    /// Waits until the last one has left, but not for ever.
    pub fn end(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut present = self.present.lock();
        for (_, socket) in &mut present.entries {
            if let Some(socket) = socket.take() {
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
        while !present.entries.is_empty() && !self.left.wait_until(&mut present, deadline).timed_out() {}
    }
}

/// A client for the time of its request.
pub struct Visitor {
    id: u64,
    pub stream: TcpStream,
    visitors: Arc<Visitors>,
}

impl Visitor {
    /// It has sent its request, and is not sent away any more.
    pub fn is_answered(&self) {
        let mut present = self.visitors.present.lock();
        if let Some((_, socket)) = present.entries.iter_mut().find(|(id, _)| *id == self.id) {
            *socket = None;
        }
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.visitors.present.lock().entries.retain(|(id, _)| *id != self.id);
        self.visitors.left.notify_all();
    }
}

/// A socket that is waited for until a time, however many times it is asked.
pub struct Timed<'s> {
    pub stream: &'s TcpStream,
    pub deadline: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(into)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
