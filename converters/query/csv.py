"""CSV files of a trace's tables: one table as a file, or every table with rows in a folder.

Lists, structs and maps become JSON text, times have nanoseconds, and null is an empty field. The
contents of artifacts are left out; `artifacts.csv` has their hashes and sizes.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.output_folders import check_output_folder
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Selection

#: Characters that begin a formula in spreadsheets:
#: https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA: Final = "^[=+@\t\r-]"
#: Control characters C0 and C1, except tab and line feed.
_CONTROL: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_NUMBER: Final = re.compile(r"[+-]?[\d.][\d.eE+-]*")


class CsvConverter:
    """Converter of tables to CSV, for spreadsheets and tools that do not read Parquet."""

    summary = "Tables as CSV: a folder of all, or one with --set table=NAME"
    default_output = "trace-csv"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the tables of the selected runs, or only the one that the setting `table` names.

        Raises:
            BadSetting: the table or a setting does not exist, or the output cannot be written.

        """
        reject_unknown_settings("csv", settings, ("table",))
        table = settings.get("table")
        if table is None:
            return _write_folder(selection, output)
        if table not in _tables(selection):
            known = ", ".join(_tables(selection))
            raise BadSetting(f"there is no table {table!r}; the tables are {known}")
        with whole_file(output) as file:
            rows = write_table(selection, table, file)
        return Conversion((output,), (f"{rows:,} rows of {table}",))


CONVERTER: Final = CsvConverter()


def _tables(selection: Selection) -> tuple[str, ...]:
    return (*TABLES, *selection.trace.client_tables)


def write_table(selection: Selection, table: str, file: BinaryIO) -> int:
    """Write the selected runs' rows of one table with a header; return the number of rows."""
    definition = selection.trace.definition(table, selection.runs)
    columns = [c.name for c in definition.columns if not pa.types.is_binary(c.type)]
    rows = flattened(selection.table(table, columns))
    for index, name in enumerate(rows.column_names):
        rows = rows.set_column(index, name, safe_column(rows.column(index)))
    # Some versions of pyarrow write the header once more for an empty first batch.
    batches = [batch for batch in rows.to_batches() if batch.num_rows]
    table_rows = pa.Table.from_batches(batches, rows.schema)
    csv.write_csv(table_rows, file, csv.WriteOptions(quoting_style="needed"))
    return int(rows.num_rows)


def flattened(rows: pa.Table) -> pa.Table:
    """Return the table with every nested column replaced by JSON text."""
    for index, field in enumerate(rows.schema):
        if not pa.types.is_nested(field.type):
            continue
        values = rows.column(index).to_pylist(maps_as_pydicts="lossy")
        texts = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
        rows = rows.set_column(index, field.name, pa.array(texts, pa.string()))
    return rows


def _write_folder(selection: Selection, output: Path) -> Conversion:
    """Write every table with rows as a file in a new folder, which appears when it is complete.

    Raises:
        BadSetting: the folder has files, or cannot be written.
    """
    check_output_folder(output, "fill")
    if not output.parent.is_dir():
        raise BadSetting(f"the folder {output.parent} of the output does not exist; make it first.")
    notes = []
    temporary: Path | None = None
    try:
        temporary = Path(mkdtemp(dir=output.parent, prefix=f".{output.name}."))
        for table in _tables(selection):
            path = temporary / f"{table}.csv"
            with path.open("wb") as file:
                count = write_table(selection, table, file)
            if count == 0:
                path.unlink()
                continue
            notes.append(f"{count:,} rows of {table}")
        temporary.chmod(0o755)
        temporary.rename(output)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise BadSetting(f"cannot write {output}: {reason}") from problem
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return Conversion(tuple(sorted(output.iterdir())), tuple(notes))


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
