"""Random expressions over the columns in scope."""

import differences
from tables import BIGINT, BOOLEAN, DATE, DECIMAL, DOUBLE, INT, REAL, TIMESTAMP, VARCHAR, constant, duckdb_name_of, edges, name_of, text_of
from tree import ADD, AND, ATOM, COMPARE, IS, MULTIPLY, NOT, OR, RANGE, UNARY, Shape, column, expression, literal

OPERATORS = ["=", "=", "<>", "<", "<=", ">", ">="]
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def operator(words, binds, demands):
    return Shape(words, binds=binds, demands=demands)


COMPARISONS = {op: operator("{0} " + op + " {1}", COMPARE, ADD) for op in ["=", "<>", "<", "<=", ">", ">="]}
BOTH, EITHER = operator("{0} AND {1}", AND, AND), operator("{0} OR {1}", OR, OR)
NEGATED = operator("NOT {0}", NOT, NOT)
DISTINCT, ALIKE = (operator("{0} IS " + word + "DISTINCT FROM {1}", IS, ADD) for word in ("", "NOT "))
TESTS = [operator("{0} IS " + word, IS, ADD) for word in ("TRUE", "FALSE", "NOT TRUE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN")]
IS_NULL, IS_NOT_NULL = operator("{0} IS NULL", IS, ADD), operator("{0} IS NOT NULL", IS, ADD)
BETWEEN, NOT_BETWEEN = (operator("{0} " + word + "BETWEEN {1} AND {2}", RANGE, ADD) for word in ("", "NOT "))
IN, NOT_IN = (operator("{0} " + word + "IN ({*})", RANGE, ADD) for word in ("", "NOT "))
IN_QUERY, NOT_IN_QUERY = (Shape("{0} " + word + "IN ({1})", binds=RANGE, demands=[ADD, 0]) for word in ("", "NOT "))
ANY_OR_ALL = [Shape(f"{{0}} {word} {which} ({{1}})", binds=COMPARE, demands=[ADD, 0])
              for word in ("=", "<>", "<", "<=", ">", ">=") for which in ("ANY", "ALL")]
EXISTS, NOT_EXISTS, SCALAR = Shape("EXISTS ({0})"), Shape("NOT EXISTS ({0})", binds=NOT), Shape("({0})")
LIKES = [operator("{0} " + word + "LIKE {1}", RANGE, ADD) for word in ("", "NOT ")] + \
    [operator("{0} " + word + "ILIKE {1}", RANGE, ADD) for word in ("", "NOT ")]


def function(name, **more):
    return Shape(name + "({*})", demands=0, **more)


def cast(type, of=None):
    return Shape(f"CAST({{0}} AS {name_of(type)})", f"CAST({{0}} AS {duckdb_name_of(type)})", demands=0,
                 approximate=type == DOUBLE and of is not None and of[0] == "decimal")


# Digits of whole numbers, by their bits.
DIGITS = {16: 5, 32: 10, 64: 19}


def is_number(type):
    return type[0] in ("int", "float", "decimal")


class Expressions:
    """Draws expressions. `scopes` are lists of (alias, name, type), the innermost last."""

    def __init__(self, rng, without=(), zone=None):
        # `zone` is the session's time zone, if instants are to be compared.
        self.rng, self.without, self.zone = rng, without, zone
        # Whether tables and columns may stand without an alias.
        self.bare = False

    def chance(self, share):
        return self.rng.random() < share

    def allowed(self, feature):
        return feature not in self.without

    # Columns and literals

    def columns(self, scope, fits):
        return [it for it in scope if fits(it[2])]

    def column(self, scope, fits=lambda type: True):
        found = self.columns(scope, fits)
        if not found:
            return None
        alias, name, type = self.rng.choice(found)
        if self.bare and [it[1] for it in scope].count(name) == 1 and self.chance(0.4):
            alias = None
        return column(alias, name, type)

    def plain(self, type, value=None, bare=False):
        """A literal of about this type, in one of the forms that people write. `bare`: not as text, of which only
        comparisons make a number."""
        rng = self.rng
        if value is None:
            value = edges(type, rng)
        if bare and type[0] in ("int", "decimal", "date", "timestamp"):
            return literal(constant(value, type), type, constant(value, type).replace(name_of(type), duckdb_name_of(type)))
        text = text_of(value, type).replace("'", "''")
        kind = type[0]
        if kind == "bool":
            return literal(text, type)
        if kind == "int":
            draw = rng.random()
            if draw < 0.7:
                return literal(text, type)
            if draw < 0.8 and self.allowed("text-number"):
                return literal(f"'{text}'", type)
            if draw < 0.9 and self.allowed("fraction-int"):
                return literal(text + rng.choice([".0", ".5", ".00"]), type)
            return literal(f"CAST({text} AS {name_of(type)})", type)
        if kind == "decimal":
            draw = rng.random() if self.allowed("decimal-literal") else 1
            if draw < 0.6:
                return literal(text, type)
            if draw < 0.75 and self.allowed("text-number"):
                return literal(f"'{text}'", type)
            if draw < 0.85:
                # As people write it: without trailing zeros, or with a digit more than the column has.
                shown = text.rstrip("0").rstrip(".") if "." in text else text
                return literal(shown if self.chance(0.6) else text + ("5" if "." in text else ".5") if len(text) < 20 else text, type)
            return literal(f"CAST('{text}' AS {name_of(type)})", type)
        if kind == "float":
            if text in ("NaN", "inf", "-inf") or self.chance(0.2):
                return literal(f"CAST('{text}' AS {name_of(type)})", type)
            return literal(text, type)
        if kind == "text":
            return literal(f"'{text}'", type)
        if kind == "date":
            form = rng.choice(["DATE '{}'", "DATE '{}'", "'{}'", "CAST('{}' AS DATE)"])
            return literal(form.format(text), type)
        if kind == "timestamp":
            if self.allowed("finer-timestamp") and self.chance(0.2):
                text = text_of(edges(TIMESTAMP(6), rng), type)
            draw = rng.random()
            if draw < 0.7 and self.allowed("plain-timestamp"):
                # The other side's TIMESTAMP ends at microseconds.
                finest = f"CAST('{text}' AS TIMESTAMP(9))" if len(text.partition(".")[2]) > 6 else None
                return literal(f"TIMESTAMP '{text}'" if draw < 0.4 else f"'{text}'", type, finest)
            # The other side would round.
            digits = len(text.partition(".")[2])
            if digits > type[1]:
                text = text[:len(text) - digits + type[1]].rstrip(".")
            return literal(f"CAST('{text}' AS {name_of(type)})", type, f"CAST('{text}' AS {duckdb_name_of(type)})")
        raise ValueError(type)

    def near(self, scope, of):
        """A literal that a column's value may well equal."""
        type = of.type
        return self.plain(type, self.known_value(of))

    def known_value(self, of):
        """A value that a column has, if the column is a table's."""
        values = self.values_of(of) if of.kind == "column" else None
        return self.rng.choice(values) if values and self.chance(0.7) else None

    def values_of(self, of):
        return None

    # Booleans

    def predicate(self, scope, depth=2):
        rng = self.rng
        if depth > 0 and self.chance(0.45):
            draw = rng.random()
            if draw < 0.4:
                return expression(BOTH, self.predicate(scope, depth - 1), self.predicate(scope, depth - 1), type=BOOLEAN)
            if draw < 0.75:
                return expression(EITHER, self.predicate(scope, depth - 1), self.predicate(scope, depth - 1), type=BOOLEAN)
            if draw < 0.85:
                return expression(NEGATED, self.predicate(scope, depth - 1), type=BOOLEAN)
            return self.same_column(scope)
        kinds = [(6, self.compare_literal), (2, self.compare_columns), (2, self.compare_cast), (2, self.compare_computed), (1, self.compare_mixed), (2, self.between),
                 (3, self.in_list), (2, self.like), (2, self.null_test), (2, self.distinct), (1, self.truth), (2, self.part_of_date),
                 (1, self.conditional_boolean), (1, self.compare_row_time), (2, self.compare_instant),
                 (1, self.compare_span), (1, self.guarded)]
        for _ in range(20):
            made = rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0](scope)
            if made is not None:
                return made
        return expression(IS_NOT_NULL, self.column(scope), type=BOOLEAN)

    def compared(self, left, right):
        op = self.rng.choice(OPERATORS)
        if self.chance(0.1):
            left, right = right, left
        return expression(COMPARISONS[op], left, right, type=BOOLEAN)

    def compare_literal(self, scope):
        left = self.column(scope, lambda type: type != BOOLEAN)
        return left and self.compared(left, self.near(scope, left))

    def comparable(self, one, other):
        if one == other:
            return True
        if is_number(one) and is_number(other):
            kinds = {one[0], other[0]}
            if kinds == {"decimal", "float"} and not self.allowed("decimal-float"):
                return False
            return "decimal" not in kinds or one[0] != other[0] or self.fits(one, other)
        kinds = {one[0], other[0]}
        if kinds == {"timestamp"} or kinds == {"date", "timestamp"}:
            return self.allowed("mixed-time")
        return one[0] == other[0] == "text"

    @staticmethod
    def fits(one, other):
        """Whether two decimals have a common type of 38 digits."""
        scale = max(one[2], other[2])
        return scale + max(one[1] - one[2], other[1] - other[2]) <= 38

    def compare_columns(self, scope):
        left = self.column(scope)
        right = self.column(scope, lambda type: self.comparable(left.type, type))
        return right and self.compared(left, right)

    def compare_cast(self, scope):
        """A cast, narrowing or not, beside a literal of the type that it is cast to."""
        if not self.allowed("cast-compared"):
            return None
        made = self.casted(scope)
        if made is None:
            return None
        right = self.plain(made.type)
        draw = self.rng.random()
        if draw < 0.75:
            return self.compared(made, right)
        if draw < 0.85:
            return expression(IN, made, right, self.plain(made.type), self.plain(made.type), self.plain(made.type), type=BOOLEAN)
        return expression(BETWEEN, made, right, self.plain(made.type), type=BOOLEAN)

    def compare_computed(self, scope):
        type = self.rng.choice([INT, BIGINT, DOUBLE, VARCHAR, DATE, DECIMAL(12, 3), TIMESTAMP(3)])
        made = self.scalar(scope, type, 1)
        return self.compared(made, self.plain(made.type))

    def compare_mixed(self, scope):
        """CASE of numbers of two types, of which DataFusion takes the first for that of all until it coerces them."""
        if not self.allowed("mixed-case"):
            return None
        one = self.column(scope, is_number)
        other = one and self.column(scope, lambda type: is_number(type) and type != one.type and self.mixes(one.type, type))
        if other is None:
            return None
        when = self.simple(scope)
        shape = self.rng.choice(["CASE WHEN {0} THEN {1} ELSE {2} END", "CASE WHEN {0} THEN NULL WHEN {1} IS NULL THEN {2} ELSE {1} END",
                                 "coalesce(CASE WHEN {0} THEN {1} END, {2})"])
        made = expression(Shape(shape, demands=0), when, one, other, type=self.rng.choice([one, other]).type)
        near = lambda: self.near(scope, self.rng.choice([one, other]))
        draw = self.rng.random()
        if draw < 0.7:
            return self.compared(made, near())
        if draw < 0.85:
            return expression(IN, made, near(), near(), near(), type=BOOLEAN)
        return expression(BETWEEN, made, near(), near(), type=BOOLEAN)

    def mixes(self, one, other):
        """Whether two types of numbers have a common one that holds the values of both."""
        if not self.comparable(one, other) or REAL in (one, other) and DOUBLE not in (one, other):
            return False
        wide = [("decimal", DIGITS.get(type[1], 19), 0) if type[0] == "int" else type for type in (one, other)]
        return not all(type[0] == "decimal" for type in wide) or self.fits(*wide)

    def between(self, scope):
        left = self.column(scope, lambda type: type != BOOLEAN)
        if left is None:
            return None
        shape = BETWEEN if self.chance(0.75) else NOT_BETWEEN
        return expression(shape, left, self.near(scope, left), self.near(scope, left), type=BOOLEAN)

    def in_list(self, scope):
        left = self.column(scope, lambda type: type != BOOLEAN)
        if left is None:
            return None
        count = self.rng.choice([1, 2, 3, 4, 5, 8, 30])
        values = [self.near(scope, left) for _ in range(count)]
        if self.chance(0.12):
            values[self.rng.randrange(count)] = literal("NULL", left.type)
        return expression(IN if self.chance(0.6) else NOT_IN, left, *values, type=BOOLEAN)

    def like(self, scope):
        left = self.column(scope, lambda type: type[0] == "text")
        if left is None:
            return None
        rng = self.rng
        if self.chance(0.15):
            pattern = rng.choice(["a", "^a", "b$", ".*", "^$", "[a-c]+", "0"])
            entry = differences.BY_NAME["a pattern found anywhere"]
            texts = [entry[side].replace("{1}", pattern) for side in ("sluice", "duckdb")]
            return expression(Shape(*texts, binds=ATOM - 1, demands=ATOM), left, type=BOOLEAN)
        if self.chance(0.1):
            return expression(function("starts_with"), left, literal(rng.choice(["'a'", "'7'", "''"]), VARCHAR), type=BOOLEAN)
        if self.chance(0.1):
            test = rng.choice(["ends_with({0}, 'b')", "contains({0}, 'a')", "{0} LIKE '%\\%%' ESCAPE '\\'", "{0} LIKE 'a\\_c' ESCAPE '\\'",
                               "{0} NOT ILIKE 'A\\__' ESCAPE '\\'"])
            return expression(Shape(test, binds=RANGE, demands=ADD), left, type=BOOLEAN)
        pattern = rng.choice(["a%", "%a", "%b%", "a_", "_", "%", "", "ab", "%%", "a%c", "7%", "_%_", "%é%", "Z_rich", "日%", "it''s", "%''%"])
        return expression(rng.choice(LIKES), left, literal(f"'{pattern}'", VARCHAR), type=BOOLEAN)

    def null_test(self, scope):
        of = self.column(scope) if self.chance(0.8) else self.scalar(scope, self.rng.choice([INT, VARCHAR, DOUBLE]), 1)
        return expression(self.rng.choice([IS_NULL, IS_NOT_NULL]), of, type=BOOLEAN)

    def distinct(self, scope):
        if not self.allowed("distinct-from"):
            return None
        left = self.column(scope)
        if self.chance(0.6):
            right = literal("NULL", left.type) if self.chance(0.2) else self.near(scope, left)
        else:
            right = self.column(scope, lambda type: self.comparable(left.type, type))
        made = expression(self.rng.choice([DISTINCT, ALIKE]), left, right, type=BOOLEAN)
        return made

    def truth(self, scope):
        of = self.column(scope, lambda type: type == BOOLEAN)
        if of is None:
            return None
        if self.chance(0.3):
            return of
        return expression(self.rng.choice(TESTS), of, type=BOOLEAN)

    def part_of_date(self, scope):
        of = self.column(scope, lambda type: type[0] in ("date", "timestamp"))
        if of is None:
            return None
        part, values = self.rng.choice([("year", [1, 1970, 2020, 2021, 2024, 9999, 10000]), ("month", [1, 2, 12, 13]), ("day", [1, 14, 31]),
                                        ("dow", [0, 3, 6]), ("quarter", [1, 4]), ("doy", [1, 60, 366]), ("isodow", [1, 7]), ("week", [1, 53])])
        made = differences.part(part, of)
        return self.compared(made, literal(str(self.rng.choice(values)), BIGINT))

    def conditional_boolean(self, scope):
        return self.case(scope, [self.simple(scope) for _ in range(2)], BOOLEAN)

    def compare_row_time(self, scope):
        """A date or timestamp, moved, beside a literal at the edge."""
        of = self.column(scope, lambda type: type[0] in ("date", "timestamp"))
        if of is None:
            return None
        edges = ["9999-12-31", "0001-01-01"] if self.allowed("edge-date") else []
        day = self.rng.choice([*edges, "1970-01-01", "2020-01-01", "2021-02-28"])
        right = literal(f"'{day}'" if self.chance(0.4) else f"DATE '{day}'", DATE)
        return self.compared(of, right)

    def compare_instant(self, scope):
        """A date or timestamp, read in the session's time zone, beside an instant or a part of one."""
        of = self.column(scope, lambda type: type[0] == "date" or type[0] == "timestamp" and type[1] < 9)
        if self.zone is None or of is None:
            return None
        value = self.known_value(of) or edges(of.type, self.rng)
        text = text_of(value, of.type) + (" 00:00:00" if of.type[0] == "date" else "") + self.rng.choice(["+00", "+01:00", "-04:00", "+05:30", ""])
        shape, literals = self.rng.choice([
            ("CAST({0} AS TIMESTAMP WITH TIME ZONE)", f"TIMESTAMPTZ '{text}'"), ("{0}", f"TIMESTAMPTZ '{text}'"),
            ("CAST({0} AS TIMESTAMP WITH TIME ZONE) + INTERVAL '1 month'", f"TIMESTAMPTZ '{text}'"),
            ("date_trunc('day', CAST({0} AS TIMESTAMP WITH TIME ZONE))", f"TIMESTAMPTZ '{text}'"),
            ("extract(hour FROM CAST({0} AS TIMESTAMP WITH TIME ZONE))", "10"),
            ("{0} AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo'", f"TIMESTAMP '{text[:19]}'"),
            ("{0} AT TIME ZONE 'America/New_York'", f"TIMESTAMPTZ '{text}'"),
            ("CAST(CAST({0} AS TIMESTAMP WITH TIME ZONE) AS DATE)", f"DATE '{text[:10]}'")])
        return self.compared(expression(Shape(shape, binds=ADD, demands=ADD), of), literal(literals))

    def compare_span(self, scope):
        """The time between two timestamps, a part or a multiple of it, or a constant one."""
        fits = lambda type: type[0] == "timestamp" and type[1] < 9
        one, other = self.column(scope, fits), self.column(scope, fits)
        if one is None or not self.allowed("span"):
            return None
        if self.chance(0.5):
            other = literal("CAST('2020-06-01 10:00:00' AS TIMESTAMP(0))", TIMESTAMP(0))
        span = self.rng.choice(["1 day", "31 days", "1 month", "12 hours", "0 days", "-400 days", "1 year 1 day"])
        if self.chance(0.3):
            part, most = self.rng.choice([("day", 366), ("hour", 24), ("minute", 60), ("second", 60)])
            number = literal(str(self.rng.randint(-most, most)))
            return self.compared(expression(Shape(f"extract({part} FROM {{0}} - {{1}})", demands=[ADD, ADD + 1]), one, other), number)
        shape = self.rng.choice(["({0} - {1})", "({0} - {1})", "2 * ({0} - {1})", "({0} - {1}) * 3"])
        if self.chance(0.2):
            one, other, shape = literal(f"INTERVAL '{span}'"), literal("INTERVAL '1 month'"), "{0} + {1}"
            span = self.rng.choice(["30 days", "1 month", "61 days", "720 hours", "13 months"])
        return self.compared(expression(Shape(shape, binds=ADD, demands=[ADD, ADD + 1]), one, other), literal(f"INTERVAL '{span}'"))

    def guarded(self, scope):
        """A condition that fails for some rows, beside one that excludes them."""
        of = self.column(scope, lambda type: type[0] == "int")
        if of is None:
            return None
        zero = literal("0", of.type)
        # The other may compute it for all rows.
        op, theirs = self.rng.choice([("/", "//"), ("%", "%")])
        quotient = Shape(f"{{0}} {op} {{1}}", f"{{0}} {theirs} nullif({{1}}, 0)", MULTIPLY, [MULTIPLY, UNARY])
        fails = self.compared(expression(quotient, literal(self.rng.choice(["10", "100", "-7"])), of, type=BIGINT), self.plain(INT, bare=True))
        if self.chance(0.6):
            parts = [expression(COMPARISONS[self.rng.choice(["<>", ">"])], of.copy(), zero, type=BOOLEAN), fails]
            shape = BOTH
        else:
            parts, shape = [expression(COMPARISONS["="], of.copy(), zero, type=BOOLEAN), fails], EITHER
        if self.chance(0.2):
            parts.reverse()
        return expression(shape, *parts, type=BOOLEAN)

    def simple(self, scope):
        return self.compare_literal(scope) or self.null_test(scope)

    def same_column(self, scope):
        """Two conditions about one column, which optimizers like to merge."""
        of = self.column(scope, lambda type: type != BOOLEAN)
        if of is None:
            return self.null_test(scope)

        def one():
            draw = self.rng.random()
            if draw < 0.5:
                left, right = of.copy(), self.near(scope, of)
                if self.chance(0.3):
                    left, right = right, left
                return expression(COMPARISONS[self.rng.choice(OPERATORS)], left, right, type=BOOLEAN)
            if draw < 0.75:
                values = [self.near(scope, of) for _ in range(self.rng.choice([1, 1, 2, 4]))]
                return expression(self.rng.choice([IN, NOT_IN]), of.copy(), *values, type=BOOLEAN)
            if draw < 0.9:
                return expression(self.rng.choice([IS_NULL, IS_NOT_NULL]), of.copy(), type=BOOLEAN)
            if not self.allowed("distinct-from"):
                return expression(IS_NULL, of.copy(), type=BOOLEAN)
            return expression(self.rng.choice([DISTINCT, ALIKE]), of.copy(), self.near(scope, of), type=BOOLEAN)

        return expression(self.rng.choice([BOTH, EITHER]), one(), one(), type=BOOLEAN)
