//! What permissions cost: the same commands by the default user, which may do everything, and by one with key patterns.

use crate::Result;
use crate::args::Args;
use crate::client::Reply;
use crate::report::{Check, Table};
use crate::server::Server;

use super::throughput::{Runs, benchmark, prepare, requests, settle, thousands, wanted};
use super::workloads::{BY_USER, LIMITED_RULES, LIMITED_USER, Workload};

/// The least ratio of throughput.
const TARGET: f64 = 0.95;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let server = Server::under_test(args, &[])?;
    let rules = [b"ACL".as_slice(), b"SETUSER", LIMITED_USER.as_bytes()].into_iter();
    let rules: Vec<&[u8]> = rules.chain(LIMITED_RULES.iter().map(|rule| rule.as_bytes())).collect();
    if !matches!(server.client()?.call(&rules)?, Reply::Simple(_)) {
        return Err("the user could not be made".into());
    }
    let mut table =
        Table::new(&["by user", "pipeline", "limited", "default", "ratio", "CPU us", "default", "ratio"]);
    let mut checks = Vec::new();
    for workload in BY_USER.iter().filter(|workload| wanted(args, workload.name)) {
        for &pipeline in &args.pipelines {
            let requests = requests(args, workload, pipeline);
            eprintln!("bench:   {} at pipeline {pipeline}, {requests} requests a run", workload.name);
            prepare(&server, workload, requests)?;
            let limited = Workload { user: LIMITED_USER, ..*workload };
            let (mut ours, mut theirs) = (Runs::default(), Runs::default());
            for one in [&limited, workload] {
                benchmark(args, &server, one, pipeline, requests / 10 + 1)?;
            }
            for round in 0..args.rounds {
                let mut turns = [(&limited, &mut ours), (workload, &mut theirs)];
                if round % 2 == 1 {
                    turns.reverse();
                }
                for (one, runs) in turns {
                    settle(&[&server])?;
                    runs.runs.push(benchmark(args, &server, one, pipeline, requests)?);
                }
            }
            let ratio = ours.share_of(&theirs);
            let cpu = [&ours, &theirs].map(|runs| runs.cpu_micros(requests));
            table.row([
                workload.name.to_owned(),
                pipeline.to_string(),
                thousands(ours.median(|run| run.per_second)),
                thousands(theirs.median(|run| run.per_second)),
                format!("{ratio:.2}"),
                format!("{:.3}", cpu[0]),
                format!("{:.3}", cpu[1]),
                format!("{:.2}", cpu[0] / cpu[1]),
            ]);
            let name = format!("{} by a user with patterns at pipeline {pipeline}: ratio", workload.name);
            checks.push(Check::at_least(name, ratio, TARGET));
        }
    }
    println!("{}", table.render());
    println!(
        "\nRequests in a second, medians of {} rounds interleaved; rules: {}.",
        args.rounds,
        LIMITED_RULES.join(" ")
    );
    Ok(checks)
}
