"""Counts the results of Ceph's tests by group: `tests/ceph/run` starts it.

A test that fails must be in a group of `groups.toml`; each test belongs to the first group with a pattern for it.
"""

import sys
import tomllib
import xml.etree.ElementTree
from fnmatch import fnmatchcase


def outcomes(file):
    """Names of tests with how they ended."""
    for case in xml.etree.ElementTree.parse(file).iter("testcase"):
        ends = {child.tag for child in case} & {"failure", "error", "skipped"}
        yield case.get("name"), "pass" if not ends else "skip" if ends == {"skipped"} else "fail"


def main(results, groups):
    with open(groups, "rb") as file:
        groups = tomllib.load(file)["group"]
    counts = {group["name"]: {"pass": 0, "fail": 0, "skip": 0} for group in groups}
    offered = {"pass": 0, "fail": 0, "skip": 0}
    unexpected = []
    for name, outcome in outcomes(results):
        found = (g["name"] for g in groups if any(fnmatchcase(name, p) for p in g["tests"]))
        group = next(found, None)
        (counts[group] if group else offered)[outcome] += 1
        if group is None and outcome == "fail":
            unexpected.append(name)
    line = "| {} | {} | {} | {} |".format
    print(line("group", "pass", "fail", "skip"))
    print("|---|---|---|---|")
    print(line("offered", *offered.values()))
    for name, count in counts.items():
        if any(count.values()):
            print(line(name, *count.values()))
    if unexpected:
        sys.exit("failed, and in no group:\n  " + "\n  ".join(sorted(unexpected)))


main(*sys.argv[1:])
