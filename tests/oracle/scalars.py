"""Values: casts, CASE, arithmetic, and functions of numbers and texts."""

import differences
from expressions import Expressions, cast, function
from tables import BIGINT, BOOLEAN, DATE, DAYS, DECIMAL, DIGITS, DOUBLE, INT, REAL, SMALLINT, TIMESTAMP, TIMESTAMPS, VARCHAR, name_of
from tree import ADD, ATOM, MULTIPLY, UNARY, Shape, expression, literal


# Functions of a text that give a text; where the dialects differ, in both.
TEXTS = ["lpad({0}, 4, 'xy')", "rpad({0}, 3, 'é')", "lpad({0}, 2, ' ')", "split_part({0}, 'a', 1)", "split_part({0}, ' ', 2)", "split_part({0}, 'b', -1)",
         "substr({0}, 2)", "substr({0}, 0, 3)", "substring({0} FROM 2 FOR 1)", "trim(BOTH 'a' FROM {0})", "trim(LEADING 'ab' FROM {0})",
         "ltrim({0}, '0a')", "rtrim({0}, 'bc ')", "concat_ws('-', {0}, NULL, 'z')", "repeat({0}, 2)", "reverse({0})", "translate({0}, 'abé', 'x')",
         "regexp_replace({0}, 'b', 'x')", "regexp_replace({0}, '[ab]', '-', 'g')", "regexp_replace({0}, '^(.)(.)', '\\2\\1')", "left({0}, -1)",
         "right({0}, -1)", "CASE {0} WHEN 'a' THEN 'first' WHEN 'b' THEN 'second' ELSE {0} END", "ifnull({0}, 'none')",
         "CASE WHEN {0} IS NULL THEN 'none' WHEN {0} < 'b' THEN CASE WHEN length({0}) > 1 THEN 'low' END ELSE 'high' END"]
# Functions of a text that give a number.
LENGTHS = ["length({0})", "char_length({0})", ("octet_length({0})", "strlen({0})"), "bit_length({0})", "strpos({0}, 'a')", "strpos({0}, 'é')",
           "position('b' IN {0})", "levenshtein({0}, 'abc')"]
# Operators and functions of whole numbers.
WHOLES = ["({0} & {1})", "({0} | {1})", ("({0} ^ {1})", "xor({0}, {1})"), "gcd({0}, {1})", "({0} >> 1)", "({0} % nullif({1}, 0))",
          ("({0} / nullif({1}, 0))", "({0} // nullif({1}, 0))"), "CASE {0} WHEN {1} THEN 0 WHEN 1 THEN {1} ELSE {0} END"]
# Functions of a DOUBLE.
REALS = ["nullif({0}, 0)", "nullif({0}, -0.0)", "nullif({0}, CAST('NaN' AS DOUBLE))", "CASE {0} WHEN 0 THEN 1.5 WHEN CAST('NaN' AS DOUBLE) THEN -2e0 ELSE {0} END",
         "CASE WHEN [{0}] = [0e0] THEN 7e0 ELSE {0} END", "CASE WHEN array_position([1.5, 0e0], {0}) = 2 THEN 7e0 ELSE {0} END",
         "sqrt(abs({0}))", "cbrt({0})", "power({0}, 2)", "trunc({0})", "exp(least({0}, 9e0))", "ln(abs({0}) + 1e0)"]


def both(made):
    """A text for each dialect."""
    return made if isinstance(made, tuple) else (made, made)


class Scalars(Expressions):
    def case(self, scope, values, type):
        when = self.simple(scope)
        if len(values) > 1 and self.chance(0.8):
            return expression(Shape("CASE WHEN {0} THEN {1} ELSE {2} END", demands=0), when, values[0], values[1], type=type)
        return expression(Shape("CASE WHEN {0} THEN {1} END", demands=0), when, values[0], type=type)

    def casted(self, scope, wanted=None):
        """A cast that both have, of a column."""
        of = self.column(scope)
        kind = of.type[0]
        rng = self.rng
        if kind == "int":
            targets = [BOOLEAN, SMALLINT, INT, BIGINT, DOUBLE, REAL, VARCHAR, DECIMAL(38, 2), DECIMAL(20, 0), DECIMAL(12, 3)]
        elif kind == "bool":
            targets = [INT, BIGINT, VARCHAR]
        elif kind == "float":
            targets = [DOUBLE, REAL, "DOUBLE to integer", "DOUBLE to BIGINT", DECIMAL(12, 3)]
        elif kind == "decimal":
            _, precision, scale = of.type
            narrower = DECIMAL(precision, rng.randint(0, scale))
            targets = [DOUBLE, narrower, narrower, DECIMAL(38, scale), "DECIMAL to integer", "DECIMAL to BIGINT"]
            if precision > scale:
                # `.5` without a zero in the other.
                targets.append(VARCHAR)
        elif of.type == DIGITS:
            targets = [INT, BIGINT, SMALLINT, DOUBLE, DECIMAL(12, 3), DECIMAL(9, 2)]
        elif of.type == DAYS:
            targets = [DATE, DATE, TIMESTAMP(0), TIMESTAMP(6)]
        elif kind == "text":
            if self.chance(0.5):
                tried = rng.choice([INT, DOUBLE, BIGINT])
                return expression(Shape(f"TRY_CAST({{0}} AS {name_of(tried)})", demands=0), of, type=tried)
            targets = [VARCHAR]
        elif kind == "date":
            targets = [TIMESTAMP(0), TIMESTAMP(3), TIMESTAMP(6), VARCHAR]
        else:
            wider = [it for it in TIMESTAMPS if it[1] >= of.type[1]]
            targets = [DATE, DATE, rng.choice(wider), "timestamp to whole seconds", "timestamp to milliseconds"]
            if of.type == TIMESTAMP(0):
                # With a fraction, the number of its zeros differs, too.
                targets.append("timestamp to text")
        target = rng.choice(targets)
        if isinstance(target, str):
            type = {"DOUBLE to integer": INT, "DOUBLE to BIGINT": BIGINT, "DECIMAL to integer": INT, "DECIMAL to BIGINT": BIGINT,
                    "timestamp to whole seconds": TIMESTAMP(0), "timestamp to milliseconds": TIMESTAMP(3)}.get(target, VARCHAR)
            return expression(differences.shape(target), of, type=type)
        return expression(cast(target, of.type), of, type=target)

    def scalar(self, scope, type, depth=2):
        """An expression of this type or one like it."""
        rng = self.rng
        kind = type[0]
        if depth <= 0 or self.chance(0.35):
            made = self.column(scope, lambda it: it == type) or self.column(scope, lambda it: it[0] == kind)
            return made if made is not None and self.chance(0.85) else self.plain(type, bare=True)

        def again(wanted=type):
            made = self.scalar(scope, wanted, depth - 1)
            # Beside a literal, a REAL stays one in the other.
            return expression(cast(DOUBLE), made, type=DOUBLE) if made.type == REAL and wanted[0] == "float" else made

        draw = rng.random()
        if kind == "decimal" and type[1] > 28 and draw < 0.3:
            # Of two scales, DuckDB keeps the digits before the point: see differences.toml.
            return self.exact(scope, again, type)
        if draw < 0.12:
            return self.case(scope, self.two(again), type)
        if draw < 0.2:
            return expression(function("coalesce"), *self.two(again), type=type)
        if draw < 0.26:
            return expression(function("nullif"), again(), self.plain(type, bare=True), type=type)
        if draw < 0.3 and kind != "bool":
            return expression(function(rng.choice(["greatest", "least"])), *self.two(again), type=type)
        if kind == "bool":
            return self.predicate(scope, depth - 1)
        if kind == "int":
            return self.whole(scope, again, type)
        if kind == "float":
            return self.real(scope, again)
        if kind == "decimal":
            return self.exact(scope, again, type)
        if kind == "text":
            return self.text(scope, again)
        if kind == "date":
            return self.day(scope, again)
        return self.instant(scope)

    def two(self, again):
        """Two values; two decimals that no type of 38 digits holds are rounded in the other."""
        one, other = again(), again()
        if one.type[0] == other.type[0] == "decimal" and not self.fits(one.type, other.type):
            other = one.copy()
        return [one, other]

    def whole(self, scope, again, type):
        rng = self.rng
        draw = rng.random()
        if draw < 0.4:
            op, binds = rng.choice([("+", ADD), ("-", ADD), ("*", MULTIPLY)])
            demands = [binds, binds + 1]
            return expression(Shape("{0} " + op + " {1}", binds=binds, demands=demands), again(), again(), type=type)
        if draw < 0.5:
            divisor = literal(str(rng.choice([2, 3, -2, 7])), type)
            if self.chance(0.5):
                return expression(differences.shape("division of integers", MULTIPLY, [MULTIPLY, UNARY]), again(), divisor, type=type)
            return expression(Shape("{0} % {1}", binds=MULTIPLY, demands=[MULTIPLY, UNARY]), again(), divisor, type=type)
        if draw < 0.6:
            return expression(function("abs"), again(), type=type)
        if draw < 0.7:
            return expression(Shape("-{0}", binds=UNARY, demands=ATOM), again(), type=type)
        if draw < 0.78:
            made = rng.choice(LENGTHS)
            return expression(Shape(*both(made), demands=0), self.scalar(scope, VARCHAR, 0), type=type)
        if draw < 0.86:
            of = self.column(scope, lambda it: it[0] in ("date", "timestamp"))
            if of is not None:
                part = rng.choice(["year", "month", "day", "dow", "doy", "week", "quarter", "isodow", "isoyear"] +
                                  (["hour", "minute", "second", "millisecond", *(["microsecond"] if of.type[1:] != (9,) else [])] if of.type[0] == "timestamp" else []))
                return differences.part(part, of)
        if draw < 0.96 and self.allowed("bitwise"):
            made = rng.choice(WHOLES)
            return expression(Shape(*both(made), demands=ATOM), again(), again(), type=type)
        if draw < 0.98:
            days = [it for it in (self.dated(scope), self.dated(scope))]
            return expression(Shape("({0} - {1})", demands=[ADD, MULTIPLY]), *days, type=BIGINT)
        return expression(cast(BIGINT), again(), type=BIGINT)

    def real(self, scope, again):
        rng = self.rng
        draw = rng.random()
        if draw < 0.4:
            op, binds = rng.choice([("+", ADD), ("-", ADD), ("*", MULTIPLY)])
            return expression(Shape("{0} " + op + " {1}", binds=binds, demands=[binds, binds + 1]), again(), again(), type=DOUBLE)
        if draw < 0.5:
            divisor = literal(rng.choice(["2e0", "0.5", "4"]), DOUBLE)
            of = again()
            of = expression(cast(DOUBLE, of.type), of, type=DOUBLE)
            return expression(Shape("{0} / {1}", binds=MULTIPLY, demands=[MULTIPLY, UNARY]), of, divisor, type=DOUBLE)
        if draw < 0.75:
            return expression(function(rng.choice(["abs", "floor", "ceil", "round"])), again(), type=DOUBLE)
        if draw < 0.82:
            return expression(Shape("-{0}", binds=UNARY, demands=ATOM), again(), type=DOUBLE)
        if draw < 0.92:
            of = again()
            return expression(Shape(rng.choice(REALS), demands=0, approximate=True), expression(cast(DOUBLE), of, type=DOUBLE), type=DOUBLE)
        of = self.scalar(scope, rng.choice([INT, DECIMAL(12, 3)]), 0)
        return expression(cast(DOUBLE, of.type), of, type=DOUBLE)

    def exact(self, scope, again, type):
        rng = self.rng
        draw = rng.random()
        if draw < 0.35:
            op = rng.choice("+-")
            return expression(Shape("{0} " + op + " {1}", binds=ADD, demands=[ADD, MULTIPLY]), again(), again(), type=type)
        if draw < 0.5:
            factor = literal(rng.choice(["2", "3", "-1", "1.5", "0.1"]), type)
            return expression(Shape("{0} * {1}", binds=MULTIPLY, demands=[MULTIPLY, UNARY]), again(), factor, type=type)
        if draw < 0.65:
            return expression(function("abs"), again(), type=type)
        if draw < 0.75:
            return expression(Shape("-{0}", binds=UNARY, demands=ATOM), again(), type=type)
        if draw < 0.86:
            of = again()
            scale = of.type[2] if of.type[0] == "decimal" else 0
            target = DECIMAL(38 if self.chance(0.3) else type[1], rng.randint(0, min(scale, type[2])))
            return expression(cast(target, of.type), of, type=target)
        if draw < 0.96:
            return expression(Shape(f"round({{0}}, {rng.randint(0, 3)})", demands=0), again(), type=type)
        return expression(function(rng.choice(["round", "floor", "ceil"])), again(), type=type)

    def text(self, scope, again):
        rng = self.rng
        draw = rng.random()
        if draw < 0.25:
            return expression(function(rng.choice(["upper", "lower", "trim", "ltrim", "rtrim"])), again(), type=VARCHAR)
        if draw < 0.45:
            return expression(Shape("{0} || {1}", binds=ADD, demands=[ADD, MULTIPLY]), again(), again(), type=VARCHAR)
        if draw < 0.6:
            start, length = rng.randint(1, 3), rng.randint(0, 3)
            return expression(function("substr"), again(), literal(str(start)), literal(str(length)), type=VARCHAR)
        if draw < 0.7:
            return expression(function(rng.choice(["left", "right"])), again(), literal(str(rng.randint(0, 3))), type=VARCHAR)
        if draw < 0.8:
            return expression(function("replace"), again(), literal("'a'"), literal(rng.choice(["''", "'xy'"])), type=VARCHAR)
        if draw < 0.85:
            return expression(function("concat"), again(), again(), type=VARCHAR)
        if draw < 0.95:
            made = rng.choice(TEXTS)
            return expression(Shape(*both(made), demands=0), again(), type=VARCHAR)
        return expression(cast(VARCHAR), self.scalar(scope, rng.choice([INT, BIGINT, DATE, BOOLEAN]), 0), type=VARCHAR)

    def day(self, scope, again):
        rng = self.rng
        draw = rng.random()
        if draw < 0.4:
            of = self.column(scope, lambda it: it[0] == "timestamp")
            if of is not None:
                return expression(cast(DATE), of, type=DATE)
        if draw < 0.7:
            interval = rng.choice(["INTERVAL '1' DAY", "INTERVAL '1' MONTH", "INTERVAL '7' DAY", "INTERVAL '1' YEAR"])
            op = rng.choice("+-")
            return expression(cast(DATE), expression(Shape(f"{{0}} {op} {interval}", binds=ADD, demands=ADD), self.dated(scope)), type=DATE)
        part = rng.choice(["year", "month", "quarter", "week"])
        return expression(cast(DATE), expression(Shape(f"date_trunc('{part}', {{0}})", demands=0), self.dated(scope)), type=DATE)

    def instant(self, scope):
        """A timestamp, moved or cut; of nanoseconds, the other moves and cuts no timestamp."""
        rng = self.rng
        of = self.column(scope, lambda it: it[0] == "timestamp" and it[1] < 9) or literal("CAST('2020-02-29 12:34:56' AS TIMESTAMP(0))", TIMESTAMP(0))
        if self.chance(0.5):
            return expression(Shape(f"date_trunc('{rng.choice(['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'])}', {{0}})",
                                    demands=0), of, type=of.type)
        interval = rng.choice(["1 day", "-1 month", "1 year 2 months", "36 hours", "90 minutes", "1 month 1 day 1 hour", "-1 second"])
        return expression(Shape(f"{{0}} {rng.choice('+-')} INTERVAL '{interval}'", binds=ADD, demands=ADD), of, type=of.type)

    def dated(self, scope):
        return self.column(scope, lambda it: it[0] == "date") or literal("DATE '2020-02-29'", DATE)
