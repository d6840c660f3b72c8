//! `sluice calibrate`: measures this machine and a store, and writes a hardware profile.
//!
//! [`data`] generates the samples, [`size`] chooses their size, [`plan`] lists the trials and their cost, [`measure`]
//! runs them, and [`report`] prints the result.

mod data;
mod measure;
mod plan;
mod report;
mod size;

use std::io::Write;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use datafusion::common::DataFusionError;
use futures::TryStreamExt;
use object_store::path::Path;
use sluicegate_client::ConnectOptions;
use sluicegate_costmodel::calibration::{
    Calibration, Experiment, NOISY_LOAD, NOISY_SCATTER, fit, scatter,
};
use sluicegate_costmodel::{Bytes, HardwareProfile, PriceBook, Work};
use sluicegate_engine::{Engine, ErrorKind};
use sluicegate_s3select::capabilities::StoreCapabilities;

use self::data::Data;
use crate::args::CalibrateArgs;
use crate::commands::generate::bucket_store;
use crate::commands::samples::Samples;
use crate::connect::calibrated_hardware::{CalibratedHardware, place};
use crate::connect::{detect, prices, probed_endpoints};
use crate::failure::{Failure, Result};
use crate::output::file::PartialFile;
use crate::output::progress::print_line;
use crate::output::stats;
use crate::runtime::compute::Compute;
use crate::runtime::interrupt::interruptible;

/// Longest name of a profile, in bytes.
const MAX_NAME: usize = 200;
const HINT: &str = "Name a bucket in which the access key may write and delete, with --bucket.";

pub(crate) async fn run(args: CalibrateArgs, compute: &Compute) -> Result<()> {
    let result = Box::pin(calibrate(args, compute)).await;
    if matches!(result, Err(Failure::Stopped(_))) {
        print_line("stopped: nothing is remembered");
    }
    result
}

async fn calibrate(args: CalibrateArgs, compute: &Compute) -> Result<()> {
    let prices = match &args.prices {
        Some(name) => prices(name)?,
        None => PriceBook::paper().clone(),
    };
    let connecting = connect(&args, &prices, StoreCapabilities::unknown());
    let engine = interruptible(Box::pin(connecting)).await?;
    let place = place(&engine.endpoint().client);
    let name = args.name.clone().unwrap_or_else(|| name_of(&place));
    if HardwareProfile::by_name(&name).is_some() || name == "auto" || !is_name(&name) {
        return Err(Failure::Usage(format!(
            "`{name}` cannot be the name of a profile of your own: choose another, of letters, digits \
             and `-`, `_` or `.` between them"
        )));
    }
    // Fail before measuring if the profile cannot be written.
    let output = args.output.as_deref().map(PartialFile::begin).transpose()?;
    if output.is_none() && !args.dry_run {
        cache()?.check()?;
    }
    let largest = args.size.unwrap_or(size::LARGEST);
    let data = interruptible(generate(largest, args.seed, compute)).await?;
    let trials = plan::trials(&data)?;
    let rounds = u64::from(args.rounds) + 1;
    let mut work = plan::work(&data, &trials, rounds, &engine.endpoint().hardware);
    if args.size.is_none() {
        work = [work, size::work()].into_iter().sum();
    }
    announce(&args, &place, &work, &prices)?;
    if args.dry_run {
        let told = async {
            check_bucket(&engine, &args.bucket).await;
            Ok(())
        };
        return interruptible(Box::pin(told)).await;
    }

    let (profile, _) = interruptible(Box::pin(detect::profile(&args.store.options()?))).await?;
    // A second engine, because its connections must live on the threads that queries run on.
    let measuring = connect(&args, &prices, profile).await?;
    let question = Measurement {
        bucket: &args.bucket,
        name,
        size: args.size,
        rounds: args.rounds,
        seed: args.seed,
    };
    let MeasurementResult { profile, experiments, removed } =
        question.answer(&engine, &measuring, data, trials, compute).await?;
    let counted = [engine.counted(), measuring.counted()].into_iter().sum();
    report::print(&profile, &experiments, &counted, &prices, args.format)?;
    keep(&args, output, &profile)?;
    // Report the failed removal last, so that the measurement is kept.
    removed
}

/// The parameters of a calibration.
struct Measurement<'a> {
    bucket: &'a str,
    /// Name of the profile.
    name: String,
    /// Size of the largest samples; `None` for the bytes that the link carries in a second.
    size: Option<Bytes>,
    rounds: u32,
    seed: u64,
}

/// The result of a calibration.
struct MeasurementResult {
    profile: HardwareProfile,
    experiments: Vec<Experiment>,
    /// Outcome of the samples' removal.
    removed: Result<()>,
}

impl Measurement<'_> {
    /// Writes samples through one engine, measures through the other, and fits the profile.
    async fn answer(
        self,
        engine: &Engine,
        measuring: &Engine,
        mut data: Arc<Data>,
        mut trials: Vec<plan::Trial>,
        compute: &Compute,
    ) -> Result<MeasurementResult> {
        let load = load_per_core();
        let mut samples = Samples::new(engine, self.bucket, "calibrate", HINT)?;
        let target = (self.bucket.to_owned(), samples.prefix().to_owned());
        let measured = interruptible(Box::pin(async {
            samples.begin().await?;
            if self.size.is_none() {
                let size = size::transferred_per_second(&mut samples, &data.parts[0]).await?;
                if size < size::LARGEST {
                    data = generate(size, self.seed, compute).await?;
                    trials = plan::trials(&data)?;
                }
            }
            let objects = data.objects().map(|it| (it.name.clone(), it.contents.clone()));
            samples.write(objects).await?;
            let data = Arc::clone(&data);
            let work = measure::measure(measuring.clone(), target, data, trials, self.rounds);
            compute.run(Box::pin(work)).await
        }))
        .await;
        // The samples are removed also after an error or an interruption.
        let removed = samples.remove().await;
        if let (Err(_), Err(failure)) = (&measured, &removed) {
            let (message, hint) = failure.words();
            print_line(&format!("warning: {message}\n{}", hint.unwrap_or_default()));
        }
        let experiments = measured?;

        let mut base = measuring.endpoint().hardware.clone();
        base.client.cores = cores();
        let fit = fit(&experiments, &base);
        let noise = noise(load, &experiments);
        let profile = HardwareProfile {
            name: self.name,
            date: probed_endpoints::now(),
            source: format!("measured by sluice {}", env!("CARGO_PKG_VERSION")),
            calibration: Some(Box::new(Calibration {
                endpoint: place(&measuring.endpoint().client),
                rounds: self.rounds,
                load,
                noise,
                assumed: fit.assumed,
                intervals: fit.intervals,
            })),
            ..fit.hardware
        };
        Ok(MeasurementResult { profile, experiments, removed })
    }
}

/// Calibrates with an embedded store. Prints nothing and saves nothing.
pub(super) async fn quietly(
    options: &ConnectOptions,
    bucket: &str,
    rounds: u32,
    compute: &Compute,
) -> Result<HardwareProfile> {
    let engine = Engine::builder().connect(options.clone()).profile(StoreCapabilities::sluice());
    let (engine, measuring) = (engine.clone().build().await?, engine.build().await?);
    let seed = 1;
    let data = interruptible(generate(size::LARGEST, seed, compute)).await?;
    let trials = plan::trials(&data)?;
    let name = name_of(&place(&measuring.endpoint().client));
    let question = Measurement { bucket, name, size: None, rounds, seed };
    let measured = question.answer(&engine, &measuring, data, trials, compute).await?;
    measured.removed.map(|()| measured.profile)
}

async fn generate(size: Bytes, seed: u64, compute: &Compute) -> Result<Arc<Data>> {
    let generating = async move {
        tracing::debug!(%size, "generating samples");
        Ok(Arc::new(Data::generate(size, seed)?))
    };
    compute.run(generating).await
}

async fn connect(
    args: &CalibrateArgs,
    prices: &PriceBook,
    profile: StoreCapabilities,
) -> Result<Engine> {
    let engine = Engine::builder().connect(args.store.options()?).prices(prices.clone());
    Ok(engine.profile(profile).build().await?)
}

/// Prints a note if the store answers within two seconds that the bucket does not exist.
async fn check_bucket(engine: &Engine, bucket: &str) {
    const TIMEOUT: Duration = Duration::from_secs(2);
    let Ok(store) = bucket_store(engine, bucket) else { return };
    let nothing = Path::from("sluice-calibrate-nothing");
    let mut listed = store.list(Some(&nothing));
    if let Ok(Err(error)) = tokio::time::timeout(TIMEOUT, listed.try_next()).await {
        let error = sluicegate_engine::Error::from(DataFusionError::ObjectStore(Box::new(error)));
        if error.kind() == ErrorKind::NotFound {
            print_line(&format!(
                "note: there is no bucket `{bucket}`: calibrating would create it"
            ));
        }
    }
}

/// Prints the work and the predicted bill of the store.
///
/// # Errors
///
/// If the bill is higher than `--max-cost`.
fn announce(args: &CalibrateArgs, place: &str, work: &Work, prices: &PriceBook) -> Result<()> {
    let cost = prices.cost(&Work { wall: Duration::ZERO, ..*work });
    print_line(&format!(
        "calibrating with {place}: at most {} in {} rounds, {} written, {} fetched, {} scanned by the \
         store if it has Select\n\
         predicted bill of the store: at most {} at the prices {}",
        work.requests.total().in_words(),
        args.rounds + 1,
        work.sent,
        work.got,
        work.scanned,
        cost.store(),
        stats::book(prices),
    ));
    match &args.max_cost {
        Some(limit) if cost.store() > limit.0 => {
            let text = format!("that may be more than {}", limit.0);
            Err(Failure::new(text).with_hint(
                "Raise --max-cost, or ask for less: smaller samples (--size), fewer --rounds.",
            ))
        }
        _ => Ok(()),
    }
}

/// Returns the reasons why the measurement may be inaccurate.
fn noise(load: Option<f64>, experiments: &[Experiment]) -> Vec<String> {
    let mut noise = Vec::new();
    if let Some(load) = load.filter(|load| *load > NOISY_LOAD) {
        noise.push(format!("the machine had other work: a load of {load:.2} for each core"));
    }
    let scatter = scatter(experiments);
    if scatter > NOISY_SCATTER {
        noise.push(format!("the same took {:.0} % more or less each time", scatter * 100.0));
    }
    noise
}

/// Saves the profile in the cache, and in the file of `--output`.
fn keep(
    args: &CalibrateArgs,
    output: Option<PartialFile>,
    profile: &HardwareProfile,
) -> Result<()> {
    if let (Some(path), Some(mut file)) = (&args.output, output) {
        let written = file.file().write_all(profile.to_string().as_bytes());
        written.map_err(|error| Failure::file(path, error))?;
        file.finish()?;
        print_line(&format!("wrote {}: --hardware {} uses it", path.display(), path.display()));
    }
    match cache().and_then(|folder| folder.save(profile)) {
        Ok(path) => {
            print_line(&format!(
                "remembered in {}: sql and explain use it for this store, and --hardware {} for any",
                path.display(),
                profile.name
            ));
            Ok(())
        }
        Err(failure) if args.output.is_none() => Err(failure),
        // The profile is in the file of `--output`, so the cache is not needed.
        Err(_) => Ok(()),
    }
}

/// Opens the cache of calibrated profiles.
fn cache() -> Result<CalibratedHardware> {
    CalibratedHardware::in_cache().ok_or_else(|| {
        Failure::new("there is no cache folder")
            .with_hint("Set XDG_CACHE_HOME, or write the profile to a file with --output.")
    })
}

/// Derives a profile's name from its store: `127.0.0.1-9000`, `aws-us-east-1`.
fn name_of(place: &str) -> String {
    let place = place.replace("AWS, region ", "aws-");
    let host = place.split_once("://").map_or(place.as_str(), |(_, host)| host);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let name: String = host.chars().map(plain).collect();
    name.trim_matches(['-', '.']).to_owned()
}

/// Returns true if a profile may have this name, which is the name of a file and an argument of `--hardware`.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let ends = [name.chars().next(), name.chars().next_back()];
    name.len() <= MAX_NAME
        && name.chars().all(plain)
        && ends.iter().all(|end| end.is_some_and(|c| c.is_ascii_alphanumeric()))
}

fn cores() -> NonZeroU32 {
    let cores = available_parallelism().map_or(1, |cores| cores.get());
    u32::try_from(cores).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

/// Returns the load average of the last minute per core; `None` where the system does not report it.
fn load_per_core() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(load / f64::from(cores().get()))
}

#[cfg(test)]
mod tests {
    use sluicegate_costmodel::calibration::MeasuredOperation;

    use super::*;

    #[test]
    fn a_profile_is_named_after_its_store() {
        assert_eq!(name_of("http://127.0.0.1:9000"), "127.0.0.1-9000");
        assert_eq!(name_of("https://s3.example.org/base"), "s3.example.org-base");
        assert_eq!(name_of("AWS, region us-east-1"), "aws-us-east-1");
        assert_eq!(name_of("http://[::1]:9000"), "1--9000");
    }

    #[test]
    fn a_name_stays_in_the_folder() {
        for good in ["office", "127.0.0.1-9000", "a", "A_b.c-2"] {
            assert!(is_name(good), "{good}");
        }
        let long = "a".repeat(MAX_NAME + 1);
        let others = ["", "..", "../../x", "a/b", "a\\b", ".hidden", "-v", "a b", "ä", "a\n", "x."];
        for bad in others.into_iter().chain([long.as_str()]) {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_busy_machine_and_scattered_times_are_noise() {
        let took = |seconds: &[f64]| Experiment {
            asked: MeasuredOperation::Get(Bytes(1)),
            seconds: seconds.to_vec(),
        };
        let (quiet, loud) = ([took(&[1.0, 1.01, 0.99])], [took(&[1.0, 2.0, 0.5])]);
        assert!(noise(None, &quiet).is_empty());
        assert!(noise(Some(0.1), &quiet).is_empty());
        assert_eq!(noise(Some(1.5), &quiet).len(), 1);
        assert_eq!(noise(Some(1.5), &loud).len(), 2);
    }
}
