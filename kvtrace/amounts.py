"""Amounts of bytes, launches and time in settings and options, as `2GB` and `10M launches`."""

import math
import re
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.schema.errors import BadSetting

_AMOUNT: Final = re.compile(
    r"(?P<newest>ring:|sums:)?\s*(?P<number>\d{1,15}(\.\d{1,9})?)\s*(?P<unit>[a-z ]+)"
)
#: Units of a limit: the counted quantity, and the number of it.
_UNITS: Final[dict[str, tuple[str, float]]] = {
    **{unit: ("bytes", 1000**power) for power, unit in enumerate(("b", "kb", "mb", "gb", "tb"))},
    **{f"{unit}ib": ("bytes", 1024**power) for power, unit in enumerate("kmgt", 1)},
    **{f"{unit}launches": ("launches", 1000**power) for power, unit in enumerate(("", *"kmg"))},
    "launch": ("launches", 1),
    "s": ("seconds", 1),
    "min": ("seconds", 60),
    "h": ("seconds", 3600),
    "d": ("seconds", 86400),
}


@dataclass(frozen=True, slots=True)
class Amounts:
    """Bounds on the size of a run: bytes on disk, launches, seconds; None: no bound."""

    bytes: int | None = None
    launches: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """The parsed setting `limit`: at which amounts recording ends, and which newest are kept.

    `sums`: what older rows add up to is kept, too.
    """

    end: Amounts = Amounts()
    newest: Amounts = Amounts()
    sums: bool = False

    @property
    def any(self) -> bool:
        """A limit is set."""
        return self != Limit()


def amount_of(text: str, what: str) -> float:
    """Return the bytes or seconds that a text such as 50GB or 30d means.

    Raises:
        BadSetting: the text is not an amount of `what`, "bytes" or "seconds".
    """
    match = _AMOUNT.fullmatch(text.lower().strip())
    amount, quantity = _amount(match) if match and not match["newest"] else (0.0, "")
    if quantity != what or amount < 1:
        example = "50GB or 500 MiB" if what == "bytes" else "12h or 30d"
        raise BadSetting(f"{text!r} is not an amount of {what}; give one such as {example}")
    return amount


def _amount(match: re.Match[str]) -> tuple[float, str]:
    """Return an amount and its quantity, as "bytes"; "" if the unit is unknown."""
    quantity, factor = _UNITS.get(match["unit"].replace(" ", ""), ("", 0))
    return float(match["number"]) * factor, quantity


def limit_of(text: str) -> Limit:
    """Return the parsed setting `limit`; BadSetting names the invalid part."""
    amounts: dict[str, dict[str, Any]] = {"end": {}, "newest": {}}
    for amount_text in filter(None, map(str.strip, text.lower().split(","))):
        match = _AMOUNT.fullmatch(amount_text)
        amount, quantity = _amount(match) if match else (0.0, "")
        amount_by_quantity = amounts["newest" if match and match["newest"] else "end"]
        if amount < 1 or quantity in amount_by_quantity:
            raise BadSetting(
                "the setting limit is a list of amounts such as 2GB, 10M launches or 1h, one of "
                "each kind, separated by commas; ring: before an amount keeps the newest, sums: "
                f"also what the others add up to; {amount_text!r} is not valid"
            )
        amount_by_quantity[quantity] = amount if quantity == "seconds" else round(amount)
    end, newest = (Amounts(**amounts[of]) for of in ("end", "newest"))
    return Limit(end, newest, "sums:" in text.lower())


def seconds_of(text: str) -> float:
    """Return the seconds that a text such as 90s or 1.5h means; NaN if it is no time."""
    match = _AMOUNT.fullmatch(text.lower().strip())
    amount, quantity = _amount(match) if match and not match["newest"] else (0.0, "")
    return amount if quantity == "seconds" else math.nan
