"""Measures the same statements on several readers of the same bytes, in one run.

CPU seconds are those of the process that does the work: the store's, from /proc, or for DuckDB this
one. Wall seconds are the client's. Every number is the median of `--repeat` runs, after one that
is not counted, so that all read from the page cache.
"""

import argparse
import gzip
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import boto3
import duckdb

import servers
import whole_objects
from statements import COLUMNS, STATEMENTS

BUCKET = "compare"
SAMPLE_SECONDS = 0.3


def arguments():
    parser = argparse.ArgumentParser(prog="benches/select/run", description=__doc__)
    parser.add_argument("--sluice", default="target/release/sluice", help="path of the binary")
    parser.add_argument("--before", help="path of another binary of sluice, to be measured beside it")
    parser.add_argument("--generator", help="the binary that writes the objects, if not --sluice")
    parser.add_argument("--minio", default="minio", help="path of the binary, or '' to skip it")
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor (default 1)")
    parser.add_argument("--bytes", type=int, default=1 << 30, help="of GET and PUT (default 1 GiB)")
    parser.add_argument("--repeat", type=int, default=5, help="runs that are counted (default 5)")
    parser.add_argument("--only", default="", help="statements whose format and name hold this, as in 'csv: count'; 'objects' is GET and PUT")
    parser.add_argument("--data", help="folder to keep the generated objects in")
    parser.add_argument("--logs", help="folder to keep the stores' logs in")
    return parser.parse_args()


def version(*command):
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return said.splitlines()[0].strip()


def minio_version(binary):
    """What it calls itself; for one built by `go install`, which calls itself nothing, its module."""
    if not shutil.which("go"):
        return version(binary, "--version")
    said = subprocess.run(["go", "version", "-m", shutil.which(binary)], capture_output=True, text=True)
    modules = [line.split()[1:3] for line in said.stdout.splitlines() if line.startswith("\tmod\t")]
    return " ".join([version(binary, "--version"), *(modules[0] if modules else [])])


def generate(binary, scale, folder):
    """lineitem as the product writes it; what is there already is not written again."""
    objects = {}
    for format in ("csv", "parquet"):
        path = folder / f"sf{scale:g}/{format}/lineitem/lineitem.00.{format}"
        if not path.exists():
            subprocess.run(
                [binary, "generate", "tpch", "--scale", str(scale), "--format", format]
                + ["--tables", "lineitem", "--to", folder, "--ddl", folder / "ddl.sql"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        objects[format] = path
    derive(objects)
    return objects


def derive(objects):
    """The same rows gzipped, and as JSON, beside the CSV file."""
    csv = objects["csv"]
    for format in ("csv.gz", "jsonl", "json"):
        objects[format] = csv.with_name(f"lineitem.{format}")
    if not objects["csv.gz"].exists():
        with open(csv, "rb") as rows, gzip.open(objects["csv.gz"], "wb", compresslevel=6) as out:
            shutil.copyfileobj(rows, out, 1 << 20)
    for format in ("jsonl", "json"):
        if not objects[format].exists():
            array = "true" if format == "json" else "false"
            rows = f"SELECT * FROM {DuckDb(objects).tables['csv']}"
            duckdb.execute(f"COPY ({rows}) TO '{objects[format]}' (FORMAT json, ARRAY {array})")


class DuckDb:
    """DuckDB in this process, on one thread, reading the file itself."""

    name = "DuckDB"

    def __init__(self, objects):
        self.connection = duckdb.connect(config={"threads": 1})
        columns = ", ".join(f"'{name}': '{type}'" for name, type in COLUMNS.items())
        self.tables = {
            format: f"read_csv('{objects[format]}', header=true, auto_detect=false, delim=',', "
            f"quote='\"', escape='\"', columns={{{columns}}})"
            for format in ("csv", "csv.gz")
        }
        for format, layout in (("jsonl", "newline_delimited"), ("json", "array")):
            self.tables[format] = (
                f"read_json('{objects[format]}', format='{layout}', columns={{{columns}}})"
            )
        self.tables["parquet"] = f"read_parquet('{objects['parquet']}')"

    def cpu_seconds(self):
        return time.process_time()

    def answer(self, statement, some_key):
        sql = statement.duckdb.format(table=self.tables[statement.format], some_key=some_key)
        # As the stores do, it writes its rows as CSV.
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "answer.csv"
            self.connection.execute(f"COPY ({sql}) TO '{out}' (FORMAT csv, HEADER false)")
            return out.read_bytes(), {}


class Selecting:
    """A store that is sent S3 Select statements."""

    def __init__(self, store):
        self.store, self.name, self.cpu_seconds = store, store.name, store.cpu_seconds

    def answer(self, statement, some_key):
        expression = statement.expression(self.name, some_key)
        return self.store.select(BUCKET, f"lineitem.{statement.format}", statement.format, expression)


def measure(reader, statement, some_key, repeat):
    """The answer, the store's counts, and median CPU and wall seconds. Every sample repeats the statement
    until many ticks of the clock of CPU time have passed."""
    begun = time.perf_counter()
    answer, stats = reader.answer(statement, some_key)
    times = max(1, round(SAMPLE_SECONDS / (time.perf_counter() - begun)))
    cpu, wall = [], []
    for _ in range(repeat):
        cpu_before, wall_before = reader.cpu_seconds(), time.perf_counter()
        answers = [reader.answer(statement, some_key)[0] for _ in range(times)]
        cpu.append((reader.cpu_seconds() - cpu_before) / times)
        wall.append((time.perf_counter() - wall_before) / times)
        if any(again != answer for again in answers):
            raise RuntimeError("the answer differs from run to run")
    return answer, stats, max(statistics.median(cpu), 1e-4), statistics.median(wall)


def rows(answer):
    """An answer's fields, numbers as numbers, so that 1.0 is 1.00; in no particular order."""

    def field(text):
        try:
            return f"{float(text):.9g}"
        except ValueError:
            return text

    return sorted([field(text) for text in line.split(",")] for line in answer.decode().splitlines())


def compare(readers, statement, size, some_key, repeat, known):
    """Measures one statement on all readers and prints a line for each. `known` is what was measured
    before, to be compared with."""
    measured = {}
    for reader in readers:
        try:
            measured[reader.name] = measure(reader, statement, some_key, repeat)
        except Exception as error:
            measured[reader.name] = str(error)
    print(f"\n{statement.format}: {statement.name} ({size / 1e6:.0f} MB)")
    print(f"    {statement.expression('sluice', some_key)}")
    if statement.minio:
        print(f"    to MinIO, which knows no DECIMAL and no date without a time: {statement.minio}")
    print(f"  {'':8} {'MB/CPU-s':>10} {'MB/wall-s':>10} {'CPU s':>8} {'wall s':>8}")
    expected = measured["DuckDB"]
    for name, result in measured.items():
        if isinstance(result, str):
            print(f"  {name:8} refused or failed: {result[:120]}")
            continue
        answer, stats, cpu, wall = result
        notes = []
        if not isinstance(measured["sluice"], str) and name != "sluice":
            notes.append(f"sluice: {cpu / measured['sluice'][2]:.1f} x per CPU second")
        if statement.against in known.get(name, {}):
            times = cpu / known[name][statement.against]
            notes.append(f"{times:.2f} x {statement.against}")
        known.setdefault(name, {})[statement.name] = cpu
        if not isinstance(expected, str) and rows(answer) != rows(expected[0]):
            notes.append("ANSWER DIFFERS from DuckDB's")
        if statement.format == "parquet" and stats.get("BytesScanned", -1) >= 0:
            notes.append(f"{stats['BytesScanned'] / 1e6:.2f} MB scanned, as it counts")
        line = f"  {name:8} {size / cpu / 1e6:10.0f} {size / wall / 1e6:10.0f}"
        print(f"{line} {cpu:8.3f} {wall:8.3f}  {'; '.join(notes)}", flush=True)


def main():
    options = arguments()
    if not shutil.which(options.sluice):
        sys.exit(f"there is no {options.sluice}: cargo build --release, or give --sluice")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        data = pathlib.Path(options.data) if options.data else work / "data"
        logs = pathlib.Path(options.logs) if options.logs else work
        for folder in (data, logs, work / "sluice", work / "before", work / "minio"):
            folder.mkdir(parents=True, exist_ok=True)
        objects = generate(options.generator or options.sluice, options.scale, data)
        peers = [f"sluice: {options.sluice}", f"DuckDB: {duckdb.__version__}, one thread"]
        stores = []
        try:
            with open(logs / "sluice.log", "w") as log:
                stores.append(servers.sluice("sluice", options.sluice, str(work / "sluice"), log))
            if options.before:
                peers.append(f"before: {options.before}")
                with open(logs / "before.log", "w") as log:
                    before = servers.sluice("before", options.before, str(work / "before"), log)
                    stores.append(before)
            if options.minio and shutil.which(options.minio):
                peers.append(f"MinIO: {minio_version(options.minio)}")
                with open(logs / "minio.log", "w") as log:
                    stores.append(servers.minio(options.minio, str(work / "minio"), log))
            else:
                peers.append("MinIO: skipped, no such binary")
            for store in stores:
                for format, path in objects.items():
                    key = f"lineitem.{format}"
                    if format == "csv":
                        store.client.create_bucket(Bucket=BUCKET)
                    store.client.upload_file(str(path), BUCKET, key)
            duck = DuckDb(objects)
            some_key = duck.connection.execute(
                f"SELECT max(l_orderkey) // 2 FROM {duck.tables['parquet']}"
            ).fetchone()[0]
            some_key = duck.connection.execute(
                f"SELECT min(l_orderkey) FROM {duck.tables['parquet']} WHERE l_orderkey >= {some_key}"
            ).fetchone()[0]
            print(f"All numbers are measured: medians of {options.repeat} runs, page cache warm.")
            print(f"boto3 {boto3.__version__}, Python {platform.python_version()}, {os.cpu_count()} CPUs")
            print("\n".join(peers))
            known = {}
            readers = [duck] + [Selecting(store) for store in stores]
            for statement in STATEMENTS:
                if options.only in f"{statement.format}: {statement.name}":
                    size = objects[statement.format].stat().st_size
                    compare(readers, statement, size, some_key, options.repeat, known)
            if options.only in "objects":
                whole_objects.compare(stores, work, options.bytes, options.repeat)
        finally:
            for store in stores:
                store.stop()


if __name__ == "__main__":
    main()
