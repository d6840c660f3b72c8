"""Reads versions of a table with sluice, and compares the rows with the expected ones."""

import decimal
import json
import os
import subprocess
import sys


def plain(value):
    """A value as `sluice sql --format json` writes it, as text: NULL, texts and numbers stay different."""
    if isinstance(value, (bool, str)) or value is None:
        return json.dumps(value)
    if isinstance(value, (int, float, decimal.Decimal)):
        return str(decimal.Decimal(str(value)).normalize())
    return json.dumps(str(value))


def read(table, version, columns, scan):
    """The rows of a version, sorted."""
    listed = ", ".join(f'"{name}"' for name in columns)
    query = f"SELECT {listed} FROM delta_scan('s3://bench/{table}', version => {version})"
    command = [os.environ["SLUICE"], "sql", "--endpoint", os.environ["ENDPOINT"], "--store", "sluice"]
    command += ["--format", "json", "-c", f"SET sluice.scan = '{scan}'", "-c", query]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{table} version {version} with {scan}: {query}\n{done.stderr}")
    rows = json.loads(done.stdout, parse_float=decimal.Decimal)
    return sorted(tuple(plain(row[name]) for name in columns) for row in rows)


def check(table, version, columns, rows):
    """Ends the program if sluice reads other rows."""
    expected = sorted(tuple(plain(value) for value in row) for row in rows)
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
