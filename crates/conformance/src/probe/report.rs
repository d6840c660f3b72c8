//! What came of a probe.

use std::collections::BTreeSet;

use super::lessons::Lessons;
use super::question::{Question, Topic};
use sluicegate_s3select::profile::{EndpointProfile, Extension};

/// What a store's answer to a question is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is as S3 Select says, or one of the ways that it leaves open.
    Works,
    /// The store refuses.
    Refused,
    /// The store answers, and not rightly.
    Wrong,
    /// There was no answer, or the question could not be put.
    NotKnown,
}

impl Verdict {
    /// The words for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Refused => "refused",
            Self::Wrong => "answers wrongly",
            Self::NotKnown => "not known",
        }
    }
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Which of the right ways the store has.
    pub(super) way: Option<usize>,
    /// What the store said, if that is not just the right answer.
    pub evidence: String,
}

impl Outcome {
    /// No answer, for a reason.
    pub fn not_known(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotKnown, way: None, evidence: why.into() }
    }
}

/// A line of the table that a probe makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub topic: Topic,
    /// The feature.
    pub feature: String,
    /// Whether the store has it.
    pub verdict: Verdict,
    /// What the store said.
    pub evidence: String,
}

/// What the heads of the answers said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether every answer named the version of its object; `None` if there was no answer.
    pub names_version: Option<bool>,
    /// The extensions that every answer named.
    pub extensions: BTreeSet<Extension>,
    /// Whether every answer that had records ended with the record delimiter; `None` if none had any.
    pub ends_records: Option<bool>,
    /// Whether a Progress event came where one was asked for.
    pub progress_came: bool,
}

/// What came of a probe.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What the store may be sent from now on.
    pub profile: EndpointProfile,
    /// The table.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Draws the conclusions from the outcomes of questions, in the order of the questions.
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
        // Events that did not come were not seen to be right.
        lessons.profile.progress &= facts.progress_came;
        let mut profile = lessons.conclude(all_right, &facts.extensions);
        if !profile.formats.contains(&sluicegate_s3select::profile::DataFormat::Csv)
            && profile.formats.is_empty()
        {
            profile = EndpointProfile { name: profile.name, ..EndpointProfile::unknown() };
        }
        findings.extend(facts.findings());
        Self { profile, findings }
    }

    /// How many findings have a verdict.
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
