"""Writes the files beside this script with the tools that users have: `python write.py`, in an environment with
pandas, pyarrow, polars, duckdb, fastavro, cramjam, backports.zstd and pyspark (Java 17). `versions.txt` names the versions
that wrote the files of the repository. Tests read the files; nothing else needs this script.
"""

import datetime as dt
import decimal
import importlib.metadata
import json
import pathlib
import shutil
import tempfile

import duckdb
import fastavro
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.ipc as ipc

HERE = pathlib.Path(__file__).parent

# The rows of the Arrow files.
TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "name": pa.array(["pear", None, "größe", ""], pa.string()),
        "price": pa.array([1.5, -0.25, None, 1e300], pa.float64()),
        "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1969, 12, 31), dt.date(2026, 1, 1)]),
        "at": pa.array([dt.datetime(2024, 2, 29, 10, 30, 0, 123456), None, None, dt.datetime(1999, 1, 1)]),
        "amount": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-99.99"), decimal.Decimal("0.00")],
                           pa.decimal128(10, 2)),
        "flag": pa.array([True, False, None, True]),
        "tags": pa.array([["a", None], [], None, ["b"]], pa.list_(pa.string())),
        "place": pa.array([{"city": "Köln", "zip": 50667}, {"city": None, "zip": 1}, None, {"city": "Rom", "zip": None}],
                          pa.struct([("city", pa.string()), ("zip", pa.int32())])),
        "kind": pa.array(["new", "old", None, "new"]).dictionary_encode(),
    }
)

AVRO = {
    "type": "record",
    "name": "fruit",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "price", "type": ["null", "double"]},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "amount", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}]},
        {"name": "flag", "type": ["null", "boolean"]},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "place", "type": ["null", {"type": "record", "name": "place", "fields": [
            {"name": "city", "type": ["null", "string"]}, {"name": "zip", "type": ["null", "int"]}]}]},
        {"name": "kind", "type": {"type": "enum", "name": "kind", "symbols": ["new", "old"]}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
    ],
}

UTC = dt.timezone.utc
RECORDS = [
    {"id": 1, "name": "pear", "price": 1.5, "day": dt.date(2024, 2, 29),
     "at": dt.datetime(2024, 2, 29, 10, 30, 0, 123456, UTC), "amount": decimal.Decimal("1.50"), "flag": True,
     "tags": ["a", None], "place": {"city": "Köln", "zip": 50667}, "kind": "new", "counts": {"x": 1}},
    {"id": 2, "name": None, "price": -0.25, "day": None, "at": None, "amount": None, "flag": False,
     "tags": [], "place": {"city": None, "zip": 1}, "kind": "old", "counts": {}},
    {"id": 3, "name": "größe", "price": None, "day": dt.date(1969, 12, 31), "at": None,
     "amount": decimal.Decimal("-99.99"), "flag": None, "tags": [], "place": None, "kind": "new", "counts": {"y": 2}},
]

# Values of a partition column that need encoding, and NULL.
VALUES = ["a=b", "a/b", "50%", "it's", "a b", "größe", "日本", "x:y", None]


def arrow():
    with ipc.new_file(HERE / "pyarrow.arrow", TABLE.schema) as sink:
        sink.write_table(TABLE, max_chunksize=3)
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_stream(HERE / "pyarrow-zstd.arrows", TABLE.schema, options=options) as sink:
        sink.write_table(TABLE)
    feather.write_feather(TABLE, HERE / "pyarrow-lz4.ipc", compression="lz4")
    frame = pd.DataFrame({
        "id": [1, 2, 3],
        "name": ["pear", None, "größe"],
        "kind": pd.Categorical(["new", "old", None]),
        "at": pd.to_datetime(["2024-02-29 10:30", None, "1999-01-01 00:00"]),
    })
    frame.to_feather(HERE / "pandas.feather")
    names = ["id", "name", "price", "day", "amount", "tags", "place", "kind"]
    pl.from_arrow(TABLE.select(names)).write_ipc(HERE / "polars.arrow", compression="zstd")


def avro():
    schema = fastavro.parse_schema(AVRO)
    for codec in ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]:
        with open(HERE / f"fastavro-{codec}.avro", "wb") as out:
            fastavro.writer(out, schema, RECORDS, codec=codec)


def text():
    frame = pd.DataFrame({"id": [1, 2, 3], "price": [1.5, None, -1234.25], "note": ["a;b", None, "x,y"]})
    frame.to_csv(HERE / "pandas-decimal.csv", sep=";", decimal=",", index=False)
    frame.to_csv(HERE / "pandas-null.csv", na_rep="NULL", index=False)
    frame.to_csv(HERE / "pandas-n.csv", na_rep="\\N", sep="|", index=False)
    pl.from_pandas(frame).write_csv(HERE / "polars-null.csv", null_value="n/a", separator="\t")
    con = duckdb.connect()
    con.execute("create table t as select * from frame")
    con.execute(f"copy t to '{HERE}/duckdb-null.csv' (nullstr 'nil', delim '|')")
    lists = "select unnest([1, 2, 3, 4]) as id, unnest([[{'a': 1, 'b': ['x']}], [null], [null, {'a': 2, 'b': [null]}], []]) as l"
    con.execute(f"copy ({lists}) to '{HERE}/duckdb-lists.json' (format json)")
    con.execute(f"copy ({lists}) to '{HERE}/duckdb-lists-array.json' (format json, array true)")


def union():
    """Files of one table whose columns differ, in each format."""
    folder = HERE / "union"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    one = pd.DataFrame({"id": [1, 2], "name": ["pear", "fig"], "price": [1.5, 2.0]})
    two = pd.DataFrame({"price": [3, 4], "id": [3, 4]})
    three = pd.DataFrame({"kind": ["new"], "name": ["plum"], "id": [5]})
    for number, frame in enumerate([one, two, three], 1):
        frame.to_csv(folder / f"{number}.csv", index=False)
        frame.to_json(folder / f"{number}.ndjson", orient="records", lines=True)
        frame.to_parquet(folder / f"{number}.parquet", index=False)
        table = pa.Table.from_pandas(frame, preserve_index=False)
        feather.write_feather(table, folder / f"{number}.arrow")
        kinds = {"int64": "long", "double": "double", "string": "string", "large_string": "string"}
        fields = [{"name": field.name, "type": kinds[str(field.type)]} for field in table.schema]
        schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": fields})
        with open(folder / f"{number}.avro", "wb") as out:
            fastavro.writer(out, schema, table.to_pylist(), codec="deflate")


def tree(folder):
    """The files of a folder, by path."""
    there = sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] not in "._")
    return {str(path.relative_to(folder)): path.read_text() for path in there}


def partitions():
    """Folders `p=value/` as each tool writes them."""
    rows = [{"id": number, "p": value} for number, value in enumerate(VALUES, 1)]
    frame = pd.DataFrame(rows)
    trees = {}
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        hive = ds.partitioning(pa.schema([("p", pa.string())]), flavor="hive")
        ds.write_dataset(pa.Table.from_pandas(frame), root / "pyarrow", format="csv", partitioning=hive)
        trees["pyarrow"] = tree(root / "pyarrow")
        con = duckdb.connect()
        con.execute(f"copy frame to '{root}/duckdb' (format csv, header, partition_by (p))")
        trees["duckdb"] = tree(root / "duckdb")
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        data = spark.createDataFrame([(row["id"], row["p"]) for row in rows], "id bigint, p string")
        data.coalesce(1).write.partitionBy("p").option("header", True).csv(f"{root}/spark")
        trees["spark"] = tree(root / "spark")
        spark.stop()
    text = json.dumps(trees, indent=1, ensure_ascii=False, sort_keys=True)
    (HERE / "partitions.json").write_text(text + "\n")


if __name__ == "__main__":
    arrow()
    avro()
    text()
    union()
    partitions()
    packages = ["pandas", "pyarrow", "polars", "duckdb", "fastavro", "pyspark"]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    (HERE / "versions.txt").write_text("\n".join(versions) + "\n")
