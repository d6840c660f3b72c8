//! Tables with their CSV files.

use crate::Table;
use crate::chart::{Chart, Line, Marks, PointSeries, Task};
use crate::markup::Markup;

use crate::wording::readable;

/// Tables of more rows than this scroll within a box.
const TALL_ROWS: usize = 40;
/// Cells of at most this many characters stay on a line.
const SHORT: usize = 18;
/// Tables of more columns than this are wider than a phone.
const WIDE: usize = 4;
/// Tables with a longer cell than this show each row as a list on phones.
const LONG: usize = 28;

/// What a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Numbers, perhaps with a unit.
    Number,
    /// Texts that stay on a line.
    Short,
    Long,
}

/// The cells of a table.
struct Cells<'a> {
    title: &'a str,
    columns: Vec<&'a str>,
    rows: Vec<Vec<String>>,
}

/// Writes a table of an experiment, which is open if the experiment has nothing else to show.
pub(super) fn write(html: &mut Markup, table: &Table, file: &str, is_all: bool) {
    let is_open = is_all && table.rows.len() <= TALL_ROWS;
    html.raw(if is_open { "<details open><summary>" } else { "<details><summary>" });
    html.text(readable(&table.title)).raw(" <small>").text(readable(&table.provenance.to_string()));
    rows(html, table.rows.len());
    html.raw("</small></summary>\n");
    let cells =
        Cells { title: &table.title, columns: table.columns.clone(), rows: table.rows.clone() };
    cells.write(html, file);
    html.raw("</details>\n");
}

/// Writes the numbers of a chart.
pub(super) fn write_chart(html: &mut Markup, chart: &Chart, file: &str) {
    let cells = cells(chart);
    html.raw("<details><summary>Numbers of this chart<small>");
    rows(html, cells.rows.len());
    html.raw("</small></summary>\n");
    cells.write(html, file);
    html.raw("</details>\n");
}

/// Writes how many rows a table has, if not all can be seen at once.
fn rows(html: &mut Markup, rows: usize) {
    if rows > TALL_ROWS {
        html.raw("; ").text(rows).raw(" rows, scroll for more");
    }
}

fn cells(chart: &Chart) -> Cells<'_> {
    let (x, y) = (named(&chart.x.title, "x"), named(&chart.y.title, "y"));
    let (columns, rows) = match &chart.marks {
        Marks::Lines(lines) => {
            let is_interval = |line: &Line| line.points.iter().any(|it| it[2] != it[3]);
            let with = lines.iter().any(is_interval);
            let mut columns = vec!["series", "source", x, y];
            columns.extend(with.then_some(["from", "to"]).into_iter().flatten());
            let row = |line: &Line, point: &[f64; 4]| {
                let numbers = if with { &point[..] } else { &point[..2] };
                let mut row = vec![line.name.clone(), source(line.is_published)];
                row.extend(numbers.iter().map(digits));
                row
            };
            let rows =
                lines.iter().flat_map(|line| line.points.iter().map(move |it| row(line, it)));
            (columns, rows.collect())
        }
        Marks::Bars { parts, bars, .. } => {
            let mut columns = vec![if chart.y.title.is_empty() { "bar" } else { y }];
            columns.extend(parts.iter().map(String::as_str));
            let row = |name: &String, lengths: &[f64]| {
                let mut row = vec![name.clone()];
                row.extend(lengths.iter().map(digits));
                row.resize(parts.len() + 1, String::new());
                row
            };
            (columns, bars.iter().map(|bar| row(&bar.name, &bar.lengths)).collect())
        }
        Marks::Points(series) => {
            let row = |of: &PointSeries, (x, y, label): &(f64, f64, String)| {
                let name = [of.name.clone(), source(of.is_published), label.clone()];
                name.into_iter().chain([x, y].map(digits)).collect::<Vec<_>>()
            };
            let rows = series.iter().flat_map(|of| of.points.iter().map(move |it| row(of, it)));
            (vec!["series", "source", "label", x, y], rows.collect())
        }
        Marks::Gantt(tasks) => {
            let row = |task: &Task| {
                let critical = if task.is_critical { "yes" } else { "no" };
                let [from, to] = task.span.map(|it| digits(&it));
                vec![task.name.clone(), task.series.clone(), from, to, critical.to_owned()]
            };
            let columns = vec!["task", "series", "from", "to", "on the critical path"];
            (columns, tasks.iter().map(row).collect())
        }
        Marks::Map(map) => {
            let rows = map.y.iter().zip(&map.best).flat_map(|(y, best)| {
                map.x.iter().zip(best).map(|(x, it)| vec![digits(x), digits(y), it.clone()])
            });
            (vec![x, y, "best"], rows.collect())
        }
    };
    Cells { title: &chart.title, columns, rows }
}

fn named<'a>(title: &'a str, other: &'a str) -> &'a str {
    if title.is_empty() { other } else { title }
}

/// Returns a number with at most six significant digits.
fn digits(number: &f64) -> String {
    let rounded = format!("{number:.5e}").parse::<f64>();
    rounded.unwrap_or(*number).to_string()
}

fn source(is_published: bool) -> String {
    if is_published { "published" } else { "ours" }.to_owned()
}

impl Cells<'_> {
    fn write(&self, html: &mut Markup, file: &str) {
        html.raw(match self.rows.len() > TALL_ROWS {
            true => "<div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"",
            false => "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
        });
        // Landmarks need names of their own, and titles repeat.
        html.text(self.title).raw(", ").text(file).raw("\">");
        let is_list = self.is_list();
        html.raw(if is_list { "<table class=\"list\">" } else { "<table>" });
        html.raw("<thead><tr>");
        let kinds: Vec<Kind> = (0..self.columns.len()).map(|at| self.kind(at)).collect();
        for (column, kind) in self.columns.iter().zip(&kinds) {
            // A heading needs a text.
            if column.is_empty() {
                html.raw("<td></td>");
                continue;
            }
            html.raw(match kind {
                Kind::Number => "<th scope=\"col\" class=\"number\">",
                Kind::Short | Kind::Long => "<th scope=\"col\">",
            });
            html.text(column).raw("</th>");
        }
        html.raw("</tr></thead><tbody>\n");
        for row in &self.rows {
            html.raw("<tr>");
            for (at, ((cell, column), kind)) in
                row.iter().zip(&self.columns).zip(&kinds).enumerate()
            {
                // The first column names the row, and stays in sight.
                if at == 0 && !cell.is_empty() {
                    html.raw("<th scope=\"row\"").raw(match kind {
                        Kind::Number => " class=\"number\"",
                        Kind::Short => " class=\"short\"",
                        Kind::Long => "",
                    });
                    if is_list {
                        html.raw(" data-column=\"").text(column).raw("\"");
                    }
                    html.raw(">").text(readable(cell)).raw("</th>");
                    continue;
                }
                html.raw(match (kind, is_published(column)) {
                    (Kind::Number, true) => "<td class=\"number published\"",
                    (Kind::Number, false) => "<td class=\"number\"",
                    (Kind::Short, true) => "<td class=\"short published\"",
                    (Kind::Short, false) => "<td class=\"short\"",
                    (Kind::Long, true) => "<td class=\"published\"",
                    (Kind::Long, false) => "<td",
                });
                if is_list {
                    html.raw(" data-column=\"").text(column).raw("\"");
                }
                html.raw(">").text(readable(cell)).raw("</td>");
            }
            html.raw("</tr>\n");
        }
        html.raw("</tbody></table></div>\n<p class=\"download\"><a download=\"").text(file);
        html.raw(".csv\" href=\"data:text/csv;charset=utf-8,").text(encoded(&self.csv()));
        html.raw("\">Download CSV</a></p>\n");
    }

    /// Returns true if phones show each row as a list: with a long cell, or if more than the first column names a row, so
    /// that it would be out of sight beside the numbers.
    fn is_list(&self) -> bool {
        let firsts = || self.rows.iter().filter_map(|row| row.first());
        let repeats =
            firsts().enumerate().any(|(at, it)| firsts().take(at).any(|other| other == it));
        let columns = self.columns.len();
        (columns > 2 && self.longest(0..columns) > LONG) || (columns > WIDE && repeats)
    }

    /// Returns the most characters of a cell in some columns.
    fn longest(&self, columns: impl Iterator<Item = usize>) -> usize {
        let cells = columns.flat_map(|at| self.rows.iter().filter_map(move |row| row.get(at)));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    }

    fn kind(&self, column: usize) -> Kind {
        match self.is_numeric(column) {
            true => Kind::Number,
            false if self.longest(std::iter::once(column)) <= SHORT => Kind::Short,
            false => Kind::Long,
        }
    }

    /// Returns true if the cells of a column are numbers, perhaps with a unit, or empty.
    fn is_numeric(&self, column: usize) -> bool {
        let starts = |cell: &String| {
            let mut characters =
                cell.trim_start_matches(['-', '−', '+', '$', '<', '≥', '≤', ' ']).chars();
            cell.is_empty()
                || cell == "–"
                || characters.next().is_some_and(|it| it.is_ascii_digit())
        };
        let short = |cell: &String| cell.chars().count() <= 16;
        self.rows.iter().filter_map(|row| row.get(column)).all(|it| starts(it) && short(it))
    }

    fn csv(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            cells.map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
        };
        let mut csv = line(&mut self.columns.iter().copied());
        for row in &self.rows {
            csv += &line(&mut row.iter().map(String::as_str));
        }
        csv
    }
}

fn is_published(column: &str) -> bool {
    column.contains("published") || column == "paper"
}

/// Returns a cell of CSV, in quotes if it needs them.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// Returns a text in which all but letters, digits and a few signs are percent-encoded.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.,()".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::svg::tests::examples;

    #[test]
    fn a_csv_file_has_a_line_for_each_row() {
        let rows =
            vec![vec!["a,b".to_owned(), "1".to_owned()], vec!["\"".to_owned(), String::new()]];
        let cells = Cells { title: "t", columns: vec!["name", "x"], rows };
        assert_eq!(cells.csv(), "name,x\r\n\"a,b\",1\r\n\"\"\"\",\r\n");
        assert_eq!([cells.kind(0), cells.kind(1)], [Kind::Short, Kind::Number]);
        assert_eq!([21.700_029_999_999_998, 1e-7].map(|it| digits(&it)), ["21.7", "0.0000001"]);
        assert_eq!(encoded("a b\"é"), "a%20b%22%C3%A9");
    }

    #[test]
    fn a_row_that_two_columns_name_is_a_list_on_phones() {
        let is_list = |columns: usize, first: [&str; 2]| {
            let row = |name: &str| {
                let mut row = vec!["1".to_owned(); columns];
                row[0] = name.to_owned();
                row
            };
            let rows = first.map(row).to_vec();
            Cells { title: "t", columns: vec!["c"; columns], rows }.is_list()
        };
        assert!(is_list(6, ["get", "get"]) && !is_list(6, ["get", "select"]));
        assert!(!is_list(3, ["get", "get"]));
        assert!(is_list(3, ["a name that is longer than a phone shows", "b"]));
    }

    #[test]
    fn every_kind_of_chart_has_its_numbers() {
        for chart in examples() {
            let cells = cells(&chart);
            assert!(!cells.rows.is_empty(), "{}", chart.title);
            assert!(
                cells.rows.iter().all(|row| row.len() == cells.columns.len()),
                "{}",
                chart.title
            );
        }
    }
}
