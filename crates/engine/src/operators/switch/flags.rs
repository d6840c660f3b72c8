//! Bits that workers compute for each row: NULLs, and predicates that the switch cannot evaluate.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::{Result, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use serde::{Deserialize, Serialize};

use super::words::Words;

/// A word of bits, lowest bit first.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    bits: Vec<Flag>,
}

/// One bit: a condition and the expression that it applies to.
#[derive(Debug, Clone)]
struct Flag {
    says: FlagTest,
    expr: Arc<dyn PhysicalExpr>,
}

/// The condition under which a bit is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FlagTest {
    /// The expression is NULL.
    Null,
    /// The expression is TRUE.
    True,
}

impl Flags {
    /// Combines conditions and expressions into a word of bits.
    ///
    /// # Errors
    ///
    /// If there are more than 32, if the counts differ, or if a predicate is not Boolean.
    pub(super) fn try_new(
        says: &[FlagTest],
        exprs: Vec<Arc<dyn PhysicalExpr>>,
        schema: &Schema,
    ) -> Result<Self> {
        if says.len() != exprs.len() || says.len() > 32 {
            return plan_err!("a word cannot hold {} bits for {}", says.len(), exprs.len());
        }
        for (says, expr) in says.iter().zip(&exprs) {
            let data_type = expr.data_type(schema)?;
            if *says == FlagTest::True && data_type != DataType::Boolean {
                return plan_err!("a value of type {data_type} cannot be TRUE");
            }
        }
        let bits = says.iter().zip(exprs).map(|(says, expr)| Flag { says: *says, expr });
        Ok(Self { bits: bits.collect() })
    }

    /// Returns the conditions of the bits, lowest bit first.
    pub(super) fn tests(&self) -> Vec<FlagTest> {
        self.bits.iter().map(|flag| flag.says).collect()
    }

    /// Returns the bit that is set where an expression is NULL, and adds it if it is missing.
    pub(crate) fn null(&mut self, expr: &Arc<dyn PhysicalExpr>) -> u8 {
        self.bit(Flag { says: FlagTest::Null, expr: Arc::clone(expr) })
    }

    /// Returns the bit that is set where a predicate is TRUE, and adds it if it is missing.
    pub(crate) fn is_true(&mut self, expr: &Arc<dyn PhysicalExpr>) -> u8 {
        self.bit(Flag { says: FlagTest::True, expr: Arc::clone(expr) })
    }

    fn bit(&mut self, flag: Flag) -> u8 {
        let is_known = |known: &Flag| known.says == flag.says && known.expr.eq(&flag.expr);
        let at = self.bits.iter().position(is_known).unwrap_or(self.bits.len());
        if at == self.bits.len() {
            self.bits.push(flag);
        }
        at as u8
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    pub(crate) fn columns(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.bits.iter().map(|flag| Arc::clone(&flag.expr)).collect()
    }

    /// Writes the word of each row.
    pub(crate) fn encode(&self, batch: &RecordBatch, at: usize, out: &mut Words) -> Result<()> {
        let words = &mut out.columns[at];
        words.clear();
        words.resize(batch.num_rows(), 0);
        for (bit, flag) in self.bits.iter().enumerate() {
            let array = flag.expr.evaluate(batch)?.into_array(batch.num_rows())?;
            match flag.says {
                FlagTest::Null => {
                    if let Some(nulls) = array.logical_nulls().filter(|n| n.null_count() > 0) {
                        let pairs = words.iter_mut().zip(nulls.iter());
                        pairs.for_each(|(word, valid)| *word |= u32::from(!valid) << bit);
                    }
                }
                FlagTest::True => {
                    let pairs = words.iter_mut().zip(array.as_boolean().iter());
                    pairs.for_each(|(word, value)| *word |= u32::from(value == Some(true)) << bit);
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, flag) in self.bits.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            let says = match flag.says {
                FlagTest::Null => "NULL",
                FlagTest::True => "TRUE",
            };
            write!(f, "{comma}{} IS {says}", flag.expr)?;
        }
        Ok(())
    }
}
