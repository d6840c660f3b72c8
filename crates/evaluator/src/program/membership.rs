//! Evaluates IN with constants by hashing, whatever their types.

use std::collections::{HashMap, HashSet};

use crate::output::invalid_text;
use crate::selection::Rows;
use crate::vector::{Data, Tag, Truth, Vector};
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::{Decimal, Value};

/// The right side of IN. A value is a member if it equals any member by `=`. If it equals none, and does not compare
/// with some member, the result is unknown.
#[derive(Debug, Default)]
pub(crate) struct Set {
    /// Numbers without a fraction that fit 64 bits, except floats.
    ints: HashSet<i64>,
    /// All other numbers except floats, without trailing zeros.
    decimals: HashSet<(i128, u8)>,
    /// Floats; other numbers are compared with them as floats.
    floats: HashSet<u64>,
    /// All numbers as floats, for comparisons with floats.
    as_floats: HashSet<u64>,
    /// The texts of all strings and numbers, for comparisons with text. The value is true if the text is that of a
    /// string.
    texts: HashMap<Box<[u8]>, bool>,
    any_string: bool,
    bools: [bool; 2],
    timestamps: HashSet<i128>,
    /// For each class, true if it has members.
    classes: [bool; 4],
    /// True if NULL or MISSING is a member, which compare with nothing.
    has_null: bool,
}

/// The classes of values that compare with each other.
#[derive(Debug, Clone, Copy)]
enum Class {
    /// Numbers and text, which compare with each other.
    Scalar,
    Bool,
    Timestamp,
    /// Lists and structs, which compare with nothing.
    Nested,
}

impl Set {
    pub(super) fn new(values: &[Value]) -> Self {
        let mut set = Self::default();
        values.iter().for_each(|value| set.insert(value));
        set
    }

    fn insert(&mut self, value: &Value) {
        let Some(class) = Class::from_value(value) else {
            self.has_null = true;
            return;
        };
        self.classes[class as usize] = true;
        match value {
            Value::Int(int) => {
                self.ints.insert(*int);
                self.insert_number(*int as f64, value);
            }
            Value::Decimal(decimal) => {
                match whole(*decimal) {
                    Ok(int) => self.ints.insert(int),
                    Err(digits) => self.decimals.insert(digits),
                };
                self.insert_number(decimal.to_f64(), value);
            }
            Value::Float(float) => {
                self.floats.insert(bits(*float));
                self.insert_number(*float, value);
            }
            Value::String(text) => {
                self.texts.insert(text.as_bytes().into(), true);
                self.any_string = true;
            }
            Value::Bool(truth) => self.bools[usize::from(*truth)] = true,
            Value::Timestamp(time) => {
                self.timestamps.insert(time.nanos());
            }
            Value::Missing | Value::Null | Value::List(_) | Value::Struct(_) => {}
        }
    }

    fn insert_number(&mut self, as_float: f64, number: &Value) {
        self.as_floats.insert(bits(as_float));
        let mut text = Vec::new();
        number.write(&mut text);
        self.texts.entry(text.into()).or_insert(false);
    }

    /// Returns the result of IN for a value of this class that equals no member.
    fn outside(&self, class: Class) -> Truth {
        let others = self.classes.iter().enumerate().any(|(other, any)| {
            *any && (other != class as usize || matches!(class, Class::Nested))
        });
        if self.has_null || others { Truth::Null } else { Truth::False }
    }

    /// Tests for each row whether its value is in the set.
    pub(super) fn test(
        &self,
        arg: &Vector,
        rows: Rows<'_>,
        block: &[u8],
        out: &mut [Truth],
    ) -> Result<(), SelectError> {
        let outside = self.outside(Class::Scalar);
        let found = |found: bool| if found { Truth::True } else { outside };
        match &arg.data {
            Data::Int(ints) => rows.for_each(|row| {
                out[row] = match arg.tags.get(row) {
                    Tag::Present => found(self.has_int(ints[row])),
                    _ => Truth::Null,
                };
            }),
            Data::Text(spans, heap) => {
                let heap = heap.bytes(block);
                rows.for_each(|row| {
                    let span = spans[row];
                    out[row] = if span.is_absent() {
                        Truth::Null
                    } else {
                        found(self.texts.contains_key(span.slice(heap)))
                    };
                });
            }
            Data::Dynamic(values) => rows.for_each(|row| out[row] = self.test_value(&values[row])),
            _ => {
                return rows.try_for_each(|row| {
                    let value = arg.value(row, block).ok_or_else(invalid_text)?;
                    out[row] = self.test_value(&value);
                    Ok(())
                });
            }
        }
        Ok(())
    }

    fn test_value(&self, value: &Value) -> Truth {
        let Some(class) = Class::from_value(value) else { return Truth::Null };
        let found = match value {
            Value::Int(int) => self.has_int(*int),
            Value::Decimal(decimal) => {
                let exact = match whole(*decimal) {
                    Ok(int) => self.ints.contains(&int),
                    Err(digits) => self.decimals.contains(&digits),
                };
                exact || self.has_number(|| decimal.to_f64(), value)
            }
            Value::Float(float) => {
                self.as_floats.contains(&bits(*float)) || self.has_text_of(value)
            }
            Value::String(text) => self.texts.contains_key(text.as_bytes()),
            Value::Bool(truth) => self.bools[usize::from(*truth)],
            Value::Timestamp(time) => self.timestamps.contains(&time.nanos()),
            Value::Missing | Value::Null | Value::List(_) | Value::Struct(_) => false,
        };
        if found { Truth::True } else { self.outside(class) }
    }

    #[inline]
    fn has_int(&self, int: i64) -> bool {
        self.ints.contains(&int) || self.has_number(|| int as f64, &Value::Int(int))
    }

    /// Returns whether a float or a string in the set equals the number.
    #[inline]
    fn has_number(&self, as_float: impl FnOnce() -> f64, number: &Value) -> bool {
        (!self.floats.is_empty() && self.floats.contains(&bits(as_float())))
            || self.has_text_of(number)
    }

    #[inline]
    fn has_text_of(&self, number: &Value) -> bool {
        self.any_string && {
            let mut text = Vec::with_capacity(24);
            number.write(&mut text);
            self.texts.get(&text[..]) == Some(&true)
        }
    }
}

impl Class {
    /// Returns the class of a value; `None` for NULL and MISSING.
    fn from_value(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Missing | Value::Null => return None,
            Value::Int(_) | Value::Float(_) | Value::Decimal(_) | Value::String(_) => Self::Scalar,
            Value::Bool(_) => Self::Bool,
            Value::Timestamp(_) => Self::Timestamp,
            Value::List(_) | Value::Struct(_) => Self::Nested,
        })
    }
}

/// Returns the number as an integer if it is one, and without trailing zeros otherwise.
fn whole(decimal: Decimal) -> Result<i64, (i128, u8)> {
    let (digits, places) = decimal.without_zeros();
    match i64::try_from(digits) {
        Ok(int) if places == 0 => Ok(int),
        _ => Err((digits, places)),
    }
}

/// Returns bits that are the same for two floats exactly if these are equal.
fn bits(float: f64) -> u64 {
    let canonical = match float {
        0.0 => 0.0,
        nan if nan.is_nan() => f64::NAN.copysign(nan),
        float => float,
    };
    canonical.to_bits()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cast::push_text;
    use super::super::compare::compare_values;
    use super::*;
    use crate::vector::{Heap, Span};
    use sluicegate_s3select::dialect::ast::BinaryOp;
    use sluicegate_s3select::value::Timestamp;

    fn value() -> impl Strategy<Value = Value> {
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text.as_bytes()).unwrap());
        prop_oneof![
            1 => Just(Value::Null),
            1 => Just(Value::Missing),
            8 => (-3_i64..4).prop_map(Value::Int),
            2 => prop::sample::select(vec![i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1])
                .prop_map(Value::Int),
            8 => prop::sample::select(vec![
                "0", "-0", "1.0", "1.00", "1.5", "-2", "0.1", "9223372036854775807.0",
                "9223372036854775808", "9007199254740993", "99999999999999999999999999999999999999",
            ]).prop_map(decimal),
            8 => prop::sample::select(vec![
                0.0, -0.0, 1.0, 1.5, 0.1, -2.0, f64::NAN, -f64::NAN, 9_007_199_254_740_992.0,
                f64::INFINITY, 9_223_372_036_854_775_807.0, 1e38,
            ]).prop_map(Value::Float),
            8 => prop::sample::select(vec![
                "", "0", "-0", "1", "1.0", "1.00", "1.5", "0.1", "-2", "NaN", "a",
                "9223372036854775807", "true",
            ]).prop_map(|text| Value::String(text.to_owned())),
            1 => any::<bool>().prop_map(Value::Bool),
            1 => prop::sample::select(vec![
                "2020-01-01", "2020-01-01T00:00Z", "2020-01-01T01:00+01:00", "2020-01-02",
            ]).prop_map(|text| Value::Timestamp(Timestamp::parse(text.as_bytes()).unwrap())),
            1 => Just(Value::List([].into())),
            1 => Just(Value::Struct([].into())),
        ]
    }

    /// Evaluates IN by its definition.
    fn within(value: &Value, members: &[Value]) -> Truth {
        let mut result = if value.is_null() { Truth::Null } else { Truth::False };
        for member in members {
            match compare_values(BinaryOp::Eq, value, member) {
                Truth::True => return Truth::True,
                Truth::Null => result = Truth::Null,
                _ => {}
            }
        }
        result
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn hashing_finds_what_comparing_does(
            members in prop::collection::vec(value(), 1..6),
            values in prop::collection::vec(value(), 1..20),
        ) {
            let set = Set::new(&members);
            let expected: Vec<_> = values.iter().map(|value| within(value, &members)).collect();
            let n = values.len();
            let mut found = vec![Truth::Missing; n];
            let mut check = |vector: &Vector| {
                set.test(vector, Rows::All(n), b"", &mut found).unwrap();
                found.clone()
            };
            let mut vector = Vector::default();
            vector.values(n).0.clone_from_slice(&values);
            prop_assert_eq!(check(&vector), &expected[..]);
            // Test the same values as text and as integers, where possible.
            let mut heap = Vec::new();
            let (mut texts, mut ints) = (Vector::default(), Vector::default());
            for (span, value) in texts.texts(n, Heap::Block).iter_mut().zip(&values) {
                *span = match value {
                    Value::String(text) => push_text(&mut heap, text.as_bytes()).unwrap(),
                    _ => Span::absent(Tag::Null),
                };
            }
            texts.set_heap(Heap::Owned(heap));
            let (out, tags) = ints.ints(n);
            for (row, value) in values.iter().enumerate() {
                match value {
                    Value::Int(int) => out[row] = *int,
                    _ => tags.set(row, Tag::Null, n),
                }
            }
            let (of_texts, of_ints) = (check(&texts), check(&ints));
            for (row, value) in values.iter().enumerate() {
                let (text, int) = match value {
                    Value::String(_) => (expected[row], Truth::Null),
                    Value::Int(_) => (Truth::Null, expected[row]),
                    _ => (Truth::Null, Truth::Null),
                };
                prop_assert_eq!((of_texts[row], of_ints[row]), (text, int));
            }
        }
    }
}
