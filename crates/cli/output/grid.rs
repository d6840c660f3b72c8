//! Aligned columns of text.

/// Formats rows below a header, with two spaces between columns. Columns whose index is in `right` are aligned right.
pub(crate) fn align(header: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (column, cell) in cells.enumerate().take(widths.len()) {
            let pad = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            let gap = if column == 0 { "" } else { "  " };
            text += gap;
            text += &if right.contains(&column) { pad + cell } else { format!("{cell}{pad}") };
        }
        format!("{}\n", text.trim_end())
    };
    let mut text = line(&mut header.iter().copied());
    text += &line(
        &mut widths
            .iter()
            .map(|width| "─".repeat(*width))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str),
    );
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows =
            [vec!["a".to_owned(), "10 → 2".to_owned()], vec!["bcd".to_owned(), "1".to_owned()]];
        assert_eq!(
            align(&["q", "requests"], &[1], &rows),
            "q    requests\n───  ────────\na      10 → 2\nbcd         1\n"
        );
    }
}
