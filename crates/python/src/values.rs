//! Arrow's values as Python's.

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowNativeType, ArrowPrimitiveType, DataType, Date32Type, Date64Type, Decimal32Type,
    Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use pyo3::BoundObject;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::error::of_arrow;

/// A value of Python.
type Value<'py> = Bound<'py, PyAny>;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Functions of `sluicegate._values`, which build values of Python's standard library.
struct Makers<'py>(&'py Bound<'py, PyAny>);

impl<'py> Makers<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let module = MODULE.get_or_try_init(py, || {
            Ok::<_, PyErr>(py.import("sluicegate._values")?.into_any().unbind())
        })?;
        Ok(Self(module.bind(py)))
    }

    fn get(&self, name: &str) -> PyResult<Value<'py>> {
        self.0.getattr(name)
    }
}

/// Converts a column. NULL is `None`.
///
/// # Errors
///
/// If Python has no such value, such as a date after the year 9999.
pub(crate) fn column<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Vec<Value<'py>>> {
    let makers = Makers::new(py)?;
    match array.data_type() {
        DataType::Null => Ok(vec![py.None().into_bound(py); array.len()]),
        DataType::Boolean => {
            let array = array.as_boolean();
            each(py, array, |row| Ok(array.value(row).into_pyobject(py)?.to_owned().into_any()))
        }
        DataType::Int8 => numbers::<Int8Type, _>(py, array, i64::from),
        DataType::Int16 => numbers::<Int16Type, _>(py, array, i64::from),
        DataType::Int32 => numbers::<Int32Type, _>(py, array, i64::from),
        DataType::Int64 => numbers::<Int64Type, _>(py, array, |value| value),
        DataType::UInt8 => numbers::<UInt8Type, _>(py, array, u64::from),
        DataType::UInt16 => numbers::<UInt16Type, _>(py, array, u64::from),
        DataType::UInt32 => numbers::<UInt32Type, _>(py, array, u64::from),
        DataType::UInt64 => numbers::<UInt64Type, _>(py, array, |value| value),
        DataType::Float16 => {
            numbers::<Float16Type, _>(py, array, |value| f64::from(value.to_f32()))
        }
        DataType::Float32 => numbers::<Float32Type, _>(py, array, f64::from),
        DataType::Float64 => numbers::<Float64Type, _>(py, array, |value| value),
        DataType::Utf8 => texts(py, array, array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(py, array, array.as_string::<i64>().iter()),
        DataType::Utf8View => texts(py, array, array.as_string_view().iter()),
        DataType::Binary => bytes(py, array.as_binary::<i32>().iter()),
        DataType::LargeBinary => bytes(py, array.as_binary::<i64>().iter()),
        DataType::BinaryView => bytes(py, array.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => bytes(py, array.as_fixed_size_binary().iter()),
        DataType::Date32 => {
            let (array, make) = (array.as_primitive::<Date32Type>(), makers.get("date")?);
            each(py, array, |row| make.call1((array.value(row),)))
        }
        DataType::Date64 => {
            let (array, make) = (array.as_primitive::<Date64Type>(), makers.get("date")?);
            each(py, array, |row| make.call1((array.value(row).div_euclid(DAY / 1000),)))
        }
        DataType::Timestamp(unit, zone) => {
            let make = makers.get("timestamp")?;
            let zone = makers.get("zone")?.call1((zone.as_deref(),))?;
            let (micros, unit) = (integers(array)?, *unit);
            each(py, array, |row| make.call1((in_micros(micros(row), unit), &zone)))
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let make = makers.get("time")?;
            let (micros, unit) = (integers(array)?, *unit);
            each(py, array, |row| make.call1((in_micros(micros(row), unit),)))
        }
        DataType::Duration(unit) => {
            let make = makers.get("duration")?;
            let (micros, unit) = (integers(array)?, *unit);
            each(py, array, |row| make.call1((in_micros(micros(row), unit),)))
        }
        DataType::Decimal32(..) => {
            let values = array.as_primitive::<Decimal32Type>();
            decimals(py, array, &makers, |row| values.value_as_string(row))
        }
        DataType::Decimal64(..) => {
            let values = array.as_primitive::<Decimal64Type>();
            decimals(py, array, &makers, |row| values.value_as_string(row))
        }
        DataType::Decimal128(..) => {
            let values = array.as_primitive::<Decimal128Type>();
            decimals(py, array, &makers, |row| values.value_as_string(row))
        }
        DataType::Decimal256(..) => {
            let values = array.as_primitive::<Decimal256Type>();
            decimals(py, array, &makers, |row| values.value_as_string(row))
        }
        DataType::List(_) => lists::<i32>(py, array),
        DataType::LargeList(_) => lists::<i64>(py, array),
        DataType::FixedSizeList(_, size) => {
            let (values, size) = (array.as_fixed_size_list(), (*size).as_usize());
            let items = column(py, values.values())?;
            each(py, array, |row| list(py, &items[row * size..(row + 1) * size]))
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter().map(|array| column(py, array));
            let columns = columns.collect::<PyResult<Vec<_>>>()?;
            each(py, array, |row| {
                let dict = PyDict::new(py);
                for (field, column) in fields.iter().zip(&columns) {
                    dict.set_item(field.name(), &column[row])?;
                }
                Ok(dict.into_any())
            })
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let offsets: Vec<usize> =
                map.value_offsets().iter().map(|offset| offset.as_usize()).collect();
            let keys = entries(py, map.keys(), &offsets)?;
            let values = entries(py, map.values(), &offsets)?;
            each(py, array, |row| {
                let dict = PyDict::new(py);
                for entry in offsets[row] - offsets[0]..offsets[row + 1] - offsets[0] {
                    dict.set_item(&keys[entry], &values[entry])?;
                }
                Ok(dict.into_any())
            })
        }
        DataType::Dictionary(_, values) => column(py, &casted(array, values)?),
        DataType::RunEndEncoded(_, values) => column(py, &casted(array, values.data_type())?),
        DataType::ListView(item) => column(py, &casted(array, &DataType::List(item.clone()))?),
        DataType::LargeListView(item) => {
            column(py, &casted(array, &DataType::LargeList(item.clone()))?)
        }
        // Python has no intervals of months, and no unions.
        _ => {
            let options = FormatOptions::default();
            let format = ArrayFormatter::try_new(array.as_ref(), &options);
            let format = format.map_err(|error| of_arrow(&error))?;
            each(py, array, |row| Ok(format.value(row).to_string().into_pyobject(py)?.into_any()))
        }
    }
}

/// Converts each value that is not NULL.
fn each<'py>(
    py: Python<'py>,
    array: &dyn Array,
    value: impl Fn(usize) -> PyResult<Value<'py>>,
) -> PyResult<Vec<Value<'py>>> {
    let rows = 0..array.len();
    let values = rows.map(|row| match array.is_valid(row) {
        true => value(row),
        false => Ok(py.None().into_bound(py)),
    });
    values.collect()
}

fn numbers<'py, T, N>(
    py: Python<'py>,
    array: &ArrayRef,
    number: impl Fn(T::Native) -> N,
) -> PyResult<Vec<Value<'py>>>
where
    T: ArrowPrimitiveType,
    N: IntoPyObject<'py>,
    PyErr: From<N::Error>,
{
    let array = array.as_primitive::<T>();
    each(py, array, |row| {
        let value = number(array.value(row)).into_pyobject(py)?;
        Ok(value.into_any().into_bound())
    })
}

fn texts<'a, 'py>(
    py: Python<'py>,
    array: &ArrayRef,
    texts: impl Iterator<Item = Option<&'a str>>,
) -> PyResult<Vec<Value<'py>>> {
    let mut values = Vec::with_capacity(array.len());
    for text in texts {
        values.push(match text {
            Some(text) => text.into_pyobject(py)?.into_any(),
            None => py.None().into_bound(py),
        });
    }
    Ok(values)
}

fn bytes<'a, 'py>(
    py: Python<'py>,
    values: impl Iterator<Item = Option<&'a [u8]>>,
) -> PyResult<Vec<Value<'py>>> {
    let values = values.map(|value| match value {
        Some(value) => PyBytes::new(py, value).into_any(),
        None => py.None().into_bound(py),
    });
    Ok(values.collect())
}

fn decimals<'py>(
    py: Python<'py>,
    array: &ArrayRef,
    makers: &Makers<'py>,
    text: impl Fn(usize) -> String,
) -> PyResult<Vec<Value<'py>>> {
    let make = makers.get("decimal")?;
    each(py, array, |row| make.call1((text(row),)))
}

fn lists<'py, O: OffsetSizeTrait>(py: Python<'py>, array: &ArrayRef) -> PyResult<Vec<Value<'py>>> {
    let lists = array.as_list::<O>();
    let offsets: Vec<usize> =
        lists.value_offsets().iter().map(|offset| offset.as_usize()).collect();
    let items = entries(py, lists.values(), &offsets)?;
    each(py, array, |row| {
        list(py, &items[offsets[row] - offsets[0]..offsets[row + 1] - offsets[0]])
    })
}

/// Converts the entries of lists or maps, which may be a part of all that are there.
fn entries<'py>(
    py: Python<'py>,
    values: &ArrayRef,
    offsets: &[usize],
) -> PyResult<Vec<Value<'py>>> {
    match offsets {
        [first, .., last] => column(py, &values.slice(*first, last - first)),
        _ => Ok(Vec::new()),
    }
}

fn list<'py>(py: Python<'py>, items: &[Value<'py>]) -> PyResult<Value<'py>> {
    Ok(PyList::new(py, items)?.into_any())
}

/// Returns a function that reads a date's or a time's value as an integer.
fn integers(array: &ArrayRef) -> PyResult<impl Fn(usize) -> i64> {
    let array = casted(array, &DataType::Int64)?;
    Ok(move |row| array.as_primitive::<Int64Type>().value(row))
}

/// Returns microseconds, which is what Python's dates have. Python refuses what does not fit.
const fn in_micros(value: i64, unit: TimeUnit) -> i128 {
    let value = value as i128;
    match unit {
        TimeUnit::Second => value * 1_000_000,
        TimeUnit::Millisecond => value * 1000,
        TimeUnit::Microsecond => value,
        TimeUnit::Nanosecond => value.div_euclid(1000),
    }
}

fn casted(array: &ArrayRef, to: &DataType) -> PyResult<ArrayRef> {
    let array = match array.data_type() {
        // Times of 32 bits are cast in two steps.
        DataType::Time32(_) if *to == DataType::Int64 => cast(array, &DataType::Int32),
        _ => Ok(array.clone()),
    };
    array.and_then(|array| cast(&array, to)).map_err(|error| of_arrow(&error))
}
