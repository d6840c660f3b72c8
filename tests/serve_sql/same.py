"""Compares two answers as CSV: names of columns, and values with a tolerance for floating point."""

import csv
import sys


def rows(path):
    with open(path, newline="") as file:
        return [row or [""] for row in csv.reader(file)]


def same(one, other):
    if one == other:
        return True
    try:
        one, other = float(one), float(other)
    except ValueError:
        return False
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1)


def check(expected, found, what):
    assert len(expected) == len(found), f"{what}: {len(found)} rows instead of {len(expected)}"
    for number, (one, other) in enumerate(zip(expected, found)):
        assert len(one) == len(other), f"{what}, row {number}: {other} instead of {one}"
        for a, b in zip(one, other):
            assert same(a, b), f"{what}, row {number}: {other} instead of {one}"


if __name__ == "__main__":
    check(rows(sys.argv[1]), rows(sys.argv[2]), sys.argv[3])
