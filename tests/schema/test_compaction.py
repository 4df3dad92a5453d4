"""Merging parts: rows stay what they are, whatever is killed when, and whoever reads meanwhile."""

import json
import threading
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.cli import main
from kvtrace.schema.columns import batch_of_rows
from kvtrace.schema.compaction import can_exchange, compact
from kvtrace.schema.content import artifact_row, stack_row
from kvtrace.schema.layout import JOURNAL, part_numbers, part_path, run_folder
from kvtrace.schema.parts import ROW_GROUP_ROWS, write_part
from kvtrace.schema.recovery import recover
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.versions import captured_facts
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.rows import plain
from tests.schema.written_runs import add_calls, launches, run_child

ARTIFACTS = [artifact_row("ttir", f"module {number}".encode()) for number in range(40)]
STACKS = [stack_row([("train.py", number + 1, 1, "step")]) for number in range(40)]

#: Steps of compacting one table; a process is killed before each of them.
STEPS = ("write_part", "sync_folder", "exchange", "shutil.rmtree")
KILLED_BEFORE = """
    import os, signal, sys
    from kvtrace.schema import compaction
    step, out = sys.argv[1:]
    holder, _, name = step.rpartition(".")
    holder = getattr(compaction, holder) if holder else compaction
    done = getattr(holder, name)
    def killed(*arguments, **named):
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(holder, name, killed)
    compaction.compact(out)
"""


def write_run(out: Path, segment_rows: int = 50) -> str:
    """A run of many parts: launches in order, kernel times that overlap between parts."""
    writer = RunWriter(out, new_run_id(), segment_rows=segment_rows)
    add_calls(writer)
    times = np.random.default_rng(1).permutation(1000)
    for first in range(0, 1000, 25):
        writer.append("launches", launches(first, 25))
        start = times[first : first + 25]
        writer.append(
            "gpu_kernels",
            {"record": np.arange(first, first + 25), "start": start, "end": start + 5},
        )
        writer.append_rows("artifacts", ARTIFACTS[first // 25 : first // 25 + 1])
        writer.append_rows("stacks", STACKS[first // 25 : first // 25 + 1])
        writer.append_rows("marks", [{"mark_id": first, "name": "step", "begin": None}])
    writer.seal({"ending": "exit"})
    for name, rows in (("artifacts", ARTIFACTS[:30]), ("stacks", STACKS[5:35])):
        ordered = sorted(rows, key=lambda row: row[TABLES[name].sort[0]])
        number = max(part_numbers(run_folder(out, name, writer.run_id))) + 1
        path = part_path(out, name, writer.run_id, number)  # as another writer might leave them
        batch = batch_of_rows(TABLES[name], ordered)
        write_part(path, TABLES[name], captured_facts(name, writer.run_id), [batch])
    found = pa.table({"finding_id": ["a", "b"], "call_id": [0, 1]})
    open_trace(out).add_derived(writer.run_id, "sanitize", {"findings": found}, {"rules": "all"})
    return writer.run_id


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("written") / "out"
    if not can_exchange(out.parent):
        pytest.skip("this file system cannot exchange folders")
    return out, write_run(out)


@pytest.fixture
def trace(written: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    import shutil

    shutil.copytree(written[0], tmp_path / "out")
    return tmp_path / "out", written[1]


def rows_of(out: Path, run_id: str) -> dict[str, list[str]]:
    """Every row of a run, in the order of the reader."""
    opened = open_trace(out)
    return {name: sorted(map(str, plain(opened.table(name, [run_id])))) for name in TABLES}


def by_duckdb(out: Path, name: str) -> list[str]:
    query = f"SELECT DISTINCT * FROM read_parquet('{out}/{name}/**/*.parquet')"
    if name not in ("stacks", "artifacts"):  # those are there more than once before, once after
        query = query.replace("DISTINCT", "")
    return sorted(map(str, plain(duckdb.sql(query).to_arrow_table())))


def parts(out: Path, run_id: str, name: str) -> list[Path]:
    return sorted(run_folder(out, name, run_id).iterdir())


@pytest.mark.costly("many parts; a few stay by day")
def test_compact_merges_parts_into_one_with_the_same_rows(trace: tuple[Path, str]) -> None:
    out, run_id = trace
    tables = [name for name in TABLES if (out / name).is_dir()]
    before, seen = rows_of(out, run_id), {name: by_duckdb(out, name) for name in tables}
    assert len(parts(out, run_id, "launches")) == 20

    done = compact(out)

    assert rows_of(out, run_id) == before
    assert {name: by_duckdb(out, name) for name in tables} == seen
    assert validate(out) == []
    assert done.left == {}
    merged = {each.table: each for each in done.merged}
    assert set(merged) == {"launches", "gpu_kernels"} | {"artifacts", "stacks"}
    assert merged["launches"].files_before == 20
    for name in merged:
        (path,) = parts(out, run_id, name)
        rows = pq.read_table(path, partitioning=None)
        keys = [
            rows.column(key).cast(pa.int64() if name != "artifacts" else pa.string())
            for key in TABLES[name].sort
        ]
        assert keys[0].to_pylist() == sorted(keys[0].to_pylist())
        assert path.stat().st_size == merged[name].bytes_after
    assert merged["artifacts"].repeated_rows == merged["stacks"].repeated_rows == 30
    opened = open_trace(out)
    assert opened.artifact(ARTIFACTS[7]["sha256"]) == b"module 7"
    assert opened.passes(run_id) == {"sanitize": {"rules": "all"}}


def test_second_compact_changes_nothing(trace: tuple[Path, str]) -> None:
    out, _ = trace
    compact(out)
    before = {path: path.stat() for path in out.rglob("*") if path.is_file()}

    assert compact(out).merged == ()

    after = {path: path.stat() for path in out.rglob("*") if path.is_file()}
    assert {p: (s.st_ino, s.st_mtime_ns) for p, s in before.items()} == {
        p: (s.st_ino, s.st_mtime_ns) for p, s in after.items()
    }


def test_dry_run_of_compact_reports_and_changes_nothing(
    trace: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = trace
    before = {path: path.stat().st_ino for path in out.rglob("*")}

    assert main(["trace", "compact", str(out), "--dry-run"]) == 0

    printed = capsys.readouterr().out
    assert "launches of run" in printed
    assert "would merge" in printed
    assert {path: path.stat().st_ino for path in out.rglob("*")} == before
    assert main(["trace", "compact", str(out), "--json"]) == 0
    merged = json.loads(capsys.readouterr().out)["merged"]
    assert {each["table"]: each["files_before"] for each in merged}["launches"] == 20
    assert main(["trace", "compact", str(out)]) == 0
    assert capsys.readouterr().out == f"nothing to merge in {out}\n"


@pytest.mark.process
@pytest.mark.parametrize("step", STEPS)
def test_compact_killed_at_any_step_leaves_each_row_readable_once(
    trace: tuple[Path, str], step: str
) -> None:
    out, run_id = trace
    tables = [name for name in TABLES if (out / name).is_dir()]
    before, seen = rows_of(out, run_id), {name: by_duckdb(out, name) for name in tables}

    child = run_child(KILLED_BEFORE, step, out)

    assert child.returncode == -9, child.stderr
    assert rows_of(out, run_id) == before
    assert {name: by_duckdb(out, name) for name in tables} == seen
    assert [problem.text for problem in validate(out)] == [
        "it is left from a killed compaction; kvtrace trace recover removes it"
    ]
    recover(out)
    assert validate(out) == []
    compact(out)
    assert rows_of(out, run_id) == before
    assert list((out / JOURNAL).iterdir()) == []


def test_readers_during_compact_see_each_row_once(trace: tuple[Path, str]) -> None:
    out, run_id = trace
    opened = open_trace(out)
    wanted = list(range(1000))
    assert opened.artifact(ARTIFACTS[3]["sha256"]) == b"module 3"  # indexed before
    wrong: list[int] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            column = open_trace(out).table("launches", [run_id], ["seq"]).column("seq")
            if column.to_pylist() != wanted:
                wrong.append(len(column))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        compact(out)
    finally:
        ended.set()
        reader.join()

    assert wrong == []
    assert opened.artifact(ARTIFACTS[3]["sha256"]) == b"module 3"


def test_compact_skips_a_table_that_is_written_to_meanwhile(
    trace: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvtrace.schema import compaction

    out, run_id = trace
    late = run_folder(out, "stacks", run_id) / "part-late-00000.parquet"
    facts = captured_facts("stacks", run_id)
    swap = compaction.exchange

    def exchange(fresh: Path, folder: Path) -> None:
        if folder == late.parent and not late.exists():  # the last moment that there is
            write_part(late, TABLES["stacks"], facts, [batch_of_rows(TABLES["stacks"], [])])
        swap(fresh, folder)

    monkeypatch.setattr(compaction, "exchange", exchange)
    done = compact(out)

    assert late.exists()
    assert len(part_numbers(late.parent)) > 1
    assert done.left == {f"stacks of run {run_id}": compaction._MEANWHILE}
    assert "launches" in {each.table for each in done.merged}


def test_compact_skips_runs_that_are_being_recorded(tmp_path: Path) -> None:
    if not can_exchange(tmp_path):
        pytest.skip("this file system cannot exchange folders")
    writer = RunWriter(tmp_path, new_run_id(), segment_rows=10)
    add_calls(writer)
    for first in range(0, 40, 10):
        writer.append("launches", launches(first, 10))
    before = {path: path.stat().st_ino for path in tmp_path.rglob("*.*")}

    done = compact(tmp_path)

    assert done.merged == ()
    assert "has a journal" in done.left[f"run {writer.run_id}"]
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*.*")} == before
    writer.seal({"ending": "exit"})
    assert [each.table for each in compact(tmp_path).merged] == ["launches"]


def test_compacted_row_groups_have_the_writers_size(tmp_path: Path) -> None:
    if not can_exchange(tmp_path):
        pytest.skip("this file system cannot exchange folders")
    writer = RunWriter(tmp_path / "out", new_run_id(), segment_rows=40_000)
    add_calls(writer)
    for first in range(0, 200_000, 40_000):
        writer.append("launches", launches(first, 40_000))
    writer.seal({"ending": "exit"})

    compact(tmp_path / "out")

    (path,) = parts(tmp_path / "out", writer.run_id, "launches")
    with pq.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sum(sizes) == 200_000
    assert len(sizes) <= 3
    assert max(sizes) <= ROW_GROUP_ROWS


def test_compact_reports_a_damaged_part_and_keeps_all_rows(
    trace: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, run_id = trace
    path = part_path(out, "launches", run_id, 3)
    path.write_bytes(path.read_bytes()[:-9])

    assert main(["trace", "compact", str(out)]) == 2

    printed = capsys.readouterr()
    assert printed.err.startswith(f"kvtrace: {path} is damaged")
    assert len(printed.err.splitlines()) == 1
    assert "gpu_kernels of run" in printed.out
    assert len(parts(out, run_id, "launches")) == 20


def test_compact_command_reports_bad_input_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "gone", tmp_path / "file"):
        assert main(["trace", "compact", str(path)]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("kvtrace: ")
        assert len(printed.err.splitlines()) == 1
    assert main(["trace", "compact", "--help"]) == 0
    assert "kvtrace trace compact out/ --dry-run" in capsys.readouterr().out
