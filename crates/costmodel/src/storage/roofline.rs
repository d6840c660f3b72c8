//! Rooflines and quadrants: which queries are worth a closer look.

use super::graph::times;
use super::{Estimate, StageGraph};
use crate::{Bytes, BytesPerSecond};

/// The bounds of a query over a link to its storage, with and without pushdown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roofline {
    /// The largest speed-up from fewer bytes over the link: bytes without pushdown over bytes with it.
    pub byte_ratio: f64,
    /// The largest speed-up from less work for the host's cores.
    pub cpu_ratio: f64,
    /// The knee: without pushdown, the link binds at rates below this one.
    pub knee: BytesPerSecond,
    /// The speed-up behind this link: [`Self::byte_ratio`] on slow links, [`Self::cpu_ratio`] on fast ones.
    pub speedup: f64,
}

/// The largest speed-up of pushdown if reading and computing overlap.
///
/// `read` bytes and `cpu` seconds of the host's cores are without pushdown, `sent` and `left` with it.
#[must_use]
pub fn roofline(
    (read, cpu): (Bytes, f64),
    (sent, left): (Bytes, f64),
    link: BytesPerSecond,
) -> Roofline {
    let time = |bytes: Bytes, cpu: f64| (bytes.as_f64() / link.0).max(cpu);
    Roofline {
        byte_ratio: times(read.as_f64(), sent.as_f64()),
        cpu_ratio: times(cpu, left),
        knee: BytesPerSecond(read.as_f64() / cpu),
        speedup: times(time(read, cpu), time(sent, left)),
    }
}

/// The roofline of stages that were measured on this number of cores, if a device runs the scans that the estimate
/// offloads.
///
/// Offloaded stages send their results over the link instead of what they read, and leave the rest of their thread
/// time to the cores.
///
/// # Errors
///
/// If a measurement is missing; the error names it.
pub fn roofline_of(
    graph: &StageGraph,
    estimate: &Estimate,
    cores: Option<f64>,
    link: BytesPerSecond,
) -> Result<Roofline, &'static str> {
    let cores = cores.ok_or("the number of cores is not known")?;
    let (mut read, mut left) = (0.0, 0.0);
    for (stage, estimated) in graph.stages().iter().zip(&estimate.stages) {
        if estimated.offloaded {
            if stage.read_bytes == 0.0 {
                return Err("a stage that scans has no read_bytes");
            }
            if stage.result_bytes == 0.0 {
                return Err("a stage that scans has no result_bytes");
            }
            left += stage.thread_seconds - estimated.thread_taken;
        } else {
            read += stage.read_bytes;
            left += stage.thread_seconds;
        }
    }
    if !estimate.stages.iter().any(|it| it.offloaded) {
        return Err("nothing is offloaded");
    }
    let sent = estimate.sent + Bytes::from_f64(read);
    let cpu = graph.thread_seconds() / cores;
    Ok(roofline((graph.read_bytes(), cpu), (sent, left / cores), link))
}

/// The quadrant of a query by Scan Ratio and use of the cores (ICPE 2020, Fig. 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quadrant {
    /// Scans keep the cores busy; a device helps these queries most.
    ScanAndBusy,
    /// The query scans, and the cores wait for storage or for slots.
    ScanAndIdle,
    /// The cores are busy with other work; a device helps little.
    ComputeAndBusy,
    /// The query neither scans nor keeps the cores busy; something else binds.
    ComputeAndIdle,
}

impl Quadrant {
    /// The threshold of the Scan Ratio, and of the busy fraction of the cores.
    pub const HALF: f64 = 0.5;

    /// Classifies by the Scan Ratio and the busy fraction of the cores, 0 to 1 each, at the threshold [`Self::HALF`].
    #[must_use]
    pub fn classify(scan_ratio: f64, cpu_utilisation: f64) -> Self {
        match (scan_ratio >= Self::HALF, cpu_utilisation >= Self::HALF) {
            (true, true) => Self::ScanAndBusy,
            (true, false) => Self::ScanAndIdle,
            (false, true) => Self::ComputeAndBusy,
            (false, false) => Self::ComputeAndIdle,
        }
    }

    /// The quadrant in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ScanAndBusy => "scans keep the cores busy",
            Self::ScanAndIdle => "scans, and the cores wait",
            Self::ComputeAndBusy => "other work keeps the cores busy",
            Self::ComputeAndIdle => "neither scans nor keeps the cores busy",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slow_links_have_the_byte_ratio_and_fast_ones_the_cpu_ratio() {
        let of = |gbit| {
            roofline(
                (Bytes(1_000_000_000), 2.0),
                (Bytes(50_000_000), 0.5),
                BytesPerSecond::gbit(gbit),
            )
        };
        assert_eq!((of(0.01).speedup, of(0.01).byte_ratio), (20.0, 20.0));
        assert_eq!((of(1000.0).speedup, of(1000.0).cpu_ratio), (4.0, 4.0));
        assert_eq!(of(1.0).knee, BytesPerSecond::gbit(4.0));
        // At a rate below the knee, with the remaining work bound by the cores.
        assert_eq!(of(1.0).speedup, 16.0);
    }

    #[test]
    fn stages_have_a_roofline_where_all_is_measured() {
        use crate::storage::{Device, Formula, Setup, Slots, Stage, estimate};

        // The scan reads a GB and sends 50 MB of it; two cores work for 2 s, and then for 0.5 s.
        let scan = Stage {
            wall_seconds: 2.0,
            thread_seconds: 3.5,
            scan_seconds: 3.0,
            read_bytes: 1e9,
            result_bytes: 5e7,
            ..Stage::default()
        };
        // The result of this stage stays on the host.
        let top = Stage {
            id: 1,
            wall_seconds: 1.0,
            thread_seconds: 0.5,
            result_bytes: 9e9,
            after: vec![0],
            ..Stage::default()
        };
        let of = |scan: Stage, cores, setup| {
            let graph = StageGraph::new(vec![scan, top.clone()]).unwrap();
            let device = Device::by_name("icpe-2020").unwrap();
            let found = estimate(&graph, device, setup, Formula::Intended, Slots::Unlimited);
            roofline_of(&graph, &found, cores, BytesPerSecond::gbit(1.0))
        };
        let found = of(scan.clone(), Some(2.0), Setup::Always).unwrap();
        assert_eq!((found.byte_ratio, found.cpu_ratio, found.speedup), (20.0, 4.0, 16.0));
        assert_eq!(found.knee, BytesPerSecond(5e8));
        let why = |scan, cores, setup| of(scan, cores, setup).unwrap_err();
        assert_eq!(why(scan.clone(), None, Setup::Always), "the number of cores is not known");
        let unread = Stage { read_bytes: 0.0, ..scan.clone() };
        assert!(why(unread, Some(2.0), Setup::Always).ends_with("has no read_bytes"));
        let unsent = Stage { result_bytes: 0.0, ..scan.clone() };
        assert!(why(unsent, Some(2.0), Setup::Always).ends_with("has no result_bytes"));
        let short = Stage { wall_seconds: 0.5, ..scan };
        assert_eq!(why(short, Some(2.0), Setup::OnlyIfBeneficial), "nothing is offloaded");
    }

    #[test]
    fn quadrants_are_those_of_figure_8() {
        // Table 2: Q9 and Q4 with their average use of the cores; Table 3: Q44.
        assert_eq!(Quadrant::classify(0.93, 0.31), Quadrant::ScanAndIdle);
        assert_eq!(Quadrant::classify(0.04, 0.76), Quadrant::ComputeAndBusy);
        assert_eq!(Quadrant::classify(0.99, 0.70), Quadrant::ScanAndBusy);
        assert_eq!(Quadrant::classify(0.0, 0.35), Quadrant::ComputeAndIdle);
    }

    proptest! {
        #[test]
        fn the_speedup_is_between_the_ratios(
            read in 1u64..1_000_000_000, part in 0.001..1.0f64, cpu in 0.001..100.0f64,
            left in 0.001..1.0f64, gbit in 0.001..1000.0f64,
        ) {
            let sent = Bytes(((read as f64 * part) as u64).max(1));
            let link = BytesPerSecond::gbit(gbit);
            let found = roofline((Bytes(read), cpu), (sent, cpu * left), link);
            let (a, b) = (found.byte_ratio, found.cpu_ratio);
            // Times are rounded to nanoseconds.
            prop_assert!(found.speedup >= a.min(b) * 0.99 && found.speedup <= a.max(b) * 1.01);
        }
    }
}
