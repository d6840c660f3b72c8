"""Exceptions."""

import pickle

import pytest
import sluicegate


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("SELEC 1", sluicegate.SqlSyntaxError, "SELEC"),
        ("  ; -- nothing", sluicegate.SqlSyntaxError, "no statement"),
        ("SELECT nothing", sluicegate.PlanError, "nothing"),
        ("SELECT * FROM 's3://none/x.csv'", sluicegate.NotFoundError, "none"),
        ("SET sluice.scan = 'best'", sluicegate.SettingError, "best"),
        ("SELECT CAST('x' AS INT)", sluicegate.DataError, "x"),
        ("UPDATE t SET a = 1", sluicegate.Error, "t"),
    ],
)
def test_kinds_are_classes(connection, statement, kind, message):
    with pytest.raises(kind, match=message) as raised:
        connection.sql(statement).fetchall()
    error = raised.value
    assert isinstance(error, sluicegate.Error)
    assert error.message and error.message in str(error)
    if error.hint:
        assert f"\nhint: {error.hint}" in str(error)
        assert "--" not in error.hint
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.hint) == (type(error), error.message, error.hint)


def test_kinds_have_names():
    kinds = {error.kind for error in sluicegate.Error.__subclasses__()}
    assert len(kinds) == 11 and "not_found" in kinds and sluicegate.Error.kind == "other"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"memory_limit": "much"}, "memory_limit: `much` is not a number of bytes"),
        ({"scan": "best"}, "scan: `best` is none of auto"),
        ({"store": "dell"}, "store: `dell` is none of auto"),
        ({"threads": 0}, "threads: `0`"),
        ({"idle_timeout": "5"}, "idle_timeout"),
        ({"endpoint": "127.0.0.1"}, "127.0.0.1"),
        ({"prices": "gratis"}, "no price book and no file `gratis`"),
        ({"access_key": "a"}, "an access key needs"),
        ({"workers": ["nonsense"]}, "nonsense"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(sluicegate.SettingError) as raised:
        sluicegate.connect(**{"endpoint": "http://127.0.0.1:1", **arguments})
    assert message in str(raised.value)


def test_numbers_are_bytes_and_seconds(sluice_store):
    connection = sluice_store.connect(memory_limit=1 << 30, idle_timeout=2.5)
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


def test_a_store_that_is_not_there_is_unavailable():
    connection = sluicegate.connect("http://127.0.0.1:1", access_key="k", secret_key="s", idle_timeout=1)
    with pytest.raises(sluicegate.UnavailableError):
        connection.sql("SELECT * FROM 's3://bucket/x.csv'").fetchall()


def test_wrong_keys_are_refused(sluice_store, fruit):
    connection = sluicegate.connect(sluice_store.endpoint, access_key="k", secret_key="s")
    with pytest.raises(sluicegate.AccessError):
        connection.sql(f"SELECT * FROM '{fruit}'").fetchall()


def test_a_memory_limit_is_named_as_an_argument(sluice_store):
    connection = sluice_store.connect(memory_limit="1MB", threads=1)
    with pytest.raises(sluicegate.ResourcesError) as raised:
        connection.sql(
            "SELECT count(*) FROM generate_series(1, 1000000) a JOIN generate_series(1, 1000000) b ON a.value = b.value"
        ).fetchall()
    assert "memory_limit=" in raised.value.hint
