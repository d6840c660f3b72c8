//! Infers partition columns from the folders of objects.

use std::collections::BTreeMap;

use arrow::datatypes::DataType;
use datafusion::datasource::listing::ListingTableUrl;
use object_store::ObjectMeta;
use object_store::path::Path;
use percent_encoding::percent_decode_str;

use super::{Partitions, types};
use crate::catalog::external_tables::inferred_partition_type;
use crate::context::notes::some_of;
use crate::context::partition_value::NULL;

/// Returns the columns that the folders of all objects at a location name, from the first folder on. The note is
/// about other folders that are no columns, because not all objects have them.
pub(crate) fn columns(
    location: &ListingTableUrl,
    objects: &[ObjectMeta],
) -> (Partitions, Option<String>) {
    let folders: Vec<(&Path, Vec<(&str, &str)>)> = objects
        .iter()
        .map(|object| (&object.location, folders(location, &object.location)))
        .collect();
    let Some((first, rest)) = folders.split_first() else { return Default::default() };
    let alike = |others: &[(&str, &str)]| {
        let pairs = first.1.iter().zip(others);
        pairs.take_while(|((one, _), (other, _))| one == other).count()
    };
    let common = rest.iter().map(|(_, others)| alike(others)).min().unwrap_or(first.1.len());
    let mut left_out: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
    for (path, folders) in &folders {
        for (name, _) in folders.iter().skip(common) {
            left_out.entry(name).or_default().push(path);
        }
    }
    let note = left_out.first_key_value().map(|(name, paths)| {
        let is_in = |others: &[(&str, &str)]| others.iter().any(|(other, _)| other == name);
        let without = folders.iter().find(|(_, folders)| !is_in(&folders[common..]));
        let elsewhere = folders.iter().find(|(path, _)| *path != paths[0]);
        let without = match (without, elsewhere) {
            (Some((path, _)), _) => format!(", but not `{path}`"),
            (None, Some((path, _))) => format!(", and `{path}` in one at another place"),
            (None, None) => String::new(),
        };
        let names: Vec<&&str> = left_out.keys().collect();
        format!(
            "the folders {} are no columns: {} is in one{without}; name objects of one kind, as in '{}…/{name}=*/…', \
             for these columns, or read all with union_by_name => true",
            some_of(&names.iter().map(|name| format!("{name}=…")).collect::<Vec<_>>()),
            some_of(&paths[..1]),
            location.as_str(),
        )
    });
    let columns = (0..common).map(|place| {
        let values = folders.iter().map(|(_, folders)| folders[place].1);
        (first.1[place].0.to_owned(), data_type(values))
    });
    (Partitions::new(columns), note)
}

/// Returns the names and values of the folders `name=value/` of an object, from the location to the first folder of
/// another form. DataFusion looks for partition columns only there.
pub(crate) fn folders<'a>(location: &ListingTableUrl, path: &'a Path) -> Vec<(&'a str, &'a str)> {
    let below: Vec<&str> = match location.strip_prefix(path) {
        Some(parts) => parts.collect(),
        None => Vec::new(),
    };
    let parts = below.split_last().map_or(&[][..], |(_, folders)| folders);
    parts.iter().map_while(|part| part.split_once('=')).collect()
}

/// Returns the type of a column of values, ignoring those that stand for NULL.
fn data_type<'a>(values: impl Iterator<Item = &'a str>) -> DataType {
    let values = values.filter(|value| *value != NULL);
    let decoded = values.map(|value| percent_decode_str(value).decode_utf8().map(Into::into));
    match decoded.collect::<Result<Vec<String>, _>>() {
        Ok(values) => types::infer_type(&values),
        Err(_) => inferred_partition_type(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[track_caller]
    fn check(paths: &[&str], expected: &[(&str, &str)], noted: bool) {
        let objects: Vec<ObjectMeta> = paths
            .iter()
            .map(|path| ObjectMeta {
                location: Path::parse(path).unwrap(),
                last_modified: DateTime::UNIX_EPOCH,
                size: 1,
                e_tag: None,
                version: None,
            })
            .collect();
        let location = ListingTableUrl::parse("s3://b/t/").unwrap();
        let (columns, note) = columns(&location, &objects);
        let text = inferred_partition_type();
        let types = columns.as_typed();
        let found: Vec<(&str, &str)> = types
            .iter()
            .map(|(name, data_type)| {
                (name.as_str(), if *data_type == text { "text" } else { "whole" })
            })
            .collect();
        assert_eq!(found, expected, "{paths:?}");
        assert_eq!(note.is_some(), noted, "{paths:?}: {note:?}");
    }

    #[test]
    fn columns_are_those_of_all_objects() {
        check(&[], &[], false);
        check(&["t/a.csv"], &[], false);
        check(&["t/x=1/a.csv", "t/x=2/y=a/b.csv"], &[("x", "whole")], true);
        check(&["t/x=1/y=b/a.csv", "t/x=2/y=a/b.csv"], &[("x", "whole"), ("y", "text")], false);
        check(&["t/x=01/a.csv", "t/x=2/b.csv"], &[("x", "text")], false);
        check(&["t/x=12/a.csv", &format!("t/x={NULL}/b.csv")], &[("x", "whole")], false);
        check(&[&format!("t/x={NULL}/b.csv")], &[("x", "text")], false);
        check(&["t/x=1/a.csv", "t/2024/a.csv"], &[], true);
        check(&["t/x=1/a.csv", "t/y=1/a.csv"], &[], true);
        // DataFusion finds no value there.
        check(&["t/2024/x=1/a.csv"], &[], false);
        check(&["t/x=1/a=b.csv"], &[("x", "whole")], false);
    }
}
