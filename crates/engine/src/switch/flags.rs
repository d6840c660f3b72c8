//! Bits that workers compute for each row: NULLs, and predicates that the switch cannot evaluate.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;

use super::words::Words;

/// A word of bits, the lowest first.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    bits: Vec<Flag>,
}

/// What a bit says about an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Flag {
    /// It is NULL.
    Null(Arc<dyn PhysicalExpr>),
    /// It is TRUE.
    True(Arc<dyn PhysicalExpr>),
}

impl Flags {
    /// The bit that says that an expression is NULL.
    pub(crate) fn null(&mut self, expr: &Arc<dyn PhysicalExpr>) -> u8 {
        self.bit(Flag::Null(Arc::clone(expr)))
    }

    /// The bit that says that a predicate is TRUE.
    pub(crate) fn is_true(&mut self, expr: &Arc<dyn PhysicalExpr>) -> u8 {
        self.bit(Flag::True(Arc::clone(expr)))
    }

    fn bit(&mut self, flag: Flag) -> u8 {
        let at = self.bits.iter().position(|known| *known == flag).unwrap_or(self.bits.len());
        if at == self.bits.len() {
            self.bits.push(flag);
        }
        at as u8
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    pub(crate) fn columns(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        let of = |flag: &Flag| match flag {
            Flag::Null(expr) | Flag::True(expr) => Arc::clone(expr),
        };
        self.bits.iter().map(of).collect()
    }

    /// Writes the word of every row.
    pub(crate) fn encode(&self, batch: &RecordBatch, at: usize, out: &mut Words) -> Result<()> {
        let words = &mut out.columns[at];
        words.clear();
        words.resize(batch.num_rows(), 0);
        for (bit, flag) in self.bits.iter().enumerate() {
            match flag {
                Flag::Null(expr) => {
                    let array = expr.evaluate(batch)?.into_array(batch.num_rows())?;
                    if let Some(nulls) = array.logical_nulls().filter(|n| n.null_count() > 0) {
                        let pairs = words.iter_mut().zip(nulls.iter());
                        pairs.for_each(|(word, valid)| *word |= u32::from(!valid) << bit);
                    }
                }
                Flag::True(expr) => {
                    let array = expr.evaluate(batch)?.into_array(batch.num_rows())?;
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
            match flag {
                Flag::Null(expr) => write!(f, "{comma}{expr} IS NULL")?,
                Flag::True(expr) => write!(f, "{comma}{expr} IS TRUE")?,
            }
        }
        Ok(())
    }
}
