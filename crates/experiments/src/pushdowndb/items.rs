//! The ten items of Figure 10, without and with pushdown.

use sluicegate_costmodel::{Bytes, Phase, Provenance, Requests, Rows, Terms};
use sluicegate_workloads::pushdowndb::ITEMS;

use super::groupings::{ROWS, TABLE};
use super::paper::{OBJECTS, ROW_BYTES};
use super::sweep::{Cell, Measured, geometric_mean, series};
use super::{data, names};
use crate::{Data, Setting, Table};

/// The item that the paper runs with an index.
const FILTER: &str = "Filter";
/// The item over the skewed table.
const GROUP_BY: &str = "Group-by";

/// The data sets of the items.
pub(super) struct Tables {
    pub(super) tpch: Data,
    /// lineitem with an index, for the filter.
    pub(super) indexed: Option<Data>,
    pub(super) groups: Data,
}

/// Settings without any pushdown.
const OFF: [(&str, &str); 5] = [
    ("scan", "get"),
    ("join", "baseline"),
    ("group_by", "server"),
    ("top_k", "server"),
    ("aggregate", "here"),
];

/// Returns the cells of all items behind a link: those without pushdown, then those with it.
pub(super) fn cells(tables: &Tables, link: &'static str) -> Vec<Cell> {
    let of = |name: &'static str, settings: &'static [(&'static str, &'static str)]| {
        ITEMS.iter().enumerate().map(move |(at, item)| {
            let indexed = tables.indexed.as_ref().filter(|_| name == names::PUSHDOWN);
            let data = match item.name {
                FILTER => indexed.unwrap_or(&tables.tpch),
                GROUP_BY => &tables.groups,
                _ => &tables.tpch,
            };
            Cell::new(name, (item.name, at as f64), data, settings, item.sql).over(link)
        })
    };
    of(names::BASELINE, &OFF).chain(of(names::PUSHDOWN, &[])).collect()
}

/// The ratios of an item: how many times as fast it is with pushdown, and its cost as a share of that without.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gain {
    pub(super) faster: f64,
    pub(super) cost: f64,
    /// The strategies that were chosen.
    chosen: String,
}

/// Returns the gain of each item.
pub(super) fn gains(measured: &[Measured]) -> Vec<Gain> {
    let pairs =
        series(measured, names::BASELINE).into_iter().zip(series(measured, names::PUSHDOWN));
    let gain = |(off, on): (&Measured, &Measured)| Gain {
        faster: off.seconds() / on.seconds(),
        cost: on.dollars() / off.dollars(),
        chosen: chosen(on),
    };
    pairs.map(gain).collect()
}

/// Returns the strategies of an item's operators, each once.
fn chosen(it: &Measured) -> String {
    let mut all: Vec<String> = Vec::new();
    for strategy in it.query.last.strategies.iter().filter(|it| !it.strategy.is_empty()) {
        let name = format!("{} {}", strategy.operator, strategy.strategy);
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all.join(", ")
}

/// Returns the geometric mean of the gains.
pub(super) fn mean(gains: &[Gain]) -> Gain {
    let of = |get: fn(&Gain) -> f64| geometric_mean(&gains.iter().map(get).collect::<Vec<f64>>());
    Gain { faster: of(|it| it.faster), cost: of(|it| it.cost), chosen: String::new() }
}

/// Returns the items that gain least, with their gains.
pub(super) fn least(gains: &[Gain]) -> String {
    let mut named: Vec<(&str, f64)> =
        ITEMS.iter().map(|item| item.name).zip(gains.iter().map(|it| it.faster)).collect();
    named.sort_by(|one, other| one.1.total_cmp(&other.1));
    let least: Vec<String> =
        named.iter().take(3).map(|(name, faster)| format!("{name} {faster:.1}")).collect();
    least.join(", ")
}

/// A gain is far from the published one if it is this many times as large or as small.
const FAR: f64 = 1.5;

/// Returns the items whose gains are far from the published ones, with both.
pub(super) fn far(gains: &[Gain]) -> String {
    let both = ITEMS.iter().zip(gains).filter_map(|(item, gain)| {
        let published: f64 = published(item.name).parse().ok()?;
        let is_far = (gain.faster / published).ln().abs() > FAR.ln();
        is_far.then(|| format!("{} {:.1} ({published} in the paper)", item.name, gain.faster))
    });
    both.collect::<Vec<String>>().join(", ")
}

/// Returns how many times as fast an item is by the authors' script; empty if it has none.
fn published(name: &str) -> &'static str {
    match name {
        "Join" => "6.22",
        "Q3" => "5.64",
        "Q14" => "1.43",
        "Q17" => "10.16",
        "Q19" => "17.00",
        _ => "",
    }
}

/// Returns the seconds and the dollars of the client for each GiB that the baseline fetches.
pub(super) fn baseline_per_gib(measured: &[Measured]) -> (f64, f64) {
    let all = series(measured, names::BASELINE);
    let sum = |of: &dyn Fn(&Measured) -> f64| all.iter().map(|it| of(it)).sum::<f64>();
    let gib = sum(&|it| Bytes(it.query.last.bytes.fetched).as_gib());
    (sum(&|it| it.seconds()) / gib, sum(&|it| it.bill().compute) / gib)
}

/// A table of gains, with those that the authors' script has.
pub(super) fn table(title: String, gains: &[Gain]) -> Table {
    let row = |name: &str, gain: &Gain, published: &str| {
        let faster = format!("{:.2}", gain.faster);
        let cost = format!("{:.2}", gain.cost);
        vec![name.to_owned(), faster, published.to_owned(), cost, gain.chosen.clone()]
    };
    let mut rows: Vec<Vec<String>> = ITEMS
        .iter()
        .zip(gains)
        .map(|(item, gain)| row(item.name, gain, published(item.name)))
        .collect();
    rows.push(row("geometric mean", &mean(gains), "6.7"));
    Table {
        title,
        columns: vec!["item", "times as fast", "published", "ratio of costs", "chosen"],
        rows,
        provenance: Provenance::Measured,
    }
}

/// Names the scale factors of a table of all items.
pub(super) fn scales(setting: &Setting) -> String {
    let (scale, groups) = (setting.scale, data::group_scale(setting));
    match scale == groups {
        true => format!("scale factor {scale}"),
        false => format!("scale factor {scale}, {GROUP_BY} at {groups}"),
    }
}

/// The objects of a table here.
const OBJECTS_HERE: u64 = 4;
/// The bytes of a part that is fetched by a GET.
const PART: u64 = 8 << 20;
/// The bytes of a value in an answer, about.
const VALUE_BYTES: f64 = 8.0;

/// Returns what a store does with each row that it scans for an item, by its query and by how the engine pushes it: the
/// groups of Group-by and Q1 are formed by GROUP BY, and a Bloom filter of 1 % has seven hash functions.
fn terms(item: &str) -> Terms {
    let (comparisons, probes, keys, updates) = match item {
        GROUP_BY => (0.0, 0.0, 1.0, 4.0),
        "Join" => (0.0, 7.0, 0.0, 0.0),
        "Q1" => (1.0, 0.0, 2.0, 8.0),
        "Q3" => (1.0, 7.0, 0.0, 0.0),
        "Q6" => (3.0, 0.0, 0.0, 1.0),
        "Q17" => (0.0, 7.0, 1.0, 1.0),
        "Q19" => (6.0, 7.0, 0.0, 0.0),
        _ => (1.0, 0.0, 0.0, 0.0),
    };
    Terms { comparisons, probes, keys, updates, ..Terms::NONE }
}

/// Returns the work of an item at scale factor 10, by what was counted here.
///
/// There are 96 objects of each table instead of four, each with as many statements. A GET has a part of 8 MiB, or the
/// ranges that an index found, which are as many times more as rows.
pub(super) fn at_scale_10(it: &Measured, setting: &Setting) -> Phase {
    let scale = if it.cell.label == GROUP_BY { data::group_scale(setting) } else { setting.scale };
    let factor = 10.0 / scale;
    let (bytes, requests) = (it.query.last.bytes, it.query.last.requests);
    let of = |bytes: u64| Bytes::from_f64(bytes as f64 * factor);
    let scanned = of(bytes.scanned);
    let row = match it.cell.label == GROUP_BY {
        true => TABLE.as_f64() / ROWS.as_f64(),
        false => ROW_BYTES as f64,
    };
    let is_index = it.query.last.strategies.iter().any(|it| it.strategy == "index");
    let gets = match is_index {
        true => Requests((requests.get as f64 * factor).ceil() as u64),
        false => Requests(of(bytes.fetched).0.div_ceil(PART)),
    };
    Phase {
        gets,
        got: of(bytes.fetched),
        selects: Requests(requests.select * OBJECTS / OBJECTS_HERE),
        selects_at_once: Some(Requests(OBJECTS)),
        scanned,
        scanned_rows: Rows::from_f64(scanned.as_f64() / row),
        terms: terms(&it.cell.label),
        answered: bytes.returned as f64 * factor / VALUE_BYTES,
        returned: of(bytes.returned),
        ..Phase::default()
    }
}
