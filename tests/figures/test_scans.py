"""Parts of many runs and versions scanned where they lie, with the answers of the reader."""

import shutil

import pyarrow as pa
import pytest

from kvtrace.converters.query.query import connect, query_arrow
from kvtrace.figures.scans import row_count
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Trace, open_trace
from tests.converters.written_trace import SCALE, write_trace
from tests.schema.make_golden import GOLDEN, SEALED
from tests.schema.make_golden import VERSIONS as GOLDEN_VERSIONS
from tests.support.many_runs import COMMON, own, write_run
from tests.support.tiers import some

VERSIONS = [folder.name for folder in GOLDEN_VERSIONS]
#: Tables of which readers are given one of several rows: they are not scanned in golden traces.
UNITED = {"findings", "artifacts", "stacks"}


def rows_of(found, columns):
    """Rows of a table as text, points in time and all, in any order."""
    text = found.select(columns).cast(
        pa.schema([
            (c, pa.int64() if pa.types.is_timestamp(found.schema.field(c).type)
             else found.schema.field(c).type) for c in columns
        ])
    )  # fmt: skip
    return sorted(map(repr, text.to_pylist()))


@pytest.fixture
def of_all_versions(tmp_path):
    """One directory with the golden run of every version, each under an id of its own."""
    for version in VERSIONS:
        for table in (GOLDEN / version / "trace").iterdir():
            held = table / f"run={SEALED}"
            if held.is_dir() and not table.name.startswith("."):
                shutil.copytree(held, tmp_path / table.name / f"run={SEALED}-{version}")
    return open_trace(tmp_path)


#: Tables of a version that has a golden trace: those of the newest one have none until it is kept.
OF_GOLDEN = {path.name for version in VERSIONS for path in (GOLDEN / version / "trace").iterdir()}


@pytest.mark.parametrize("name", some(sorted((TABLES.keys() & OF_GOLDEN) - UNITED), 6))
def test_scans_of_all_minor_versions_equal_the_readers_tables(of_all_versions, name, monkeypatch):
    trace = of_all_versions
    columns = [column.name for column in TABLES[name].columns]
    plain = [c for c in columns if not pa.types.is_nested(TABLES[name].schema.field(c).type)]
    plain = [c for c in plain if not pa.types.is_dictionary(TABLES[name].schema.field(c).type)]
    expected = trace.table(name)
    having = set(expected["run"].to_pylist())
    assert f"{SEALED}-{VERSIONS[-1]}" in having
    text = f'SELECT * FROM "{name}"'
    read = Trace.table
    asked: list[str] = []

    def table(self, name, runs=None, columns=None):
        asked.extend(run.run_id for run in runs)
        return read(self, name, runs, columns)

    monkeypatch.setattr(Trace, "table", table)
    with connect(trace, trace.runs, text) as database:
        found = query_arrow(database, text)
    assert found.column_names == [*columns, "run"]
    assert set(found["run"].to_pylist()) == having
    assert rows_of(found, plain) == rows_of(expected, plain)
    assert asked == []


def test_run_without_rows_of_a_table_is_not_read_by_the_reader(tmp_path, monkeypatch):
    for number in range(3):
        write_trace(tmp_path, [SCALE], run_id=f"r{number}")
    trace = open_trace(tmp_path)
    runs = trace.runs
    read: list[str] = []
    monkeypatch.setattr("kvtrace.schema.trace.run_rows", lambda *given: read.append(given[2]))
    with connect(trace, runs, "SELECT * FROM findings") as database:
        assert query_arrow(database, "SELECT * FROM findings").num_rows == 0
    assert read == []


def test_artifacts_that_another_run_holds_are_read_by_the_reader(tmp_path):
    for number in range(2):
        write_run(tmp_path, number, 2 - number, shares=number > 0)
    trace = open_trace(tmp_path)
    text = "SELECT sha256 FROM artifacts"
    with connect(trace, trace.runs[1:], text) as database:
        digests = query_arrow(database, text)["sha256"].to_pylist()
    assert set(digests) == {COMMON["sha256"], own(1)["sha256"]}


@pytest.mark.parametrize("seal", [True, False])
def test_row_count_covers_parts_and_journal(tmp_path, seal):
    side = write_trace(tmp_path, [SCALE], seal=seal)
    assert row_count(side.trace, side.runs[0], "launches") == 4
    assert row_count(side.trace, side.runs[0], "gpu_kernels") == 0
