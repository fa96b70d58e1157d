//! PD's calls.

use std::future::pending;
use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use http::{Request, Response};
use hyper::Body;
use prost::Message;
use tokio::time::sleep;
use tonic::body::BoxBody;
use tonic::codec::ProstCodec;
use tonic::server::{Grpc, StreamingService, UnaryService};
use tonic::{Status, Streaming};

use super::{Answer, unary};
use crate::clock::{self, LOGICAL_BITS};
use crate::cluster::{Cluster, Shared};
use crate::codec;
use crate::counts::Call;
use crate::faults::Fault;
use crate::proto::metapb;
use crate::proto::pdpb::*;
use crate::region::Region;

/// The version that the stores say they have.
const VERSION: &str = "8.5.0";

pub async fn route(call: Call, shared: Shared, request: Request<Body>) -> Response<BoxBody> {
    match call {
        Call::Tso => {
            let codec = ProstCodec::<TsoResponse, TsoRequest>::default();
            Grpc::new(codec).streaming(Tso(shared), request).await
        }
        Call::GetMembers => {
            answer(call, shared, request, |cluster, _: GetMembersRequest| Ok(members(cluster))).await
        }
        Call::GetRegion => answer(call, shared, request, get_region).await,
        Call::GetPrevRegion => answer(call, shared, request, get_prev_region).await,
        Call::GetRegionById => answer(call, shared, request, get_region_by_id).await,
        Call::ScanRegions => answer(call, shared, request, scan_regions).await,
        Call::GetStore => answer(call, shared, request, get_store).await,
        Call::GetAllStores => answer(call, shared, request, get_all_stores).await,
        Call::GetGcSafePoint => answer(call, shared, request, get_gc_safe_point).await,
        Call::UpdateGcSafePoint => answer(call, shared, request, update_gc_safe_point).await,
        Call::UpdateServiceGcSafePoint => answer(call, shared, request, update_service_gc_safe_point).await,
        _ => Status::unimplemented(call.path()).to_http(),
    }
}

async fn answer<Req, Resp>(
    call: Call,
    shared: Shared,
    request: Request<Body>,
    with: Handler<Req, Resp>,
) -> Response<BoxBody>
where
    Req: Message + Default + Send + 'static,
    Resp: Message + Send + 'static,
{
    unary(request, Pd { call, shared, with }).await
}

type Handler<Req, Resp> = fn(&mut Cluster, Req) -> Result<Resp, Status>;

/// PD, about to answer a request.
struct Pd<Req, Resp> {
    call: Call,
    shared: Shared,
    with: Handler<Req, Resp>,
}

impl<Req, Resp> UnaryService<Req> for Pd<Req, Resp>
where
    Req: Message + Default + Send + 'static,
    Resp: Message + Send + 'static,
{
    type Response = Resp;
    type Future = Answer<Resp>;

    fn call(&mut self, request: tonic::Request<Req>) -> Self::Future {
        let (call, shared, with) = (self.call, self.shared.clone(), self.with);
        Box::pin(async move {
            let fault = begin(call, &shared).await?;
            let response = with(&mut shared.lock(), request.into_inner())?;
            end(fault).await?;
            Ok(tonic::Response::new(response))
        })
    }
}

/// Counts the request, and lets happen to it what is to happen before it is looked at.
async fn begin(call: Call, shared: &Shared) -> Result<Option<Fault>, Status> {
    let fault = {
        let mut cluster = shared.lock();
        cluster.counts.add(call);
        cluster.faults.decide(call, &[], false)
    };
    match &fault {
        Some(Fault::Unavailable) => return Err(Status::unavailable("PD is told to be unavailable")),
        Some(Fault::TimeoutBefore) => return pending().await,
        Some(Fault::Delay(delay)) => sleep(*delay).await,
        _ => {}
    }
    Ok(fault)
}

/// What is to happen to a request after it was carried out.
async fn end(fault: Option<Fault>) -> Result<(), Status> {
    match fault {
        Some(Fault::UnavailableAfter) => Err(Status::unavailable("PD is told to be unavailable from now on")),
        Some(Fault::TimeoutAfter) => pending().await,
        _ => Ok(()),
    }
}

/// The stream of timestamps.
struct Tso(Shared);

impl StreamingService<TsoRequest> for Tso {
    type Response = TsoResponse;
    type ResponseStream = Pin<Box<dyn Stream<Item = Result<TsoResponse, Status>> + Send>>;
    type Future = Answer<Self::ResponseStream>;

    fn call(&mut self, request: tonic::Request<Streaming<TsoRequest>>) -> Self::Future {
        let shared = self.0.clone();
        let responses = request.into_inner().then(move |request| timestamps(shared.clone(), request));
        Box::pin(async move { Ok(tonic::Response::new(Box::pin(responses) as Self::ResponseStream)) })
    }
}

async fn timestamps(shared: Shared, request: Result<TsoRequest, Status>) -> Result<TsoResponse, Status> {
    let request = request?;
    let fault = begin(Call::Tso, &shared).await?;
    let response = {
        let mut cluster = shared.lock();
        check(&cluster, request.header.as_ref())?;
        let ts = cluster.clock.take(u64::from(request.count));
        let logical = ts & ((1 << LOGICAL_BITS) - 1);
        let timestamp = Timestamp { physical: clock::physical(ts) as i64, logical: logical as i64 };
        TsoResponse { header: header(&cluster), count: request.count, timestamp: Some(timestamp) }
    };
    end(fault).await?;
    Ok(response)
}

/// Requests that are meant for another cluster are refused.
fn check(cluster: &Cluster, header: Option<&RequestHeader>) -> Result<(), Status> {
    let asked = header.map_or(0, |header| header.cluster_id);
    if asked == cluster.id {
        return Ok(());
    }
    Err(Status::failed_precondition(format!("mismatch cluster id, need {} but got {asked}", cluster.id)))
}

fn header(cluster: &Cluster) -> Option<ResponseHeader> {
    Some(ResponseHeader { cluster_id: cluster.id, error: None })
}

fn failed(cluster: &Cluster, message: String) -> Option<ResponseHeader> {
    let error = Error { kind: ERROR_UNKNOWN, message };
    Some(ResponseHeader { cluster_id: cluster.id, error: Some(error) })
}

fn members(cluster: &Cluster) -> GetMembersResponse {
    let url = format!("http://{}", cluster.pd_address);
    let member =
        Member { name: "pd".to_owned(), member_id: 1, peer_urls: vec![url.clone()], client_urls: vec![url] };
    GetMembersResponse {
        header: header(cluster),
        members: vec![member.clone()],
        leader: Some(member.clone()),
        etcd_leader: Some(member),
    }
}

fn region_response(cluster: &Cluster, region: Option<&Region>) -> GetRegionResponse {
    GetRegionResponse {
        header: header(cluster),
        region: region.map(Region::to_meta),
        leader: region.and_then(Region::leader),
    }
}

/// Keys of PD are in the form that keeps their order.
fn decoded(key: &[u8]) -> Result<Vec<u8>, Status> {
    if key.is_empty() {
        return Ok(Vec::new());
    }
    codec::decode(key).ok_or_else(|| Status::invalid_argument("the key is not encoded"))
}

fn get_region(cluster: &mut Cluster, request: GetRegionRequest) -> Result<GetRegionResponse, Status> {
    check(cluster, request.header.as_ref())?;
    let key = decoded(&request.region_key)?;
    Ok(region_response(cluster, cluster.regions.of_key(&key)))
}

fn get_prev_region(cluster: &mut Cluster, request: GetRegionRequest) -> Result<GetRegionResponse, Status> {
    check(cluster, request.header.as_ref())?;
    let key = decoded(&request.region_key)?;
    Ok(region_response(cluster, cluster.regions.before(&key)))
}

fn get_region_by_id(
    cluster: &mut Cluster,
    request: GetRegionByIdRequest,
) -> Result<GetRegionResponse, Status> {
    check(cluster, request.header.as_ref())?;
    Ok(region_response(cluster, cluster.regions.by_id(request.region_id)))
}

fn scan_regions(cluster: &mut Cluster, request: ScanRegionsRequest) -> Result<ScanRegionsResponse, Status> {
    check(cluster, request.header.as_ref())?;
    let (start, end) = (decoded(&request.start_key)?, decoded(&request.end_key)?);
    let limit = usize::try_from(request.limit).ok().filter(|&limit| limit > 0).unwrap_or(usize::MAX);
    let wanted = cluster.regions.all().filter(|region| {
        let ends_after = region.range.end.is_empty() || region.range.end > start;
        ends_after && (end.is_empty() || region.range.start < end)
    });
    let mut response = ScanRegionsResponse { header: header(cluster), ..ScanRegionsResponse::default() };
    for region in wanted.take(limit) {
        let leader = region.leader();
        response.region_metas.push(region.to_meta());
        response.leaders.push(leader.unwrap_or_default());
        response.regions.push(RegionAndLeader { region: Some(region.to_meta()), leader });
    }
    Ok(response)
}

fn store((id, address): &(u64, String)) -> metapb::Store {
    metapb::Store { id: *id, address: address.clone(), state: 0, version: VERSION.to_owned() }
}

fn get_store(cluster: &mut Cluster, request: GetStoreRequest) -> Result<GetStoreResponse, Status> {
    check(cluster, request.header.as_ref())?;
    let found = cluster.stores.iter().find(|(id, _)| *id == request.store_id).map(store);
    let header = match found {
        Some(_) => header(cluster),
        None => failed(cluster, format!("invalid store ID {}, not found", request.store_id)),
    };
    Ok(GetStoreResponse { header, store: found })
}

fn get_all_stores(
    cluster: &mut Cluster,
    request: GetAllStoresRequest,
) -> Result<GetAllStoresResponse, Status> {
    check(cluster, request.header.as_ref())?;
    Ok(GetAllStoresResponse { header: header(cluster), stores: cluster.stores.iter().map(store).collect() })
}

fn get_gc_safe_point(
    cluster: &mut Cluster,
    request: GetGcSafePointRequest,
) -> Result<GetGcSafePointResponse, Status> {
    check(cluster, request.header.as_ref())?;
    Ok(GetGcSafePointResponse { header: header(cluster), safe_point: cluster.safe_point })
}

fn update_gc_safe_point(
    cluster: &mut Cluster,
    request: UpdateGcSafePointRequest,
) -> Result<UpdateGcSafePointResponse, Status> {
    check(cluster, request.header.as_ref())?;
    let new_safe_point = cluster.raise_safe_point(request.safe_point);
    Ok(UpdateGcSafePointResponse { header: header(cluster), new_safe_point })
}

/// A service keeps what is newer than its safe point, until its time runs out. The answer is the oldest of all services.
fn update_service_gc_safe_point(
    cluster: &mut Cluster,
    request: UpdateServiceGcSafePointRequest,
) -> Result<UpdateServiceGcSafePointResponse, Status> {
    check(cluster, request.header.as_ref())?;
    let now_ms = clock::physical(cluster.clock.take(1));
    let oldest = cluster.min_service_safe_point(now_ms).map_or(0, |(_, safe_point, _)| safe_point);
    match u64::try_from(request.ttl) {
        Ok(0) | Err(_) => {
            cluster.service_safe_points.remove(&request.service_id);
        }
        Ok(seconds) if request.safe_point >= oldest => {
            let end_ms = now_ms.saturating_add(seconds.saturating_mul(1_000));
            cluster.service_safe_points.insert(request.service_id, (request.safe_point, end_ms));
        }
        // What is older may be gone already.
        Ok(_) => {}
    }
    let (service_id, min_safe_point, end_ms) =
        cluster.min_service_safe_point(now_ms).unwrap_or((Vec::new(), cluster.safe_point, now_ms));
    let ttl = i64::try_from((end_ms - now_ms) / 1_000).unwrap_or(i64::MAX);
    Ok(UpdateServiceGcSafePointResponse { header: header(cluster), service_id, ttl, min_safe_point })
}
