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
    format: str  # csv, csv.gz, jsonl, json or parquet
    select: str  # S3 Select
    duckdb: str  # with {table} for the reader's call
    # Where MinIO does not know a form that AWS documents: the nearest that it answers.
    minio: str | None = None
    # Figures of this statement are also given as a multiple of those of another.
    against: str | None = None

    def expression(self, store: str, some_key: int) -> str:
        """What the store is sent."""
        expression = self.minio if store == "MinIO" and self.minio else self.select
        if self.format == "json":
            expression = expression.replace("S3Object s", "S3Object[*][*] s")
        return expression.replace("{some_key}", str(some_key))


def date(text: str) -> str:
    return f"CAST('{text}' AS TIMESTAMP)"


STATEMENTS = [
    Statement("count", "csv", "SELECT COUNT(*) FROM S3Object s", "SELECT count(*) FROM {table}"),
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
    Statement(
        "whole rows",
        "parquet",
        "SELECT * FROM S3Object s",
        "SELECT * FROM {table}",
    ),
    Statement(
        "whole rows, date filter",
        "parquet",
        f"SELECT * FROM S3Object s WHERE s.l_shipdate < {date('1992-03-01')}",
        "SELECT * FROM {table} WHERE l_shipdate < DATE '1992-03-01'",
    ),
    Statement(
        "count",
        "csv.gz",
        "SELECT COUNT(*) FROM S3Object s",
        "SELECT count(*) FROM {table}",
    ),
    Statement(
        "count, numeric filter",
        "csv.gz",
        "SELECT COUNT(*) FROM S3Object s WHERE CAST(s.l_quantity AS INT) < 10",
        "SELECT count(*) FROM {table} WHERE l_quantity < 10",
    ),
    *(
        Statement(name, format, select, duckdb)
        for format in ("jsonl", "json")
        for name, select, duckdb in (
            ("count", "SELECT COUNT(*) FROM S3Object s", "SELECT count(*) FROM {table}"),
            (
                "count, numeric filter",
                "SELECT COUNT(*) FROM S3Object s WHERE s.l_quantity < 10",
                "SELECT count(*) FROM {table} WHERE l_quantity < 10",
            ),
            (
                "sum, text filter",
                "SELECT SUM(s.l_extendedprice) FROM S3Object s WHERE s.l_shipmode = 'AIR'",
                "SELECT sum(l_extendedprice) FROM {table} WHERE l_shipmode = 'AIR'",
            ),
        )
    ),
    Statement("whole rows", "csv", "SELECT * FROM S3Object s", "SELECT * FROM {table}"),
    Statement(
        "comparison of text",
        "csv",
        "SELECT COUNT(*) FROM S3Object s WHERE s.l_shipmode <> 'AIR'",
        "SELECT count(*) FROM {table} WHERE l_shipmode <> 'AIR'",
    ),
    Statement(
        "comparison of dates",
        "csv",
        f"SELECT COUNT(*) FROM S3Object s WHERE CAST(s.l_shipdate AS TIMESTAMP) <> {date('1994-01-01')}",
        "SELECT count(*) FROM {table} WHERE l_shipdate <> DATE '1994-01-01'",
    ),
    *(
        Statement(
            name,
            "csv",
            f"SELECT COUNT(*) FROM S3Object s WHERE {condition}",
            f"SELECT count(*) FROM {{table}} WHERE {duckdb}",
            against=f"comparison of {of}",
        )
        for name, of, condition, duckdb in (
            ("LOWER", "text", "LOWER(s.l_shipmode) <> 'air'", "lower(l_shipmode) <> 'air'"),
            ("UPPER", "text", "UPPER(s.l_shipmode) <> 'AIR'", "upper(l_shipmode) <> 'AIR'"),
            ("TRIM", "text", "TRIM(s.l_shipmode) <> 'AIR'", "trim(l_shipmode) <> 'AIR'"),
            (
                "EXTRACT",
                "dates",
                "EXTRACT(YEAR FROM CAST(s.l_shipdate AS TIMESTAMP)) = 1994",
                "year(l_shipdate) = 1994",
            ),
            (
                "DATE_ADD",
                "dates",
                f"DATE_ADD(DAY, 30, CAST(s.l_shipdate AS TIMESTAMP)) < {date('1994-01-01')}",
                "l_shipdate + 30 < DATE '1994-01-01'",
            ),
            (
                "DATE_DIFF",
                "dates",
                "DATE_DIFF(DAY, CAST(s.l_shipdate AS TIMESTAMP), "
                "CAST(s.l_receiptdate AS TIMESTAMP)) > 14",
                "l_receiptdate - l_shipdate > 14",
            ),
            (
                "TO_STRING",
                "dates",
                "TO_STRING(CAST(s.l_shipdate AS TIMESTAMP), 'yyyy') = '1994'",
                "strftime(l_shipdate, '%Y') = '1994'",
            ),
        )
    ),
]
