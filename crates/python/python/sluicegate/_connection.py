"""Connections to stores."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Optional, Union, cast

from . import _native
from ._errors import SettingError
from ._explanation import Explanation
from ._result import Result

_Setting = Union[str, int, float, bool]


def connect(
    endpoint: Optional[str] = None,
    *,
    connection: Optional[str] = None,
    access_key: Optional[str] = None,
    secret_key: Optional[str] = None,
    session_token: Optional[str] = None,
    aws_profile: Optional[str] = None,
    anonymous: bool = False,
    region: Optional[str] = None,
    store: Optional[str] = None,
    workers: Sequence[str] = (),
    threads: Optional[int] = None,
    memory_limit: Union[str, int, None] = None,
    idle_timeout: Union[str, float, None] = None,
    scan: Optional[str] = None,
    prices: Union[str, os.PathLike[str], None] = None,
    hardware: Union[str, os.PathLike[str], None] = None,
    settings: Optional[Mapping[str, _Setting]] = None,
) -> Connection:
    """Connect to an S3-compatible store.

    Without arguments, the endpoint and the credentials come from where every AWS tool takes them: environment
    variables, the profile files, the machine's role. A store that cannot be reached fails the first query.

    :param endpoint: the store's URL, such as ``http://127.0.0.1:9000``
    :param connection: a connection that ``sluice connect add`` saved; other arguments override it
    :param access_key: an access key, with its ``secret_key`` and, if it is temporary, its ``session_token``
    :param aws_profile: the section of the AWS profile files to take credentials from
    :param anonymous: send unsigned requests
    :param store: the kind of store: ``auto``, ``probed``, ``sluice``, ``aws``, ``minio``, ``ceph`` or ``get-only``
    :param workers: URLs of machines that run parts of queries (``sluice worker``)
    :param threads: partitions that a query runs in; by default the number of cores
    :param memory_limit: memory of joins, sorts and aggregates: ``"2GiB"``, or bytes
    :param idle_timeout: how long to wait for a silent store: ``"2min"``, or seconds
    :param scan: how tables are read: ``auto``, ``get``, ``select``, ``index`` or ``index_table``
    :param prices: a price book, by name or as a TOML file
    :param hardware: the hardware that predictions assume, by name or as a TOML file
    :param settings: settings of the session, as by :meth:`Connection.set`
    :raises SettingError: if an argument is invalid
    """
    credentials: Optional[tuple[str, str, Optional[str]]] = None
    if access_key is not None and secret_key is not None:
        credentials = (access_key, secret_key, session_token)
    elif access_key is not None or secret_key is not None or session_token is not None:
        raise SettingError("an access key needs access_key and secret_key", "Give both, or neither.")
    if isinstance(memory_limit, int):
        memory_limit = f"{memory_limit}B"
    if isinstance(idle_timeout, (int, float)):
        idle_timeout = f"{round(idle_timeout * 1000)}ms"
    given: dict[str, Any] = {
        "connection": connection,
        "endpoint": endpoint,
        "region": region,
        "aws-profile": aws_profile,
        "anonymous": "true" if anonymous else None,
        "store": store,
        "workers": ",".join(workers) if workers else None,
        "threads": threads,
        "memory-limit": memory_limit,
        "idle-timeout": idle_timeout,
        "scan": scan,
        "prices": prices,
        "hardware": hardware,
    }
    options = {name: os.fspath(value) if isinstance(value, os.PathLike) else str(value)
               for name, value in given.items() if value is not None}
    connected = Connection(_native.Connection(options, credentials))
    for name, value in (settings or {}).items():
        connected.set(name, value)
    return connected


class Connection:
    """A session over a store: its tables and settings. :func:`connect` makes one.

    Threads may share a connection. A child process that is forked after the
    first connection gets errors: start it with the method ``spawn``.
    """

    __slots__ = ("_native", "__weakref__")

    def __init__(self, native: _native.Connection) -> None:
        self._native = native

    @property
    def endpoint(self) -> Optional[str]:
        """The store's URL, or ``None`` for AWS."""
        return self._native.endpoint

    @property
    def store(self) -> str:
        """The kind of store, which determines what is pushed down."""
        return self._native.store

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return self._native.closed

    def sql(self, text: str) -> Result:
        """Plan a statement and return its result.

        A query runs when its rows are read. Every other statement runs now. If there are several statements, with
        ``;`` between them, all but the last run to their end.

        :raises Error: if the statement cannot be planned, or fails
        """
        return Result(self, self._native.sql(text))

    def explain(self, text: str) -> Optional[Explanation]:
        """Return the plan of a query with its predictions. The query does not run.

        A statement that only defines a name or sets an option takes effect, and ``None`` is returned.
        """
        explained = self._native.explain(text)
        return None if explained is None else Explanation(explained[0], json.loads(explained[1]))

    def register(self, name: str, data: Any) -> None:
        """Make a table of a frame or a table of another package, and replace the table of this name.

        ``data`` is anything with ``__arrow_c_stream__``, such as a pandas or polars frame, a pyarrow table, a DuckDB
        relation or a :class:`Result`; or a dict of columns, which needs pyarrow. Its rows are read now. They are not
        copied if the package has them as Arrow. ``name`` is written as in SQL.
        """
        self._native.register(name, _with_stream(data))

    def unregister(self, name: str) -> bool:
        """Remove a table; return whether there was one."""
        return self._native.unregister(name)

    def set(self, name: str, value: _Setting) -> None:
        """Change a setting, such as ``scan`` or ``datafusion.execution.batch_size``.

        A name without a point is one of ``sluice``: ``scan`` is ``sluice.scan``.
        """
        text = str(value).lower() if isinstance(value, bool) else str(value)
        text = text.replace("'", "''")
        self.sql(f"SET {_setting(name)} = '{text}'")

    def get(self, name: str) -> str:
        """Return the value of a setting as text."""
        row = self.sql(f"SHOW {_setting(name)}").fetchone()
        if row is None:
            raise SettingError(f"there is no setting `{name}`")
        return str(row[-1])

    @contextmanager
    def settings(self, **changed: _Setting) -> Iterator[Connection]:
        """Change settings of ``sluice`` for a ``with`` block: ``with connection.settings(scan="get"): …``."""
        before = {name: self.get(name) for name in changed}
        try:
            for name, value in changed.items():
                self.set(name, value)
            yield self
        finally:
            for name, text in before.items():
                self.set(name, text)

    def stats(self) -> dict[str, Any]:
        """Return what all statements so far have done: requests, bytes and dollars.

        ``seconds`` is the age of the connection. :meth:`Result.stats` is for one statement.
        """
        return cast("dict[str, Any]", json.loads(self._native.stats()))

    def close(self) -> None:
        """Close the connection. Results that are being read stay open."""
        self._native.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<sluicegate.Connection, closed>"
        return f"<sluicegate.Connection to {self.endpoint or 'AWS'}, store {self.store}>"


def _setting(name: str) -> str:
    """Return the full name of a setting, if it is one that SQL can name."""
    if not name or not all(part.isidentifier() for part in name.split(".")):
        raise SettingError(f"`{name}` is not the name of a setting")
    return name if "." in name else f"sluice.{name}"


def _with_stream(data: Any) -> Any:
    """Return an object with `__arrow_c_stream__` for a table of another package."""
    if hasattr(data, "__arrow_c_stream__"):
        return data
    if hasattr(data, "__arrow_c_array__") or isinstance(data, dict):
        import pyarrow

        return pyarrow.table(data)
    if type(data).__module__.partition(".")[0] == "pandas":
        # pandas before 2.2
        import pyarrow

        return pyarrow.Table.from_pandas(data)
    raise TypeError(
        f"a table cannot be made of {type(data).__name__}: it has no __arrow_c_stream__; "
        "give a frame of pandas or polars, a table of pyarrow, or a dict of columns"
    )
