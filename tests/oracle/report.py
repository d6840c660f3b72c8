"""A finding as text that stands alone, and what tells findings of one cause."""

import pathlib
import re

import answers
from tables import constant, ddl, name_of
from tree import sql


class Known:
    """Causes that are known: a file with a line `NAME: PATTERN` for each, a regular expression over the kind, the
    statement and the words of a finding."""

    def __init__(self, path):
        lines = pathlib.Path(path).read_text().splitlines() if path else []
        pairs = [line.split(":", 1) for line in lines if line.strip() and not line.startswith("#")]
        self.patterns = [(name, re.compile(pattern.strip())) for name, pattern in pairs]

    def name(self, statement, outcome):
        """The name of the cause; None if it is new."""
        text = f"{outcome.kind} {' '.join(statement.texts())} -- {' '.join(outcome.words.split())}"
        return next((name for name, pattern in self.patterns if pattern.search(text)), None)


def signature(statement, outcome, tables):
    """Alike for findings that probably have one cause."""
    text = sql(statement.tree, "sluice")
    types = {name: name_of(type).split("(")[0] for table in tables for name, type in table.columns}
    text = re.sub(r"'[^']*'", "S", text)
    text = re.sub(r"\b[advwn]\d+\.(\w+)", lambda found: types.get(found[1], found[1]), text)
    text = re.sub(r"\b([advwnots])\d+\b", r"\1", text)
    text = re.sub(r"-?\b\d+(\.\d+)?\b", "N", text)
    text = re.sub(r"(?:, (?:N|S)){3,}", ", …", text)
    return f"{outcome.kind} {error_kind(outcome) if outcome.kind != 'wrong' else ''} {text}"


def error_kind(outcome):
    text = re.sub(r"'[^']*'|`[^`]*`|\d+", "_", outcome.words)
    return re.sub(r"\b[a-z]+_\.\w+", "_", text)[:70]


def inline(table):
    """The table without a file."""
    columns = ", ".join(f"{name} {name_of(type)}" for name, type in table.columns)
    cell = lambda value, type: f"CAST(NULL AS {name_of(type)})" if value is None else constant(value, type)
    rows = ", ".join("(" + ", ".join(cell(value, type) for value, (_, type) in zip(row, table.columns)) + ")" for row in table.rows)
    return f"CREATE TABLE {table.name} ({columns}) AS VALUES {rows}"


def reproduction(scenario, statement, outcome, where):
    """The finding as a script, inline if it does not take a file."""
    ways = scenario.ways[outcome.session]
    definitions, files = [], []
    if stands_inline(scenario, statement, outcome):
        definitions = [inline(table) for table in scenario.tables]
    else:
        for key, content in scenario.keys.items():
            key = key.split("/", 1)[1]
            if key.endswith(".parquet"):
                table = next(it for it in scenario.tables if it.name == key.split("/")[0])
                rows = "\n".join(answers.shown(row) for row in table.rows[:40])
                files.append(f"-- s3://bucket/{key}, Parquet, a part of the rows\n{rows}")
            else:
                files.append(f"-- s3://bucket/{key}\n{content.decode().rstrip()}")
        definitions = [ddl(table, scenario.forms[table.name], f"s3://bucket/{table.name}/") for table in scenario.tables]
    texts = statement.texts()
    lines = files + [f"{text};" for text in ways + definitions + texts]
    duckdb = sql(statement.tree, "duckdb")
    if statement.check != "duckdb":
        lines.append(f"-- by {statement.check}, the first answers as the second")
    elif [duckdb] != texts:
        lines.append(f"-- in DuckDB: {duckdb}")
    lines.append(f"-- right: {answers.shown_rows(outcome.theirs.rows)}")
    if outcome.kind == "wrong":
        lines.append(f"-- here:  {answers.shown_rows(outcome.ours.rows)} ({outcome.words})")
    else:
        lines.append(f"-- here:  {outcome.kind}: {outcome.words}")
    lines.append(f"-- {outcome.session}, {where}")
    return "\n".join(lines)


def stands_inline(scenario, statement, outcome):
    if not all(table.rows for table in scenario.tables):
        return False
    name = f"inline{scenario.number}"
    definitions = [inline(table) for table in scenario.tables]
    if scenario.driver.open(name, scenario.ways[outcome.session] + definitions):
        return False
    again = scenario.run_in(name, statement, outcome.session, outcome.theirs)
    scenario.driver.close(name)
    return again.kind == outcome.kind
