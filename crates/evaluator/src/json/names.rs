//! Finds the fields of objects that have many, for statements that name many.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;

use super::path::{find, last};
use sluicegate_s3select::dialect::ast::Name;
use sluicegate_s3select::error::Result;
use sluicegate_s3select::value::Value;

/// Objects with fewer fields are gone through.
const MIN_FIELDS: usize = 32;
/// So are the first ones that are looked for in an object.
const MIN_FINDS: u32 = 8;

/// The fields of an object.
type Fields = Arc<[(String, Value)]>;

/// The places of the fields of objects in the order of their names' hashes.
#[derive(Debug, Default)]
pub(super) struct FieldNames {
    hasher: RandomState,
    /// By the addresses of the fields. The objects are kept, so that no other has an address of theirs.
    known: RefCell<HashMap<usize, Object>>,
}

#[derive(Debug)]
struct Object {
    _fields: Fields,
    finds: u32,
    /// Hashes and places, once there are many finds.
    places: Vec<(u64, u32)>,
}

impl FieldNames {
    /// Forgets all objects.
    pub(super) fn clear(&mut self) {
        self.known.get_mut().clear();
    }

    /// The field of that name, as [`find`] finds it.
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

    /// The hash of a name in lower case, as unquoted names are compared.
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
