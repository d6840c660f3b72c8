//! The ten items of PushdownDB's Figure 10: pushdown off against each strategy that can be forced,
//! and against what the cost model chooses, over CSV in the embedded store behind a shaped link.
//!
//! `cargo bench --bench figure_10`, with these environment variables:
//!
//! | variable | default | |
//! |---|---|---|
//! | `SCALE` | 1 | scale factor: 1 is 2 GB of CSV |
//! | `LINK` | 1 | Gbit/s; 0 is unlimited; several with commas between: `0.1,1,10,0` |
//! | `LATENCY` | 0 | milliseconds before each answer; several with commas between: `0,5,50` |
//! | `HARDWARE` | `local-1gbit` | profile, by name or file, that predictions take the rates of store and client from; `calibrate` measures one behind each link |
//! | `ROUNDS` | 3 | runs of each way; those that take longer than 3 s run once |
//! | `OBJECTS` | 4 | objects of each table |
//! | `ITEMS` | all | labels with commas between: `Filter,Q3` |
//! | `WAYS` | all | strategies, `auto` among them: `s3,auto`; pushdown off is always one |
//! | `FORMAT` | `table` | or `csv`, `json` |
//! | `DATA` | a temporary folder | where the data are, and stay |
//!
//! Every link is run with every latency; of several such cells the last table shows how much longer
//! `auto` took than the fastest way (its regret), and whether it was ever slower than pushdown off.
//!
//! The rows of every way are compared with those of pushdown off; if any differ, this fails.

#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops at the first surprise"
)]

mod grid;
mod measure;
mod report;
mod store;
mod strategies;

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use sluicegate_workloads::pushdowndb::ITEMS;
use tokio::runtime::Builder;

use self::measure::{prepare, run};
use self::report::{Cell, Compared};
use self::store::{Folder, Store};
use self::strategies::{AUTO, OFF, forced};

/// Seconds beyond which a way runs once.
const LONG: f64 = 3.0;

/// The parameters of a cell and of its data.
#[derive(Clone)]
struct Settings {
    scale: f64,
    gbit: f64,
    latency: Duration,
    rounds: usize,
    objects: usize,
}

impl Settings {
    /// Describes the link and the latency.
    fn place(&self) -> String {
        let link = match self.gbit {
            0.0 => "unlimited".to_owned(),
            gbit if gbit < 1.0 => format!("{} Mbit/s", gbit * 1e3),
            gbit => format!("{gbit} Gbit/s"),
        };
        format!("{link}, {} ms", self.latency.as_secs_f64() * 1e3)
    }
}

fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Parses the numbers that an environment variable lists.
fn numbers(name: &str, default: f64) -> Vec<f64> {
    let Ok(list) = env::var(name) else { return vec![default] };
    list.split(',').map(|number| number.trim().parse().unwrap()).collect()
}

/// Returns true if a name is in the list of an environment variable, or the variable is not set.
fn is_wanted(variable: &str, name: &str) -> bool {
    env::var(variable).is_ok_and(|list| list.split(',').any(|it| it == name))
        || env::var_os(variable).is_none_or(|list| list.is_empty())
}

async fn compare(store: &Store, settings: &Settings) -> Vec<Compared> {
    store.fill(settings).await;
    let engine = store.engine(settings).await;
    let mut all = Vec::new();
    for item in ITEMS.into_iter().filter(|item| is_wanted("ITEMS", item.name)) {
        let others = forced(item.operator).iter().chain([&AUTO]);
        let others = others.filter(|way| is_wanted("WAYS", way.name));
        let mut ways = Vec::new();
        for way in [&OFF].into_iter().chain(others) {
            ways.push(prepare(&engine, *way, item.sql).await);
        }
        for round in 0..settings.rounds {
            eprintln!("{}, round {}", item.name, round + 1);
            // Ways that take long run in the first round only.
            let ways = ways.iter_mut().filter(|it| round == 0 || it.median() < LONG);
            for way in ways {
                run(store.server(), &engine, item.sql, way).await;
            }
        }
        all.push(Compared { item, ways });
    }
    all
}

fn main() -> ExitCode {
    let (links, latencies) = (numbers("LINK", 1.0), numbers("LATENCY", 0.0));
    let cell = |gbit: f64, milliseconds: f64| Settings {
        scale: setting("SCALE", 1.0),
        gbit,
        latency: Duration::from_secs_f64(milliseconds / 1e3),
        rounds: setting("ROUNDS", 3).max(1),
        objects: setting("OBJECTS", 4).max(1),
    };
    let pairs = links.iter().flat_map(|gbit| latencies.iter().map(|ms| cell(*gbit, *ms)));
    let folder = Folder::open(env::var("DATA").ok());
    let client = Builder::new_multi_thread().enable_all().thread_stack_size(8 << 20).build();
    let client = client.unwrap();
    let mut cells = Vec::new();
    for settings in pairs {
        eprintln!("{}", settings.place());
        let store = Store::start(folder.path(), &settings);
        let all = client.block_on(compare(&store, &settings));
        store.stop();
        let cell = Cell { settings, all };
        // Print each cell at once, in case a later one fails.
        match env::var("FORMAT").as_deref() {
            Ok("csv") => print!("{}", report::csv(&cell, cells.is_empty())),
            Ok("json") => println!("{:#}", report::json(&cell)),
            _ => print!("{}", report::table(&cell)),
        }
        cells.push(cell);
    }
    if cells.len() > 1 && !matches!(env::var("FORMAT").as_deref(), Ok("csv" | "json")) {
        print!("{}", grid::table(&cells));
    }
    let differ: Vec<_> = cells.iter().flat_map(Cell::differing).collect();
    if differ.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("the rows differ from those of pushdown off: {}", differ.join("; "));
    ExitCode::FAILURE
}
