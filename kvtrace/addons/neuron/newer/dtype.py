"""`nki.dtype`: element types."""

from typing import Any

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import missing_name_handler

__all__ = list(dtypes.NAMES)

globals().update(dtypes.NAMES)

__getattr__: Any = missing_name_handler("nki.dtype")
