"""The package without any other: connect, query, rows of Python, the store, the command."""

import importlib.util
import subprocess
import sys
import time

for name in ("pyarrow", "boto3", "pytest", "pandas", "polars"):
    assert importlib.util.find_spec(name) is None, name

begun = time.monotonic()
import sluicegate  # noqa: E402

print(f"import sluicegate: {time.monotonic() - begun:.3f} s")
with sluicegate.serve() as store:
    bucket = store.bucket("fruit")
    (store.path / bucket / "fruit.csv").write_text("name,price\napple,3\npear,4\n")
    with store.connect() as connection:
        rows = connection.sql("SELECT name FROM 's3://fruit/fruit.csv' WHERE price > 3").fetchall()
        assert rows == [("pear",)], rows
        try:
            connection.sql("SELECT 1").to_arrow()
        except ImportError:
            pass
        else:
            raise AssertionError("pyarrow is not installed")
said = subprocess.run([sys.executable, "-m", "sluicegate", "--version"], capture_output=True, text=True, check=True)
assert said.stdout.strip() == f"sluice {sluicegate.__version__}", said.stdout
