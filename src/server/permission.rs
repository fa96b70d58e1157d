//! What an I/O thread does where a user has no permission.

use super::connection::Connection;
use super::io_thread::IoThread;
use super::pipeline::Flow;
use crate::acl::{Context, Denied};
use crate::commands::acl::note_denied;
use crate::dispatch::gate::{self, Refusal};
use crate::dispatch::multi::Queued;
use crate::dispatch::registry::Registered;
use crate::dispatch::unit::Call;
use crate::error::Error;

impl IoThread {
    /// Tells a client why its call may not run.
    pub(super) fn refuse(
        &mut self,
        connection: &mut Connection,
        command: &'static Registered,
        refusal: Refusal,
    ) -> Flow {
        let error = match refusal {
            Refusal::Error(error) => error,
            Refusal::Denied(denied) => {
                let is_queueing = connection.session.multi.is_some();
                connection.session.client.ran(command.id, self.pipeline.now_ms);
                let context = if is_queueing { Context::Multi } else { Context::TopLevel };
                self.note_denied(connection, context, &denied);
                denied.error()
            }
            Refusal::Gone => {
                connection.dead = true;
                return Flow::Stop;
            }
        };
        self.reject(connection, Some(command), &error)
    }

    /// What a call reads without naming it.
    #[inline]
    pub(super) fn permit_patterns(&self, connection: &Connection, call: &Call<'_>) -> Result<(), Error> {
        let login = &connection.session.login;
        if login.is_free(&self.node.acl) {
            return Ok(());
        }
        gate::permit_patterns(call, login.user(), &self.node)
    }

    /// Permissions may have changed since the calls were queued, and each of them is on a database that is known only now.
    pub(super) fn permit_queued(&mut self, connection: &Connection, queue: &mut [Queued]) {
        let login = &connection.session.login;
        if login.is_free(&self.node.acl) {
            return;
        }
        for queued in queue {
            let error = match gate::permit(&queued.call(), login.user(), &self.node) {
                Ok(()) => gate::permit_patterns(&queued.call(), login.user(), &self.node).err(),
                Err(denied) => {
                    self.note_denied(connection, Context::Multi, &denied);
                    Some(denied.exec_error())
                }
            };
            queued.refused = error.map(Box::new);
        }
    }

    fn note_denied(&self, connection: &Connection, context: Context, denied: &Denied) {
        note_denied(&self.node, &connection.session.client, self.pipeline.now_ms, context, denied);
    }
}
