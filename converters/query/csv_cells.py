"""Escaping of text cells in CSV, so that they contain neither formulas nor terminal codes."""

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

#: Characters that begin a formula in spreadsheets:
#: https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA: Final = "^[=+@\t\r-]"
#: Control characters C0 and C1, except tab and line feed.
_CONTROL: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_NUMBER: Final = re.compile(r"[+-]?[\d.][\d.eE+-]*")


def safe_text(text: str) -> str:
    r"""Return the text with an apostrophe before a formula, and control characters as `\x1b`."""
    if re.match(_FORMULA, text) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    return re.sub(_CONTROL, lambda match: repr(match[0])[1:-1], text)


def safe_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a text column with `safe_text` applied to every cell, any other column unchanged."""
    value_type = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not pa.types.is_string(value_type):
        return column
    texts_column = column.cast(value_type)
    is_unsafe = pc.match_substring_regex(texts_column, f"{_FORMULA}|{_CONTROL}")
    if not pc.any(is_unsafe).as_py():
        return column
    texts = [None if text is None else safe_text(text) for text in texts_column.to_pylist()]
    return pa.chunked_array([texts], value_type)
