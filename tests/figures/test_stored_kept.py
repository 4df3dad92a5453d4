"""Rows of many runs that are kept in one file are those of the runs' own files."""

import pytest

from kvtrace.figures.stored import rows_of_runs
from kvtrace.schema.columns import conformed
from kvtrace.schema.layout import KEPT_TIMES
from kvtrace.schema.parts import write_part
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.versions import captured_facts


@pytest.mark.costly("figures of a model, twice; what is not kept stays by day")
@pytest.mark.parametrize("name", ["kernels", "launch_sums", "run_parts", "idle_gaps"])
def test_kept_rows_are_those_of_the_runs(folder, name):
    columns = [column.name for column in TABLES[name].columns]
    trace = open_trace(folder)
    expected = trace.table(name, trace.runs, columns)
    for _ in range(2):
        rows = rows_of_runs(trace, trace.runs, name, columns)
        assert rows.schema.remove_metadata() == expected.schema
        assert [plain_rows(rows), rows["run"].to_pylist()] == [
            plain_rows(expected),
            expected["run"].to_pylist(),
        ]
    assert [file.name.partition("-")[0] for file in (folder / KEPT_TIMES).glob("*")] == [name]


@pytest.mark.costly("figures of a model, twice; kept rows stay by day")
def test_rows_that_were_repaired_are_not_kept(folder):
    trace = open_trace(folder)
    runs = [run.run_id for run in trace.runs]
    again = trace.table("kernels", runs[:1], ["kernel_id"]).drop_columns(["run"])
    part = folder / "kernels" / f"run={runs[0]}" / "part-00001.parquet"
    table = TABLES["kernels"]
    write_part(
        part, table, captured_facts("kernels", runs[0]), conformed(table, again).to_batches()
    )
    rows = rows_of_runs(trace, trace.runs, "kernels", ["kernel_id"])
    assert rows.equals(trace.table("kernels", runs, ["kernel_id"]))
    assert trace.notes
    assert not (folder / KEPT_TIMES).exists()
