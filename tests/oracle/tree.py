"""Statements as trees that print themselves in both dialects, and can be taken apart again."""

# How tightly an expression binds. An operand that binds less tightly than its place demands gets parentheses.
OR, AND, NOT, IS, COMPARE, RANGE, ADD, MULTIPLY, UNARY, ATOM = range(1, 11)


class Node:
    """A piece of a statement: `kind` says how it prints, `kids` are pieces or None, `value` is all else."""

    __slots__ = ("kind", "kids", "value", "type")

    def __init__(self, kind, kids=(), value=None, type=None):
        self.kind, self.kids, self.value, self.type = kind, list(kids), value, type

    def copy(self):
        kids = [kid.copy() if kid is not None else None for kid in self.kids]
        return Node(self.kind, kids, self.value, self.type)

    def walk(self):
        yield self
        for kid in self.kids:
            if kid is not None:
                yield from kid.walk()


class Shape:
    """How an expression prints: a template for each dialect, how it binds, and what its operands must."""

    __slots__ = ("sluice", "duckdb", "binds", "demands", "frozen", "approximate", "unordered")

    def __init__(self, sluice, duckdb=None, binds=ATOM, demands=OR, frozen=False, approximate=False):
        self.sluice, self.duckdb = sluice, duckdb or sluice
        self.binds, self.demands, self.frozen, self.approximate = binds, demands, frozen, approximate


def expression(shape, *kids, type=None):
    return Node("expression", kids, shape, type)


def column(table, name, type):
    return Node("column", (), (table, name), type)


def literal(text, type=None, duckdb=None):
    return Node("literal", (), (text, duckdb or text), type)


def many(kids):
    return Node("list", kids)


# The clauses of a SELECT, in the order of its kids.
ITEMS, FROM, WHERE, GROUP, HAVING, QUALIFY, ORDER, LIMIT, OFFSET, WITH = range(10)


def select(items, source=None, where=None, group=None, having=None, qualify=None, order=None,
           limit=None, offset=None, ctes=None, distinct=""):
    kids = [many(items), source, where, group, having, qualify, order, limit, offset, ctes]
    return Node("select", kids, distinct)


def item(of, alias):
    return Node("item", [of], alias, of.type)


def by(of, direction="ASC", nulls="NULLS LAST"):
    return Node("by", [of], (direction, nulls))


def sql(node, dialect):
    """The text of a statement, or of a piece."""
    return _Printer(dialect).text(node)


class _Printer:
    def __init__(self, dialect):
        self.dialect = dialect

    def pick(self, pair):
        return pair[0] if self.dialect == "sluice" else pair[1]

    def text(self, node, demands=0):
        text, binds = getattr(self, node.kind)(node)
        return f"({text})" if binds < demands else text

    def literal(self, node):
        text = self.pick(node.value)
        return text, UNARY if text.startswith("-") else ATOM

    def column(self, node):
        table, name = node.value
        return (f"{table}.{name}" if table else name), ATOM

    def expression(self, node):
        shape = node.value
        template = shape.sluice if self.dialect == "sluice" else shape.duckdb
        demands = shape.demands
        if isinstance(demands, int):
            demands = [demands] * len(node.kids)
        kids = [self.text(kid, need) for kid, need in zip(node.kids, demands)]
        if "{*}" in template:
            fixed = template.count("{0}") + template.count("{1}")
            template = template.replace("{*}", ", ".join(kids[fixed:]).replace("{", "{{").replace("}", "}}"))
        return template.format(*kids), shape.binds

    def list(self, node):
        return ", ".join(self.text(kid) for kid in node.kids), ATOM

    def item(self, node):
        text = self.text(node.kids[0])
        return (f"{text} AS {node.value}" if node.value else text), ATOM

    def by(self, node):
        direction, nulls = node.value
        text = f"{self.text(node.kids[0])} {direction}".rstrip()
        # Where a statement leaves the place of NULL open, the two differ: ours is that of PostgreSQL.
        if not nulls and self.dialect == "duckdb":
            nulls = "NULLS FIRST" if direction == "DESC" else "NULLS LAST"
        return f"{text} {nulls}".rstrip(), ATOM

    def window(self, node):
        """PARTITION BY, ORDER BY and a frame."""
        partition, order = node.kids
        words = [f"PARTITION BY {self.text(partition)}"] if partition else []
        words += [f"ORDER BY {self.text(order)}"] if order else []
        return " ".join(words + ([node.value] if node.value else [])), ATOM

    def grouping(self, node):
        inner = ", ".join(self.text(kid) for kid in node.kids)
        return (f"{node.value} ({inner})" if node.value else inner), ATOM

    def set(self, node):
        """A grouping set."""
        return f"({', '.join(self.text(kid) for kid in node.kids)})", ATOM

    def cte(self, node):
        return f"{node.value} AS ({self.text(node.kids[0])})", ATOM

    def table(self, node):
        name, alias = node.value
        return (f"{name} {alias}" if alias and alias != name else name), ATOM

    def derived(self, node):
        alias, columns = node.value
        names = f" ({', '.join(columns)})" if columns else ""
        return f"({self.text(node.kids[0])}) {alias}{names}", ATOM

    def join(self, node):
        words, how, names = node.value
        words = self.pick(words) if isinstance(words, tuple) else words
        left, right = self.text(node.kids[0]), self.text(node.kids[1])
        if node.kids[1].kind == "join":
            right = f"({right})"
        text = f"{left} {words} {right}"
        if how == "on":
            text += f" ON {self.text(node.kids[2])}"
        elif how == "using":
            text += f" USING ({', '.join(names)})"
        return text, ATOM

    def values(self, node):
        rows = ", ".join(f"({self.text(row)})" for row in node.kids)
        return f"VALUES {rows}", ATOM

    def setop(self, node):
        left, right = (self.operand(kid) for kid in node.kids[:2])
        text = f"{left} {node.value} {right}"
        return self.tail(text, node.kids[2:5]), ATOM

    def operand(self, node):
        text = self.text(node)
        plain = node.kind == "values" or node.kind == "select" and not any(node.kids[ORDER:])
        return text if plain else f"({text})"

    def tail(self, text, clauses):
        for word, clause in zip(("ORDER BY", "LIMIT", "OFFSET"), clauses):
            if clause is not None:
                text += f" {word} {self.text(clause)}"
        return text

    def select(self, node):
        kids = node.kids
        text = ""
        if kids[WITH] is not None:
            text += f"WITH {self.text(kids[WITH])} "
        text += f"SELECT {node.value} ".rstrip() + " " + self.text(kids[ITEMS])
        for word, index in (("FROM", FROM), ("WHERE", WHERE), ("GROUP BY", GROUP), ("HAVING", HAVING),
                            ("QUALIFY", QUALIFY)):
            if kids[index] is not None:
                text += f" {word} {self.text(kids[index])}"
        return self.tail(text, kids[ORDER:OFFSET + 1]), ATOM
