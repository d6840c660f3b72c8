"""Random histories of tables that Spark writes: deletion vectors, column mapping, dropped and renamed columns.

Usage: spark.py FOLDER JARS HISTORIES SEED
"""

import glob
import random
import sys

from pyspark.sql import SparkSession

import answers

FEATURES = ["'delta.enableDeletionVectors'='true'"]
MAPPED = ["'delta.columnMapping.mode'='name'", "'delta.minReaderVersion'='3'", "'delta.minWriterVersion'='7'"]


def session(jars):
    builder = SparkSession.builder.master("local[1]").config("spark.jars", ",".join(glob.glob(f"{jars}/*.jar")))
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main():
    folder, jars, histories, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    spark = session(jars)
    versions = 0
    for number in range(max(histories, 1)):
        draw = random.Random(seed * 1_000_003 + number)
        name = f"spark{number}"
        table = f"delta.`{folder}/{name}`"
        mapped = draw.random() < 0.7
        properties = ", ".join(FEATURES + (MAPPED if mapped else []) + ["'delta.checkpointInterval'='3'"])
        partition = draw.choice(["", "PARTITIONED BY (part)"])
        spark.sql(
            f"CREATE TABLE {table} (id BIGINT, label STRING, price DECIMAL(9, 2), day DATE, part STRING) "
            f"USING delta {partition} TBLPROPERTIES ({properties})"
        )
        label, start = "label", 0
        for _ in range(draw.randrange(3, 8)):
            limit = draw.randrange(start + 1)
            action = draw.choice(["insert", "insert", "delete", "delete", "update", "rename", "add"])
            if action == "insert":
                spark.sql(
                    f"INSERT INTO {table} (id, {label}, price, day, part) SELECT id, concat('n', id), "
                    "cast(id * 1.25 AS DECIMAL(9, 2)), date_add(date'2024-01-01', cast(id AS int)), "
                    f"CASE id % 3 WHEN 0 THEN 'a b' WHEN 1 THEN 'x/=%' END FROM range({start}, {start + 40}, 1, 1)"
                )
                start += 40
            elif action == "delete":
                spark.sql(f"DELETE FROM {table} WHERE id % {draw.randrange(2, 9)} = 1 AND id > {limit}")
            elif action == "update":
                spark.sql(f"UPDATE {table} SET {label} = 'changed' WHERE id < {limit} AND id % 5 = 0")
            elif action == "rename" and mapped:
                new = f"label{draw.randrange(1_000_000)}"
                spark.sql(f"ALTER TABLE {table} RENAME COLUMN {label} TO {new}")
                label = new
            elif action == "add":
                spark.sql(f"ALTER TABLE {table} ADD COLUMNS (more{draw.randrange(1_000_000)} INT)")
        last = spark.sql(f"DESCRIBE HISTORY {table}").agg({"version": "max"}).collect()[0][0]
        for version in sorted({last, draw.randrange(last + 1)}):
            read = spark.sql(f"SELECT * FROM {table} VERSION AS OF {version}")
            answers.check(name, version, read.columns, [tuple(row) for row in read.collect()])
            versions += 1
    print(f"sluice and Spark agree on {versions} versions of {max(histories, 1)} tables")


if __name__ == "__main__":
    main()
