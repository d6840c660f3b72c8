"""Aggregates and GROUP BY."""

from expressions import BOTH, EITHER, IS_NULL, function, is_number
from subqueries import Subqueries
from tables import BIGINT, BOOLEAN, DOUBLE, INT, SMALLINT, VARCHAR
from tree import Node, Shape, by, column, expression, many, select


class Aggregates(Subqueries):
    def aggregate(self, scope):
        rng = self.rng
        draw = rng.random()
        ids = [it for it in scope if it[1] == "id"]
        if draw < 0.06 and ids and {it[0] for it in ids} == {it[0] for it in scope}:
            made = self.in_order(scope, [column(*it) for it in ids])
            # An array's text is a macro there.
            return self.filtered(scope, made) if self.chance(0.3) and "array" not in made.value.sluice else made
        if draw < 0.09:
            return self.of_numbers(scope)
        if draw < 0.15:
            made = expression(Shape("count(*)"), type=BIGINT)
        elif draw < 0.3:
            made = expression(function("count"), self.argument(scope), type=BIGINT)
        elif draw < 0.4:
            made = expression(Shape("count(DISTINCT {0})", demands=0), self.column(scope), type=BIGINT)
        elif draw < 0.65:
            of = self.argument(scope, lambda type: type != BOOLEAN)
            made = expression(function(rng.choice(["min", "max"])), of, type=of.type)
        elif draw < 0.92:
            of = self.argument(scope, is_number)
            if not is_number(of.type):
                return self.aggregate(scope)
            name = rng.choice(["sum", "sum", "avg"])
            inexact = name == "avg" or of.type[0] == "float"
            type = DOUBLE if inexact else ("decimal", 38, of.type[2]) if of.type[0] == "decimal" else BIGINT
            distinct = "DISTINCT " if name == "sum" and self.chance(0.1) else ""
            made = expression(Shape(f"{name}({distinct}{{0}})", demands=0, approximate=inexact), of, type=type)
        elif draw < 0.96:
            of = self.column(scope, lambda type: type == BOOLEAN)
            if of is None:
                return self.aggregate(scope)
            made = expression(function(rng.choice(["bool_and", "bool_or"])), of, type=BOOLEAN)
        else:
            of = self.column(scope, lambda type: type[0] == "int")
            if of is None:
                return self.aggregate(scope)
            made = expression(Shape(rng.choice(["stddev", "var_pop", "stddev_pop", "var_samp"]) + "({0})", demands=0, approximate=True), of,
                              type=DOUBLE)
        return self.filtered(scope, made) if self.chance(0.2) else made

    def filtered(self, scope, made):
        asked = self.asked(scope, 0) if self.chance(0.15) and self.allowed("aggregate-subquery") else None
        kept = asked if asked is not None else self.predicate(scope, 1)
        return expression(Shape("{0} FILTER (WHERE {1})", demands=0, approximate=made.value.approximate), made, kept, type=made.type)

    def in_order(self, scope, ids):
        """An aggregate of which the order of rows is a part; by all keys, it is the only one."""
        of = self.column(scope, lambda type: type[0] in ("text", "int", "date"))
        if of is None or self.chance(0.4):
            of = self.column(scope)
            words = self.rng.choice([("first_value", "first"), ("last_value", "last")])
            shape, type = [f"{it}({{0}} ORDER BY {{1}})" for it in words], of.type
        else:
            texts = ["string_agg({0}, ',' ORDER BY {1})"] if of.type[0] == "text" else []
            shape = [self.rng.choice([*texts, "array_to_string(array_agg(coalesce(CAST({0} AS VARCHAR), 'none') ORDER BY {1}), '|')"])] * 2
            type = VARCHAR
        order = many([by(it, self.rng.choice(["ASC", "DESC"])) for it in ids])
        return expression(Shape(*shape, demands=0, frozen=True), of, order, type=type)

    def of_numbers(self, scope):
        """An aggregate of one or two columns of whole numbers."""
        whole = lambda type: type in (INT, SMALLINT)
        one, two = self.column(scope, whole), self.column(scope, whole)
        if one is None:
            return self.aggregate(scope)
        texts, type = self.rng.choice([
            (["bit_and({0})", "bit_or({0})", "bit_xor({0})"], one.type), (["regr_count({0}, {1})"], BIGINT),
            (["median({0})", "median(CAST({0} AS DOUBLE))", "percentile_cont(0.25) WITHIN GROUP (ORDER BY CAST({0} AS DOUBLE))"], DOUBLE),
            (["covar_pop({0}, {1})", "covar_samp({0}, {1})", "var_samp(DISTINCT {0})", "avg(DISTINCT {0})"], DOUBLE)])
        text = self.rng.choice(texts)
        kids = [one, two] if "{1}" in text else [one]
        return expression(Shape(text, demands=0, approximate=type == DOUBLE, frozen=len(kids) > 1), *kids, type=type)

    def argument(self, scope, fits=lambda type: True):
        of = self.column(scope, fits) or self.column(scope)
        draw = self.rng.random()
        if draw > 0.95:
            made = self.casted(scope)
            return made if fits(made.type) else of
        if draw < 0.03 and of.type != BOOLEAN and self.allowed("aggregate-subquery"):
            asked = self.scalar_query(scope, of.type)
            return asked if asked is not None and fits(asked.type) else of
        if draw < 0.12:
            return self.case(scope, [of, of.copy()] if self.chance(0.2) else [of], of.type)
        if draw < 0.25 and is_number(of.type):
            return self.scalar(scope, of.type, 1)
        return of

    def sets(self, keys, words):
        """GROUP BY of these keys."""
        rng = self.rng
        if words == "GROUPING SETS":
            chosen = [Node("set", [key.copy() for key in keys if self.chance(0.5)]) for _ in range(rng.randint(1, 3))]
            return Node("grouping", [Node("set", keys), *chosen], words)
        if words == "beside":
            return Node("grouping", [keys[0], Node("grouping", keys[1:], rng.choice(["ROLLUP", "CUBE"]))] if keys[1:] else keys, "")
        return Node("grouping", keys, words)

    def aggregated(self, source, scope, where):
        items, columns = self.outputs([self.aggregate(scope) for _ in range(self.rng.randint(1, 4))])
        return select(items, source, where, having=self.having(scope) if self.chance(0.25) else None), columns

    def grouped(self, source, scope, where):
        rng = self.rng
        keys = []
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
            draw = rng.random()
            if draw < 0.75:
                keys.append(self.column(scope))
            elif draw < 0.86:
                keys.append(self.casted(scope))
            elif draw < 0.88 and self.allowed("group-subquery"):
                asked = self.scalar_query(scope, self.column(scope).type)
                keys.append(asked if asked is not None else self.column(scope))
            else:
                keys.append(self.scalar(scope, self.column(scope).type, 1))
        made = [self.aggregate(scope) for _ in range(rng.randint(0, 3))]
        words = ""
        if self.chance(0.18) and self.allowed("rollup"):
            words = rng.choice(["ROLLUP", "CUBE", "GROUPING SETS", "beside"])
            keys = list({key.value: key for key in keys + [self.column(scope)] if key.kind == "column"}.values())
            # With its table and without, a column is two to DuckDB: see differences.toml.
            bare = {name for alias, name in (key.value for key in keys) if not alias}
            keys = [key for key in keys if not key.value[0] or key.value[1] not in bare]
            if self.chance(0.3):
                made.append(expression(function("grouping"), *[key.copy() for key in keys[:2]], type=INT))
        group = self.sets([key.copy() for key in keys], words)
        having = self.having(scope) if self.chance(0.25) else None
        shown = [self.over_key(key, words) if self.chance(0.25) and self.allowed("over-keys") else key for key in keys]
        items, columns = self.outputs(shown + made)
        return select(items, source, where, group, having), columns

    def over_key(self, key, words):
        """An expression of a key of GROUP BY: what labels of totals are made of."""
        if key.kind != "column":
            return key
        alias, name = key.value
        draw = self.rng.random()
        if draw < 0.4:
            return self.casted([(alias, name, key.type)])
        if draw < 0.55 and key.type == INT:
            return expression(Shape("coalesce(CAST({0} AS VARCHAR), 'all')", demands=0), key.copy(), type=VARCHAR)
        if draw < 0.75 and words in ("ROLLUP", "CUBE") and key.type == INT:
            shape = Shape("CASE WHEN grouping({0}) = 1 THEN 'total' ELSE CAST({1} AS VARCHAR) END", demands=0)
            return expression(shape, key.copy(), key.copy(), type=VARCHAR)
        if draw < 0.85:
            return expression(IS_NULL, key.copy(), type=BOOLEAN)
        return expression(function("coalesce"), key.copy(), self.plain(key.type, bare=True), type=key.type)

    def having(self, scope):
        """A condition on a group: on an aggregate, twice on one, or on none."""
        if self.chance(0.15) and self.allowed("subquery"):
            asked = self.scalar_query([], INT)
            return asked and self.compared(asked, self.plain(INT))
        of = self.aggregate(scope)
        if of.type == BOOLEAN:
            return of
        made = [self.compared(of.copy(), self.plain(of.type if of.type[0] != "decimal" else INT)) for _ in range(self.rng.choice([1, 1, 2]))]
        return made[0] if len(made) == 1 else expression(self.rng.choice([BOTH, EITHER]), *made, type=BOOLEAN)
