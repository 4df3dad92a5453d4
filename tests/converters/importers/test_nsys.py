"""Exports of nsys: machine and devices, unknown dates, and tables that are not imported."""

import sqlite3

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.foreign_traces import write_nsys_sqlite


def changed(path, *statements):
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()
    return path


def test_info_names_host_and_device(tmp_path, capsys):
    path = changed(
        write_nsys_sqlite(tmp_path),
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value)",
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'node7')",
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('CudaDriverVersion', '13010')",
        "INSERT INTO TARGET_INFO_GPU VALUES (1, 'NVIDIA H100 80GB HBM3', 9, 0, 1)",
    )
    import_files([path], tmp_path / "out")

    assert main(["info", str(tmp_path / "out")]) == 0

    said = capsys.readouterr().out
    assert "host      node7, 2 × NVIDIA H100 80GB HBM3" in said
    assert "versions  cuda_driver_version 13010" in said


def test_start_is_unknown_without_a_time_of_day(tmp_path, capsys):
    path = changed(write_nsys_sqlite(tmp_path), "DROP TABLE TARGET_INFO_SESSION_START_TIME")
    import_files([path], tmp_path / "out")

    (run,) = open_trace(tmp_path / "out").runs
    assert (run.started, run.ended) == (None, None)
    assert main(["info", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "started   unknown, since the tool recorded no date" in said
    assert "devices   NVIDIA H100 80GB HBM3" in said
    assert "1970" not in said


def test_tables_of_events_that_are_not_imported_are_counted(tmp_path):
    path = changed(
        write_nsys_sqlite(tmp_path),
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, graphId)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 2, 3), (4, 5, 3)",
        "CREATE TABLE ENUM_NSYS_EVENT_TYPE (id, name)",
        "INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (1, 'a')",
        f"INSERT INTO NVTX_EVENTS VALUES (5, 6, 75, {100 << 24}, 'domain', NULL)",
        f"INSERT INTO NVTX_EVENTS VALUES (5, 6, 99, {100 << 24}, 'new', NULL)",
        f"INSERT INTO NVTX_EVENTS VALUES (5, 6, 59, {200 << 24}, 'of another process', NULL)",
    )

    (run,) = import_files([path], tmp_path / "out")

    assert {kind: count for kind, count in run.left_out.items() if count} == {
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": 2,
        "NVTX_EVENTS of type 99": 1,
        "processes without executions": 1,
    }


def test_graphs_of_executions_are_imported(tmp_path):
    path = changed(
        write_nsys_sqlite(tmp_path),
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN graphId",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphId = 5 WHERE start = 80000",
    )
    import_files([path], tmp_path / "out")

    kernels = plain_rows(open_trace(tmp_path / "out").table("gpu_kernels"))
    assert [row["graph_id"] for row in kernels] == [None, None, 5, None]


def test_executions_without_a_process_are_those_of_the_only_one_with_calls(tmp_path):
    path = changed(
        write_nsys_sqlite(tmp_path),
        *(f"ALTER TABLE CUPTI_ACTIVITY_KIND_{kind} DROP COLUMN globalPid"
          for kind in ("KERNEL", "MEMCPY")),
    )  # fmt: skip
    (imported,) = import_files([path], tmp_path / "out")

    trace = open_trace(tmp_path / "out")
    assert [run.pid for run in trace.runs] == [100]
    added, *_ = plain_rows(trace.table("gpu_kernels"))
    assert added["requested"] is not None
    assert "processes without executions" not in imported.left_out


def test_ranges_of_nccl_are_requests_of_collectives(tmp_path):
    # given NCCL's ranges, one with its arguments, and a program's range
    path = changed(
        write_nsys_sqlite(tmp_path),
        "ALTER TABLE NVTX_EVENTS ADD COLUMN jsonText",
        "INSERT INTO NVTX_EVENTS SELECT 69000, 75000, 59, globalTid, 'ncclAllReduce', NULL, "
        """'{"NCCL communicator ID": 77, "Message size [bytes]": 4096}' FROM NVTX_EVENTS LIMIT 1""",
        "INSERT INTO NVTX_EVENTS SELECT 79000, 80000, 59, globalTid, 'ncclBcast', NULL, 'no JSON' "
        "FROM NVTX_EVENTS LIMIT 1",
        "INSERT INTO NVTX_EVENTS SELECT 90000, 91000, 59, globalTid, 'ncclGroupEnd', NULL, NULL "
        "FROM NVTX_EVENTS LIMIT 1",
    )
    import_files([path], tmp_path / "out")
    rows = plain_rows(open_trace(tmp_path / "out").table("collectives"))
    columns = ("operation", "communicator", "bytes", "sequence")
    assert [[row[column] for column in columns] for row in rows] == [
        ["AllReduce", "77", 4096, None],
        ["Broadcast", None, None, None],
    ]
