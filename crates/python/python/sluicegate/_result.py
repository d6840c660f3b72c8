"""Results of statements."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, cast

from . import _native
from ._explanation import Explanation

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._connection import Connection

_T = TypeVar("_T")

#: Rows that iteration fetches at a time.
_CHUNK = 1024


class Result:
    """The result of a statement: an Arrow stream, and a cursor over its rows.

    pyarrow, polars, pandas, DuckDB and every other package that knows Arrow's PyCapsule interface take a result as it
    is, without copying: ``pyarrow.table(result)``, ``polars.DataFrame(result)``, ``duckdb.sql("FROM result")``.

    A query runs when its rows are read. Each ``to_…`` and each other package runs it again, so keep what they return
    if you need it twice. ``fetchone``, ``fetchmany``, ``fetchall`` and iteration share one run. Statements that write,
    such as ``COPY``, and statements that define or set something have run when ``sql`` returns.
    """

    __slots__ = ("_connection", "_native", "_rows")

    def __init__(self, connection: Connection, native: _native.Answer) -> None:
        self._connection = connection
        self._native = native
        self._rows: Optional[_native.Rows] = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.columns

    @property
    def types(self) -> list[str]:
        """The Arrow types of the columns, as text."""
        return self._native.types

    @property
    def notes(self) -> list[str]:
        """Notes on the statement: what was detected or left out, and settings that it could not follow."""
        return self._native.notes

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        """Export the rows as a stream of Arrow's C interface, in a PyCapsule."""
        return self._native.stream()

    def __arrow_c_schema__(self) -> object:
        """Export the columns as a schema of Arrow's C interface, in a PyCapsule."""
        return self._native.schema()

    def to_arrow(self) -> pyarrow.Table:
        """Run the query and return its rows as a table of pyarrow."""
        import pyarrow

        return self._read(lambda: pyarrow.table(self))

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """Run the query and return its rows as a pandas frame; needs pyarrow, too.

        Keyword arguments are those of ``pyarrow.Table.to_pandas``.
        """
        return cast("pandas.DataFrame", self.to_arrow().to_pandas(**options))

    def to_polars(self) -> polars.DataFrame:
        """Run the query and return its rows as a polars frame."""
        import polars

        return self._read(lambda: polars.DataFrame(self))

    def fetchone(self) -> Optional[tuple[Any, ...]]:
        """Return the next row, or ``None`` after the last."""
        rows = self._cursor().fetch(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """Return the next rows, at most ``size`` of them."""
        return self._cursor().fetch(max(size, 0))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows that were not returned yet."""
        return self._cursor().fetch(sys.maxsize)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows that were not returned yet, as they arrive."""
        while rows := self.fetchmany(_CHUNK):
            yield from rows

    def explain(self) -> Optional[Explanation]:
        """Return the plan of the query with its predictions; ``None`` for a definition."""
        return self._connection.explain(self._native.text)

    def stats(self) -> dict[str, Any]:
        """Return what the planning and the last run have done: rows, seconds, requests, bytes and dollars.

        The keys are those of ``sluice sql --stats-json``.
        """
        text, rows = self._native.stats()
        stats = cast("dict[str, Any]", json.loads(text))
        stats["rows"] = rows
        return stats

    def __repr__(self) -> str:
        columns = zip(self.columns, self.types)
        return f"<sluicegate.Result: {', '.join(f'{name} {kind}' for name, kind in columns)}>"

    def _cursor(self) -> _native.Rows:
        if self._rows is None:
            self._rows = self._native.rows()
        return self._rows

    def _read(self, read: Callable[[], _T]) -> _T:
        """Read the stream with another package, and raise our exception in place of that package's."""
        try:
            return read()
        except Exception as error:
            failure = self._native.failure()
            if failure is None:
                raise
            raise failure from error
