//! Finds the fields of large objects for statements that name many fields.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;

use super::path::{find, last};
use sluicegate_s3select::dialect::ast::Name;
use sluicegate_s3select::error::Result;
use sluicegate_s3select::value::Value;

/// Objects with fewer fields are searched linearly.
const MIN_FIELDS: usize = 32;
/// The first look-ups in an object also search linearly; this is their number.
const MIN_FINDS: u32 = 8;

/// The fields of an object.
type Fields = Arc<[(String, Value)]>;

/// The positions of objects' fields, ordered by the hashes of their names.
#[derive(Debug, Default)]
pub(super) struct FieldNames {
    hasher: RandomState,
    /// Objects by the address of their fields. They are kept alive, so that no other object gets the same address.
    known: RefCell<HashMap<usize, Object>>,
}

#[derive(Debug)]
struct Object {
    _fields: Fields,
    finds: u32,
    /// Hashes and positions; empty until there are many look-ups.
    places: Vec<(u64, u32)>,
}

impl FieldNames {
    /// Removes all objects.
    pub(super) fn clear(&mut self) {
        self.known.get_mut().clear();
    }

    /// Returns the position of the field with that name, like [`find`].
    pub(super) fn find(&self, fields: &Fields, name: &Name) -> Result<Option<usize>> {
        if fields.len() < MIN_FIELDS {
            return find(fields, name);
        }
        let mut known = self.known.borrow_mut();
        let object = known.entry(fields.as_ptr().addr()).or_insert_with(|| Object {
            _fields: Arc::clone(fields),
            finds: 0,
            places: Vec::new(),
        });
        object.finds += 1;
        if object.finds <= MIN_FINDS {
            return find(fields, name);
        }
        if object.places.is_empty() {
            let places = fields.iter().enumerate();
            object.places =
                places.map(|(place, (name, _))| (self.hash(name), place as u32)).collect();
            object.places.sort_unstable();
        }
        let hash = self.hash(&name.text);
        let first = object.places.partition_point(|(other, _)| *other < hash);
        let same = object.places[first..].iter().take_while(|(other, _)| *other == hash);
        last(fields, same.map(|(_, place)| *place as usize), name)
    }

    /// Returns the hash of a name in lower case, as unquoted names ignore case.
    fn hash(&self, name: &str) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        let (chunks, rest) = name.as_bytes().as_chunks::<16>();
        for chunk in chunks {
            hasher.write(&chunk.map(|byte| byte.to_ascii_lowercase()));
        }
        for byte in rest {
            hasher.write_u8(byte.to_ascii_lowercase());
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_same_fields_are_found(
            names in prop::collection::vec("[aAbB]{1,4}", 0..80),
            wanted in prop::collection::vec(("[aAbB]{1,4}", any::<bool>()), 1..40),
        ) {
            let fields: Fields = names.into_iter().map(|name| (name, Value::Null)).collect();
            let known = FieldNames::default();
            for (text, quoted) in wanted {
                let name = Name { text, quoted };
                let expected = find(&fields, &name).map_err(|error| error.code);
                let found = known.find(&fields, &name).map_err(|error| error.code);
                prop_assert_eq!(found, expected);
            }
        }
    }
}
