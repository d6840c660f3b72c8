//! Tables in frames that fit the terminal.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow::util::pretty::pretty_format_batches_with_options;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::failure::Result;
use crate::output::visible::visible;

/// The least width of a column whose cells are cut.
const LEAST: usize = 6;
/// What a frame takes beside each cell, and once more.
const FRAME: (usize, usize) = (3, 1);

/// The batches, of which there is at least one, in a frame. Cells are cut, and columns in the middle left
/// out, where it would be wider than `width`.
pub(crate) fn framed(batches: &[RecordBatch], width: Option<usize>) -> Result<String> {
    let options = FormatOptions::default().with_null("NULL");
    let whole = pretty_format_batches_with_options(batches, &options)?.to_string();
    let whole = match visible(&whole) {
        Cow::Borrowed(_) => whole,
        // Escapes take room that the frame does not have yet.
        Cow::Owned(_) => table(&columns(batches, &options)?, usize::MAX)?,
    };
    let Some(width) = width.filter(|width| whole.lines().any(|line| line.width() > *width)) else {
        return Ok(format!("{whole}\n"));
    };
    let mut columns = columns(batches, &options)?;
    let left_out = leave_out(&mut columns, width);
    let widths: Vec<usize> = columns.iter().map(Column::width).collect();
    let frame = columns.len() * FRAME.0 + FRAME.1;
    let most = cap(&widths, width.saturating_sub(frame));
    let mut text = format!("{}\n", table(&columns, most)?);
    if left_out > 0 {
        text += &format!("… {left_out} more columns (\\x or --format csv shows all)\n");
    }
    Ok(text)
}

/// Columns in a frame, their names and cells cut to a width.
fn table(columns: &[Column], most: usize) -> Result<String> {
    let names =
        columns.iter().map(|column| Field::new(cut(&column.name, most), DataType::Utf8, true));
    let schema = Arc::new(Schema::new(names.collect::<Vec<_>>()));
    let cells = columns.iter().map(|column| {
        Arc::new(StringArray::from_iter_values(column.cells.iter().map(|cell| cut(cell, most))))
            as ArrayRef
    });
    let fitting = RecordBatch::try_new(schema, cells.collect())?;
    Ok(pretty_format_batches_with_options(&[fitting], &FormatOptions::default())?.to_string())
}

/// A column as text.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        let texts = self.cells.iter().chain([&self.name]);
        texts.flat_map(|text| text.split('\n')).map(UnicodeWidthStr::width).max().unwrap_or(0)
    }
}

/// The columns as text that a terminal does not obey.
pub(super) fn columns(batches: &[RecordBatch], options: &FormatOptions<'_>) -> Result<Vec<Column>> {
    let schema = batches.first().map(RecordBatch::schema);
    let fields = schema.iter().flat_map(|schema| schema.fields().iter()).enumerate();
    let column = |(index, field): (usize, &Arc<Field>)| -> Result<Column> {
        let mut cells = Vec::new();
        for batch in batches {
            let cell = ArrayFormatter::try_new(batch.column(index), options)?;
            for row in 0..batch.num_rows() {
                cells.push(visible(&cell.value(row).try_to_string()?).into_owned());
            }
        }
        Ok(Column { name: visible(field.name()).into_owned(), cells })
    };
    fields.map(column).collect()
}

/// Leaves out the columns in the middle for which there is no room; returns how many.
fn leave_out(columns: &mut Vec<Column>, width: usize) -> usize {
    let least = |column: &Column| column.width().min(LEAST) + FRAME.0;
    let room = width.saturating_sub(FRAME.1);
    if columns.iter().map(least).sum::<usize>() <= room {
        return 0;
    }
    // From both ends, the first before the last.
    let mut rest = room.saturating_sub(1 + FRAME.0);
    let (mut first, mut last) = (0, columns.len());
    while first < last {
        let from_front = first <= columns.len() - last;
        let next = if from_front { first } else { last - 1 };
        let Some(left) = rest.checked_sub(least(&columns[next])) else { break };
        rest = left;
        if from_front {
            first += 1;
        } else {
            last -= 1;
        }
    }
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let dots = Column { name: "…".to_owned(), cells: vec!["…".to_owned(); rows] };
    drop(columns.splice(first..last, [dots]));
    last - first
}

/// The width to which cells are cut so that all columns fit into the room together.
fn cap(widths: &[usize], room: usize) -> usize {
    let mut sorted = widths.to_vec();
    sorted.sort_unstable();
    let mut room = room;
    for (index, width) in sorted.iter().enumerate() {
        let share = room / (sorted.len() - index);
        if *width > share {
            return share.max(1);
        }
        room -= width;
    }
    usize::MAX
}

/// A text of which no line is wider.
pub(super) fn cut(text: &str, most: usize) -> String {
    let lines = text.split('\n').map(|line| match line.width() <= most {
        true => line.to_owned(),
        false => format!("{}…", beginning(line, most.saturating_sub(1))),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The beginning of a line that is no wider.
pub(super) fn beginning(line: &str, most: usize) -> &str {
    let mut width = 0;
    let end = line.char_indices().find(|(_, c)| {
        width += c.width().unwrap_or(0);
        width > most
    });
    &line[..end.map_or(line.len(), |(at, _)| at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(columns: &[(&str, &[&str])]) -> RecordBatch {
        let columns = columns.iter().map(|(name, cells)| {
            (*name, Arc::new(StringArray::from(cells.to_vec())) as ArrayRef, true)
        });
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    #[test]
    fn long_cells_are_cut_and_short_ones_are_not() {
        let batch = batch(&[
            ("id", &["1", "2"]),
            ("text", &["a long text of words", "日本語日本語日本語"]),
        ]);
        let expected = "\
+----+-------------+
| id | text        |
+----+-------------+
| 1  | a long tex… |
| 2  | 日本語日本… |
+----+-------------+
";
        assert_eq!(framed(std::slice::from_ref(&batch), Some(20)).unwrap(), expected);
        let whole = framed(std::slice::from_ref(&batch), None).unwrap();
        assert_eq!(framed(&[batch], Some(40)).unwrap(), whole);
    }

    #[test]
    fn frames_are_as_wide_as_what_is_escaped() {
        let batch = batch(&[("a\r", &["\u{1b}[2J", "b"])]);
        let text = framed(std::slice::from_ref(&batch), None).unwrap();
        let expected = "\
+-----------+
| a\\u{d}    |
+-----------+
| \\u{1b}[2J |
| b         |
+-----------+
";
        assert_eq!(text, expected);
        assert_eq!(framed(&[batch], Some(80)).unwrap(), expected);
    }

    #[test]
    fn columns_without_room_are_left_out_and_counted() {
        let names: Vec<String> = (0..9).map(|n| format!("column_{n}")).collect();
        let columns: Vec<(&str, &[&str])> =
            names.iter().map(|name| (name.as_str(), &["x"][..])).collect();
        let text = framed(&[batch(&columns)], Some(40)).unwrap();
        assert!(text.lines().all(|line| line.width() <= 48), "{text}");
        assert!(text.contains("| column_0 |") && text.contains("| … |"), "{text}");
        assert!(text.ends_with("… 6 more columns (\\x or --format csv shows all)\n"), "{text}");
    }

    #[test]
    fn every_width_is_kept() {
        let wide = batch(&[
            ("a", &["x\ny", "z"]),
            ("bbbbbbbb", &["12345678901", "é"]),
            ("c", &["\u{1b}[2J", "long long"]),
        ]);
        for width in 12..60 {
            let text = framed(std::slice::from_ref(&wide), Some(width)).unwrap();
            let table = text.lines().filter(|line| !line.starts_with('…'));
            assert!(table.clone().all(|line| line.width() <= width), "{width}: {text}");
            assert!(!text.contains('\u{1b}'));
        }
    }
}
