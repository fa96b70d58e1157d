//! What an I/O thread does where a user has no permission.

use super::connection::Connection;
use super::io_thread::IoThread;
use super::pipeline::Flow;
use crate::acl::{Context, Denied, Login, Reason};
use crate::clients::Client;
use crate::commands::acl::{note_denied, note_refused};
use crate::config::CertificateUser;
use crate::dispatch::gate::{self, Refusal};
use crate::dispatch::multi::Queued;
use crate::dispatch::registry::Registered;
use crate::dispatch::unit::Call;
use crate::error::Error;

impl IoThread {
    /// Who a client is before it says anything: the user that its certificate names (`tls-auth-clients-user`), or the default one.
    pub(super) fn login_of(&self, client: &Client) -> Login {
        let names: Vec<&[u8]> = match (&client.certificate, self.config.tls_auth_clients_user) {
            (Some(identity), CertificateUser::CommonName) => {
                identity.common_name.iter().map(Vec::as_slice).collect()
            }
            (Some(identity), CertificateUser::Uri) => identity.uris.iter().map(String::as_bytes).collect(),
            (None, _) | (_, CertificateUser::Off) => Vec::new(),
        };
        if let Some(login) = Login::by_certificate(&self.node.acl, names.iter().copied()) {
            return login;
        }
        if let Some(name) = names.first() {
            let (now_ms, context) = (self.pipeline.now_ms, Context::TopLevel);
            note_refused(&self.node, client, now_ms, context, Reason::TlsCertificate, (b"", name));
        }
        Login::at_connect(&self.node.acl)
    }

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
