//! What a client's certificate says about who it is.

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use crate::config::CertificateUser;

/// Names of a client that showed a certificate that was good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The last common name of the subject.
    pub common_name: Option<Vec<u8>>,
    /// URIs among the alternative names.
    pub uris: Vec<String>,
}

impl Identity {
    /// Nothing where the certificate cannot be read, or names nobody.
    pub fn of(certificate: &CertificateDer<'_>) -> Identity {
        let Ok(parsed) = EndEntityCert::try_from(certificate) else { return Identity::default() };
        Identity {
            common_name: common_name(parsed.subject()).map(<[u8]>::to_vec),
            uris: parsed.valid_uri_names().map(str::to_owned).collect(),
        }
    }

    /// Names of users that it may be.
    pub fn names(&self, which: CertificateUser) -> Vec<&[u8]> {
        match which {
            CertificateUser::CommonName => self.common_name.iter().map(Vec::as_slice).collect(),
            CertificateUser::Uri => self.uris.iter().map(String::as_bytes).collect(),
            CertificateUser::Off => Vec::new(),
        }
    }
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// Kinds of text in which bytes are what they look like.
const TEXTS: [u8; 4] = [0x0c, 0x13, 0x14, 0x16];

/// The last common name of a subject: a sequence of sets of pairs of a type and a text. OpenSSL's callers take the last one too.
fn common_name(mut subject: &[u8]) -> Option<&[u8]> {
    let mut found = None;
    while let Some((SET, mut set, rest)) = value(subject) {
        subject = rest;
        while let Some((SEQUENCE, pair, rest)) = value(set) {
            set = rest;
            let Some((OBJECT_ID, kind, text)) = value(pair) else { continue };
            if let Some((tag, text, _)) = value(text)
                && kind == COMMON_NAME
                && TEXTS.contains(&tag)
                && !text.is_empty()
            {
                found = Some(text);
            }
        }
    }
    found
}

/// The first value of some DER: its tag, its bytes, and what follows.
fn value(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = der.split_first_chunk::<2>()?;
    let (len, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => {
            let (&[len], rest) = rest.split_first_chunk::<1>()?;
            (usize::from(len), rest)
        }
        0x82 => {
            let (&len, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(len)), rest)
        }
        _ => return None,
    };
    let (bytes, rest) = rest.split_at_checked(len)?;
    Some((tag, bytes, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    fn certificate(names: &[(DnType, &str)], uris: &[&str]) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, name) in names {
            params.distinguished_name.push(kind.clone(), *name);
        }
        params.subject_alt_names.extend(uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())));
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn a_certificate_names_its_owner() {
        let long = "x".repeat(300);
        for name in ["alice", "ünïcode", long.as_str()] {
            let shown =
                [(DnType::OrganizationName, "bob"), (DnType::CommonName, name), (DnType::CountryName, "DE")];
            let identity = Identity::of(&certificate(&shown, &["spiffe://a/b", "urn:x"]));
            assert_eq!(identity.common_name.as_deref(), Some(name.as_bytes()));
            assert_eq!(identity.uris, ["spiffe://a/b", "urn:x"]);
            assert_eq!(identity.names(CertificateUser::CommonName), [name.as_bytes()]);
            assert_eq!(identity.names(CertificateUser::Uri), [&b"spiffe://a/b"[..], b"urn:x"]);
            assert!(identity.names(CertificateUser::Off).is_empty());
        }
        let nobody = Identity::of(&certificate(&[(DnType::OrganizationName, "bob")], &[]));
        assert_eq!(nobody, Identity::default());
    }

    #[test]
    fn bytes_that_are_no_certificate_name_nobody() {
        assert_eq!(Identity::of(&CertificateDer::from(vec![1, 2, 3])), Identity::default());
        let good = certificate(&[(DnType::CommonName, "alice")], &[]);
        for len in 0..good.len() {
            assert_eq!(Identity::of(&CertificateDer::from(good[..len].to_vec())), Identity::default());
        }
        for broken in [&[][..], &[SET], &[SET, 0x85, 1], &[SET, 3, SEQUENCE, 9, 1], &[SET, 0x82, 0xff]] {
            assert_eq!(common_name(broken), None, "{broken:?}");
        }
    }
}
