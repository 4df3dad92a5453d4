"""DuckDB and pyarrow read every table with hive partitioning, with no help from us."""

import shutil

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.make_golden import GOLDEN, SEALED, write_sealed_run
from tests.schema.rows import MOMENT, plain
from tests.schema.written_runs import add_calls, launches
from tests.support.readers import first_query


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Every table of one run, launches of three, and one that is still going."""
    out = tmp_path_factory.mktemp("trace") / "out"
    write_sealed_run(out)
    for number in range(3):
        writer = RunWriter(out, f"20270101-000000-000-0000000{number}")  # digits only
        add_calls(writer)
        writer.append("launches", launches(0, 100))
        if number < 2:
            writer.seal({"ending": "exit"})
        else:
            writer.flush()
            writer.close()
    return out


def unordered(rows: pa.Table):
    return sorted(map(str, plain(rows)))


def by_duckdb(out, name):
    query = f"FROM read_parquet('{out}/{name}/**/*.parquet', hive_partitioning = true)"
    return duckdb.sql(query).to_arrow_table()


def by_pyarrow(out, name):
    return ds.dataset(out / name, partitioning="hive").to_table()


@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.parametrize("read", [by_duckdb, by_pyarrow])
def test_other_readers_read_every_table(out, name, read):
    sealed = [run for run in open_trace(out).runs if run.sealed]
    own = open_trace(out).table(name, sealed)

    rows = read(out, name)

    assert rows.column_names == own.column_names
    assert sorted(rows.column("run").to_pylist()) == sorted(own.column("run").to_pylist())
    assert unordered(rows) == unordered(own)


def test_duckdb_keeps_the_nanoseconds(out):
    query = f"""
        SELECT typeof("enter"), epoch_ns("enter")
        FROM read_parquet('{out}/launches/**/*.parquet', hive_partitioning = true)
        WHERE run = '{SEALED}' AND seq = 0
    """
    assert duckdb.sql(query).fetchall() == [("TIMESTAMPTZ_NS", MOMENT)]


def test_the_first_query_unites_versions_by_name(tmp_path):
    for name in ("v1.0", "v1.11"):  # the older one has no column of weights, and is the first
        for run in GOLDEN.glob(f"{name}/trace/*/run=*"):
            shutil.copytree(run, tmp_path / "out" / run.parent.name / f"{run.name}-{name}")
    launches = first_query(tmp_path / "out").fetchall()
    # Of weights null and 0, each at least itself: the other rows are not joined.
    assert [row[1] for row in launches] == [2]


def test_an_empty_derived_part_is_read(out, tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    writer.seal({"ending": "exit"})
    open_trace(tmp_path).add_derived(
        writer.run_id, "sanitize", {"findings": TABLES["findings"].schema.empty_table()}
    )

    rows = duckdb.sql(f"FROM read_parquet('{tmp_path}/findings/**/*.parquet')").fetchall()

    assert rows == []
    assert ds.dataset(tmp_path / "findings", partitioning="hive").count_rows() == 0
