//! A switch plan as bytes and expressions. Code that sends a plan elsewhere encodes the expressions itself.
//!
//! Bytes that are read are not trusted. They yield a plan that the planner could have made, as far as running it is
//! concerned, or an error.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::{DataFusionError, Result, plan_datafusion_err, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use serde::{Deserialize, Serialize};
use sluicegate_pruning::algorithm::catalog::{Configured, PacketContents};

use super::addend::{Amount, Unit};
use super::flags::{FlagTest, Flags};
use super::float_bits;
use super::key::{Form, Key};
use super::order::{Code, Order};
use super::plan::{Resources, SwitchPlan};
use super::words::Field;

type Exprs = Vec<Arc<dyn PhysicalExpr>>;

/// Most register memory of a program that is read, in bits: 1 GiB. Its model takes as much.
const MOST_REGISTER_BITS: u64 = 1 << 33;

/// A plan without its expressions.
#[derive(Debug, Serialize, Deserialize)]
struct Settings {
    program: usize,
    algorithm: Configured,
    fields: Vec<FieldSettings>,
    resources: Resources,
    #[serde(with = "float_bits")]
    failure: f64,
    trusted_rows: Option<u64>,
    patience: u64,
    count_optimum: bool,
}

/// A field without its expressions.
#[derive(Debug, Serialize, Deserialize)]
struct FieldSettings {
    /// Number of the field's expressions.
    expressions: usize,
    words: WordSettings,
}

/// The way in which expressions become a field's words.
#[derive(Debug, Serialize, Deserialize)]
enum WordSettings {
    Key(Form),
    Order(Code),
    Flags(Vec<FlagTest>),
    Amount(Unit),
}

impl FieldSettings {
    fn from_field(field: &Field) -> Self {
        let words = match field {
            Field::Key(key) => WordSettings::Key(key.form().clone()),
            Field::Order(order) => WordSettings::Order(order.code()),
            Field::Flags(flags) => WordSettings::Flags(flags.tests()),
            Field::Amount(amount) => WordSettings::Amount(amount.unit()),
        };
        Self { expressions: field.expressions().len(), words }
    }

    /// Returns the field, and takes its expressions from the front of the iterator.
    fn take(
        self,
        exprs: &mut impl Iterator<Item = Arc<dyn PhysicalExpr>>,
        input: &Schema,
    ) -> Result<Field> {
        let taken: Exprs = exprs.take(self.expressions).collect();
        if taken.len() != self.expressions {
            return plan_err!("a switch plan lacks expressions");
        }
        Ok(match self.words {
            WordSettings::Key(form) => Field::Key(Key::try_new(form, taken, input)?),
            WordSettings::Order(code) => Field::Order(Order::try_new(code, only(taken)?, input)?),
            WordSettings::Flags(says) => Field::Flags(Flags::try_new(&says, taken, input)?),
            WordSettings::Amount(unit) => {
                Field::Amount(Amount::try_new(unit, only(taken)?, input)?)
            }
        })
    }
}

fn only(exprs: Exprs) -> Result<Arc<dyn PhysicalExpr>> {
    let [expr] = <[_; 1]>::try_from(exprs)
        .map_err(|exprs| plan_datafusion_err!("a word has {} expressions", exprs.len()))?;
    Ok(expr)
}

impl SwitchPlan {
    /// Returns everything but the expressions as bytes, and the expressions in order.
    pub(crate) fn to_parts(&self) -> Result<(Vec<u8>, Exprs)> {
        let settings = Settings {
            program: self.program,
            algorithm: self.algorithm.clone(),
            fields: self.fields.iter().map(FieldSettings::from_field).collect(),
            resources: self.resources.clone(),
            failure: self.failure,
            trusted_rows: self.trusted_rows,
            patience: self.patience,
            count_optimum: self.count_optimum,
        };
        let settings = serde_json::to_vec(&settings)
            .map_err(|e| plan_datafusion_err!("a switch plan cannot be written: {e}"))?;
        Ok((settings, self.expressions()))
    }

    /// Returns the plan of these parts for rows of `input`.
    ///
    /// # Errors
    ///
    /// If no plan has these parts.
    pub(crate) fn from_parts(settings: &[u8], exprs: Exprs, input: &Schema) -> Result<SwitchPlan> {
        let settings: Settings = serde_json::from_slice(settings)
            .map_err(|e| plan_datafusion_err!("a switch plan cannot be read: {e}"))?;
        let foreign =
            |e: DataFusionError| plan_datafusion_err!("a switch plan is of another input: {e}");
        for expr in &exprs {
            expr.data_type(input).map_err(foreign)?;
            expr.nullable(input).map_err(foreign)?;
        }
        let mut exprs = exprs.into_iter();
        let fields = settings.fields.into_iter().map(|field| field.take(&mut exprs, input));
        let plan = Self {
            program: settings.program,
            algorithm: settings.algorithm,
            fields: fields.collect::<Result<_>>()?,
            resources: settings.resources,
            failure: settings.failure,
            trusted_rows: settings.trusted_rows,
            patience: settings.patience,
            count_optimum: settings.count_optimum,
        };
        if exprs.next().is_some() {
            return plan_err!("a switch plan has more expressions than fields take");
        }
        plan.check()?;
        Ok(plan)
    }

    /// Checks that the parts belong together.
    fn check(&self) -> Result<()> {
        let program = self.algorithm.program();
        let carried = match (self.algorithm.entry().carries, self.fields.as_slice()) {
            (PacketContents::Comparands, fields) => {
                fields.iter().all(|field| matches!(field, Field::Order(_) | Field::Flags(_)))
            }
            (PacketContents::Coordinates, fields) => {
                fields.iter().all(|field| matches!(field, Field::Order(_)))
            }
            (PacketContents::KeyAndValue, [Field::Key(_), values @ ..]) => {
                values.iter().all(|field| matches!(field, Field::Order(_)))
            }
            // Groups that a switch holds must have a key and exact sums that can be decoded.
            (PacketContents::KeyAndAmount, [Field::Key(_), _, ..]) if self.algorithm.holds() => {
                self.states().is_ok()
            }
            (PacketContents::Value, [Field::Order(_)])
            | (PacketContents::Key | PacketContents::KeyOfEither, [Field::Key(_)])
            | (PacketContents::KeyAndAmount, [Field::Key(_), Field::Amount(_)]) => true,
            _ => false,
        };
        if !carried || self.words() != usize::from(program.values) {
            return plan_err!(
                "the packets of {} have {} words of its own fields, not {} of these",
                self.algorithm,
                program.values,
                self.words()
            );
        }
        let bits = program.register_bits();
        if bits > MOST_REGISTER_BITS || bits != self.resources.register_bits {
            return plan_err!("{} has registers of {bits} bits", self.algorithm);
        }
        if !(self.failure.is_finite() && self.failure >= 0.0) {
            return plan_err!("{} is not the probability of a failure", self.failure);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
