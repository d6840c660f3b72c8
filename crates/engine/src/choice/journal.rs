//! The decisions of one plan, while it is made.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{Result, config_err};

use super::Decision;

/// Where rules write down what they decide, if somebody wants to know.
///
/// It travels in the session's options, which is all that a rule is given. An ordinary query has
/// none, and nothing is written; EXPLAIN plans with one ([`Journal::keep`]) and reads it
/// afterwards. Clones, and clones of the options, share the entries.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<Decision>>>);

impl Journal {
    /// Has the rules that see these options write here.
    pub fn keep(&self, options: &mut ConfigOptions) {
        options.extensions.insert(self.clone());
    }

    /// The journal of the plan that is being made, if there is one.
    #[must_use]
    pub fn of(options: &ConfigOptions) -> Option<&Self> {
        options.extensions.get::<Self>()
    }

    /// Writes a decision down, if the plan that is being made has a journal.
    pub fn note(options: &ConfigOptions, decision: impl FnOnce() -> Decision) {
        if let Some(journal) = Self::of(options) {
            journal.write(decision());
        }
    }

    /// Writes a decision down.
    pub fn write(&self, decision: Decision) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(decision);
    }

    /// Everything written so far, in order; the journal is empty afterwards.
    #[must_use]
    pub fn take(&self) -> Vec<Decision> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ConfigExtension for Journal {
    const PREFIX: &'static str = "sluice_journal";
}

impl ExtensionOptions for Journal {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _value: &str) -> Result<()> {
        config_err!("a journal has no option `{key}`")
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Why;

    #[test]
    fn rules_write_only_where_there_is_a_journal() {
        let decision = || Decision::refused("switch", "tofino1", "DISTINCT k", Why::from("full"));
        let mut options = ConfigOptions::new();
        Journal::note(&options, || unreachable!("nobody asked"));
        let journal = Journal::default();
        journal.keep(&mut options);
        // A copy of the options, as planning makes them.
        Journal::note(&options.clone(), decision);
        let written = journal.take();
        assert_eq!(written.len(), 1);
        let expected = "switch of DISTINCT k\n    tofino1 not possible: full\n";
        assert_eq!(written[0].to_string(), expected);
        assert!(journal.take().is_empty());
    }
}
