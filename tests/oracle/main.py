"""Random statements beside DuckDB. `tests/oracle/run --help` lists the options."""

import argparse
import collections
import os
import pathlib
import random
import subprocess
import sys
import time

import duckdb

import report
import tables
from driver import Driver
from queries import Queries
from scenario import Scenario
from shrink import Shrinker

HERE = pathlib.Path(__file__).parent
STATEMENTS = 40
ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]


def ways():
    """Names and their settings."""
    found = {}
    for line in (HERE / "ways.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, settings = line.partition(":")
            found[name] = [it.strip() for it in settings.split(";") if it.strip()]
    return found


def arguments():
    parser = argparse.ArgumentParser(prog="tests/oracle/run", description=__doc__)
    parser.add_argument("--cases", type=int, default=4000, help="statements [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn from [default: %(default)s]")
    parser.add_argument("--jobs", type=int, default=1, help="processes [default: %(default)s]")
    parser.add_argument("--without", default="", help="features not to generate, separated by commas: window, join, using, "
                        "subquery, exists, in-query, set-all, distinct-from, open-limit, distinct-on, text-number, decimal-float, nan, zero, "
                        "edge-date, wide, zone, lateral, recursive, rollup, bitwise, range, groups, ignore-nulls, quantified, nested-exists, "
                        "first-of-correlated, on-subquery, order-all, order-expression, shadow, star, …")
    parser.add_argument("--check", default="all", choices=["all", "duckdb", "tlp", "norec"], help="DuckDB, or an identity of "
                        "checks.py in this engine alone [default: %(default)s]")
    parser.add_argument("--known", help="a file of known causes, `NAME: PATTERN` a line, which are only counted")
    parser.add_argument("--ways", default="", help="ways to run beside auto [default: one at random for each statement]")
    parser.add_argument("--only", help="the scenario, or SCENARIO.STATEMENT, to run again")
    parser.add_argument("--findings", help="a file to append findings to")
    parser.add_argument("--driver", help="the test binary [default: the one that cargo builds]")
    parser.add_argument("--quick", action="store_true", help="do not minimise")
    return parser.parse_args()


def binary():
    command = ["cargo", "test", "--no-run", "--test", "it", "--message-format", "short"]
    built = subprocess.run(command, cwd=HERE.parent.parent, text=True, stderr=subprocess.PIPE, check=True).stderr
    return built[built.rindex("(") + 1:built.rindex(")")]


def drawn(seed, number):
    """The tables of a scenario and the forms in which they are stored."""
    rng = random.Random(f"{seed}/{number}")
    form = rng.choice(["csv", "csv", "json", "parquet", "parquet", "mixed"])
    empty_texts = form in ("json", "parquet")
    made = [tables.random_table(f"t{at}", rng, empty_texts) for at in range(rng.choice([2, 3, 3]))]
    if rng.random() < 0.25:
        made.append(tables.series_table("s0", rng))
    forms = {it.name: rng.choice(["csv", "json", "parquet"]) if form == "mixed" else form for it in made}
    return rng, made, forms


class Run:
    def __init__(self, options):
        self.options, self.ways, self.patterns = options, ways(), report.Known(options.known)
        self.driver = Driver(options.driver)
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        self.counted, self.errors = collections.Counter(), collections.Counter()
        self.causes, self.known = collections.Counter(), collections.Counter()

    def scenario(self, number, only=None):
        options = self.options
        rng, made, forms = drawn(options.seed, number)
        without = tuple(options.without.split(","))
        zone = rng.choice([None, None, *ZONES]) if "zone" not in without else None
        self.connection.execute(f"SET TimeZone = '{zone or 'UTC'}'")
        ways = {name: ([f"SET TIME ZONE = '{zone}'"] if zone else []) + settings for name, settings in self.ways.items()}
        scenario = Scenario(self.driver, self.connection, made, forms, ways, f"{options.seed}/{number}")
        queries = Queries(made, rng, without, zone)
        names = [name for name in self.ways if name != "auto"]
        for at in range(STATEMENTS):
            check = options.check if options.check != "all" else rng.choice(["duckdb"] * 8 + ["tlp", "norec"])
            statement = queries.statement() if check == "duckdb" else queries.identity(check)
            forced = options.ways.split(",") if options.ways else [rng.choice(names)]
            if only is not None and at != only:
                continue
            outcome = scenario.run(statement, ["auto", *forced])
            self.counted[outcome.kind] += 1
            if outcome.is_finding():
                self.found(scenario, statement, outcome, f"{options.seed}: --check {options.check} --only {number}.{at}")
        scenario.close()

    def is_known(self, statement, outcome):
        name = self.patterns.name(statement, outcome)
        if name:
            self.known[name] += 1
        return name is not None

    def found(self, scenario, statement, outcome, where):
        if self.is_known(statement, outcome):
            return
        if outcome.kind != "wrong":
            kind = report.error_kind(outcome)
            self.errors[kind] += 1
            if self.errors[kind] > 3:
                return
        elif not scenario.is_certain(statement):
            self.counted["open"] += 1
            return
        mine = scenario
        if not self.options.quick:
            copy = Scenario(self.driver, self.connection, scenario.tables, scenario.forms, scenario.ways, scenario.seed)
            mine, statement, outcome = Shrinker(copy, statement, outcome).shrink()
            # What was tried on the way is in DuckDB now.
            for table in scenario.tables:
                tables.fill(self.connection, table)
        cause = report.signature(statement, outcome, mine.tables)
        new = cause not in self.causes and not self.is_known(statement, outcome)
        if new:
            self.causes[cause] += 1
            text = report.reproduction(mine, statement, outcome, f"seed {where}")
            print(f"\n== {outcome.kind}\n{text}", flush=True)
            if self.options.findings:
                with open(self.options.findings, "a") as file:
                    file.write(f"\n== {outcome.kind}\n{text}\n")
        if mine is not scenario:
            mine.close()

    def summary(self):
        words = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counted.items()))
        known = "".join(f", {count} {name}" for name, count in sorted(self.known.items()))
        return f"{sum(self.counted.values())} statements: {words}; {len(self.causes)} causes{known and '; known' + known[1:]}"


def main():
    options = arguments()
    options.driver = options.driver or binary()
    if options.jobs > 1:
        return in_parallel(options)
    tables.WITHOUT.update(options.without.split(","))
    run = Run(options)
    started = time.monotonic()
    if options.only:
        number, _, at = options.only.partition(".")
        run.scenario(int(number), int(at) if at else None)
    else:
        for number in range(-(-options.cases // STATEMENTS)):
            run.scenario(number)
            if number % 25 == 24:
                print(f"-- {number + 1} scenarios, {time.monotonic() - started:.0f} s: {run.summary()}", file=sys.stderr, flush=True)
    run.driver.end()
    print(f"{run.summary()}; {time.monotonic() - started:.0f} s")
    return 1 if run.causes else 0


def in_parallel(options):
    """As many processes, each with a seed of its own."""
    arguments = [it for it in sys.argv[1:]]
    processes = []
    for job in range(options.jobs):
        more = ["--jobs", "1", "--seed", str(options.seed * 1000 + job), "--cases", str(-(-options.cases // options.jobs)),
                "--driver", options.driver]
        processes.append(subprocess.Popen([sys.executable, __file__, *arguments, *more], env=os.environ))
    return max(process.wait() for process in processes)


if __name__ == "__main__":
    sys.exit(main())
