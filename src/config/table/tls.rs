//! Options of TLS.

use super::{at, int, small_count};
use crate::config::choice::{AuthClients, CertificateUser, Choice};
use crate::config::option::Section::{Compatibility, Tls};
use crate::config::option::{Kind, Opt};

pub const OPTIONS: &[Opt] = &[
    Opt::new(Tls, "tls-port", int(0, u16::MAX as i128), "0")
        .field(at!(tls_port))
        .at_start()
        .help("Port for TLS, on the addresses of `bind`; 0 for none. With `port 0` it is the only one."),
    Opt::new(Tls, "tls-cert-file", Kind::Text, "")
        .field(at!(tls_cert_file))
        .help("The server's certificate in PEM, followed by those between it and the root, if any."),
    Opt::new(Tls, "tls-key-file", Kind::Text, "")
        .field(at!(tls_key_file))
        .help("The private key of the certificate in PEM, without a password."),
    Opt::new(Tls, "tls-ca-cert-file", Kind::Text, "")
        .field(at!(tls_ca_cert_file))
        .help("Certificates in PEM of the authorities that sign clients' certificates."),
    Opt::new(Tls, "tls-ca-cert-dir", Kind::Text, "")
        .field(at!(tls_ca_cert_dir))
        .help("Directory of such files; all of it is read, not only names that are hashes."),
    Opt::new(Tls, "tls-auth-clients", Kind::Choice(AuthClients::NAMES), "yes")
        .field(at!(tls_auth_clients))
        .help("Whether clients must show a certificate that one of these authorities has signed: `yes`, `no`, or `optional` (one that is shown must be good)."),
    Opt::new(Tls, "tls-auth-clients-user", Kind::Choice(CertificateUser::NAMES), "off")
        .field(at!(tls_auth_clients_user))
        .help("What in a client's certificate names its user: `CN` its common name, `URI` a URI of its alternative names, `off` nothing. A user of that name that is on needs no password; others begin as the default user."),
    Opt::new(Tls, "tls-protocols", Kind::Text, "")
        .field(at!(tls_protocols))
        .help("Versions, as `TLSv1.2 TLSv1.3`, which is what empty means. There are no older ones."),
    Opt::new(Tls, "tls-ciphers", Kind::Text, "")
        .field(at!(tls_ciphers))
        .help("Ciphers of TLS 1.2 by OpenSSL's names, best first; empty is all: ECDHE with AES-GCM or ChaCha20-Poly1305. Others of a list are passed over, a list of only others is refused."),
    Opt::new(Tls, "tls-ciphersuites", Kind::Text, "")
        .field(at!(tls_ciphersuites))
        .help("The same for TLS 1.3: some of `TLS_AES_256_GCM_SHA384`, `TLS_AES_128_GCM_SHA256`, `TLS_CHACHA20_POLY1305_SHA256`."),
    Opt::new(Tls, "tls-prefer-server-ciphers", Kind::Bool, "no")
        .field(at!(tls_prefer_server_ciphers))
        .help("Chooses by this server's order of ciphers instead of the client's."),
    Opt::new(Tls, "tls-session-caching", Kind::Bool, "yes")
        .field(at!(tls_session_caching))
        .help("Lets clients that come again skip most of the handshake."),
    Opt::new(Tls, "tls-session-cache-size", small_count(), "20480")
        .field(at!(tls_session_cache_size))
        .help("Sessions that are kept for that; 0 is the default."),
    Opt::new(Tls, "tls-session-cache-timeout", small_count(), "300")
        .field(at!(tls_session_cache_timeout_secs))
        .help("Seconds for which they are kept."),
    Opt::new(Tls, "tls-auto-reload-interval", small_count(), "10")
        .field(at!(tls_auto_reload_interval_secs))
        .help("Seconds between two looks at whether the files above have changed; changed ones are taken into use if they fit together. 0 never looks."),
    Opt::new(Tls, "tls-handshake-timeout", int(1, 3600), "10")
        .field(at!(tls_handshake_timeout_secs))
        .help("Seconds that a client has for its handshake."),
    Opt::new(Tls, "tls-max-handshakes", int(1, i32::MAX as i128), "1000")
        .field(at!(tls_max_handshakes))
        .help("Handshakes under way at a time; one more closes the one that has taken longest."),
    Opt::new(Compatibility, "tls-key-file-pass", Kind::Text, "")
        .only(
            &[""],
            "Tarn reads private keys without a password only; decrypt the file (openssl pkey) and let only the server read it",
        )
        .sensitive()
        .help("Only empty: private keys with a password are not read."),
    // For connections that Redis opens itself, and for a key exchange that only older ciphers have.
    Opt::new(Compatibility, "tls-client-cert-file", Kind::Text, ""),
    Opt::new(Compatibility, "tls-client-key-file", Kind::Text, ""),
    Opt::new(Compatibility, "tls-client-key-file-pass", Kind::Text, "").sensitive(),
    Opt::new(Compatibility, "tls-dh-params-file", Kind::Text, ""),
    Opt::new(Compatibility, "tls-replication", Kind::Bool, "no"),
    Opt::new(Compatibility, "tls-cluster", Kind::Bool, "no"),
];
