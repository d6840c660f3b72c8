"""Exceptions. The native module raises them with :func:`make`."""

from __future__ import annotations

import re
from typing import ClassVar, Optional


class Error(Exception):
    """An error of a statement, a setting or a store.

    ``str(error)`` has the message and the hint. ``kind`` names the kind of failure; each kind is a subclass.
    """

    kind: ClassVar[str] = "other"

    def __init__(self, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message, hint)
        #: One sentence that describes the failure.
        self.message: str = message
        #: Advice, if there is any.
        self.hint: Optional[str] = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class SqlSyntaxError(Error):
    """The text is not SQL."""

    kind = "syntax"


class PlanError(Error):
    """The statement names something that does not exist, or its types do not match."""

    kind = "plan"


class SettingError(Error):
    """An option, the endpoint or the region is wrong."""

    kind = "setting"


class UnsupportedError(Error):
    """The statement is right but not supported."""

    kind = "unsupported"


class NotFoundError(Error):
    """A bucket or an object is missing."""

    kind = "not_found"


class AccessError(Error):
    """The store refuses access."""

    kind = "access"


class UnavailableError(Error):
    """The store cannot be reached, or keeps failing."""

    kind = "unavailable"


class ChangedError(Error):
    """An object was replaced while it was read; the query can be run again."""

    kind = "changed"


class DataError(Error):
    """A value or an object is unusable: it does not parse, overflows, divides by zero, or is damaged."""

    kind = "data"


class ResourcesError(Error):
    """Memory or disk space ran out."""

    kind = "resources"


class InternalError(Error):
    """A bug in the engine."""

    kind = "internal"


_KINDS = {
    "Syntax": SqlSyntaxError,
    "Plan": PlanError,
    "Setting": SettingError,
    "Unsupported": UnsupportedError,
    "NotFound": NotFoundError,
    "Access": AccessError,
    "Unavailable": UnavailableError,
    "Changed": ChangedError,
    "Data": DataError,
    "Resources": ResourcesError,
    "Internal": InternalError,
}

#: Options of the command in hints, which are arguments of `connect` here.
_OPTION = re.compile(
    r"--(anonymous|aws-profile|connection|endpoint|hardware|idle-timeout|memory-limit|prices|region|scan|store"
    r"|threads|workers)\b"
)


def make(kind: str, message: str, hint: Optional[str]) -> Error:
    """Return the exception of a kind."""

    def argument(option: re.Match[str]) -> str:
        return option.group(1).replace("-", "_") + "="

    if hint is not None:
        hint = _OPTION.sub(argument, hint)
    return _KINDS.get(kind, Error)(_OPTION.sub(argument, message), hint)
