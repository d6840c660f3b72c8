//! Reports of the measurements as a table, CSV and JSON.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_costmodel::PriceBook;
use sluicegate_workloads::pushdowndb::Item;

use crate::Settings;
use crate::measure::Measured;
use crate::strategies::{AUTO, OFF};

/// An item with its runs in all ways.
pub(crate) struct Compared {
    pub(crate) item: Item,
    /// The ways; the first is pushdown off.
    pub(crate) ways: Vec<Measured>,
}

/// All items behind one link with one latency.
pub(crate) struct Cell {
    pub(crate) settings: Settings,
    pub(crate) all: Vec<Compared>,
}

impl Cell {
    /// Returns the items whose rows differ from those of pushdown off.
    pub(crate) fn differing(&self) -> Vec<String> {
        let differ = self.all.iter().filter(|it| !it.agree());
        differ.map(|it| format!("{} ({})", it.item.name, self.settings.place())).collect()
    }
}

impl Compared {
    pub(crate) fn off(&self) -> f64 {
        self.ways.first().map_or(f64::NAN, Measured::median)
    }

    /// Returns the time with pushdown off divided by that of `way`.
    pub(crate) fn ratio(&self, way: &Measured) -> f64 {
        self.off() / way.median()
    }

    fn agrees(&self, way: &Measured) -> bool {
        way.steady && self.ways.first().is_some_and(|off| off.steady && off.rows == way.rows)
    }

    /// Returns true if every way returned the rows of the first.
    pub(crate) fn agree(&self) -> bool {
        self.ways.iter().all(|way| self.agrees(way))
    }

    /// Returns the fastest of the strategies that were forced and followed.
    fn best(&self) -> Option<&Measured> {
        let forced =
            |it: &&Measured| it.way.name != OFF.name && it.way.name != AUTO.name && it.followed();
        self.ways.iter().filter(forced).min_by(|a, b| a.median().total_cmp(&b.median()))
    }

    pub(crate) fn auto(&self) -> Option<&Measured> {
        self.ways.iter().find(|it| it.way.name == AUTO.name)
    }
}

fn dollars(way: &Measured) -> f64 {
    let time = Duration::from_secs_f64(way.median());
    PriceBook::paper().cost(&way.counted.work(time)).total().0
}

pub(crate) fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, n), ratio| (sum + ratio.ln(), n + 1.0));
    (sum / count).exp()
}

/// Returns the conditions of the measurement: data, link and machine.
fn circumstances(settings: &Settings) -> Vec<(&'static str, String)> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let link = match settings.gbit {
        0.0 => "unlimited".to_owned(),
        gbit => format!("{gbit} Gbit/s, shared by both directions, shaped at the server's sockets"),
    };
    // The profile of the root package; the crates that process rows are optimized in both.
    let build = if cfg!(debug_assertions) { "dev" } else { "release" };
    vec![
        ("scale", settings.scale.to_string()),
        ("format", format!("CSV, {} objects for each table", settings.objects)),
        ("link", link),
        ("latency", format!("{} ms before each answer", settings.latency.as_secs_f64() * 1e3)),
        ("rounds", settings.rounds.to_string()),
        ("cores", format!("{cores}, shared by the store and the client")),
        ("load", load_average()),
        ("build", build.to_owned()),
        ("prices", PriceBook::paper().name.clone()),
    ]
}

/// Returns the load average of the machine, if the system reports it.
fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg").map_or_else(
        |_| "unknown".to_owned(),
        |text| text.split_whitespace().take(3).collect::<Vec<_>>().join(" "),
    )
}

const HEADER: [&str; 16] = [
    "item",
    "way",
    "chosen",
    "requests",
    "statements",
    "link_bytes",
    "scanned_bytes",
    "returned_bytes",
    "predicted_bytes",
    "fallbacks",
    "seconds",
    "predicted",
    "cpu_seconds",
    "ratio",
    "dollars",
    "rows",
];

fn cells(compared: &Compared, way: &Measured) -> [String; 16] {
    let counted = &way.counted;
    [
        compared.item.name.to_owned(),
        way.way.name.to_owned(),
        if way.followed() { way.chosen.join("+") } else { "not followed".to_owned() },
        counted.requests().to_string(),
        counted.select.to_string(),
        way.link.to_string(),
        counted.scanned_bytes.to_string(),
        counted.returned_bytes.to_string(),
        way.predicted.work.link.0.to_string(),
        counted.fallbacks.to_string(),
        format!("{:.4}", way.median()),
        format!("{:.4}", way.predicted.time.as_secs_f64()),
        format!("{:.2}", way.median_cpu()),
        format!("{:.2}", compared.ratio(way)),
        format!("{:.7}", dollars(way)),
        if compared.agrees(way) { "equal" } else { "DIFFERENT" }.to_owned(),
    ]
}

/// Formats a cell as a table.
pub(crate) fn table(cell: &Cell) -> String {
    let Cell { settings, all } = cell;
    let mut text = String::from("PushdownDB's Figure 10, pushdown off against each strategy.\n");
    for (name, value) in circumstances(settings) {
        text += &format!("{name}: {value}\n");
    }
    text += "\n";
    let mut rows = vec![HEADER.map(ToOwned::to_owned)];
    rows.extend(all.iter().flat_map(|it| it.ways.iter().map(|way| cells(it, way))));
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADER.len()).map(width).collect();
    for row in &rows {
        let columns = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            3..15 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        text += columns.collect::<Vec<_>>().join("  ").trim_end();
        text += "\n";
    }
    text += "\n";
    for compared in all {
        let name = compared.item.name;
        if let Some(best) = compared.best() {
            let ratio = compared.ratio(best);
            text += &format!("{name:<9} best forced: {:<9} {ratio:>6.2} x", best.way.name);
        }
        if let Some(auto) = compared.auto() {
            text += &format!("   auto: {:>6.2} x", compared.ratio(auto));
        }
        text += "\n";
        for unmet in compared.ways.iter().flat_map(|way| &way.unmet) {
            text += &format!("{:<9} {unmet}\n", "");
        }
    }
    let best = || all.iter().filter_map(|it| it.best().map(|way| it.ratio(way)));
    let auto = || all.iter().filter_map(|it| it.auto().map(|way| it.ratio(way)));
    text += &format!(
        "\nGeometric mean of {} items: best forced {:.2} x, auto {:.2} x; least {:.2} x and {:.2} x.\n",
        all.len(),
        geometric_mean(best()),
        geometric_mean(auto()),
        best().fold(f64::INFINITY, f64::min),
        auto().fold(f64::INFINITY, f64::min),
    );
    text += &errors(all);
    text += "Counted: requests, statements, bytes (link: at the server's sockets, both directions; scanned\n\
             and returned: as the store says), fallbacks. Measured: seconds (median, planning included),\n\
             their ratio to pushdown off, and CPU seconds of store and client together. Modelled:\n\
             dollars, which price counted work and measured seconds, predicted seconds of scans one after\n\
             the other, and predicted bytes over the link.\n";
    text
}

/// Formats the relative errors of the predictions.
fn errors(all: &[Compared]) -> String {
    let ways = || all.iter().flat_map(|compared| &compared.ways).filter(|way| way.followed());
    let error = |predicted: f64, actual: f64| (predicted - actual).abs() / actual.max(1e-9);
    let summary = |errors: Vec<f64>| {
        let worst = errors.iter().copied().fold(0.0, f64::max);
        let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        format!("{:.1} % in the mean, {:.0} % at most", 100.0 * mean, 100.0 * worst)
    };
    let seconds = ways().map(|way| error(way.predicted.time.as_secs_f64(), way.median()));
    let read = ways().map(|way| {
        let (work, counted) = (&way.predicted.work, &way.counted);
        let predicted = work.scanned.0 + work.got.0;
        error(predicted as f64, (counted.scanned_bytes + counted.got_bytes) as f64)
    });
    let all_bytes = ways().map(|way| {
        let (work, counted) = (&way.predicted.work, &way.counted);
        let predicted = work.scanned.0 + work.link.0;
        let counted = counted.scanned_bytes + counted.returned_bytes + counted.got_bytes;
        error(predicted as f64, counted as f64)
    });
    format!(
        "Predicted against measured seconds of {} ways: off by {}.\n\
         Predicted against counted bytes read from objects: off by {};\n\
         with those that are returned: off by {}.\n",
        ways().count(),
        summary(seconds.collect()),
        summary(read.collect()),
        summary(all_bytes.collect()),
    )
}

/// Formats a line for each way, with the header for the first cell.
pub(crate) fn csv(cell: &Cell, first: bool) -> String {
    let Settings { gbit, latency, .. } = cell.settings;
    let mut text = String::new();
    if first {
        text += &format!("link_gbit,latency_ms,{}\n", HEADER.join(","));
    }
    for compared in &cell.all {
        for way in &compared.ways {
            text += &format!("{gbit},{},", latency.as_secs_f64() * 1e3);
            text += &cells(compared, way).join(",");
            text += "\n";
        }
    }
    text
}

/// Formats all numbers of a cell.
pub(crate) fn json(cell: &Cell) -> Value {
    let Cell { settings, all } = cell;
    let circumstances: serde_json::Map<String, Value> = circumstances(settings)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    let ways = all.iter().flat_map(|compared| {
        compared.ways.iter().map(move |way| {
            let counted = &way.counted;
            json!({
                "item": compared.item.name,
                "way": way.way.name,
                "chosen": way.chosen,
                "not_followed": way.unmet,
                "counted": {
                    "requests": counted.requests(),
                    "statements": counted.select,
                    "link_bytes": way.link,
                    "scanned_bytes": counted.scanned_bytes,
                    "returned_bytes": counted.returned_bytes,
                    "got_bytes": counted.got_bytes,
                    "fallbacks": counted.fallbacks,
                },
                "measured": { "seconds": way.seconds, "median": way.median(), "cpu_seconds": way.cpu },
                "ratio": compared.ratio(way),
                "modelled": { "dollars": dollars(way), "seconds": way.predicted.time.as_secs_f64() },
                "rows": way.rows.len(),
                "rows_equal": compared.agrees(way),
            })
        })
    });
    let best = all.iter().filter_map(|it| it.best().map(|way| it.ratio(way)));
    let auto = all.iter().filter_map(|it| it.auto().map(|way| it.ratio(way)));
    json!({
        "circumstances": circumstances,
        "ways": ways.collect::<Vec<_>>(),
        "geometric_mean": { "best_forced": geometric_mean(best), "auto": geometric_mean(auto) },
    })
}
