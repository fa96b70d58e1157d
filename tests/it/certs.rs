//! Certificates for tests of TLS, made when they are needed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, SanType,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;

/// Who signs.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct Pair {
    pub cert: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        Authority { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    pub fn sign(&self, name: &str) -> Pair {
        self.sign_with(name, |_| {})
    }

    pub fn sign_with(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.subject_alt_names.push(SanType::URI(format!("urn:tarn:{name}").try_into().unwrap()));
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        Pair { cert: cert.pem(), key: key.serialize_pem() }
    }

    /// How a client connects that trusts this authority, with a certificate or without.
    pub fn client(&self, pair: Option<&Pair>) -> Arc<ClientConfig> {
        self.client_with(pair, rustls::ALL_VERSIONS, rustls::crypto::ring::default_provider())
    }

    pub fn client_with(
        &self,
        pair: Option<&Pair>,
        versions: &[&'static SupportedProtocolVersion],
        provider: CryptoProvider,
    ) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem().as_bytes()).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots);
        Arc::new(match pair {
            None => builder.with_no_client_auth(),
            Some(pair) => {
                let cert = CertificateDer::from_pem_slice(pair.cert.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![cert], key).unwrap()
            }
        })
    }
}

/// A directory with the files that a server needs, and a client that it lets in.
pub struct Files {
    pub dir: TempDir,
    pub authority: Authority,
    pub client: Pair,
}

impl Files {
    pub fn new() -> Files {
        let dir = tempfile::Builder::new().prefix("tarn-it-tls-").tempdir().unwrap();
        let authority = Authority::new("authority");
        std::fs::write(dir.path().join("ca.pem"), authority.pem()).unwrap();
        let client = authority.sign("client");
        write_pair(dir.path(), "client", &client);
        write_pair(dir.path(), "server", &authority.sign("server"));
        Files { dir, authority, client }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Replaces both files of a pair, as an administrator would: the new ones take the places of the old ones at once.
    pub fn write(&self, name: &str, pair: &Pair) {
        write_pair(self.dir.path(), name, pair);
    }

    pub fn connector(&self) -> Arc<ClientConfig> {
        self.authority.client(Some(&self.client))
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dir.path().display())
    }
}

fn write_pair(dir: &Path, name: &str, pair: &Pair) {
    for (end, text) in [("pem", &pair.cert), ("key", &pair.key)] {
        let (new, path) = (dir.join(format!("{name}.{end}.new")), dir.join(format!("{name}.{end}")));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &path).unwrap();
    }
}
