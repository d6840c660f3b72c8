"""Random tables: types, skewed values with edges, and how they are stored."""

import csv
import datetime
import decimal
import io
import json
import math
import struct

import pyarrow
import pyarrow.parquet

decimal.getcontext().prec = 80

BOOLEAN, SMALLINT, INT, BIGINT = ("bool",), ("int", 16), ("int", 32), ("int", 64)
REAL, DOUBLE, VARCHAR, DATE = ("float", 32), ("float", 64), ("text",), ("date",)
# Text that is a whole number, so that a cast of it has a value.
DIGITS = ("text", "digits")
# The same of dates.
DAYS = ("text", "days")


def DECIMAL(precision, scale):
    return ("decimal", precision, scale)


def TIMESTAMP(digits):
    return ("timestamp", digits)


DECIMALS = [DECIMAL(*it) for it in ((4, 1), (9, 2), (12, 3), (15, 2), (18, 6), (20, 0), (28, 10), (38, 0), (38, 2),
                                    (38, 10), (38, 37), (5, 5), (17, 17))]
TIMESTAMPS = [TIMESTAMP(it) for it in (0, 3, 6, 9)]
NAMES = {BOOLEAN: "BOOLEAN", SMALLINT: "SMALLINT", INT: "INT", BIGINT: "BIGINT", REAL: "REAL", DOUBLE: "DOUBLE",
         VARCHAR: "VARCHAR", DIGITS: "VARCHAR", DAYS: "VARCHAR", DATE: "DATE"}


def name_of(type):
    if type[0] == "decimal":
        return f"DECIMAL({type[1]}, {type[2]})"
    if type[0] == "timestamp":
        return f"TIMESTAMP({type[1]})"
    return NAMES[type]


def duckdb_name_of(type):
    """The type in DuckDB, whose timestamps of whole seconds and milliseconds do not reach the year 9999 in all functions."""
    return "TIMESTAMP(6)" if type in (TIMESTAMP(0), TIMESTAMP(3)) else name_of(type)


class Table:
    def __init__(self, name, columns, rows, partition=None):
        # `columns` are pairs of a name and a type. `partition` is the name of the last, if folders are named by it.
        self.name, self.columns, self.rows, self.partition = name, columns, rows, partition

    def types(self):
        return dict(self.columns)

    def with_rows(self, rows):
        return Table(self.name, self.columns, rows, self.partition)

    def without(self, column):
        at = [name for name, _ in self.columns].index(column)
        columns = self.columns[:at] + self.columns[at + 1:]
        rows = [row[:at] + row[at + 1:] for row in self.rows]
        return Table(self.name, columns, rows, None if column == self.partition else self.partition)

    def has_empty_text(self):
        return any(value == "" for row in self.rows for value in row)


def text_of(value, type):
    """A value as CSV and casts have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return repr(value)
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    return str(value)


def constant(value, type):
    """A value as an expression that both dialects read."""
    if value is None:
        return "NULL"
    if type[0] == "int" or type == BOOLEAN:
        return text_of(value, type)
    text = text_of(value, type).replace("'", "''")
    return f"'{text}'" if type[0] == "text" else f"CAST('{text}' AS {name_of(type)})"


# Values

# Features that are not to be generated: `edge-date`, `zero` (with a minus), `nan`, `wide` (decimals of many digits).
WITHOUT = set()


def edges(type, rng):
    """A value of the type, most often an ordinary one."""
    kind = type[0]
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "int":
        if type[1] == 64 and rng.random() < 0.1:
            return rng.choice([9007199254740992, 9007199254740993, -9007199254740993, 4611686018427387904, 2147483648])
        if type[1] == 32 and rng.random() < 0.05:
            return rng.choice([2147483647, -2147483648, 65536])
        return rng.randint(-4, 12)
    if kind == "float":
        ordinary = [0.0, -0.0, -0.0, 0.5, 1.0, 1.5, -2.5, 3.0, 7.0, 72.0, 0.1, 72.04, -0.3]
        value = rng.choice(ordinary)
        if rng.random() < 0.12 and "nan" not in WITHOUT:
            value = rng.choice([math.nan, math.inf, -math.inf])
        if not value and "zero" in WITHOUT:
            value = 0.0
        if type[1] == 32 and not math.isnan(value):
            value = struct.unpack("f", struct.pack("f", value))[0]
        return value
    if kind == "decimal":
        _, precision, scale = type
        most = 10 ** (min(precision, 9) if "wide" in WITHOUT else precision) - 1
        draw = rng.random()
        if draw < 0.5:
            units = rng.randint(-300, 900) * 10 ** max(scale - 2, 0) if rng.random() < 0.5 else rng.randint(-9, 999)
        elif draw < 0.9:
            units = rng.randint(-10 ** min(precision, 8), 10 ** min(precision, 8))
        elif draw < 0.95:
            units = rng.choice([most, -most, most - 1])
        else:
            units = rng.randint(-most, most)
        units = max(-most, min(most, units))
        return decimal.Decimal(units).scaleb(-scale)
    if type == DIGITS:
        return rng.choice(["7", "07", "10", "9", "-3", "0", "1", "12", "100"])
    if type == DAYS:
        return rng.choice(["2020-01-01", "2020-02-29", "0001-01-01", "9999-12-31", "1969-12-31", "2021-12-31"])
    if kind == "text":
        return rng.choice(["a", "b", "ab", "abc", "A", "Ab", "a b", " a", "a ", "b%", "a_c", "it's", "é", "Zürich", "日本", "NULL",
                           "null", "nan", "7", "10", "2020-01-01", "x,y", 'say "hi"', "", "🚰", "true"])
    if kind == "date":
        if rng.random() < 0.15 and "edge-date" not in WITHOUT:
            return datetime.date(*rng.choice([(1, 1, 1), (9999, 12, 31), (1969, 12, 31), (1970, 1, 1), (2000, 2, 29), (9999, 1, 1)]))
        return datetime.date(rng.choice([2020, 2021, 2024]), rng.randint(1, 12), rng.choice([1, 2, 14, 28]))
    if kind == "timestamp":
        digits = type[1]
        day = edges(DATE, rng)
        if digits == 9 and not 1680 < day.year < 2260:
            day = datetime.date(2001, 1, 14)
        seconds = rng.choice(["00:00:00", "00:00:00", "10:00:00", "23:59:59", "12:34:56"])
        fraction = ""
        if digits and rng.random() < 0.5:
            fraction = "." + rng.choice(["5", "001", "999", "120", "000001", "999999", "123456789", "000000001"])[:digits]
        return f"{day.isoformat()} {seconds}{fraction}"
    raise ValueError(type)


def random_column(type, rows, rng):
    """Values of a column: of a small pool with skew, of a large one, or a series."""
    nulls = rng.choice([0, 0.1, 0.3])
    pool = [edges(type, rng) for _ in range(rng.choice([2, 3, 5, 8, 20]))]
    skew = rng.choice([1, 2, 4])
    pick = lambda: pool[int(len(pool) * rng.random() ** skew)]
    return [None if rng.random() < nulls else pick() for _ in range(rows)]


TYPES = [BOOLEAN, INT, INT, BIGINT, SMALLINT, REAL, DOUBLE, DOUBLE, VARCHAR, VARCHAR, DIGITS, DAYS, DATE]


def random_table(name, rng, empty_texts, most=40):
    """A table whose first column, `id`, is unique."""
    count = rng.choice([0, 1, 3, 8, 15, 25, most, most])
    types = [rng.choice(TYPES) for _ in range(rng.randint(2, 5))]
    types.append(rng.choice(DECIMALS))
    if rng.random() < 0.7:
        types.append(rng.choice(DECIMALS))
    types.append(rng.choice(TIMESTAMPS))
    rng.shuffle(types)
    # Names that tables have in common are what USING and NATURAL JOIN need: two of the first and few kinds.
    columns = [("id", INT), ("k", rng.choice([INT, INT, BIGINT, DOUBLE, VARCHAR]))]
    columns += [(f"c{at}", type) for at, type in enumerate(types)]
    ids = list(range(1, count + 1))
    rng.shuffle(ids)
    values = [ids] + [random_column(type, count, rng) for _, type in columns[1:]]
    if not empty_texts:
        values = [[None if value == "" else value for value in column] for column in values]
    partition = None
    if count and rng.random() < 0.25:
        partition = "p"
        columns.append(("p", rng.choice([INT, VARCHAR, DATE])))
        pool = {INT: [1, 2, 7, -3], VARCHAR: ["a", "b", "7"], DATE: [datetime.date(2020, 1, 1), datetime.date(9999, 12, 31)]}
        if "edge-date" in WITHOUT:
            pool[DATE] = [datetime.date(2020, 1, 1), datetime.date(2021, 2, 28)]
        values.append([rng.choice(pool[columns[-1][1]]) for _ in range(count)])
    return Table(name, columns, [list(row) for row in zip(*values)], partition)


def series_table(name, rng):
    """A thousand rows whose order in the file is unlike that of their values, for what batches and samples cut."""
    count = rng.choice([300, 1000, 1000])
    rows = []
    for at in range(count):
        value = at * 7919 % count
        rows.append([at + 1, value % 7, value, value % 13 - 6, decimal.Decimal(value).scaleb(-2), f"s{value % 97}",
                     None if value % 11 == 0 else float(value % 17) / 2])
    columns = [("id", INT), ("k", INT), ("c0", BIGINT), ("c1", INT), ("c2", DECIMAL(15, 2)), ("c3", VARCHAR), ("c4", DOUBLE)]
    return Table(name, columns, rows)


# Storage

def pieces(table, rng):
    """The rows of each object, by the folder's name of their partition."""
    at = len(table.columns) - 1
    groups = {}
    for row in table.rows:
        folder = "" if table.partition is None else f"{table.partition}={row[at]}/"
        groups.setdefault(folder, []).append(row if table.partition is None else row[:at])
    if not groups and table.partition is None:
        groups[""] = []
    for folder, rows in groups.items():
        parts = rng.choice([1, 1, 2, 3])
        size = max(1, -(-len(rows) // parts))
        for number, start in enumerate(range(0, max(len(rows), 1), size)):
            yield f"{folder}{number}", rows[start:start + size]


def stored_columns(table):
    return table.columns[:-1] if table.partition else table.columns


def as_csv(columns, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for name, _ in columns])
    for row in rows:
        writer.writerow(["" if value is None else text_of(value, type) for value, (_, type) in zip(row, columns)])
    return out.getvalue().encode()


def as_json(columns, rows):
    lines = []
    for row in rows:
        members = []
        for value, (name, type) in zip(row, columns):
            if value is None:
                member = "null"
            elif type[0] == "int" or type[0] == "bool":
                member = text_of(value, type)
            elif type[0] == "decimal" or type[0] == "float" and math.isfinite(value):
                member = text_of(value, type)
            else:
                member = json.dumps(text_of(value, type), ensure_ascii=False)
            members.append(f'"{name}":{member}')
        lines.append("{" + ",".join(members) + "}\n")
    return "".join(lines).encode()


def arrow_type(type):
    kind = type[0]
    if kind == "decimal":
        return pyarrow.decimal128(type[1], type[2])
    if kind == "timestamp":
        return pyarrow.timestamp({0: "s", 3: "ms", 6: "us", 9: "ns"}[type[1]])
    return {BOOLEAN: pyarrow.bool_(), SMALLINT: pyarrow.int16(), INT: pyarrow.int32(), BIGINT: pyarrow.int64(),
            REAL: pyarrow.float32(), DOUBLE: pyarrow.float64(), DATE: pyarrow.date32()}.get(type, pyarrow.string())


def nanoseconds(text):
    base, _, fraction = text.partition(".")
    moment = datetime.datetime.fromisoformat(base) - datetime.datetime(1970, 1, 1)
    return (moment.days * 86400 + moment.seconds) * 10 ** 9 + int((fraction + "000000000")[:9])


def as_parquet(columns, rows):
    arrays = []
    for at, (_, type) in enumerate(columns):
        values = [row[at] for row in rows]
        if type[0] == "timestamp":
            unit = 10 ** (9 - type[1])
            values = [None if value is None else nanoseconds(value) // unit for value in values]
            arrays.append(pyarrow.array(values, pyarrow.int64()).cast(arrow_type(type)))
        else:
            arrays.append(pyarrow.array(values, arrow_type(type)))
    out = io.BytesIO()
    schema = pyarrow.schema([(name, arrow_type(type)) for name, type in columns])
    table = pyarrow.Table.from_arrays(arrays, schema=schema)
    version = {"version": "2.6", "coerce_timestamps": None}
    pyarrow.parquet.write_table(table, out, row_group_size=7, **version)
    return out.getvalue()


WRITERS = {"csv": as_csv, "json": as_json, "parquet": as_parquet}


def objects(table, form, rng):
    """Keys below the table's folder and their bytes."""
    columns = stored_columns(table)
    return {f"{key}.{form}": WRITERS[form](columns, rows) for key, rows in pieces(table, rng)}


def ddl(table, form, location):
    columns = ", ".join(f"{name} {name_of(type)}" for name, type in table.columns)
    by = f" PARTITIONED BY ({table.partition})" if table.partition else ""
    options = " OPTIONS ('format.has_header' 'true')" if form == "csv" else ""
    return f"CREATE EXTERNAL TABLE {table.name} ({columns}) STORED AS {form.upper()}{by} LOCATION '{location}'{options}"


def fill(connection, table, schema="main"):
    """The same table in DuckDB, which reads each value from its text."""
    columns = ", ".join(f"{name} {duckdb_name_of(type)}" for name, type in table.columns)
    connection.execute(f"CREATE OR REPLACE TABLE {schema}.{table.name} ({columns})")
    rows = [", ".join("NULL" if value is None else "'" + text_of(value, type).replace("'", "''") + "'"
                      for value, (_, type) in zip(row, table.columns)) for row in table.rows]
    for start in range(0, len(rows), 500):
        values = ", ".join(f"({row})" for row in rows[start:start + 500])
        connection.execute(f"INSERT INTO {schema}.{table.name} VALUES {values}")
