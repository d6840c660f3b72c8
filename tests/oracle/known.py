"""Rewrites `corpus/known_failures.txt` from a run of the recorded statements.

    failures=$(mktemp -d)
    SLUICE_ORACLE_FAILURES=$failures cargo test --test it oracle::
    python3 tests/oracle/known.py "$failures"

Classes of statements that were listed before are kept; others are `new`, to be looked at.
"""

import pathlib
import sys

LIST = pathlib.Path(__file__).parent / "corpus/known_failures.txt"
HEAD = "# Recorded statements that are wrong still, and the class of each. A statement that passes must be struck.\n"


def place(label):
    name, _, statement = label.partition("/")
    return name, int(statement) if statement.isdigit() else 0, statement


def main():
    folder = pathlib.Path(sys.argv[1])
    before = dict(line.split() for line in LIST.read_text().splitlines() if line and not line.startswith("#"))
    failed = {line for file in folder.iterdir() for line in file.read_text().split()}
    LIST.write_text(HEAD + "".join(f"{label} {before.get(label, 'new')}\n" for label in sorted(failed, key=place)))
    print(f"{len(before)} before, {len(failed)} now, {len(failed - set(before))} of them new")


if __name__ == "__main__":
    main()
