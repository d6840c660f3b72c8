"""The statements that are compared: each as S3 Select says it, and as DuckDB does.

Every answer is a list of rows of numbers and text; a store whose answer differs from DuckDB's is
named in the table, so that nobody is praised for being wrong quickly.
"""

from dataclasses import dataclass

COLUMNS = {
    "l_orderkey": "BIGINT",
    "l_partkey": "BIGINT",
    "l_suppkey": "BIGINT",
    "l_linenumber": "INTEGER",
    "l_quantity": "DECIMAL(15, 2)",
    "l_extendedprice": "DECIMAL(15, 2)",
    "l_discount": "DECIMAL(15, 2)",
    "l_tax": "DECIMAL(15, 2)",
    "l_returnflag": "VARCHAR",
    "l_linestatus": "VARCHAR",
    "l_shipdate": "DATE",
    "l_commitdate": "DATE",
    "l_receiptdate": "DATE",
    "l_shipinstruct": "VARCHAR",
    "l_shipmode": "VARCHAR",
    "l_comment": "VARCHAR",
}


@dataclass(frozen=True)
class Statement:
    """One question to one object."""

    name: str
    format: str  # csv or parquet
    select: str  # S3 Select
    duckdb: str  # with {table} for the reader's call
    # Where MinIO does not know a form that AWS documents: the nearest that it answers.
    minio: str | None = None

    def expression(self, store: str, some_key: int) -> str:
        """What the store is sent."""
        expression = self.minio if store == "MinIO" and self.minio else self.select
        return expression.replace("{some_key}", str(some_key))


def date(text: str) -> str:
    return f"CAST('{text}' AS TIMESTAMP)"


STATEMENTS = [
    Statement(
        "count, numeric filter",
        "csv",
        "SELECT COUNT(*) FROM S3Object s WHERE CAST(s.l_quantity AS INT) < 10",
        "SELECT count(*) FROM {table} WHERE l_quantity < 10",
    ),
    Statement(
        "two columns, date filter",
        "csv",
        "SELECT s.l_orderkey, s.l_extendedprice FROM S3Object s "
        f"WHERE CAST(s.l_shipdate AS TIMESTAMP) < {date('1993-01-01')}",
        "SELECT l_orderkey, l_extendedprice FROM {table} WHERE l_shipdate < DATE '1993-01-01'",
        minio="SELECT s.l_orderkey, s.l_extendedprice FROM S3Object s "
        "WHERE s.l_shipdate < '1993-01-01'",
    ),
    Statement(
        "TPC-H Q6's sum",
        "csv",
        "SELECT SUM(CAST(s.l_extendedprice AS DECIMAL) * CAST(s.l_discount AS DECIMAL)) "
        f"FROM S3Object s WHERE CAST(s.l_shipdate AS TIMESTAMP) >= {date('1994-01-01')} "
        f"AND CAST(s.l_shipdate AS TIMESTAMP) < {date('1995-01-01')} "
        "AND CAST(s.l_discount AS DECIMAL) BETWEEN 0.05 AND 0.07 "
        "AND CAST(s.l_quantity AS INT) < 24",
        "SELECT sum(l_extendedprice * l_discount) FROM {table} "
        "WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' "
        "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
        minio="SELECT SUM(CAST(s.l_extendedprice AS FLOAT) * CAST(s.l_discount AS FLOAT)) "
        "FROM S3Object s WHERE s.l_shipdate >= '1994-01-01' AND s.l_shipdate < '1995-01-01' "
        "AND CAST(s.l_discount AS FLOAT) BETWEEN 0.05 AND 0.07 "
        "AND CAST(s.l_quantity AS INT) < 24",
    ),
    Statement(
        "point",
        "parquet",
        "SELECT s.l_orderkey, s.l_partkey, s.l_suppkey, s.l_linenumber FROM S3Object s "
        "WHERE s.l_orderkey = {some_key}",
        "SELECT l_orderkey, l_partkey, l_suppkey, l_linenumber FROM {table} "
        "WHERE l_orderkey = {some_key}",
    ),
    Statement(
        "aggregates",
        "parquet",
        "SELECT COUNT(*), SUM(s.l_linenumber), MIN(s.l_partkey), MAX(s.l_suppkey) "
        "FROM S3Object s WHERE s.l_linenumber < 4",
        "SELECT count(*), sum(l_linenumber), min(l_partkey), max(l_suppkey) FROM {table} "
        "WHERE l_linenumber < 4",
    ),
]
