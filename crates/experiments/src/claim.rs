//! The claims of the papers.

use std::sync::LazyLock;

use serde::Deserialize;

/// A paper whose evaluation is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Paper {
    /// PushdownDB (ICDE 2020).
    PushdownDb,
    /// Cheetah (SIGMOD 2020).
    Cheetah,
    /// Modeling Analytics for Computational Storage (ICPE 2020).
    Icpe,
}

/// The kind of evidence that can decide a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimClass {
    /// Counts and formulas, which are exact.
    Counted,
    /// Times of this machine.
    Measured,
    /// Predictions for the hardware of the paper.
    Modelled,
    /// Other hardware or software. The published number is shown, and never as reproduced.
    External,
}

impl ClaimClass {
    /// The name of the class in lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::Measured => "measured",
            Self::Modelled => "modelled",
            Self::External => "external",
        }
    }
}

/// The source of a published number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimSource {
    /// The text of the paper.
    Paper,
    /// A formula or number that the text had lost. It was restored so that the paper's worked examples come out.
    Restored,
}

/// A reason why a claim holds that is no finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A constant of the model is fitted to the published number.
    Fitted,
    /// The published number is an input, or follows from one by construction.
    Input,
}

impl Basis {
    /// The basis in a few words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Input => "by construction",
        }
    }
}

/// The cause of a difference, by which differing claims are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// `small-data`: the data has fewer rows than the paper's.
    SmallData,
    /// `other-system`: our operators stand for Spark, Presto or Hadoop.
    OtherSystem,
    /// `other-machine`: client and store share the few cores of one machine.
    OtherMachine,
    /// `other-files`: the generated files have other rows or another encoding than the paper's.
    OtherFiles,
    /// `more-pushdown`: the engine pushes down more than the paper's system.
    MorePushdown,
    /// `more-resources`: our switch programs take more stages, rules or bits, or fewer.
    MoreResources,
    /// `protocol`: the protocol fails as the paper describes it.
    Protocol,
    /// `lost-text`: numbers or formulas were lost from the text, or contradict each other.
    LostText,
    /// `not-published`: an input, such as the data, is not published.
    NotPublished,
    /// `model`: the model of the paper's hardware leaves something out, or adds something.
    Model,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 10] = [
        Self::SmallData,
        Self::OtherSystem,
        Self::OtherMachine,
        Self::OtherFiles,
        Self::MorePushdown,
        Self::MoreResources,
        Self::Protocol,
        Self::LostText,
        Self::NotPublished,
        Self::Model,
    ];

    /// The cause in a few words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SmallData => "small data",
            Self::OtherSystem => "no Spark, Presto or Hadoop here",
            Self::OtherMachine => "client and store share a few cores",
            Self::OtherFiles => "other files",
            Self::MorePushdown => "the engine pushes down more",
            Self::MoreResources => "our switch programs take other resources",
            Self::Protocol => "the protocol as the text has it",
            Self::LostText => "the text lost or contradicts numbers",
            Self::NotPublished => "an input is not published",
            Self::Model => "the model of the paper's hardware",
        }
    }
}

/// A statement or a printed number of a paper.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// A letter for the paper (P, C or I), and the number of the claim.
    pub id: String,
    /// The section, table or figure that makes the claim.
    pub place: String,
    /// The claim as a sentence.
    pub text: String,
    /// The published number or word.
    pub published: String,
    /// The kind of evidence that can decide the claim.
    pub class: ClaimClass,
    /// The source of the published number.
    pub source: ClaimSource,
    /// The experiment that decides the claim; `None` for [`ClaimClass::External`].
    #[serde(default)]
    pub experiment: Option<String>,
    /// The condition under which the claim holds; `None` for [`ClaimClass::External`].
    #[serde(default)]
    pub rule: Option<String>,
    /// The reason why the rule compares a stated number in one direction only.
    #[serde(default)]
    pub one_sided: Option<String>,
    /// The reason why the claim holds, if that is no finding.
    #[serde(default)]
    pub basis: Option<Basis>,
    /// The cause of the difference, of a claim that differs in a quick or a full evaluation.
    #[serde(default)]
    pub cause: Option<Cause>,
}

impl Claim {
    /// The paper that makes the claim.
    #[must_use]
    pub fn paper(&self) -> Paper {
        match self.id.as_bytes().first() {
            Some(b'P') => Paper::PushdownDb,
            Some(b'C') => Paper::Cheetah,
            _ => Paper::Icpe,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimFile {
    claims: Vec<Claim>,
}

static CLAIMS: LazyLock<Vec<Claim>> = LazyLock::new(|| {
    let files = [
        include_str!("../claims/pushdowndb/filters_and_joins.toml"),
        include_str!("../claims/pushdowndb/groups_and_top_k.toml"),
        include_str!("../claims/cheetah.toml"),
        include_str!("../claims/icpe.toml"),
    ];
    let claims_of = |text| match toml::from_str::<ClaimFile>(text) {
        Ok(file) => file.claims,
        // A test parses the files.
        Err(_) => Vec::new(),
    };
    files.into_iter().flat_map(claims_of).collect()
});

/// All claims, in the order of the papers.
#[must_use]
pub fn claims() -> &'static [Claim] {
    &CLAIMS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that name an amount of which a claim states how much.
    const UNITS: [&str; 19] = [
        "%", "times", "s", "cents", "seconds", "GB", "MB", "rows", "columns", "points", "stages",
        "bits", "rules", "groups", "queries", "million", "ALU", "scans", "percent",
    ];
    /// Words of rules that compare a number both ways.
    const BOTH_WAYS: [&str; 5] = ["within", "between", "equal", "round", "exactly"];

    /// Returns true if a text has a number with a unit behind it.
    fn states_a_number(text: &str) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.windows(2).any(|pair| {
            let unit = pair[1].trim_end_matches(['.', ',', ';', ':']);
            pair[0].ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit)
        })
    }

    /// A rule such as `at least 3` let a claim of 5.28 hold at 3.54.
    #[test]
    fn a_stated_number_is_compared_both_ways_or_the_claim_says_why_not() {
        for claim in claims() {
            let Some(rule) = &claim.rule else { continue };
            let is_stated = states_a_number(&claim.text) || states_a_number(&claim.published);
            let is_both_ways = BOTH_WAYS.iter().any(|word| rule.contains(word));
            let is_explained = claim.one_sided.is_some();
            assert!(!is_stated || is_both_ways || is_explained, "{claim:?}");
            assert!(!is_explained || (is_stated && !is_both_ways), "not needed: {claim:?}");
        }
    }

    #[test]
    fn numbers_with_units_are_found() {
        assert!(states_a_number("It costs 30 % less.") && states_a_number("5.28 times, and more"));
        assert!(!states_a_number("A claim of section 4.") && !states_a_number("as fast as 1e-4"));
    }
}
