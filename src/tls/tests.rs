use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tempfile::TempDir;

use super::stream::{Progress, TlsStream};
use super::{Tls, build, follow_config, open};
use crate::config::{Config, Live};

/// A directory with an authority's certificate, and a certificate of it with its key.
struct Files {
    dir: TempDir,
    authority: CertificateDer<'static>,
}

fn make_files() -> Files {
    let dir = tempfile::tempdir().unwrap();
    let authority = write_pair(dir.path());
    Files { dir, authority }
}

fn write_pair(dir: &Path) -> CertificateDer<'static> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let server =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    std::fs::write(dir.join("ca.pem"), authority.pem()).unwrap();
    std::fs::write(dir.join("cert.pem"), server.pem()).unwrap();
    std::fs::write(dir.join("key.pem"), key.serialize_pem()).unwrap();
    authority.der().clone()
}

impl Files {
    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn live(&self, more: &[(&str, &str)]) -> Live {
        let mut config = Config::default();
        config.tls_port = 1;
        let live = Live::new(config);
        let named =
            [("tls-cert-file", "cert.pem"), ("tls-key-file", "key.pem"), ("tls-ca-cert-file", "ca.pem")];
        let mut pairs: Vec<(&[u8], Vec<u8>)> =
            named.iter().map(|(option, name)| (option.as_bytes(), self.path(name).into_bytes())).collect();
        pairs.extend(more.iter().map(|(option, value)| (option.as_bytes(), value.as_bytes().to_vec())));
        let pairs: Vec<(&[u8], &[u8])> =
            pairs.iter().map(|(option, value)| (*option, value.as_slice())).collect();
        live.set(&pairs, true).unwrap();
        live
    }
}

fn refusal(live: &Live) -> String {
    build::build(&live.current()).err().unwrap()
}

#[test]
fn what_does_not_fit_together_is_refused_with_a_reason() {
    let files = make_files();
    assert!(build::build(&files.live(&[]).current()).is_ok());
    let other = make_files();
    let with = |option: &str, value: &str| refusal(&files.live(&[(option, value)]));
    assert!(with("tls-protocols", "TLSv1.1").contains("not safe"));
    assert!(with("tls-ciphers", "foo").contains("none of 'foo' is available"));
    assert!(with("tls-ciphersuites", "foo").contains("there are TLS_AES_256_GCM_SHA384, "));
    let set = |pairs: &[(&[u8], &str)]| {
        let live = files.live(&[]);
        let pairs: Vec<(&[u8], &[u8])> =
            pairs.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        live.set(&pairs, true).unwrap();
        build::build(&live.current()).map(|_| ()).err()
    };
    let key = other.path("key.pem");
    assert_eq!(
        set(&[(b"tls-key-file", &key)]).unwrap(),
        "tls-key-file is not the key of the certificate in tls-cert-file"
    );
    assert_eq!(set(&[(b"tls-cert-file", "")]).unwrap(), "No tls-cert-file configured!");
    assert!(
        set(&[(b"tls-cert-file", "/nonexistent")])
            .unwrap()
            .starts_with("tls-cert-file /nonexistent: No such file")
    );
    assert!(set(&[(b"tls-cert-file", &key)]).unwrap().ends_with("holds no certificate in PEM"));
    assert!(
        set(&[(b"tls-ca-cert-file", "")])
            .unwrap()
            .starts_with("Either tls-ca-cert-file or tls-ca-cert-dir must")
    );
    assert_eq!(set(&[(b"tls-ca-cert-file", ""), (b"tls-auth-clients", "no")]), None);
    assert_eq!(
        set(&[(b"tls-ca-cert-file", ""), (b"tls-ca-cert-dir", files.dir.path().to_str().unwrap())]),
        None
    );
    std::fs::write(files.path("empty.pem"), "").unwrap();
    let empty = files.path("empty.pem");
    assert!(set(&[(b"tls-key-file", &empty)]).unwrap().ends_with("holds no private key in PEM"));
    let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    std::fs::write(files.path("locked.pem"), locked).unwrap();
    let locked = files.path("locked.pem");
    assert!(set(&[(b"tls-key-file", &locked)]).unwrap().contains("has a password"));
    // One file may hold both.
    let both =
        [std::fs::read(files.path("cert.pem")).unwrap(), std::fs::read(files.path("key.pem")).unwrap()]
            .concat();
    std::fs::write(files.path("both.pem"), both).unwrap();
    let both = files.path("both.pem");
    assert_eq!(set(&[(b"tls-cert-file", &both), (b"tls-key-file", "")]), None);
}

fn same(tls: &Tls, before: &Option<Arc<rustls::ServerConfig>>) -> bool {
    match (tls.current(), before) {
        (Some(now), Some(before)) => Arc::ptr_eq(&now, before),
        _ => false,
    }
}

#[test]
fn a_change_is_taken_as_a_whole_or_not_at_all() {
    let (files, other) = (make_files(), make_files());
    let live = files.live(&[]);
    let tls = Arc::new(Tls::default());
    tls.begin(open(&live.current()).unwrap());
    follow_config(&tls, &live);
    let before = tls.current();
    let (cert, key) = (other.path("cert.pem"), other.path("key.pem"));
    let refused = live.set(&[(b"timeout", b"7"), (b"tls-cert-file", cert.as_bytes())], true).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "CONFIG SET failed (possibly related to argument 'tls-cert-file') - Unable to update TLS configuration. Check server logs."
    );
    assert!(same(&tls, &before) && live.current().timeout_secs == 0);
    live.set(&[(b"tls-cert-file", cert.as_bytes()), (b"tls-key-file", key.as_bytes())], true).unwrap();
    assert!(!same(&tls, &before));
}

#[test]
fn changed_files_are_read_again() {
    let files = make_files();
    let live = files.live(&[]);
    let tls = Tls::default();
    tls.begin(open(&live.current()).unwrap());
    let first = tls.current();
    tls.follow_files(&live);
    assert!(same(&tls, &first), "nothing has changed");
    // In the middle of an exchange: the new certificate is there, its key is not.
    let key = std::fs::read(files.path("key.pem")).unwrap();
    write_pair(files.dir.path());
    let new_key = std::fs::read(files.path("key.pem")).unwrap();
    std::fs::write(files.path("key.pem"), &key).unwrap();
    tls.follow_files(&live);
    assert!(same(&tls, &first));
    std::fs::write(files.path("key.pem.new"), &new_key).unwrap();
    std::fs::rename(files.path("key.pem.new"), files.path("key.pem")).unwrap();
    tls.follow_files(&live);
    let second = tls.current();
    assert!(!same(&tls, &first));
    tls.follow_files(&live);
    assert!(same(&tls, &second));
}

/// A client that blocks, on a thread, and the server's side of it.
fn connected(files: &Files) -> (TlsStream, std::thread::JoinHandle<(TcpStream, ClientConnection)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(files.authority.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = std::thread::spawn(move || {
        let mut socket = TcpStream::connect(address).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut session = ClientConnection::new(Arc::new(config), name).unwrap();
        session.complete_io(&mut socket).unwrap();
        (socket, session)
    });
    let (socket, _) = listener.accept().unwrap();
    socket.set_nonblocking(true).unwrap();
    let live = files.live(&[("tls-auth-clients", "no")]);
    let config = build::build(&live.current()).unwrap().config;
    let mut server = TlsStream::new(mio::net::TcpStream::from_std(socket), config).unwrap();
    while server.handshake().unwrap() == Progress::Waiting {
        std::thread::yield_now();
    }
    assert_eq!(server.identity(), None);
    (server, client)
}

/// Reads until `len` bytes came, or the stream ended.
fn read_all(server: &mut TlsStream, len: usize, room: usize) -> Vec<u8> {
    let (mut seen, mut piece) = (Vec::new(), vec![0; room]);
    while seen.len() < len {
        match server.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => seen.extend_from_slice(&piece[..n]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
    seen
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 % 251) as u8).collect()
}

#[test]
fn bytes_go_both_ways_whatever_the_buffers() {
    let files = make_files();
    for room in [1, 1000, 16 * 1024, 64 * 1024, 1 << 20] {
        let (mut server, client) = connected(&files);
        let len = if room == 1 { 40_000 } else { 3_000_000 };
        let sent = pattern(len);
        let client = std::thread::spawn(move || {
            let (mut socket, mut session) = client.join().unwrap();
            let mut stream = rustls::Stream::new(&mut session, &mut socket);
            stream.write_all(&pattern(len)).unwrap();
            let mut back = vec![0; len];
            stream.read_exact(&mut back).unwrap();
            session.send_close_notify();
            session.complete_io(&mut socket).unwrap();
            (back, socket)
        });
        assert!(read_all(&mut server, len, room) == sent, "with {room} bytes at a time");
        let mut at = 0;
        while at < len || server.wants_write() {
            match server.write(&sent[at..len.min(at + 100_000)]) {
                Ok(n) => at += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
        let (back, _socket) = client.join().unwrap();
        assert!(back == sent);
        // The end of the stream is the end, again and again.
        assert_eq!(read_all(&mut server, 1, room), b"");
        assert_eq!(server.read(&mut vec![0; room]).unwrap(), 0);
    }
}

#[test]
fn a_changed_record_ends_the_connection_behind_what_came_before() {
    let files = make_files();
    let (mut server, client) = connected(&files);
    let (mut socket, mut session) = client.join().unwrap();
    session.writer().write_all(b"good").unwrap();
    let mut records = Vec::new();
    session.write_tls(&mut records).unwrap();
    session.writer().write_all(b"changed").unwrap();
    let start = records.len();
    session.write_tls(&mut records).unwrap();
    records[start + 7] ^= 1;
    socket.write_all(&records).unwrap();
    let mut piece = vec![0; 64 * 1024];
    let first = loop {
        match server.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => break other,
        }
    };
    assert_eq!(piece[..first.unwrap()], *b"good");
    assert!(server.has_buffered());
    let second = loop {
        match server.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => break other,
        }
    };
    assert_eq!(second.unwrap_err().kind(), io::ErrorKind::InvalidData);
}
