//! COPY to a file whose name implies a compression or tabs between fields.

use datafusion::sql::parser::CopyToStatement;
use datafusion::sql::sqlparser::ast::Value;

use crate::context::file_names::{ARROW, COMPRESSIONS, TABS};

/// Adds the options that the name of the target implies. `x.csv.gz` is CSV compressed by gzip, as it is when it is
/// read. Options of the statement take precedence.
pub(crate) fn as_named(copy: &mut CopyToStatement) {
    let name = copy.target.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let CopyTarget { end, format: by_name, compression } = CopyTarget::parse(&name);
    if compression.is_none() && end != TABS {
        return;
    }
    // Parquet compresses its pages itself.
    let by_name = by_name.filter(|format| ["CSV", "JSON"].contains(format));
    let stored_as = copy.stored_as.as_deref().or(by_name).map(str::to_ascii_uppercase);
    let Some(format) = stored_as.filter(|format| ["CSV", "JSON"].contains(&format.as_str())) else {
        return;
    };
    if let Some(compression) = compression {
        push_option(copy, "compression", compression);
    }
    if end == TABS && format == "CSV" {
        push_option(copy, "delimiter", "\t");
    }
    copy.stored_as = Some(format);
}

/// The properties that the name of a file implies.
struct CopyTarget<'a> {
    /// The file extension, without that of a compression.
    end: &'a str,
    format: Option<&'static str>,
    compression: Option<&'static str>,
}

impl<'a> CopyTarget<'a> {
    /// Parses a name in lower case.
    fn parse(name: &'a str) -> Self {
        let compression = COMPRESSIONS.iter().find(|(suffix, _)| name.ends_with(suffix));
        let stem = compression.and_then(|(suffix, _)| name.strip_suffix(suffix)).unwrap_or(name);
        let end = stem.rsplit_once('.').map_or("", |(_, end)| end);
        let format = match end {
            "csv" | TABS => Some("CSV"),
            "json" | "ndjson" | "jsonl" => Some("JSON"),
            "parquet" => Some("PARQUET"),
            "avro" => Some("AVRO"),
            arrow if ARROW.contains(&arrow) => Some("ARROW"),
            _ => None,
        };
        Self { end, format, compression: compression.map(|(_, compression)| *compression) }
    }
}

/// Returns a note on a file whose extension differs from the format of its statement.
pub(crate) fn unlike_name(copy: &CopyToStatement) -> Option<String> {
    let file = copy.target.rsplit('/').next().unwrap_or_default();
    let name = file.to_ascii_lowercase();
    let by_name = CopyTarget::parse(&name).format?;
    let format = copy.stored_as.as_deref()?.to_ascii_uppercase();
    (by_name != format && copy.partitioned_by.is_empty()).then(|| {
        format!(
            "`{file}` is written as {format}, and FROM '{file}' reads it as {by_name}, as its name says; \
             read_{}('{file}') reads it as it is",
            format.to_ascii_lowercase()
        )
    })
}

/// The compressions of Parquet that need a level, with the usual one.
const LEVELS: [(&str, &str); 3] =
    [("zstd", "zstd(3)"), ("gzip", "gzip(6)"), ("brotli", "brotli(5)")];

/// Adds the usual level to a compression of Parquet that has none.
pub(crate) fn with_level(copy: &mut CopyToStatement) {
    let is_parquet = match &copy.stored_as {
        Some(format) => format.eq_ignore_ascii_case("parquet"),
        None => copy.target.to_ascii_lowercase().ends_with(".parquet"),
    };
    for (name, value) in copy.options.iter_mut().filter(|_| is_parquet) {
        if let Value::SingleQuotedString(text) = value
            && name.to_ascii_lowercase().trim_start_matches("format.") == "compression"
            && let Some((_, level)) =
                LEVELS.iter().find(|(plain, _)| text.eq_ignore_ascii_case(plain))
        {
            *text = (*level).to_owned();
        }
    }
}

/// Adds an option of the format, unless it is already set.
fn push_option(copy: &mut CopyToStatement, option: &str, value: &str) {
    let is_it = |name: &String| {
        let name = name.to_ascii_lowercase();
        name.rsplit('.').next() == Some(option)
    };
    if !copy.options.iter().any(|(name, _)| is_it(name)) {
        let value = Value::SingleQuotedString(value.to_owned());
        copy.options.push((format!("format.{option}"), value));
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::{DFParser, Statement};

    use super::*;

    fn copy(rest: &str) -> CopyToStatement {
        let sql = format!("COPY t TO {rest}");
        let statement = DFParser::parse_sql(&sql).unwrap().pop_front().unwrap();
        let Statement::CopyTo(copy) = statement else { panic!("{statement}") };
        copy
    }

    #[test]
    fn a_format_that_the_name_does_not_say_is_noted() {
        for (rest, noted) in [
            ("'s3://b/x.csv' STORED AS PARQUET", true),
            ("'x.parquet' STORED AS csv", true),
            ("'x.csv.gz' STORED AS JSON", true),
            ("'x.csv.gz' STORED AS csv", false),
            ("'x.tsv' STORED AS CSV", false),
            ("'x.txt' STORED AS CSV", false),
            ("'x/' STORED AS CSV", false),
            ("'x.csv'", false),
        ] {
            assert_eq!(unlike_name(&copy(rest)).is_some(), noted, "{rest}");
        }
        let note = unlike_name(&copy("'s3://b/x.csv' STORED AS PARQUET")).unwrap();
        assert!(
            note.starts_with("`x.csv` is written as PARQUET, and FROM 'x.csv' reads"),
            "{note}"
        );
    }

    #[track_caller]
    fn check(rest: &str, format: Option<&str>, options: &[(&str, &str)]) {
        let mut copy = copy(rest);
        as_named(&mut copy);
        let found: Vec<(String, String)> = copy
            .options
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into_string().unwrap_or_default()))
            .collect();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!((copy.stored_as.as_deref(), found.as_slice()), (format, options), "{rest}");
    }

    #[test]
    fn a_name_says_the_compression_and_the_format() {
        let gzip = [("format.compression", "gzip")];
        check("'s3://b/x.csv.gz'", Some("CSV"), &gzip);
        check("'s3://b/x.JSON.GZ'", Some("JSON"), &gzip);
        check("'x.jsonl.zst'", Some("JSON"), &[("format.compression", "zstd")]);
        check("'x.tsv'", Some("CSV"), &[("format.delimiter", "\t")]);
        check("'x.tsv.gz'", Some("CSV"), &[gzip[0], ("format.delimiter", "\t")]);
        check("'x.gz' STORED AS csv", Some("CSV"), &gzip);
        check("'x.csv.gz' STORED AS json", Some("JSON"), &gzip);
        let own = [("format.compression", "uncompressed")];
        check("'x.csv.gz' OPTIONS ('format.compression' 'uncompressed')", Some("CSV"), &own);
    }

    #[test]
    fn parquet_is_compressed_with_the_usual_level() {
        for (rest, expected) in [
            ("'x.parquet' OPTIONS ('format.compression' 'ZSTD')", "zstd(3)"),
            ("'x' STORED AS PARQUET OPTIONS (compression 'gzip')", "gzip(6)"),
            ("'x.parquet' OPTIONS ('format.compression' 'zstd(9)')", "zstd(9)"),
            ("'x.csv' OPTIONS ('format.compression' 'zstd')", "zstd"),
        ] {
            let statement = DFParser::parse_sql(&format!("COPY t TO {rest}")).unwrap().pop_front();
            let Some(Statement::CopyTo(mut copy)) = statement else { panic!("{rest}") };
            with_level(&mut copy);
            let value = copy.options[0].1.clone().into_string();
            assert_eq!(value.as_deref(), Some(expected), "{rest}");
        }
    }

    #[test]
    fn other_names_say_nothing() {
        for rest in ["'x.csv'", "'s3://b/x.gz'", "'x.parquet.gz'", "'s3://b.csv.gz/'", "'x'"] {
            check(rest, None, &[]);
        }
        check("'x.parquet.gz' STORED AS PARQUET", Some("PARQUET"), &[]);
    }
}
