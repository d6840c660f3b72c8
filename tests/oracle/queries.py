"""Random statements."""

import checks
from expressions import BOTH, COMPARISONS, EXISTS, function
from tables import BIGINT, BOOLEAN, INT
from tree import ITEMS, LIMIT, OFFSET, ORDER, WHERE, Node, Shape, by, column, expression, item, literal, many, select, sql
from windows import Windows


class Statement:
    """A statement and how its answer compares.

    `ordered`: its rows have one order. `count_only`: which rows it has is open, their number is not. `check`: what its
    answer is compared with, `duckdb` or an identity of `checks.py`.
    """

    def __init__(self, tree, ordered=False, count_only=False, check="duckdb"):
        self.tree, self.ordered, self.count_only, self.check = tree, ordered, count_only, check

    def with_tree(self, tree):
        return Statement(tree, self.ordered, self.count_only, self.check)

    def texts(self, dialect="sluice"):
        """The statement, or the two that answer alike; none if there is nothing to compare."""
        trees = [self.tree] if self.check == "duckdb" else checks.pair(self.check, self.tree) or ()
        return [sql(tree, dialect) for tree in trees]

    def is_ordered(self):
        """Whether ORDER BY names every column of the answer."""
        tree = self.tree
        if not self.ordered:
            return False
        order = tree.kids[ORDER] if tree.kind == "select" else tree.kids[2]
        return order is not None

    def is_approximate(self):
        return any(node.kind == "expression" and node.value.approximate for node in self.tree.walk())


class Queries(Windows):
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
            draw = self.rng.random()
            if draw < 0.3:
                # Several conditions with subqueries have one name in DataFusion.
                found = [self.asked(scope, 0) for _ in range(2)]
            else:
                found = [self.scalar_query(scope, self.column(scope).type)]
                if draw < 0.5 and found[0] is not None:
                    found = [expression(function("coalesce"), found[0], self.plain(found[0].type, bare=True), type=found[0].type)]
            made += [it for it in found if it is not None]
        items, columns = self.outputs(made)
        return select(items, source, where), columns

    def distinct_rows(self, source, scope, where):
        items, columns = self.outputs(self.some_scalars(scope, 3))
        return select(items, source, where, distinct="DISTINCT"), columns

    def firsts(self):
        """DISTINCT ON: the first row of each group."""
        node, scope, _ = self.table()
        key, of = self.column(scope), self.column(scope)
        items, columns = self.outputs([key, of, column(*scope[0])])
        order = many([by(column(None, "o1", key.type)), self.ordering(column(None, "o2", of.type)), by(column(None, "o3", INT))])
        where = self.predicate(scope, 1) if self.chance(0.5) else None
        distinct = f"DISTINCT ON ({sql(key, 'sluice')})"
        return Statement(select(items, node, where, order=order, distinct=distinct), True)

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

    def respell(self, tree, columns):
        """ORDER BY ALL, numbers, or the expressions themselves, in place of names that may be left out then."""
        rng = self.rng
        clause = ORDER if tree.kind == "select" else 2
        draw = rng.random()
        if draw < 0.08 and self.allowed("order-all"):
            tree.kids[clause] = many([by(expression(Shape("ALL")), *self.ordering(literal("1")).value)])
        elif draw < 0.3 and self.allowed("order-number"):
            at = {name: number for number, (name, _) in enumerate(columns, 1)}
            for one in tree.kids[clause].kids:
                one.kids[0] = literal(str(at[one.kids[0].value[1]]))
            if tree.kind == "select" and self.chance(0.7):
                for one in tree.kids[ITEMS].kids:
                    one.value = None
        elif draw < 0.5 and tree.kind == "select" and self.allowed("order-expression"):
            made = {one.value: one.kids[0] for one in tree.kids[ITEMS].kids}
            for one in tree.kids[clause].kids:
                of = made[one.kids[0].value[1]]
                # A literal would be a number or a constant.
                if of.kind == "column" or of.kind == "expression" and any(it.kind == "column" for it in of.walk()):
                    one.kids[0] = of.copy()
            if not any(it.kind == "column" and it.value[0] is None for it in tree.kids[clause].walk()):
                for one in tree.kids[ITEMS].kids:
                    one.value = None
        elif draw < 0.56 and tree.kind == "select" and self.allowed("taken-alias"):
            # An alias that is the name of another column.
            at = {name: number for number, (name, _) in enumerate(columns, 1)}
            made = {one.value: one.kids[0] for one in tree.kids[ITEMS].kids}
            spelled = self.chance(0.5)
            for one in tree.kids[clause].kids:
                name = one.kids[0].value[1]
                of = made[name]
                is_qualified = all(it.value[0] for it in of.walk() if it.kind == "column") and any(it.kind == "column" for it in of.walk())
                one.kids[0] = of.copy() if spelled and is_qualified else literal(str(at[name]))
            names = [name for table in self.tables for name, _ in table.columns]
            rng.choice(tree.kids[ITEMS].kids).value = rng.choice(names)

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

    def start(self):
        self.number, self.sources, self.bare = 0, {}, self.allowed("bare") and self.chance(0.2)

    def identity(self, check):
        """A condition of which an identity holds."""
        self.start()
        source, scope = self.source(2)
        items, _ = self.outputs(self.some_scalars(scope, 3))
        return Statement(select(items, source, self.condition(scope, 2), distinct=checks.MARK), check=check)

    def statement(self):
        self.start()
        rng = self.rng
        draw = rng.random()
        if draw < 0.06 and self.allowed("open-limit"):
            return self.cut_anywhere()
        if draw < 0.08 and self.allowed("distinct-on"):
            return self.firsts()
        if draw < 0.1 and self.allowed("recursive"):
            return Statement(self.recursive())
        tree, columns = self.query(2)
        ordered = False
        if draw < 0.45:
            self.cut(tree, columns, limit=0.6, offset=0.35)
            self.respell(tree, columns)
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
        head = name
        if self.chance(0.3) and self.allowed("cte-columns"):
            columns = [(f"p{at}", type) for at, (_, type) in enumerate(columns, 1)]
            head = f"{name} ({', '.join(column_name for column_name, _ in columns)})"
        ctes = many([Node("cte", [tree], head)])
        scope = [(alias, column_name, type) for column_name, type in columns]
        source = Node("table", (), (name, alias))
        where = self.predicate(scope, 1)
        made, _ = self.outputs([column(*it) for it in scope])
        if self.chance(0.4):
            again = self.fresh()
            inner = [(again, *it[1:]) for it in scope]
            hiding = None
            if self.chance(0.3) and self.allowed("shadow"):
                hidden, found = self.block(0)
                inner = [(again, *it) for it in found]
                hiding = many([Node("cte", [hidden], name)])
            tree = select([item(literal("1", INT), "one")], Node("table", (), (name, again)), self.correlation(scope, inner), ctes=hiding)
            where = expression(BOTH, where, expression(EXISTS, tree, type=BOOLEAN), type=BOOLEAN)
        return select(made, source, where, ctes=ctes)

    def recursive(self):
        """The rows that a chain of equal values leads to, of a length that is bounded."""
        rng = self.rng
        one, first, _ = self.table(small=True)
        two, next, _ = self.table(small=True)
        name, alias = self.fresh("w"), self.fresh()
        key = self.column(next, lambda type: type in (INT, BIGINT))
        # The literals of the start are equal, and have no names but those of the list.
        start = select([item(column(first[0][0], "id", INT), "n"), item(literal("0"), None), item(literal("0"), None)], one, self.predicate(first, 1))
        step = [item(column(next[0][0], "id", INT), "n"), item(expression(Shape(f"{name}.d + 1")), None), item(expression(Shape(f"{name}.d")), None)]
        on = expression(COMPARISONS["="], key, column(name, "n", INT), type=BOOLEAN)
        more = select(step, Node("join", [two, Node("table", (), (name, None)), on], ("JOIN", "on", ())), expression(Shape(f"{name}.d < 3"), type=BOOLEAN))
        if self.chance(0.3):
            more.kids[WHERE] = expression(BOTH, more.kids[WHERE], self.predicate(next, 0), type=BOOLEAN)
        union = Node("setop", [start, more, None, None, None], rng.choice(["UNION ALL", "UNION"]))
        scope = [(alias, "n", INT), (alias, "d", INT), (alias, "e", INT)]
        items, _ = self.outputs([column(*it) for it in scope])
        ctes = many([Node("cte", [union], f"RECURSIVE {name} (n, d, e)")])
        return select(items, Node("table", (), (name, alias)), self.predicate(scope, 1) if self.chance(0.5) else None, ctes=ctes)

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
