"""Conversion of values in other tools' JSON to the values of columns."""

from decimal import Decimal
from typing import Any

from kvtrace.converters.importers.rows import NONE

#: Below this number of µs, a float is exact to the ns.
_EXACT = 2.0**53 / 1000
#: Largest integer of 64 bits.
_LARGEST = 2**63 - 1


def integer(value: Any) -> int:
    """Return a number, or a text with an integer, as an integer; NONE for other values.

    Fractions are cut off.
    """
    if type(value) is int and -_LARGEST <= value <= _LARGEST:
        return value
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
    if type(microseconds) is float and -_EXACT < microseconds < _EXACT:
        return round(microseconds * 1000)
    if type(microseconds) is int and -_EXACT < microseconds < _EXACT:
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
    sizes = [integer(size) for size in entries(value)[:3]]
    x, y, z = (*sizes, NONE, NONE, NONE)[:3]
    return x, y, z
