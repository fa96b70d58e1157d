//! Sockets, HTTP/2 and gRPC: from a request's path to the function that answers it.

mod kv;
mod listener;
mod pd;
mod tikv;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;

use http::{Request, Response};
use hyper::Body;
use prost::Message;
use tonic::Status;
use tonic::body::BoxBody;
use tonic::codec::ProstCodec;
use tonic::server::{Grpc, UnaryService};

pub use listener::Listener;

use crate::cluster::Shared;
use crate::counts::Call;

/// Who answers on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Pd,
    /// With its id.
    Store(u64),
}

type Answer<T> = Pin<Box<dyn Future<Output = Result<tonic::Response<T>, Status>> + Send>>;

/// Answers one HTTP request.
async fn route(role: Role, shared: Shared, request: Request<Body>) -> Result<Response<BoxBody>, Infallible> {
    let call = Call::of_path(request.uri().path());
    Ok(match (role, call) {
        (Role::Pd, Some(call)) if call.is_pd() => pd::route(call, shared, request).await,
        (Role::Store(id), Some(call)) if !call.is_pd() => kv::route(call, id, shared, request).await,
        _ => Status::unimplemented(request.uri().path().to_owned()).to_http(),
    })
}

/// Decodes the request, has it answered, encodes the answer. There is no limit to sizes, as in TiKV.
async fn unary<Req, S>(request: Request<Body>, service: S) -> Response<BoxBody>
where
    Req: Message + Default + Send + 'static,
    S: UnaryService<Req>,
    S::Response: Message + Send + 'static,
{
    let codec = ProstCodec::<S::Response, Req>::default();
    Grpc::new(codec)
        .apply_max_message_size_config(Some(usize::MAX), Some(usize::MAX))
        .unary(service, request)
        .await
}
