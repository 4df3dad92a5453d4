"""Write the conformance suite into schema/conformance/: `python tests/schema/make_conformance.py`.

A case that is in the folder is never written again: readers of other projects are tested with it.
`expected.json` beside each trace has what the case is about, and the answer; without an answer
readers have to reject the trace.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from kvtrace.schema.tables import TABLES  # noqa: E402
from tests.schema.conformance_cases import CASES  # noqa: E402
from tests.schema.conformance_rows import Part  # noqa: E402

SUITE: Final = ROOT / "schema" / "conformance"


def rows_of(part: Part) -> pa.Table:
    """Return the rows of a part, with the columns that some row has, and its own columns."""
    names = {name for row in part.rows for name in row}
    columns = [c for c in (TABLES[part.table].columns if names else ()) if c.name in names]
    types = {c.name: enlarged(c.type) if part.large else c.type for c in columns}
    for name, kinds in part.fields.items():
        fields = [(field, pa.type_for_alias(kind)) for field, kind in kinds.items()]
        types[name] = pa.list_(pa.struct(fields))
    schema = pa.schema([pa.field(c.name, types[c.name], nullable=not c.key) for c in columns])
    rows = pa.Table.from_pylist([*part.rows], schema)
    for name, (kind, values) in part.columns.items():
        array = pa.array(values, pa.type_for_alias(kind))
        rows = rows.append_column(name, array) if rows.num_columns else pa.table({name: array})
    facts = {
        "table": part.table if part.of_table is None else part.of_table,
        "run_id": part.run if part.of_run is None else part.of_run,
    }
    facts = {key: text for key, text in facts.items() if text}
    if part.version is not None:
        facts["format_version"] = part.version
    if part.of_pass is not None:
        facts |= {"pass": part.of_pass, "settings": "{}"}
    return rows.replace_schema_metadata({f"kvtrace.{key}": text for key, text in facts.items()})


def enlarged(kind: pa.DataType) -> pa.DataType:
    """Return a type with 64-bit offsets in place of dictionaries and of 32-bit offsets."""
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_list(kind):
        return pa.large_list(enlarged(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, enlarged(field.type)) for field in kind])
    return kind


def write_part(path: Path, part: Part) -> None:
    """Write the Parquet file of a part; metadata also where the Arrow schema is not stored."""
    rows = rows_of(part)
    options = {"compression": "zstd", **part.options}
    rows_a_group = options.pop("row_group_size", None)
    with pq.ParquetWriter(path, rows.schema.remove_metadata(), **options) as writer:
        writer.write_table(rows.replace_schema_metadata(None), rows_a_group)
        writer.add_key_value_metadata(rows.schema.metadata)
    if part.torn is not None:
        path.write_bytes(path.read_bytes()[: part.torn])


def write_parts(out: Path, parts: Sequence[Part]) -> None:
    """Write the files of a trace."""
    for part in parts:
        path = out / part.table / f"run={part.run}" / part.name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_part(path, part)


def write_case(folder: Path, name: str) -> None:
    """Write a case into a new folder; the same bytes every time."""
    about, trace = CASES[name]
    parts, answer = trace()
    write_parts(folder / "trace", parts)
    expected = {"about": about, "answer": answer}
    text = json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
    (folder / "expected.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for case in CASES:
        if not (SUITE / case).exists():
            write_case(SUITE / case, case)
            print(f"wrote {(SUITE / case).relative_to(ROOT)}")
