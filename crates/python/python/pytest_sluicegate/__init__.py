"""Fixtures for pytest, which finds this plugin by itself once the package `sluicegate` is installed.

It is a package of its own, so that pytest loads the engine only for a test that uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sluicegate import Store


@pytest.fixture
def sluice_store() -> Iterator[Store]:
    """An empty S3 store with S3 Select, for one test.

    ``sluice_store.endpoint``, ``access_key`` and ``secret_key`` are for any client, ``sluice_store.client()`` is a
    client of boto3, ``sluice_store.connect()`` a connection of this package, and ``sluice_store.bucket()`` makes a
    bucket. Nothing is left after the test.
    """
    from sluicegate import serve

    with serve() as store:
        yield store


@pytest.fixture
def sluice_env(sluice_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The same store, which every AWS client of the test finds by environment variables."""
    for name, value in sluice_store.env.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "SLUICE_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    return sluice_store
