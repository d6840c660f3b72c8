//! The results of a probe.

use std::collections::BTreeSet;

use super::question::{Question, Topic};
use super::verdicts::Lessons;
use sluicegate_s3select::capabilities::{Extension, StoreCapabilities};

/// The judgment of a store's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The answer is as S3 Select specifies, or one of the ways that it leaves open.
    Works,
    /// The store refuses the statement.
    Refused,
    /// The store's answer is wrong.
    Wrong,
    /// There was no answer, or the question could not be used.
    NotKnown,
}

impl Verdict {
    /// Returns the verdict in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Refused => "refused",
            Self::Wrong => "answers wrongly",
            Self::NotKnown => "not known",
        }
    }
}

/// A verdict and its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The judgment of the answer.
    pub verdict: Verdict,
    /// The index of the way that the store follows, among those that are right.
    pub(super) way: Option<usize>,
    /// The relevant part of the store's answer. Empty if the answer is simply right.
    pub evidence: String,
}

impl Outcome {
    /// Creates an outcome without an answer, for the given reason.
    pub fn not_known(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotKnown, way: None, evidence: why.into() }
    }
}

/// A line in the table of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The subject of the question.
    pub topic: Topic,
    /// The name of the feature.
    pub feature: String,
    /// The judgment of the store's answer.
    pub verdict: Verdict,
    /// The relevant part of the store's answer.
    pub evidence: String,
}

/// Facts from the heads and bodies of all answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// True if every answer named the version of its object; `None` if there was no answer.
    pub names_version: Option<bool>,
    /// The extensions that every answer named.
    pub extensions: BTreeSet<Extension>,
    /// True if every answer with records ended with the record delimiter; `None` if no answer had records.
    pub ends_records: Option<bool>,
    /// True if a requested Progress event was received.
    pub progress_came: bool,
}

/// The results of a probe.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The detected profile of the store.
    pub profile: StoreCapabilities,
    /// The table of results.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Draws the conclusions from the outcomes, which must be in the order of the questions.
    pub fn new(outcomes: Vec<(Question, Outcome)>, facts: &Facts) -> Self {
        let mut lessons = Lessons::new();
        let mut findings = Vec::with_capacity(outcomes.len());
        let mut all_right = !outcomes.is_empty();
        for (question, outcome) in outcomes {
            all_right &= outcome.verdict == Verdict::Works;
            (question.teaches)(&mut lessons, outcome.way);
            if outcome.verdict == Verdict::Refused && outcome.evidence.starts_with("InternalError")
            {
                lessons.profile.internal_error_is_final = true;
            }
            findings.push(Finding {
                topic: question.topic,
                feature: question.feature.to_owned(),
                verdict: outcome.verdict,
                evidence: outcome.evidence,
            });
        }
        lessons.profile.answers_name_version = facts.names_version == Some(true);
        lessons.profile.ends_last_record = facts.ends_records == Some(true);
        lessons.profile.many_ranges = facts.extensions.contains(&Extension::ManyRanges);
        lessons.profile.indexes = facts.extensions.contains(&Extension::Indexes);
        // Progress is used only if events were received.
        lessons.profile.progress &= facts.progress_came;
        let mut profile = lessons.conclude(all_right, &facts.extensions);
        if !profile.formats.contains(&sluicegate_s3select::capabilities::DataFormat::Csv)
            && profile.formats.is_empty()
        {
            profile = StoreCapabilities { name: profile.name, ..StoreCapabilities::unknown() };
        }
        findings.extend(facts.findings());
        Self { profile, findings }
    }

    /// Returns the number of findings with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }
}

impl Facts {
    fn findings(&self) -> Vec<Finding> {
        let finding = |feature: &str, verdict, evidence: &str| Finding {
            topic: Topic::Protocol,
            feature: feature.to_owned(),
            verdict,
            evidence: evidence.to_owned(),
        };
        let version = match self.names_version {
            Some(true) => finding("answers name the object's version", Verdict::Works, ""),
            Some(false) => finding(
                "answers name the object's version",
                Verdict::Refused,
                "there is no ETag in the head; it is asked for with HEAD",
            ),
            None => finding(
                "answers name the object's version",
                Verdict::NotKnown,
                "there was no answer",
            ),
        };
        let extensions = if self.extensions.is_empty() {
            finding("extensions", Verdict::Refused, "none is offered")
        } else {
            let offered = Extension::header_value(&self.extensions);
            finding("extensions", Verdict::Works, &offered)
        };
        vec![version, extensions]
    }
}
