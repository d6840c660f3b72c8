use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;
use crate::{Bytes, BytesPerSecond, Requests, Resource, ResourceUse, Rows, predict};

/// Hardware on which nothing binds and nothing takes time; each test adds a constraint.
fn unbound() -> HardwareProfile {
    let mut hardware = HardwareProfile::paper().clone();
    let all = BytesPerSecond::UNLIMITED;
    hardware.link.bytes_per_second = all;
    hardware.link.connection_bytes_per_second = all;
    hardware.link.latency = Duration::ZERO;
    hardware.requests.per_second = f64::INFINITY;
    hardware.select.latency = Duration::ZERO;
    hardware.select.csv_bytes_per_second = all;
    hardware.select.per_term = Duration::ZERO;
    hardware.select.total_bytes_per_second = all;
    hardware.select.per_value = None;
    hardware.client.startup = Duration::ZERO;
    hardware.client.next_step = None;
    hardware.client.csv_bytes_per_second = all;
    hardware
}

fn get(requests: u64, got: Bytes) -> Steps {
    Phase { gets: Requests(requests), got, ..Phase::default() }.into()
}

fn select(requests: u64) -> Phase {
    Phase {
        selects: Requests(requests),
        scanned: Bytes::gib(7),
        scanned_rows: Rows(60_000_000),
        terms: 1.into(),
        returned: Bytes::kib(80),
        ..Phase::default()
    }
}

fn time(steps: &Steps, hardware: &HardwareProfile, conditions: &Conditions) -> f64 {
    simulate(steps, hardware, conditions, 1).unwrap().time.as_secs_f64()
}

/// Without scatter, the simulated time equals the predicted one within 2 %.
#[track_caller]
fn agrees(steps: &Steps, hardware: &HardwareProfile, bound_by: Resource) {
    let prediction = predict(steps, hardware);
    assert_eq!(prediction.bound_by(), Some(bound_by));
    let predicted = prediction.total().as_secs_f64();
    let calm = time(steps, hardware, &Conditions::default());
    assert!((calm / predicted - 1.0).abs() < 0.02, "{calm} s, predicted {predicted} s");
    // A little scatter changes little.
    let conditions = Conditions { latency: Latency::LogNormal(0.01), ..Conditions::default() };
    let nearly = time(steps, hardware, &conditions);
    assert!((nearly / predicted - 1.0).abs() < 0.03, "{nearly} s, predicted {predicted} s");
}

#[test]
fn the_link_binds() {
    let mut hardware = unbound();
    hardware.link.bytes_per_second = BytesPerSecond::gbit(1.0);
    agrees(&get(960, Bytes::gib(7)), &hardware, Resource::LINK);
    hardware.link.connection_bytes_per_second = BytesPerSecond::gbit(0.3);
    agrees(&get(960, Bytes::gib(7)), &hardware, Resource::LINK);
}

/// A core's time for a GET counts as work of the client, in predictions and in simulations.
#[test]
fn asking_binds() {
    let mut hardware = unbound();
    hardware.client.per_request = Some(Duration::from_millis(40));
    agrees(&get(960, Bytes::mib(7)), &hardware, Resource::CLIENT);
}

#[test]
fn the_connections_bind() {
    let mut hardware = unbound();
    hardware.link.connection_bytes_per_second = BytesPerSecond::gbit(0.4);
    hardware.requests.slots = NonZeroU32::new(16).unwrap();
    agrees(&get(960, Bytes::gib(7)), &hardware, Resource::CONNECTION_RATE);
}

/// Requests that do not fill their last wave. A prediction hides the latency of later waves behind the resource that
/// binds; a run without scatter does not. The two differ by no more than that.
#[test]
fn the_last_wave_may_be_short() {
    let mut hardware = HardwareProfile::by_name("aws-in-region").unwrap().clone();
    hardware.client.overlap = 1.0;
    for (requests, at_once) in [(5_u64, 2_u64), (67, 64), (3, 2), (33, 16), (7, 8), (300, 300)] {
        let waves = requests.div_ceil(at_once.min(256)) as f64;
        let at_once = Some(Requests(at_once));
        let phase = Phase { gets_at_once: at_once, selects_at_once: at_once, ..Phase::default() };
        let gets = Phase { gets: Requests(requests), got: Bytes::mib(40), ..phase.clone() };
        let predicted = predict(&gets.clone().into(), &hardware).total().as_secs_f64();
        let calm = time(&gets.into(), &hardware, &Conditions::default());
        assert!((calm / predicted - 1.0).abs() < 0.1, "{requests} GETs: {calm} s, {predicted} s");
        let selects = Phase { selects_at_once: at_once, ..select(requests) };
        let predicted = predict(&selects.clone().into(), &hardware).total().as_secs_f64();
        let calm = time(&selects.into(), &hardware, &Conditions::default());
        let most = predicted * 1.02 + 0.2 * (waves - 1.0);
        let is_between = predicted * 0.999 <= calm && calm <= most;
        assert!(is_between, "{requests} statements: {calm} s, {predicted} s to {most} s");
    }
}

#[test]
fn no_more_are_in_flight_than_there_are_slots() {
    let mut hardware = HardwareProfile::by_name("aws-in-region").unwrap().clone();
    let at_once = Some(Requests(16));
    let phase = Phase { selects_at_once: at_once, gets_at_once: at_once, ..select(32) };
    for (slots, expected) in [(1, 1), (4, 4), (64, 32)] {
        hardware.requests.slots = NonZeroU32::new(slots).unwrap();
        let one = Phase { gets: Requests(32), got: Bytes::mib(1), ..phase.clone() };
        let run = simulate(&one.into(), &hardware, &Conditions::default(), 1).unwrap();
        assert_eq!(run.in_flight, expected);
    }
}

#[test]
fn latencies_bind() {
    let mut hardware = unbound();
    hardware.link.latency = Duration::from_millis(30);
    hardware.requests.slots = NonZeroU32::new(64).unwrap();
    agrees(&get(6400, Bytes::mib(1)), &hardware, Resource::REQUEST_SLOTS);
}

#[test]
fn the_rate_of_requests_binds() {
    let mut hardware = unbound();
    hardware.link.latency = Duration::from_millis(30);
    hardware.requests.per_second = 6600.0;
    agrees(&get(60_000, Bytes::mib(8)), &hardware, Resource::REQUEST_RATE);
}

#[test]
fn the_stores_cores_bind() {
    let mut hardware = unbound();
    hardware.select.csv_bytes_per_second = BytesPerSecond(130e6);
    hardware.select.per_term = Duration::from_nanos(290);
    agrees(&select(96).into(), &hardware, Resource::STORE_SCAN);
    // The cores are fewer than the requests, and not a whole number.
    hardware.select.cores = 6.5;
    agrees(&select(96).into(), &hardware, Resource::STORE_SCAN);
    // The plan limits the requests in flight.
    let few = Phase { selects_at_once: Some(Requests(4)), ..select(96) };
    agrees(&few.into(), &hardware, Resource::STORE_SCAN);
    // The slots limit them, whatever the plan says.
    hardware.requests.slots = NonZeroU32::new(4).unwrap();
    let all = Phase { selects_at_once: Some(Requests(96)), ..select(96) };
    agrees(&all.into(), &hardware, Resource::STORE_SCAN);
    hardware.requests.slots = NonZeroU32::new(96).unwrap();
    hardware.select.cores = 1000.0;
    hardware.select.total_bytes_per_second = BytesPerSecond(1e9);
    agrees(&select(96).into(), &hardware, Resource::STORE_SCAN);
}

#[test]
fn the_client_binds() {
    let mut hardware = unbound();
    hardware.client.csv_bytes_per_second = BytesPerSecond(11.2e6);
    agrees(&get(960, Bytes::gib(7)), &hardware, Resource::CLIENT);
    // The requests are fewer than the cores.
    agrees(&get(3, Bytes::mib(70)), &hardware, Resource::CLIENT);
    hardware.client.per_value = Some(Duration::from_nanos(50));
    hardware.client.per_update = Some(Duration::from_nanos(50));
    let here = crate::Terms { updates: 1e9, ..crate::Terms::NONE };
    let phase = Phase { gets: Requests(320), values: 1e9, here, ..Phase::default() };
    agrees(&phase.into(), &hardware, Resource::CLIENT);
}

#[test]
fn cores_of_both_bind() {
    let mut hardware = unbound();
    hardware.client.shares_cores = true;
    hardware.client.cores = NonZeroU32::new(2).unwrap();
    hardware.select.cores = 2.0;
    hardware.select.csv_bytes_per_second = BytesPerSecond(800e6);
    hardware.client.csv_bytes_per_second = BytesPerSecond(250e6);
    let phase = Phase { returned: Bytes::gib(3), ..select(96) };
    agrees(&phase.into(), &hardware, Resource::SHARED_CORES);
}

/// A switch that forwards 10 million packets a second, and a query whose only work is in the client.
#[test]
fn resources_of_their_own_bind() {
    const PIPELINE: Resource = Resource::new("switch pipeline");
    let uses = vec![ResourceUse { resource: PIPELINE, amount: 1e9, per_second: 10e6 }];
    let phase = Phase { gets: Requests(96), uses: uses.clone(), ..Phase::default() };
    let two = Steps::Together(vec![phase.clone().into(), phase.into()]);
    agrees(&two, &unbound(), PIPELINE);
    agrees(&Phase { uses, ..Phase::default() }.into(), &unbound(), PIPELINE);
    let uses = vec![ResourceUse { resource: Resource::CLIENT, amount: 100.0, per_second: 1.0 }];
    let phase = Phase { gets: Requests(96), uses, ..Phase::default() };
    agrees(&phase.into(), &unbound(), Resource::CLIENT);
}

/// The simulation reproduces the times of PushdownDB's Table II.
#[test]
fn the_papers_times_come_out() {
    let paper = HardwareProfile::paper();
    let bytes = Bytes(7_775_727_688);
    let select = Phase { scanned: bytes, scanned_rows: Rows(59_986_052), ..select(96) };
    for (steps, published) in [(get(960, bytes), 21.7), (select.into(), 1.38)] {
        let simulated = time(&steps, paper, &Conditions::default());
        assert!((simulated / published - 1.0).abs() < 0.02, "{simulated} s, {published} s");
    }
}

#[test]
fn steps_follow_each_other_or_overlap() {
    let mut hardware = unbound();
    hardware.client.startup = Duration::from_millis(500);
    hardware.link.bytes_per_second = BytesPerSecond(1e6);
    let one = || {
        Steps::from(Phase {
            name: "one",
            gets: Requests(10),
            got: Bytes(1_000_000),
            ..Phase::default()
        })
    };
    let spans = |steps: Steps| {
        let run = simulate(&steps, &hardware, &Conditions::default(), 1).unwrap();
        let ms = |time: Duration| time.as_millis();
        run.phases.iter().map(|it| (ms(it.start), ms(it.end))).collect::<Vec<_>>()
    };
    assert_eq!(spans(Steps::InTurn(vec![one(), one()])), [(500, 1500), (1500, 2500)]);
    assert_eq!(spans(Steps::Together(vec![one(), one()])), [(500, 2500), (500, 2500)]);
    let nested = Steps::InTurn(vec![
        Steps::Together(vec![one(), Steps::InTurn(vec![one(), one()])]),
        Steps::Together(Vec::new()),
        Steps::InTurn(Vec::new()),
        one(),
    ]);
    // Two steps share the link, then the third runs alone.
    assert_eq!(spans(nested), [(500, 2500), (500, 2500), (2500, 3500), (3500, 4500)]);
    // A footer comes first, so there are two rounds.
    hardware.link.latency = Duration::from_millis(100);
    let two_rounds = Phase { rounds: 2, gets: Requests(1), ..Phase::default() };
    let run = simulate(&two_rounds.into(), &hardware, &Conditions::default(), 1).unwrap();
    assert_eq!(run.time, Duration::from_millis(700));
    let none = simulate(&Phase::default().into(), &hardware, &Conditions::default(), 1).unwrap();
    assert_eq!((none.time, none.in_flight), (Duration::from_millis(500), 0));
}

fn rough() -> Conditions {
    Conditions {
        latency: Latency::LogNormal(0.62),
        stragglers: Stragglers { share: 0.02, factor: 5.0 },
        throttle: Some(Throttle { burst: 100.0, ..Throttle::default() }),
    }
}

#[test]
fn a_seed_decides_the_run() {
    let steps = Steps::Together(vec![get(2000, Bytes::gib(1)), select(96).into()]);
    let run = |seed| simulate(&steps, HardwareProfile::paper(), &rough(), seed).unwrap();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).time, run(2).time);
}

/// One slow answer delays the whole query; more requests make a slow one more likely.
#[test]
fn scatter_and_stragglers_cost_time() {
    let paper = HardwareProfile::paper();
    let steps = select(96).into();
    let calm = time(&steps, paper, &Conditions::default());
    let stragglers = Stragglers { share: 0.05, factor: 3.0 };
    let slow = time(&steps, paper, &Conditions { stragglers, ..Conditions::default() });
    assert!(slow > 2.0 * calm, "{slow} s, {calm} s");
    let latency = Latency::LogNormal(0.62);
    let often =
        |conditions: &Conditions| simulate_often(&steps, paper, conditions, 1, 40).unwrap().time;
    let scattered = often(&Conditions { latency, ..Conditions::default() });
    assert!(scattered.p10 < scattered.p50 && scattered.p50 < scattered.p90);
    // The slowest of 96 first bytes takes about 4 times the median of 200 ms.
    let slowest = scattered.p50.as_secs_f64() - calm + 0.2;
    assert!((0.6..1.2).contains(&slowest), "{slowest} s");
}

/// 20 000 GETs at once against 5500 a second: the burst passes, and the rest is refused, waits and is sent again. A
/// client that sends no more than the store admits finishes sooner.
#[test]
fn a_prefix_refuses_what_is_too_much() {
    let mut hardware = unbound();
    hardware.link.latency = Duration::from_millis(10);
    let run = |hardware: &HardwareProfile, prefixes, requests| {
        let throttle = Throttle { prefixes, burst: 500.0, ..Throttle::default() };
        let conditions = Conditions { throttle: Some(throttle), ..Conditions::default() };
        simulate(&get(requests, Bytes::mib(1)), hardware, &conditions, 1).unwrap()
    };
    let one = run(&hardware, 1, 20_000);
    let least = (20_000.0 - 500.0) / 5500.0;
    assert!(one.time.as_secs_f64() > least, "{:?}, at least {least} s", one.time);
    assert!(one.refused > 1000, "{}", one.refused);
    // More prefixes admit more requests; a small number is not refused at all.
    assert!(run(&hardware, 8, 20_000).time < one.time / 2);
    assert_eq!(run(&hardware, 1, 500).refused, 0);
    hardware.requests.per_second = 5400.0;
    let patient = run(&hardware, 1, 20_000);
    assert_eq!(patient.refused, 0);
    assert!(patient.time < one.time / 2, "{:?}, {:?}", patient.time, one.time);
}

#[test]
fn more_requests_than_can_be_followed_are_refused() {
    let steps = Steps::InTurn(vec![get(u64::MAX, Bytes(1)), get(1, Bytes(1))]);
    let error = simulate(&steps, &unbound(), &Conditions::default(), 1).unwrap_err();
    assert_eq!(error.requests, u64::MAX);
    assert!(error.to_string().ends_with("are more than the 1000000 that are simulated"));
}

/// If the request rate binds, a run is shorter than predicted by the time of one request.
#[test]
fn the_first_request_does_not_wait_for_the_rate() {
    let mut hardware = HardwareProfile::all()[0].clone();
    hardware.client.overlap = 1.0;
    let steps = Steps::from(Phase { gets: Requests(127), ..Phase::default() });
    let simulated = time(&steps, &hardware, &Conditions::default());
    let predicted = predict(&steps, &hardware).total().as_secs_f64();
    let first = 1.0 / hardware.requests.per_second;
    assert!((predicted - simulated - first).abs() < 1e-6, "{simulated} s, {predicted} s");
}

fn phases() -> impl Strategy<Value = Phase> {
    // Requests of one kind only: in a prediction, both kinds wait for the slower one's first byte.
    let counts = (any::<bool>(), 1u64..300).prop_map(
        |(is_get, many)| {
            if is_get { (many, 0) } else { (0, many) }
        },
    );
    let counts = (counts, 1u32..3, 0u64..3);
    (counts, 0u64..1 << 32, 0u64..1 << 32, 0u64..1 << 28, proptest::option::of(1u64..8)).prop_map(
        |(((gets, selects), rounds, heads), got, scanned, returned, at_once)| Phase {
            rounds,
            heads: Requests(heads),
            gets: Requests(gets),
            got: Bytes(if gets > 0 { got } else { 0 }),
            selects: Requests(selects),
            selects_at_once: at_once.map(Requests),
            scanned: Bytes(if selects > 0 { scanned } else { 0 }),
            returned: Bytes(if selects > 0 { returned } else { 0 }),
            ..Phase::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// No run is faster than its slowest resource, or slower than if nothing overlapped.
    #[test]
    fn a_run_is_between_the_slowest_resource_and_their_sum(
        phase in phases(), profile in 0..HardwareProfile::all().len(), overlap in any::<bool>(),
    ) {
        let mut hardware = HardwareProfile::all()[profile].clone();
        hardware.client.overlap = if overlap { 1.0 } else { 0.0 };
        let startup = hardware.client.startup.as_secs_f64();
        let steps = Steps::from(phase);
        let simulated = time(&steps, &hardware, &Conditions::default()) - startup;
        let predicted = predict(&steps, &hardware).total().as_secs_f64() - startup;
        if overlap {
            // A run has whole waves of requests, so it may be slower than predicted. It is faster by one request at
            // most, because the first one does not wait for the rate.
            let first = 1.0 / hardware.requests.per_second;
            let least = predicted * 0.999 - first - 1e-6;
            prop_assert!(simulated >= least, "{simulated} s, {predicted} s");
        } else {
            let wave = hardware.select.latency.max(hardware.link.latency).as_secs_f64();
            prop_assert!(simulated <= predicted * 2.0 + 2.0 * wave, "{simulated} s, {predicted} s");
        }
    }

    /// On average, more slots and a faster link are no slower, except for one request: if one wave takes all slots,
    /// the remaining request runs alone, on one connection.
    #[test]
    fn more_slots_and_a_faster_link_are_no_slower_on_average(
        phase in phases(), faster in 1.0..8.0f64, link in any::<bool>(),
    ) {
        let mut hardware = HardwareProfile::by_name("aws-in-region").unwrap().clone();
        hardware.requests.slots = NonZeroU32::new(32).unwrap();
        let mut better = hardware.clone();
        if link {
            better.link.bytes_per_second = better.link.bytes_per_second * faster;
        } else {
            better.requests.slots = NonZeroU32::new((32.0 * faster) as u32).unwrap();
        }
        let conditions =
            Conditions { latency: Latency::LogNormal(0.62), ..Conditions::default() };
        let steps = Steps::from(phase);
        let mean = |hardware: &HardwareProfile| {
            let run = |seed| simulate(&steps, hardware, &conditions, seed).unwrap().time;
            (0..8).map(run).sum::<Duration>().as_secs_f64() / 8.0
        };
        let requests = steps.work().requests.total().as_f64();
        let alone = predict(&steps.scaled(1.0 / requests), &hardware).total().as_secs_f64();
        let (now, then) = (mean(&better), mean(&hardware));
        prop_assert!(now <= then * 1.05 + alone, "{now} s, {then} s");
    }
}
