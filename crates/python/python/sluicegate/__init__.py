"""SQL over S3-compatible stores, with the work done inside the store.

>>> import sluicegate
>>> with sluicegate.connect("http://127.0.0.1:9000") as connection:  # doctest: +SKIP
...     connection.sql("SELECT count(*) FROM 's3://bucket/file.csv'").fetchall()
[(6381,)]

- :func:`connect` returns a :class:`Connection`, and :meth:`Connection.sql` a :class:`Result`, which pyarrow, polars,
  pandas and DuckDB take as an Arrow stream.
- :meth:`Connection.register` makes a table of a frame, so that a query joins it with a bucket's objects.
- :func:`serve` starts an S3 store in this process, and the pytest fixture ``sluice_store`` one for each test.
- :class:`Error` and its subclasses have a kind, a message and mostly a hint.
"""

from ._connection import Connection, connect
from ._errors import (
    AccessError,
    ChangedError,
    DataError,
    Error,
    InternalError,
    NotFoundError,
    PlanError,
    ResourcesError,
    SettingError,
    SqlSyntaxError,
    UnavailableError,
    UnsupportedError,
)
from ._explanation import Explanation
from ._native import VERSION as __version__
from ._result import Result
from ._store import Store, serve

__all__ = [
    "AccessError",
    "ChangedError",
    "Connection",
    "DataError",
    "Error",
    "Explanation",
    "InternalError",
    "NotFoundError",
    "PlanError",
    "ResourcesError",
    "Result",
    "SettingError",
    "SqlSyntaxError",
    "Store",
    "UnavailableError",
    "UnsupportedError",
    "__version__",
    "connect",
    "serve",
]
