//! The columns that there are, in the error about one that there is not.

use datafusion::common::{Column, SchemaError};

/// What an error says, with each of the columns that there are once: those of ORDER BY are those of SELECT and of the table.
pub(super) fn each_once(error: &SchemaError) -> String {
    let SchemaError::FieldNotFound { field, valid_fields } = error else {
        return error.to_string();
    };
    let mut once: Vec<Column> = Vec::with_capacity(valid_fields.len());
    let relation = valid_fields.first().and_then(|valid| valid.relation.as_ref());
    // Of the columns of one file, its path says nothing.
    let is_of_file = relation.is_some_and(|it| it.table().contains(['/', '.', '(']))
        && valid_fields.iter().all(|valid| valid.relation.as_ref() == relation);
    for valid in valid_fields {
        let valid = match is_of_file {
            true => Column::new_unqualified(valid.name()),
            false => valid.clone(),
        };
        if !once.contains(&valid) {
            once.push(valid);
        }
    }
    SchemaError::FieldNotFound { field: field.clone(), valid_fields: once }.to_string()
}
