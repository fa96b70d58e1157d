//! From options and files to what rustls needs.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{InconsistentKeys, RootCertStore, ServerConfig};

use super::ciphers;
use super::sessions::Sessions;
use crate::config::{AuthClients, Config};

/// A file of certificates is not longer than this.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Files in `tls-ca-cert-dir` that are read.
const MAX_CA_FILES: usize = 10_000;
/// What `tls-session-cache-size 0` means, as for OpenSSL.
const DEFAULT_SESSIONS: usize = 20_480;

/// A configuration that can be used, and the files it was made of.
pub struct Built {
    pub config: Arc<ServerConfig>,
    pub stamps: Stamps,
}

/// What tells a file from what it was: its time, size and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp(i64, i64, u64, u64);

/// The files, and how they were found.
#[derive(Debug, Clone, Default)]
pub struct Stamps(Vec<(PathBuf, Option<Stamp>)>);

impl Stamps {
    fn add(&mut self, path: &Path) {
        self.0.push((path.to_owned(), stamp(path)));
    }

    /// Whether a file is not what it was.
    pub fn are_old(&self) -> bool {
        self.0.iter().any(|(path, then)| stamp(path) != *then)
    }

    /// As they are now.
    pub fn renewed(&self) -> Stamps {
        Stamps(self.0.iter().map(|(path, _)| (path.clone(), stamp(path))).collect())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = std::fs::metadata(path).ok()?;
    Some(Stamp(meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ino()))
}

/// The error is for the log.
pub fn build(config: &Config) -> Result<Built, String> {
    // Before the files are read: a change in between is seen as one.
    let mut stamps = Stamps::default();
    let named =
        [&config.tls_cert_file, &config.tls_key_file, &config.tls_ca_cert_file, &config.tls_ca_cert_dir];
    named.into_iter().filter(|path| !path.as_os_str().is_empty()).for_each(|path| stamps.add(path));

    let (chain, key) = (certificates(config)?, private_key(config)?);
    let provider =
        Arc::new(CryptoProvider { cipher_suites: ciphers::suites(config)?, ..ring::default_provider() });
    let versions = ciphers::versions(&config.tls_protocols)?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(|error| format!("tls-protocols and the ciphers leave nothing to speak: {error}"))?;
    let builder = match verifier(config, &provider, &mut stamps)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut built = builder.with_single_cert(chain, key).map_err(|error| match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            "tls-key-file is not the key of the certificate in tls-cert-file".to_owned()
        }
        error => format!("tls-cert-file or tls-key-file cannot be used: {error}"),
    })?;
    built.ignore_client_order = config.tls_prefer_server_ciphers;
    if config.tls_session_caching {
        let size =
            if config.tls_session_cache_size == 0 { DEFAULT_SESSIONS } else { config.tls_session_cache_size };
        let time = Duration::from_secs(config.tls_session_cache_timeout_secs.into());
        built.session_storage = Arc::new(Sessions::new(size, time));
    } else {
        built.session_storage = Arc::new(NoServerSessionStorage {});
        built.send_tls13_tickets = 0;
    }
    Ok(Built { config: Arc::new(built), stamps })
}

fn certificates(config: &Config) -> Result<Vec<CertificateDer<'static>>, String> {
    if config.tls_cert_file.as_os_str().is_empty() {
        return Err("No tls-cert-file configured!".to_owned());
    }
    all_certificates("tls-cert-file", &config.tls_cert_file)
}

fn all_certificates(option: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(option, path)?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| format!("{option} {}: {error}", path.display()))?;
    if found.is_empty() {
        return Err(format!("{option} {} holds no certificate in PEM", path.display()));
    }
    Ok(found)
}

fn private_key(config: &Config) -> Result<PrivateKeyDer<'static>, String> {
    // As in Redis: one file may hold both.
    let path =
        if config.tls_key_file.as_os_str().is_empty() { &config.tls_cert_file } else { &config.tls_key_file };
    let text = read("tls-key-file", path)?;
    let is_encrypted = memchr::memmem::find(&text, b"ENCRYPTED").is_some();
    match PrivateKeyDer::from_pem_slice(&text) {
        Ok(key) if !is_encrypted => Ok(key),
        _ if is_encrypted => {
            Err(format!("tls-key-file {} has a password; only keys without one are read", path.display()))
        }
        _ => Err(format!("tls-key-file {} holds no private key in PEM", path.display())),
    }
}

fn verifier(
    config: &Config,
    provider: &Arc<CryptoProvider>,
    stamps: &mut Stamps,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
    if config.tls_auth_clients == AuthClients::No {
        return Ok(None);
    }
    let roots = roots(config, stamps)?;
    if roots.is_empty() {
        return Err(
            "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-auth-clients is enabled!"
                .to_owned(),
        );
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let builder = match config.tls_auth_clients {
        AuthClients::Optional => builder.allow_unauthenticated(),
        AuthClients::Yes | AuthClients::No => builder,
    };
    builder.build().map(Some).map_err(|error| format!("clients' certificates cannot be checked: {error}"))
}

fn roots(config: &Config, stamps: &mut Stamps) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    if !config.tls_ca_cert_file.as_os_str().is_empty() {
        for certificate in all_certificates("tls-ca-cert-file", &config.tls_ca_cert_file)? {
            let added = roots.add(certificate);
            added.map_err(|error| {
                format!("tls-ca-cert-file {}: {error}", config.tls_ca_cert_file.display())
            })?;
        }
    }
    let dir = &config.tls_ca_cert_dir;
    if !dir.as_os_str().is_empty() {
        let failed = |error: io::Error| format!("tls-ca-cert-dir {}: {error}", dir.display());
        for entry in std::fs::read_dir(dir).map_err(failed)?.take(MAX_CA_FILES) {
            let path = entry.map_err(failed)?.path();
            if !path.is_file() {
                continue;
            }
            stamps.add(&path);
            // A directory may hold other things as well; what is no certificate is trusted in nothing.
            for certificate in all_certificates("tls-ca-cert-dir", &path).unwrap_or_default() {
                if let Err(error) = roots.add(certificate) {
                    tracing::warn!("{} in tls-ca-cert-dir was passed over: {error}", path.display());
                }
            }
        }
    }
    Ok(roots)
}

fn read(option: &str, path: &Path) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text));
    match read {
        Err(error) => Err(format!("{option} {}: {error}", path.display())),
        Ok(_) if text.len() as u64 > MAX_FILE_BYTES => {
            Err(format!("{option} {} is larger than {MAX_FILE_BYTES} bytes", path.display()))
        }
        Ok(_) => Ok(text),
    }
}
