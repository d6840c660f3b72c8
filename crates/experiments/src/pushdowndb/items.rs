//! The ten items of Figure 10, without and with pushdown.

use sluicegate_costmodel::{Bytes, Cost, HardwareProfile, Phase, Provenance, Requests};
use sluicegate_workloads::pushdowndb::ITEMS;

use super::paper::{OBJECTS, predicted};
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

/// A table of gains, with those that the authors' script has.
pub(super) fn table(title: String, gains: &[Gain]) -> Table {
    let row = |name: &str, gain: &Gain, published: &str| {
        let faster = format!("{:.2}", gain.faster);
        let cost = format!("{:.2}", gain.cost);
        vec![name.to_owned(), faster, published.to_owned(), cost, gain.chosen.clone()]
    };
    let published = |name: &str| match name {
        "Join" => "6.22",
        "Q3" => "5.64",
        "Q14" => "1.43",
        "Q17" => "10.16",
        "Q19" => "17.00",
        _ => "",
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

/// Returns the cost of what an item moved, at scale factor 10 for a client.
pub(super) fn at_scale_10(it: &Measured, setting: &Setting, client: &HardwareProfile) -> Cost {
    let scale = if it.cell.label == GROUP_BY { data::group_scale(setting) } else { setting.scale };
    let factor = 10.0 / scale;
    let bytes = it.query.last.bytes;
    let of = |bytes: u64| Bytes::from_f64(bytes as f64 * factor);
    // Objects are larger at scale 10, and there are 96 of each table.
    let objects = |requests: u64| Requests(if requests > 0 { OBJECTS } else { 0 });
    let requests = it.query.last.requests;
    let phase = Phase {
        gets: objects(requests.get),
        got: of(bytes.fetched),
        selects: objects(requests.select),
        scanned: of(bytes.scanned),
        returned: of(bytes.returned),
        ..Phase::default()
    };
    predicted(&phase.into(), client).1
}
