//! Libraries of functions: FUNCTION LOAD brings them, FCALL calls them. They are kept on record; each machine loads a library
//! when it first calls a function of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::pace::Pace;
use super::shebang::{self, Flags};
use super::vm;
use crate::error::{Error, shown};

#[derive(Debug)]
pub struct Library {
    pub name: String,
    /// As it was sent.
    pub code: Box<[u8]>,
    /// By name.
    pub functions: Vec<Function>,
}

#[derive(Debug)]
pub struct Function {
    pub name: Box<[u8]>,
    pub description: Option<Box<[u8]>>,
    pub flags: Flags,
    pub pace: Pace,
}

/// A function that was found.
#[derive(Debug, Clone)]
pub struct Found {
    pub library: Arc<Library>,
    pub place: usize,
}

impl Found {
    pub fn function(&self) -> Option<&Function> {
        self.library.functions.get(self.place)
    }
}

/// What there is.
#[derive(Debug, Default)]
pub struct Functions {
    known: RwLock<Known>,
    /// Held by whoever changes them, from looking to the commit and [`Functions::set`].
    pub changing: Mutex<()>,
    stamp: AtomicU64,
}

/// Libraries that fit together.
#[derive(Debug, Default, Clone)]
pub struct Known {
    libraries: BTreeMap<String, Arc<Library>>,
    /// By [`folded`] name.
    by_name: BTreeMap<Box<[u8]>, Found>,
}

/// What to do with a library whose name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfTaken {
    Refuse,
    Replace,
}

/// What becomes of libraries that are there when others are restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restore {
    /// They stay, and their names are not taken.
    Append,
    /// Those go whose names are taken.
    Replace,
    /// All of them go.
    Flush,
}

impl Library {
    /// Runs the code, which registers its functions.
    pub fn load(code: &[u8]) -> Result<Library, Error> {
        let (name, body) = name_of(code)?;
        let mut functions = vm::load_library(body)?;
        if functions.is_empty() {
            return Err(Error::reply("ERR No functions registered"));
        }
        functions.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Library { name, code: code.into(), functions })
    }
}

/// Names of functions are the same in upper and in lower case. Those of libraries are not.
fn folded(name: &[u8]) -> Cow<'_, [u8]> {
    if name.iter().any(u8::is_ascii_uppercase) {
        return Cow::Owned(name.to_ascii_lowercase());
    }
    Cow::Borrowed(name)
}

fn exists(name: &[u8]) -> Error {
    Error::reply(format!("ERR Function {} already exists", shown(name)))
}

/// The name that the first line gives, and what follows that line.
fn name_of(code: &[u8]) -> Result<(String, &[u8]), Error> {
    let refuse = |words: &str| Err(Error::reply(format!("ERR {words}")));
    if !code.starts_with(b"#!") {
        return refuse("Missing library metadata");
    }
    let Ok((line, body)) = shebang::first_line(code) else { return refuse("Invalid library metadata") };
    let mut words = line.view().iter();
    let engine = words.next().and_then(|word| word.strip_prefix(b"#!")).unwrap_or_default();
    let mut name = None;
    for word in words {
        let given = word.get(..5).filter(|start| start.eq_ignore_ascii_case(b"name="));
        let Some(given) = given.and_then(|_| word.get(5..)) else {
            return refuse(&format!("Invalid metadata value given: {}", shown(word)));
        };
        if name.replace(given).is_some() {
            return refuse("Invalid metadata value, name argument was given multiple times");
        }
    }
    let Some(name) = name else { return refuse("Library name was not given") };
    let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if name.is_empty() || !name.iter().all(is_fine) {
        return refuse(
            "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
        );
    }
    if !engine.eq_ignore_ascii_case(b"lua") {
        return refuse(&format!("Engine '{}' not found", shown(engine)));
    }
    Ok((shown(name), body))
}

impl Functions {
    pub fn find(&self, name: &[u8]) -> Option<Found> {
        let mut found = self.known.read().by_name.get(&*folded(name)).cloned()?;
        // A library may have names that differ in their case only; then the one that is asked for.
        let exact = found.library.functions.binary_search_by(|function| (*function.name).cmp(name));
        found.place = exact.unwrap_or(found.place);
        Some(found)
    }

    pub fn libraries(&self) -> Vec<Arc<Library>> {
        self.known.read().libraries.values().cloned().collect()
    }

    /// How many libraries there are, and how many functions.
    pub fn totals(&self) -> (usize, usize) {
        let known = self.known.read();
        let functions = known.libraries.values().map(|library| library.functions.len()).sum();
        (known.libraries.len(), functions)
    }

    pub fn bytes(&self) -> usize {
        self.known.read().libraries.values().map(|library| library.code.len()).sum()
    }

    /// What there would be with these libraries, added all or none. `flush`: those that are there go first.
    pub fn with_added(
        &self,
        libraries: &[Arc<Library>],
        if_taken: IfTaken,
        flush: bool,
    ) -> Result<Known, Error> {
        let mut known = if flush { Known::default() } else { self.known.read().clone() };
        for library in libraries {
            let is_taken = known.libraries.contains_key(&library.name);
            if is_taken && if_taken == IfTaken::Refuse {
                return Err(Error::reply(format!("ERR Library '{}' already exists", library.name)));
            }
            known.remove(&library.name);
            for (place, function) in library.functions.iter().enumerate() {
                let found = Found { library: Arc::clone(library), place };
                let taken = known.by_name.insert(folded(&function.name).into(), found);
                if taken.is_some_and(|taken| !Arc::ptr_eq(&taken.library, library)) {
                    return Err(exists(&function.name));
                }
            }
            known.libraries.insert(library.name.clone(), Arc::clone(library));
        }
        Ok(known)
    }

    /// What there would be with the libraries of another server, added all or none. Functions may change from one library to another.
    pub fn joined(&self, libraries: &[Arc<Library>], restore: Restore) -> Result<Known, Error> {
        // They fit together by themselves.
        let alone = Functions::default().with_added(libraries, IfTaken::Refuse, false)?;
        if restore == Restore::Flush {
            return Ok(alone);
        }
        let mut known = self.known.read().clone();
        for name in alone.libraries.keys() {
            if known.remove(name) && restore == Restore::Append {
                return Err(Error::reply(format!("ERR Library {name} already exists")));
            }
        }
        for (name, found) in alone.by_name {
            if known.by_name.contains_key(&name) {
                return Err(exists(found.function().map_or(&name, |function| &function.name)));
            }
            known.by_name.insert(name, found);
        }
        known.libraries.extend(alone.libraries);
        Ok(known)
    }

    /// What there would be without a library; None if there is no such library.
    pub fn without(&self, name: &str) -> Option<Known> {
        let mut known = self.known.read().clone();
        known.remove(name).then_some(known)
    }

    /// The names of libraries that would go, and the libraries that would come.
    pub fn difference(&self, after: &Known) -> (Vec<String>, Vec<Arc<Library>>) {
        let before = self.known.read();
        let gone = before.libraries.keys().filter(|name| !after.libraries.contains_key(*name)).cloned();
        let is_new = |library: &&Arc<Library>| {
            before.libraries.get(&library.name).is_none_or(|old| !Arc::ptr_eq(old, library))
        };
        (gone.collect(), after.libraries.values().filter(is_new).cloned().collect())
    }

    /// `stamp` is that of what is on record.
    pub fn set(&self, after: Known, stamp: u64) {
        *self.known.write() = after;
        self.stamp.store(stamp, Ordering::Release);
    }

    /// Of the change that was the last to become known here.
    pub fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Acquire)
    }
}

impl Known {
    pub fn library_count(&self) -> usize {
        self.libraries.len()
    }

    fn remove(&mut self, name: &str) -> bool {
        let Some(library) = self.libraries.remove(name) else { return false };
        for function in &library.functions {
            self.by_name.remove(&*folded(&function.name));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(name: &str, functions: &[&str]) -> Arc<Library> {
        let code: String = functions
            .iter()
            .map(|function| format!("redis.register_function('{function}', function() return 1 end)\n"))
            .collect();
        Arc::new(Library::load(format!("#!lua name={name}\n{code}").as_bytes()).unwrap())
    }

    fn words(code: &str) -> String {
        Library::load(code.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn functions_belong_to_one_library() {
        let functions = Functions::default();
        let add = |library, if_taken| {
            functions.with_added(&[library], if_taken, false).map(|known| functions.set(known, 0))
        };
        add(library("a", &["f", "g"]), IfTaken::Refuse).unwrap();
        let refused = |library, if_taken| add(library, if_taken).unwrap_err().to_string();
        assert_eq!(refused(library("a", &["h"]), IfTaken::Refuse), "ERR Library 'a' already exists");
        assert_eq!(refused(library("b", &["f"]), IfTaken::Replace), "ERR Function f already exists");
        let after = functions
            .with_added(&[library("a", &["h"]), library("c", &["i"])], IfTaken::Replace, false)
            .unwrap();
        let (gone, come) = functions.difference(&after);
        assert_eq!((gone.len(), come.len()), (0, 2));
        functions.set(after, 0);
        assert!(functions.find(b"f").is_none() && functions.find(b"h").is_some());
        assert_eq!(functions.totals(), (2, 2));
        assert!(functions.without("b").is_none());
        let after = functions.without("a").unwrap();
        assert_eq!(functions.difference(&after).0, ["a"]);
        functions.set(after, 0);
        assert_eq!(functions.totals(), (1, 1));
    }

    #[test]
    fn names_of_functions_have_no_case() {
        let functions = Functions::default();
        let add = |library| {
            let words = |error: Error| error.to_string();
            let with = functions.with_added(&[library], IfTaken::Refuse, false);
            with.map(|known| functions.set(known, 0)).map_err(words)
        };
        let name = |asked: &[u8]| functions.find(asked).map(|found| found.function().unwrap().name.clone());
        assert_eq!(add(library("a", &["Get"])), Ok(()));
        assert_eq!(add(library("b", &["GET"])), Err("ERR Function GET already exists".to_owned()));
        assert_eq!((name(b"gEt"), name(b"ge")), (Some((*b"Get").into()), None));
        // In one library both are there, and each is found.
        assert_eq!(add(library("A", &["f", "F"])), Ok(()));
        assert_eq!((name(b"f"), name(b"F")), (Some((*b"f").into()), Some((*b"F").into())));
        assert_eq!(functions.totals(), (2, 3));
        let taken = functions.joined(&[library("c", &["geT"])], Restore::Append).unwrap_err().to_string();
        assert_eq!(taken, "ERR Function geT already exists");
        functions.set(functions.without("A").unwrap(), 0);
        assert_eq!((functions.totals(), name(b"F")), ((1, 1), None));
    }

    #[test]
    fn libraries_of_another_server_join() {
        let functions = Functions::default();
        let join = |libraries: &[Arc<Library>], restore| {
            let words = |error: Error| error.to_string();
            functions.joined(libraries, restore).map(|known| functions.set(known, 0)).map_err(words)
        };
        assert_eq!(join(&[library("a", &["f"]), library("b", &["g"])], Restore::Append), Ok(()));
        let taken = Err("ERR Library a already exists".to_owned());
        assert_eq!(join(&[library("a", &["h"])], Restore::Append), taken);
        let taken = Err("ERR Function g already exists".to_owned());
        assert_eq!(join(&[library("c", &["g"])], Restore::Append), taken);
        assert_eq!(join(&[library("a", &["g"])], Restore::Replace), taken);
        let taken = Err("ERR Library 'a' already exists".to_owned());
        assert_eq!(join(&[library("a", &["x"]), library("a", &["y"])], Restore::Flush), taken);
        assert_eq!(functions.totals(), (2, 2));
        // Each gets what the other had.
        assert_eq!(join(&[library("a", &["g"]), library("b", &["f"])], Restore::Replace), Ok(()));
        assert_eq!(functions.find(b"f").unwrap().library.name, "b");
        assert_eq!(join(&[library("c", &["f"])], Restore::Flush), Ok(()));
        assert_eq!((functions.totals(), functions.find(b"g").is_none()), ((1, 1), true));
    }

    #[test]
    fn what_is_no_library_is_refused() {
        for (code, refusal) in [
            ("return 1", "ERR Missing library metadata"),
            ("#!lua\nx", "ERR Library name was not given"),
            ("#!lua name=a b=c\nx", "ERR Invalid metadata value given: b=c"),
            ("#!lua name=\"a\nx", "ERR Invalid library metadata"),
            ("#!py name=ab\nx", "ERR Engine 'py' not found"),
            ("#!lua name=a name=b\nx", "ERR Invalid metadata value, name argument was given multiple times"),
            ("#!lua name=ab\nx x", "ERR Error compiling function: user_function:2: '=' expected near 'x'"),
            ("#!lua name=ab\nreturn 1", "ERR No functions registered"),
            (
                "#!lua name=ab\nredis.call('set','a',1)",
                "ERR Error registering functions: ERR user_function:2: Script attempted to access nonexistent global \
                 variable 'call'",
            ),
            (
                "#!lua name=ab\nredis.register_function('fx', 1)",
                "ERR Error registering functions: ERR second argument to redis.register_function must be a function",
            ),
            (
                "#!lua name=ab\nwhile true do end",
                "ERR Error registering functions: ERR FUNCTION LOAD timeout",
            ),
        ] {
            assert_eq!(words(code), refusal, "{code}");
        }
    }
}
