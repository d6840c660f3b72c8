"""What the tests share."""

import pytest

pytest_plugins = ["pytester"]

#: A query that takes minutes.
SLOW = "SELECT sum(a.value * b.value) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"


@pytest.fixture
def connection(sluice_store):
    with sluice_store.connect() as connection:
        yield connection


@pytest.fixture
def fruit(sluice_store):
    """The URL of a CSV file with two rows."""
    sluice_store.bucket("fruit")
    (sluice_store.path / "fruit" / "fruit.csv").write_text("name,price\napple,3\npear,4\n")
    return "s3://fruit/fruit.csv"
