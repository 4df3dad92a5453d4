"""Texts as cells of CSV files: no spreadsheet takes one for a formula, no terminal obeys one."""

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

#: What spreadsheets take for the beginning of a formula:
#: https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA: Final = "^[=+@\t\r-]"
#: Control characters, C0 and C1, without a tab and the end of a line.
_CONTROL: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_NUMBER: Final = re.compile(r"[+-]?[\d.][\d.eE+-]*")


def safe_text(text: str) -> str:
    r"""Return a text behind an apostrophe if it begins a formula, control characters as `\x1b`."""
    if re.match(_FORMULA, text) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    return re.sub(_CONTROL, lambda found: repr(found[0])[1:-1], text)


def safe_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of texts with each as `safe_text` has it; others as they are."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not pa.types.is_string(kind):
        return column
    plain = column.cast(kind)
    suspect = pc.match_substring_regex(plain, f"{_FORMULA}|{_CONTROL}")
    if not pc.any(suspect).as_py():
        return column
    texts = [None if text is None else safe_text(text) for text in plain.to_pylist()]
    return pa.chunked_array([texts], kind)
