"""Launch rows of the hot path as columns, converted by the compiled part if it is built."""

from kvtrace.capture.hot_choice import compiled_part
from kvtrace.schema.hot_rows import LaunchRows, columns_in_python


def launch_rows(rows: bytes, first: int, last_exit: int) -> LaunchRows:
    """Return launches by column, as `columns_in_python` does."""
    compiled, _ = compiled_part()
    if compiled is None:
        return columns_in_python(rows, first, last_exit)
    return LaunchRows(*compiled.launch_columns(rows, first, last_exit))
