"""Random histories of tables that `deltalake` writes: appends, overwrites, deletes, updates, merges, new columns,
compaction, checkpoints, and log files that a checkpoint made superfluous.

Usage: histories.py FOLDER HISTORIES SEED
"""

import random
import sys

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import answers

REGIONS = ["north", "south/=%", "a b", "ü", None]


def rows(draw, count, columns):
    """A table of `count` rows."""
    made = {
        "id": pa.array([draw.randrange(1000) for _ in range(count)], pa.int64()),
        "label": pa.array([draw.choice(["x", "", None, "ü,\"q", f"n{draw.randrange(9)}"]) for _ in range(count)], pa.string()),
        "region": pa.array([draw.choice(REGIONS) for _ in range(count)], pa.string()),
        "part": pa.array([draw.choice([None, 0, 1, -3]) for _ in range(count)], pa.int32()),
        "price": pa.array([draw.choice([None, 0.5, 1.25, -2.0]) for _ in range(count)], pa.float64()),
    }
    for name in columns:
        if name.startswith("more"):
            made[name] = pa.array([draw.choice([None, draw.randrange(99)]) for _ in range(count)], pa.int64())
    return pa.table({name: made[name] for name in columns})


def step(draw, folder, columns, partitions):
    """Changes the table once."""
    table = DeltaTable(folder)
    limit = draw.randrange(1000)
    action = draw.choice(["append", "append", "delete", "update", "merge", "overwrite", "widen", "compact", "checkpoint"])
    if action == "append":
        write_deltalake(folder, rows(draw, draw.randrange(1, 60), columns), mode="append")
    elif action == "overwrite":
        write_deltalake(folder, rows(draw, draw.randrange(0, 40), columns), mode="overwrite")
    elif action == "delete":
        table.delete(draw.choice([f"id < {limit}", "label IS NULL", f"part = 1 AND id > {limit}", "region = 'a b'"]))
    elif action == "update":
        table.update(updates={"label": "'changed'"}, predicate=f"id > {limit}")
    elif action == "merge":
        source = rows(draw, draw.randrange(1, 20), columns)
        kept = {}
        for place, number in enumerate(source.column("id").to_pylist()):
            kept.setdefault(number, place)
        source = source.take(list(kept.values()))
        merge = table.merge(source, predicate="t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
    elif action == "widen":
        columns.append(f"more{len(columns)}")
        write_deltalake(folder, rows(draw, draw.randrange(1, 30), columns), mode="append", schema_mode="merge")
    elif action == "compact":
        table.optimize.compact()
    else:
        table.create_checkpoint()


def main():
    folder, histories, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    versions = 0
    for number in range(histories):
        draw = random.Random(seed * 1_000_003 + number)
        name = f"history{number}"
        path = f"{folder}/{name}"
        columns = ["id", "label", "region", "part", "price"]
        draw.shuffle(columns)
        partitions = draw.sample(["region", "part"], draw.randrange(3)) or None
        write_deltalake(path, rows(draw, draw.randrange(0, 50), columns), partition_by=partitions)
        for _ in range(draw.randrange(1, 7)):
            step(draw, path, columns, partitions)
        last = DeltaTable(path).version()
        for version in sorted({last, draw.randrange(last + 1)}):
            read = DeltaTable(path, version=version).to_pyarrow_table()
            answers.check(name, version, read.column_names, zip(*(c.to_pylist() for c in read.columns)))
            versions += 1
    print(f"sluice and deltalake agree on {versions} versions of {histories} tables")


main()
