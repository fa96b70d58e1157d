//! From a script that shows a difference to a small one that still does.

use std::time::{Duration, Instant};

use super::compare::Mismatch;
use super::grammar;
use super::play::{Script, Step};

/// Shrinking is for the reader; it must not take longer than finding.
const BUDGET: Duration = Duration::from_secs(30);

type Play<'a> = dyn FnMut(&Script) -> Option<Mismatch> + 'a;

pub fn shrink(script: Script, first: Mismatch, play: &mut Play<'_>) -> (Script, Mismatch) {
    let mut best = Shrinker { script, mismatch: first, deadline: Instant::now() + BUDGET, play };
    // What comes after the difference has no part in it.
    let end = (best.mismatch.at + 1).min(best.script.steps.len());
    best.try_steps(best.script.steps[..end].to_vec());
    best.try_groups();
    best.remove_steps();
    best.simplify_arguments();
    best.remove_steps();
    (best.script, best.mismatch)
}

struct Shrinker<'a, 'b> {
    script: Script,
    mismatch: Mismatch,
    deadline: Instant,
    play: &'a mut Play<'b>,
}

impl Shrinker<'_, '_> {
    fn try_script(&mut self, script: Script) -> bool {
        if script.steps.is_empty() || Instant::now() > self.deadline {
            return false;
        }
        match (self.play)(&script) {
            Some(mismatch) => {
                self.script = script;
                self.mismatch = mismatch;
                true
            }
            None => false,
        }
    }

    fn try_steps(&mut self, steps: Vec<Step>) -> bool {
        self.try_script(Script { steps, groups: self.script.groups.clone() })
    }

    /// One command at a time, if that still shows it.
    fn try_groups(&mut self) {
        let steps = self.script.steps.clone();
        self.try_script(Script { steps, groups: vec![1] });
    }

    /// Ever smaller pieces, down to single steps.
    fn remove_steps(&mut self) {
        let mut size = self.script.steps.len() / 2;
        while size > 0 {
            let mut from = 0;
            while from < self.script.steps.len() {
                let mut steps = self.script.steps.clone();
                steps.drain(from..(from + size).min(steps.len()));
                if !self.try_steps(steps) {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    fn simplify_arguments(&mut self) {
        for at in 0..self.script.steps.len() {
            let mut arg = 1;
            while let Step::Command(args) = &self.script.steps[at]
                && arg < args.len()
                && !grammar::is_kept_whole(args)
            {
                if !self.try_without(at, arg) {
                    while self.try_shorter(at, arg) {}
                    arg += 1;
                }
            }
        }
    }

    fn with_args(&self, at: usize, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<Step> {
        let mut steps = self.script.steps.clone();
        if let Step::Command(args) = &mut steps[at] {
            change(args);
        }
        steps
    }

    fn try_without(&mut self, at: usize, arg: usize) -> bool {
        let steps = self.with_args(at, |args| {
            args.remove(arg);
        });
        self.try_steps(steps)
    }

    fn try_shorter(&mut self, at: usize, arg: usize) -> bool {
        let Step::Command(args) = &self.script.steps[at] else { return false };
        let old = args[arg].clone();
        let candidates = [
            b"a".to_vec(),
            b"1".to_vec(),
            b"a".repeat(old.len()),
            old[..old.len() / 2].to_vec(),
            old[..old.len().saturating_sub(1)].to_vec(),
        ];
        candidates.into_iter().any(|new| {
            let simpler = new.len() < old.len() || (new.len() == old.len() && old.len() > 12 && new != old);
            simpler && {
                let steps = self.with_args(at, |args| args[arg] = new);
                self.try_steps(steps)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::compare;
    use crate::diff::play::Outcome;
    use crate::value::Value;

    fn command(line: &str) -> Step {
        Step::Command(line.split(' ').map(|word| word.as_bytes().to_vec()).collect())
    }

    #[test]
    fn only_the_commands_that_matter_remain() {
        let mut steps: Vec<Step> = (0..100).map(|i| command(&format!("SET k{i} v"))).collect();
        steps[30] = command("BAD first-long-argument x");
        steps[60] = command("BAD second y");
        let script = Script { steps, groups: vec![3, 5] };
        let mut play = |script: &Script| {
            let bad = |step: &&Step| matches!(step, Step::Command(args) if args[0] == b"BAD");
            let at = script.steps.iter().rposition(|step| bad(&step))?;
            (script.steps.iter().filter(bad).count() == 2).then(|| {
                let different = [Value::Int(1), Value::Int(2)].map(Outcome::Reply);
                compare::step(at, &script.steps[at], different).unwrap()
            })
        };
        let first = play(&script).unwrap();
        let (small, _) = shrink(script, first, &mut play);
        assert_eq!(small.steps, [command("BAD"), command("BAD")]);
        assert_eq!(small.groups, [1]);
    }
}
