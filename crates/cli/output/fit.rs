//! Framed tables that fit the terminal.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow::util::pretty::pretty_format_batches_with_options;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::failure::Result;
use crate::output::escape::in_cell;

/// The least width of a column whose cells are cut.
const LEAST: usize = 10;
/// Length in bytes up to which a text that parses as a number counts as one: summaries have minima as texts.
const LONGEST: usize = 24;
/// The fewest digits of a number that stay behind its point.
const DIGITS: usize = 3;
/// Width of a frame: for each column, and once for the table.
const FRAME: (usize, usize) = (3, 1);

/// Formats batches, at least one, in a frame. If it would be wider than `width`, the widest cells are cut first, as
/// long as they stay readable, and then columns in the middle are left out.
pub(crate) fn framed(batches: &[RecordBatch], width: Option<usize>) -> Result<String> {
    let options = FormatOptions::default().with_null("NULL");
    let whole = pretty_format_batches_with_options(batches, &options)?.to_string();
    let whole = match in_cell(&whole) {
        Cow::Borrowed(_) => whole,
        // Escaped control characters are wider than the frame that was made without them.
        Cow::Owned(_) => table(&columns(batches, &options)?, &[])?,
    };
    let Some(width) = width.filter(|width| whole.lines().any(|line| line.width() > *width)) else {
        return Ok(format!("{whole}\n"));
    };
    let mut columns = columns(batches, &options)?;
    let all = columns.len();
    let left_out = leave_out(&mut columns, width);
    let frame = columns.len() * FRAME.0 + FRAME.1;
    let widths = fitting(&columns, width.saturating_sub(frame));
    let mut text = format!("{}\n", table(&columns, &widths)?);
    if left_out > 0 {
        text += &format!(
            "… {left_out} of {all} columns are not shown (\\x or --format csv shows all)\n"
        );
    }
    Ok(text)
}

/// Frames columns. Names and cells are cut to `widths`, if there are any.
fn table(columns: &[Column], widths: &[usize]) -> Result<String> {
    let most = |index: usize| widths.get(index).copied().unwrap_or(usize::MAX);
    let names =
        titles(columns, most).into_iter().map(|name| Field::new(name, DataType::Utf8, true));
    let schema = Arc::new(Schema::new(names.collect::<Vec<_>>()));
    let cells = columns.iter().enumerate().map(|(index, column)| {
        let cells = column.cells.iter().map(|cell| cut(cell, most(index)));
        Arc::new(StringArray::from_iter_values(cells)) as ArrayRef
    });
    let fitting = RecordBatch::try_new(schema, cells.collect())?;
    Ok(pretty_format_batches_with_options(&[fitting], &FormatOptions::default())?.to_string())
}

/// Cuts the names of columns to widths: at the end, or in the middle if two would become equal.
fn titles(columns: &[Column], most: impl Fn(usize) -> usize) -> Vec<String> {
    let names = columns.iter().enumerate();
    let cut: Vec<String> =
        names.clone().map(|(index, column)| cut(&column.name, most(index))).collect();
    let is_twice = |title: &String| cut.iter().filter(|other| *other == title).nth(1).is_some();
    let title = |(index, column): (usize, &Column)| match cut[index] == column.name {
        false if is_twice(&cut[index]) => without_middle(&column.name, most(index)),
        _ => cut[index].clone(),
    };
    names.map(title).collect()
}

/// The greatest width of a column's title, which may be the whole text of an expression.
const TITLE: usize = 160;

/// Shortens the titles of a schema's columns.
pub(crate) fn with_short_titles(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| match field.name().width() > TITLE {
        true => Arc::new(field.as_ref().clone().with_name(without_middle(field.name(), TITLE))),
        false => Arc::clone(field),
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Shortens a line to a width; its beginning and its end stay.
fn without_middle(text: &str, most: usize) -> String {
    let room = most.saturating_sub(1);
    let before = beginning(text, room / 2);
    let mut width = 0;
    let end = text.char_indices().rev().find(|(_, c)| {
        width += c.width().unwrap_or(0);
        width > room - before.width()
    });
    let end = end.map_or(0, |(at, c)| at + c.len_utf8());
    format!("{before}…{}", &text[end..])
}

/// A column with its cells as text.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) cells: Vec<String>,
    /// True if cells may be cut anywhere. A number may not, because it would become another one.
    may_be_cut: bool,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| widest_line(cell));
        cells.chain([widest_line(&self.name)]).max().unwrap_or(0)
    }

    /// Returns the least width in which the column can be read.
    fn least(&self) -> usize {
        let is_number = |cell: &str| cell.len() <= LONGEST && cell.parse::<f64>().is_ok();
        let cells = self.cells.iter().map(|cell| match self.may_be_cut && !is_number(cell) {
            true => widest_line(cell).min(LEAST),
            false => head_of_number(cell),
        });
        cells.chain([widest_line(&self.name).min(LEAST)]).max().unwrap_or(0)
    }
}

fn widest_line(text: &str) -> usize {
    text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// Returns the least width of a number, a date or a time. Digits behind the point may be cut, but neither those
/// before it nor the exponent.
fn head_of_number(cell: &str) -> usize {
    let width = cell.width();
    match cell.find('.') {
        Some(point) if !cell.contains(['e', 'E', ':']) => width.min(point + 1 + DIGITS + 1),
        _ => width,
    }
}

/// Formats the columns as text without control characters.
pub(super) fn columns(batches: &[RecordBatch], options: &FormatOptions<'_>) -> Result<Vec<Column>> {
    let schema = batches.first().map(RecordBatch::schema);
    let fields = schema.iter().flat_map(|schema| schema.fields().iter()).enumerate();
    let column = |(index, field): (usize, &Arc<Field>)| -> Result<Column> {
        let mut cells = Vec::new();
        for batch in batches {
            let cell = ArrayFormatter::try_new(batch.column(index), options)?;
            for row in 0..batch.num_rows() {
                cells.push(in_cell(&cell.value(row).try_to_string()?).into_owned());
            }
        }
        let kind = field.data_type();
        let is_whole = kind.is_numeric() || kind.is_temporal() || kind.is_null();
        let name = in_cell(field.name()).into_owned();
        Ok(Column { name, cells, may_be_cut: !is_whole && *kind != DataType::Boolean })
    };
    fields.map(column).collect()
}

/// Replaces columns in the middle by `…` until the others fit. Returns the number of columns left out.
fn leave_out(columns: &mut Vec<Column>, width: usize) -> usize {
    let least = |column: &Column| column.least() + FRAME.0;
    let room = width.saturating_sub(FRAME.1);
    if columns.iter().map(least).sum::<usize>() <= room {
        return 0;
    }
    // Two columns of the beginning, which matter most, are kept for each one of the end.
    let mut rest = room.saturating_sub(1 + FRAME.0);
    let (mut first, mut last) = (0, columns.len());
    while first < last {
        let from_front = first < 2 * (columns.len() - last + 1);
        let next = if from_front { first } else { last - 1 };
        let Some(left) = rest.checked_sub(least(&columns[next])) else { break };
        rest = left;
        if from_front {
            first += 1;
        } else {
            last -= 1;
        }
    }
    // One column is shown, however narrow the terminal is.
    first = first.max(1);
    if first >= last {
        return 0;
    }
    let rows = columns[0].cells.len();
    let cells = vec!["…".to_owned(); rows];
    let dots = Column { name: "…".to_owned(), cells, may_be_cut: true };
    drop(columns.splice(first..last, [dots]));
    last - first
}

/// Returns the widths at which all columns fit into `room` columns of the terminal; the widest are cut first.
fn fitting(columns: &[Column], room: usize) -> Vec<usize> {
    let whole: Vec<usize> = columns.iter().map(Column::width).collect();
    let least: Vec<usize> = columns.iter().map(Column::least).collect();
    let cut_to = |most: usize| -> Vec<usize> {
        whole.iter().zip(&least).map(|(width, least)| (*width).min(most.max(*least))).collect()
    };
    let fits = |widths: &[usize]| widths.iter().sum::<usize>() <= room;
    let (mut low, mut high) = (0, whole.iter().copied().max().unwrap_or(0));
    if !fits(&cut_to(low)) {
        // The terminal is too narrow to read anything, so all columns get the same width.
        return whole.iter().map(|width| (*width).min((room / columns.len()).max(1))).collect();
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match fits(&cut_to(middle)) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    // Remaining space goes to the first columns that are cut.
    let mut widths = cut_to(low);
    let mut left = room - widths.iter().sum::<usize>();
    for (width, whole) in widths.iter_mut().zip(&whole) {
        if left > 0 && *width < *whole {
            *width += 1;
            left -= 1;
        }
    }
    widths
}

/// Cuts each line of a text to a width.
pub(super) fn cut(text: &str, most: usize) -> String {
    let lines = text.split('\n').map(|line| match line.width() <= most {
        true => line.to_owned(),
        false => format!("{}…", beginning(line, most.saturating_sub(1))),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the beginning of a line, up to a width.
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
    fn names_that_begin_alike_keep_their_ends() {
        let batch = batch(&[
            ("column_name_1", &["1"]),
            ("column_name_2", &["2"]),
            ("other_column", &["3"]),
        ]);
        let shown = framed(&[batch], Some(40)).unwrap();
        for title in ["colu…ame_1", "colu…ame_2", "other_col…"] {
            assert!(shown.contains(&format!("| {title} ")), "{shown}");
        }
        assert_eq!(without_middle("日本語日本語", 7), "日…本語");
        assert_eq!(without_middle("abc", 1), "…");
    }

    #[test]
    fn titles_are_not_the_whole_text_of_long_expressions() {
        let long = format!("a IN ({}, 1)", vec!["0"; 40_000].join(", "));
        let name = "b".repeat(TITLE);
        let schema = batch(&[(&long, &["1"]), (&name, &["2"])]).schema();
        let short = with_short_titles(&schema);
        let title = short.field(0).name();
        assert!(title.starts_with("a IN (0, ") && title.ends_with(", 0, 1)"), "{title}");
        assert!(title.width() <= TITLE && title.contains('…'), "{title}");
        assert_eq!(short.field(1), schema.field(1));
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
        let text = framed(&[batch(&columns)], Some(50)).unwrap();
        let header = "| column_0 | column_1 | column_2 | … | column_8 |";
        assert!(text.lines().any(|line| line == header), "{text}");
        let said = "… 5 of 9 columns are not shown (\\x or --format csv shows all)\n";
        assert!(text.ends_with(said), "{text}");
    }

    #[test]
    fn columns_can_be_read_and_numbers_keep_their_size() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a long text of many words"]));
        let whole: ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![1_234_567_890_123]));
        let real: ArrayRef =
            Arc::new(arrow::array::Float64Array::from(vec![1_234_567.891_234_567]));
        let columns = (0..12).map(|n| {
            let column = [&texts, &whole, &real][n % 3];
            (format!("c{n}"), Arc::clone(column))
        });
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        for width in 40..230 {
            let text = framed(std::slice::from_ref(&batch), Some(width)).unwrap();
            let row = text.lines().nth(3).unwrap();
            assert!(row.width() <= width, "{width}: {text}");
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            assert!(cells[0].starts_with("a long te"), "{width}: {text}");
            for cell in cells.into_iter().filter(|cell| cell.starts_with('1')) {
                let is_read = cell == "1234567890123" || cell.starts_with("1234567.891");
                assert!(is_read, "{width}: {text}");
            }
        }
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
