//! Conversions of numbers and timestamps to Arrow's values. They keep the value or fail.

use std::marker::PhantomData;

use arrow::array::ArrowPrimitiveType;
use arrow::datatypes::{Date32Type, Decimal128Type, Float32Type, Float64Type};
use sluicegate_s3select::request::ArrowTimeUnit;
use sluicegate_s3select::value::{Decimal, Timestamp};

const SECONDS_PER_DAY: i64 = 86_400;

/// Converts values to those of an Arrow type. Types of values that it never takes keep the default.
pub(super) trait Conversion: Send {
    type Arrow: ArrowPrimitiveType;

    fn int(&self, _: i64) -> Option<Native<Self>> {
        None
    }

    fn decimal(&self, _: Decimal) -> Option<Native<Self>> {
        None
    }

    fn float(&self, _: f64) -> Option<Native<Self>> {
        None
    }

    fn timestamp(&self, _: Timestamp) -> Option<Native<Self>> {
        None
    }
}

pub(super) type Native<C> = <<C as Conversion>::Arrow as ArrowPrimitiveType>::Native;

/// Whole numbers within the range of a type.
pub(super) struct Whole<T>(PhantomData<fn() -> T>);

impl<T> Whole<T> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<T> Conversion for Whole<T>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i64> + TryFrom<i128>,
{
    type Arrow = T;

    #[inline(always)]
    fn int(&self, int: i64) -> Option<T::Native> {
        int.try_into().ok()
    }

    #[inline(always)]
    fn decimal(&self, decimal: Decimal) -> Option<T::Native> {
        decimal.unscaled_at(38, 0)?.try_into().ok()
    }
}

/// Floats, and other numbers that have the value of one.
pub(super) struct Double;

impl Conversion for Double {
    type Arrow = Float64Type;

    #[inline(always)]
    fn int(&self, int: i64) -> Option<f64> {
        let float = int as f64;
        (float as i128 == i128::from(int)).then_some(float)
    }

    fn decimal(&self, decimal: Decimal) -> Option<f64> {
        decimal.to_f64_exact()
    }

    #[inline(always)]
    fn float(&self, float: f64) -> Option<f64> {
        Some(float)
    }
}

/// Floats of 32 bits, and other numbers that have the value of one.
pub(super) struct Single;

impl Conversion for Single {
    type Arrow = Float32Type;

    #[inline(always)]
    fn int(&self, int: i64) -> Option<f32> {
        self.float(Double.int(int)?)
    }

    fn decimal(&self, decimal: Decimal) -> Option<f32> {
        self.float(decimal.to_f64_exact()?)
    }

    #[inline(always)]
    fn float(&self, float: f64) -> Option<f32> {
        let single = float as f32;
        (f64::from(single) == float || float.is_nan()).then_some(single)
    }
}

/// Decimals with a fixed number of places.
pub(super) struct Fixed {
    pub(super) precision: u8,
    pub(super) scale: u8,
}

impl Conversion for Fixed {
    type Arrow = Decimal128Type;

    #[inline(always)]
    fn int(&self, int: i64) -> Option<i128> {
        self.decimal(Decimal::from(int))
    }

    #[inline(always)]
    fn decimal(&self, decimal: Decimal) -> Option<i128> {
        decimal.unscaled_at(self.precision, self.scale)
    }
}

/// Days without a time of day.
pub(super) struct Day;

impl Conversion for Day {
    type Arrow = Date32Type;

    #[inline(always)]
    fn timestamp(&self, timestamp: Timestamp) -> Option<i32> {
        let (seconds, nanos) = timestamp.seconds_and_nanos();
        let is_midnight = nanos == 0 && seconds % SECONDS_PER_DAY == 0;
        // The years 1 to 9999 are within the range.
        is_midnight.then_some((seconds / SECONDS_PER_DAY) as i32)
    }
}

/// Points in time as a count of units.
pub(super) struct Instant<T> {
    unit: ArrowTimeUnit,
    arrow: PhantomData<fn() -> T>,
}

impl<T> Instant<T> {
    pub(super) fn new(unit: ArrowTimeUnit) -> Self {
        Self { unit, arrow: PhantomData }
    }
}

impl<T: ArrowPrimitiveType<Native = i64>> Conversion for Instant<T> {
    type Arrow = T;

    #[inline(always)]
    fn timestamp(&self, timestamp: Timestamp) -> Option<i64> {
        let (seconds, nanos) = timestamp.seconds_and_nanos();
        let unit = self.unit.nanos();
        let count =
            i128::from(seconds) * i128::from(1_000_000_000 / unit) + i128::from(nanos / unit);
        if nanos % unit != 0 {
            return None;
        }
        count.try_into().ok()
    }
}
