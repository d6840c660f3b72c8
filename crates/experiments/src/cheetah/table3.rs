//! Table 3: other devices that could prune.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::{Device, Testbed};

use super::completion::provenance;
use crate::chart::{Axis, Marks, PointSeries};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Table};

/// The table is published; the time of ten million packets follows from it.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/table3",
    title: "Rates and latencies of devices that could prune",
    place: "Cheetah §10, Table 3",
    method: Method::Computed(compute),
};

const PACKETS: f64 = 1e7;

fn compute() -> Outcome {
    let devices = &Testbed::cheetah().devices;
    let mut outcome = Outcome::default();
    outcome.tables.push(Table {
        title: "Devices".to_owned(),
        columns: vec!["device", "Gbit/s", "microseconds"],
        rows: devices.iter().map(row).collect(),
        provenance: Provenance::Published("Cheetah, Table 3".into()),
    });
    let passing = |device: &Device| {
        let times = device.passing(PACKETS).map(|time| format!("{:.4}", time.as_secs_f64()));
        vec![device.name.clone(), times[0].clone(), times[1].clone()]
    };
    outcome.tables.push(Table {
        title: "Seconds in which 10 million packets of 64 bytes pass".to_owned(),
        columns: vec!["device", "shortest", "longest"],
        rows: devices.iter().map(passing).collect(),
        provenance: provenance(),
    });
    outcome.charts.push(Chart {
        title: "The greatest rate of each device, and its greatest latency".to_owned(),
        x: Axis::logarithmic("Gbit/s"),
        y: Axis::logarithmic("microseconds"),
        marks: Marks::Points(vec![PointSeries {
            name: "published".to_owned(),
            points: points(devices),
            is_published: true,
        }]),
        provenance: Provenance::Published("Cheetah, Table 3".into()),
    });
    outcome
}

/// Returns the greatest rate and latency of each device. Devices with the same numbers have one point with all names.
fn points(devices: &[Device]) -> Vec<(f64, f64, String)> {
    let mut points: Vec<(f64, f64, String)> = Vec::new();
    for device in devices {
        let [shortest, latency] = device.latency_microseconds;
        let rate = device.bits_per_second[1] / 1e9;
        let name = match shortest {
            0.0 => format!("{}, below {latency} µs", device.name),
            _ => device.name.clone(),
        };
        match points.iter_mut().find(|it| (it.0, it.1) == (rate, latency)) {
            Some(there) => there.2 = format!("{}, {name}", there.2),
            None => points.push((rate, latency, name)),
        }
    }
    points
}

fn row(device: &Device) -> Vec<String> {
    let range = |[low, high]: [f64; 2]| match low {
        _ if low == high => high.to_string(),
        0.0 => format!("below {high}"),
        _ => format!("{low} to {high}"),
    };
    let gigabits = device.bits_per_second.map(|rate| rate / 1e9);
    vec![device.name.clone(), range(gigabits), range(device.latency_microseconds)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_at_the_same_point_share_a_label() {
        let points = points(&Testbed::cheetah().devices);
        let labels: Vec<&str> = points.iter().map(|it| it.2.as_str()).collect();
        assert_eq!(labels, ["Server", "GPU", "FPGA, SmartNIC", "Tofino V2, below 1 µs"]);
    }
}
