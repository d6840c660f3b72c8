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
    /// How many of them are in flight at once, if there are slots; none if as many as there are slots.
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
    let phase = &*phase.on_all_machines(hardware);
    let work = |requests: Requests, bytes: f64| {
        // Bytes come by some request.
        let requests = if bytes > 0.0 { requests.0.max(1) } else { requests.0 };
        (requests, bytes)
    };
    let (gets, got) = work(phase.gets, phase.got.as_f64());
    let (selects, returned) = work(phase.selects, phase.returned.as_f64());
    let bare = (phase.lists + phase.heads).0;
    let (latency, select) = (hardware.link.latency.as_secs_f64(), hardware.select.latency);
    let slots = hardware.all_slots();
    let (of_all, client) = (gets + selects, &hardware.client);
    // What is not by the byte is the same for each request that has an answer.
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
    let asking = client.per_request.unwrap_or_default().as_secs_f64();
    let mut all = Vec::new();
    if bare > 0 {
        let asked = (asking > 0.0).then(|| parse(asking));
        let (chunks, stages) = (1, asked.into_iter().collect());
        all.push(Kind { requests: bare, at_once: None, latency, chunks, stages, arriving: 0 });
    }
    let of_gets = match gets {
        0 => Vec::new(),
        gets => Lanes::of(gets, phase.gets_at_once, slots),
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
        selects => Lanes::of(selects, phase.selects_at_once, slots),
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
        let own = hardware.ingest_seconds(phase.format.of_answer(), bytes) + parsing * each;
        let mut stages = vec![scan, transfer(bytes)];
        stages.extend(used(each));
        stages.push(parse(own));
        all.push(kind(&lanes, select.as_secs_f64(), scanned.max(bytes), stages, 2));
    }
    all
}

/// Requests that are sent by so many at once, each of whom sends as many.
#[derive(Debug, PartialEq)]
struct Lanes {
    requests: u64,
    /// None if there are as many as there are slots.
    at_once: Option<u64>,
    /// Their part of all bytes: that of the lanes, since each has as many bytes as any other.
    share: f64,
}

impl Lanes {
    /// Of more requests than are in flight at once, and not a multiple of these, some lanes send one more than
    /// others, and smaller ones: plans divide bytes, not requests.
    fn of(requests: u64, at_once: Option<Requests>, slots: u64) -> Vec<Self> {
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
    let cores = hardware.all_cores();
    match resource {
        LINK => [hardware.all_links(), f64::INFINITY],
        STORE => [hardware.select.cores, scan],
        CLIENT if hardware.client.shares_cores => [cores, scan],
        CLIENT => [cores, f64::INFINITY],
        _ => [1.0, f64::INFINITY],
    }
}

/// Stages for whole requests, of which each chunk has its part. A stage without work is left out.
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

/// The place of a resource that every run has.
pub(super) fn place(resource: Resource) -> Option<usize> {
    match resource {
        Resource::LINK => Some(LINK),
        Resource::STORE_SCAN => Some(STORE),
        Resource::CLIENT | Resource::SHARED_CORES => Some(CLIENT),
        _ => None,
    }
}
