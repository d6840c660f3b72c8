//! The columns, and the literals to compare them with.

/// A column: its name, its type and its kind of comparison.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) data_type: &'static str,
    pub(super) kind: Kind,
    pub(super) values: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Whole numbers and decimals.
    Exact,
    Double,
    /// Timestamps with so many digits of a second.
    Timestamp(usize),
    Date,
}

pub(super) static COLUMNS: [Column; 13] = [
    Column {
        name: "s",
        data_type: "SMALLINT",
        kind: Kind::Exact,
        values: &["-32768", "-1", "0", "1", "7", "32767"],
    },
    Column {
        name: "i",
        data_type: "INT",
        kind: Kind::Exact,
        values: &["-2147483648", "-7", "0", "3", "40000", "2147483647"],
    },
    Column {
        name: "b",
        data_type: "BIGINT",
        kind: Kind::Exact,
        values: &[
            "-9223372036854775808",
            "-3000000000",
            "0",
            "1",
            "9007199254740992",
            "9007199254740993",
            "9223372036854775807",
        ],
    },
    Column {
        name: "d0",
        data_type: "DECIMAL(5,0)",
        kind: Kind::Exact,
        values: &["-99999", "-2", "0", "7", "99999"],
    },
    Column {
        name: "d1",
        data_type: "DECIMAL(9,1)",
        kind: Kind::Exact,
        values: &["-0.1", "0.0", "0.3", "72.0", "99999999.9"],
    },
    Column {
        name: "d2",
        data_type: "DECIMAL(15,2)",
        kind: Kind::Exact,
        values: &[
            "-67.35",
            "0.00",
            "1.15",
            "1.16",
            "1.24",
            "1.25",
            "33353.20",
            "67.35",
            "72.04",
            "9999999999999.99",
        ],
    },
    Column {
        name: "d4",
        data_type: "DECIMAL(18,4)",
        kind: Kind::Exact,
        values: &["-1.2345", "0.0001", "1.2500", "67.3500", "12345678901234.5678"],
    },
    Column {
        name: "n",
        data_type: "DECIMAL(38,0)",
        kind: Kind::Exact,
        values: &[
            "-99999999999999999999999999999999999999",
            "27670116110564327430",
            "27670116110564327431",
            "1",
            "9223372036854775808",
        ],
    },
    Column {
        name: "w",
        data_type: "DECIMAL(38,10)",
        kind: Kind::Exact,
        values: &[
            "0.1000000000",
            "0.3000000000",
            "-1.2500000001",
            "1234567890123456789012345678.0123456789",
        ],
    },
    Column {
        name: "f",
        data_type: "DOUBLE",
        kind: Kind::Double,
        values: &["0.0", "-0.0", "72.04", "67.35", "NaN", "inf", "-inf", "1e300", "0.1", "-1.5"],
    },
    Column {
        name: "t0",
        data_type: "TIMESTAMP(0)",
        kind: Kind::Timestamp(0),
        values: &[
            "0001-01-01 00:00:00",
            "1969-12-31 23:59:59",
            "2001-01-14 00:00:00",
            "2001-01-14 12:00:01",
            "9999-12-31 23:59:59",
        ],
    },
    Column {
        name: "t9",
        data_type: "TIMESTAMP",
        kind: Kind::Timestamp(9),
        values: &[
            "1970-01-01 00:00:00",
            "2001-01-14 00:00:00.500000001",
            "2001-01-14 00:00:00",
            "1969-12-31 23:59:59.25",
            "2262-04-11 00:00:00.5",
        ],
    },
    Column {
        name: "dt",
        data_type: "DATE",
        kind: Kind::Date,
        values: &["0001-01-01", "1969-12-31", "2001-01-14", "2262-04-11", "9999-12-31"],
    },
];

/// Literals for comparisons with numbers.
pub(super) const NUMBERS: [&str; 34] = [
    "0",
    "-0.0",
    "0.0",
    "1",
    "1.5",
    "-1.5",
    "7",
    "7.0",
    "0.1",
    "0.3",
    "67.35",
    "72.04",
    "33353.20",
    "33353.2",
    "1.2",
    "1.25",
    "1.235",
    "-1.2345",
    "99999999.9",
    "99999999.95",
    "32767",
    "32767.5",
    "-32768.5",
    "2147483648",
    "9007199254740992.0",
    "9007199254740993.0",
    "9223372036854775807",
    "9223372036854775808",
    "27670116110564327430",
    "27670116110564327430.5",
    "12345678901234.5678",
    "1e300",
    "-1e300",
    "1e-300",
];

pub(super) const DATES: [&str; 6] =
    ["0001-01-01", "1969-12-31", "1970-01-01", "2001-01-14", "2262-04-11", "9999-12-31"];

pub(super) const TIMES: [&str; 7] = [
    "",
    " 00:00:00",
    " 00:00:00.5",
    " 12:00:01",
    " 00:00:00.500000001",
    " 23:59:59",
    " 23:59:59.999999999",
];
