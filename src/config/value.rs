//! A value of an option, between its text and the typed field that keeps it.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::choice::Choice;
use super::types::{Auto, Events, OomScores, OutputLimits, Percentiles, SavePoint, Share};

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Bool(bool),
    /// Wide enough for every integer type of a field.
    Int(i128),
    Name(&'static str),
    Text(Vec<u8>),
    Words(Vec<Vec<u8>>),
    Share(Share),
    OutputLimits(OutputLimits),
    Events(Events),
    Percentiles(Percentiles),
    SavePoints(Vec<SavePoint>),
    OomScores(OomScores),
}

impl Value {
    /// As CONFIG GET shows it.
    pub fn to_text(&self) -> Vec<u8> {
        match self {
            Self::Bool(true) => b"yes".to_vec(),
            Self::Bool(false) => b"no".to_vec(),
            Self::Int(number) => number.to_string().into_bytes(),
            Self::Name(name) => name.as_bytes().to_vec(),
            Self::Text(text) => text.clone(),
            Self::Words(words) => words.join(&b' '),
            Self::Share(share) => share.to_string().into_bytes(),
            Self::OutputLimits(limits) => limits.to_string().into_bytes(),
            Self::Events(events) => events.to_string().into_bytes(),
            Self::Percentiles(percentiles) => percentiles.to_string().into_bytes(),
            Self::OomScores(scores) => scores.to_string().into_bytes(),
            Self::SavePoints(points) => {
                points.iter().map(SavePoint::to_string).collect::<Vec<_>>().join(" ").into_bytes()
            }
        }
    }
}

/// A typed field of [`Config`](super::Config) that an option's value goes into.
pub trait Field {
    fn load(&self) -> Value;
    /// False when the value is of another kind or does not fit: a mistake in the table, which its tests rule out.
    #[must_use]
    fn store(&mut self, value: Value) -> bool;
}

macro_rules! whole_numbers {
    ($($type:ty),+) => { $(
        impl Field for $type {
            fn load(&self) -> Value {
                Value::Int(*self as i128)
            }
            fn store(&mut self, value: Value) -> bool {
                let Value::Int(number) = value else { return false };
                <$type>::try_from(number).map(|number| *self = number).is_ok()
            }
        }
    )+ };
}
whole_numbers!(u8, u16, u32, u64, usize, i64);

macro_rules! as_they_are {
    ($($type:ty => $variant:ident),+ $(,)?) => { $(
        impl Field for $type {
            fn load(&self) -> Value {
                Value::$variant(self.clone())
            }
            fn store(&mut self, value: Value) -> bool {
                let Value::$variant(new) = value else { return false };
                *self = new;
                true
            }
        }
    )+ };
}
as_they_are!(
    bool => Bool,
    Vec<u8> => Text,
    Share => Share,
    OutputLimits => OutputLimits,
    Events => Events,
    Percentiles => Percentiles,
    OomScores => OomScores,
);

impl<C: Choice> Field for C {
    fn load(&self) -> Value {
        Value::Name(self.name())
    }
    fn store(&mut self, value: Value) -> bool {
        let Value::Name(name) = value else { return false };
        C::from_name(name).map(|new| *self = new).is_some()
    }
}

impl Field for Auto {
    fn load(&self) -> Value {
        Value::Int(i128::from(self.0))
    }
    fn store(&mut self, value: Value) -> bool {
        self.0.store(value)
    }
}

impl Field for String {
    fn load(&self) -> Value {
        Value::Text(self.as_bytes().to_vec())
    }
    fn store(&mut self, value: Value) -> bool {
        let Value::Text(text) = value else { return false };
        String::from_utf8(text).map(|text| *self = text).is_ok()
    }
}

impl Field for PathBuf {
    fn load(&self) -> Value {
        Value::Text(self.as_os_str().as_bytes().to_vec())
    }
    fn store(&mut self, value: Value) -> bool {
        let Value::Text(text) = value else { return false };
        *self = PathBuf::from(OsString::from_vec(text));
        true
    }
}

impl Field for Vec<String> {
    fn load(&self) -> Value {
        Value::Words(self.iter().map(|word| word.as_bytes().to_vec()).collect())
    }
    fn store(&mut self, value: Value) -> bool {
        let Value::Words(words) = value else { return false };
        let texts: Result<Vec<_>, _> = words.into_iter().map(String::from_utf8).collect();
        texts.map(|texts| *self = texts).is_ok()
    }
}
