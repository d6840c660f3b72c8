//! Faults on demand between a client and a store, for tests of clients.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use crate::counters::Operation;

/// The pause before a connection is cut, in which the bytes written before leave the server.
pub(crate) const FLUSH: Duration = Duration::from_millis(20);

/// A fault in the answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// 503 `SlowDown` instead of an answer.
    SlowDown,
    /// 500 `InternalError` instead of an answer.
    InternalError,
    /// The connection is cut instead of an answer.
    Cut,
    /// The answer is delayed by this time.
    Delay(Duration),
    /// The object is replaced by these bytes just before the request is processed.
    ReplaceObject(Bytes),
    /// `GetObject`: the connection is cut after this many bytes of the body.
    CutBody {
        /// The bytes of the body that still arrive.
        after: u64,
    },
    /// `GetObject`: nothing is sent after this many bytes of the body, but the connection stays open.
    SilentBody {
        /// The bytes of the body that still arrive.
        after: u64,
    },
    /// `GetObject`: one bit of this byte of the body is flipped, if there is such a byte.
    FlipBody {
        /// The number of the byte, from 0.
        at: u64,
    },
    /// `SelectObjectContent`: nothing is sent after the given `Records` frame (from 0), or after the last one if
    /// there are fewer, but the connection stays open.
    SilentAfterRecords(u64),
    /// `CompleteMultipartUpload`: joining the parts takes this much longer.
    SlowCompletion(Duration),
    /// `SelectObjectContent`: the connection is cut before the given `Records` frame (from 0).
    CutBeforeRecords(u64),
    /// `SelectObjectContent`: the connection is cut in the middle of the given `Records` frame.
    CutInRecords(u64),
    /// `SelectObjectContent`: the connection is cut after the given `Records` frame.
    CutAfterRecords(u64),
    /// `SelectObjectContent`: an error frame replaces the given `Records` frame, or the `Stats`
    /// frame if there are fewer, and nothing follows.
    ErrorFrame {
        /// The number of the replaced frame (from 0).
        records: u64,
        /// S3's error code, such as `InternalError`.
        code: String,
    },
    /// `SelectObjectContent`: a well-formed answer with other records.
    Records(Bytes),
    /// `SelectObjectContent`: the answer ends cleanly, but without its `End` frame.
    MissingEnd,
    /// `SelectObjectContent`: one bit of the given `Records` frame's payload is flipped, so that
    /// its checksum is wrong.
    WrongCrc(u64),
    /// `PutObject`, `UploadPart`: the disk is full after this many bytes.
    DiskFull {
        /// The bytes that still fit.
        after: u64,
    },
}

/// The requests that a [`Fault`] affects.
#[derive(Debug, Clone)]
pub struct Rule {
    operation: Operation,
    pattern: String,
    skip: u64,
    times: u64,
    fault: Fault,
}

impl Rule {
    /// Creates a rule for the first request of a kind, for any key.
    #[must_use]
    pub fn new(operation: Operation, fault: Fault) -> Self {
        Self { operation, pattern: "*".to_owned(), skip: 0, times: 1, fault }
    }

    /// Restricts the rule to keys that match the pattern. `*` stands for any text.
    #[must_use]
    pub fn key(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = pattern.into();
        self
    }

    /// Makes the rule begin with the n-th matching request, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: u64) -> Self {
        self.skip = n.saturating_sub(1);
        self
    }

    /// Makes the rule affect this many matching requests in a row.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }
}

/// The faults of a server. They can be changed while it runs.
#[derive(Default)]
pub struct Faults {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    struck: u64,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("struck", &self.struck()).finish_non_exhaustive()
    }
}

impl Faults {
    /// Creates an empty list of faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule to the list.
    pub fn inject(&self, rule: Rule) {
        self.lock().rules.push(rule);
    }

    /// Removes all rules from the list.
    pub fn clear(&self) {
        self.lock().rules.clear();
    }

    /// Returns the number of faults injected so far.
    #[must_use]
    pub fn struck(&self) -> u64 {
        self.lock().struck
    }

    /// Returns the faults for this request, and updates the rules.
    pub(crate) fn strike(&self, operation: Operation, key: &str) -> Vec<Fault> {
        let mut state = self.lock();
        let mut faults = Vec::new();
        for rule in &mut state.rules {
            if rule.operation != operation || !matches(&rule.pattern, key) {
                continue;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
            } else if rule.times > 0 {
                rule.times -= 1;
                faults.push(rule.fault.clone());
            }
        }
        state.struck += faults.len() as u64;
        faults
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if the text matches the pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    for piece in pieces {
        // The leftmost match leaves the most text for the remaining pieces.
        let Some(at) = text.find(piece) else { return false };
        text = &text[at + piece.len()..];
    }
    text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "a/b", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*.csv", "t/1.csv", true),
            ("*.csv", "t/1.csv.gz", false),
            ("t/*.csv", "t/.csv", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn the_nth_request_and_so_many_after_it() {
        let faults = Faults::new();
        faults.inject(Rule::new(Operation::GetObject, Fault::SlowDown).key("a*").nth(2).times(2));
        let strike = |op, key| !faults.strike(op, key).is_empty();
        assert!(!strike(Operation::GetObject, "a1"));
        assert!(!strike(Operation::PutObject, "a1"));
        assert!(!strike(Operation::GetObject, "b1"));
        assert!(strike(Operation::GetObject, "a1"));
        assert!(strike(Operation::GetObject, "a2"));
        assert!(!strike(Operation::GetObject, "a3"));
        assert_eq!(faults.struck(), 2);
    }
}
