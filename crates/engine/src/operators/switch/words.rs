//! A batch of rows as the packets that workers send. The memory is reused between batches.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;

use super::addend::Amount;
use super::flags::Flags;
use super::key::Key;
use super::order::Order;

/// The values of a batch's packets, column by column.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// One column for each word of a packet.
    pub(crate) columns: Vec<Vec<u32>>,
    /// Buffer for the codes of one column of rows.
    pub(crate) codes: Vec<u64>,
    /// Buffer for the codes of keys.
    pub(crate) key: Vec<u64>,
    /// One bit per row, set if the row bypasses the switch; empty if none does.
    unseen: Vec<u64>,
    rows: usize,
    stopped: bool,
}

impl Words {
    pub(crate) fn start(&mut self, rows: usize, columns: usize) {
        self.rows = rows;
        self.stopped = false;
        self.unseen.clear();
        self.columns.resize_with(columns, Vec::new);
    }

    /// Lets a row bypass the switch.
    pub(crate) fn pass(&mut self, row: usize) {
        self.unseen.resize(self.rows.div_ceil(64), 0);
        self.unseen[row / 64] |= 1 << (row % 64);
    }

    /// Lets the rows bypass the switch for which the iterator yields `true`.
    pub(crate) fn pass_where(&mut self, pass: impl Iterator<Item = bool>) {
        for (row, pass) in pass.enumerate() {
            if pass {
                self.pass(row);
            }
        }
    }

    /// Lets this batch and all further rows bypass the switch.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Returns true if this batch and all further rows bypass the switch.
    pub(crate) fn is_stop(&self) -> bool {
        self.stopped
    }

    /// Returns the rows that bypass the switch, one bit each; empty if none does.
    pub(crate) fn unseen(&self) -> &[u64] {
        &self.unseen
    }
}

/// One or more words of a packet.
#[derive(Debug, Clone)]
pub enum Field {
    /// A key, compared for equality.
    Key(Key),
    /// A value that is compared by order.
    Order(Order),
    /// Bits that the worker computes.
    Flags(Flags),
    /// An addend of a sum.
    Amount(Amount),
}

impl Field {
    pub(crate) fn words(&self) -> usize {
        match self {
            Self::Key(key) => key.words(),
            Self::Order(_) | Self::Flags(_) | Self::Amount(_) => 1,
        }
    }

    /// Returns the expressions that the field is computed from.
    pub(crate) fn expressions(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        match self {
            Self::Key(key) => key.columns().to_vec(),
            Self::Order(order) => vec![Arc::clone(order.column())],
            Self::Flags(flags) => flags.columns(),
            Self::Amount(amount) => vec![Arc::clone(amount.column())],
        }
    }

    /// Returns the expressions whose values can be decoded from the packet because their code is one-to-one.
    pub(crate) fn carried(&self, schema: &Schema) -> &[Arc<dyn PhysicalExpr>] {
        match self {
            Self::Key(key) if !key.is_fingerprint() => key.columns(),
            // The word of NULLs may also be that of a value.
            Self::Order(order)
                if order.is_exact() && order.column().nullable(schema).is_ok_and(|null| !null) =>
            {
                std::slice::from_ref(order.column())
            }
            Self::Amount(amount) if amount.is_exact() => std::slice::from_ref(amount.column()),
            Self::Key(_) | Self::Order(_) | Self::Flags(_) | Self::Amount(_) => &[],
        }
    }

    fn neutral(&self) -> u32 {
        match self {
            Self::Key(_) | Self::Flags(_) | Self::Amount(_) => 0,
            Self::Order(order) => order.neutral(),
        }
    }

    fn encode(&self, batch: &RecordBatch, at: usize, out: &mut Words) -> Result<()> {
        match self {
            Self::Key(key) => key.encode(batch, at, out),
            Self::Order(order) => order.encode(batch, at, out),
            Self::Flags(flags) => flags.encode(batch, at, out),
            Self::Amount(amount) => amount.encode(batch, at, out),
        }
    }
}

/// Writes the packets of a batch.
///
/// Rows that bypass the switch become packets that have no effect on it.
pub(crate) fn encode(fields: &[Field], batch: &RecordBatch, out: &mut Words) -> Result<()> {
    out.start(batch.num_rows(), fields.iter().map(Field::words).sum());
    let mut at = 0;
    for field in fields {
        field.encode(batch, at, out)?;
        at += field.words();
    }
    if out.unseen.is_empty() {
        return Ok(());
    }
    let Words { columns, unseen, .. } = out;
    let neutral = fields.iter().flat_map(|f| std::iter::repeat_n(f.neutral(), f.words()));
    for (column, neutral) in columns.iter_mut().zip(neutral) {
        for (row, word) in column.iter_mut().enumerate() {
            if unseen[row / 64] >> (row % 64) & 1 == 1 {
                *word = neutral;
            }
        }
    }
    Ok(())
}
