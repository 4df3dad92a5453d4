"""rocpd databases: executions, agents, ranks, ranges, both schemas, and merged recordings."""

import sqlite3

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.importers.registry import BadSource, importer_of
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.foreign_traces import (
    GEMM,
    KERNEL_NS,
    write_nsys_sqlite,
    write_rocpd,
    write_rocpd_with_tracks,
)


@pytest.mark.parametrize("write", [write_rocpd, write_rocpd_with_tracks])
def test_every_field_of_a_database_is_imported(write, tmp_path, capsys):
    out = tmp_path / "out"

    assert main(["import", str(write(tmp_path)), "-o", str(out)]) == 0

    left_out = "rocpd_memory_allocate (1), rocpd_region RCCL_API (1)"
    assert f"not imported, by the tool's names: {left_out}" in capsys.readouterr().err
    trace = open_trace(out)
    (run,) = trace.runs
    assert (run.source, run.pid, run.host, run.command) == (
        "rocpd",
        100,
        "node7",
        "python train.py",
    )
    assert (run.rank, run.world_size, run.started) == (3, 8, None)
    (device,) = run.devices
    assert (device["name"], device["capability"]) == ("AMD Instinct MI300X", "gfx942")
    added, _, gemm, copy = plain_rows(trace.table("gpu_kernels"))
    assert (added["name"], gemm["name"]) == ("added", GEMM)  # in full, though the database has both
    assert (added["device"], added["stream"]) == (0, 3)
    assert (added["requested"], added["request_thread"]) == (10_000, 101)
    assert (added["grid_x"], added["block_x"], gemm["grid_x"]) == (8, 256, 8)
    assert (added["registers"], gemm["registers"], added["shared_bytes"]) == (28, 256, 512)
    assert (copy["kind"], copy["bytes"], copy["device"]) == ("copy", 4096, 0)
    (mark,) = plain_rows(trace.table("marks"))
    assert (mark["name"], mark["begin"], mark["thread"]) == ("forward", 1_000, 101)
    assert trace.table("launches").num_rows == 2


def test_recordings_of_a_merged_database_are_runs_and_no_group_has_a_rank_twice(tmp_path):
    runs = import_files([write_rocpd(tmp_path, recordings=2)], tmp_path / "out")

    trace = open_trace(tmp_path / "out")
    assert len(runs) == len({run.group_id for run in trace.runs}) == 2
    taken = [row["end"] - row["start"] for row in plain_rows(trace.table("gpu_kernels"))
             if row["kind"] is None]  # fmt: skip
    assert sum(taken) == 2 * KERNEL_NS


def test_id_of_a_recording_may_follow_the_name_of_a_table_at_once(tmp_path):
    path = write_rocpd(tmp_path, separator="")
    with sqlite3.connect(path) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master").fetchall():
            renamed = name.replace("_565d_765d_bc41_", "565d765dbc41")  # 32 digits, as of a guid
            database.execute(f'ALTER TABLE "{name}" RENAME TO "{renamed}"')
    database.close()

    import_files([path], tmp_path / "out")

    kernels = plain_rows(open_trace(tmp_path / "out").table("gpu_kernels"))
    assert [row["name"] for row in kernels[:3]] == ["added", "added", GEMM]


def test_databases_of_different_tools_are_told_apart(tmp_path):
    head = b"SQLite format 3\0"
    assert importer_of(write_rocpd(tmp_path), head) == "rocpd"
    assert importer_of(write_nsys_sqlite(tmp_path), head) == "nsys"
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE accounts (id)")
    database.close()
    with pytest.raises(BadSource, match="is not recognized as a file of a tool"):
        importer_of(other, head)


def test_database_without_dispatches_is_refused_with_the_option_that_records_them(tmp_path):
    path = write_rocpd(tmp_path)
    with sqlite3.connect(path) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master").fetchall():
            if "dispatch" in name or "memory_copy" in name:
                database.execute(f'DELETE FROM "{name}"')
    database.close()
    with pytest.raises(BadSource, match="trace with --kernel-trace"):
        import_files([path], tmp_path / "out")
