//! Puts the table to a store.

use std::collections::HashMap;

use sluicegate_s3select::SelectRequest;

use super::{Case, Expected};
use crate::answer::{NoAnswer, RawAnswer};

/// The table, and the objects that its questions are about.
#[derive(Debug, Clone)]
pub struct Run {
    cases: Vec<(Case, usize)>,
    objects: Vec<Vec<u8>>,
    prefix: String,
}

/// A case, and what a store answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// The store's answer.
    pub answer: Answer,
}

/// What a store answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// All the bytes of the rows.
    Rows(Vec<u8>),
    /// An error, before the answer or in it.
    Error {
        /// The store's code; `BadAnswer` for an answer that makes no sense.
        code: String,
        /// The store's explanation.
        message: String,
    },
}

/// How an answer is related to the one expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the one expected.
    Agrees,
    /// An error, as expected, with another code.
    OtherCode,
    /// An error where there should be rows.
    Refused,
    /// Other rows, or rows where there should be an error.
    Wrong,
}

impl Verdict {
    /// For people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::OtherCode => "other code",
            Self::Refused => "refused",
            Self::Wrong => "wrong",
        }
    }
}

impl Outcome {
    /// How the answer is related to the one expected.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (&self.answer, self.case.expected) {
            (Answer::Rows(rows), Expected::Rows(expected)) if rows == expected.as_bytes() => {
                Verdict::Agrees
            }
            (Answer::Error { code, .. }, Expected::Error(expected))
                if code == expected.as_str() =>
            {
                Verdict::Agrees
            }
            (Answer::Error { .. }, Expected::Error(_)) => Verdict::OtherCode,
            (Answer::Error { .. }, Expected::Rows(_)) => Verdict::Refused,
            (Answer::Rows(_), _) => Verdict::Wrong,
        }
    }
}

impl Run {
    /// Prepares to ask about objects whose keys begin with `prefix`.
    #[must_use]
    pub fn new(prefix: impl Into<String>) -> Self {
        let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
        let cases = Case::all().map(|case| {
            let next = known.len();
            (case, *known.entry(case.bytes()).or_insert(next))
        });
        let cases = cases.collect();
        let mut objects = vec![Vec::new(); known.len()];
        for (bytes, place) in known {
            objects[place] = bytes;
        }
        Self { cases, objects, prefix: prefix.into() }
    }

    /// How many questions there are.
    #[must_use]
    pub fn questions(&self) -> usize {
        self.cases.len()
    }

    /// The objects that must be in the bucket: key and content.
    pub fn objects(&self) -> impl Iterator<Item = (String, &[u8])> {
        self.objects.iter().enumerate().map(|(place, bytes)| (self.key(place), bytes.as_slice()))
    }

    fn key(&self, place: usize) -> String {
        format!("{}{place}", self.prefix)
    }

    /// Asks everything, in order; `ask` puts a request to the object of a key.
    ///
    /// # Errors
    /// What `ask` returns as its error, which keeps a store from answering at all: it cannot be
    /// reached, refuses access, or has not the objects.
    pub async fn ask<E>(
        &self,
        mut ask: impl AsyncFnMut(&str, &SelectRequest) -> Result<Result<RawAnswer, NoAnswer>, E>,
    ) -> Result<Vec<Outcome>, E> {
        let mut outcomes = Vec::with_capacity(self.cases.len());
        for (case, place) in &self.cases {
            let answer = match ask(&self.key(*place), &case.request()).await? {
                Ok(answer) => Answer::Rows(answer.records),
                Err(
                    NoAnswer::Refused { code, message, .. } | NoAnswer::Failed { code, message },
                ) => Answer::Error { code, message },
            };
            outcomes.push(Outcome { case: *case, answer });
        }
        Ok(outcomes)
    }
}
