"""Windows and their frames."""

from aggregates import Aggregates
from expressions import ADD, COMPARISONS, is_number
from tables import BIGINT, BOOLEAN, DOUBLE
from tree import QUALIFY, Node, Shape, by, column, expression, literal, many, select

BOUNDS = [("UNBOUNDED PRECEDING", "CURRENT ROW"), ("1 PRECEDING", "CURRENT ROW"), ("UNBOUNDED PRECEDING", "1 FOLLOWING"), ("2 PRECEDING", "1 PRECEDING"),
          ("CURRENT ROW", "UNBOUNDED FOLLOWING"), ("1 FOLLOWING", "3 FOLLOWING"), ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING")]
# Distances of dates.
INTERVALS = {"1": "INTERVAL '31' DAY", "2": "INTERVAL '6' MONTH", "3": "INTERVAL '1' YEAR"}


class Windows(Aggregates):
    def windowed(self, source, scope, where):
        if not self.allowed("window"):
            return self.projection(source, scope, where)
        made = [self.column(scope)]
        # An order that leaves nothing open needs the key of every table that is joined.
        ids = [it for it in scope if it[1] == "id"]
        ids = ids if {it[0] for it in ids} == {it[0] for it in scope} else []
        for _ in range(self.rng.randint(1, 2)):
            draw = self.rng.random()
            one = self.ranked(scope) if draw < 0.3 else self.framed(scope, ids) if draw < 0.65 else self.placed(scope, ids)
            made += [one] if one is not None else []
        items, columns = self.outputs(made)
        tree = select(items, source, where)
        if self.chance(0.15):
            window = Node("window", [self.partition(scope), many([self.ordering(self.column(scope))])], None)
            ranked = expression(Shape(self.rng.choice(["rank()", "dense_rank()"]) + " OVER ({0})"), window, type=BIGINT)
            tree.kids[QUALIFY] = expression(COMPARISONS[self.rng.choice(["=", "<=", ">"])], ranked, literal(str(self.rng.randint(1, 2))), type=BOOLEAN)
        return tree, columns

    def partition(self, scope):
        return many([self.column(scope)]) if self.chance(0.6) else None

    def ranked(self, scope):
        """A place among equals, which is the same for all of them."""
        name, type = self.rng.choice([("rank()", BIGINT), ("dense_rank()", BIGINT), ("cume_dist()", DOUBLE), ("percent_rank()", DOUBLE)])
        of = self.column(scope)
        if self.chance(0.05) and self.allowed("window-subquery"):
            of = self.scalar_query(scope, of.type) or of
        window = Node("window", [self.partition(scope), many([self.ordering(of)])], None)
        if type == BIGINT and self.chance(0.3):
            # Their differences and signs.
            other = Node("window", [self.partition(scope), many([self.ordering(self.column(scope))])], None)
            shape = self.rng.choice(["{name} OVER ({{0}}) - rank() OVER ({{1}})", "{name} OVER ({{0}}) - 3", "-{name} OVER ({{0}})"]).format(name=name)
            return expression(Shape(shape, binds=ADD), window, *([other] if "{1}" in shape else []), type=type)
        return expression(Shape(name + " OVER ({0})", approximate=type == DOUBLE), window, type=type)

    def framed(self, scope, ids):
        """An aggregate over a frame."""
        rng = self.rng
        of = self.column(scope, is_number)
        if of is None:
            return None
        key = self.column(scope)
        order, frame = [self.ordering(key)], None
        draw = rng.random()
        if ids and draw < 0.35:
            order += [self.ordering(column(*it)) for it in ids]
            frame = self.frame("ROWS")
        elif draw < 0.6 and self.allowed("groups"):
            # Equals are in a frame together, so their order does not count.
            frame = self.frame("GROUPS")
        elif draw < 0.8 and key.type[0] in ("int", "decimal", "date") and self.allowed("range"):
            frame = self.frame("RANGE", key.type[0] == "date")
        elif draw > 0.9:
            order = []
        name = rng.choice(["sum", "count", "min", "max", "avg"])
        inexact = name == "avg" or name == "sum" and of.type[0] == "float"
        type = BIGINT if name == "count" else DOUBLE if inexact else of.type
        if name == "sum" and of.type[0] != "float":
            type = ("decimal", 38, of.type[2]) if of.type[0] == "decimal" else BIGINT
        window = Node("window", [self.partition(scope), many(order) if order else None], frame)
        kept = f" FILTER (WHERE {of.value[0]}.{of.value[1]} > 0)" if of.value[0] and of.type[0] != "decimal" and self.chance(0.1) else ""
        return expression(Shape(f"{name}({{0}}){kept} OVER ({{1}})", demands=0, approximate=inexact), of, window, type=type)

    def frame(self, unit, of_dates=False):
        words = "{} BETWEEN {} AND {}".format(unit, *self.rng.choice(BOUNDS))
        if of_dates:
            for digit, interval in INTERVALS.items():
                words = words.replace(f" {digit} ", f" {interval} ")
        return words

    def placed(self, scope, ids):
        """The value of a row by its place, which takes an order that leaves nothing open."""
        if not ids:
            return None
        rng = self.rng
        order = [self.ordering(self.column(scope))] + [self.ordering(column(*it)) for it in ids]
        of = self.column(scope)
        name, type = rng.choice([("row_number()", BIGINT), ("ntile(3)", BIGINT), ("lag({1})", of.type), ("lead({1}, 2)", of.type),
                                 ("first_value({1})", of.type), ("last_value({1})", of.type), ("nth_value({1}, 2)", of.type)])
        frame = self.frame(rng.choice(["ROWS", "GROUPS"])) if "value" in name and self.chance(0.4) else None
        window = Node("window", [self.partition(scope), many(order)], frame)
        shape = [name + " OVER ({0})"] * 2
        if "{1}" in name and self.chance(0.25) and self.allowed("ignore-nulls"):
            shape = [name + " IGNORE NULLS OVER ({0})", name[:-1] + " IGNORE NULLS) OVER ({0})"]
        return expression(Shape(*shape, demands=0), window, *([of] if "{1}" in name else []), type=type)

    def ordering(self, of):
        direction = self.rng.choice(["ASC", "DESC", ""])
        return by(of, direction, self.rng.choice(["NULLS FIRST", "NULLS LAST", ""]))
