"""A trace of the core profile, as a program without kvtrace writes it: plain Parquet files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.schema.tables import CORE_TABLES, TABLES
from kvtrace.schema.trace import Trace

RUN = "20270101-000000-000-00c0ffee"
#: Two kernels, three calls, four launches, and an execution of each.
ROWS: dict[str, list[dict[str, Any]]] = {
    "kernels": [{"kernel_id": 0, "name": "tile_add"}, {"kernel_id": 1, "name": "tile_dot"}],
    "calls": [{"call_id": number, "kernel_id": number // 2} for number in range(3)],
    "launches": [{"seq": number, "call_id": number % 3} for number in range(4)],
    "gpu_kernels": [
        {"record": number, "start": 10_000 * number, "end": 10_000 * number + 4_000}
        for number in range(4)
    ],
    "runs": [{"run_id": RUN}],
}


def write_core_trace(out: Path, tables: Iterable[str] = tuple(ROWS)) -> Path:
    """Write the required columns of the core profile, and nothing else."""
    for name in tables:
        kinds = TABLES[name].schema
        schema = pa.schema([kinds.field(column) for column in ROWS[name][0]])
        _write(out, name, RUN, pa.Table.from_pylist(ROWS[name], schema))
    return out


def write_with_columns(trace: Trace, out: Path, columns: Mapping[str, Iterable[str]]) -> Path:
    """Copy required columns of the core profile and of the tables `columns`, and those columns."""
    for run_id in trace.run_ids:
        for name in dict.fromkeys([*CORE_TABLES, *columns]):
            names = dict.fromkeys([*TABLES[name].required, *columns.get(name, ())])
            rows = trace.table(name, [run_id], list(names)).drop_columns(["run"])
            if rows.num_rows:
                _write(out, name, run_id, rows)
    return out


def _write(out: Path, name: str, run_id: str, rows: pa.Table) -> None:
    """Write a part whose strings are plain ones, as without Arrow's schema in the file."""
    facts = {"format_version": "1.12", "table": name, "run_id": run_id}
    folder = out / name / f"run={run_id}"
    folder.mkdir(parents=True)
    with pq.ParquetWriter(folder / "part-00000.parquet", rows.schema, store_schema=False) as file:
        file.write_table(rows)
        file.add_key_value_metadata({f"kvtrace.{key}": text for key, text in facts.items()})
