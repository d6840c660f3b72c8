//! The ten items of PushdownDB's Figure 10: pushdown off against each strategy that can be forced,
//! and against what the cost model chooses, over CSV in the embedded store behind a shaped link.
//!
//! `cargo bench --bench figure_10`, with these environment variables:
//!
//! | variable | default | |
//! |---|---|---|
//! | `SCALE` | 1 | scale factor: 1 is 2 GB of CSV |
//! | `LINK` | 1 | Gbit/s; 0 is unlimited |
//! | `ROUNDS` | 3 | runs of each way |
//! | `OBJECTS` | 4 | objects of each table |
//! | `ITEMS` | all | labels with commas between: `Filter,Q3` |
//! | `WAYS` | all | strategies, `auto` among them: `s3,auto`; pushdown off is always one |
//! | `FORMAT` | `table` | or `csv`, `json` |
//! | `DATA` | a temporary folder | where the data are, and stay |
//!
//! The rows of every way are compared with those of pushdown off; if any differ, this fails.

#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops at the first surprise"
)]

mod measure;
mod report;
mod store;
mod strategies;

use std::env;
use std::process::ExitCode;

use sluicegate_workloads::pushdowndb::ITEMS;
use tokio::runtime::Builder;

use self::measure::{prepare, run};
use self::report::Compared;
use self::store::Store;
use self::strategies::{AUTO, OFF, forced};

/// What is measured.
struct Settings {
    scale: f64,
    gbit: f64,
    rounds: usize,
    objects: usize,
}

fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Whether a name is in the list that a variable holds; all are if there is none.
fn is_wanted(variable: &str, name: &str) -> bool {
    env::var(variable).is_ok_and(|list| list.split(',').any(|it| it == name))
        || env::var_os(variable).is_none_or(|list| list.is_empty())
}

async fn compare(store: &Store, settings: &Settings) -> Vec<Compared> {
    eprintln!("generating data at scale {}", settings.scale);
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
            for way in &mut ways {
                run(store.server(), &engine, item.sql, way).await;
            }
        }
        all.push(Compared { item, ways });
    }
    all
}

fn main() -> ExitCode {
    let settings = Settings {
        scale: setting("SCALE", 1.0),
        gbit: setting("LINK", 1.0),
        rounds: setting("ROUNDS", 3).max(1),
        objects: setting("OBJECTS", 4).max(1),
    };
    let folder = env::var("DATA").ok();
    let store = Store::start(folder.as_deref());
    let client = Builder::new_multi_thread().enable_all().thread_stack_size(8 << 20).build();
    let all = client.unwrap().block_on(compare(&store, &settings));
    match env::var("FORMAT").as_deref() {
        Ok("csv") => print!("{}", report::csv(&all)),
        Ok("json") => println!("{:#}", report::json(&settings, &all)),
        _ => print!("{}", report::table(&settings, &all)),
    }
    store.stop();
    let differ: Vec<_> = all.iter().filter(|it| !it.agree()).map(|it| it.item.name).collect();
    if differ.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("the rows differ from those of pushdown off: {}", differ.join(", "));
    ExitCode::FAILURE
}
