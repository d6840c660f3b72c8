//! Records of different numbers of fields, where these are to tell the columns.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, plan_datafusion_err};
use datafusion::datasource::file_format::FileFormat;
use object_store::{ObjectMeta, ObjectStore};

/// An error of inferring a schema, which names the object and the way out if it is about records with other
/// numbers of fields.
pub(super) async fn named(
    error: DataFusionError,
    state: &dyn Session,
    format: &Arc<dyn FileFormat>,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
) -> DataFusionError {
    let Some((first, other)) = numbers(&error.to_string()) else { return error };
    let mut at_fault = objects.last();
    for object in objects {
        if format.infer_schema(state, store, std::slice::from_ref(object)).await.is_err() {
            at_fault = Some(object);
            break;
        }
    }
    let Some(object) = at_fault else { return error };
    let way_out = match other < first {
        true => {
            "read_csv('…', truncated_rows => true), or OPTIONS ('format.truncated_rows' 'true'), takes those \
             with fewer"
        }
        false => {
            "CREATE EXTERNAL TABLE t (…) with as many columns as the longest has, and OPTIONS \
             ('format.truncated_rows' 'true'), takes those with fewer"
        }
    };
    plan_datafusion_err!(
        "the records of `{}` have different numbers of fields ({first} and {other}); {way_out}",
        object.location
    )
}

/// The numbers of fields in DataFusion's and in Arrow's words.
fn numbers(text: &str) -> Option<(usize, usize)> {
    let (_, rest) = text.split_once("Encountered unequal lengths between records")?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_fields() {
        let arrow = "Csv error: Encountered unequal lengths between records on CSV file. Expected 3 records, \
                     found 2 records at line 3";
        assert_eq!(numbers(arrow), Some((3, 2)));
        let datafusion = "Encountered unequal lengths between records on CSV file whilst inferring schema. \
                          Expected 2 fields, found 4 fields at record 9";
        assert_eq!(numbers(datafusion), Some((2, 4)));
        assert_eq!(numbers("Csv error: 3 and 4"), None);
    }
}
