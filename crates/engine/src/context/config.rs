//! Options of a session, set in code or by `SET sluice.…`.

use std::any::Any;
use std::fmt;
use std::str::FromStr;

use datafusion::common::config::{
    ConfigEntry, ConfigExtension, ConfigField, ConfigOptions, ExtensionOptions, Visit,
};
use datafusion::common::{DataFusionError, config_err, config_namespace};

pub use crate::context::auto_or_number::{BloomP, GroupsPushed, Selectivity, TopKSample};
pub use crate::context::idle_timeout::IdleTimeout;
use crate::context::index_location::IndexLocation;
use crate::context::switch_target::{Delta, SwitchTarget};

/// Declares an option whose values are the strategies of an operator, or `auto` for the cost model's choice.
macro_rules! strategies {
    (
        $(#[$about:meta])*
        $name:ident, $option:literal: $($(#[$variant_about:meta])* $variant:ident = $word:literal,)+
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum $name {
            $($(#[$variant_about])* $variant,)+
        }

        impl $name {
            /// The full name of the option.
            pub const OPTION: &'static str = $option;
            /// The values of the option, as SQL writes them.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl FromStr for $name {
            type Err = DataFusionError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text.to_ascii_lowercase().as_str() {
                    $($word => Ok(Self::$variant),)+
                    other => Err(no_strategy($option, other, Self::WORDS)),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }

        impl ConfigField for $name {
            fn visit<V: Visit>(&self, v: &mut V, key: &str, description: &'static str) {
                v.some(key, self, description);
            }

            fn set(&mut self, _key: &str, value: &str) -> datafusion::common::Result<()> {
                *self = value.parse()?;
                Ok(())
            }
        }
    };
}

strategies! {
    /// The strategy for reading a table in the store.
    Scan, "sluice.scan":
    /// The cost model picks one of the other strategies.
    #[default]
    Auto = "auto",
    /// Fetch whole objects with GET and filter them locally.
    Get = "get",
    /// Push filters, columns and aggregates down to the store, if it supports them.
    Select = "select",
    /// Look matching records up in an index, if there is one, and fetch and filter only these.
    Index = "index",
    /// Find records with S3 Select over the CSV index table of the PushdownDB paper, and fetch each with a GET. `auto`
    /// never uses it.
    IndexTable = "index_table",
}

strategies! {
    /// The place where aggregates without GROUP BY are computed.
    Aggregate, "sluice.aggregate":
    /// The cost model picks one of the other places.
    #[default]
    Auto = "auto",
    /// Compute in the store, if the result is exact.
    Store = "store",
    /// Compute locally.
    Here = "here",
}

strategies! {
    /// The strategy for sending keys of a join's build side to the store.
    Join, "sluice.join":
    /// The cost model picks one of the other strategies.
    #[default]
    Auto = "auto",
    /// Fetch the tables whole.
    Baseline = "baseline",
    /// Let the store filter and project each table on its own.
    Filtered = "filtered",
    /// Let the store also filter the probe side by the keys of the build side, if possible.
    Bloom = "bloom",
}

strategies! {
    /// The strategy for ORDER BY with LIMIT.
    TopK, "sluice.top_k":
    /// The cost model picks one of the other strategies.
    #[default]
    Auto = "auto",
    /// Fetch whole objects and sort all rows locally.
    Server = "server",
    /// Let the store filter and project, and sort the returned rows locally.
    Filtered = "filtered",
    /// Read a sample first, and skip the rows that the sample excludes.
    Sampling = "sampling",
    /// Sample like `sampling`, then fetch only the sort columns of the remaining rows. These determine the rows of
    /// the answer, which are fetched last.
    Late = "late",
}

strategies! {
    /// The place where aggregates with GROUP BY, and DISTINCT, are computed.
    GroupBy, "sluice.group_by":
    /// The cost model picks one of the other places.
    #[default]
    Auto = "auto",
    /// Fetch whole objects and group locally.
    Server = "server",
    /// Let the store filter and project, and group the returned rows locally.
    Filtered = "filtered",
    /// Aggregate in the store, if the result is exact, by one CASE per group and aggregate. Stores that have no CASE,
    /// or that do not separate groups exactly, get one statement per group.
    Case = "case",
    /// Aggregate in the store, if the result is exact, by the store's own GROUP BY. Stores without one are used as in
    /// `case`.
    S3 = "s3",
    /// Aggregate the largest groups in the store, the others locally.
    Hybrid = "hybrid",
}

/// Returns the values of an option that names strategies; none for any other option.
#[must_use]
pub fn words(option: &str) -> &'static [&'static str] {
    let all = [
        (Scan::OPTION, Scan::WORDS),
        (Aggregate::OPTION, Aggregate::WORDS),
        (Join::OPTION, Join::WORDS),
        (TopK::OPTION, TopK::WORDS),
        (GroupBy::OPTION, GroupBy::WORDS),
    ];
    all.iter().find(|(name, _)| *name == option).map_or(&[], |(_, words)| *words)
}

fn no_strategy(option: &str, given: &str, words: &[&str]) -> DataFusionError {
    let words: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let (last, others) = words.split_last().map_or(("", &[][..]), |(last, rest)| (last, rest));
    let others = others.join(", ");
    DataFusionError::Configuration(format!("{option} is '{given}', but must be {others} or {last}"))
}

/// The quantity that a choice among strategies minimises: the cost model's objective as an option.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Objective(pub sluicegate_costmodel::Objective);

impl From<Objective> for sluicegate_costmodel::Objective {
    fn from(Objective(objective): Objective) -> Self {
        objective
    }
}

impl FromStr for Objective {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse()
            .map(Self)
            .map_err(|error| DataFusionError::Configuration(format!("sluice.objective: {error}")))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ConfigField for Objective {
    fn visit<V: Visit>(&self, v: &mut V, key: &str, description: &'static str) {
        v.some(key, self, description);
    }

    fn set(&mut self, _key: &str, value: &str) -> datafusion::common::Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}

/// The number of partitions of a table that are read at a time, 1 to [`Partitions::MOST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partitions(usize);

impl Partitions {
    /// The maximum. Each partition may have two requests in flight, and stores report that they are busy at few more
    /// than that.
    pub const MOST: usize = 256;

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }
}

impl Default for Partitions {
    fn default() -> Self {
        Self(8)
    }
}

impl FromStr for Partitions {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().parse() {
            Ok(number) if (1..=Self::MOST).contains(&number) => Ok(Self(number)),
            _ => config_err!(
                "sluice.select_partitions is '{text}', but must be a whole number from 1 to {}",
                Self::MOST
            ),
        }
    }
}

impl fmt::Display for Partitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ConfigField for Partitions {
    fn visit<V: Visit>(&self, v: &mut V, key: &str, description: &'static str) {
        v.some(key, self, description);
    }

    fn set(&mut self, _key: &str, value: &str) -> datafusion::common::Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}

config_namespace! {
    /// The options under the prefix `sluice`.
    pub struct SluiceOptions {
        /// The strategy for reading tables in the store: 'auto', 'get', 'select' or 'index'
        pub scan: Scan, default = Scan::Auto

        /// The folder of index objects: a URL such as 's3://bucket/folder/', or empty for .sluice-index in the data's
        /// bucket
        pub index_location: IndexLocation, default = IndexLocation::default()

        /// The maximum number of ranges of an object that an index scan requests at once, up to 1000, if the store
        /// supports several ranges in a request; 1: one request per range
        pub ranges_per_request: usize, default = 256

        /// The quantity that 'auto' minimises: 'time', 'dollars', or dollars plus a price for waiting, such as '12
        /// dollars per hour'
        pub objective: Objective, default = Objective::default()

        /// The share of a table's rows that predictions assume its filters to pass, 0 to 1; 'auto': estimated from
        /// statistics and indexes
        pub selectivity: Selectivity, default = Selectivity::default()

        /// The place where aggregates without GROUP BY are computed: 'auto', 'store' or 'here'
        pub aggregate: Aggregate, default = Aggregate::Auto

        /// The use of the keys of a join's build side: 'auto', 'baseline' (tables are fetched whole), 'filtered' (the
        /// store filters tables without keys) or 'bloom' (keys are sent to the store)
        pub join: Join, default = Join::Auto

        /// The false-positive rate of the Bloom filters on keys of joins that are sent to the store, 1e-9 to 0.999; a
        /// filter that does not fit in a statement gets a higher one, and few keys are sent as a list instead; 'auto':
        /// the predicted best, or 0.01 if sluice.join is 'bloom'
        pub bloom_p: BloomP, default = BloomP::default()

        /// The maximum number of distinct keys of a join that are collected to filter another table, if the join does
        /// not list them; beyond it, only the least and the greatest key are sent
        pub join_keys: usize, default = 2_000_000

        /// If true, the keys of a join also filter tables that are joined to its probe side by the same key
        pub transfer: bool, default = true

        /// The strategy for ORDER BY with LIMIT: 'auto', 'server' (the table is fetched), 'filtered' (the store
        /// filters it), 'sampling' (a sample excludes rows) or 'late' (a sample excludes rows, then the sort columns
        /// are fetched, then the rows of the answer)
        pub top_k: TopK, default = TopK::Auto

        /// The number of rows that 'sampling' and 'late' sample, at least 1; 'auto': the number for which the fewest
        /// bytes are predicted to be returned
        pub top_k_sample: TopKSample, default = TopKSample::default()

        /// The strategy for aggregates with GROUP BY: 'auto', 'server', 'filtered', 'case', 's3' or 'hybrid'
        pub group_by: GroupBy, default = GroupBy::Auto

        /// The number of largest groups of an object, or of a range of it, that 'hybrid' aggregates in the store, 1 to
        /// 256; at most 32 if each group needs its own statement, and fewer if a statement would be too long; 'auto':
        /// the predicted best after a sample
        pub group_by_pushed: GroupsPushed, default = GroupsPushed::default()

        /// The number of rows of an object, or of a range of it, that are sampled to find groups for the store to
        /// aggregate
        pub group_by_sample: usize, default = 4096

        /// The minimum number of bytes of each of the parallel Select requests that an object is split among
        pub range_bytes: usize, default = 8 * 1024 * 1024

        /// The minimum number of partitions of a table that Select reads in parallel, 1 to 256, as far as there are
        /// objects or ranges; the number of partitions of a query, if it is larger
        pub select_partitions: Partitions, default = Partitions::default()

        /// The time that a store may be silent before a query fails, 100ms to 1h, such as '30s'; the request is
        /// retried once after half of it; 'auto': the endpoint's own setting, by default 30s
        pub idle_timeout: IdleTimeout, default = IdleTimeout::default()

        /// The switch that prunes rows on their way: 'off', 'tofino1', 'tofino2', 'paper' or a target file
        pub switch: SwitchTarget, default = SwitchTarget::Off

        /// The allowed probability of a wrong answer through randomized pruning; 0 allows deterministic pruning only
        pub switch_delta: Delta, default = Delta::default()

        /// The seed of the switch's random choices: hashes, fingerprints, rows
        pub switch_seed: u64, default = 1

        /// If true, workers evaluate the predicates of WHERE that the switch cannot evaluate, and send the results
        pub switch_workers: bool, default = false

        /// The number of packets after which a worker bypasses the program if fewer than 1 % of them were pruned,
        /// except with one batch in 64; 0: never
        pub switch_patience: u64, default = 16_384

        /// If true, EXPLAIN ANALYZE also counts what a switch without limits would forward, and what workers would
        /// ship without a switch; keeps all keys in memory
        pub switch_opt: bool, default = false

        /// If true, rows cross the query's programs packed into one, packet by packet, as on the switch itself:
        /// slower, with the same outcome
        pub switch_packed: bool, default = false
    }
}

impl ConfigExtension for SluiceOptions {
    const PREFIX: &'static str = "sluice";
}

/// DataFusion's macro for extensions is not used because it lists the options without their prefix, so that `SHOW
/// sluice.scan` would not find them.
impl ExtensionOptions for SluiceOptions {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> datafusion::common::Result<()> {
        let entries = self.entries();
        let name = format!("{}.{key}", Self::PREFIX);
        let Some(entry) = entries.iter().find(|entry| entry.key == name) else {
            let names: Vec<_> = entries.iter().map(|entry| entry.key.as_str()).collect();
            return config_err!("there is no option {name}; there are {}", names.join(", "));
        };
        ConfigField::set(self, key, value).map_err(|error| match error {
            // Errors of our own types already contain the expected values; those of plain numbers and booleans do
            // not.
            DataFusionError::Configuration(_) | DataFusionError::External(_) => error,
            _ => {
                let flag = matches!(entry.value.as_deref(), Some("true" | "false"));
                let expected = if flag { "true or false" } else { "a whole number, at least 0" };
                DataFusionError::Configuration(format!(
                    "{name} is '{value}', but must be {expected}"
                ))
            }
        })
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let mut entries = Entries::default();
        self.visit(&mut entries, Self::PREFIX, "");
        entries.0
    }
}

impl SluiceOptions {
    /// Returns whether a full name, such as `sluice.scan`, is one of these options.
    #[must_use]
    pub fn has(name: &str) -> bool {
        name.strip_prefix(Self::PREFIX).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Resets an option, given by its full name, to its default.
    ///
    /// # Errors
    ///
    /// If there is no such option.
    pub fn reset(&mut self, name: &str) -> datafusion::common::Result<()> {
        let mut fresh = Self::default();
        let entries = self.entries();
        if !entries.iter().any(|entry| entry.key == name) {
            let names: Vec<_> = entries.iter().map(|entry| entry.key.as_str()).collect();
            return config_err!("there is no option {name}; there are {}", names.join(", "));
        }
        for ConfigEntry { key, value, .. } in entries.into_iter().filter(|entry| entry.key != name)
        {
            let key = key.strip_prefix(Self::PREFIX).and_then(|it| it.strip_prefix('.'));
            if let (Some(key), Some(value)) = (key, value) {
                ExtensionOptions::set(&mut fresh, key, &value)?;
            }
        }
        *self = fresh;
        Ok(())
    }
}

#[derive(Default)]
struct Entries(Vec<ConfigEntry>);

impl Visit for Entries {
    fn some<V: fmt::Display>(&mut self, key: &str, value: V, description: &'static str) {
        self.0.push(ConfigEntry {
            key: key.to_owned(),
            value: Some(value.to_string()),
            description,
        });
    }

    fn none(&mut self, key: &str, description: &'static str) {
        self.0.push(ConfigEntry { key: key.to_owned(), value: None, description });
    }
}

impl SluiceOptions {
    /// Returns the options of a session, or the defaults if the session has none.
    #[must_use]
    pub fn from_options(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_reads_as_it_is_written() {
        for scan in [Scan::Auto, Scan::Get, Scan::Select, Scan::Index] {
            assert_eq!(scan.to_string().parse::<Scan>().unwrap(), scan);
        }
        for join in [Join::Auto, Join::Baseline, Join::Filtered, Join::Bloom] {
            assert_eq!(join.to_string().parse::<Join>().unwrap(), join);
        }
        for aggregate in [Aggregate::Auto, Aggregate::Store, Aggregate::Here] {
            assert_eq!(aggregate.to_string().parse::<Aggregate>().unwrap(), aggregate);
        }
        for top_k in [TopK::Auto, TopK::Server, TopK::Filtered, TopK::Sampling, TopK::Late] {
            assert_eq!(top_k.to_string().parse::<TopK>().unwrap(), top_k);
        }
        for group_by in [
            GroupBy::Auto,
            GroupBy::Server,
            GroupBy::Filtered,
            GroupBy::Case,
            GroupBy::S3,
            GroupBy::Hybrid,
        ] {
            assert_eq!(group_by.to_string().parse::<GroupBy>().unwrap(), group_by);
        }
    }

    #[test]
    fn a_value_that_is_none_is_named_with_those_that_are() {
        let mut options = ConfigOptions::new();
        options.extensions.insert(SluiceOptions::default());
        let mut error = |key: &str, value: &str| options.set(key, value).unwrap_err().to_string();
        let said = error("sluice.scan", "sideways");
        assert!(
            said.contains(
                "'sideways', but must be 'auto', 'get', 'select', 'index' or 'index_table'"
            ),
            "{said}"
        );
        let said = error("sluice.aggregate", "true");
        assert!(said.contains("'true', but must be 'auto', 'store' or 'here'"), "{said}");
        let said = error("sluice.objective", "fast");
        assert!(said.contains("`fast` is not an objective"), "{said}");
        let said = error("sluice.switch_opt", "maybe");
        assert!(said.contains("sluice.switch_opt is 'maybe', but must be true or false"), "{said}");
        let said = error("sluice.range_bytes", "5MB");
        assert!(said.contains("sluice.range_bytes is '5MB', but must be a whole number"), "{said}");
        for wrong in ["0", "257", "-1", "many", ""] {
            let said = error("sluice.select_partitions", wrong);
            let expected = format!("'{wrong}', but must be a whole number from 1 to 256");
            assert!(said.contains(&expected), "{said}");
        }
        let said = error("sluice.scam", "get");
        assert!(said.contains("no option sluice.scam; there are sluice.scan, "), "{said}");
        options.set("sluice.objective", "12 dollars per hour").unwrap();
        let kept = SluiceOptions::from_options(&options).objective.to_string();
        assert_eq!(kept, "12 dollars per hour");
    }
}
