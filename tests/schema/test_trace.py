"""Reading: which runs, which rows, and one sentence for what cannot be read."""

import contextlib
import os
import re
import shutil
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema import reading
from kvtrace.schema.content import artifact_row
from kvtrace.schema.errors import (
    DamagedFile,
    EmptyTrace,
    KvtraceError,
    SchemaMismatch,
    TraceNotFound,
    UnknownRun,
)
from kvtrace.schema.layout import KEPT_TIMES, part_path, segment_path
from kvtrace.schema.runs import Run
from kvtrace.schema.table_types import NAME
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace, resolve, select_runs
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.support.tiers import some


def record(out, run_id, sealed=True, **runs_row):
    writer = RunWriter(out, run_id)
    writer.append_rows("runs", [runs_row])
    writer.append_rows("kernels", [{"kernel_id": 0, "name": f"kernel of {run_id}"}])
    writer.append_rows("artifacts", [artifact_row("ptx", f"ptx of {run_id}".encode())])
    writer.flush()
    if sealed:
        writer.seal({"ended": time.time_ns(), "ending": "exit"})
    return writer


RUNS = {
    "20260101-000000-000-0000000a": {"group_id": "job 1", "rank": 0, "git_commit": "aaaa1111"},
    "20260101-000000-000-0000000b": {"group_id": "job 1", "rank": 1, "git_commit": "aaaa1111"},
    "20260102-000000-000-0000000c": {"group_id": "job 2", "git_commit": "bbbb2222"},
    "20260103-000000-000-0000000d": {"git_commit": "aaaa1111"},
    "20260104-000000-000-0000000e": {"group_id": "job 3", "rank": 0},
    "20260104-000000-000-0000000f": {"group_id": "job 3", "rank": 1},
}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A trace for tests that only read."""
    out = tmp_path_factory.mktemp("trace") / "out"
    for number, (run_id, row) in enumerate(RUNS.items()):
        record(out, run_id, sealed=number != 4, **row)
    return out


@pytest.fixture
def copy(out, tmp_path):
    """The same for tests that damage it."""
    shutil.copytree(out, tmp_path / "copy")
    return tmp_path / "copy"


def letters(runs):
    return "".join(run.run_id[-1] for run in runs)


def test_a_run_has_every_column_of_runs():
    columns = [column.name for column in TABLES["runs"].columns]

    assert [*Run.__slots__] == [*columns, "sealed"]
    assert hash(Run("x", versions={"a": "b"})) == hash(Run("x", versions={"a": "b"}))


def test_all_runs_are_listed_oldest_first_sealed_or_not(out):
    trace = open_trace(out)

    assert letters(trace.runs) == "abcdef"
    assert [run.sealed for run in trace.runs] == [True] * 4 + [False, True]
    assert trace.table("kernels").column("run").to_pylist() == list(RUNS)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        (None, "ef"),
        ("20260101-000000-000-0000000b", "b"),
        ("20260101", "ab"),
        ("20260103", "d"),
        ("job 1", "ab"),
        ("@bbbb2222", "c"),
        ("@aaaa", "d"),
    ],
)
def test_select_chooses_runs_by_id_group_or_commit(out, spec, found):
    assert letters(open_trace(out).select(spec)) == found


@pytest.mark.parametrize("spec", ["nothing", "@cccc", "@", "", "1"])
def test_unknown_run_is_reported_with_the_existing_runs(out, spec):
    with pytest.raises(UnknownRun, match=r"has no run") as caught:
        open_trace(out).select(spec)
    assert "20260104-000000-000-0000000f" in str(caught.value) or "aaaa1111" in str(caught.value)


def test_traces_are_named_by_directory_commit_or_run(out):
    assert letters(resolve(str(out)).runs) == "ef"
    assert letters(resolve(f"{out}/").runs) == "ef"
    assert letters(resolve(f"{out}/@bbbb").runs) == "c"
    assert letters(resolve(f"{out}/20260103").runs) == "d"
    assert letters(resolve("@bbbb", base=out).runs) == "c"
    assert letters(resolve("20260103", base=out).runs) == "d"
    assert resolve(f"{out}/@bbbb").table("kernels").column("name").to_pylist() == [
        "kernel of 20260102-000000-000-0000000c"
    ]


@pytest.mark.parametrize("text", ["{out}/nothing", "{out}/@zzzz"])
def test_unknown_name_below_a_trace_is_reported_as_unknown_run(out, text):
    with pytest.raises(UnknownRun):
        resolve(text.format(out=out))


@pytest.mark.parametrize("text", ["nowhere/at/all", "nowhere", "@abcd", "", "nowhere/@abcd"])
def test_name_without_trace_is_refused_with_the_valid_forms(text):
    with pytest.raises(TraceNotFound):
        resolve(text)


def test_path_without_trace_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "data.parquet").write_text("x")

    for name, kind in (
        ("gone", TraceNotFound),
        ("file", TraceNotFound),
        ("empty", EmptyTrace),
        ("other", EmptyTrace),
    ):
        with pytest.raises(kind, match=str(tmp_path / name)) as caught:
            open_trace(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_folder_inside_of_a_trace_is_told_with_the_trace(out):
    with pytest.raises(EmptyTrace, match=f"a folder of the trace {re.escape(str(out))}; name"):
        open_trace(next((out / "kernels").iterdir()))


def test_only_the_named_columns_are_read_and_run_comes_last(out):
    trace = open_trace(out)

    rows = trace.table("kernels", runs=[trace.runs[0], RUNS_C], columns=["name", "kernel_id"])

    assert rows.schema == pa.schema([("name", NAME), ("kernel_id", pa.int64()), ("run", NAME)])
    assert rows.column("run").to_pylist() == [trace.runs[0].run_id, RUNS_C]
    assert trace.table("kernels", runs=[]).num_rows == 0
    assert trace.table("kernels", runs=[]).schema == trace.table("kernels").schema


RUNS_C = "20260102-000000-000-0000000c"


@pytest.mark.parametrize("name", list(TABLES))
def test_a_table_has_the_same_schema_with_rows_and_without(out, name):
    rows = open_trace(out).table(name)

    expected = [(column.name, column.type) for column in TABLES[name].columns]
    assert rows.schema == pa.schema([*expected, ("run", NAME)])


def test_table_refuses_unknown_tables_and_columns(out):
    trace = open_trace(out)

    with pytest.raises(SchemaMismatch, match="no table 'kernel'"):
        trace.table("kernel")
    with pytest.raises(SchemaMismatch, match="no column 'nam'"):
        trace.table("kernels", columns=["nam"])
    with pytest.raises(UnknownRun):
        trace.table("kernels", runs=["nothing"])


def test_repeating_strings_of_several_runs_share_one_dictionary(out):
    column = open_trace(out).table("kernels").column("name")

    assert all(chunk.dictionary.equals(column.chunk(0).dictionary) for chunk in column.chunks)


def test_artifacts_are_found_in_any_run_sealed_or_not(out):
    trace = open_trace(out)

    for run_id in RUNS:
        content = f"ptx of {run_id}".encode()
        assert trace.artifact(artifact_row("ptx", content)["sha256"]) == content
    assert trace.artifact("0" * 64) is None
    assert trace.artifact(None) is None


def test_truncated_part_is_reported_in_one_sentence(copy):
    path = part_path(copy, "kernels", RUNS_C, 0)
    whole = path.read_bytes()

    for length in (0, 1, 3, 4, 8, 100, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedFile, match=r"part-00000\.parquet is damaged") as caught:
            open_trace(copy).table("kernels")
        assert "\n" not in str(caught.value)
        assert "kvtrace trace validate" in str(caught.value)
    path.write_bytes(whole)
    assert open_trace(copy).table("kernels").num_rows == 6


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_of_a_part_never_crash_the_reader(copy, seed):
    path = part_path(copy, "kernels", RUNS_C, 0)
    damaged = bytearray(path.read_bytes())
    damaged[(len(damaged) * seed) // 40] ^= 0xFF
    path.write_bytes(damaged)

    with contextlib.suppress(KvtraceError):
        assert open_trace(copy).table("kernels").num_rows == 6


def test_error_for_a_truncated_file_of_runs_names_the_file(copy):
    path = part_path(copy, "runs", RUNS_C, 0)
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(DamagedFile, match="runs/run=20260102"):
        _ = open_trace(copy).runs


def test_part_in_another_tables_folder_is_refused(copy):
    path = part_path(copy, "calls", RUNS_C, 0)
    path.parent.mkdir(parents=True)
    path.write_bytes(part_path(copy, "kernels", RUNS_C, 0).read_bytes())

    with pytest.raises(DamagedFile, match="has rows of kernels, not of calls"):
        open_trace(copy).table("calls")


def test_incomplete_journal_is_read_with_a_note(copy):
    path = segment_path(copy, "20260104-000000-000-0000000e", "kernels", 0)
    path.write_bytes(path.read_bytes() + path.read_bytes()[:12])
    trace = open_trace(copy)

    rows = trace.table("kernels")

    assert rows.num_rows == 6
    (note,) = trace.notes
    assert "the last 12 bytes of" in note
    assert str(path) in note
    trace.table("kernels")
    assert len(trace.notes) == 1


def test_run_without_a_row_of_runs_is_listed(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    path = segment_path(tmp_path, writer.run_id, "runs", 0)
    path.write_bytes(path.read_bytes()[:300])
    trace = open_trace(tmp_path)

    (run,) = trace.runs

    assert (run.run_id, run.pid, run.sealed) == (writer.run_id, None, False)
    assert any("its first write was interrupted" in note for note in trace.notes)


def test_open_trace_reads_parts_of_a_run_sealed_meanwhile(tmp_path):
    writer = record(tmp_path, new_run_id(), sealed=False)
    trace = open_trace(tmp_path)
    ids = trace.run_ids
    writer.seal({"ending": "exit"})

    assert trace.table("kernels").num_rows == 1
    assert [run.sealed for run in trace.runs] == [True]
    assert ids == trace.run_ids


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """So many runs that they are read on all cores; one is not sealed."""
    out = tmp_path_factory.mktemp("many")
    for number in range(70):
        own = {"group_id": f"job {number // 2}", "git_commit": f"{number:040x}"}
        own |= {"settings": {"sample": "1/2"}} if number == 5 else {}
        record(out, f"20260101-{number:06d}", number != 33, **own)
    return out


@pytest.mark.costly("many runs; a few stay by day")
def test_rows_of_many_runs_equal_those_read_one_by_one(many):
    together = open_trace(many)
    assert together.runs == tuple(open_trace(many).select(each)[0] for each in together.run_ids)
    assert [run.run_id for run in together.runs if not run.sealed] == ["20260101-000033"]
    assert [run.run_id for run in together.select()] == ["20260101-000068", "20260101-000069"]
    assert open_trace(many).select("@" + "0" * 39 + "7") == together.runs[7:8]
    assert any("20260101-000005" in note for note in together.notes)


@pytest.mark.costly("many runs; few stay by day")
def test_rows_of_many_runs_are_read_once(many, monkeypatch, tmp_path):
    opened: list[str] = []
    read = reading.read_part

    def counted(path, *rest):
        opened.append(path.parent.name)
        return read(path, *rest)

    monkeypatch.setattr(reading, "read_part", counted)
    out = shutil.copytree(many, tmp_path / "out", ignore=lambda *_: [KEPT_TIMES])
    selection = select_runs(out, every=True)
    assert len(selection.runs) == 2
    assert len(selection.trace.runs) == 70
    sealed = [each for each in selection.trace.run_ids if "33" not in each]
    assert sorted(opened) == [f"run={each}" for each in sealed]
    opened.clear()
    assert select_runs(out).runs == selection.runs
    assert open_trace(out).runs == selection.trace.runs
    assert opened == [f"run={run.run_id}" for run in selection.runs]  # few are read again
    opened.clear()
    os.utime(part_path(out, "runs", sealed[3], 0))
    shutil.rmtree(out / "runs" / f"run={sealed[5]}")
    again = open_trace(out)
    assert again.runs == tuple(run for run in selection.trace.runs if run.run_id != sealed[5])
    assert opened == [f"run={sealed[3]}"]


@pytest.mark.parametrize("damage", some(["two rows", "no row", "cut"], 3))
def test_damaged_row_of_one_among_many_runs_is_reported(many, damage, tmp_path):
    out = shutil.copytree(many, tmp_path / "out")
    path = part_path(out, "runs", "20260101-000011", 0)
    whole = pq.ParquetFile(path).read()
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    else:
        pq.write_table(pa.concat_tables([whole] * 2) if damage == "two rows" else whole[:0], path)
    for ask in (lambda: open_trace(out).runs, lambda: open_trace(out).select()):
        with pytest.raises(DamagedFile, match="20260101-000011"):
            ask()


def test_part_of_runs_is_not_compressed(many):
    group = pq.ParquetFile(part_path(many, "runs", "20260101-000011", 0)).metadata.row_group(0)
    codecs = {group.column(each).compression for each in range(group.num_columns)}
    assert codecs == {"UNCOMPRESSED"}


def test_opening_a_trace_of_many_runs_is_quick(tmp_path):
    """Ten thousand runs, of which one is real: opening must not look into the others."""
    record(tmp_path, "20260101-000000-000-ffffffff")
    for number in range(10_000):
        (tmp_path / "runs" / f"run=20250101-000000-000-{number:08x}").mkdir()
    start = time.process_time()

    trace = open_trace(tmp_path)
    rows = trace.table("kernels", runs=["20260101-000000-000-ffffffff"])

    assert rows.num_rows == 1
    assert len(trace.run_ids) == 10_001
    assert time.process_time() - start < 2
