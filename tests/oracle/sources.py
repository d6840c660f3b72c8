"""What stands in FROM: tables, joins, lists of values, subqueries."""

import differences
from expressions import ALIKE, BOTH, COMPARISONS
from scalars import Scalars
from tables import BOOLEAN, DOUBLE, INT, VARCHAR, constant, edges
from tree import Node, Shape, column, expression, item, literal, many, select


def merged(one, other):
    """The type of a column that a join merges: casts of a float round otherwise than those of a whole number."""
    if other[0] == "float" and one[0] != "float":
        return other
    return max(one, other) if one[0] == other[0] in ("int", "float") else one


class Sources(Scalars):
    def __init__(self, tables, rng, without=(), zone=None):
        super().__init__(rng, without, zone)
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
        # Without an alias, a table of a subquery hides one of the same name around it.
        # In the order of the alphabet, or not.
        alias = table.name if self.bare and self.chance(0.6) else self.fresh(self.rng.choice("ab"))
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
        value = edges(type, self.rng)
        return literal(constant("b" if value == "" else value, type), type)

    def joined(self, depth):
        rng = self.rng
        left, scope, one = self.table()
        draw = rng.random()
        if draw < 0.12 and self.allowed("using"):
            return self.natural()
        if self.chance(0.12) and self.allowed("lateral"):
            return self.lateral(left, scope)
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
                if self.chance(0.3) and self.allowed("star"):
                    types = [merged(it[2], other.types()[name]) if it[1] == name else it[2] for it in scope]
                    return self.starred(node, types + [it[2] for it in other_scope if it[1] != name])
                rest = [it for it in scope + other_scope if it[1] != name]
                return node, [(None, name, merged(one.types()[name], other.types()[name]))] + rest
        on = self.join_condition(scope, other_scope, kind)
        words = differences.words(kind) if kind in ("semi join", "anti join") else kind
        node = Node("join", [left, right, on], (words, "on", ()))
        return node, scope if kind in ("semi join", "anti join") else scope + other_scope

    def starred(self, node, types):
        """All columns of a join, by their places."""
        alias = self.fresh("d")
        names = [f"s{at}" for at in range(1, len(types) + 1)]
        tree = select([item(expression(Shape("*")), None)], node)
        return Node("derived", [tree], (alias, names)), [(alias, name, type) for name, type in zip(names, types)]

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
        if draw < 0.06 and kind not in ("semi join", "anti join") and self.allowed("on-subquery"):
            asked = self.asked(scope + other_scope, 0)
            on = on if asked is None else expression(BOTH, on, asked, type=BOOLEAN)
        elif draw < 0.2:
            on = expression(BOTH, on, self.predicate(scope + other_scope, 0), type=BOOLEAN)
        elif draw < 0.4:
            one, other = rng.choice(pairs)
            again = expression(rng.choice([COMPARISONS["="], alike, COMPARISONS["<="]]), column(*one), column(*other), type=BOOLEAN)
            on = expression(BOTH, on, again, type=BOOLEAN)
        return on

    def lateral(self, left, outer):
        """A join whose right side is computed for each row of the left."""
        rng = self.rng
        node, scope, _ = self.table(small=True)
        where = self.correlation(outer, scope)
        draw = rng.random()
        if draw < 0.4:
            of, kept = self.column(scope), self.column(outer)
            items, columns = self.outputs([of, kept])
            tree = select(items, node, where)
            if self.chance(0.4):
                self.cut(tree, columns, offset=0.3)
        else:
            items, columns = self.outputs([self.aggregate(scope) for _ in range(rng.randint(1, 2))])
            tree = select(items, node, where, Node("grouping", [self.column(scope)], "") if draw < 0.55 else None)
        alias = self.fresh("d")
        right = Node("derived", [tree], (alias, None))
        scope = outer + [(alias, name, type) for name, type in columns]
        if self.chance(0.5):
            return Node("join", [left, right], ("CROSS JOIN LATERAL", "", ())), scope
        return Node("join", [left, right, literal("TRUE", BOOLEAN)], ("LEFT JOIN LATERAL", "on", ())), scope

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
            alias = self.fresh(rng.choice("nb"))
            sides.append(Node("derived", [select(items, node)], (alias, None)))
            scopes.append([(alias, letter + "1", other[2])])
            types.append({it.value: it.type for it in items})
        if not self.comparable(types[0]["k"], types[1]["k"]):
            return self.joined(0)
        kind = rng.choice(["NATURAL JOIN", "NATURAL LEFT JOIN", "NATURAL RIGHT JOIN", "NATURAL FULL JOIN"])
        first = {name: merged(type, types[1].get(name, type)) for name, type in types[0].items()}
        if self.chance(0.4) and self.allowed("star"):
            rest = [type for name, type in types[1].items() if name not in types[0]]
            return self.starred(Node("join", sides, (kind, "", ())), list(first.values()) + rest)
        shared = [(None, name, first[name]) for name in ("id", "k") if name in types[0] and name in types[1]]
        return Node("join", sides, (kind, "", ())), shared + scopes[0] + scopes[1]
