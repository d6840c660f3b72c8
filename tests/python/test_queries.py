"""Statements, rows, settings and counts."""

import datetime
from decimal import Decimal

import pytest
import sluicegate


def test_rows_come_as_tuples(connection, fruit):
    result = connection.sql(f"SELECT name, price FROM '{fruit}' ORDER BY price")
    assert result.columns == ["name", "price"]
    assert result.types == ["Utf8View", "Int64"] or result.types[1] == "Int64"
    assert result.fetchone() == ("apple", 3)
    assert result.fetchmany(5) == [("pear", 4)]
    assert result.fetchone() is None and result.fetchall() == []
    assert list(connection.sql(f"SELECT price FROM '{fruit}' ORDER BY 1")) == [(3,), (4,)]
    assert "name" in repr(result) and "price Int64" in repr(result)


def test_many_batches_come_in_order(connection):
    result = connection.sql("SELECT value FROM generate_series(1, 100000) ORDER BY value")
    first = result.fetchmany(10)
    assert first == [(value,) for value in range(1, 11)]
    assert sum(1 for _ in result) == 99990
    assert result.stats()["rows"] == 100000


def test_every_type_is_one_of_python(connection):
    row = connection.sql(
        """SELECT NULL AS n, true AS b, CAST(1 AS TINYINT) AS i, CAST(18446744073709551615 AS BIGINT UNSIGNED) AS u,
        CAST(0.5 AS FLOAT) AS f, CAST(0.1 AS DOUBLE) AS d, 'é' AS t, X'00ff' AS x,
        DATE '1969-12-31' AS day, CAST(12.50 AS DECIMAL(10, 2)) AS m, CAST(-0.05 AS DECIMAL(38, 4)) AS m2,
        TIMESTAMP '2024-02-29 12:00:00.123456' AS ts, TIME '23:59:59.5' AS time,
        arrow_cast(TIMESTAMP '2024-01-01 00:00:00', 'Timestamp(Nanosecond, Some("+02:00"))') AS tz,
        [1, NULL, 3] AS list, [[1], []] AS nested, named_struct('a', 1, 'b', 'x') AS struct,
        arrow_cast('cat', 'Dictionary(Int32, Utf8)') AS dictionary,
        arrow_cast(1500, 'Duration(Millisecond)') AS duration, INTERVAL '1' MONTH AS month"""
    ).fetchone()
    hours = datetime.timezone(datetime.timedelta(hours=2))
    assert row[:9] == (None, True, 1, 2**64 - 1, 0.5, 0.1, "é", b"\x00\xff", datetime.date(1969, 12, 31))
    assert row[9:13] == (
        Decimal("12.50"),
        Decimal("-0.0500"),
        datetime.datetime(2024, 2, 29, 12, 0, 0, 123456),
        datetime.time(23, 59, 59, 500000),
    )
    assert str(row[9]) == "12.50"
    assert row[13].utcoffset() == hours.utcoffset(None)
    assert row[14:19] == ([1, None, 3], [[1], []], {"a": 1, "b": "x"}, "cat", datetime.timedelta(seconds=1.5))
    assert row[19] == "1 mons"
    for value, kind in [(9000000, "Date32"), (2**62, "Timestamp(Second, None)"), (2**62, "Duration(Second)")]:
        with pytest.raises(sluicegate.DataError, match="Python's") as raised:
            connection.sql(f"SELECT arrow_cast({value}, '{kind}') AS x").fetchall()
        assert "to_arrow()" in raised.value.hint


def test_several_statements_return_the_last_result(connection, fruit):
    result = connection.sql(f"CREATE VIEW v AS SELECT * FROM '{fruit}'; SELECT ';' AS semicolon; SELECT count(*) FROM v;")
    assert result.fetchall() == [(2,)]


def test_writes_happen_once_and_at_once(connection, sluice_store, fruit):
    result = connection.sql(f"COPY (SELECT * FROM '{fruit}') TO 's3://fruit/out.parquet'")
    assert (sluice_store.path / "fruit" / "out.parquet").exists()
    (sluice_store.path / "fruit" / "out.parquet").rename(sluice_store.path / "fruit" / "moved.parquet")
    assert result.fetchall() == [(2,)] and result.to_arrow().num_rows == 1
    assert not (sluice_store.path / "fruit" / "out.parquet").exists()
    assert connection.sql("SELECT count(*) FROM 's3://fruit/moved.parquet'").fetchall() == [(2,)]


def test_each_read_runs_the_query_again(connection, sluice_store, fruit):
    result = connection.sql(f"SELECT sum(price) AS s FROM '{fruit}'")
    assert result.to_arrow().to_pylist() == [{"s": 7}]
    (sluice_store.path / "fruit" / "fruit.csv").write_text("name,price\nfig,10\n")
    assert result.to_arrow().to_pylist() == [{"s": 10}]
    assert result.fetchall() == [(10,)]


def test_settings_are_read_and_changed(connection):
    assert connection.get("scan") == "auto"
    connection.set("scan", "get")
    assert connection.get("sluice.scan") == "get"
    with connection.settings(scan="select", transfer=False) as same:
        assert same is connection
        assert connection.get("scan") == "select" and connection.get("transfer") == "false"
    assert connection.get("scan") == "get" and connection.get("transfer") == "true"
    connection.set("datafusion.execution.batch_size", 100)
    assert connection.get("datafusion.execution.batch_size") == "100"
    with pytest.raises(sluicegate.SettingError):
        connection.set("scan", "best")
    for name in ("", "a b", "scan' = 'get"):
        with pytest.raises(sluicegate.SettingError):
            connection.set(name, "x")


def test_settings_are_arguments_of_connect(sluice_store):
    connection = sluice_store.connect(scan="get", threads=3, settings={"objective": "dollars", "join": "bloom"})
    assert connection.get("scan") == "get" and connection.get("join") == "bloom"
    assert connection.get("datafusion.execution.target_partitions") == "3"


def test_a_query_is_explained_and_counted(connection, fruit):
    query = f"SELECT count(*) FROM '{fruit}' WHERE price > 3"
    explanation = connection.explain(query)
    assert "s3://fruit/" in str(explanation) and explanation.seconds > 0 and explanation.dollars > 0
    assert explanation.strategies and set(explanation.strategies[0]) >= {"operator", "strategy"}
    result = connection.sql(query)
    assert "s3://fruit/" in result.explain().text
    assert result.fetchall() == [(1,)]
    stats = result.stats()
    assert stats["rows"] == 1 and stats["requests"]["total"] > 0 and stats["dollars"]["total"] > 0
    assert 0 < stats["seconds"] < 60
    assert connection.stats()["requests"]["total"] >= stats["requests"]["total"]
    assert connection.explain("CREATE VIEW w AS SELECT 1 AS one") is None
    assert connection.sql("SELECT * FROM w").fetchall() == [(1,)]


def test_notes_name_settings_that_are_not_followed(sluice_store, fruit):
    connection = sluice_store.connect(store="get-only", scan="select")
    result = connection.sql(f"SELECT name FROM '{fruit}' WHERE price > 3")
    assert result.fetchall() == [("pear",)]
    assert any("sluice.scan = 'select' is not followed" in note for note in result.notes), result.notes
    assert result.notes == result.notes


def test_nothing_shows_the_credentials(sluice_store, connection):
    result = connection.sql("SELECT 1 AS one")
    shown = "".join(repr(each) + str(each) for each in (connection, result, sluice_store, connection.explain("SELECT 1")))
    assert sluice_store.endpoint in shown
    assert sluice_store.access_key not in shown and sluice_store.secret_key not in shown
    with pytest.raises(sluicegate.Error) as raised:
        sluicegate.connect(sluice_store.endpoint, access_key="a b\n", secret_key=sluice_store.secret_key).sql("SELECT 1")
        sluicegate.connect("http://127.0.0.1:x", access_key="k", secret_key=sluice_store.secret_key)
    assert sluice_store.secret_key not in str(raised.value)


def test_a_closed_connection_refuses_statements(sluice_store, fruit):
    with sluice_store.connect() as connection:
        result = connection.sql(f"SELECT name FROM '{fruit}'")
        assert not connection.closed
    assert connection.closed and "closed" in repr(connection)
    with pytest.raises(sluicegate.Error, match="closed"):
        connection.sql("SELECT 1")
    connection.close()
    # What was planned can be read.
    assert len(result.fetchall()) == 2
