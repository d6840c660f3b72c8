"""Uses every public name; mypy checks it, and nothing runs it."""

from __future__ import annotations

from typing import Any

import pandas
import polars
import pyarrow
import sluicegate

connection: sluicegate.Connection = sluicegate.connect(
    "http://127.0.0.1:9000", workers=["http://127.0.0.1:9100"], memory_limit="1GiB", idle_timeout=2.5, settings={"scan": "get"}
)
with connection as same:
    result: sluicegate.Result = same.sql("SELECT 1")
    table: pyarrow.Table = result.to_arrow()
    frame: pandas.DataFrame = result.to_pandas()
    other: polars.DataFrame = result.to_polars()
    rows: list[tuple[Any, ...]] = result.fetchall()
    row: tuple[Any, ...] | None = result.fetchone()
    names: list[str] = result.columns + result.types + result.notes
    explanation: sluicegate.Explanation | None = result.explain()
    if explanation is not None:
        seconds: float = explanation.seconds
    same.register("t", frame)
    with same.settings(scan="get", transfer=False):
        pass
with sluicegate.serve(latency="10ms") as store:
    bucket: str = store.bucket()
    env: dict[str, str] = store.env
    store.connect(scan="get").close()
try:
    connection.sql("")
except sluicegate.NotFoundError as error:
    hint: str | None = error.hint
    kind: str = error.kind
