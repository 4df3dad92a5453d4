"""`replace` for records of either kind: structs, and dataclasses, which commands print."""

import dataclasses
from typing import Any

from msgspec import Struct, structs


def replace(record: Any, /, **changes: Any) -> Any:
    """Return a copy of a record with other values in some fields."""
    if isinstance(record, Struct):
        return structs.replace(record, **changes)
    return dataclasses.replace(record, **changes)
