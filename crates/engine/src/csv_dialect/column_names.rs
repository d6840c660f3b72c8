//! What the columns of a CSV file are called, as its header names them.

use std::collections::HashMap;

/// The names of the columns, each of which is another one: a column that the header does not name is called by its
/// place (`column_2`), and a name that was there before gets a number (`a`, `a_1`), as in DuckDB.
pub(super) fn called<N: AsRef<str>>(header: impl IntoIterator<Item = N>) -> Vec<String> {
    let mut repeated: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::new();
    for (place, name) in header.into_iter().enumerate() {
        let mut name = match name.as_ref() {
            "" => format!("column_{}", place + 1),
            name => name.to_owned(),
        };
        // The name with a number may be there, too.
        while let Some(times) = repeated.get_mut(&name) {
            *times += 1;
            name = format!("{name}_{times}");
        }
        repeated.insert(name.clone(), 0);
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_a_name_of_its_own() {
        for (header, names) in [
            (["a", "b", "c"], ["a", "b", "c"]),
            (["a", "a", "b"], ["a", "a_1", "b"]),
            (["a", "a", "a"], ["a", "a_1", "a_2"]),
            (["a", "a", "a_1"], ["a", "a_1", "a_1_1"]),
            (["a", "a_1", "a"], ["a", "a_1", "a_1_1"]),
            (["a", "A", ""], ["a", "A", "column_3"]),
            (["column_2", "", ""], ["column_2", "column_2_1", "column_3"]),
        ] {
            assert_eq!(called(header), names, "{header:?}");
        }
    }
}
