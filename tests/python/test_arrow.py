"""Other packages: they take results, and give tables."""

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import sluicegate


@pytest.fixture
def result(connection, fruit):
    return connection.sql(f"SELECT name, price FROM '{fruit}' ORDER BY price")


ROWS = [("apple", 3), ("pear", 4)]
COLUMNS = {"name": ["apple", "pear"], "price": [3, 4]}


def test_pyarrow_takes_a_result(result):
    assert pyarrow.table(result).to_pydict() == COLUMNS
    assert result.to_arrow().to_pydict() == COLUMNS
    reader = pyarrow.RecordBatchReader.from_stream(result)
    assert reader.schema.names == ["name", "price"]
    assert sum(batch.num_rows for batch in reader) == 2
    assert pyarrow.schema(result).names == ["name", "price"]


def test_polars_takes_a_result(result):
    assert polars.DataFrame(result).to_dict(as_series=False) == COLUMNS
    assert result.to_polars().rows() == ROWS


def test_pandas_takes_a_result(result):
    assert result.to_pandas().to_dict("list") == COLUMNS
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(result).to_dict("list") == COLUMNS


def test_duckdb_takes_a_result(result):
    assert duckdb.sql("SELECT * FROM result ORDER BY price").fetchall() == ROWS
    assert duckdb.sql("SELECT a.name FROM result a JOIN result b USING (price) WHERE price = 4").fetchall() == [("pear",)]


def test_large_answers_come_in_batches(connection):
    result = connection.sql("SELECT value, CAST(value AS VARCHAR) AS text FROM generate_series(1, 1000000)")
    assert result.to_arrow().num_rows == 1000000
    assert duckdb.sql("SELECT sum(value), count(DISTINCT text) FROM result").fetchall() == [(500000500000, 1000000)]
    reader = pyarrow.RecordBatchReader.from_stream(result)
    first = reader.read_next_batch()
    assert 0 < first.num_rows < 1000000
    # The rest is not read: dropping the stream stops the query.
    del reader, first


def test_answers_without_rows_have_columns(connection, fruit):
    table = connection.sql(f"SELECT name FROM '{fruit}' WHERE price > 9").to_arrow()
    assert table.num_rows == 0 and table.column_names == ["name"]
    assert connection.sql("SET sluice.scan = 'auto'").to_arrow().num_rows == 0


def test_a_bucket_is_joined_with_a_pandas_frame(connection, sluice_store):
    sluice_store.bucket("shop")
    orders = pyarrow.table({"customer": [1, 2, 2, 3], "amount": [10, 20, 30, 40]})
    pyarrow.parquet.write_table(orders, sluice_store.path / "shop" / "orders.parquet")
    connection.register("customers", pandas.DataFrame({"id": [1, 2], "name": ["Ann", "Bob"]}))
    answer = connection.sql(
        """SELECT name, sum(amount) AS total FROM 's3://shop/orders.parquet' JOIN customers ON customer = id
        GROUP BY name ORDER BY name"""
    )
    assert answer.to_pandas().to_dict("list") == {"name": ["Ann", "Bob"], "total": [10, 50]}


@pytest.mark.parametrize(
    "make",
    [
        pandas.DataFrame,
        polars.DataFrame,
        pyarrow.table,
        pyarrow.RecordBatch.from_pydict,
        lambda columns: pyarrow.RecordBatchReader.from_batches(
            pyarrow.table(columns).schema, pyarrow.table(columns).to_batches()
        ),
        lambda columns: duckdb.sql("SELECT unnest(['apple', 'pear']) AS name, unnest([3, 4]) AS price"),
        dict,
    ],
    ids=["pandas", "polars", "pyarrow", "batch", "reader", "duckdb", "dict"],
)
def test_tables_of_other_packages_are_registered(connection, make):
    connection.register("fruit", make(COLUMNS))
    assert connection.sql("SELECT name, price FROM fruit ORDER BY price").fetchall() == ROWS
    assert connection.sql("SELECT max(price) FROM fruit").fetchall() == [(4,)]


def test_results_are_registered(connection, result):
    connection.register("fruit", result)
    assert connection.sql("SELECT sum(price) FROM fruit").fetchall() == [(7,)]


def test_names_of_tables_are_those_of_sql(connection):
    connection.register("Fruit", {"a": [1]})
    connection.register("fruit", {"a": [2]})
    connection.register('"Fruit"', {"a": [3]})
    assert connection.sql('SELECT f.a, g.a FROM FRUIT f, "Fruit" g').fetchall() == [(2, 3)]
    assert connection.unregister("fruit") and not connection.unregister("fruit")
    with pytest.raises(sluicegate.PlanError):
        connection.sql("SELECT * FROM fruit")


def test_nested_and_categorical_columns_are_registered(connection):
    frame = pandas.DataFrame({"c": pandas.Categorical(["x", "y", "x"]), "when": pandas.to_datetime(["2024-01-01"] * 3)})
    connection.register("t", frame)
    assert connection.sql("SELECT c, count(*) FROM t GROUP BY c ORDER BY c").fetchall() == [("x", 2), ("y", 1)]
    connection.register("n", polars.DataFrame({"l": [[1, 2], [], None], "s": [{"a": 1}, {"a": None}, None]}))
    assert connection.sql("SELECT l FROM n").to_arrow().to_pydict() == {"l": [[1, 2], [], None]}


def test_what_is_no_table_is_refused(connection):
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        connection.register("t", [1, 2])

    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            def batches():
                yield pyarrow.record_batch({"a": [1]})
                raise ValueError("no more")

            schema = pyarrow.schema({"a": pyarrow.int64()})
            return pyarrow.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__()

    with pytest.raises(sluicegate.DataError, match="no more"):
        connection.register("t", Broken())


def test_an_error_in_the_middle_is_raised_by_each_package(connection):
    # The division fails after some batches.
    result = connection.sql("SELECT 1 / (500000 - value) AS x FROM generate_series(1, 1000000)")
    for read in (result.to_arrow, result.to_pandas, result.to_polars, result.fetchall):
        with pytest.raises(sluicegate.DataError) as raised:
            read()
        assert "NULLIF" in raised.value.hint
    with pytest.raises(pyarrow.ArrowException, match="(?i)divi(.|\n)*NULLIF"):
        pyarrow.table(result)
    with pytest.raises(Exception, match="(?i)divi"):
        duckdb.sql("SELECT sum(x) FROM result").fetchall()
    assert connection.sql("SELECT 1").fetchall() == [(1,)]
