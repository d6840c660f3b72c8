//! The names of a CSV file's columns, by its header.

use std::collections::HashMap;

/// Makes the names of columns unique, as DuckDB does. A column without a name is named by its position (`column_2`),
/// and a repeated name gets a number (`a`, `a_1`).
pub(super) fn called<N: AsRef<str>>(header: impl IntoIterator<Item = N>) -> Vec<String> {
    let mut repeated: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::new();
    for (place, name) in header.into_iter().enumerate() {
        let mut name = match name.as_ref() {
            "" => format!("column_{}", place + 1),
            name => name.to_owned(),
        };
        // The name with a number may be in the header, too.
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
