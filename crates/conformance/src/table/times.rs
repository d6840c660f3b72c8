//! Cases for timestamps and their functions.

pub(super) const CASES: &[(&str, &str, &str)] = &[
    ("a timestamp keeps its precision and offset", "`2010-01-01T`", "{\"v\":\"2010-01-01\"}\n"),
    (
        "a timestamp keeps its precision and offset",
        "`2010-01-01T01:02+05:30`",
        "{\"v\":\"2010-01-01T01:02+05:30\"}\n",
    ),
    (
        "a timestamp keeps its precision and offset",
        "`2010-01-01T01:02:03.450Z`",
        "{\"v\":\"2010-01-01T01:02:03.450Z\"}\n",
    ),
    ("a timestamp keeps its precision and offset", "`2010-01T`", "{\"v\":\"2010-01T\"}\n"),
    (
        "a literal without an offset is of an unknown one, ours",
        "`2010-01-01T23:00`",
        "{\"v\":\"2010-01-01T23:00-00:00\"}\n",
    ),
    (
        "a literal without an offset is of an unknown one, ours",
        "`2010-01-01T23:00` = `2010-01-01T23:00Z`",
        "{\"v\":true}\n",
    ),
    (
        "digits behind the ninth of a second are cut off, ours",
        "`2010-01-01T00:00:00.1234567891Z`",
        "{\"v\":\"2010-01-01T00:00:00.123456789Z\"}\n",
    ),
    (
        "digits behind the ninth of a second are cut off, ours",
        "CAST('2010-01-01T00:00:00.12345678901234567890Z' AS TIMESTAMP) < `2010-01-01T00:00:00.2Z`",
        "{\"v\":true}\n",
    ),
    (
        "timestamps compare as points in time, ours",
        "`2010T` = `2010-01-01T00:00Z`",
        "{\"v\":true}\n",
    ),
    (
        "timestamps compare as points in time, ours",
        "`2010-01-01T01:00+01:00` = `2010-01-01T00:00Z`",
        "{\"v\":true}\n",
    ),
    (
        "timestamps compare as points in time, ours",
        "`2010-01-01T00:00:00.1Z` > `2010-01-01T00:00Z`",
        "{\"v\":true}\n",
    ),
    (
        "DATE_ADD to a month too short gives its last day, ours",
        "DATE_ADD(month, 1, `2024-01-31`)",
        "{\"v\":\"2024-02-29\"}\n",
    ),
    (
        "DATE_ADD takes a whole number of any type, ours",
        "DATE_ADD(day, 2.0, `2024-01-31`)",
        "{\"v\":\"2024-02-02\"}\n",
    ),
    ("DATE_ADD", "DATE_ADD(day, NULL, `2024-01-31`)", "{\"v\":null}\n"),
    ("DATE_ADD", "DATE_ADD(day, 1, CAST(s._5 AS TIMESTAMP))", "{\"v\":\"1995-06-18\"}\n"),
    (
        "DATE_DIFF counts whole parts",
        "DATE_DIFF(year, `2010-12-31T`, `2011-01-01T`)",
        "{\"v\":0}\n",
    ),
    (
        "DATE_DIFF counts whole parts",
        "DATE_DIFF(day, `2010-01-01T23:00Z`, `2010-01-02T01:00Z`)",
        "{\"v\":0}\n",
    ),
    (
        "DATE_DIFF counts whole parts",
        "DATE_DIFF(hour, `2010-01-01T23:00Z`, `2010-01-02T01:00Z`)",
        "{\"v\":2}\n",
    ),
    (
        "EXTRACT sees the local time",
        "EXTRACT(SECOND FROM `2017-01-02T03:04:05+07:08`)",
        "{\"v\":5}\n",
    ),
    ("EXTRACT sees the local time", "EXTRACT(DAY FROM NULL)", "{\"v\":null}\n"),
    ("TO_TIMESTAMP reads what CAST reads", "TO_TIMESTAMP(NULL)", "{\"v\":null}\n"),
    ("UTCNOW is one time for the whole statement", "UTCNOW() = UTCNOW()", "{\"v\":true}\n"),
    ("UTCNOW is one time for the whole statement", "UTCNOW() > `2020T`", "{\"v\":true}\n"),
];
