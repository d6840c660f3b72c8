"""Conditions with subqueries, and subqueries as values."""

from expressions import ALIKE, BOTH, COMPARISONS, EITHER, EXISTS, IN_QUERY, IS_NULL, NOT_EXISTS, NOT_IN_QUERY, SCALAR, function, is_number
from sources import Sources
from tables import BIGINT, BOOLEAN, INT
from tree import ADD, COMPARE, ITEMS, LIMIT, OFFSET, ORDER, Node, Shape, by, column, expression, item, literal, many, select

QUANTIFIED = {words: Shape(f"{{0}} {words} ({{1}})", binds=COMPARE, demands=[ADD, 0])
              for words in ("= ANY", "<> ALL", "< ANY", ">= ANY", "> ALL", "<= ALL")}


class Subqueries(Sources):
    def condition(self, scope, depth):
        made = self.predicate(scope, 2)
        if depth > 0 and self.chance(0.3) and self.allowed("subquery"):
            asked = self.asked(scope, depth - 1)
            if asked is not None:
                draw = self.rng.random()
                if draw < 0.5:
                    return asked
                return expression(BOTH if draw < 0.8 else EITHER, *self.shuffled([made, asked]), type=BOOLEAN)
        return made

    def shuffled(self, items):
        items = list(items)
        self.rng.shuffle(items)
        return items

    def asked(self, scope, depth):
        """IN, EXISTS or a comparison with a subquery."""
        rng = self.rng
        draw = rng.random()
        if draw < 0.45 and self.allowed("in-query"):
            of = self.column(scope) if self.chance(0.85) else self.plain(INT)
            tree = self.single(lambda type: self.comparable(of.type, type), depth, scope)
            if tree is None:
                return None
            shape = IN_QUERY if self.chance(0.5) else NOT_IN_QUERY
            if self.chance(0.15) and of.type != BOOLEAN and self.allowed("quantified"):
                # A literal within would bind to the comparison otherwise.
                shape = QUANTIFIED[rng.choice(list(QUANTIFIED))]
                if of.type == INT and self.chance(0.3):
                    # A text is read as a number there, too.
                    of = literal(f"'{rng.randint(-3, 9)}'", INT)
            made = expression(shape, of, tree, type=BOOLEAN)
            return expression(IS_NULL, made, type=BOOLEAN) if self.chance(0.08) else made
        if draw < 0.75 and self.allowed("exists"):
            node, inner, _ = self.table(small=True)
            where = self.correlation(scope, inner)
            if self.chance(0.4):
                where = expression(BOTH, where, self.predicate(inner, 1), type=BOOLEAN)
            group = having = None
            if self.chance(0.12) and self.allowed("exists-aggregate"):
                items = [item(expression(Shape("count(*)"), type=BIGINT), "n")]
            elif self.chance(0.12) and self.allowed("exists-groups"):
                items = [item(expression(Shape("count(*)"), type=BIGINT), "n")]
                group = Node("grouping", [self.column(inner)], rng.choice(["", "", "ROLLUP", "CUBE"]))
                having = expression(COMPARISONS[rng.choice([">", "=", "<="])], items[0].kids[0], literal(str(rng.randint(0, 2)), BIGINT), type=BOOLEAN)
            else:
                items = [item(literal("1", INT), "one")]
            if group is None and items[0].value == "one":
                draw = rng.random()
                if draw < 0.12 and self.allowed("nested-exists"):
                    where = expression(BOTH, where, self.nested(scope, inner), type=BOOLEAN)
                elif draw < 0.2 and self.allowed("exists-sets"):
                    # Groups without an aggregate.
                    items = [item(self.column(inner), "g")]
                    group = Node("grouping", [items[0].kids[0].copy()], rng.choice(["ROLLUP", "CUBE"]))
            tree = select(items, node, where, group, having)
            if group is None and items[0].value == "one" and self.chance(0.1) and self.allowed("exists-setop"):
                tree = self.with_others(scope, inner, tree)
                return expression(EXISTS if self.chance(0.6) else NOT_EXISTS, tree, type=BOOLEAN)
            if self.chance(0.15) and self.allowed("correlated-limit"):
                tree.kids[LIMIT] = literal(str(rng.randint(1, 3)))
                tree.kids[OFFSET] = literal(str(rng.randint(0, 2)))
            return expression(EXISTS if self.chance(0.6) else NOT_EXISTS, tree, type=BOOLEAN)
        of = self.column(scope, lambda type: type != BOOLEAN)
        if of is None:
            return None
        inner = self.scalar_query(scope, of.type)
        return inner and self.compared(of, inner)

    def nested(self, scope, inner):
        """EXISTS in EXISTS, of columns of both queries around it."""
        node, innermost, _ = self.table(small=True)
        both = expression(BOTH, self.correlation(scope, innermost), self.correlation(inner, innermost), type=BOOLEAN)
        tree = select([item(literal("1", INT), "one")], node, both)
        return expression(EXISTS if self.chance(0.6) else NOT_EXISTS, tree, type=BOOLEAN)

    def with_others(self, scope, inner, tree):
        """EXCEPT or INTERSECT of correlated queries."""
        of = self.column(inner)
        node, other, _ = self.table(small=True)
        fits = self.column(other, lambda type: type == of.type) or literal("NULL", of.type)
        where = self.correlation(scope, other) if self.chance(0.4) else self.predicate(other, 1)
        tree.kids[ITEMS] = many([item(of, "s")])
        words = self.rng.choice(["EXCEPT", "INTERSECT", "UNION"] + (["EXCEPT ALL", "INTERSECT ALL"] if self.allowed("set-all") else []))
        return Node("setop", [tree, select([item(fits, "s")], node, where), None, None, None], words)

    def correlation(self, scope, inner):
        pairs = [(one, other) for one in inner for other in scope if self.comparable(one[2], other[2])]
        if not pairs:
            return literal("TRUE", BOOLEAN)
        one, other = self.rng.choice(pairs)
        draw = self.rng.random()
        alike = ALIKE if self.allowed("distinct-from") else COMPARISONS["="]
        shape = COMPARISONS["="] if draw < 0.75 else alike if draw < 0.83 else COMPARISONS[self.rng.choice(["<", ">"])]
        return expression(shape, column(*one), column(*other), type=BOOLEAN)

    def scalar_query(self, scope, like):
        node, inner, _ = self.table(small=True)
        of = self.column(inner, lambda type: self.comparable(like, type))
        if of is None:
            return None
        made = expression(function(self.rng.choice(["min", "max"])), of, type=of.type)
        ids = [column(*it) for it in inner if it[1] == "id"]
        if self.chance(0.15) and self.allowed("correlated-limit"):
            # The first by a key has one value.
            tree = select([item(of, "m")], node, self.correlation(scope, inner) if self.chance(0.7) else None)
            tree.kids[ORDER], tree.kids[LIMIT] = many([by(ids[0], self.rng.choice(["ASC", "DESC"]))]), literal("1")
            return expression(SCALAR, tree, type=of.type)
        if self.chance(0.15) and self.allowed("first-of-correlated"):
            tree = select([item(of, "m")], node, self.correlation(scope, inner))
            self.cut(tree, [("m", of.type)], limit=0, offset=0.3)
            tree.kids[LIMIT] = literal("1")
            return expression(SCALAR, tree, type=of.type)
        if is_number(like) and self.chance(0.2):
            made, of = expression(Shape("count(*)"), type=BIGINT), literal("0", BIGINT)
        where = None
        if self.chance(0.5):
            where = self.correlation(scope, inner)
        elif self.chance(0.5):
            where = self.predicate(inner, 1)
        return expression(SCALAR, select([item(made, "m")], node, where), type=of.type)

    def single(self, fits, depth, outer):
        """A query of one column."""
        if depth > 0 and self.chance(0.3):
            tree, columns = self.query(depth - 1, nested=True)
            name, type = columns[0]
            if fits(type):
                alias = self.fresh("d")
                return select([item(column(alias, name, type), "s")], Node("derived", [tree], (alias, None)))
        node, scope, _ = self.table(small=True)
        of = self.column(scope, fits)
        if of is None:
            return None
        where = None
        draw = self.rng.random()
        if draw < 0.2 and self.allowed("correlated-in"):
            where = self.correlation(outer, scope)
        elif draw < 0.6:
            where = self.predicate(scope, 1)
        tree = select([item(of, "s")], node, where)
        if draw > 0.88:
            self.cut(tree, [("s", of.type)])
        return tree
