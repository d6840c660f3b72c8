"""Values of the standard library, built from Arrow's integers by the native module."""

from __future__ import annotations

import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Optional

from ._errors import DataError

_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)

decimal = Decimal


def date(days: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(_EPOCH_DAY + days)
    except (OverflowError, ValueError):
        raise _out_of_range("date", f"{days} days") from None


def time(micros: int) -> datetime.time:
    return (_EPOCH + datetime.timedelta(microseconds=micros)).time()


def duration(micros: int) -> datetime.timedelta:
    try:
        return datetime.timedelta(microseconds=micros)
    except OverflowError:
        raise DataError(f"{micros} µs are longer than Python's timedelta", _OTHERWISE) from None


def timestamp(micros: int, zone: Optional[datetime.tzinfo]) -> datetime.datetime:
    try:
        since = datetime.timedelta(microseconds=micros)
        return _EPOCH + since if zone is None else (_EPOCH_UTC + since).astimezone(zone)
    except (OverflowError, ValueError):
        raise _out_of_range("timestamp", f"{micros} µs") from None


@lru_cache(maxsize=64)
def zone(name: Optional[str]) -> Optional[datetime.tzinfo]:
    """Return the time zone of an Arrow type, such as `+02:00` or `Europe/Paris`; UTC if it is unknown here."""
    if name is None:
        return None
    if name[:1] in ("+", "-"):
        digits = name[1:].replace(":", "")
        if len(digits) == 4 and digits.isdigit():
            offset = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
            return datetime.timezone(-offset if name[0] == "-" else offset)
    elif name != "UTC":
        try:
            from zoneinfo import ZoneInfo

            return ZoneInfo(name)
        except Exception:  # The machine may have no data of time zones.
            pass
    return datetime.timezone.utc


_OTHERWISE = "Read it with to_arrow(), or CAST it to VARCHAR."


def _out_of_range(kind: str, since: str) -> DataError:
    return DataError(f"a {kind} is outside of Python's years 1 to 9999: 1970-01-01 and {since}", _OTHERWISE)
