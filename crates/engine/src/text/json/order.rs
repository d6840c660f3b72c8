//! Orders the columns of JSON by the first occurrence of their keys in the file. Arrow returns them in alphabetical
//! order.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::common::Result;
use futures::TryStreamExt;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

/// The bytes of a file that is one array from which the order is taken.
const PREFIX_BYTES: usize = 64 << 10;

/// Orders columns by the keys of at most `most` records of a text. Columns without a key there come last, in their
/// old order.
pub(crate) fn of_records(schema: &Schema, text: &[u8], most: usize) -> Schema {
    let mut keys = Keys::default();
    keys.read(text, most);
    keys.ordered(schema)
}

/// Orders the columns of files that are one array each by the keys in the beginnings of the files.
///
/// # Errors
///
/// If a file cannot be read.
pub(crate) async fn of_arrays(
    schema: SchemaRef,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
) -> Result<SchemaRef> {
    let mut keys = Keys::default();
    for object in objects {
        if schema.fields().iter().all(|field| keys.places.contains_key(field.name())) {
            break;
        }
        let mut parts = store.get(&object.location).await?.into_stream();
        let mut text = Vec::new();
        while text.len() < PREFIX_BYTES
            && let Some(part) = parts.try_next().await?
        {
            text.extend_from_slice(&part);
        }
        keys.read(&text, 1);
    }
    Ok(Arc::new(keys.ordered(&schema)))
}

/// The keys of objects in the order of their first occurrence, with those of nested objects.
#[derive(Debug, Default)]
struct Keys {
    places: HashMap<String, usize>,
    within: Vec<Keys>,
}

impl Keys {
    /// Adds the keys of at most `most` values of a text, up to the first invalid JSON.
    fn read(&mut self, text: &[u8], most: usize) {
        let mut values = serde_json::Deserializer::from_slice(text);
        for _ in 0..most {
            if values.deserialize_any(&mut *self).is_err() {
                break;
            }
        }
    }

    fn entry(&mut self, key: String) -> &mut Self {
        let place = *self.places.entry(key).or_insert(self.within.len());
        if place == self.within.len() {
            self.within.push(Self::default());
        }
        &mut self.within[place]
    }

    fn ordered(&self, schema: &Schema) -> Schema {
        Schema::new_with_metadata(self.fields(schema.fields()), schema.metadata().clone())
    }

    fn fields(&self, fields: &Fields) -> Fields {
        let place = |field: &FieldRef| self.places.get(field.name()).copied();
        let mut ordered: Vec<FieldRef> = fields
            .iter()
            .map(|field| match place(field) {
                Some(place) => self.within[place].field(field),
                None => Arc::clone(field),
            })
            .collect();
        ordered.sort_by_key(|field| place(field).unwrap_or(usize::MAX));
        ordered.into()
    }

    fn field(&self, field: &FieldRef) -> FieldRef {
        let within = match field.data_type() {
            DataType::Struct(fields) => DataType::Struct(self.fields(fields)),
            DataType::List(items) => DataType::List(self.field(items)),
            _ => return Arc::clone(field),
        };
        Arc::new(Field::clone(field).with_data_type(within))
    }
}

impl<'a> DeserializeSeed<'a> for &mut Keys {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for &mut Keys {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(self.entry(key))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow::json::reader::infer_json_schema_from_iterator;
    use serde_json::Value;

    use super::*;

    #[test]
    fn keys_are_in_the_order_of_the_text() {
        for (text, most, expected) in [
            (r#"{"b":1,"a":2} {"c":null,"a":1,"0":1}"#, 9, "b a c 0"),
            (r#"{"b":1,"a":2} {"0":1}"#, 1, "b a 0"),
            (r#"{"n":{"y":1,"x":[{"q":1},{"r":{},"p":"s"}]},"m":true}"#, 9, "n(y x[(q r() p)]) m"),
            (r#"{"b":1.5,"a":-2}{"c":"#, 9, "b a"),
        ] {
            let values = serde_json::Deserializer::from_slice(text.as_bytes()).into_iter::<Value>();
            let schema = infer_json_schema_from_iterator(values.map_while(Result::ok).map(Ok));
            let ordered = of_records(&schema.unwrap(), text.as_bytes(), most);
            assert_eq!(shown(ordered.fields()), expected, "{text}");
        }
    }

    fn shown(fields: &Fields) -> String {
        let each = fields.iter().map(|field| format!("{}{}", field.name(), key_order(field)));
        each.collect::<Vec<_>>().join(" ")
    }

    fn key_order(field: &FieldRef) -> String {
        match field.data_type() {
            DataType::Struct(fields) => format!("({})", shown(fields)),
            DataType::List(items) => format!("[{}]", key_order(items)),
            _ => String::new(),
        }
    }
}
