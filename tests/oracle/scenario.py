"""Tables in DuckDB and in the store, and statements that run over both."""

import itertools
import random
import shutil

import answers
import differences
import tables
from driver import Ended
from tree import sql

_numbers = itertools.count(1)
# The scenario whose rows DuckDB also has in reverse.
_reversed = None


class Outcome:
    """What became of a statement. `kind` is one of `same`, `refused` by DuckDB, `intended`, `wrong`, `error`, `panic`."""

    def __init__(self, kind, words="", theirs=None, ours=None, session=None):
        self.kind, self.words, self.theirs, self.ours, self.session = kind, words, theirs, ours, session

    def is_finding(self):
        return self.kind in ("wrong", "error", "panic")


class Scenario:
    """Some tables, each stored in one form; sessions are ways to run statements over them."""

    def __init__(self, driver, connection, made, forms, ways, seed):
        self.driver, self.connection = driver, connection
        self.tables, self.forms, self.ways, self.seed = made, forms, ways, seed
        self.number = next(_numbers)
        for table in made:
            tables.fill(connection, table)
        self.opened = {}
        self.place()

    def place(self):
        rng = random.Random(self.seed)
        self.keys = {}
        for table in self.tables:
            form = self.forms[table.name]
            for key, content in tables.objects(table, form, rng).items():
                key = f"s{self.number}/{table.name}/{key}"
                self.keys[key] = content
                self.driver.put(key, content)

    def definitions(self):
        location = f"s3://{self.driver.bucket}/s{self.number}"
        return [tables.ddl(table, self.forms[table.name], f"{location}/{table.name}/") for table in self.tables
                if table.rows or table.partition is None]

    def session(self, way):
        name = f"{self.number}/{way}"
        if name not in self.opened:
            error = self.driver.open(name, self.ways[way] + self.definitions())
            if error:
                raise RuntimeError(f"{way}: {error}")
            self.opened[name] = way
        return name

    def close(self):
        try:
            for name in self.opened:
                self.driver.close(name)
        except Ended:
            pass
        shutil.rmtree(self.driver.folder / f"s{self.number}", ignore_errors=True)

    def run(self, statement, ways):
        """Runs a statement in DuckDB and in some ways here; the first outcome that is not `same`."""
        try:
            theirs = answers.of_duckdb(self.connection, sql(statement.tree, "duckdb"))
        except Exception as error:  # DuckDB's errors are of many classes.
            return Outcome("refused", str(error).split("\n")[0])
        if len(theirs.rows) > 3000:
            return Outcome("refused", "too many rows")
        try:
            for way in ways:
                outcome = self.run_in(self.session(way), statement, way, theirs)
                if outcome.kind != "same":
                    return outcome
        except Ended:
            self.driver.start()
            self.opened = {}
            self.place()
            return Outcome("panic", "the process ended", theirs, None, way)
        return Outcome("same", theirs=theirs)

    def run_in(self, session, statement, way, theirs):
        """The outcome of a statement in one session."""
        given = [self.driver.run(text, [session])[0] for text in statement.texts()]
        if statement.check == "duckdb":
            return self.judged(statement, way, given[0], theirs)
        if not given:
            return Outcome("same")
        for answer in given:
            if "error" in answer:
                outcome = self.judged(statement, way, answer, theirs)
                return outcome if outcome.kind == "panic" else Outcome("refused", outcome.words)
        ours, whole = (answers.of_sluice(answer) for answer in given)
        words = answers.difference(ours, whole, False, statement.is_approximate())
        return Outcome("wrong", words, whole, ours, way) if words else Outcome("same")

    def judged(self, statement, way, answer, theirs):
        error = answer.get("error")
        if error is not None:
            # The cause comes last, below the rules that it came through.
            error = error.rsplit("caused by\n", 1)[-1].strip()
            if error == "panic" or "panicked" in error:
                return Outcome("panic", error, theirs, None, way)
            name = differences.intended(error, sql(statement.tree, "sluice"))
            if name:
                return Outcome("intended", name, theirs, None, way)
            return Outcome("error", error, theirs, None, way)
        ours = answers.of_sluice(answer)
        words = answers.difference(ours, theirs, statement.is_ordered(), statement.is_approximate(), statement.count_only)
        return Outcome("wrong", words, theirs, ours, way) if words else Outcome("same", theirs=theirs)

    def is_certain(self, statement):
        """Whether DuckDB gives the same over the rows in another order."""
        global _reversed
        if _reversed is not self:
            self.connection.execute("CREATE SCHEMA IF NOT EXISTS reversed")
            for table in self.tables:
                tables.fill(self.connection, table.with_rows(table.rows[::-1]), "reversed")
            _reversed = self
        text = sql(statement.tree, "duckdb")
        try:
            one = answers.of_duckdb(self.connection, text)
            self.connection.execute("SET search_path = 'reversed'")
            two = answers.of_duckdb(self.connection, text)
        except Exception:
            return False
        finally:
            self.connection.execute("SET search_path = 'main'")
        return answers.difference(one, two, statement.is_ordered(), statement.is_approximate(), statement.count_only) is None
