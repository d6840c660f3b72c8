"""Smaller statements and tables that still differ."""

import time

from scenario import Scenario
from tables import BOOLEAN, fill
from tree import ITEMS, LIMIT, OFFSET, ORDER, Node, literal, many, sql

EXPRESSIONS = ("expression", "column", "literal")


class Shrinker:
    """Takes a finding apart as long as a part of it is a finding of the same kind."""

    def __init__(self, scenario, statement, outcome, seconds=40):
        self.scenario, self.statement, self.outcome = scenario, statement, outcome
        self.way = outcome.session
        self.end = time.monotonic() + seconds
        self.seen = set()

    def shrink(self):
        if self.way != "auto":
            self.attempt(self.statement, self.scenario, "auto")
        for _ in range(6):
            before = sql(self.statement.tree, "sluice"), self.size()
            self.fewer_tables()
            self.smaller_statement()
            self.fewer_rows()
            self.fewer_columns()
            self.one_object()
            if (sql(self.statement.tree, "sluice"), self.size()) == before or time.monotonic() > self.end:
                break
        return self.scenario, self.statement, self.outcome

    def size(self):
        return [(len(table.rows), len(table.columns)) for table in self.scenario.tables]

    def attempt(self, statement, scenario=None, way=None):
        scenario, way = scenario or self.scenario, way or self.way
        if time.monotonic() > self.end:
            return False
        try:
            outcome = scenario.run(statement, [way])
        except RuntimeError:
            return False
        same = outcome.kind == self.outcome.kind and (outcome.kind != "error" or alike(outcome.words, self.outcome.words))
        if not same or outcome.kind == "wrong" and not scenario.is_certain(statement):
            return False
        if scenario is not self.scenario:
            self.scenario.close()
        self.statement, self.scenario, self.outcome, self.way = statement, scenario, outcome, way
        return True

    # Statements

    def smaller_statement(self):
        again = True
        while again and time.monotonic() < self.end:
            again = False
            for tree in sorted(candidates(self.statement.tree), key=lambda tree: len(sql(tree, "sluice"))):
                text = sql(tree, "sluice")
                if text in self.seen:
                    continue
                self.seen.add(text)
                if self.attempt(self.statement.with_tree(tree)):
                    again = True
                    break

    # Tables

    def with_tables(self, made, forms=None, seed=None):
        old = self.scenario
        try:
            new = Scenario(old.driver, old.connection, made, forms or old.forms, old.ways, old.seed if seed is None else seed)
        except Exception:
            return False
        if self.attempt(self.statement, new):
            return True
        new.close()
        for table in old.tables:
            fill(old.connection, table)
        return False

    def fewer_tables(self):
        used = {node.value[0] for node in self.statement.tree.walk() if node.kind == "table"}
        kept = [table for table in self.scenario.tables if table.name in used]
        if len(kept) < len(self.scenario.tables):
            self.with_tables(kept)

    def fewer_rows(self):
        for at in range(len(self.scenario.tables)):
            size = max(1, len(self.scenario.tables[at].rows) // 2)
            while size and time.monotonic() < self.end:
                start, removed = 0, False
                while start < len(self.scenario.tables[at].rows):
                    rows = self.scenario.tables[at].rows
                    made = list(self.scenario.tables)
                    made[at] = made[at].with_rows(rows[:start] + rows[start + size:])
                    # Over no rows, an error here may be one that DuckDB only never comes to.
                    if (made[at].rows or self.outcome.kind == "wrong") and self.with_tables(made):
                        removed = True
                    else:
                        start += size
                if not removed or size > 1:
                    size //= 2

    def fewer_columns(self):
        for at in range(len(self.scenario.tables)):
            for name, _ in list(self.scenario.tables[at].columns):
                table = self.scenario.tables[at]
                if len(table.columns) == 1 or name not in table.types() or time.monotonic() > self.end:
                    continue
                used = any(node.kind == "column" and node.value[1] == name for node in self.statement.tree.walk())
                if used and self.is_used(at, name):
                    continue
                made = list(self.scenario.tables)
                made[at] = table.without(name)
                self.with_tables(made)

    def is_used(self, at, name):
        aliases = {node.value[1] for node in self.statement.tree.walk() if node.kind == "table" and node.value[0] == self.scenario.tables[at].name}
        return any(node.kind == "column" and node.value[1] == name and (node.value[0] is None or node.value[0] in aliases)
                   for node in self.statement.tree.walk())

    def one_object(self):
        """One object, and CSV, unless the form or the cut is part of it."""
        for form in ("csv", "json"):
            if set(self.scenario.forms.values()) != {form} and (form != "csv" or not any(it.has_empty_text() for it in self.scenario.tables)):
                if self.with_tables(self.scenario.tables, {name: form for name in self.scenario.forms}):
                    break


def family(node):
    """Types that may stand for each other without an implicit cast that only one of the two has."""
    kind = node.type[0] if node.type else None
    return "number" if kind in ("int", "float", "decimal") else kind


def alike(one, two):
    return one.split(":")[0][:60] == two.split(":")[0][:60]


def candidates(tree):
    """Trees with one piece left out or replaced by a part of itself."""
    for path in list(paths(tree)):
        node = at(tree, path)
        # In ORDER BY and GROUP BY, a number is a column's place.
        is_place = path and at(tree, path[:-1]).kind in ("by", "grouping")
        yield from (replaced(tree, path, new) for new in smaller(node) if not (is_place and new.kind == "literal"))


def paths(node, path=()):
    if node.kind == "window":
        return
    yield path
    if node.kind == "expression" and node.value.frozen:
        # An order within, without which the answer is open.
        return
    for index, kid in enumerate(node.kids):
        if kid is not None:
            yield from paths(kid, path + (index,))


def at(tree, path):
    for index in path:
        tree = tree.kids[index]
    return tree


def replaced(tree, path, new):
    if not path:
        return new
    node = Node(tree.kind, tree.kids, tree.value, tree.type)
    node.kids[path[0]] = replaced(tree.kids[path[0]], path[1:], new)
    return node


def smaller(node):
    """What a node may be replaced by."""
    kind = node.kind
    if kind in ("expression", "column"):
        if kind == "expression":
            for inner in node.walk():
                if inner is not node and inner.kind in EXPRESSIONS and inner.kind != "literal" and family(inner) == family(node):
                    yield inner
            if len(node.kids) > 2 and "{*}" in node.value.sluice and "{0}" in node.value.sluice:
                for index in range(1, len(node.kids)):
                    yield Node(kind, node.kids[:index] + node.kids[index + 1:], node.value, node.type)
        if node.type == BOOLEAN:
            yield literal("TRUE", BOOLEAN)
        elif node.type is not None and node.type[0] == "int":
            yield literal("1", node.type)
    elif kind == "select":
        limited = node.kids[LIMIT] is not None or node.kids[OFFSET] is not None
        for index, clause in enumerate(node.kids):
            if index == ITEMS or clause is None or index == ORDER and limited:
                continue
            made = list(node.kids)
            made[index] = None
            yield Node(kind, made, node.value, node.type)
        if limited:
            made = list(node.kids)
            made[ORDER] = made[LIMIT] = made[OFFSET] = None
            yield Node(kind, made, node.value, node.type)
        if node.value == "DISTINCT":
            yield Node(kind, node.kids, "", node.type)
        items = node.kids[ITEMS].kids
        if len(items) > 1:
            for index, gone in enumerate(items):
                made = list(node.kids)
                made[ITEMS] = many(items[:index] + items[index + 1:])
                if made[ORDER] is not None:
                    kept = [it for it in made[ORDER].kids if not (isinstance(it.kids[0].value, tuple) and it.kids[0].value[1] == gone.value)]
                    made[ORDER] = many(kept) if kept else None
                yield Node(kind, made, node.value, node.type)
        source = node.kids[1]
        if source is not None and source.kind == "derived" and source.kids[0].kind == "select":
            yield source.kids[0]
    elif kind == "setop":
        yield node.kids[0]
        yield node.kids[1]
        for index in (3, 4):
            if node.kids[index] is not None:
                made = list(node.kids)
                made[index] = None
                yield Node(kind, made, node.value, node.type)
        if node.kids[3] is None and node.kids[4] is None and node.kids[2] is not None:
            yield Node(kind, node.kids[:2] + [None] + node.kids[3:], node.value, node.type)
    elif kind == "join":
        yield node.kids[0]
        yield node.kids[1]
        if node.value[0] not in ("JOIN", "CROSS JOIN") and node.value[1] != "":
            yield Node(kind, node.kids, ("JOIN", *node.value[1:]), node.type)
    elif kind == "grouping":
        if node.value:
            yield Node(kind, node.kids, "", node.type)
        if len(node.kids) > 1:
            for index in range(len(node.kids)):
                yield Node(kind, node.kids[:index] + node.kids[index + 1:], node.value, node.type)
    elif kind == "derived" and node.kids[0].kind == "select" and node.value[1] is None:
        source = node.kids[0].kids[1]
        if source is not None and source.kind == "table":
            yield Node("table", (), (source.value[0], node.value[0]))
    elif kind == "values" and len(node.kids) > 1:
        for index in range(len(node.kids)):
            yield Node(kind, node.kids[:index] + node.kids[index + 1:], node.value, node.type)
