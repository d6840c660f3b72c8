//! Builds engines from connection arguments.
//!
//! [`named_connections`] reads named connections. [`detect`] finds the kind of store, also from earlier probes
//! ([`probed_endpoints`]), and [`calibrated_hardware`] finds its hardware profile. `reachability` checks that a store
//! answers. `workers` adds workers, and `bucket` creates and removes buckets.

pub(crate) mod bucket;
pub(crate) mod calibrated_hardware;
pub(crate) mod detect;
pub(crate) mod named_connections;
pub(crate) mod probed_endpoints;
pub(crate) mod reachability;
pub(crate) mod workers;

use std::path::Path;

use sluicegate_client::{Client, ConnectOptions};
use sluicegate_costmodel::{DataError, HardwareProfile, PriceBook};
use sluicegate_engine::config::Scan;
use sluicegate_engine::{Engine, EngineBuilder};
use sluicegate_s3select::capabilities::StoreCapabilities;

use tokio::runtime::Handle;

use self::calibrated_hardware::{CalibratedHardware, place};
use self::detect::Server;
use self::named_connections::{Connection, Connections};
use crate::args::{ConnectArgs, KINDS, ScanArg, StoreArgs};
use crate::failure::{Failure, Result};
use crate::output::progress::print_line;
use crate::runtime::input::text_of;

impl StoreArgs {
    /// Returns the options of the connection. Arguments override the named connection.
    ///
    /// # Errors
    ///
    /// If there is no connection of that name.
    pub(crate) fn options(&self) -> Result<ConnectOptions> {
        Ok(self.options_over(self.named()?))
    }

    /// Checks the options without sending a request.
    ///
    /// # Errors
    ///
    /// If the endpoint, the region or the AWS profile is invalid. An endpoint or region given as an argument is a
    /// usage error.
    pub(crate) async fn check(&self, options: &ConnectOptions) -> Result<()> {
        use sluicegate_client::Error as E;
        let Err(error) = Client::connect(options, StoreCapabilities::unknown()).await else {
            return Ok(());
        };
        let typed = match &error {
            E::InvalidEndpoint | E::NoScheme { .. } => self.endpoint.is_some(),
            E::InvalidRegion { .. } => self.region.is_some(),
            _ => false,
        };
        match typed {
            true => Err(Failure::Usage(format!("{error}. {}", error.hint()))),
            false => Err(sluicegate_engine::Error::from(error).into()),
        }
    }

    /// Returns the named connection, or an empty one if none is named.
    fn named(&self) -> Result<Connection> {
        match self.connection.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => Connections::read()?.named(name).cloned(),
            None => Ok(Connection::default()),
        }
    }

    fn options_over(&self, named: Connection) -> ConnectOptions {
        // Requests are signed if the user names an AWS profile or gives credentials.
        let signs = self.aws_profile.is_some() || self.credentials.is_some();
        let anonymous = self.anonymous || (named.anonymous && !signs);
        ConnectOptions {
            endpoint: self.endpoint.clone().or(named.endpoint),
            region: self.region.clone().or(named.region),
            aws_profile: self.aws_profile.clone().or(named.aws_profile),
            anonymous,
            credentials: self.credentials.clone(),
            idle_timeout: self.idle_timeout.unwrap_or(ConnectOptions::default().idle_timeout),
            ..ConnectOptions::default()
        }
    }
}

impl ConnectArgs {
    /// Builds the engine of these arguments.
    pub(crate) async fn connect(&self) -> Result<Engine> {
        Ok(self.builder().await?.build().await?)
    }

    /// Returns true if the kind of store depends on its `Server` header, and the store does not answer.
    pub(crate) async fn is_unreachable(&self) -> Result<bool> {
        let named = self.store.named()?;
        if self.kind(&named) != "auto" {
            return Ok(false);
        }
        match detect::endpoint(&self.store.options_over(named)).await? {
            Some(endpoint) => Ok(!Server::probe_kind(&endpoint).await.answers()),
            None => Ok(false),
        }
    }

    /// Returns the kind of store that the arguments or the named connection select.
    fn kind<'a>(&'a self, named: &'a Connection) -> &'a str {
        let kind = self.kind.as_ref().or(self.profile.as_ref()).or(named.store.as_ref());
        kind.map_or("auto", String::as_str)
    }

    /// Returns a builder with the settings of these arguments.
    async fn builder(&self) -> Result<EngineBuilder> {
        let named = self.store.named()?;
        // Queries over local files need no endpoint, so a missing one is reported when it is used.
        let options =
            ConnectOptions { defer_endpoint: true, ..self.store.options_over(named.clone()) };
        self.store.check(&options).await?;
        warn_endpoint_path(options.endpoint.as_deref());
        if self.profile.is_some() {
            print_line("note: --profile is now called --store; --aws-profile names an AWS profile");
        }
        let (profile, link_rate) = match self.kind(&named) {
            "auto" => detect::profile(&options).await?,
            "probed" => (detect::probed(&options).await?, None),
            // clap has checked the argument, but not the kind in a named connection.
            name => {
                let profile = StoreCapabilities::by_name(name).ok_or_else(|| {
                    Failure::new(format!("there is no kind of store `{name}`"))
                        .with_hint(format!("Take one of {}.", KINDS.join(", ")))
                });
                let rate = match name {
                    "sluice" => detect::link_rate(&options).await?,
                    _ => None,
                };
                (profile?, rate)
            }
        };
        let asked = self.hardware.as_ref().or(named.hardware.as_ref());
        let hardware = hardware(asked.map(String::as_str), &options).await?;
        let mut engine = Engine::builder()
            .connect(options)
            .profile(profile)
            .scan(self.scan.into())
            .write_runtime(Handle::current());
        if let Some(cache) = probed_endpoints::cache_folder() {
            engine = engine.statistics_folder(cache.join("statistics"));
        }
        if let Some(name) = self.prices.as_ref().or(named.prices.as_ref()) {
            engine = engine.prices(prices(name)?);
        }
        if let Some(hardware) = hardware {
            engine = engine.hardware(hardware);
        }
        if let Some(rate) = link_rate {
            engine = engine.link_rate(rate);
        }
        if let Some(limit) = self.memory_limit {
            engine = engine.memory_limit(usize::try_from(limit.0).unwrap_or(usize::MAX));
        }
        if let Some(threads) = self.threads {
            engine = engine.threads(threads.get());
        }
        Ok(engine)
    }
}

impl From<ScanArg> for Scan {
    fn from(scan: ScanArg) -> Self {
        match scan {
            ScanArg::Auto => Self::Auto,
            ScanArg::Get => Self::Get,
            ScanArg::Select => Self::Select,
            ScanArg::Index => Self::Index,
            ScanArg::IndexTable => Self::IndexTable,
        }
    }
}

/// Prints a note if an endpoint has a path: few stores have one, and most take it for the name of a bucket.
fn warn_endpoint_path(endpoint: Option<&str>) {
    // Never print an endpoint with a query, which may contain a secret; such an endpoint is refused.
    let without = endpoint.filter(|url| !url.contains(['?', '#'])).and_then(|url| {
        let (scheme, rest) = url.split_once("://")?;
        let (host, path) = rest.split_once('/')?;
        (!path.is_empty()).then(|| format!("{scheme}://{host}"))
    });
    if let (Some(endpoint), Some(without)) = (endpoint, without) {
        print_line(&format!(
            "note: the endpoint {endpoint} has a path, which most stores take for the name of a bucket; \
             without it: {without}"
        ));
    }
    if let Some((bucket, without)) = endpoint.and_then(bucket_of_aws) {
        print_line(&format!(
            "note: the endpoint names the bucket `{bucket}`, which requests name again; without it: {without}"
        ));
    }
}

/// Splits an endpoint of AWS that contains a bucket, `https://bucket.s3.eu-west-1.amazonaws.com`, into the bucket and
/// the endpoint without it.
fn bucket_of_aws(endpoint: &str) -> Option<(&str, String)> {
    let (scheme, host) = endpoint.split_once("://")?;
    let at = host.find(".s3.").or_else(|| host.find(".s3-"))?;
    host.contains(".amazonaws.com")
        .then(|| (&host[..at], format!("{scheme}://{}", &host[at + 1..])))
}

/// Returns the price book of this name, or reads it from a file.
pub(crate) fn prices(name: &str) -> Result<PriceBook> {
    let names = || PriceBook::all().iter().map(|book| book.name.clone()).collect();
    let known = PriceBook::by_name(name).cloned();
    named_or_read("price book", name, known, PriceBook::parse, names)
}

/// Returns the hardware profile of this name, or reads it from a file. For `auto`, returns the most recent
/// calibration of the store that these options reach; if there is none, the engine chooses a profile.
async fn hardware(
    asked: Option<&str>,
    options: &ConnectOptions,
) -> Result<Option<HardwareProfile>> {
    let calibrated = CalibratedHardware::in_cache();
    let tell_damage = || {
        for damage in calibrated.iter().flat_map(CalibratedHardware::damage) {
            print_line(&format!("warning: {damage}"));
        }
    };
    let Some(name) = asked.filter(|name| *name != "auto") else {
        let Some(calibrated) = &calibrated else { return Ok(None) };
        tell_damage();
        let client = Client::connect(options, StoreCapabilities::unknown()).await;
        let client = client.map_err(sluicegate_engine::Error::from)?;
        return Ok(calibrated.of_store(&place(&client)).cloned());
    };
    read(name, calibrated.as_ref(), tell_damage).map(Some)
}

/// Returns the hardware profile of this name, or reads it from a file.
pub(crate) fn profile_named(name: &str) -> Result<HardwareProfile> {
    read(name, CalibratedHardware::in_cache().as_ref(), || ())
}

fn read(
    name: &str,
    calibrated: Option<&CalibratedHardware>,
    tell_damage: impl Fn(),
) -> Result<HardwareProfile> {
    let names = || {
        let come_with_us = HardwareProfile::all().iter().map(|it| it.name.clone());
        let measured = calibrated.into_iter().flat_map(CalibratedHardware::names);
        come_with_us.chain(measured).collect()
    };
    let known = HardwareProfile::by_name(name).or_else(|| calibrated?.by_name(name));
    if known.is_none() && !Path::new(name).is_file() {
        tell_damage();
    }
    named_or_read("hardware profile", name, known.cloned(), HardwareProfile::parse, names)
}

/// Returns `probed_endpoints`, or parses the file `name`.
fn named_or_read<T>(
    what: &str,
    name: &str,
    known: Option<T>,
    parse: fn(&str) -> Result<T, DataError>,
    names: impl Fn() -> Vec<String>,
) -> Result<T> {
    if let Some(known) = known {
        return Ok(known);
    }
    let path = Path::new(name);
    if !path.exists() {
        return Err(Failure::new(format!("there is no {what} and no file `{name}`"))
            .with_hint(format!("Take one of {}, or name a TOML file.", names().join(", "))));
    }
    let text = text_of(path)?;
    parse(&text).map_err(|error| Failure::new(format!("`{name}`, {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_price_book_names_the_known_ones() {
        let names = || vec!["free".to_owned()];
        let error = named_or_read("price book", "x", None, PriceBook::parse, names).unwrap_err();
        let Failure::Failed { message, hint, .. } = error else { panic!("{error:?}") };
        assert_eq!(message, "there is no price book and no file `x`");
        assert_eq!(hint.as_deref(), Some("Take one of free, or name a TOML file."));
    }

    #[test]
    fn a_bucket_in_an_endpoint_of_aws_is_found() {
        for (endpoint, expected) in [
            ("https://b.s3.amazonaws.com", Some(("b", "https://s3.amazonaws.com"))),
            (
                "https://b.c.s3.eu-west-1.amazonaws.com",
                Some(("b.c", "https://s3.eu-west-1.amazonaws.com")),
            ),
            (
                "https://b.s3-eu-west-1.amazonaws.com",
                Some(("b", "https://s3-eu-west-1.amazonaws.com")),
            ),
            ("https://s3.eu-west-1.amazonaws.com", None),
            ("http://b.s3.example.com", None),
        ] {
            let found = bucket_of_aws(endpoint);
            let found = found.as_ref().map(|(bucket, without)| (*bucket, without.as_str()));
            assert_eq!(found, expected, "{endpoint}");
        }
    }
}
