//! Answers with a line for each column of a row.

use arrow::array::RecordBatch;
use arrow::util::display::FormatOptions;
use unicode_width::UnicodeWidthStr;

use super::fit::columns;
use crate::failure::Result;

/// Formats each row below its number, with a line for each column.
pub(crate) fn expanded(batches: &[RecordBatch]) -> Result<String> {
    let columns = columns(batches, &FormatOptions::default().with_null("NULL"))?;
    let names = columns.iter().map(|column| column.name.width()).max().unwrap_or(0);
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let mut text = String::new();
    for row in 0..rows {
        let title = format!("─ row {} ", row + 1);
        text += &title;
        text += &"─".repeat((names + 2).saturating_sub(title.width()).max(2));
        text.push('\n');
        for column in &columns {
            let pad = " ".repeat(names - column.name.width());
            for (line, part) in column.cells[row].split('\n').enumerate() {
                let name = if line == 0 { &column.name } else { "" };
                let pad = if line == 0 { pad.clone() } else { " ".repeat(names) };
                text += format!("{name}{pad}  {part}").trim_end();
                text.push('\n');
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    #[test]
    fn a_column_is_a_line() {
        let columns: [(&str, ArrayRef); 2] = [
            ("n", Arc::new(Int64Array::from(vec![1, 2]))),
            ("name", Arc::new(StringArray::from(vec![Some("a\nb"), None]))),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.map(|(name, array)| (name, array, true)),
        )
        .unwrap();
        let expected = "\
─ row 1 ──
n     1
name  a
      b
─ row 2 ──
n     2
name  NULL
";
        assert_eq!(expanded(&[batch]).unwrap(), expected);
    }
}
