"""Records the corpus: statements over fixed tables with the answers of DuckDB.

`tests/oracle/record` writes `corpus/NAME.json` (the tables) and `corpus/NAME.slt` (the statements): `classes` from the
statements in `classes/`, which are written by hand, and `r01` to `r16` from the generator.
"""

import argparse
import decimal
import json
import pathlib
import random
import re
import sys

import duckdb

import answers
import tables
from queries import Queries
from scenario import Scenario
from tree import sql

HERE = pathlib.Path(__file__).parent
FILES, STATEMENTS = 16, 160
# The most rows and letters of an answer.
ROWS, LETTERS = 30, 700


def kind_of(type, approximate):
    if type in ("DOUBLE", "FLOAT"):
        return "A" if approximate else "R"
    if re.match(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL)", type):
        return "I"
    return "D" if type.startswith(("DATE", "TIMESTAMP")) else "T"


def shown(value, kind):
    if value is None:
        return "NULL"
    if kind == "I":
        return f"{value:f}" if isinstance(value, decimal.Decimal) else str(value)
    if kind == "T" and value not in ("true", "false"):
        return "'" + value.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t") + "'"
    return str(value)


def record(label, text, answer, ordered, approximate):
    """A statement and its answer in the form of sqllogictest."""
    kinds = "".join(kind_of(type, approximate) for type in answer.types)
    # Booleans and texts share a kind; a text that reads like a boolean keeps its apostrophes.
    lines = []
    for row in answer.rows:
        cells = [f"'{value}'" if kind == "T" and type == "VARCHAR" and value in ("true", "false") else shown(value, kind)
                 for value, kind, type in zip(row, kinds, answer.types)]
        lines.append("\t".join(cells))
    if not ordered:
        lines.sort()
    rows = "".join(f"{line}\n" for line in lines)
    return f"query {kinds} {'nosort' if ordered else 'rowsort'} {label}\n{text}\n----\n{rows}\n"


def as_json(made):
    described = []
    for table in made:
        rows = [[None if value is None else tables.text_of(value, type) for value, (_, type) in zip(row, table.columns)]
                for row in table.rows]
        described.append({"name": table.name, "columns": [[name, tables.name_of(type)] for name, type in table.columns],
                          "partition": table.partition, "rows": rows})
    lines = []
    for table in described:
        rows = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in table.pop("rows"))
        lines.append(json.dumps(table, ensure_ascii=False)[:-1] + ', "rows": [\n' + rows + "\n]}")
    return "[\n" + ",\n".join(lines) + "\n]\n"


class Certain(Scenario):
    """Tables in DuckDB alone."""

    def __init__(self, connection, made):
        self.connection, self.tables = connection, made
        for table in made:
            tables.fill(connection, table)


def drawn(connection, seed, number):
    """Statements of a file, each with rows if possible and unlike the others."""
    rng = random.Random(f"{seed}/{number}")
    empty_texts = number % 4 == 0
    made = []
    while len(made) < 3:
        table = tables.random_table(f"t{len(made)}", rng, empty_texts, most=24)
        if len(table.rows) >= 8 or len(made) == 2 and len(table.rows) > 0:
            made.append(table)
    if number % 4 == 1:
        made.append(tables.series_table("s0", rng))
    scenario = Certain(connection, made)
    queries = Queries(made, rng)
    found, seen, empty = [], set(), 0
    while len(found) < STATEMENTS:
        statement = queries.statement()
        text = sql(statement.tree, "sluice")
        if statement.count_only or text in seen or len(text) > 700 or "\n" in text:
            continue
        seen.add(text)
        try:
            answer = answers.of_duckdb(connection, sql(statement.tree, "duckdb"))
        except Exception:
            continue
        letters = sum(len(str(value)) for row in answer.rows for value in row)
        if len(answer.rows) > ROWS or letters > LETTERS or not scenario.is_certain(statement):
            continue
        if not answer.rows:
            empty += 1
            if empty > STATEMENTS // 8:
                continue
        found.append(record(str(len(found) + 1), text, answer, statement.is_ordered(), statement.is_approximate()))
    return made, found


def parsed_type(text):
    for type in [*tables.NAMES, *tables.DECIMALS, *tables.TIMESTAMPS]:
        if tables.name_of(type) == text and type not in (tables.DIGITS, tables.DAYS):
            return type
    found = re.match(r"DECIMAL\((\d+), ?(\d+)\)", text)
    return tables.DECIMAL(int(found[1]), int(found[2]))


class Texts(tables.Table):
    """A table whose values are texts already."""


def by_hand(connection):
    """The statements in `classes/`: a paragraph each, with `# LABEL` first; `#ordered`, `#duckdb TEXT`, `#about` may follow."""
    described = json.loads((HERE / "classes/tables.json").read_text())
    for table in described:
        rows = table.get("rows")
        if rows is None:
            rows = [[value for value in row] for row in connection.execute(table.pop("series")).fetchall()]
        columns = [(name, parsed_type(type)) for name, type in table["columns"]]
        table["made"] = tables.Table(table["name"], columns, [[None if it is None else str(it) for it in row] for row in rows],
                                     table.get("partition"))
        tables.fill(connection, table["made"])
    found, wrong = [], 0
    for paragraph in (HERE / "classes/statements.sql").read_text().strip().split("\n\n"):
        lines = paragraph.strip().splitlines()
        notes = [line for line in lines if line.startswith("#")]
        text = " ".join(line.strip() for line in lines if not line.startswith("#"))
        label = notes[0][1:].strip().replace(" ", "-")
        other = next((note[len("#duckdb "):] for note in notes if note.startswith("#duckdb ")), text)
        try:
            answer = answers.of_duckdb(connection, other)
        except Exception as error:
            print(f"{label}: {text}\n  {error}", file=sys.stderr)
            wrong += 1
            continue
        found.append(record(label, text, answer, "#ordered" in notes, "#about" in notes))
    if wrong:
        sys.exit(1)
    return [table["made"] for table in described], found


def write(name, made, found):
    (HERE / f"corpus/{name}.json").write_text(as_json(made))
    head = f"# Over the tables of {name}.json; the answers are those of DuckDB {duckdb.__version__}.\n# Written by tests/oracle/record.\n\n"
    (HERE / f"corpus/{name}.slt").write_text(head + "".join(found))


def main():
    parser = argparse.ArgumentParser(prog="tests/oracle/record", description=__doc__)
    parser.add_argument("--seed", type=int, default=44, help="what the statements are drawn from [default: %(default)s]")
    parser.add_argument("names", nargs="*", help="the files to write [default: all]")
    options = parser.parse_args()
    names = options.names or ["classes", *(f"r{number:02}" for number in range(1, FILES + 1))]
    for name in names:
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        made, found = by_hand(connection) if name == "classes" else drawn(connection, options.seed, int(name[1:]))
        write(name, made, found)
        print(f"{name}: {len(found)} statements")


if __name__ == "__main__":
    main()
