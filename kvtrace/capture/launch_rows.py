"""Conversion of the hot path's launch rows to columns, in C if the extension is built."""

from kvtrace.capture.hot_choice import compiled_part
from kvtrace.schema.hot_rows import LaunchRows, columns_in_python


def launch_rows(rows: bytes, first: int, last_exit: int) -> LaunchRows:
    """Return packed launch rows as columns, like `columns_in_python`."""
    compiled, _ = compiled_part()
    if compiled is None:
        return columns_in_python(rows, first, last_exit)
    return LaunchRows(*compiled.launch_columns(rows, first, last_exit))
