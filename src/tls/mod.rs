//! TLS: which certificate the server shows and whom it trusts, kept current while the server runs.
//!
//! [`build`] makes a rustls configuration out of the options and the files that they name, or says why it cannot.
//! [`Tls`] holds the one in use. It is exchanged by CONFIG SET and when a file changes, as a whole or not at all; connections keep
//! what they were opened with. [`stream`] is a connection, [`certificate`] what a client's certificate says.

pub mod build;
pub mod certificate;
mod ciphers;
mod sessions;
pub mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;

use crate::config::option::Section;
use crate::config::{Config, Install, Live, Preparation};
use build::Built;

/// Redis's words for whatever is wrong; the log has the rest.
const NOT_UPDATED: &str = "Unable to update TLS configuration. Check server logs.";

#[derive(Default)]
pub struct Tls {
    current: RwLock<Option<Built>>,
    /// Held from reading the options until what was made of them is in use, so that an older one never takes the place of a newer.
    exchange: Mutex<()>,
    pub handshakes: Handshakes,
}

/// How handshakes ended, since the start.
#[derive(Default)]
pub struct Handshakes {
    pub completed: AtomicU64,
    pub failed: AtomicU64,
    pub timed_out: AtomicU64,
    /// Closed because of `tls-max-handshakes`.
    pub displaced: AtomicU64,
}

impl Tls {
    /// Takes what was opened at the start into use.
    pub fn begin(&self, opened: Option<Built>) {
        *self.current.write() = opened;
    }

    /// For a new connection; None if nothing speaks TLS.
    pub fn current(&self) -> Option<Arc<ServerConfig>> {
        self.current.read().as_ref().map(|built| Arc::clone(&built.config))
    }

    /// Takes the files into use if one of them has changed since they were read. Files that do not fit together are left alone:
    /// somebody may be in the middle of replacing them.
    pub fn follow_files(&self, live: &Live) {
        let Some(stamps) = self.current.read().as_ref().map(|built| built.stamps.clone()) else { return };
        if !stamps.are_old() {
            return;
        }
        let _exchange = self.exchange.lock();
        match build::build(&live.current()) {
            Ok(built) => {
                tracing::info!("the TLS certificates were read again: a file had changed");
                *self.current.write() = Some(built);
            }
            Err(reason) => {
                tracing::warn!("a TLS file has changed, but the old certificates stay in use: {reason}");
                // Said once for each change.
                if let Some(built) = self.current.write().as_mut() {
                    built.stamps = stamps.renewed();
                }
            }
        }
    }
}

/// What the options name, for [`Tls::begin`]; nothing if nothing speaks TLS.
pub fn open(config: &Config) -> Result<Option<Built>, String> {
    config.uses_tls().then(|| build::build(config)).transpose()
}

/// Has CONFIG SET exchange the certificates, or refuse.
pub fn follow_config(tls: &Arc<Tls>, live: &Live) {
    let tls = Arc::clone(tls);
    live.before_change(Preparation {
        concerns: |option| option.section == Section::Tls,
        prepare: Box::new(move |_, new| {
            if !new.uses_tls() {
                return Ok(None);
            }
            let built = build::build(new).map_err(|reason| {
                tracing::warn!("the TLS options were not changed: {reason}");
                NOT_UPDATED.to_owned()
            })?;
            let tls = Arc::clone(&tls);
            let install: Install = Box::new(move || {
                let _exchange = tls.exchange.lock();
                *tls.current.write() = Some(built);
            });
            Ok(Some(install))
        }),
    });
}

impl Handshakes {
    pub fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
