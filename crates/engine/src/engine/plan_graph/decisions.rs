//! Matches decisions to scans.

use crate::context::choice::Decision;

/// The decisions of a plan, each of which belongs to at most one scan.
pub(super) struct ScanDecisions<'a> {
    decisions: &'a [Decision],
    given: Vec<bool>,
}

impl<'a> ScanDecisions<'a> {
    pub(super) fn new(decisions: &'a [Decision]) -> Self {
        Self { decisions, given: vec![false; decisions.len()] }
    }

    /// Returns the decision about the scan of `subject`. If there are several, it is the first one not yet returned,
    /// because operators decide in the order of the plan.
    pub(super) fn about(&mut self, subject: &str) -> Option<usize> {
        let of =
            |decision: &Decision| decision.chosen.is_some() && is_about(&decision.subject, subject);
        let found = self
            .decisions
            .iter()
            .zip(&self.given)
            .position(|(decision, given)| !given && of(decision))?;
        self.given[found] = true;
        Some(found)
    }
}

/// Returns whether a decision's subject is a scan: the scan's objects, these `on` the keys of a join, or an operator
/// `over` them.
fn is_about(words: &str, scan: &str) -> bool {
    let join = words.strip_prefix(scan).is_some_and(|rest| rest.starts_with(" on "));
    let over = words.strip_suffix(scan).is_some_and(|rest| rest.ends_with(" over "));
    words == scan || join || over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_about_the_whole_name() {
        for words in ["s3://b/t.csv", "s3://b/t.csv on k", "sum(a) over s3://b/t.csv"] {
            assert!(is_about(words, "s3://b/t.csv"), "{words}");
        }
        for words in ["s3://b/t.csv and 3 more", "s3://b/t.csv.gz", "not s3://b/t.csv", ""] {
            assert!(!is_about(words, "s3://b/t.csv"), "{words}");
        }
    }
}
