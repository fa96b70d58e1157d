//! The scripts that are known by their SHA-1: those of SCRIPT LOAD until they are flushed, those of EVAL as long as they are used.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use super::pace::Pace;
use super::sha1::ByFirstBytes;
pub use super::sha1::{Sha, hex, of as sha_of, parse as parse_sha};
use super::shebang::{self, Flags};
use super::vm::{self, Program};
use crate::error::Error;

/// Scripts of EVAL that are kept; the oldest goes first. As in Redis.
const MAX_FROM_EVAL: usize = 500;

#[derive(Debug)]
pub struct Script {
    pub program: Program,
    pub flags: Flags,
    /// As it was sent.
    pub body: Box<[u8]>,
    /// Loaded on purpose, so that it stays.
    loaded: AtomicBool,
    pub pace: Pace,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Scripts {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_sha: HashMap<Sha, Arc<Script>, ByFirstBytes>,
    /// Those of EVAL, the oldest first.
    from_eval: VecDeque<Sha>,
    bytes: usize,
}

impl Scripts {
    pub fn find(&self, sha: &Sha) -> Option<Arc<Script>> {
        self.known.read().by_sha.get(sha).cloned()
    }

    /// The script with this body, made known if it was not.
    pub fn of_body(&self, body: &[u8], load: bool) -> Result<Arc<Script>, Error> {
        let sha = sha_of(body);
        if let Some(script) = self.find(&sha) {
            if load {
                script.loaded.store(true, Ordering::Relaxed);
            }
            return Ok(script);
        }
        let (flags, code) = shebang::split(body)?;
        let program = Program { sha, code: code.into() };
        vm::compile(&program)?;
        let script = Arc::new(Script {
            program,
            flags,
            body: body.into(),
            loaded: AtomicBool::new(load),
            pace: Pace::default(),
        });
        self.known.write().add(Arc::clone(&script), load);
        Ok(script)
    }

    pub fn flush(&self) {
        *self.known.write() = Known::default();
    }

    /// How many there are, and their bytes.
    pub fn totals(&self) -> (usize, usize) {
        let known = self.known.read();
        (known.by_sha.len(), known.bytes)
    }
}

impl Known {
    fn add(&mut self, script: Arc<Script>, load: bool) {
        let sha = script.program.sha;
        self.bytes += script.body.len();
        if self.by_sha.insert(sha, script).is_some() || load {
            return;
        }
        self.from_eval.push_back(sha);
        while self.from_eval.len() > MAX_FROM_EVAL
            && let Some(oldest) = self.from_eval.pop_front()
        {
            let is_kept = self.by_sha.get(&oldest).is_none_or(|old| old.loaded.load(Ordering::Relaxed));
            if !is_kept && let Some(old) = self.by_sha.remove(&oldest) {
                self.bytes -= old.body.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_eval_make_room_and_loaded_ones_stay() {
        let scripts = Scripts::default();
        let loaded = scripts.of_body(b"return 'kept'", true).unwrap();
        let first = scripts.of_body(b"return 0", false).unwrap();
        for number in 1..=MAX_FROM_EVAL {
            scripts.of_body(format!("return {number}").as_bytes(), false).unwrap();
        }
        assert!(scripts.find(&loaded.program.sha).is_some());
        assert!(scripts.find(&first.program.sha).is_none());
        assert_eq!(scripts.totals().0, MAX_FROM_EVAL + 1);
        scripts.flush();
        assert_eq!(scripts.totals(), (0, 0));
    }

    #[test]
    fn what_does_not_compile_is_not_kept() {
        let scripts = Scripts::default();
        let refused = scripts.of_body(b"return 1 +", true).unwrap_err().to_string();
        let words =
            "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'";
        assert_eq!(refused, words);
        assert_eq!(scripts.totals().0, 0);
    }
}
