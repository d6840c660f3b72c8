"""Answers of both sides, and whether they are the same."""

import datetime
import decimal
import math
import re
import struct

# Relative, of sums of binary floating-point numbers in another order.
TOLERANCE = 1e-9
BEFORE_CHRIST = re.compile(r"(\d+)-(\d\d-\d\d) \(BC\)( \d\d:.*)?")


class Answer:
    """Rows of plain values, and the type of each column in the words of the side that gave them."""

    def __init__(self, types, rows):
        self.types, self.rows = types, rows


def of_duckdb(connection, text):
    cursor = connection.execute(text)
    types = [str(it[1]) for it in cursor.description]
    if any(it == "TIMESTAMP_NS" for it in types):
        # Python's moments end at microseconds.
        table = cursor.fetch_arrow_table()
        columns = []
        for type, column in zip(types, table.columns):
            if type == "TIMESTAMP_NS":
                columns.append([None if it is None else of_nanoseconds(it) for it in column.cast("int64").to_pylist()])
            else:
                columns.append([plain(it) for it in column.to_pylist()])
        return Answer(types, [list(row) for row in zip(*columns)])
    return Answer(types, [[plain(it) for it in row] for row in cursor.fetchall()])


def of_nanoseconds(value):
    seconds, rest = divmod(value, 10 ** 9)
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return moment_text(f"{moment.isoformat()}.{rest:09}")


def plain(value):
    if isinstance(value, (datetime.datetime, datetime.date)):
        return moment_text(value.isoformat())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and (before := BEFORE_CHRIST.fullmatch(value)):
        # Python has no years before 1.
        year, day, time = int(before[1]) - 1, before[2], before[3] or ""
        return moment_text(f"{'-' if year else ''}{year:04}-{day}{time}")
    return value


def moment_text(text):
    """A date or timestamp in one form: without a midnight and without trailing zeros."""
    # After the year 9999, only one of the two has a sign.
    day, _, time = text.lstrip("+").replace("T", " ").partition(" ")
    if "." in time:
        time = time.rstrip("0").rstrip(".")
    return day if time in ("", "00:00:00") else f"{day} {time}"


def of_sluice(answer):
    """Values from their texts and Arrow types."""
    readers = [reader(type) for type in answer["types"]]
    rows = [[None if text is None else read(text) for text, read in zip(row, readers)] for row in answer["rows"]]
    return Answer(answer["types"], rows)


def reader(type):
    if re.match(r"U?Int\d+$", type):
        return int
    if type.startswith("Decimal"):
        return decimal.Decimal
    if type == "Float32":
        return lambda text: struct.unpack("f", struct.pack("f", float(text)))[0]
    if type.startswith("Float"):
        return float
    if type.startswith(("Date", "Timestamp")):
        return moment_text
    return str


def scale_of(type):
    found = re.match(r"Decimal\d+\(\d+, (-?\d+)\)", type)
    return int(found[1]) if found else None


def same_value(ours, theirs, our_type, approximate):
    if ours is None or theirs is None:
        return ours is theirs
    if isinstance(ours, str) or isinstance(theirs, str):
        return ours == theirs
    if isinstance(ours, float) or isinstance(theirs, float):
        one, two = float(ours), float(theirs)
        if one == two or math.isnan(one) and math.isnan(two):
            return True
        scale = scale_of(our_type)
        if scale is not None and abs(one - two) <= 10.0 ** -scale * 1.01:
            return True
        mixed = isinstance(ours, float) != isinstance(theirs, float)
        if not (approximate or mixed) or math.isnan(one) or math.isnan(two) or math.isinf(one) or math.isinf(two):
            return False
        loose = 1e-5 if our_type == "Float32" else TOLERANCE
        return abs(one - two) <= loose * max(abs(one), abs(two), 1.0)
    return ours == theirs


def sort_key(row):
    def key(value):
        if value is None:
            return (0, "")
        if isinstance(value, str):
            return (2, value)
        number = float(value)
        return (1, "nan" if math.isnan(number) else f"{number + 0.0:+.5e}" if number else "+0")
    return [key(value) for value in row]


def difference(ours, theirs, ordered, approximate, count_only=False):
    """What differs, in words; None if nothing does."""
    if len(ours.types) != len(theirs.types):
        return f"{len(ours.types)} columns instead of {len(theirs.types)}"
    if len(ours.rows) != len(theirs.rows):
        return f"{len(ours.rows)} rows instead of {len(theirs.rows)}"
    if count_only:
        return None

    def same(one, two):
        return all(same_value(a, b, type, approximate) for a, b, type in zip(one, two, ours.types))

    if ordered:
        for at, (one, two) in enumerate(zip(ours.rows, theirs.rows)):
            if not same(one, two):
                return f"row {at + 1} is {shown(one)} instead of {shown(two)}"
        return None
    left, right = sorted(ours.rows, key=sort_key), sorted(theirs.rows, key=sort_key)
    if all(same(one, two) for one, two in zip(left, right)):
        return None
    # Values that are close may be sorted apart.
    rest = list(right)
    for one in left:
        at = next((at for at, two in enumerate(rest) if same(one, two)), None)
        if at is None:
            return f"a row {shown(one)} that is not among {shown_rows(rest)}"
        rest.pop(at)
    return None


def shown(row):
    return "(" + ", ".join("NULL" if value is None else repr(value) if isinstance(value, str) else str(value) for value in row) + ")"


def shown_rows(rows, most=12):
    text = ", ".join(shown(row) for row in rows[:most])
    return text + (f" and {len(rows) - most} more" if len(rows) > most else "") if rows else "no rows"
