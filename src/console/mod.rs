//! The web console: pages that are in the binary, and a way for them to run commands.
//!
//! The pages speak RESP with the server over HTTP: `POST /api/run` takes commands and answers with their replies. Whoever logs in
//! (`POST /api/open` with AUTH as its body) gets a token that the page sends in a header with each request. There are no
//! cookies, so that no other site can make a browser send one; and no name but an address or `localhost` is served while there is no
//! password, so that no other site can pass for this one.

mod http;
mod visitor;

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use tarn_resp::{Protocol, encode};

use crate::config::option::Change;
use crate::config::{self, table};
use crate::dispatch::executor::Executor;
use crate::dispatch::registry::registry;
use crate::node::Node;
use http::{Bad, Request, respond};
use visitor::Visitor;

/// Requests at a time; others are turned away.
const MAX_REQUESTS: usize = 32;
/// Commands of so many requests run at a time.
const EXECUTORS: usize = 4;
/// People at a time; the one who did nothing for the longest time is forgotten.
const MAX_VISITORS: usize = 64;
/// Whoever did nothing for so long has to log in again.
const IDLE: Duration = Duration::from_secs(3600);
/// A wrong password is answered late.
const AFTER_WRONG_PASSWORD: Duration = Duration::from_millis(500);
const TOKEN: &str = "x-tarn-console";
const RESP: &str = "application/octet-stream";
const TEXT: &str = "text/plain; charset=utf-8";

const PAGES: [(&str, &str, &str); 5] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/console.css", "text/css; charset=utf-8", include_str!("page/console.css")),
    ("/resp.js", "text/javascript; charset=utf-8", include_str!("page/resp.js")),
    ("/charts.js", "text/javascript; charset=utf-8", include_str!("page/charts.js")),
    ("/console.js", "text/javascript; charset=utf-8", include_str!("page/console.js")),
];

/// The threads that listen.
pub struct Console {
    stopping: Arc<AtomicBool>,
    threads: Vec<(SocketAddr, JoinHandle<()>)>,
}

struct Room {
    node: Arc<Node>,
    visitors: Mutex<HashMap<String, (Instant, Arc<Mutex<Visitor>>)>>,
    executors: (Sender<Executor>, Receiver<Executor>),
    requests: AtomicUsize,
}

/// Listens on `console-bind` and `console-port`; on nothing if the port is 0.
pub fn start(node: &Arc<Node>) -> io::Result<Console> {
    let config = node.config.current();
    let mut console = Console { stopping: Arc::default(), threads: Vec::new() };
    if config.console_port == 0 {
        return Ok(console);
    }
    let room = Room::new(node);
    for host in &config.console_bind {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("console on {host}:{}: {error}", config.console_port))
        };
        // As in `bind`: an address that begins with `-` may be missing on the machine.
        let (host, optional) = host.strip_prefix('-').map_or((host.as_str(), false), |host| (host, true));
        match crate::metrics::http::listen(host, config.console_port) {
            Ok(listener) => console.serve(&room, listener).map_err(named)?,
            Err(_) if optional => {}
            Err(error) => return Err(named(error)),
        }
    }
    tracing::info!(port = config.console_port, "the console is open");
    Ok(console)
}

impl Console {
    fn serve(&mut self, room: &Arc<Room>, listener: TcpListener) -> io::Result<()> {
        let address = listener.local_addr()?;
        let (room, stopping) = (Arc::clone(room), Arc::clone(&self.stopping));
        let thread = std::thread::Builder::new().name("console".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if stopping.load(Ordering::Acquire) {
                    return;
                }
                if let Ok(stream) = stream {
                    room.admit(stream);
                }
            }
        })?;
        self.threads.push((address, thread));
        Ok(())
    }

    /// Requests that are being answered end by themselves.
    pub fn stop(self) {
        self.stopping.store(true, Ordering::Release);
        for (address, thread) in self.threads {
            if crate::metrics::http::wake(address) && thread.join().is_err() {
                tracing::error!("the thread of the console ended by a panic");
            }
        }
    }
}

impl Room {
    fn new(node: &Arc<Node>) -> Arc<Room> {
        let executors = bounded(EXECUTORS);
        for _ in 0..EXECUTORS {
            let counters = node.metrics.register(registry().total());
            // There is room for all of them.
            let _ = executors.0.send(Executor::new(Arc::clone(node), counters));
        }
        Arc::new(Room {
            node: Arc::clone(node),
            visitors: Mutex::default(),
            executors,
            requests: AtomicUsize::new(0),
        })
    }

    fn admit(self: &Arc<Room>, mut stream: TcpStream) {
        if self.requests.fetch_add(1, Ordering::AcqRel) >= MAX_REQUESTS {
            self.requests.fetch_sub(1, Ordering::AcqRel);
            let _ = respond(&mut stream, "503 Service Unavailable", TEXT, b"too many requests at a time\n");
            return;
        }
        let room = Arc::clone(self);
        let answering = std::thread::Builder::new().name("console-request".to_owned()).spawn(move || {
            // A client that went away is its own loss.
            let _ = room.answer(stream);
            room.requests.fetch_sub(1, Ordering::AcqRel);
        });
        if answering.is_err() {
            self.requests.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let peer = stream.peer_addr()?;
        let request = match Request::read(&mut stream) {
            Ok(request) => request,
            Err(Bad::Gone) => return Ok(()),
            Err(Bad::Status(status)) => {
                respond(&mut stream, status, TEXT, b"")?;
                return http::hear_out(stream);
            }
        };
        match self.route(&request, peer) {
            Ok((kind, body)) => respond(&mut stream, "200 OK", kind, &body),
            Err(status) => respond(&mut stream, status, TEXT, status.as_bytes()),
        }
    }

    fn route(&self, request: &Request, peer: SocketAddr) -> Result<(&'static str, Vec<u8>), &'static str> {
        self.check_origin(request, peer)?;
        if request.method == "GET"
            && let Some((_, kind, page)) = PAGES.iter().find(|(path, _, _)| *path == request.path)
        {
            return Ok((kind, page.as_bytes().to_vec()));
        }
        if request.method != "POST" {
            return Err(if request.method == "GET" { "404 Not Found" } else { "405 Method Not Allowed" });
        }
        // A page of another site cannot send this header without being asked first, and nobody says yes.
        let token = request.header(TOKEN).ok_or("403 Forbidden")?;
        match request.path.as_str() {
            "/api/open" => Ok((RESP, self.open(request, peer))),
            "/api/close" => {
                self.visitors.lock().remove(token);
                Ok((RESP, b"+OK\r\n".to_vec()))
            }
            "/api/run" => {
                let db = request.number("db").and_then(|db| u16::try_from(db).ok()).unwrap_or(0);
                let visitor = self.visitor(token)?;
                Ok((RESP, self.run(&visitor, db, &request.body)))
            }
            "/api/options" => self.visitor(token).map(|_| (RESP, options())),
            _ => Err("404 Not Found"),
        }
    }

    /// Pages of other sites have no business here, and neither have other machines while there is no password.
    fn check_origin(&self, request: &Request, peer: SocketAddr) -> Result<(), &'static str> {
        let host = request.header("host").ok_or("400 Bad Request")?;
        let is_foreign = |origin: &str| origin.strip_prefix("http://") != Some(host);
        if request.header("origin").is_some_and(is_foreign)
            || request.method == "POST"
                && request.header("sec-fetch-site").is_some_and(|site| site != "same-origin")
        {
            return Err("403 Forbidden");
        }
        let config = self.node.config.current();
        let is_open = self.node.acl.users().0.default_user().is_open();
        if is_open && (!is_address(host) || config.protected_mode && !peer.ip().to_canonical().is_loopback())
        {
            return Err("403 Forbidden");
        }
        Ok(())
    }

    /// A login: the reply to AUTH, and behind it the token where it was right.
    fn open(&self, request: &Request, peer: SocketAddr) -> Vec<u8> {
        let visitor = Arc::new(Mutex::new(Visitor::new(&self.node, peer.to_string())));
        let mut reply = match request.body.is_empty() {
            true => Vec::new(),
            false => self.run(&visitor, 0, &request.body),
        };
        if !visitor.lock().is_known() {
            if reply.is_empty() {
                encode::error(&mut reply, "NOAUTH Authentication required.");
            } else {
                std::thread::sleep(AFTER_WRONG_PASSWORD);
            }
            return reply;
        }
        if reply.first() == Some(&b'-') {
            return reply;
        }
        let Ok(token) = token() else {
            reply.clear();
            encode::error(&mut reply, "ERR no random number could be read");
            return reply;
        };
        reply.clear();
        encode::bulk(&mut reply, token.as_bytes());
        let mut visitors = self.visitors.lock();
        visitors.retain(|_, (seen, _)| seen.elapsed() < IDLE);
        if visitors.len() >= MAX_VISITORS
            && let Some(oldest) =
                visitors.iter().min_by_key(|(_, (seen, _))| *seen).map(|(token, _)| token.clone())
        {
            visitors.remove(&oldest);
        }
        visitors.insert(token, (Instant::now(), visitor));
        reply
    }

    fn visitor(&self, token: &str) -> Result<Arc<Mutex<Visitor>>, &'static str> {
        let mut visitors = self.visitors.lock();
        let (seen, visitor) = visitors.get_mut(token).ok_or("401 Unauthorized")?;
        if seen.elapsed() >= IDLE {
            visitors.remove(token);
            return Err("401 Unauthorized");
        }
        *seen = Instant::now();
        Ok(Arc::clone(visitor))
    }

    fn run(&self, visitor: &Mutex<Visitor>, db: u16, commands: &[u8]) -> Vec<u8> {
        let (back, free) = &self.executors;
        // The channel is never closed while the room is there.
        let Ok(mut executor) = free.recv() else { return Vec::new() };
        let replies = visitor.lock().run_all(&mut executor, db, commands);
        let _ = back.send(executor);
        replies
    }
}

/// Whether a `Host` header names an address or this machine, not a name that anybody may point here.
fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn token() -> io::Result<String> {
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What each option is: name, section, values, default, when it can be changed, help.
fn options() -> Vec<u8> {
    let mut out = Vec::new();
    encode::array_len(&mut out, table::options().count());
    for option in table::options() {
        let change = match option.change {
            Change::Live => "live",
            Change::Start => "start",
            Change::Protected => "protected",
        };
        let fields = [
            option.name,
            config::section_title(option),
            &config::values(option),
            option.default,
            change,
            option.help,
        ];
        encode::array_len(&mut out, fields.len() + 1);
        fields.iter().for_each(|field| encode::bulk(&mut out, field.as_bytes()));
        encode::boolean(&mut out, Protocol::Resp3, option.is_without_effect());
    }
    out
}

#[cfg(test)]
mod tests;
