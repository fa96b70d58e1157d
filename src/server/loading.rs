//! Before the data is there: clients are let in and told LOADING, as by Redis, and INFO says how far it is. When the server is
//! ready it takes their connections over, with what they have sent since.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::Sender;
use mio::{Events, Token};
use tarn_resp::{Args as Words, Limits, Parsed, Parser, encode};

use super::listener::{self, Door, Listener, Peer, Stopper};
use super::transport::Transport;
use crate::acl::{Acl, DEFAULT_NAME};
use crate::config::Config;
use crate::dispatch::gate;
use crate::dispatch::spec::Flags;
use crate::error::Error;
use crate::metrics::info::Loading as Progress;

/// What a client may have sent of a command, and not have read of the replies. More stays in its socket.
const MAX_BYTES: usize = 256 * 1024;
const READ_BYTES: usize = 16 * 1024;

/// A client that came before the data was there.
pub struct Early {
    pub transport: Transport,
    pub peer: Peer,
    /// Whom it has given the password of.
    pub user: Option<Vec<u8>>,
    /// What it has sent and nobody has looked at.
    pub input: Vec<u8>,
    /// What it has not been sent yet.
    pub output: Vec<u8>,
    parser: Parser,
    closing: bool,
}

/// The thread that answers meanwhile.
pub struct Doorkeeper {
    stopper: Stopper,
    thread: JoinHandle<io::Result<(Listener, Vec<Early>)>>,
}

impl Doorkeeper {
    pub fn start(
        listener: Listener,
        config: Arc<Config>,
        acl: Acl,
        progress: Arc<Progress>,
        shutdown: Sender<()>,
    ) -> io::Result<Doorkeeper> {
        let stopper = listener.stopper();
        let mut room = Room { listener, config, acl, progress, shutdown, clients: HashMap::new(), next: 0 };
        let thread = std::thread::Builder::new().name("loading".to_owned());
        let thread = thread.spawn(move || room.serve().and_then(|()| room.leave()))?;
        Ok(Doorkeeper { stopper, thread })
    }

    /// Whoever came, and where others come in.
    pub fn end(self) -> io::Result<(Listener, Vec<Early>)> {
        self.stopper.stop();
        let ended = self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked")));
        self.stopper.again();
        ended
    }
}

struct Room {
    listener: Listener,
    config: Arc<Config>,
    acl: Acl,
    progress: Arc<Progress>,
    shutdown: Sender<()>,
    clients: HashMap<usize, Early>,
    next: usize,
}

impl Room {
    fn serve(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(64);
        while !self.listener.is_stopped() {
            match self.listener.poll.poll(&mut events, None) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            for event in &events {
                match event.token() {
                    Token(door) if self.listener.door(door).is_some() => self.admit(door),
                    Token(client) => self.look_at(client),
                }
            }
        }
        Ok(())
    }

    fn admit(&mut self, door: usize) {
        // A handshake would be wasted: who comes over TLS waits in front of the door.
        if matches!(self.listener.door(door), Some(Door::Tls(_))) {
            return;
        }
        while let Some((mut transport, peer)) = self.listener.door(door).and_then(listener::accept) {
            let is_full = self.clients.len() >= self.config.maxclients as usize;
            let refusal = match is_full {
                true => Some(listener::FULL),
                false if self.config.protected_mode && !peer.is_local() && !self.needs_password() => {
                    Some(listener::DENIED)
                }
                false => None,
            };
            if let Some(words) = refusal {
                listener::turn_away(transport, words);
                continue;
            }
            let token = self.listener.doors() + self.next;
            self.next += 1;
            if transport.register(self.listener.poll.registry(), Token(token)).is_ok() {
                let (input, output, parser) = (Vec::new(), Vec::new(), Parser::new());
                let early = Early { transport, peer, user: None, input, output, parser, closing: false };
                self.clients.insert(token, early);
            }
        }
    }

    fn look_at(&mut self, token: usize) {
        let Some(mut client) = self.clients.remove(&token) else { return };
        if self.converse(&mut client).is_ok() && !client.is_done() {
            self.clients.insert(token, client);
        } else {
            client.transport.deregister(self.listener.poll.registry());
        }
    }

    /// Reads, answers and sends until the socket or a limit ends it.
    fn converse(&self, client: &mut Early) -> io::Result<()> {
        loop {
            self.answer_all(client);
            client.send()?;
            if client.closing || client.input.len() >= MAX_BYTES || client.output.len() >= MAX_BYTES {
                return Ok(());
            }
            let mut piece = [0; READ_BYTES];
            match client.transport.read(&mut piece) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => client.input.extend_from_slice(piece.get(..n).unwrap_or(&[])),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn answer_all(&self, client: &mut Early) {
        let input = std::mem::take(&mut client.input);
        let mut parser = std::mem::take(&mut client.parser);
        let mut used = 0;
        while !client.closing && client.output.len() < MAX_BYTES {
            let rest = input.get(used..).unwrap_or(&[]);
            let limits = Limits {
                max_bulk_len: self.config.proto_max_bulk_len,
                authenticated: self.is_known(client),
                ..Limits::default()
            };
            match parser.parse(rest, &limits) {
                Ok(Parsed::Incomplete { .. }) => break,
                Ok(Parsed::Empty { consumed }) => used += consumed,
                Ok(Parsed::Command { consumed }) => {
                    self.answer(client, parser.args(rest));
                    used += consumed;
                }
                Err(error) => {
                    error.encode(&mut client.output);
                    client.closing = true;
                }
            }
        }
        client.parser = parser;
        client.input = input.get(used..).unwrap_or(&[]).to_vec();
    }

    fn answer(&self, client: &mut Early, words: Words<'_>) {
        if gate::is_http(words) {
            client.closing = true;
            return;
        }
        if let Err(error) = self.try_answer(client, words) {
            encode::error_bytes(&mut client.output, &error.wire());
        }
    }

    fn try_answer(&self, client: &mut Early, words: Words<'_>) -> Result<(), Error> {
        let (command, _) = gate::find(words)?;
        if !self.is_known(client) && !command.spec.flags.has(Flags::NO_AUTH) {
            return Err(Error::reply("NOAUTH Authentication required."));
        }
        match command.full_name.as_str() {
            "auth" => {
                let given: Vec<&[u8]> = (1..words.len()).filter_map(|at| words.get(at)).collect();
                client.user = Some(self.user_of(&given)?);
                encode::simple(&mut client.output, "OK");
            }
            "info" => {
                let names: Vec<&[u8]> = (1..words.len()).filter_map(|at| words.get(at)).collect();
                let text = self.progress.text(&self.config, self.clients.len() + 1, &names);
                encode::bulk(&mut client.output, text.as_bytes());
            }
            "quit" => {
                client.closing = true;
                encode::simple(&mut client.output, "OK");
            }
            "shutdown" => {
                client.closing = true;
                // A second request finds the channel full; one is enough.
                let _ = self.shutdown.try_send(());
            }
            _ => return Err(Error::reply("LOADING Redis is loading the dataset in memory")),
        }
        Ok(())
    }

    fn needs_password(&self) -> bool {
        !self.acl.users().0.default_user().is_open()
    }

    fn is_known(&self, client: &Early) -> bool {
        client.user.is_some() || !self.needs_password()
    }

    /// Who gave these words to AUTH.
    fn user_of(&self, given: &[&[u8]]) -> Result<Vec<u8>, Error> {
        let (name, password) = match given {
            [_] if !self.needs_password() => {
                return Err(Error::reply(
                    "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                     configuration is correct?",
                ));
            }
            [password] => (DEFAULT_NAME, *password),
            [name, password] => (*name, *password),
            _ => return Err(Error::Syntax),
        };
        match self.acl.users().0.get(name).filter(|user| user.admits(password)) {
            Some(_) => Ok(name.to_vec()),
            None => Err(Error::reply("WRONGPASS invalid username-password pair or user is disabled.")),
        }
    }

    fn leave(mut self) -> io::Result<(Listener, Vec<Early>)> {
        self.listener.look_again()?;
        let registry = self.listener.poll.registry();
        let mut clients: Vec<(usize, Early)> = self.clients.drain().collect();
        clients.sort_by_key(|(token, _)| *token);
        for (_, client) in &mut clients {
            client.transport.deregister(registry);
        }
        Ok((self.listener, clients.into_iter().map(|(_, client)| client).collect()))
    }
}

impl Early {
    fn is_done(&self) -> bool {
        self.closing && self.output.is_empty()
    }

    fn send(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.transport.write(&self.output) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => drop(self.output.drain(..n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
