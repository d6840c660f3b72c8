"""Reads every version of a table with sluice, and compares the rows with the expected ones."""

import csv
import io
import os
import subprocess
import sys


def text(value):
    """A value as `sluice sql --format csv` writes it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return str(value)


def read(table, version, columns, scan):
    """The rows of a version as text, sorted."""
    listed = ", ".join(f'"{name}"' for name in columns)
    query = f"SELECT {listed} FROM delta_scan('s3://bench/{table}', version => {version})"
    command = [os.environ["SLUICE"], "sql", "--endpoint", os.environ["ENDPOINT"], "--store", "sluice"]
    command += ["--format", "csv", "-c", f"SET sluice.scan = '{scan}'; {query}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{table} version {version} with {scan}: {query}\n{done.stderr}")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    # An empty line is a row with one NULL.
    return sorted(tuple(row) if row else ("",) for row in rows[1:])


def check(table, version, columns, rows):
    """Ends the program if sluice reads other rows."""
    expected = sorted(tuple(text(value) for value in row) for row in rows)
    for scan in ["get", "select"]:
        found = read(table, version, columns, scan)
        if found == expected:
            continue
        missing = [row for row in expected if row not in found][:5]
        added = [row for row in found if row not in expected][:5]
        sys.exit(
            f"{table} version {version} with {scan}: {len(found)} rows for {len(expected)}\n"
            f"missing: {missing}\nadded: {added}"
        )
