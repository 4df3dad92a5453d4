"""Write the golden trace of the current format version: `python tests/schema/make_golden.py`.

To be run once for each version, when it is released; until then tests make it from the tables. A
released golden trace is never written again: tests read it for ever. It has every table, in a
sealed run with the parts of a pass and in a run that only has a journal; `columns.json` and
`rows.json` beside it say what is in it.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import pyarrow as pa  # noqa: E402

from kvtrace.schema.columns import batch_of_rows  # noqa: E402
from kvtrace.schema.journal import SegmentWriter  # noqa: E402
from kvtrace.schema.layout import journal_folder, segment_path  # noqa: E402
from kvtrace.schema.tables import TABLES  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from kvtrace.schema.versions import FORMAT_VERSION, captured_facts, version_numbers  # noqa: E402
from kvtrace.schema.writer import RunWriter  # noqa: E402
from tests.schema.rows import all_fixed_rows  # noqa: E402

GOLDEN = ROOT / "kvtrace" / "schema" / "golden"
#: The golden traces of versions, oldest first.
VERSIONS = sorted(GOLDEN.iterdir(), key=lambda folder: version_numbers(folder.name[1:]))
SEALED = "20260102-030405-000-00000001"
JOURNALLED = "20260102-030405-000-00000002"


def columns_of_tables() -> dict[str, Any]:
    """All of `TABLES` that files depend on; wording is left out."""
    return {
        table.name: {
            "origin": table.origin,
            "since": table.since,
            "sort": list(table.sort),
            "columns": {
                column.name: {
                    "type": str(column.type),
                    "unit": column.unit,
                    "since": column.since,
                    "key": column.key,
                }
                for column in table.columns
            },
        }
        for table in TABLES.values()
    }


def write_golden(folder: Path) -> None:
    """Write trace, columns and rows into a new folder; the same bytes every time."""
    trace = folder / "trace"
    write_sealed_run(trace)
    write_journalled_run(trace)
    rows = {run_id: all_fixed_rows(run_id) for run_id in (SEALED, JOURNALLED)}
    write_json(folder / "columns.json", columns_of_tables())
    write_json(folder / "rows.json", rows)


def write_sealed_run(out: Path) -> None:
    """A run that ended well, and what a pass derived from it."""
    rows = all_fixed_rows(SEALED)
    writer = RunWriter(out, SEALED)
    for table in TABLES.values():
        if table.origin == "captured" and table.name != "runs":
            writer.append_rows(table.name, rows[table.name])
    writer.seal(rows["runs"][0])
    derived = {
        name: pa.Table.from_batches([batch_of_rows(table, rows[name])])
        for name, table in TABLES.items()
        if table.origin == "derived"
    }
    open_trace(out).add_derived(SEALED, "golden", derived, settings={"setting": 1})


def write_journalled_run(out: Path) -> None:
    """A run that was killed on another machine; every table, so that no journal is unread."""
    journal_folder(out, JOURNALLED).mkdir(parents=True)
    for name, rows in all_fixed_rows(JOURNALLED).items():
        segment = SegmentWriter(
            segment_path(out, JOURNALLED, name, 0), TABLES[name], captured_facts(name, JOURNALLED)
        )
        segment.append(batch_of_rows(TABLES[name], rows))
        segment.flush()
        segment.close()


def write_json(path: Path, content: Any) -> None:
    """Bytes become hexadecimal."""
    text = json.dumps(content, indent=1, ensure_ascii=False, default=bytes.hex)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    target = GOLDEN / f"v{FORMAT_VERSION}"
    shutil.rmtree(target, ignore_errors=True)
    write_golden(target)
    print(f"wrote {target.relative_to(ROOT)}")
