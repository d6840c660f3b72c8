//! Asks a store the cases of the table.

use std::collections::HashMap;

use sluicegate_s3select::SelectRequest;

use super::{Case, Expected};
use crate::answer::{NoAnswer, RawAnswer};

/// The cases of the table and the objects that they are about.
#[derive(Debug, Clone)]
pub struct Run {
    cases: Vec<(Case, usize)>,
    objects: Vec<Vec<u8>>,
    prefix: String,
}

/// A case and a store's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// The store's answer.
    pub answer: Answer,
}

/// A store's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// All the bytes of the rows.
    Rows(Vec<u8>),
    /// An error, before the answer or in it.
    Error {
        /// The store's code; `BadAnswer` for an answer that cannot be used.
        code: String,
        /// The store's explanation.
        message: String,
    },
}

/// How an answer compares with the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the expected one.
    Agrees,
    /// An error, as expected, with another code.
    OtherCode,
    /// An error instead of rows.
    Refused,
    /// Other rows, or rows instead of an error.
    Wrong,
}

impl Verdict {
    /// The verdict in words.
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
    /// How the answer compares with the expected one.
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
    /// Prepares the cases for objects whose keys begin with `prefix`.
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

    /// The number of cases.
    #[must_use]
    pub fn questions(&self) -> usize {
        self.cases.len()
    }

    /// The objects that the bucket must contain: key and content.
    pub fn objects(&self) -> impl Iterator<Item = (String, &[u8])> {
        self.objects.iter().enumerate().map(|(place, bytes)| (self.key(place), bytes.as_slice()))
    }

    fn key(&self, place: usize) -> String {
        format!("{}{place}", self.prefix)
    }

    /// Asks all cases in order; `ask` sends a request for the object of a key.
    ///
    /// # Errors
    /// The error of `ask`, which stands for a store that cannot answer at all: it cannot be reached,
    /// refuses access, or lacks the objects.
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
