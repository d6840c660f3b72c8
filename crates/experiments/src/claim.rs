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
        include_str!("../claims/pushdowndb.toml"),
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
