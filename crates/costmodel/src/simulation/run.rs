//! One run: steps become phases, phases become requests, and requests become jobs of the resources.

use super::events::Events;
use super::request::{Kind, Stage, kinds, limits, local, place};
use super::shared::Shared;
use super::{Conditions, Latency, Simulated, Span, Throttle};
use crate::random::Random;
use crate::rate::seconds;
use crate::{HardwareProfile, Phase, Requests, Steps};

/// The lower limit, in seconds, of the longest pause before a retry, so that every run ends.
const LEAST_PAUSE: f64 = 0.001;

/// The number of resources that every run has; all others follow them.
const COMMON: usize = 3;

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A step begins, or its next part does.
    Begin(usize),
    /// A phase has waited for its dependent requests and can send the others.
    Open(usize),
    /// A request reaches the store.
    Send(usize),
    /// The first byte of an answer arrives.
    Answer(usize),
    /// A job of a resource ends, unless the resource's version has changed since.
    End { resource: usize, version: u64 },
}

/// A step and its progress.
#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Phase(usize),
    /// `asks` has, for each child, whether it sends requests.
    InTurn {
        children: Vec<usize>,
        asks: Vec<bool>,
        begun: usize,
    },
    Together {
        children: Vec<usize>,
        ended: usize,
    },
}

#[derive(Debug)]
struct PhaseRun {
    node: usize,
    name: &'static str,
    /// The number of dependent requests before the first of these can be sent.
    rounds: u32,
    latency: f64,
    kinds: Vec<KindRun>,
    /// The number of requests that are not finished.
    left: u64,
    start: f64,
    end: f64,
}

#[derive(Debug)]
struct KindRun {
    kind: Kind,
    sent: u64,
    in_flight: u64,
}

/// A request, from when it gets a slot until its last chunk is processed.
#[derive(Debug, Default)]
struct Request {
    phase: usize,
    kind: usize,
    /// The factor by which the request is slower than others.
    slower: f64,
    prefix: usize,
    retries: u32,
    /// For each stage, the number of finished chunks, and whether the stage is busy.
    stages: Vec<(u32, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct Prefix {
    /// The number of requests that the prefix would admit at once.
    admits: f64,
    at: f64,
}

#[derive(Debug)]
pub(super) struct Run<'a> {
    hardware: &'a HardwareProfile,
    conditions: &'a Conditions,
    random: Random,
    events: Events<Event>,
    nodes: Vec<Node>,
    phases: Vec<PhaseRun>,
    resources: Vec<Shared>,
    /// The names of the resources that only this run has.
    extra: Vec<&'static str>,
    requests: Vec<Request>,
    /// The indexes of requests that are finished and can be reused.
    unused: Vec<usize>,
    /// Phases with requests to send, and the index of the next one to serve.
    open: Vec<usize>,
    turn: usize,
    in_flight: u32,
    most_in_flight: u32,
    sent: u64,
    /// The earliest time at which the client can send the next request.
    next_send: f64,
    prefixes: Vec<Prefix>,
    refused: u64,
    over: bool,
    /// The largest number of stages of a request. A job's number is its request's index times this, plus its stage.
    stride: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        steps: &Steps,
        hardware: &'a HardwareProfile,
        conditions: &'a Conditions,
        seed: u64,
    ) -> Self {
        let burst = conditions.throttle.map_or(0.0, |it| it.burst.max(1.0));
        let prefixes = conditions.throttle.map_or(0, |it| it.prefixes.max(1) as usize);
        let resources = (0..COMMON).map(|place| Shared::new(limits(place, hardware)));
        let mut run = Self {
            hardware,
            conditions,
            random: Random::new(seed),
            events: Events::new(),
            nodes: Vec::new(),
            phases: Vec::new(),
            resources: resources.collect(),
            extra: Vec::new(),
            requests: Vec::new(),
            unused: Vec::new(),
            open: Vec::new(),
            turn: 0,
            in_flight: 0,
            most_in_flight: 0,
            sent: 0,
            next_send: 0.0,
            prefixes: vec![Prefix { admits: burst, at: 0.0 }; prefixes],
            refused: 0,
            over: false,
            stride: 1,
        };
        let root = run.node(steps, None);
        run.events.after(hardware.client.startup.as_secs_f64(), Event::Begin(root));
        run
    }

    pub(super) fn finish(mut self) -> Simulated {
        while !self.over
            && let Some(event) = self.events.next()
        {
            match event {
                Event::Begin(node) => self.begin(node),
                Event::Open(phase) => {
                    self.open.push(phase);
                    self.fill_slots();
                }
                Event::Send(request) => self.send(request),
                Event::Answer(request) => self.answered(request),
                Event::End { resource, version } => self.ended(resource, version),
            }
        }
        let span =
            |it: &PhaseRun| Span { name: it.name, start: seconds(it.start), end: seconds(it.end) };
        Simulated {
            time: seconds(self.events.now()),
            phases: self.phases.iter().map(span).collect(),
            refused: self.refused,
            in_flight: self.most_in_flight,
        }
    }

    fn node(&mut self, steps: &Steps, parent: Option<usize>) -> usize {
        let place = self.nodes.len();
        self.nodes.push(Node { parent, step: Step::Phase(0) });
        let children = |run: &mut Self, steps: &[Steps]| {
            steps.iter().map(|step| run.node(step, Some(place))).collect()
        };
        let step = match steps {
            Steps::Phase(phase) => Step::Phase(self.phase(phase, place)),
            Steps::InTurn(steps) => Step::InTurn {
                children: children(self, steps),
                asks: steps.iter().map(Steps::asks).collect(),
                begun: 0,
            },
            Steps::Together(steps) => Step::Together { children: children(self, steps), ended: 0 },
        };
        self.nodes[place].step = step;
        place
    }

    fn phase(&mut self, phase: &Phase, node: usize) -> usize {
        let mut extra = Vec::new();
        for used in &phase.uses {
            let resource = place(used.resource).unwrap_or_else(|| {
                let name = used.resource.name();
                let known = self.extra.iter().position(|other| *other == name);
                let new = known.unwrap_or(self.extra.len());
                if known.is_none() {
                    self.extra.push(name);
                    let place = self.resources.len();
                    self.resources.push(Shared::new(limits(place, self.hardware)));
                }
                COMMON + new
            });
            extra.push(resource);
        }
        let mut kinds = kinds(phase, self.hardware, &extra);
        let waits = kinds.iter().map(|kind| kind.latency).fold(0.0, f64::max);
        let answers = phase.gets + phase.selects;
        if answers == Requests::ZERO && kinds.iter().all(|kind| kind.stages.is_empty()) {
            kinds.extend(local(phase, self.hardware, &extra).filter(|it| !it.stages.is_empty()));
        }
        let stages = kinds.iter().map(|kind| kind.stages.len()).max();
        self.stride = self.stride.max(stages.unwrap_or(0));
        let left = kinds.iter().map(|kind| kind.requests).sum();
        let kinds = kinds.into_iter().map(|kind| KindRun { kind, sent: 0, in_flight: 0 });
        self.phases.push(PhaseRun {
            node,
            name: phase.name,
            rounds: phase.rounds,
            latency: waits,
            kinds: kinds.collect(),
            left,
            start: 0.0,
            end: 0.0,
        });
        self.phases.len() - 1
    }

    fn begin(&mut self, node: usize) {
        match &mut self.nodes[node].step {
            Step::Phase(phase) => {
                let phase = *phase;
                self.phases[phase].start = self.events.now();
                let (rounds, latency) = (self.phases[phase].rounds, self.phases[phase].latency);
                let waiting: f64 = (1..rounds).map(|_| self.latency(latency)).sum();
                match self.phases[phase].left {
                    0 => self.phase_over(phase),
                    _ => self.events.after(waiting, Event::Open(phase)),
                }
            }
            Step::InTurn { children, asks, begun } => match children.get(*begun) {
                Some(child) => {
                    let before = asks.iter().take(*begun).any(|asks| *asks);
                    let (child, is_next) = (*child, before && asks[*begun]);
                    *begun += 1;
                    let next = self.hardware.client.next_step.filter(|_| is_next);
                    self.events.after(next.unwrap_or_default().as_secs_f64(), Event::Begin(child));
                }
                None => self.over(node),
            },
            Step::Together { children, .. } => {
                let all = children.clone();
                if all.is_empty() {
                    self.over(node);
                }
                for child in all {
                    self.events.after(0.0, Event::Begin(child));
                }
            }
        }
    }

    fn phase_over(&mut self, phase: usize) {
        self.phases[phase].end = self.events.now();
        self.over(self.phases[phase].node);
    }

    fn over(&mut self, node: usize) {
        let Some(parent) = self.nodes[node].parent else {
            self.over = true;
            return;
        };
        match &mut self.nodes[parent].step {
            Step::Together { children, ended } => {
                *ended += 1;
                if *ended == children.len() {
                    self.over(parent);
                }
            }
            // Begins the next step, or ends the parent after the last one.
            _ => self.events.after(0.0, Event::Begin(parent)),
        }
    }

    /// Gives free slots to the open phases in turn, up to the planned concurrency of each.
    fn fill_slots(&mut self) {
        let slots = self.hardware.all_slots();
        let mut passed = 0;
        while passed < self.open.len() {
            self.turn %= self.open.len();
            let phase = self.open[self.turn];
            let is_free = u64::from(self.in_flight) < slots;
            let can = |it: &KindRun| {
                let wants = it.kind.at_once.is_none_or(|many| it.in_flight < many);
                it.sent < it.kind.requests && is_free && wants
            };
            match self.phases[phase].kinds.iter().position(can) {
                Some(kind) => {
                    passed = 0;
                    self.turn += 1;
                    self.start(phase, kind);
                }
                None if self.phases[phase].kinds.iter().all(|it| it.sent == it.kind.requests) => {
                    self.open.remove(self.turn);
                }
                None => {
                    passed += 1;
                    self.turn += 1;
                }
            }
        }
    }

    fn start(&mut self, phase: usize, kind: usize) {
        let run = &mut self.phases[phase].kinds[kind];
        run.sent += 1;
        run.in_flight += 1;
        let stages = vec![(0, false); run.kind.stages.len()];
        self.in_flight += 1;
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
        let stragglers = self.conditions.stragglers;
        let straggles = stragglers.share > 0.0 && self.random.uniform() < stragglers.share;
        let slower = if straggles { stragglers.factor.max(1.0) } else { 1.0 };
        let prefix = (self.sent % self.prefixes.len().max(1) as u64) as usize;
        self.sent += 1;
        let request = Request { phase, kind, slower, prefix, retries: 0, stages };
        let place = self.unused.pop().unwrap_or(self.requests.len());
        match self.requests.get_mut(place) {
            Some(unused) => *unused = request,
            None => self.requests.push(request),
        }
        let now = self.events.now();
        let at = self.next_send.max(now);
        self.next_send = at + 1.0 / self.hardware.requests.per_second;
        self.events.after(at - now, Event::Send(place));
    }

    fn send(&mut self, request: usize) {
        let latency = self.kind(request).latency;
        let latency = self.latency(latency);
        let Some(throttle) = self.conditions.throttle.filter(|it| !self.admits(request, it)) else {
            let slower = self.requests[request].slower;
            self.events.after(latency * slower, Event::Answer(request));
            return;
        };
        self.refused += 1;
        let retries = self.requests[request].retries;
        self.requests[request].retries = retries.saturating_add(1);
        let longest = throttle.pause.as_secs_f64() * 2f64.powi(retries.min(60) as i32);
        let longest = longest.min(throttle.longest_pause.as_secs_f64()).max(LEAST_PAUSE);
        let pause = longest * self.random.uniform();
        self.events.after(latency + pause, Event::Send(request));
    }

    /// Returns true if the request's prefix admits one more request, and counts it.
    fn admits(&mut self, request: usize, throttle: &Throttle) -> bool {
        let now = self.events.now();
        let prefix = &mut self.prefixes[self.requests[request].prefix];
        let since = (now - prefix.at) * throttle.per_second.max(LEAST_PAUSE);
        *prefix = Prefix { admits: (prefix.admits + since).min(throttle.burst.max(1.0)), at: now };
        let admits = prefix.admits >= 1.0;
        if admits {
            prefix.admits -= 1.0;
        }
        admits
    }

    /// Draws a time to the first byte.
    fn latency(&mut self, median: f64) -> f64 {
        match self.conditions.latency {
            Latency::Constant => median,
            Latency::LogNormal(sigma) => median * (sigma * self.random.normal()).exp(),
        }
    }

    fn kind(&self, request: usize) -> &Kind {
        let Request { phase, kind, .. } = self.requests[request];
        &self.phases[phase].kinds[kind].kind
    }

    fn answered(&mut self, request: usize) {
        let kind = self.kind(request);
        let (arriving, stages) = (kind.arriving, kind.stages.len());
        if arriving == 0 {
            self.arrived(request);
        }
        if stages == 0 {
            self.done(request);
        } else {
            self.chunk(request, 0);
        }
    }

    /// Starts the next chunk of a stage, if the previous stage has finished it.
    fn chunk(&mut self, request: usize, stage: usize) {
        let kind = self.kind(request);
        let Some(Stage { resource, seconds, demand, straggles }) = kind.stages.get(stage).copied()
        else {
            return;
        };
        let chunks = kind.chunks;
        let of = &mut self.requests[request];
        let there = if stage == 0 { chunks } else { of.stages[stage - 1].0 };
        let (ready, is_busy) = &mut of.stages[stage];
        if *is_busy || *ready >= there {
            return;
        }
        *is_busy = true;
        let slower = if straggles { of.slower } else { 1.0 };
        // The job does the same work at a lower rate.
        let demand = demand.map(|wanted| wanted / slower);
        let job = request * self.stride + stage;
        let now = self.events.now();
        self.resources[resource].start(now, seconds * slower, demand, job);
        self.schedule(resource);
    }

    fn ended(&mut self, resource: usize, version: u64) {
        let now = self.events.now();
        let Some(job) = self.resources[resource].end(now, version) else { return };
        self.schedule(resource);
        let (request, stage) = (job / self.stride, job % self.stride);
        let kind = self.kind(request);
        let (chunks, arriving, stages) = (kind.chunks, kind.arriving, kind.stages.len());
        let (ready, is_busy) = &mut self.requests[request].stages[stage];
        *ready += 1;
        *is_busy = false;
        let is_through = *ready == chunks;
        if is_through && stage + 1 == arriving {
            self.arrived(request);
        }
        if is_through && stage + 1 == stages {
            self.done(request);
            return;
        }
        self.chunk(request, stage);
        self.chunk(request, stage + 1);
    }

    fn schedule(&mut self, resource: usize) {
        if let Some((seconds, version)) = self.resources[resource].next_end() {
            self.events.after(seconds, Event::End { resource, version });
        }
    }

    /// Frees the slot of a request whose whole answer has arrived.
    fn arrived(&mut self, request: usize) {
        let Request { phase, kind, .. } = self.requests[request];
        let of = &mut self.phases[phase].kinds[kind];
        of.in_flight -= 1;
        self.in_flight -= 1;
        self.fill_slots();
    }

    fn done(&mut self, request: usize) {
        let phase = self.requests[request].phase;
        self.unused.push(request);
        self.phases[phase].left -= 1;
        if self.phases[phase].left == 0 {
            self.phase_over(phase);
        }
    }
}
