//! What was decided about one operator, for EXPLAIN.

use std::fmt;

use sluicegate_costmodel::{Alternative, Choice, HardwareProfile, Objective, PriceBook, rechoose};

use super::{Basis, Why};

/// What was decided about one operator, and its alternatives.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The operator, as `SET sluice.<operator>` calls it: `scan`, `aggregate`.
    pub operator: &'static str,
    /// What the operator works on: the objects of a scan, an expression.
    pub subject: String,
    /// The index in `ways` of the way that is taken; none if the operator is left to DataFusion.
    pub chosen: Option<usize>,
    /// Whether a setting says that it is taken, whatever it costs.
    pub forced: bool,
    /// The possible ways, best first, then the impossible ones.
    pub ways: Vec<Verdict>,
    /// The setting that is not followed, with the reason, as a sentence; none if all are.
    pub unmet: Option<String>,
    /// Further remarks, each a clause.
    pub notes: Vec<String>,
    /// What the numbers rest on; none if there are no numbers.
    pub basis: Option<Basis>,
}

/// A way to run an operator, and the verdict on it.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Its name, as `SET sluice.<operator>` calls it.
    pub strategy: &'static str,
    /// The statement that the store is sent, once per request; none if it is only read.
    pub statement: Option<String>,
    /// Its predicted numbers, or why it is not possible.
    pub outcome: Result<Alternative<&'static str>, Why>,
}

impl Decision {
    /// A decision about an operator that has one other way to run, which is not possible.
    #[must_use]
    pub fn refused(
        operator: &'static str,
        strategy: &'static str,
        subject: impl Into<String>,
        why: Why,
    ) -> Self {
        Self {
            operator,
            subject: subject.into(),
            chosen: None,
            forced: false,
            ways: vec![Verdict { strategy, statement: None, outcome: Err(why) }],
            unmet: None,
            notes: Vec::new(),
            basis: None,
        }
    }

    /// The strategy that is taken; none if the operator is left to DataFusion.
    #[must_use]
    pub fn strategy(&self) -> Option<&'static str> {
        Some(self.ways.get(self.chosen?)?.strategy)
    }

    /// The predicted numbers of the way that is taken.
    #[must_use]
    pub fn prediction(&self) -> Option<&Alternative<&'static str>> {
        self.ways.get(self.chosen?)?.outcome.as_ref().ok()
    }

    /// The possible ways, compared on this hardware and at these prices, whatever the session forces.
    /// None if there is no possible way with numbers.
    #[must_use]
    pub fn repriced(
        &self,
        hardware: &HardwareProfile,
        prices: &PriceBook,
        objective: Objective,
    ) -> Option<Choice<&'static str>> {
        let possible = self.ways.iter().filter_map(|way| way.outcome.as_ref().ok());
        rechoose(possible, hardware, prices, objective)
    }

    /// The setting that is not followed, with the operator and the reason: `scan of
    /// s3://bucket/t.csv: sluice.scan = 'select' is not followed: the store has no S3 Select`.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let unmet = self.unmet.as_ref()?;
        Some(format!("{} of {}: {unmet}", self.operator, self.subject))
    }

    /// The verdict on a strategy.
    #[must_use]
    pub fn way(&self, strategy: &str) -> Option<&Verdict> {
        self.ways.iter().find(|way| way.strategy == strategy)
    }
}

/// A heading, and a line for each way: `*` is the one that is taken.
///
/// ```text
/// scan of s3://bucket/t.csv
///   * select 1 request, 1.00 MiB scanned, 12.0 KiB over the link, 0.010 s, $0.0000024 (modelled for local-1gbit)
///            SELECT s._1 FROM S3Object s
///     get    1 request, 0 B scanned, 1.00 MiB over the link, 0.020 s, $0.0000004 (modelled for local-1gbit)
/// ```
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {}", self.operator, self.subject)?;
        let width = self.ways.iter().map(|way| way.strategy.len()).max().unwrap_or(0);
        for (index, way) in self.ways.iter().enumerate() {
            let mark = if self.chosen == Some(index) { '*' } else { ' ' };
            write!(f, "  {mark} {:<width$} ", way.strategy)?;
            match &way.outcome {
                Ok(numbers) => writeln!(
                    f,
                    "{}, {} scanned, {} over the link, {:.3} s, {} ({})",
                    numbers.work.requests.total().in_words(),
                    numbers.work.scanned,
                    numbers.work.link,
                    numbers.time.total().as_secs_f64(),
                    numbers.cost.total(),
                    numbers.provenance,
                )?,
                Err(why) => writeln!(f, "not possible: {why}")?,
            }
            if let Some(statement) = &way.statement {
                writeln!(f, "    {:<width$} {statement}", "")?;
            }
        }
        for note in self.unmet.iter().chain(&self.notes) {
            writeln!(f, "    {note}")?;
        }
        Ok(())
    }
}
