"""Identities that hold for any condition p, checked in this engine alone.

`tlp`: the rows with p, with NOT p, and with p IS NULL are all rows. `norec`: as many rows pass the filter p as a sum
counts, in which no optimizer can use p.
"""

from expressions import IS_NULL, NEGATED, function
from tables import BIGINT, BOOLEAN
from tree import FROM, ITEMS, WHERE, Node, Shape, expression, item, literal, select

# What marks the SELECT that an identity is about, so that no part of it is taken for it.
MARK = "ALL"
COUNT = expression(Shape("count(*)"), type=BIGINT)
SUM = Shape("sum(CASE WHEN {0} THEN 1 ELSE 0 END)", demands=0)


def pair(check, tree):
    """Two statements that answer alike; None if the statement has no condition."""
    if tree.kind != "select" or tree.value != MARK or tree.kids[WHERE] is None:
        return None
    items, source, where = tree.kids[ITEMS].kids, tree.kids[FROM], tree.kids[WHERE]
    if check == "norec":
        counted = expression(function("coalesce"), expression(SUM, where, type=BIGINT), literal("0", BIGINT), type=BIGINT)
        return select([item(COUNT, "n")], source, where), select([item(counted, "n")], source)
    one, two, three = (select(items, source, it) for it in (where, expression(NEGATED, where, type=BOOLEAN), expression(IS_NULL, where, type=BOOLEAN)))
    parts = Node("setop", [Node("setop", [one, two, None, None, None], "UNION ALL"), three, None, None, None], "UNION ALL")
    return parts, select(items, source)
