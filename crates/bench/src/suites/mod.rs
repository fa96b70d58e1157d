//! What can be measured. A suite prints its table and returns its verdicts.

mod bigkey;
mod blocked;
mod cold;
mod conversations;
mod fields;
mod flushall;
mod idle;
mod maxdisk;
mod pubsub;
mod recovery;
mod slow_script;
mod stream;
mod sustained;
mod throughput;
mod tikv;
mod users;
mod workloads;

use crate::Result;
use crate::args::Args;
use crate::report::Check;

pub struct Suite {
    pub name: &'static str,
    pub run: fn(&Args) -> Result<Vec<Check>>,
}

const SUITES: &[Suite] = &[
    Suite { name: "throughput", run: throughput::strings },
    Suite { name: "collections", run: throughput::collections },
    Suite { name: "units", run: throughput::units },
    Suite { name: "tls", run: throughput::tls },
    Suite { name: "idle-connections", run: idle::run },
    Suite { name: "cold", run: cold::run },
    Suite { name: "recovery", run: recovery::run },
    Suite { name: "sustained", run: sustained::run },
    Suite { name: "bigkey", run: bigkey::run },
    Suite { name: "stream", run: stream::run },
    Suite { name: "maxdisk", run: maxdisk::run },
    Suite { name: "flushall", run: flushall::run },
    Suite { name: "fields", run: fields::run },
    Suite { name: "pubsub", run: pubsub::run },
    Suite { name: "users", run: users::run },
    Suite { name: "tikv", run: tikv::run },
];

pub fn chosen(name: &str) -> Result<Vec<&'static Suite>> {
    let chosen: Vec<&Suite> = SUITES.iter().filter(|suite| name == "all" || suite.name == name).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        return Err(format!("no suite '{name}'; there are {} and all", names.join(", ")).into());
    }
    Ok(chosen)
}
