//! The decision about one operator, for EXPLAIN.

use std::fmt;

use sluicegate_costmodel::{Alternative, Choice, HardwareProfile, Objective, PriceBook, rechoose};

use super::{Basis, Reason};

/// The decision about one operator, with its alternatives.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The name of the operator in `SET sluice.<operator>`: `scan`, `aggregate`.
    pub operator: &'static str,
    /// The object of the operator's work: the objects of a scan, an expression.
    pub subject: String,
    /// The index in `ways` of the chosen strategy, or `None` if the operator is left to DataFusion.
    pub chosen: Option<usize>,
    /// True if a setting forces the chosen strategy at any cost.
    pub forced: bool,
    /// The possible strategies, best first, then the impossible ones.
    pub ways: Vec<Verdict>,
    /// A sentence about the setting that is not followed, with the reason, or `None` if all are followed.
    pub unmet: Option<String>,
    /// Further remarks, each a clause.
    pub notes: Vec<String>,
    /// The hardware and prices of the numbers, or `None` if there are no numbers.
    pub basis: Option<Basis>,
}

/// A strategy to run an operator, and the verdict on it.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The name of the strategy in `SET sluice.<operator>`.
    pub strategy: &'static str,
    /// The statement that is sent to the store once per request, or `None` if objects are read with GET.
    pub statement: Option<String>,
    /// The predicted numbers, or the reason why the strategy is not possible.
    pub outcome: Result<Alternative<&'static str>, Reason>,
}

impl Decision {
    /// Returns a decision about an operator whose only other strategy is not possible.
    #[must_use]
    pub fn refused(
        operator: &'static str,
        strategy: &'static str,
        subject: impl Into<String>,
        why: Reason,
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

    /// Returns the chosen strategy, or `None` if the operator is left to DataFusion.
    #[must_use]
    pub fn strategy(&self) -> Option<&'static str> {
        Some(self.ways.get(self.chosen?)?.strategy)
    }

    /// Returns the predicted numbers of the chosen strategy.
    #[must_use]
    pub fn prediction(&self) -> Option<&Alternative<&'static str>> {
        self.ways.get(self.chosen?)?.outcome.as_ref().ok()
    }

    /// Compares the possible strategies on this hardware and at these prices, ignoring what the session forces.
    /// Returns `None` if no possible strategy has numbers.
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

    /// Returns the setting that is not followed, with the operator and the reason: `scan of s3://bucket/t.csv:
    /// sluice.scan = 'select' is not followed: the store has no S3 Select`.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let unmet = self.unmet.as_ref()?;
        Some(format!("{} of {}: {unmet}", self.operator, self.subject))
    }

    /// Returns the verdict on a strategy.
    #[must_use]
    pub fn verdict(&self, strategy: &str) -> Option<&Verdict> {
        self.ways.iter().find(|way| way.strategy == strategy)
    }
}

/// Prints a heading, and a line for each strategy; `*` marks the chosen one.
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
