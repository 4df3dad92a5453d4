"""Runs of several traces as one: every row is there, each artifact once, and they stay as is."""

import json
import os
import shutil

import pyarrow.parquet as pq
import pytest

from kvtrace.cli import main
from kvtrace.converters.query.query import connect, query
from kvtrace.schema.compaction import compact
from kvtrace.schema.errors import BadSetting, DamagedFile, NewerFormat
from kvtrace.schema.excerpts import write_excerpt
from kvtrace.schema.layout import part_path
from kvtrace.schema.trace import Selection, open_trace
from kvtrace.schema.uniting import unite
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.make_golden import GOLDEN
from tests.schema.many_runs import COMMON, content, files, own, rewrite, write_run
from tests.schema.written_runs import run_child


@pytest.fixture
def two(tmp_path):
    for name, numbers in (("a", (0, 1)), ("b", (2,))):
        for number in numbers:
            write_run(tmp_path / name, number, 3 - number)
    return tmp_path / "a", tmp_path / "b"


def test_united_trace_has_every_row_and_each_artifact_once(two, tmp_path):
    before = [files(folder) for folder in two]
    first, second = (content(folder) for folder in two)
    expected = {table: sorted([*first[table], *second[table]], key=str) for table in first}

    done = unite(two, tmp_path / "all")

    assert [files(folder) for folder in two] == before
    found = content(tmp_path / "all")
    assert {table: sorted(rows, key=str) for table, rows in found.items()} == expected
    assert validate(tmp_path / "all") == []
    assert (len(done.runs), done.repeated_runs, done.repeated_artifacts) == (3, (), 2)
    held = [
        digest
        for path in (tmp_path / "all" / "artifacts").rglob("*.parquet")
        for digest in pq.read_table(path, columns=["sha256"], partitioning=None)[0].to_pylist()
    ]
    assert sorted(held) == sorted({COMMON["sha256"], *(own(n)["sha256"] for n in range(3))})


def test_run_of_a_united_trace_is_complete_when_read_alone(two, tmp_path):
    # given a run whose artifact another one holds
    unite(two, tmp_path / "all")
    trace = open_trace(tmp_path / "all")
    last = trace.runs[-1]
    both = {COMMON["sha256"], own(2)["sha256"]}
    # then its table has both, in SQL too, and so has a copy of it alone
    assert set(trace.table("artifacts", [last])["sha256"].to_pylist()) == both
    with connect(trace, [last]) as database:
        _, rows = query(database, "SELECT sha256 FROM artifacts")
    assert {row[0] for row in rows} == both
    write_excerpt(Selection(trace, (last,)), tmp_path / "excerpt")
    copy = open_trace(tmp_path / "excerpt")
    assert set(copy.table("artifacts")["sha256"].to_pylist()) == both
    # and it stays so when its files are compacted
    compact(tmp_path / "all")
    assert validate(tmp_path / "all") == []


@pytest.mark.costly("unites a trace of every version; two of this version are united by day")
def test_traces_of_all_format_versions_can_be_united(tmp_path):
    traces = []
    for golden in sorted(GOLDEN.iterdir()):
        trace = tmp_path / golden.name
        shutil.copytree(golden / "trace", trace)
        shutil.rmtree(trace / ".journal")
        traces.append(trace)
    write_run(tmp_path / "own")
    for trace in traces:
        unite([trace, tmp_path / "own"], tmp_path / f"all-{trace.name}")
        assert validate(tmp_path / f"all-{trace.name}") == []
        assert len(open_trace(tmp_path / f"all-{trace.name}").run_ids) == 2
    with pytest.raises(BadSetting, match="with different files"):  # their runs have one id
        unite(traces[:2], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_unite_writes_a_repeated_run_once(two, tmp_path):
    shutil.copytree(two[0], tmp_path / "copy")
    done = unite([two[0], tmp_path / "copy", two[1]], tmp_path / "all")
    assert done.repeated_runs == open_trace(two[0]).run_ids
    assert validate(tmp_path / "all") == []
    again = unite([tmp_path / "all", write_other(tmp_path)], tmp_path / "more")
    assert len(again.runs) == 4
    assert validate(tmp_path / "more") == []


def write_other(tmp_path):
    write_run(tmp_path / "other", 7)
    return tmp_path / "other"


def test_unite_refuses_bad_traces_and_leaves_nothing(two, tmp_path):
    run_id = open_trace(two[1]).run_ids[0]
    kernels, row = (part_path(two[1], name, run_id, 0) for name in ("kernels", "runs"))
    sound = {path: path.read_bytes() for path in (kernels, row)}

    def refused(error, match, *traces):
        with pytest.raises(error, match=match):
            unite(traces or two, tmp_path / "all")
        assert not (tmp_path / "all").exists()
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
        for path, before in sound.items():
            path.write_bytes(before)

    kernels.write_bytes(sound[kernels][:-30])
    refused(DamagedFile, "restore it")
    flipped = bytearray(sound[kernels])
    flipped[len(flipped) // 2] ^= 1
    kernels.write_bytes(flipped)
    refused(DamagedFile, "is damaged")
    rewrite(kernels, format_version="2.0")
    refused(NewerFormat, "reads up to 1.x")
    rewrite(kernels, run_id="another")
    refused(DamagedFile, "has metadata of run another")
    shutil.copytree(two[0], tmp_path / "copy")
    rewrite(part_path(tmp_path / "copy", "marks", open_trace(two[0]).run_ids[0], 0))
    refused(BadSetting, "with different files", two[0], tmp_path / "copy")
    writer = RunWriter(two[1], new_run_id())
    writer.close()
    refused(BadSetting, "kvtrace trace recover first")


def test_unite_keeps_files_of_a_newer_minor_version_unchanged(two, tmp_path):
    run_id = open_trace(two[1]).run_ids[0]
    for name in ("runs", "artifacts"):
        rewrite(part_path(two[1], name, run_id, 0), format_version="1.99")
    done = unite(two, tmp_path / "all")
    assert done.repeated_artifacts == 1
    for name in ("runs", "artifacts"):
        paths = (part_path(folder, name, run_id, 0) for folder in (two[1], tmp_path / "all"))
        before, after = (path.read_bytes() for path in paths)
        assert before == after
    assert validate(tmp_path / "all") == []


@pytest.mark.process
def test_a_killed_union_leaves_the_traces_unchanged_and_no_new_trace(two, tmp_path):
    before = [files(folder) for folder in two]
    code = """
        import os, signal, sys
        from kvtrace.schema import uniting
        count, link = int(sys.argv[1]), os.link
        def step(*arguments, **named):
            global count
            count -= 1
            if not count:
                os.kill(os.getpid(), signal.SIGKILL)
            return link(*arguments, **named)
        os.link = step
        uniting.unite(sys.argv[2:-1], sys.argv[-1])
    """
    for count in (1, 9):
        assert run_child(code, count, *two, tmp_path / "all").returncode != 0
        assert [files(folder) for folder in two] == before
        assert not (tmp_path / "all").exists()
    unite(two, tmp_path / "all")
    assert validate(tmp_path / "all") == []


def test_unite_copies_files_without_hard_links(two, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(18, "another disk")

    monkeypatch.setattr(os, "link", refuse)
    unite(two, tmp_path / "all")
    assert validate(tmp_path / "all") == []


def test_merge_command_unites_traces(two, tmp_path, capsys):
    a, b = map(str, two)
    assert main(["trace", "merge", a, b, "-o", str(tmp_path / "all")]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first == f"{tmp_path / 'all'}: 3 runs of 2 traces"
    assert last.startswith("2 artifacts of several runs stored once, which saves ")
    assert main(["trace", "merge", a, b, "-o", str(tmp_path / "new"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 3


@pytest.mark.parametrize("case", ["there", "inside", "gone", "none"])
def test_merge_command_reports_bad_input_in_one_sentence(two, tmp_path, capsys, case):
    a, b = map(str, two)
    words = {
        "there": [a, b, "-o", str(two[1])],
        "inside": [a, b, "-o", str(two[0] / "new")],
        "gone": [a, str(tmp_path / "gone"), "-o", str(tmp_path / "new")],
        "none": [a, str(tmp_path), "-o", str(tmp_path / "new")],
    }[case]
    before = [files(folder) for folder in two]
    assert main(["trace", "merge", *words]) == 2
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)
    assert [files(folder) for folder in two] == before
    assert not (tmp_path / "new").exists()
