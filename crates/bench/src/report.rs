//! Markdown tables, and the verdict on each target.

use std::process::Command;
use std::time::Duration;

use crate::args::Args;

/// A promise that is a number.
pub struct Check {
    pub name: String,
    pub measured: String,
    pub target: String,
    pub ok: bool,
}

impl Check {
    pub fn at_least(name: impl Into<String>, measured: f64, target: f64) -> Check {
        Check {
            name: name.into(),
            measured: format!("{measured:.2}"),
            target: format!("at least {target:.2}"),
            ok: measured >= target,
        }
    }

    pub fn at_most(name: impl Into<String>, measured: f64, target: f64, unit: &str) -> Check {
        Check {
            name: name.into(),
            measured: format!("{measured:.2} {unit}").trim_end().to_owned(),
            target: format!("at most {target:.2} {unit}").trim_end().to_owned(),
            ok: measured <= target,
        }
    }
}

pub fn print_checks(checks: &[Check]) {
    if checks.is_empty() {
        return;
    }
    let mut table = Table::new(&["target", "measured", "wanted", ""]);
    for check in checks {
        table.row([
            check.name.as_str(),
            &check.measured,
            &check.target,
            if check.ok { "ok" } else { "MISSED" },
        ]);
    }
    println!("\n{}", table.render());
}

pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(heads: &[&str]) -> Table {
        Table { rows: vec![heads.iter().map(|&head| head.to_owned()).collect()] }
    }

    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| cell.as_ref().to_owned()).collect());
    }

    pub fn render(&self) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
                .max(3)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| line(row, &widths)).collect();
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        lines.insert(1.min(lines.len()), line(&rule, &widths));
        lines.join("\n")
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
    format!("| {} |", padded.join(" | "))
}

pub fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

pub fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

pub fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The date, the machine and the versions: a number without them says nothing.
pub fn print_heading(args: &Args) {
    let cpu_info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu_info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory_kib = std::fs::read_to_string("/proc/meminfo")
        .unwrap_or_default()
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0);
    println!(
        "{}; {model}, {cores} cores, {:.0} GiB; Linux {}; {}; against {}\n",
        output("date", &["-u", "+%Y-%m-%d"]),
        memory_kib as f64 / f64::from(1 << 20),
        output("uname", &["-r"]),
        if args.quick { "quick run" } else { "full run" },
        output(&args.redis.to_string_lossy(), &["--version"]).split(" sha").next().unwrap_or_default(),
    );
}

fn output(program: &str, args: &[&str]) -> String {
    let text = Command::new(program).args(args).output().map(|output| output.stdout).unwrap_or_default();
    std::str::from_utf8(&text).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_markdown() {
        let mut table = Table::new(&["a", "long"]);
        table.row(["xyzw", "1"]);
        assert_eq!(table.render(), "| a    | long |\n| ---- | ---- |\n| xyzw | 1    |");
    }

    #[test]
    fn targets_are_met_at_the_border() {
        assert!(Check::at_least("x", 1.5, 1.5).ok);
        assert!(!Check::at_least("x", 1.49, 1.5).ok);
        assert!(Check::at_most("x", 6.0, 6.0, "s").ok);
        assert!(!Check::at_most("x", 6.01, 6.0, "s").ok);
    }
}
