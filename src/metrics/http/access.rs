//! The password of `/metrics`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Whether a request has the password: as a bearer token, or with any user name in basic authentication. Everybody has an empty one.
pub fn is_allowed(password: &[u8], request: &[u8]) -> bool {
    password.is_empty() || given(request).is_some_and(|given| same(password, &given))
}

fn given(request: &[u8]) -> Option<Vec<u8>> {
    let lines = request.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii);
    let value = lines.take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_at_checked(line.iter().position(|byte| *byte == b':')?)?;
        name.eq_ignore_ascii_case(b"authorization").then(|| value.get(1..).unwrap_or(&[]).trim_ascii())
    })?;
    let (scheme, secret) = value.split_at_checked(value.iter().position(|byte| *byte == b' ')?)?;
    let secret = secret.trim_ascii();
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return Some(secret.to_vec());
    }
    if !scheme.eq_ignore_ascii_case(b"basic") {
        return None;
    }
    let pair = STANDARD.decode(secret).ok()?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    pair.get(colon + 1..).map(<[u8]>::to_vec)
}

/// Takes the same time wherever they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |seen, (a, b)| seen | (a ^ b));
    std::hint::black_box(differences) == 0 && a.len() == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(header: &str) -> bool {
        is_allowed(b"se:same", format!("GET /metrics HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n").as_bytes())
    }

    #[test]
    fn a_password_comes_as_a_token_or_with_any_user_name() {
        assert!(is_allowed(b"", b"GET / HTTP/1.1\r\n\r\n"));
        let basic = |pair: &str| format!("Authorization: Basic {}", STANDARD.encode(pair));
        for right in [
            "Authorization: Bearer se:same",
            "authorization:  bearer  se:same ",
            &basic("prometheus:se:same"),
            &basic(":se:same"),
        ] {
            assert!(allowed(right), "{right}");
        }
        for wrong in [
            "X: y",
            "Authorization:",
            "Authorization: Bearer",
            "Authorization: Bearer se:sam",
            "Authorization: Bearer se:same2",
            "Authorization: Digest se:same",
            "Authorization: Basic se:same",
            &basic("se"),
            &basic("prometheus:other"),
            "X: y\r\n\r\nAuthorization: Bearer se:same",
        ] {
            assert!(!allowed(wrong), "{wrong}");
        }
    }
}
