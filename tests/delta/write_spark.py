"""Writes the table of `tests/it/data/delta/spark`, with Spark 4.0.0 and Delta 4.0.0.

Usage: write_spark.py FOLDER JARS, as `tests/delta/run` makes the environment and the folder of JARs.
"""

import sys

from spark import session

FOLDER, JARS = sys.argv[1:]
TABLE = f"delta.`{FOLDER}/spark`"
STATEMENTS = [
    f"""CREATE TABLE {TABLE} (id BIGINT NOT NULL, name STRING, price DECIMAL(10, 2), sold DATE, seen TIMESTAMP,
        region STRING) USING delta PARTITIONED BY (region) TBLPROPERTIES (
        'delta.enableDeletionVectors'='true', 'delta.columnMapping.mode'='name', 'delta.minReaderVersion'='3',
        'delta.minWriterVersion'='7', 'delta.checkpointInterval'='4')""",
    f"""INSERT INTO {TABLE} SELECT /*+ COALESCE(1) */ id, concat('n', id), cast(id * 1.25 AS DECIMAL(10, 2)),
        date_add(date'2024-01-01', cast(id AS int)),
        timestamp'2024-01-01 10:00:00' + make_interval(0, 0, 0, 0, cast(id AS int)),
        CASE id % 3 WHEN 0 THEN 'north' WHEN 1 THEN 'so uth/=%' END FROM range(0, 60)""",
    f"DELETE FROM {TABLE} WHERE id % 7 = 2",
    f"ALTER TABLE {TABLE} RENAME COLUMN name TO label",
    f"ALTER TABLE {TABLE} ADD COLUMNS (extra INT AFTER id)",
    f"""INSERT INTO {TABLE} (id, extra, label, region) VALUES (100, 7, 'late', 'north'),
        (101, NULL, NULL, NULL)""",
    f"ALTER TABLE {TABLE} DROP COLUMN price",
]

spark = session(JARS)
for statement in STATEMENTS:
    spark.sql(statement)
