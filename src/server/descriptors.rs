//! File descriptors: each client needs one, and so does each file of the data. Clients must not take those of the files, or a write
//! fails because somebody connects.

use std::io;

use crate::config::{Config, Preparation};
use crate::node::Node;

/// Descriptors that are not for clients: open files of the sorted data and of the log, threads, sockets that listen.
const OWN: u64 = 1_024;
/// So few are enough where the system has few; the sorted data keeps up to 512 files open.
const OWN_AT_LEAST: u64 = 640;

/// How many clients there can be with so many descriptors.
fn clients(descriptors: u64) -> u64 {
    let own = if descriptors >= 2 * OWN { OWN } else { OWN_AT_LEAST };
    descriptors.saturating_sub(own)
}

/// Raises the limit as far as this many clients need, and is told how many there can be.
fn raise(wanted: u64) -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes the struct given.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let needed = wanted.saturating_add(OWN);
    if limit.rlim_cur >= needed {
        return Ok(wanted);
    }
    // The hard limit is the administrator's.
    let raised = libc::rlimit { rlim_cur: needed.min(limit.rlim_max), ..limit };
    // SAFETY: the call reads the struct given.
    let is_raised = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } == 0;
    let descriptors = if is_raised { raised.rlim_cur } else { limit.rlim_cur };
    Ok(clients(descriptors).min(wanted))
}

/// Lowers `maxclients` to what the system lets the process have, and says so.
pub fn reserve(config: &mut Config) -> io::Result<()> {
    let wanted = u64::from(config.maxclients);
    let possible = raise(wanted)?;
    if possible == 0 {
        return Err(io::Error::other(format!(
            "too few file descriptors (ulimit -n): at least {} are needed",
            OWN_AT_LEAST + 1
        )));
    }
    if possible < wanted {
        tracing::warn!(
            "maxclients is {possible} instead of {wanted}: the limit of open files (ulimit -n) allows no more"
        );
        config.maxclients = u32::try_from(possible).unwrap_or(u32::MAX);
    }
    Ok(())
}

/// Has CONFIG SET refuse what the system does not have.
pub fn follow_config(node: &Node) {
    node.config.before_change(Preparation {
        concerns: |option| option.name == "maxclients",
        prepare: Box::new(|_, new| {
            let wanted = u64::from(new.maxclients);
            match raise(wanted) {
                Ok(possible) if possible < wanted => Err(format!(
                    "The operating system is not able to handle the specified number of clients, try with {possible}"
                )),
                Ok(_) => Ok(None),
                Err(error) => Err(error.to_string()),
            }
        }),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_descriptors_that_clients_do_not_get() {
        assert_eq!(clients(100_000), 100_000 - OWN);
        assert_eq!(clients(2 * OWN), OWN);
        assert_eq!(clients(1_024), 1_024 - OWN_AT_LEAST);
        assert_eq!(clients(OWN_AT_LEAST + 1), 1);
        assert_eq!((clients(OWN_AT_LEAST), clients(0)), (0, 0));
    }
}
