"""S3 stores in this process, for tests."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Optional, Union

from . import _native
from ._connection import Connection, connect


_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def serve(
    folder: Union[str, os.PathLike[str], None] = None,
    *,
    listen: str = "127.0.0.1:0",
    access_key: Optional[str] = None,
    secret_key: Optional[str] = None,
    anonymous: bool = False,
    link: Optional[str] = None,
    latency: Union[str, float, None] = None,
    select: bool = True,
    fsync: Optional[bool] = None,
) -> Store:
    """Start an S3 store with S3 Select in this process.

    Use it in a ``with`` block, which stops it. Without a folder, the store has a temporary one, which is removed.

    :param folder: the folder; each folder in it is a bucket. It is created if it does not exist
    :param listen: the address; port 0 is any free one
    :param access_key: the access key that clients need, with its ``secret_key``; by default a new one
    :param anonymous: accept requests without credentials
    :param link: a simulated rate that all connections share, such as ``"1gbit"``
    :param latency: a simulated delay before each answer: ``"10ms"``, or seconds
    :param select: whether the store has S3 Select; most stores have none
    :param fsync: whether writes survive a power failure; by default only in a folder of your own
    :raises SettingError: if an argument is invalid, or the store cannot start
    """
    return Store(
        folder,
        listen=listen,
        access_key=access_key,
        secret_key=secret_key,
        anonymous=anonymous,
        link=link,
        latency=latency,
        select=select,
        fsync=fsync,
    )


class Store:
    """A running S3 store; see :func:`serve`."""

    def __init__(
        self,
        folder: Union[str, os.PathLike[str], None] = None,
        *,
        listen: str = "127.0.0.1:0",
        access_key: Optional[str] = None,
        secret_key: Optional[str] = None,
        anonymous: bool = False,
        link: Optional[str] = None,
        latency: Union[str, float, None] = None,
        select: bool = True,
        fsync: Optional[bool] = None,
    ) -> None:
        if (access_key is None) != (secret_key is None):
            raise ValueError("access_key and secret_key go together")
        is_temporary = folder is None
        path = tempfile.mkdtemp(prefix="sluice-store-") if folder is None else os.fspath(folder)
        if isinstance(latency, (int, float)):
            latency = f"{round(latency * 1_000_000)}us"
        options = {"dir": path, "listen": listen}
        if link is not None:
            options["link"] = link
        if latency is not None:
            options["latency"] = latency
        flags = {
            "anonymous": anonymous,
            "no-select": not select,
            "no-fsync": is_temporary if fsync is None else not fsync,
        }
        options.update({name: "true" for name, is_set in flags.items() if is_set})
        key_pair = None if access_key is None or secret_key is None else (access_key, secret_key)
        try:
            os.makedirs(path, exist_ok=True)
            native = _native.Store(options, key_pair)
        except BaseException:
            if is_temporary:
                shutil.rmtree(path, ignore_errors=True)
            raise
        self._native = native
        self._numbers = count(1)
        #: The store's folder. Folders in it are buckets, files in them are objects.
        self.path: Path = Path(path)
        # Also when the program ends without a call of `stop`.
        self._finalizer = weakref.finalize(self, _end, native, path if is_temporary else None, os.getpid())

    @property
    def endpoint(self) -> str:
        """The store's URL."""
        return self._native.endpoint

    @property
    def access_key(self) -> str:
        """The access key ID; empty if the store is anonymous."""
        return self._native.access_key

    @property
    def secret_key(self) -> str:
        """The secret access key; empty if the store is anonymous."""
        return self._native.secret_key

    @property
    def running(self) -> bool:
        """True until :meth:`stop`."""
        return self._native.running

    @property
    def env(self) -> dict[str, str]:
        """The environment variables by which every AWS tool finds the store."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def bucket(self, name: Optional[str] = None) -> str:
        """Make a bucket, if it does not exist, and return its name. Without a name, it is a new one."""
        if name is None:
            name = next(name for name in (f"bucket-{n}" for n in self._numbers) if not (self.path / name).exists())
        if not _BUCKET.fullmatch(name):
            raise ValueError(f"`{name}` is not the name of a bucket: 3 to 63 lowercase letters, digits, `-` and `.`")
        (self.path / name).mkdir(exist_ok=True)
        return name

    def client(self, service: str = "s3", **options: Any) -> Any:
        """Return a client of boto3 for the store. Keyword arguments are those of ``boto3.client``."""
        import boto3

        keys = {} if not self.access_key else {
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
        }
        if not keys and "config" not in options:
            from botocore import UNSIGNED
            from botocore.config import Config

            options["config"] = Config(signature_version=UNSIGNED)
        given = {"endpoint_url": self.endpoint, "region_name": "us-east-1", **keys, **options}
        return boto3.client(service, **given)

    def connect(self, **options: Any) -> Connection:
        """Connect to the store. Keyword arguments are those of :func:`connect`."""
        given: dict[str, Any] = {"endpoint": self.endpoint}
        if self.access_key:
            given.update(access_key=self.access_key, secret_key=self.secret_key)
        else:
            given.update(anonymous=True)
        return connect(**{**given, **options})

    def stop(self) -> None:
        """Stop the store, and remove its folder if it is a temporary one. Requests get some seconds to end."""
        self._finalizer()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<sluicegate.Store at {self.endpoint}{'' if self.running else ', stopped'}>"


def _end(native: _native.Store, folder: Optional[str], process: int) -> None:
    """Stop a store and remove its temporary folder. A child process leaves both to its parent."""
    if os.getpid() != process:
        return
    try:
        native.stop()
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
