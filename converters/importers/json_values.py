"""Values of other tools' JSON as columns hold them."""

from decimal import Decimal
from typing import Any

from kvtrace.converters.importers.rows import NONE

#: Below so many µs a float has all digits of ns.
_EXACT = 2.0**53 / 1000
#: The largest integer that 64 bits hold.
_LARGEST = 2**63 - 1


def integer(value: Any) -> int:
    """Return a value as an integer: a number, or a text of one; NONE where it is neither."""
    if type(value) is int and -_LARGEST <= value <= _LARGEST:
        return value
    if isinstance(value, str):
        text = value.strip()
        value = int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return NONE
    if not -_LARGEST <= value <= _LARGEST:  # not a number is not in between either
        return NONE
    return int(value)


def nanoseconds(microseconds: Any) -> int:
    """Return µs as ns, rounded; ValueError where it is not a number of a time."""
    if type(microseconds) is float and -_EXACT < microseconds < _EXACT:
        return round(microseconds * 1000)
    try:
        if isinstance(microseconds, str):
            microseconds = Decimal(microseconds)
        if isinstance(microseconds, int | float | Decimal) and not isinstance(microseconds, bool):
            found = round(microseconds * 1000)
            if -(2**62) <= found <= 2**62:
                return found
    except (ArithmeticError, ValueError):
        pass  # Not a number, or an infinite one.
    raise ValueError(f"{microseconds!r} is not a time in µs")


def text(value: Any) -> str | None:
    """Return a text, or None where it is not one or empty; what UTF-8 cannot write is replaced."""
    if not isinstance(value, str) or not value:
        return None
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, empty where it is not one."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[Any]:
    """Return an array, empty where it is not one."""
    return value if isinstance(value, list) else []


def three(value: Any) -> tuple[int, int, int]:
    """Return the three sizes of a grid or block; those not known are NONE."""
    listed = [integer(each) for each in entries(value)[:3]]
    x, y, z = (*listed, NONE, NONE, NONE)[:3]
    return x, y, z
