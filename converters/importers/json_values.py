"""Conversion of values in other tools' JSON to the values of columns."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.importers.rows import NONE

#: Below this number of µs, a float is exact to the ns.
EXACT: Final = 2.0**53 / 1000
#: Largest integer of 64 bits.
_LARGEST = 2**63 - 1


def integer(value: Any) -> int:
    """Return a number, or a text with an integer, as an integer; NONE for other values.

    Fractions are cut off.
    """
    if type(value) is int and -_LARGEST <= value <= _LARGEST:
        return value
    if value is None:
        return NONE
    if isinstance(value, str):
        text = value.strip()
        value = int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return NONE
    if not -_LARGEST <= value <= _LARGEST:  # also true of NaN
        return NONE
    return int(value)


def int32_or_none(value: Any) -> int | None:
    """Return a number, as `integer`, from 0 to the largest of 32 bits; None for other values."""
    number = integer(value)
    return number if 0 <= number < 2**31 else None


def device_facts(index: Any, name: Any, major: Any, minor: Any, memory: Any) -> dict[str, Any]:
    """Return the entry of `runs.devices` for a GPU, with its version and bytes of memory."""
    version, size = (integer(major), integer(minor)), integer(memory)
    return {
        "index": int32_or_none(index),
        "name": text(name),
        "capability": None if NONE in version else f"{version[0]}.{version[1]}",
        "memory_bytes": None if size == NONE else size,
    }


def nanoseconds(microseconds: Any) -> int:
    """Return a number of µs, or a text with one, as rounded ns; ValueError for other values."""
    if type(microseconds) is float and -EXACT < microseconds < EXACT:
        return round(microseconds * 1000)
    if type(microseconds) is int and -EXACT < microseconds < EXACT:
        return microseconds * 1000
    try:
        if isinstance(microseconds, str):
            microseconds = Decimal(microseconds)
        if isinstance(microseconds, int | float | Decimal) and not isinstance(microseconds, bool):
            ns = round(microseconds * 1000)
            if -(2**62) <= ns <= 2**62:
                return ns
    except (ArithmeticError, ValueError):
        pass  # Not a number, or an infinite one.
    raise ValueError(f"{microseconds!r} is not a time in µs")


def all_nanoseconds(microseconds: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return what `nanoseconds` returns for each number. Raises as that does."""
    types = set(map(type, microseconds))
    if types <= {int, float}:
        values = np.array(microseconds, np.float64)
        if (np.abs(values) < EXACT).all():  # false for NaN, too
            return np.rint(values * 1000).astype(np.int64)
    elif types <= {int, Decimal} and max(map(abs, microseconds)) < 2**62 // 1000:
        return np.array([round(each * 1000) for each in microseconds], np.int64)
    return np.array([nanoseconds(each) for each in microseconds], np.int64)


def text(value: Any) -> str | None:
    """Return a nonempty text, else None; characters that UTF-8 cannot encode are replaced."""
    if not isinstance(value, str) or not value:
        return None
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is a JSON object, else {}."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[Any]:
    """Return the value if it is a JSON array, else []."""
    return value if isinstance(value, list) else []


def three(value: Any) -> tuple[int, int, int]:
    """Return the three sizes in an array (of a grid or block), NONE for those that are unknown."""
    if value is None:
        return NONE, NONE, NONE
    x, y, z = (*entries(value)[:3], None, None, None)[:3]
    return integer(x), integer(y), integer(z)
