//! A request after its first byte: chunks that pass through stages.

use super::shared::Demand;
use crate::{HardwareProfile, Phase, Requests, Resource, ResourceUse};

/// The largest number of chunks of a request. Chunks exist because a reader passes data on as it arrives.
const CHUNKS: f64 = 64.0;

/// The largest number of chunks of all requests of a kind, unless there are more requests.
const CHUNKS_OF_ALL: f64 = 100_000.0;

/// The size of a chunk in bytes, as long as that does not make too many chunks.
const CHUNK_BYTES: f64 = 131_072.0;

/// The indexes of the resources that every run has.
pub(super) const LINK: usize = 0;
pub(super) const STORE: usize = 1;
pub(super) const CLIENT: usize = 2;

/// A stage that each chunk passes through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stage {
    /// The index of the resource that the stage uses.
    pub(super) resource: usize,
    /// The seconds of a chunk at full speed.
    pub(super) seconds: f64,
    pub(super) demand: Demand,
    /// True if stragglers take longer in this stage.
    pub(super) straggles: bool,
}

/// The requests of one kind in a phase, which are all alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kind {
    pub(super) requests: u64,
    /// The largest number of these requests in flight; `None` stands for the number of slots.
    pub(super) at_once: Option<u64>,
    /// The seconds to the first byte.
    pub(super) latency: f64,
    pub(super) chunks: u32,
    /// The stages, in the order in which each chunk passes them.
    pub(super) stages: Vec<Stage>,
    /// The number of stages until the answer has arrived.
    pub(super) arriving: usize,
}

/// The kinds of requests of a phase. `extra` holds the indexes of the resources that only this phase uses.
pub(super) fn kinds(phase: &Phase, hardware: &HardwareProfile, extra: &[usize]) -> Vec<Kind> {
    let phase = &*phase.on_all_machines(hardware);
    let work = |requests: Requests, bytes: f64| {
        // Bytes need at least one request.
        let requests = if bytes > 0.0 { requests.0.max(1) } else { requests.0 };
        (requests, bytes)
    };
    let (gets, got) = work(phase.gets, phase.got.as_f64());
    let (selects, returned) = work(phase.selects, phase.returned.as_f64());
    let bare = (phase.lists + phase.heads).0;
    let (latency, select) = (hardware.link.latency.as_secs_f64(), hardware.select.latency);
    let slots = hardware.all_slots();
    let (of_all, client) = (gets + selects, &hardware.client);
    // Work that does not depend on bytes is divided evenly among the requests with an answer.
    let each = |requests: u64, lanes: &Lanes| {
        requests as f64 / of_all as f64 * lanes.share / lanes.requests as f64
    };
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
        let stage = |(used, resource): (&ResourceUse, &usize)| {
            let name = used.resource.name();
            let capacity = hardware.capacities.get(name).unwrap_or(&used.per_second);
            let seconds = (used.amount / capacity).max(0.0) * share;
            // Requests use such a resource one after the other, each all of it.
            let demand = [limits(*resource, hardware)[0].min(f64::MAX), 0.0];
            Stage { resource: *resource, seconds, demand, straggles: false }
        };
        phase.uses.iter().zip(extra).map(stage).collect::<Vec<_>>()
    };
    let asking = client.per_request.unwrap_or_default().as_secs_f64();
    let mut all = Vec::new();
    if bare > 0 {
        let asked = (asking > 0.0).then(|| parse(asking));
        let (chunks, stages) = (1, asked.into_iter().collect());
        all.push(Kind { requests: bare, at_once: None, latency, chunks, stages, arriving: 0 });
    }
    let of_gets = match gets {
        0 => Vec::new(),
        gets => Lanes::split(gets, phase.gets_at_once, slots),
    };
    for lanes in of_gets {
        let (bytes, each) = (got * lanes.share / lanes.requests as f64, each(gets, &lanes));
        let own = hardware.ingest_seconds(phase.format, bytes) + parsing * each + asking;
        let mut stages = vec![transfer(bytes)];
        stages.extend(used(each));
        stages.push(parse(own));
        all.push(kind(&lanes, latency, bytes, stages, 1));
    }
    let of_selects = match selects {
        0 => Vec::new(),
        selects => Lanes::split(selects, phase.selects_at_once, slots),
    };
    for lanes in of_selects {
        let part = lanes.share / lanes.requests as f64;
        let scanning = phase.store_seconds(hardware) * part;
        let scanned = phase.scanned.as_f64() * part;
        let rate = if scanning > 0.0 { scanned / scanning } else { 0.0 };
        let scan = Stage {
            resource: if client.shares_cores { CLIENT } else { STORE },
            seconds: scanning,
            demand: [1.0, rate],
            straggles: true,
        };
        let (bytes, each) = (returned * part, each(selects, &lanes));
        let values = phase.answered * part;
        let own = hardware.answer_seconds(phase.answer, bytes, values) + parsing * each;
        let mut stages = vec![scan, transfer(bytes)];
        stages.extend(used(each));
        stages.push(parse(own));
        all.push(kind(&lanes, select.as_secs_f64(), scanned.max(bytes), stages, 2));
    }
    all
}

/// Requests sent by a number of lanes, each of which sends the same number of requests.
#[derive(Debug, PartialEq)]
struct Lanes {
    requests: u64,
    /// The number of lanes; `None` stands for the number of slots.
    at_once: Option<u64>,
    /// The fraction of all bytes in these requests: that of their lanes, because each lane has the same number of
    /// bytes.
    share: f64,
}

impl Lanes {
    /// Divides requests among lanes. If their number is not a multiple of the lanes, some lanes send one request more
    /// than the others, and smaller ones, because plans divide bytes and not requests.
    fn split(requests: u64, at_once: Option<Requests>, slots: u64) -> Vec<Self> {
        let lanes = at_once.map_or(slots, |many| many.0.clamp(1, slots));
        let (waves, more) = (requests / lanes, requests % lanes);
        if waves == 0 || more == 0 {
            return vec![Self { requests, at_once: at_once.map(|_| lanes), share: 1.0 }];
        }
        let some = |lanes_of: u64, waves: u64| Self {
            requests: lanes_of * waves,
            at_once: Some(lanes_of),
            share: lanes_of as f64 / lanes as f64,
        };
        vec![some(more, waves + 1), some(lanes - more, waves)]
    }
}

/// The client's work of a phase without requests, as a request without a wait.
pub(super) fn local(phase: &Phase, hardware: &HardwareProfile, extra: &[usize]) -> Option<Kind> {
    let alone = Phase { gets: Requests(1), ..phase.clone() };
    let only = kinds(&alone, hardware, extra).pop()?;
    Some(Kind { latency: 0.0, arriving: 0, ..only })
}

/// The limits of a resource: bytes per second of the link, cores and bytes per second of the store, cores of the
/// client, and 1 for all others.
pub(super) fn limits(resource: usize, hardware: &HardwareProfile) -> Demand {
    let scan = hardware.select.total_bytes_per_second.0;
    let cores = hardware.all_cores();
    match resource {
        LINK => [hardware.all_links(), f64::INFINITY],
        STORE => [hardware.select.cores, scan],
        CLIENT if hardware.client.shares_cores => [cores, scan],
        CLIENT => [cores, f64::INFINITY],
        _ => [1.0, f64::INFINITY],
    }
}

/// Builds a kind from stages of whole requests, divided among the chunks. Stages without work are left out.
fn kind(
    &Lanes { requests, at_once, .. }: &Lanes,
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

/// The index of a resource, if every run has it.
pub(super) fn place(resource: Resource) -> Option<usize> {
    match resource {
        Resource::LINK => Some(LINK),
        Resource::STORE_SCAN => Some(STORE),
        Resource::CLIENT | Resource::SHARED_CORES => Some(CLIENT),
        _ => None,
    }
}
