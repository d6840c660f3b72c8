//! Execution of the table's cases against a store.

use std::collections::HashMap;

use sluicegate_s3select::SelectRequest;

use super::{Case, Expected};
use crate::answer::{NoAnswer, RawAnswer};

/// The cases of the table and their objects.
#[derive(Debug, Clone)]
pub struct Run {
    cases: Vec<(Case, usize)>,
    objects: Vec<Vec<u8>>,
    prefix: String,
}

/// A case and a store's answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The case of the table.
    pub case: Case,
    /// The answer of the store.
    pub answer: Answer,
}

/// The answer of a store to a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The bytes of all rows.
    Rows(Vec<u8>),
    /// An error, either before the answer or within it.
    Error {
        /// The store's code; `BadAnswer` for an answer that cannot be used.
        code: String,
        /// The message of the store.
        message: String,
    },
}

/// The comparison of an answer with the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The answer is the expected one.
    Agrees,
    /// The answer is an error, as expected, but with another code.
    OtherCode,
    /// The answer is an error instead of rows.
    Refused,
    /// The answer has other rows, or rows instead of an error.
    Wrong,
}

impl Verdict {
    /// Returns the verdict in words.
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
    /// Compares the answer with the expected one.
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

    /// Returns the number of cases.
    #[must_use]
    pub fn questions(&self) -> usize {
        self.cases.len()
    }

    /// Returns the objects that the bucket must contain, with their keys.
    pub fn objects(&self) -> impl Iterator<Item = (String, &[u8])> {
        self.objects.iter().enumerate().map(|(place, bytes)| (self.key(place), bytes.as_slice()))
    }

    fn key(&self, place: usize) -> String {
        format!("{}{place}", self.prefix)
    }

    /// Runs all cases in order. `run_case` sends a request for the object of a key.
    ///
    /// # Errors
    ///
    /// Returns the error of `run_case` if the store cannot answer at all, because it cannot be reached, refuses access, or
    /// lacks the objects.
    pub async fn run_case<E>(
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
