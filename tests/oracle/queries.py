"""Random statements."""

import differences
from expressions import (ALIKE, ANY_OR_ALL, BOTH, COMPARISONS, EITHER, EXISTS, IN_QUERY, IS_NULL, NOT_EXISTS, NOT_IN_QUERY, SCALAR, Expressions, function,
                         is_number)
from tables import BIGINT, BOOLEAN, DOUBLE, INT, VARCHAR
from tree import ATOM, LIMIT, OFFSET, ORDER, QUALIFY, Node, Shape, by, column, expression, item, literal, many, select


class Statement:
    """A statement and how its answer compares.

    `ordered`: its rows have one order. `count_only`: which rows it has is open, their number is not.
    """

    def __init__(self, tree, ordered=False, count_only=False):
        self.tree, self.ordered, self.count_only = tree, ordered, count_only

    def is_ordered(self):
        """Whether ORDER BY names every column of the answer."""
        tree = self.tree
        if not self.ordered:
            return False
        order = tree.kids[ORDER] if tree.kind == "select" else tree.kids[2]
        return order is not None

    def is_approximate(self):
        return any(node.kind == "expression" and node.value.approximate for node in self.tree.walk())


class Queries(Expressions):
    def __init__(self, tables, rng, without=()):
        super().__init__(rng, without)
        self.tables = tables
        self.number = 0

    def fresh(self, letter="a"):
        self.number += 1
        return f"{letter}{self.number}"

    def values_of(self, of):
        alias, name = of.value
        table = self.sources.get(alias)
        if table is None:
            return None
        at = [it for it, _ in table.columns].index(name) if name in table.types() else None
        values = [] if at is None else [row[at] for row in table.rows if row[at] is not None]
        return values or None

    # FROM

    def table(self, small=False):
        tables = [it for it in self.tables if not small or len(it.rows) <= 60]
        table = self.rng.choice(tables)
        alias = self.fresh()
        self.sources[alias] = table
        return Node("table", (), (table.name, alias)), [(alias, name, type) for name, type in table.columns], table

    def source(self, depth, small=False):
        """A FROM and its columns."""
        draw = self.rng.random()
        if depth > 0 and draw < 0.18:
            return self.derived(depth - 1)
        if depth > 0 and draw < 0.45 and self.allowed("join"):
            return self.joined(depth)
        if draw < 0.48:
            return self.value_list()
        node, scope, _ = self.table(small)
        return node, scope

    def derived(self, depth):
        tree, columns = self.query(depth, nested=True)
        alias = self.fresh("d")
        return Node("derived", [tree], (alias, None)), [(alias, name, type) for name, type in columns]

    def value_list(self):
        types = [self.rng.choice([INT, VARCHAR, DOUBLE, BOOLEAN]) for _ in range(self.rng.randint(1, 3))]
        rows = []
        for at in range(self.rng.randint(1, 5)):
            # The first row says of which type the columns are.
            cells = [literal("NULL", type) if at and self.chance(0.2) else self.typed(type) for type in types]
            rows.append(many(cells))
        alias = self.fresh("v")
        names = [f"x{at}" for at in range(len(types))]
        return Node("derived", [Node("values", rows)], (alias, names)), [(alias, name, type) for name, type in zip(names, types)]

    def typed(self, type):
        from tables import constant, edges
        value = edges(type, self.rng)
        return literal(constant("b" if value == "" else value, type), type)

    def joined(self, depth):
        rng = self.rng
        left, scope, one = self.table()
        draw = rng.random()
        if draw < 0.12 and self.allowed("using"):
            return self.natural()
        small = len(one.rows) > 60
        if draw < 0.25 and depth > 1:
            right, other_scope = self.derived(depth - 2)
            other = None
        else:
            right, other_scope, other = self.table(small=small)
        kinds = ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "semi join", "anti join", "CROSS JOIN"]
        kind = rng.choice(kinds)
        if kind == "CROSS JOIN" and small:
            kind = "JOIN"
        if kind == "CROSS JOIN":
            return Node("join", [left, right], (kind, "", ())), scope + other_scope
        if other is not None and self.chance(0.25) and self.allowed("using"):
            shared = [name for name in ("k", "id") if self.comparable(one.types()[name], other.types()[name])]
            if shared and kind not in ("semi join", "anti join"):
                name = rng.choice(shared)
                node = Node("join", [left, right], (kind, "using", (name,)))
                rest = [it for it in scope + other_scope if it[1] != name]
                return node, [(None, name, one.types()[name])] + rest
        on = self.join_condition(scope, other_scope, kind)
        words = differences.words(kind) if kind in ("semi join", "anti join") else kind
        node = Node("join", [left, right, on], (words, "on", ()))
        return node, scope if kind in ("semi join", "anti join") else scope + other_scope

    def join_condition(self, scope, other_scope, kind):
        rng = self.rng
        pairs = [(one, other) for one in scope for other in other_scope if self.comparable(one[2], other[2]) and one[2] != BOOLEAN]
        if not pairs:
            return literal("TRUE", BOOLEAN)
        likely = [pair for pair in pairs if pair[0][1] in ("id", "k")]
        one, other = rng.choice(likely) if likely and self.chance(0.5) else rng.choice(pairs)
        left, right = column(one[0], one[1], one[2]), column(other[0], other[1], other[2])
        draw = rng.random()
        alike = ALIKE if self.allowed("distinct-from") else COMPARISONS["="]
        shape = COMPARISONS["="] if draw < 0.8 else alike if draw < 0.92 else COMPARISONS[rng.choice(["<", ">=", "<>"])]
        on = expression(shape, left, right, type=BOOLEAN)
        draw = rng.random()
        if draw < 0.2:
            on = expression(BOTH, on, self.predicate(scope + other_scope, 0), type=BOOLEAN)
        elif draw < 0.4:
            one, other = rng.choice(pairs)
            again = expression(rng.choice([COMPARISONS["="], alike, COMPARISONS["<="]]), column(*one), column(*other), type=BOOLEAN)
            on = expression(BOTH, on, again, type=BOOLEAN)
        return on

    def natural(self):
        """NATURAL JOIN, or USING, of two tables with only the columns that they are to share."""
        rng = self.rng
        sides, scopes, types = [], [], []
        for letter in "xy":
            node, scope, table = self.table(small=True)
            other = rng.choice(scope)
            items = [item(column(scope[0][0], "k", table.types()["k"]), "k"), item(column(*other), letter + "1")]
            if self.chance(0.3):
                items.insert(0, item(column(scope[0][0], "id", INT), "id"))
            alias = self.fresh("n")
            sides.append(Node("derived", [select(items, node)], (alias, None)))
            scopes.append([(alias, letter + "1", other[2])])
            types.append({it.value: it.type for it in items})
        if not self.comparable(types[0]["k"], types[1]["k"]):
            return self.joined(0)
        kind = rng.choice(["NATURAL JOIN", "NATURAL LEFT JOIN", "NATURAL RIGHT JOIN", "NATURAL FULL JOIN"])
        shared = [(None, name, types[0][name]) for name in ("id", "k") if name in types[0] and name in types[1]]
        return Node("join", sides, (kind, "", ())), shared + scopes[0] + scopes[1]

    # Predicates with subqueries

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
            if self.chance(0.2) and self.allowed("any-all"):
                shape = rng.choice(ANY_OR_ALL)
            made = expression(shape, of, tree, type=BOOLEAN)
            return expression(IS_NULL, made, type=BOOLEAN) if self.chance(0.08) else made
        if draw < 0.75 and self.allowed("exists"):
            node, inner, _ = self.table(small=True)
            where = self.correlation(scope, inner)
            if self.chance(0.4):
                where = expression(BOTH, where, self.predicate(inner, 1), type=BOOLEAN)
            if self.chance(0.15) and self.allowed("nested-exists"):
                other, innermost, _ = self.table(small=True)
                again = expression(BOTH, self.correlation(scope, innermost), self.correlation(inner, innermost), type=BOOLEAN)
                tree = select([item(literal("1", INT), "one")], other, again)
                where = expression(BOTH, where, expression(EXISTS if self.chance(0.6) else NOT_EXISTS, tree, type=BOOLEAN), type=BOOLEAN)
            if self.chance(0.12) and self.allowed("exists-aggregate"):
                items = [item(expression(Shape("count(*)"), type=BIGINT), "n")]
            else:
                items = [item(literal("1", INT), "one")]
            tree = select(items, node, where)
            if self.chance(0.15) and self.allowed("correlated-limit"):
                tree.kids[LIMIT] = literal(str(rng.randint(1, 3)))
                tree.kids[OFFSET] = literal(str(rng.randint(0, 2)))
            return expression(EXISTS if self.chance(0.6) else NOT_EXISTS, tree, type=BOOLEAN)
        of = self.column(scope, lambda type: type != BOOLEAN)
        if of is None:
            return None
        inner = self.scalar_query(scope, of.type)
        return inner and self.compared(of, inner)

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
        where = None
        if self.chance(0.15) and self.allowed("first-of-correlated"):
            tree = select([item(of, "m")], node, self.correlation(scope, inner))
            self.cut(tree, [("m", of.type)], limit=0, offset=0.3)
            tree.kids[LIMIT] = literal("1")
            return expression(SCALAR, tree, type=of.type)
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

    # SELECT

    def query(self, depth, nested=False):
        """A query and its columns."""
        draw = self.rng.random()
        if draw < 0.14 and self.allowed("setop"):
            tree, columns = self.set_operation(depth)
        else:
            tree, columns = self.block(depth)
        if nested and self.chance(0.3):
            self.cut(tree, columns)
        return tree, columns

    def block(self, depth):
        source, scope = self.source(depth)
        where = self.condition(scope, depth) if self.chance(0.75) else None
        kinds = [(8, self.projection), (5, self.grouped), (3, self.aggregated), (2, self.distinct_rows), (3, self.windowed)]
        kind = self.rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]
        return kind(source, scope, where)

    def outputs(self, made):
        names = [f"o{at}" for at in range(1, len(made) + 1)]
        return [item(of, name) for of, name in zip(made, names)], [(name, of.type) for of, name in zip(made, names)]

    def some_scalars(self, scope, most=4):
        made = []
        for _ in range(self.rng.randint(1, most)):
            draw = self.rng.random()
            if draw < 0.6:
                made.append(self.column(scope))
            elif draw < 0.7:
                made.append(self.casted(scope))
            elif draw < 0.78:
                made.append(self.predicate(scope, 1))
            else:
                of = self.column(scope)
                made.append(self.scalar(scope, of.type, 2))
        return made

    def projection(self, source, scope, where):
        made = self.some_scalars(scope)
        if self.chance(0.08) and self.allowed("scalar-item"):
            asked = self.scalar_query(scope, self.column(scope).type)
            made += [asked] if asked is not None else []
        items, columns = self.outputs(made)
        return select(items, source, where), columns

    def distinct_rows(self, source, scope, where):
        items, columns = self.outputs(self.some_scalars(scope, 3))
        return select(items, source, where, distinct="DISTINCT"), columns

    def aggregate(self, scope):
        rng = self.rng
        draw = rng.random()
        ids = [it for it in scope if it[1] == "id"]
        if draw < 0.03 and ids and {it[0] for it in ids} == {it[0] for it in scope}:
            of = self.column(scope, lambda type: type[0] == "text")
            if of is None:
                return self.aggregate(scope)
            order = many([by(column(*it)) for it in ids])
            return expression(Shape("string_agg({0}, ',' ORDER BY {1})", demands=0, frozen=True), of, order, type=VARCHAR)
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
        if self.chance(0.2):
            kept = expression(Shape("{0} FILTER (WHERE {1})", demands=0, approximate=made.value.approximate), made, self.predicate(scope, 1),
                              type=made.type)
            return kept
        return made

    def argument(self, scope, fits=lambda type: True):
        of = self.column(scope, fits) or self.column(scope)
        draw = self.rng.random()
        if draw < 0.12:
            return self.case(scope, [of, of.copy()] if self.chance(0.2) else [of], of.type)
        if draw < 0.25 and is_number(of.type):
            return self.scalar(scope, of.type, 1)
        return of

    def aggregated(self, source, scope, where):
        items, columns = self.outputs([self.aggregate(scope) for _ in range(self.rng.randint(1, 4))])
        return select(items, source, where), columns

    def grouped(self, source, scope, where):
        rng = self.rng
        keys = []
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
            draw = rng.random()
            if draw < 0.75:
                keys.append(self.column(scope))
            elif draw < 0.87:
                keys.append(self.casted(scope))
            else:
                keys.append(self.scalar(scope, self.column(scope).type, 1))
        made = [self.aggregate(scope) for _ in range(rng.randint(0, 3))]
        words = ""
        if self.chance(0.12) and self.allowed("rollup"):
            words = rng.choice(["ROLLUP", "CUBE"])
            columns = [key for key in keys if key.kind == "column"] or [self.column(scope)]
            # Now and then, a column is there twice.
            keys = columns if self.chance(0.2) else list({key.value: key for key in columns}.values())
            if self.chance(0.3):
                made.append(expression(Shape("grouping({0})", demands=0), keys[0].copy(), type=INT))
        group = Node("grouping", [key.copy() for key in keys], words)
        having = None
        if self.chance(0.25):
            of = self.aggregate(scope)
            having = self.compared(of, self.plain(of.type if of.type[0] != "decimal" else INT)) if of.type != BOOLEAN else of
        items, columns = self.outputs(keys + made)
        return select(items, source, where, group, having), columns

    def windowed(self, source, scope, where):
        if not self.allowed("window"):
            return self.projection(source, scope, where)
        rng = self.rng
        made = [self.column(scope)]
        ids = [it for it in scope if it[1] == "id"]
        aliases = {it[0] for it in scope}
        # An order that leaves nothing open needs the key of every table that is joined.
        total = {it[0] for it in ids} == aliases
        for _ in range(rng.randint(1, 2)):
            partition = many([self.column(scope)]) if self.chance(0.6) else None
            order = [self.ordering(self.column(scope))]
            draw = rng.random()
            if draw < 0.35:
                name, type = rng.choice([("rank()", BIGINT), ("dense_rank()", BIGINT), ("cume_dist()", DOUBLE), ("percent_rank()", DOUBLE)])
                window = Node("window", [partition, many(order)], None)
                made.append(expression(Shape(name + " OVER ({0})", approximate=type == DOUBLE), window, type=type))
                continue
            frame = None
            if draw < 0.65:
                of = self.column(scope, is_number)
                if of is None:
                    continue
                if total and self.chance(0.6):
                    order += [self.ordering(column(*it)) for it in ids]
                    frame = rng.choice([None, "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
                                        "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING", "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"])
                if self.chance(0.3):
                    frame, order = None, []
                name = rng.choice(["sum", "count", "min", "max", "avg"])
                inexact = name == "avg" or name == "sum" and of.type[0] == "float"
                type = BIGINT if name == "count" else DOUBLE if inexact else of.type
                if name == "sum" and of.type[0] != "float":
                    type = ("decimal", 38, of.type[2]) if of.type[0] == "decimal" else BIGINT
                window = Node("window", [partition, many(order) if order else None], frame)
                made.append(expression(Shape(name + "({0}) OVER ({1})", demands=0, approximate=inexact), of, window, type=type))
                continue
            if not total:
                continue
            order += [self.ordering(column(*it)) for it in ids]
            window = Node("window", [partition, many(order)], None)
            of = self.column(scope)
            name, kids, type = rng.choice([("row_number()", [], BIGINT), ("ntile(3)", [], BIGINT), ("lag({1})", [of], of.type), ("lead({1}, 2)", [of], of.type),
                                           ("first_value({1})", [of], of.type), ("last_value({1})", [of], of.type), ("nth_value({1}, 2)", [of], of.type)])
            made.append(expression(Shape(name + " OVER ({0})", demands=0), window, *kids, type=type))
        items, columns = self.outputs(made)
        tree = select(items, source, where)
        if self.chance(0.15):
            window = Node("window", [many([self.column(scope)]) if self.chance(0.6) else None, many([self.ordering(self.column(scope))])], None)
            ranked = expression(Shape(rng.choice(["rank()", "dense_rank()"]) + " OVER ({0})"), window, type=BIGINT)
            tree.kids[QUALIFY] = expression(COMPARISONS[rng.choice(["=", "<=", ">"])], ranked, literal(str(rng.randint(1, 2))), type=BOOLEAN)
        return tree, columns

    def firsts(self):
        """DISTINCT ON: the first row of each group."""
        node, scope, _ = self.table()
        key, of = self.column(scope), self.column(scope)
        items, columns = self.outputs([key, of, column(*scope[0])])
        order = many([by(column(None, "o1", key.type)), self.ordering(column(None, "o2", of.type)), by(column(None, "o3", INT))])
        where = self.predicate(scope, 1) if self.chance(0.5) else None
        distinct = ("DISTINCT ON ({0}.{1}, {0}.{1})" if self.chance(0.2) else "DISTINCT ON ({0}.{1})").format(*key.value)
        return Statement(select(items, node, where, order=order, distinct=distinct), True)

    def ordering(self, of):
        direction = self.rng.choice(["ASC", "DESC", ""])
        return by(of, direction, self.rng.choice(["NULLS FIRST", "NULLS LAST", ""]))

    # ORDER BY, LIMIT, OFFSET

    def cut(self, tree, columns, limit=0.7, offset=0.5):
        """Orders by every column, so that which rows LIMIT keeps is not open, and cuts."""
        clauses = (ORDER, LIMIT, OFFSET) if tree.kind == "select" else (2, 3, 4)
        order = self.shuffled([self.ordering(column(None, name, type)) for name, type in columns])
        tree.kids[clauses[0]] = many(order)
        large = any(len(it.rows) > 60 for it in self.tables) and self.chance(0.3)
        if self.chance(limit):
            tree.kids[clauses[1]] = literal(str(self.rng.choice([0, 1, 1, 2, 3, 5, 10] if not large else [50, 200, 500])))
        if self.chance(offset):
            tree.kids[clauses[2]] = literal(str(self.rng.choice([0, 1, 1, 2, 3, 7] if not large else [3, 100, 700])))

    def set_operation(self, depth):
        rng = self.rng
        left, scope, table = self.table(small=True)
        chosen = [rng.choice(scope) for _ in range(rng.randint(1, 2))]
        items, columns = self.outputs([column(*it) for it in chosen])
        where = self.predicate(scope, 1) if self.chance(0.6) else None
        one = select(items, left, where)
        for _ in range(rng.choice([1, 1, 2])):
            right, other, _ = self.table(small=True)
            made = []
            for _, type in columns:
                fits = (lambda it: it == type) if self.chance(0.7) else (lambda it: self.comparable(type, it) and it[0] == type[0])
                made.append(self.column(other, fits) or literal("NULL", type))
            items, _ = self.outputs(made)
            where = self.predicate(other, 1) if self.chance(0.6) else None
            two = select(items, right, where)
            if self.chance(0.15):
                self.cut(two, columns)
            words = rng.choice(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"] + (["EXCEPT ALL", "INTERSECT ALL"] if self.allowed("set-all") else []))
            one = Node("setop", [one, two, None, None, None], words)
        return one, columns

    # Statements

    def statement(self):
        self.number, self.sources = 0, {}
        rng = self.rng
        draw = rng.random()
        if draw < 0.06 and self.allowed("open-limit"):
            return self.cut_anywhere()
        if draw < 0.08 and self.allowed("distinct-on"):
            return self.firsts()
        tree, columns = self.query(2)
        ordered = False
        if draw < 0.45:
            self.cut(tree, columns, limit=0.6, offset=0.35)
            ordered = True
        elif draw < 0.5 and tree.kind == "select":
            tree = self.named(tree, columns)
        elif draw < 0.56:
            alias = self.fresh("d")
            made = expression(Shape("count(*)"), type=BIGINT)
            tree = select([item(made, "n")], Node("derived", [tree], (alias, None)))
        return Statement(tree, ordered)

    def named(self, tree, columns):
        """The query as a WITH, once or twice."""
        name, alias = self.fresh("w"), self.fresh()
        ctes = many([Node("cte", [tree], name)])
        scope = [(alias, column_name, type) for column_name, type in columns]
        source = Node("table", (), (name, alias))
        where = self.predicate(scope, 1)
        made, _ = self.outputs([column(*it) for it in scope])
        if self.chance(0.4):
            again = self.fresh()
            inner = [(again, *it[1:]) for it in scope]
            tree = select([item(literal("1", INT), "one")], Node("table", (), (name, again)), self.correlation(scope, inner))
            where = expression(BOTH, where, expression(EXISTS, tree, type=BOOLEAN), type=BOOLEAN)
        return select(made, source, where, ctes=ctes)

    def cut_anywhere(self):
        """LIMIT and OFFSET without ORDER BY: only how many rows come is certain."""
        tree, columns = self.block(1)
        tree.kids[LIMIT] = literal(str(self.rng.choice([1, 2, 4, 5, 100]))) if self.chance(0.8) else None
        tree.kids[OFFSET] = literal(str(self.rng.choice([0, 1, 3, 5, 50]))) if self.chance(0.7) or tree.kids[LIMIT] is None else None
        alias = self.fresh("d")
        source = Node("derived", [tree], (alias, None))
        draw = self.rng.random()
        if draw < 0.4:
            return Statement(select([item(expression(Shape("count(*)"), type=BIGINT), "n")], source))
        name, type = self.rng.choice(columns)
        made = [column(alias, name, type)]
        if draw < 0.7:
            window = Node("window", [None, many([by(column(alias, name, type))])], None)
            made.append(expression(Shape("row_number() OVER ({0})"), window, type=BIGINT))
        items, columns = self.outputs(made)
        top = select(items, source, order=many([self.ordering(column(None, "o1", type))]))
        return Statement(top, count_only=True)
