//! The formats of charts, and charts on this terminal.

use std::path::Path;

use clap::ValueEnum;
pub(crate) use sluicegate_experiments::Chart;
pub(crate) use sluicegate_experiments::chart::{Axis, Bar, Line, Marks, Task, svg};

use crate::failure::{Failure, Result};
use crate::runtime::terminal;

/// The formats of numbers along axes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChartFormat {
    /// Tables for reading, with a chart below the numbers along an axis
    #[default]
    Table,
    /// A line for each number, and at each point of an axis
    Csv,
    /// Everything, for programs
    Json,
    /// A chart of the numbers along an axis
    Svg,
}

impl ChartFormat {
    /// Returns the requested format, else the format of the file's extension.
    ///
    /// # Errors
    ///
    /// If no format was requested and the extension is unknown.
    pub(crate) fn chosen(asked: Option<Self>, file: Option<&Path>) -> Result<Self> {
        let extension = file.and_then(Path::extension).and_then(|it| it.to_str());
        // Devices and descriptors have no extension, so they get a table.
        match (asked, extension.map(str::to_ascii_lowercase).as_deref()) {
            (Some(format), _) => Ok(format),
            (None, Some("csv")) => Ok(Self::Csv),
            (None, Some("json")) => Ok(Self::Json),
            (None, Some("svg")) => Ok(Self::Svg),
            (None, Some("txt" | "md" | "log" | "out") | None) => Ok(Self::Table),
            (None, Some(other)) => Err(Failure::Usage(format!(
                "`.{other}` is no format that is written here: name a file .txt, .csv, .json or .svg, or say \
                 which with --format"
            ))),
        }
    }
}

/// Draws a chart as text; empty if it has no marks.
pub(crate) fn terminal(chart: &Chart, colour: bool) -> String {
    sluicegate_experiments::chart::terminal(chart, colour && terminal::wants_colour())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_follow_the_extension_unless_one_is_asked_for() {
        let chosen = |asked, file: &str| ChartFormat::chosen(asked, Some(Path::new(file)));
        for (asked, file, expected) in [
            (None, "a.svg", ChartFormat::Svg),
            (None, "a.JSON", ChartFormat::Json),
            (None, "a.txt", ChartFormat::Table),
            (None, "/dev/stdout", ChartFormat::Table),
            (Some(ChartFormat::Csv), "a.svg", ChartFormat::Csv),
            (Some(ChartFormat::Table), "a.pdf", ChartFormat::Table),
        ] {
            assert_eq!(chosen(asked, file).unwrap(), expected, "{file}");
        }
        assert_eq!(ChartFormat::chosen(None, None).unwrap(), ChartFormat::Table);
        let Err(Failure::Usage(refused)) = chosen(None, "a.pdf") else { panic!("text in a.pdf") };
        assert!(refused.starts_with("`.pdf` is no format"), "{refused}");
    }
}
