//! `sluice validate`: compares predictions with measurements.
//!
//! `queries` lists the queries, `trial` runs each in every way, and `report` prints the result.

mod queries;
mod report;
mod trial;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_costmodel::HardwareProfile;
use sluicegate_engine::Engine;
use sluicegate_server::Server;
use sluicegate_workloads::{Generate, tpch};

use self::queries::{QUERIES, Query};
use self::trial::{Cell, Choice, run_all};
use super::calibrate;
use super::embedded_store::{connect, define, load, options};
use crate::args::quantity::{link_words, whole_rate};
use crate::args::{DataFormat, ValidateArgs};
use crate::connect::profile_named;
use crate::failure::{Failure, Result};
use crate::output::progress::print_line;
use crate::runtime::compute::Compute;
use crate::runtime::disk_space;
use crate::runtime::interrupt::interruptible;
use crate::runtime::scratch::Scratch;

const BUCKET: &str = "tpch";
/// Name of the bucket that holds a calibration's samples for some seconds.
const SAMPLES: &str = "calibration";
const CALIBRATE: &str = "calibrate";

pub(super) async fn run(
    args: ValidateArgs,
    compute: &Compute,
    scratch: &mut Scratch,
) -> Result<()> {
    let given = match args.hardware.as_str() {
        CALIBRATE => None,
        name => Some(profile_named(name)?),
    };
    let folder = scratch.make("sluice-validate-")?;
    let tables = tables(args.scale, args.format);
    disk_space::check(&folder, tables.about_bytes(), "the data of this scale")?;
    fs::create_dir(folder.join(BUCKET)).map_err(|error| Failure::file(&folder, error))?;
    fill(compute, &folder, &tables).await?;
    let wanted =
        |query: &&Query| args.query.is_empty() || args.query.iter().any(|it| it == query.name);
    let queries: Vec<Query> = QUERIES.iter().filter(wanted).copied().collect();
    let mut choices = Vec::new();
    for latency in args.latency.iter().map(|it| it.0) {
        let server = Arc::new(start(compute, &folder, latency).await?);
        for link in &args.link {
            let cell = Cell { link: *link, latency };
            print_line(&format!(
                "behind a link of {}, {} ms",
                link_words(*link),
                latency.as_secs_f64() * 1e3
            ));
            server.set_link_rate(whole_rate(*link));
            let hardware = match &given {
                Some(profile) => shaped(profile, cell),
                None => {
                    print_line("calibrating");
                    let options = options(&server);
                    calibrate::quietly(&options, SAMPLES, args.rounds.max(3), compute).await?
                }
            };
            for noise in hardware.calibration.iter().flat_map(|it| &it.noise) {
                print_line(&format!("warning: {noise}; measure again when it is quiet"));
            }
            let engine = interruptible(Box::pin(async {
                let engine = connect(&server, &hardware).await?;
                define(&engine, BUCKET, &tables).await?;
                Ok(engine)
            }))
            .await?;
            for query in &queries {
                for share in &args.selectivity {
                    let (query, share, rounds) = (*query, *share, args.rounds);
                    let (engine, scale) = (engine.clone(), args.scale);
                    let server = Arc::clone(&server);
                    let ways = compute.run(Box::pin(async move {
                        run_all(&engine, &server, query, &query.sql(share, scale), rounds).await
                    }));
                    let ways = interruptible(ways).await?;
                    choices.push(Choice { cell, query: query.name, share, ways });
                }
            }
        }
        if let Ok(server) = Arc::try_unwrap(server) {
            server.shutdown().await;
        }
    }
    report::print(&choices, args.trials)
}

fn tables(scale: f64, format: DataFormat) -> tpch::Generate {
    Generate {
        scale,
        format: format.into(),
        tables: vec![tpch::Table::Orders, tpch::Table::Lineitem],
        objects_per_table: std::num::NonZeroUsize::MIN.saturating_add(3),
        prefix: Default::default(),
        ..Generate::default()
    }
}

async fn start(compute: &Compute, folder: &Path, latency: Duration) -> Result<Server> {
    // The data can be generated again, so writes need not survive a power failure.
    let server = Server::builder(folder).sync_writes(false).latency(latency);
    compute.run(async move { Ok(server.start().await?) }).await
}

async fn fill(compute: &Compute, folder: &Path, tables: &tpch::Generate) -> Result<()> {
    let server = start(compute, folder, Duration::ZERO).await?;
    let hardware = HardwareProfile::by_name("local").cloned();
    let hardware = hardware.ok_or_else(|| Failure::new("the profile `local` is missing"))?;
    let engine: Engine = connect(&server, &hardware).await?;
    let tables = tables.clone();
    let loading = async move { load(&engine, BUCKET, &tables, "TPC-H").await };
    interruptible(compute.run(Box::pin(loading))).await?;
    server.shutdown().await;
    Ok(())
}

/// Returns the profile with the link of a cell. The latency is at least that of requests on one machine.
fn shaped(profile: &HardwareProfile, cell: Cell) -> HardwareProfile {
    let least = HardwareProfile::by_name("local").map_or(Duration::ZERO, |it| it.link.latency);
    let mut shaped = profile.clone();
    shaped.link.bytes_per_second = cell.link;
    shaped.link.connection_bytes_per_second = cell.link;
    shaped.link.latency = cell.latency.max(least);
    // The latency of a statement beyond that of a request stays the same.
    let beyond = profile.select.latency.saturating_sub(profile.link.latency);
    shaped.select.latency = shaped.link.latency + beyond;
    shaped
}

#[cfg(test)]
mod tests {
    use sluicegate_costmodel::BytesPerSecond;

    use super::*;

    #[test]
    fn a_profile_follows_the_link_of_a_cell() {
        let remote = HardwareProfile::by_name("remote-1gbit").unwrap();
        let latency = |latency: u64, link| {
            let shaped = shaped(remote, Cell { link, latency: Duration::from_millis(latency) });
            assert_eq!(shaped.link.bytes_per_second, link);
            let beyond = remote.select.latency.saturating_sub(remote.link.latency);
            assert_eq!(shaped.select.latency, shaped.link.latency + beyond);
            shaped.link.latency
        };
        let (none, one) =
            (latency(0, BytesPerSecond::UNLIMITED), latency(1, BytesPerSecond::gbit(10.0)));
        assert!(none < one && one < remote.link.latency, "{none:?}, {one:?}");
        assert_eq!(latency(20, BytesPerSecond::gbit(1.0)), Duration::from_millis(20));
    }
}
