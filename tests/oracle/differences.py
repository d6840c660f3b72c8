"""The table of differences on purpose."""

import pathlib
import tomllib

from tables import BIGINT
from tree import ATOM, Shape, expression

TABLE = tomllib.loads((pathlib.Path(__file__).parent / "differences.toml").read_text())["difference"]
BY_NAME = {entry["name"]: entry for entry in TABLE}


def shape(name, binds=ATOM, demands=0, **more):
    """An expression that the two write differently to say the same."""
    entry = BY_NAME[name]
    return Shape(entry["sluice"], entry["duckdb"], binds, demands, **more)


def part(name, of):
    """The part of a date or timestamp."""
    entry = BY_NAME["part of a timestamp"]
    return expression(Shape(*(entry[side].replace("{1}", name) for side in ("sluice", "duckdb")), demands=0), of, type=BIGINT)


def words(name):
    entry = BY_NAME[name]
    return entry["sluice"], entry["duckdb"]


def intended(error, statement):
    """The name of the difference that an error of ours on a statement is, if it is one."""
    for entry in TABLE:
        if any(words in error for words in entry.get("errors", ())) and any(it in statement for it in entry.get("casts", [""])):
            return entry["name"]
    return None
