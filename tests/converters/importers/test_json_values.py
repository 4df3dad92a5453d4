"""Values of JSON that others wrote: what is not a time is refused by ValueError alone."""

from decimal import Decimal
from typing import Any

import pytest

from kvtrace.converters.importers.json_values import nanoseconds


@pytest.mark.parametrize("value", ["1.5", 1.5, Decimal("1.5"), Decimal("1.5004")])
def test_a_time_is_rounded_to_nanoseconds(value: Any) -> None:
    assert nanoseconds(value) == 1500


@pytest.mark.parametrize(
    "value", ["soon", "nan", "Infinity", "1e999", float("nan"), float("inf"), True, None, 2**70, []]
)
def test_invalid_times_raise_errors(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a time in µs"):
        nanoseconds(value)
