//! What the fuzz targets check, shared with the tests that run their corpus. Panics on a bug.

#![allow(clippy::panic, clippy::indexing_slicing, reason = "a panic is how a fuzz target reports")]

#[cfg(test)]
mod tests;

use crate::decode::{Decoder, Value};
use crate::{Limits, OwnedArgs, Parsed, Parser, ProtocolError, decode};

/// What a client's stream holds, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Command(OwnedArgs),
    Empty,
    Error(ProtocolError),
}

/// Parses `stream` as it arrives up to each of `arrivals`, and then to its end. Returns the events and
/// the number of bytes left over.
pub fn commands(
    stream: &[u8],
    limits: &Limits,
    arrivals: impl IntoIterator<Item = usize>,
) -> (Vec<Event>, usize) {
    let (mut parser, mut events, mut start) = (Parser::new(), Vec::new(), 0);
    for end in arrivals.into_iter().chain([stream.len()]) {
        let end = end.clamp(start, stream.len());
        loop {
            let buf = &stream[start..end];
            let consumed = match parser.parse(buf, limits) {
                Err(error) => {
                    events.push(Event::Error(error));
                    return (events, stream.len() - start);
                }
                Ok(Parsed::Incomplete { need }) => {
                    assert!(need > 0);
                    break;
                }
                Ok(Parsed::Empty { consumed }) => {
                    events.push(Event::Empty);
                    consumed
                }
                Ok(Parsed::Command { consumed }) => {
                    let args = parser.args(buf);
                    assert!(!args.is_empty());
                    assert!(args.bytes() <= consumed);
                    events.push(Event::Command(args.to_owned_args()));
                    consumed
                }
            };
            assert!(consumed > 0 && consumed <= buf.len());
            assert!(parser.is_idle());
            start += consumed;
        }
    }
    (events, stream.len() - start)
}

/// Reads replies from `stream` as [`commands`] reads commands. `None` in place of a reply is an error.
pub fn replies(stream: &[u8], arrivals: impl IntoIterator<Item = usize>) -> Vec<Option<Value>> {
    let (mut decoder, mut values, mut start) = (Decoder::new(), Vec::new(), 0);
    for end in arrivals.into_iter().chain([stream.len()]) {
        let end = end.clamp(start, stream.len());
        loop {
            let Ok(decoded) = decoder.decode(&stream[start..end]) else {
                values.push(None);
                return values;
            };
            assert!(decoded.consumed <= end - start);
            start += decoded.consumed;
            match decoded.value {
                Some(value) => values.push(Some(value)),
                None => break,
            }
        }
    }
    values
}

/// Sizes of the pieces in which every input is tried.
const PIECES: [usize; 5] = [1, 2, 3, 7, 61];

/// Fuzz target: any bytes from a client. However they are split, the same commands come out.
pub fn parse(stream: &[u8]) {
    let small = Limits { max_bulk_len: 8, max_multibulk: 3, max_inline: 0, authenticated: true };
    for limits in [Limits::default(), Limits { authenticated: false, ..Limits::default() }, small] {
        let whole = commands(stream, &limits, []);
        for size in PIECES {
            let split = commands(stream, &limits, (0..stream.len()).step_by(size));
            assert_eq!(split, whole, "in pieces of {size}");
        }
        // What was parsed can be sent again and parses the same.
        for event in &whole.0 {
            if let Event::Command(args) = event {
                let sent = commands(&encoded(args), &Limits::default(), []);
                assert_eq!(sent, (vec![event.clone()], 0));
            }
        }
    }
}

/// A command as a client sends it.
pub fn encoded(args: &OwnedArgs) -> Vec<u8> {
    let mut out = Vec::new();
    crate::encode::array_len(&mut out, args.view().len());
    for arg in args.view() {
        crate::encode::bulk(&mut out, arg);
    }
    out
}

/// Fuzz target: any bytes from a server. However they are split, the same replies come out.
pub fn decode(stream: &[u8]) {
    let whole = replies(stream, []);
    for size in PIECES {
        assert_eq!(replies(stream, (0..stream.len()).step_by(size)), whole, "in pieces of {size}");
    }
    if let Ok((values, _)) = decode::all(stream) {
        assert!(values.iter().eq(whole.iter().flatten()));
    }
    for value in whole.iter().flatten() {
        let text = value.to_string();
        assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text:?}");
    }
}
