//! SVG pictures of terminal output.

use unicode_width::UnicodeWidthStr;

use sluicegate_experiments::Markup as Html;

/// Width of a character, in pixels.
const COLUMN: f64 = 7.8;
/// Height of a line, in pixels.
const LINE: f64 = 18.0;
/// Space around the text, in pixels.
const MARGIN: f64 = 16.0;

/// Draws lines as an SVG, as wide as the longest line.
pub(crate) fn drawn(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let columns = lines.iter().map(|line| line.width()).max().unwrap_or(0);
    let (width, height) =
        (2.0 * MARGIN + COLUMN * columns as f64, 2.0 * MARGIN + LINE * lines.len() as f64);
    let mut svg = Html::default();
    svg.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ");
    svg.number(width).raw(" ").number(height).raw("\" role=\"img\">\n");
    svg.raw("<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#14171c\"/>\n");
    svg.raw("<g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" ");
    svg.raw("font-size=\"13\" fill=\"#d8dee6\">\n");
    for (number, line) in lines.iter().enumerate() {
        let baseline = MARGIN + LINE * (number as f64 + 0.75);
        let typed = line.starts_with("$ ");
        for (column, cell) in cells(line) {
            // A fixed position and length keep columns aligned in any font.
            svg.raw("<text x=\"")
                .number(MARGIN + COLUMN * column as f64)
                .raw("\" y=\"")
                .number(baseline);
            svg.raw("\" textLength=\"").number(COLUMN * cell.width() as f64);
            svg.raw(if typed { "\" fill=\"#7fd1ae\">" } else { "\">" });
            svg.text(cell).raw("</text>\n");
        }
    }
    svg.raw("</g>\n</svg>\n");
    svg.as_str().to_owned()
}

/// Splits a line at runs of several spaces; returns the pieces with the columns where they begin.
fn cells(line: &str) -> Vec<(usize, &str)> {
    let mut cells = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c| c != ' ') {
        let from = &rest[start..];
        let cell = &from[..from.find("  ").unwrap_or(from.len())];
        let column = line[..line.len() - from.len()].width();
        cells.push((column, cell));
        rest = &from[cell.len()..];
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_placed_by_columns_and_escaped() {
        let svg = drawn("$ a <b>\n\ncd  é\n");
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 86.6 86\""), "{svg}");
        assert!(svg.contains("textLength=\"54.6\" fill=\"#7fd1ae\">$ a &lt;b&gt;<"), "{svg}");
        assert!(svg.contains("<text x=\"47.2\" y=\"65.5\" textLength=\"7.8\">é<"), "{svg}");
        assert_eq!(svg.matches("<text ").count(), 3);
    }

    #[test]
    fn cells_are_set_apart_by_several_spaces() {
        assert_eq!(cells("  a b   c"), [(2, "a b"), (8, "c")]);
        assert_eq!(cells("é  x "), [(0, "é"), (3, "x ")]);
        assert_eq!(cells("   "), []);
    }
}
