//! The examples of the service's own SQL reference, without its misprints. Text in double quotes is in single quotes
//! here, because by the reference's own rules double quotes enclose names. An example that contradicts the text
//! beside it is a rule of ours.

use super::Expected::{Error, Rows};
use super::Input::{Csv, CsvIgnore, CsvUse, Document, Lines};
use super::{Case, Storage, csv_case, json_case};
use sluicegate_s3select::error::SelectErrorCode::{
    AmbiguousFieldName, MissingHeaders, ParseUnExpectedKeyword,
};

const COALESCE: &str =
    "documented: COALESCE gives the first value that is neither NULL nor MISSING";
const NULLIF: &str = "documented: NULLIF gives NULL if both values are the same, else the first";
const TEXT: &str = "documented: functions of text";
const TYPES: &str = "documented: literals of every type";
const ADD: &str = "documented: DATE_ADD alters a part of a timestamp";
const DIFF: &str = "documented: DATE_DIFF counts whole parts between two timestamps";
const EXTRACT: &str = "documented: EXTRACT gives a part of a timestamp in its own offset";
const TO_STRING: &str = "documented: TO_STRING follows its pattern";
const TO_TIMESTAMP: &str = "documented: TO_TIMESTAMP is the inverse of TO_STRING";
const MISPRINT: &str = "where an example contradicts the text beside it, the text holds, ours";

/// Expressions and their values.
pub(super) const VALUES: &[(&str, &str, &str)] = &[
    (COALESCE, "COALESCE(1)", "{\"v\":1}\n"),
    (COALESCE, "COALESCE(null)", "{\"v\":null}\n"),
    (COALESCE, "COALESCE(null, null)", "{\"v\":null}\n"),
    (COALESCE, "COALESCE(missing)", "{\"v\":null}\n"),
    (COALESCE, "COALESCE(missing, missing)", "{\"v\":null}\n"),
    (COALESCE, "COALESCE(1, null)", "{\"v\":1}\n"),
    (COALESCE, "COALESCE(null, null, 1)", "{\"v\":1}\n"),
    (COALESCE, "COALESCE(null, 'string')", "{\"v\":\"string\"}\n"),
    (COALESCE, "COALESCE(missing, 1)", "{\"v\":1}\n"),
    (NULLIF, "NULLIF(1, 1)", "{\"v\":null}\n"),
    (NULLIF, "NULLIF(1, 2)", "{\"v\":1}\n"),
    (NULLIF, "NULLIF(1.0, 1)", "{\"v\":null}\n"),
    (NULLIF, "NULLIF(1, '1')", "{\"v\":1}\n"),
    (NULLIF, "NULLIF([1], [1])", "{\"v\":null}\n"),
    (NULLIF, "NULLIF(1, NULL)", "{\"v\":1}\n"),
    (NULLIF, "NULLIF(NULL, 1)", "{\"v\":null}\n"),
    (NULLIF, "NULLIF(null, null)", "{\"v\":null}\n"),
    (NULLIF, "NULLIF(missing, null)", "{\"v\":null}\n"),
    (NULLIF, "NULLIF(missing, missing)", "{\"v\":null}\n"),
    (TEXT, "CHAR_LENGTH('')", "{\"v\":0}\n"),
    (TEXT, "CHAR_LENGTH('abcdefg')", "{\"v\":7}\n"),
    (TEXT, "LOWER('AbCdEfG!@#$')", "{\"v\":\"abcdefg!@#$\"}\n"),
    (TEXT, "UPPER('AbCdEfG!@#$')", "{\"v\":\"ABCDEFG!@#$\"}\n"),
    (TEXT, "SUBSTRING('123456789', 0)", "{\"v\":\"123456789\"}\n"),
    (TEXT, "SUBSTRING('123456789', 1)", "{\"v\":\"123456789\"}\n"),
    (TEXT, "SUBSTRING('123456789', 2)", "{\"v\":\"23456789\"}\n"),
    (TEXT, "SUBSTRING('123456789', -4)", "{\"v\":\"123456789\"}\n"),
    (TEXT, "SUBSTRING('123456789', 0, 999)", "{\"v\":\"123456789\"}\n"),
    (TEXT, "SUBSTRING('123456789', 1, 5)", "{\"v\":\"12345\"}\n"),
    (TEXT, "TRIM('       foobar         ')", "{\"v\":\"foobar\"}\n"),
    (TEXT, "TRIM('      \tfoobar\t         ')", "{\"v\":\"\\tfoobar\\t\"}\n"),
    (TEXT, "TRIM(LEADING FROM '       foobar         ')", "{\"v\":\"foobar         \"}\n"),
    (TEXT, "TRIM(TRAILING FROM '       foobar         ')", "{\"v\":\"       foobar\"}\n"),
    (TEXT, "TRIM(BOTH FROM '       foobar         ')", "{\"v\":\"foobar\"}\n"),
    (TEXT, "TRIM(BOTH '12' FROM '1112211foobar22211122')", "{\"v\":\"foobar\"}\n"),
    (TYPES, "FALSE", "{\"v\":false}\n"),
    (TYPES, "100000", "{\"v\":100000}\n"),
    (TYPES, "'xyz'", "{\"v\":\"xyz\"}\n"),
    (TYPES, "CAST(0.456 AS FLOAT)", "{\"v\":0.456}\n"),
    (TYPES, "123.456", "{\"v\":123.456}\n"),
    (TYPES, "CAST('2007-04-05T14:30Z' AS TIMESTAMP)", "{\"v\":\"2007-04-05T14:30Z\"}\n"),
    (ADD, "DATE_ADD(year, 5, `2010-01-01T`)", "{\"v\":\"2015-01-01\"}\n"),
    (ADD, "DATE_ADD(month, 1, `2010T`)", "{\"v\":\"2010-02T\"}\n"),
    (ADD, "DATE_ADD(month, 13, `2010T`)", "{\"v\":\"2011-02T\"}\n"),
    (ADD, "DATE_ADD(day, -1, `2017-01-10T`)", "{\"v\":\"2017-01-09\"}\n"),
    (ADD, "DATE_ADD(hour, 1, `2017T`)", "{\"v\":\"2017-01-01T01:00-00:00\"}\n"),
    (ADD, "DATE_ADD(hour, 1, `2017-01-02T03:04Z`)", "{\"v\":\"2017-01-02T04:04Z\"}\n"),
    (
        ADD,
        "DATE_ADD(minute, 1, `2017-01-02T03:04:05.006Z`)",
        "{\"v\":\"2017-01-02T03:05:05.006Z\"}\n",
    ),
    (
        ADD,
        "DATE_ADD(second, 1, `2017-01-02T03:04:05.006Z`)",
        "{\"v\":\"2017-01-02T03:04:06.006Z\"}\n",
    ),
    (DIFF, "DATE_DIFF(year, `2010-01-01T`, `2011-01-01T`)", "{\"v\":1}\n"),
    (DIFF, "DATE_DIFF(month, `2010T`, `2011T`)", "{\"v\":12}\n"),
    (DIFF, "DATE_DIFF(month, `2011T`, `2010T`)", "{\"v\":-12}\n"),
    (DIFF, "DATE_DIFF(day, `2010-01-01T23:00`, `2010-01-02T01:00`)", "{\"v\":0}\n"),
    // The reference has `year` here, and the answer 4.
    (MISPRINT, "DATE_DIFF(year, `2010T`, `2010-05T`)", "{\"v\":0}\n"),
    (MISPRINT, "DATE_DIFF(month, `2010T`, `2010-05T`)", "{\"v\":4}\n"),
    (EXTRACT, "EXTRACT(YEAR FROM `2010-01-01T`)", "{\"v\":2010}\n"),
    (EXTRACT, "EXTRACT(MONTH FROM `2010T`)", "{\"v\":1}\n"),
    (EXTRACT, "EXTRACT(MONTH FROM `2010-10T`)", "{\"v\":10}\n"),
    (EXTRACT, "EXTRACT(HOUR FROM `2017-01-02T03:04:05+07:08`)", "{\"v\":3}\n"),
    (EXTRACT, "EXTRACT(MINUTE FROM `2017-01-02T03:04:05+07:08`)", "{\"v\":4}\n"),
    (EXTRACT, "EXTRACT(TIMEZONE_HOUR FROM `2017-01-02T03:04:05+07:08`)", "{\"v\":7}\n"),
    (EXTRACT, "EXTRACT(TIMEZONE_MINUTE FROM `2017-01-02T03:04:05+07:08`)", "{\"v\":8}\n"),
    (TO_STRING, "TO_STRING(`1969-07-20T20:18Z`,  'MMMM d, y')", "{\"v\":\"July 20, 1969\"}\n"),
    (TO_STRING, "TO_STRING(`1969-07-20T20:18Z`, 'MMM d, yyyy')", "{\"v\":\"Jul 20, 1969\"}\n"),
    (TO_STRING, "TO_STRING(`1969-07-20T20:18Z`, 'M-d-yy')", "{\"v\":\"7-20-69\"}\n"),
    (TO_STRING, "TO_STRING(`1969-07-20T20:18Z`, 'MM-d-y')", "{\"v\":\"07-20-1969\"}\n"),
    (
        TO_STRING,
        "TO_STRING(`1969-07-20T20:18Z`, 'MMMM d, y h:m a')",
        "{\"v\":\"July 20, 1969 8:18 PM\"}\n",
    ),
    (
        TO_STRING,
        "TO_STRING(`1969-07-20T20:18Z`, 'y-MM-dd''T''H:m:ssX')",
        "{\"v\":\"1969-07-20T20:18:00Z\"}\n",
    ),
    (
        TO_STRING,
        "TO_STRING(`1969-07-20T20:18+08:00`, 'y-MM-dd''T''H:m:ssXXXX')",
        "{\"v\":\"1969-07-20T20:18:00+0800\"}\n",
    ),
    (
        TO_STRING,
        "TO_STRING(`1969-07-20T20:18+08:00`, 'y-MM-dd''T''H:m:ssXXXXX')",
        "{\"v\":\"1969-07-20T20:18:00+08:00\"}\n",
    ),
    (TO_TIMESTAMP, "TO_TIMESTAMP('2007T')", "{\"v\":\"2007T\"}\n"),
    (
        TO_TIMESTAMP,
        "TO_TIMESTAMP('2007-02-23T12:14:33.079-08:00')",
        "{\"v\":\"2007-02-23T12:14:33.079-08:00\"}\n",
    ),
];

const CASE_EXAMPLES: &str = "documented: CASE, simple and searched";
const SUM_EXAMPLE: &str = "documented: SUM over a compressed report";
const FROM_PATHS: &str = "documented: paths of FROM, one row at least for every wildcard";
const ATTRIBUTES: &str = "documented: access to attributes";
const LETTER_CASE: &str = "documented: names match in any case unless quoted";
const RESERVED: &str = "documented: a reserved word is a name only in quotes";

const CITIES: &str = "venuecity\nLos Angeles\nNew York City\nSan Francisco\nBaltimore\n";
const PRICES: &str = "pricepaid\n12624.00\n10000.00\n10000.00\n9996.00\n9988.00\n";
const REPORT: &str = "\"DOC-EXAMPLE-BUCKET\",\"example-folder/\",\"0\"\n\
    \"DOC-EXAMPLE-BUCKET\",\"example-folder/object1\",\"2011267\"\n\
    \"DOC-EXAMPLE-BUCKET\",\"example-folder/object2\",\"1570024\"\n";
const RULES: &str = "{ \"Rules\": [ {\"id\": \"1\"}, {\"expr\": \"y > x\"}, \
    {\"id\": \"2\", \"expr\": \"z = DEBUG\"} ]}\n{ \"created\": \"June 27\", \"modified\": \"July 6\" }\n";
const FOLDERS: &str = "{ \"created\": \"936864000\", \"dir_name\": \"important_docs\", \"files\": [ \
    { \"name\": \".\" }, { \"name\": \"..\" }, { \"name\": \".aws\" }, { \"name\": \"downloads\" } ], \
    \"owner\": \"Amazon S3\" }\n\
    { \"created\": \"936864000\", \"dir_name\": \"other_docs\", \"files\": [ { \"name\": \".\" }, \
    { \"name\": \"..\" }, { \"name\": \"my stuff\" }, { \"name\": \"backup\" } ], \"owner\": \"User\" }\n";
const SUSAN: &str = "{\"name\": \"Susan Smith\",\n\"org\": \"engineering\",\n\"projects\":\n    [\n     \
    {\"project_name\":\"project1\", \"completed\":false},\n     \
    {\"project_name\":\"project2\", \"completed\":true}\n    ]\n}\n";

/// Whole statements with their objects.
pub(super) const CASES: &[Case] = &[
    csv_case(
        CASE_EXAMPLES,
        "SELECT venuecity, CASE venuecity WHEN 'New York City' THEN 'Big Apple' ELSE 'other' END FROM S3Object;",
        CsvUse,
        CITIES,
        Rows("Los Angeles,other\nNew York City,Big Apple\nSan Francisco,other\nBaltimore,other\n"),
    ),
    csv_case(
        CASE_EXAMPLES,
        "SELECT pricepaid, CASE WHEN CAST(pricepaid as FLOAT) < 10000 THEN 'group 1' WHEN CAST(pricepaid as FLOAT) > 10000 THEN 'group 2' ELSE 'group 3' END FROM S3Object;",
        CsvUse,
        PRICES,
        Rows(
            "12624.00,group 2\n10000.00,group 3\n10000.00,group 3\n9996.00,group 1\n9988.00,group 1\n",
        ),
    ),
    Case {
        storage: Storage::Gzip,
        ..csv_case(
            SUM_EXAMPLE,
            "SELECT SUM(CAST(_3 as INT)) FROM s3object s WHERE _2 LIKE 'example-folder/%' AND _2 != 'example-folder/';",
            Csv,
            REPORT,
            Rows("3581291\n"),
        )
    },
    json_case(
        FROM_PATHS,
        "SELECT id FROM S3Object[*].Rules[*].id",
        Document,
        RULES,
        Rows("{\"id\":\"1\"}\n{}\n{\"id\":\"2\"}\n{}\n"),
    ),
    json_case(
        FROM_PATHS,
        "SELECT id FROM S3Object[*].Rules[*].id WHERE id IS NOT MISSING",
        Document,
        RULES,
        Rows("{\"id\":\"1\"}\n{\"id\":\"2\"}\n"),
    ),
    json_case(
        FROM_PATHS,
        "SELECT d.dir_name, d.files FROM S3Object[*] d",
        Lines,
        FOLDERS,
        Rows(
            "{\"dir_name\":\"important_docs\",\"files\":[{\"name\":\".\"},{\"name\":\"..\"},{\"name\":\".aws\"},{\"name\":\"downloads\"}]}\n{\"dir_name\":\"other_docs\",\"files\":[{\"name\":\".\"},{\"name\":\"..\"},{\"name\":\"my stuff\"},{\"name\":\"backup\"}]}\n",
        ),
    ),
    json_case(
        FROM_PATHS,
        "SELECT _1.dir_name, _1.owner FROM S3Object[*]",
        Lines,
        FOLDERS,
        Rows(
            "{\"dir_name\":\"important_docs\",\"owner\":\"Amazon S3\"}\n{\"dir_name\":\"other_docs\",\"owner\":\"User\"}\n",
        ),
    ),
    json_case(
        ATTRIBUTES,
        "Select s.name from S3Object s",
        Document,
        SUSAN,
        Rows("{\"name\":\"Susan Smith\"}\n"),
    ),
    json_case(
        ATTRIBUTES,
        "Select s.projects[0].project_name from S3Object s",
        Document,
        SUSAN,
        Rows("{\"project_name\":\"project1\"}\n"),
    ),
    csv_case(LETTER_CASE, "SELECT s.name from S3Object s", CsvUse, "NAME\nAnn\n", Rows("Ann\n")),
    // The reference's text calls the code MissingHeaderName; its table of codes lists MissingHeaders.
    csv_case(
        LETTER_CASE,
        "SELECT s.\"name\" from S3Object s",
        CsvUse,
        "NAME\nAnn\n",
        Error(MissingHeaders),
    ),
    csv_case(
        LETTER_CASE,
        "SELECT s.name from S3Object s",
        CsvUse,
        "NAME,name\nAnn,Bob\n",
        Error(AmbiguousFieldName),
    ),
    csv_case(
        LETTER_CASE,
        "SELECT s.\"NAME\" from S3Object s",
        CsvUse,
        "NAME,name\nAnn,Bob\n",
        Rows("Ann\n"),
    ),
    json_case(
        LETTER_CASE,
        "SELECT s.name from S3Object s",
        Lines,
        "{\"NAME\":\"Ann\"}\n",
        Rows("{\"name\":\"Ann\"}\n"),
    ),
    json_case(
        LETTER_CASE,
        "SELECT s.name from S3Object s",
        Lines,
        "{\"NAME\":\"Ann\",\"name\":\"Bob\"}\n",
        Error(AmbiguousFieldName),
    ),
    json_case(
        LETTER_CASE,
        "SELECT s.\"NAME\" from S3Object s",
        Lines,
        "{\"NAME\":\"Ann\",\"name\":\"Bob\"}\n",
        Rows("{\"NAME\":\"Ann\"}\n"),
    ),
    // The reference promises an error here, too, but states elsewhere that a missing attribute is MISSING.
    json_case(
        "an attribute that a JSON row lacks is MISSING, quoted or not, ours",
        "SELECT s.\"name\" from S3Object s",
        Lines,
        "{\"NAME\":\"Ann\"}\n",
        Rows("{}\n"),
    ),
    csv_case(RESERVED, "SELECT s.\"CAST\" from S3Object s", CsvUse, "CAST\nAnn\n", Rows("Ann\n")),
    csv_case(
        RESERVED,
        "SELECT s.CAST from S3Object s",
        CsvUse,
        "CAST\nAnn\n",
        Error(ParseUnExpectedKeyword),
    ),
    json_case(
        RESERVED,
        "SELECT s.\"CAST\" from S3Object s",
        Lines,
        "{\"CAST\":1}\n",
        Rows("{\"CAST\":1}\n"),
    ),
    json_case(
        RESERVED,
        "SELECT s.CAST from S3Object s",
        Lines,
        "{\"CAST\":1}\n",
        Error(ParseUnExpectedKeyword),
    ),
    json_case(
        RESERVED,
        "SELECT v FROM S3Object[*].value v",
        Lines,
        "{\"value\":1}\n",
        Error(ParseUnExpectedKeyword),
    ),
    csv_case(
        "documented: a header to ignore leaves columns by their number",
        "SELECT s._1 FROM S3Object s",
        CsvIgnore,
        CITIES,
        Rows("Los Angeles\nNew York City\nSan Francisco\nBaltimore\n"),
    ),
];
