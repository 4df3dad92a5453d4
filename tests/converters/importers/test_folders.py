"""Folders of files: which are imported, in what order, and which are skipped."""

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.folders import source_files
from kvtrace.converters.importers.registry import BadSource
from kvtrace.schema.trace import open_trace
from tests.support.foreign_traces import (
    write_kineto,
    write_nsys_parquet,
    write_rocpd,
    write_rocprofv3_csv,
    write_rocprofv3_json,
)


def test_folder_of_ranks_is_one_group_in_the_order_of_ranks(tmp_path, capsys):
    folder, out = tmp_path / "traces", tmp_path / "out"
    folder.mkdir()
    for rank in (10, 2, 0):
        write_kineto(folder, rank=rank, packed=rank == 2)
    (folder / "notes.txt").write_text("not a trace")
    (folder / ".hidden.json").write_bytes((folder / "rank0.pt.trace.json").read_bytes())

    assert main(["import", str(folder), "-o", str(out)]) == 0

    said = capsys.readouterr()
    assert "3 runs of 3 files" in said.out
    assert "skipped 1 file of no known tool: notes.txt" in said.err
    trace = open_trace(out)
    assert [(run.rank, run.world_size) for run in trace.select()] == [(0, 2), (2, 2), (10, 2)]
    assert len({run.group_id for run in trace.runs}) == 1


def test_one_format_of_a_process_is_imported(tmp_path):
    database, other = write_rocpd(tmp_path), tmp_path / "other"
    repeated = {write_rocprofv3_json(tmp_path), write_rocprofv3_csv(tmp_path)}
    other.mkdir()
    alone = write_rocprofv3_csv(other)

    found = source_files([tmp_path], None)

    assert found.files == (database, alone)
    assert set(found.repeated) == repeated
    assert found.unknown == ()


def test_folder_that_a_tool_wrote_stays_one_export(tmp_path):
    export = write_nsys_parquet(tmp_path)
    assert source_files([export], None).files == (export,)


def test_folder_without_files_of_the_tool_is_refused_in_one_sentence(tmp_path, capsys):
    write_kineto(tmp_path)
    with pytest.raises(BadSource, match="has no file of nsys"):
        source_files([tmp_path], "nsys")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["import", str(empty), "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "has no file of a tool that kvtrace imports" in said
