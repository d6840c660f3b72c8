//! Puts the table to a store.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Case, Expected};
use crate::client::{Client, Error, SelectMetrics};

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

    /// Asks everything, in order; `before` is told the number of each question, from 0.
    ///
    /// # Errors
    /// What keeps a store from answering at all: it cannot be reached, refuses access, or has not
    /// the objects.
    pub async fn ask(
        &self,
        client: &Client,
        bucket: &str,
        metrics: &Arc<SelectMetrics>,
        mut before: impl FnMut(usize),
    ) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = Vec::with_capacity(self.cases.len());
        for (number, (case, place)) in self.cases.iter().enumerate() {
            before(number);
            let asked = client.ask(bucket, &self.key(*place), &case.request(), metrics).await;
            let answer = match asked {
                Ok(answer) => Answer::Rows(answer.records),
                Err(Error::Refused { code, message }) => Answer::Error { code, message },
                Err(Error::BadAnswer { message, .. }) => {
                    Answer::Error { code: "BadAnswer".to_owned(), message }
                }
                // Codes that are worth another attempt stand before the explanation.
                Err(Error::Transient { reason, .. }) => {
                    let (code, message) = reason.split_once(": ").unwrap_or((&reason, ""));
                    Answer::Error { code: code.to_owned(), message: message.to_owned() }
                }
                Err(error) => return Err(error),
            };
            outcomes.push(Outcome { case: *case, answer });
        }
        Ok(outcomes)
    }
}
