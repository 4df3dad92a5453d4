"""`nki.dtype`: element types, and a name for annotations of one."""

from typing import Any

from kvtrace.nki import dtypes
from kvtrace.nki.missing import says_missing

__all__ = list(dtypes.NAMES)

globals().update(dtypes.NAMES)

__getattr__: Any = says_missing("nki.dtype")
