//! What a request does after its first byte: chunks that go through stages.

use super::shared::Demand;
use crate::{HardwareProfile, Phase, Requests, Resource, Use};

/// What a request is cut into, at most: a reader hands on what it has.
const CHUNKS: f64 = 64.0;

/// What all requests of a kind are cut into, at most, if they are fewer than that.
const CHUNKS_OF_ALL: f64 = 100_000.0;

/// The bytes of a chunk, where that does not make too many.
const CHUNK_BYTES: f64 = 131_072.0;

/// The resources that every run has, by their place.
pub(super) const LINK: usize = 0;
pub(super) const STORE: usize = 1;
pub(super) const CLIENT: usize = 2;

/// A part of the way of a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stage {
    /// The place of the resource.
    pub(super) resource: usize,
    /// Seconds at full speed.
    pub(super) seconds: f64,
    pub(super) demand: Demand,
    /// Whether a straggler takes longer there.
    pub(super) straggles: bool,
}

/// All requests of one kind in a phase, which are alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kind {
    pub(super) requests: u64,
    /// How many may be in flight at once; none if they share the slots of the profile.
    pub(super) at_once: Option<u64>,
    /// Seconds to the first byte.
    pub(super) latency: f64,
    pub(super) chunks: u32,
    /// In the order in which each chunk passes them.
    pub(super) stages: Vec<Stage>,
    /// How many stages there are until the answer has arrived.
    pub(super) arriving: usize,
}

/// The kinds of requests of a phase. `extra` are the places of the resources that it uses beside those
/// that all have.
pub(super) fn kinds(phase: &Phase, hardware: &HardwareProfile, extra: &[usize]) -> Vec<Kind> {
    let work = |requests: Requests, bytes: f64| {
        // Bytes come by some request.
        let requests = if bytes > 0.0 { requests.0.max(1) } else { requests.0 };
        (requests, bytes)
    };
    let (gets, got) = work(phase.gets, phase.got.as_f64());
    let (selects, returned) = work(phase.selects, phase.returned.as_f64());
    let bare = (phase.lists + phase.heads).0;
    let (latency, select) = (hardware.link.latency.as_secs_f64(), hardware.select.latency);
    let of_all = gets + selects;
    let client = &hardware.client;
    // What is not by the byte is the same for each request that has an answer.
    let each = |requests: u64| 1.0 / (if of_all > 0 { of_all } else { requests }).max(1) as f64;
    let parsing = phase.values * client.per_value.unwrap_or_default().as_secs_f64()
        + client.evaluating(phase.here);
    let connection =
        hardware.link.connection_bytes_per_second.0.min(hardware.link.bytes_per_second.0);
    let transfer = |bytes: f64| Stage {
        resource: LINK,
        seconds: bytes / connection,
        demand: [connection, 0.0],
        straggles: true,
    };
    let parse =
        |seconds: f64| Stage { resource: CLIENT, seconds, demand: [1.0, 0.0], straggles: false };
    let used = |share: f64| {
        let stage = |(used, resource): (&Use, &usize)| {
            let name = used.resource.name();
            let capacity = hardware.capacities.get(name).unwrap_or(&used.per_second);
            let seconds = (used.amount / capacity).max(0.0) * share;
            // One after the other: each has all of the resource.
            let demand = [limits(*resource, hardware)[0].min(f64::MAX), 0.0];
            Stage { resource: *resource, seconds, demand, straggles: false }
        };
        phase.uses.iter().zip(extra).map(stage).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    if bare > 0 {
        let (chunks, stages) = (1, Vec::new());
        all.push(Kind { requests: bare, at_once: None, latency, chunks, stages, arriving: 0 });
    }
    if gets > 0 {
        let bytes = got / gets as f64;
        let own = hardware.ingest_seconds(phase.format, bytes) + parsing * each(gets);
        let mut stages = vec![transfer(bytes)];
        stages.extend(used(each(gets)));
        stages.push(parse(own));
        let at_once = phase.gets_at_once.map(|many| many.0.max(1));
        all.push(kind(gets, at_once, latency, bytes, stages, 1));
    }
    if selects > 0 {
        let many = selects as f64;
        let scanning = phase.store_seconds(hardware) / many;
        let scanned = phase.scanned.as_f64() / many;
        let rate = if scanning > 0.0 { scanned / scanning } else { 0.0 };
        let scan = Stage {
            resource: if client.shares_cores { CLIENT } else { STORE },
            seconds: scanning,
            demand: [1.0, rate],
            straggles: true,
        };
        let bytes = returned / many;
        let own =
            hardware.ingest_seconds(phase.format.of_answer(), bytes) + parsing * each(selects);
        let mut stages = vec![scan, transfer(bytes)];
        stages.extend(used(each(selects)));
        stages.push(parse(own));
        let at_once = phase.selects_at_once.map(|many| many.0.max(1));
        let size = scanned.max(bytes);
        all.push(kind(selects, at_once, select.as_secs_f64(), size, stages, 2));
    }
    all
}

/// What a phase that sends no request does here, as a request that waits for nothing.
pub(super) fn local(phase: &Phase, hardware: &HardwareProfile, extra: &[usize]) -> Option<Kind> {
    let alone = Phase { gets: Requests(1), ..phase.clone() };
    let only = kinds(&alone, hardware, extra).pop()?;
    Some(Kind { latency: 0.0, arriving: 0, ..only })
}

/// What there is of a resource: of the link bytes per second, of the store cores and bytes per second, of
/// the client cores, of all others one.
pub(super) fn limits(resource: usize, hardware: &HardwareProfile) -> Demand {
    let scan = hardware.select.total_bytes_per_second.0;
    let cores = f64::from(hardware.client.cores.get());
    match resource {
        LINK => [hardware.link.bytes_per_second.0, f64::INFINITY],
        STORE => [hardware.select.cores, scan],
        CLIENT if hardware.client.shares_cores => [cores, scan],
        CLIENT => [cores, f64::INFINITY],
        _ => [1.0, f64::INFINITY],
    }
}

/// Stages for whole requests, of which each chunk has its part. A stage without work is left out.
fn kind(
    requests: u64,
    at_once: Option<u64>,
    latency: f64,
    bytes: f64,
    mut stages: Vec<Stage>,
    arriving: usize,
) -> Kind {
    let most = (CHUNKS_OF_ALL / requests as f64).clamp(1.0, CHUNKS);
    let chunks = (bytes / CHUNK_BYTES).clamp(1.0, most).ceil() as u32;
    let arriving = stages[..arriving].iter().filter(|stage| stage.seconds > 0.0).count();
    stages.retain(|stage| stage.seconds > 0.0);
    for stage in &mut stages {
        stage.seconds /= f64::from(chunks);
    }
    Kind { requests, at_once, latency, chunks, stages, arriving }
}

/// The place of a resource that every run has.
pub(super) fn place(resource: Resource) -> Option<usize> {
    match resource {
        Resource::LINK => Some(LINK),
        Resource::STORE_SCAN => Some(STORE),
        Resource::CLIENT | Resource::SHARED_CORES => Some(CLIENT),
        _ => None,
    }
}
