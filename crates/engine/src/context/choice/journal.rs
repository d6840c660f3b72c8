//! The record of the decisions that were made for a plan.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::config::ConfigOptions;

use super::Decision;
use crate::context::config_extension::carried;

/// Records the decisions of rules.
///
/// The journal is part of the session's options, because rules are given nothing else. EXPLAIN plans with a journal
/// of all decisions, an engine's query with one of warnings, and any other query with none. Clones, and clones of the
/// options, share the entries.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    entries: Arc<Mutex<Vec<Decision>>>,
    warnings_only: bool,
}

impl Journal {
    /// Returns a journal that keeps only decisions that do not follow a setting, each once, however often the query
    /// is planned.
    #[must_use]
    pub fn of_warnings() -> Self {
        Self { warnings_only: true, ..Self::default() }
    }

    /// Makes the rules that use these options write to this journal.
    pub fn keep(&self, options: &mut ConfigOptions) {
        options.extensions.insert(self.clone());
    }

    /// Returns the journal of the plan that is being made, if there is one.
    #[must_use]
    pub fn from_options(options: &ConfigOptions) -> Option<&Self> {
        options.extensions.get::<Self>()
    }

    /// Returns whether the plan in progress is explained, so that all reasons are needed.
    #[must_use]
    pub fn explains(options: &ConfigOptions) -> bool {
        Self::from_options(options).is_some_and(|journal| !journal.warnings_only)
    }

    /// Records a decision if the plan that is being made has a journal.
    pub fn note(options: &ConfigOptions, decision: impl FnOnce() -> Decision) {
        if let Some(journal) = Self::from_options(options) {
            journal.write(decision());
        }
    }

    /// Records a decision.
    pub fn write(&self, decision: Decision) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if self.warnings_only {
            let warning = decision.warning();
            if warning.is_none() || entries.iter().any(|entry| entry.warning() == warning) {
                return;
            }
        }
        entries.push(decision);
    }

    /// Removes and returns everything recorded so far, in order.
    #[must_use]
    pub fn take(&self) -> Vec<Decision> {
        std::mem::take(&mut *self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns everything recorded so far, in order.
    #[must_use]
    pub fn decisions(&self) -> Vec<Decision> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the warnings of the decisions recorded so far, in order, each once.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut warnings = Vec::new();
        for warning in entries.iter().filter_map(Decision::warning) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }
}

carried!(Journal, "sluice_journal", "a journal has no option `{}`");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::choice::Reason;

    #[test]
    fn rules_record_only_where_there_is_a_journal() {
        let decision =
            || Decision::refused("switch", "tofino1", "DISTINCT k", Reason::from("full"));
        let mut options = ConfigOptions::new();
        Journal::note(&options, || unreachable!("nobody asked"));
        let journal = Journal::default();
        journal.keep(&mut options);
        // Planning copies the options.
        Journal::note(&options.clone(), decision);
        let written = journal.take();
        assert_eq!(written.len(), 1);
        let expected = "switch of DISTINCT k\n    tofino1 not possible: full\n";
        assert_eq!(written[0].to_string(), expected);
        assert!(journal.take().is_empty());
    }

    #[test]
    fn a_journal_of_warnings_keeps_each_once_and_nothing_else() {
        let journal = Journal::of_warnings();
        let mut options = ConfigOptions::new();
        journal.keep(&mut options);
        assert!(!Journal::explains(&options));
        let followed = Decision::refused("aggregate", "store", "sum(a)", Reason::from("full"));
        let unmet = Some("sluice.aggregate = 'store' is not followed: full".to_owned());
        let not_followed = Decision { unmet, ..followed.clone() };
        for _ in 0..3 {
            Journal::note(&options, || followed.clone());
            Journal::note(&options, || not_followed.clone());
        }
        let expected = "aggregate of sum(a): sluice.aggregate = 'store' is not followed: full";
        assert_eq!(journal.warnings(), [expected]);
        assert_eq!(journal.take().len(), 1);
        Journal::default().keep(&mut options);
        assert!(Journal::explains(&options));
    }
}
