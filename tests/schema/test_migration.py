"""Older files written anew: the same rows in the newest version, whatever is killed when."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

from kvtrace.cli import main
from kvtrace.schema.layout import part_path
from kvtrace.schema.migration import migrate_trace
from kvtrace.schema.recovery import recover
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.versions import FORMAT_VERSION, version_numbers
from tests.schema.make_golden import GOLDEN
from tests.schema.many_runs import files, rewrite
from tests.schema.rows import plain
from tests.schema.written_runs import run_child

OLDER = sorted(path for path in GOLDEN.iterdir() if path.name != f"v{FORMAT_VERSION}")
EACH_OLDER = pytest.mark.parametrize("golden", OLDER, ids=lambda path: path.name)


@pytest.fixture
def trace(golden, tmp_path):
    """The golden trace of an older version, all sealed."""
    out = tmp_path / "out"
    shutil.copytree(golden / "trace", out)
    shutil.rmtree(out / ".journal")
    return out


def rows(out):
    trace = open_trace(out)
    return {name: plain(trace.table(name)) for name in TABLES}


def versions(out):
    """Return the versions of all files."""
    parts = out.rglob("*.parquet")
    return {pq.read_schema(path).metadata[b"kvtrace.format_version"].decode() for path in parts}


@EACH_OLDER
def test_rows_stay_what_they_are(golden, trace, tmp_path):
    before, listed = rows(trace), files(trace).keys()
    version = golden.name[1:]
    assert versions(trace) == {version}
    assert set(migrate_trace(trace, dry_run=True).migrated) == {version}
    assert versions(trace) == {version}

    done = migrate_trace(trace)

    assert done.migrated == {version: len(listed)}
    assert versions(trace) == {FORMAT_VERSION}
    assert files(trace).keys() == listed
    assert rows(trace) == before
    assert validate(trace) == []
    passes = open_trace(trace).passes(open_trace(trace).run_ids[0])
    assert passes == {"golden": {"setting": 1}}
    again = files(trace)
    assert migrate_trace(trace).migrated == {}
    assert files(trace) == again


@EACH_OLDER
def test_a_copy_leaves_the_trace_as_it_is(golden, trace, tmp_path):
    before = files(trace)
    migrate_trace(trace, tmp_path / "new")
    assert files(trace) == before
    assert versions(tmp_path / "new") == {FORMAT_VERSION}
    assert rows(tmp_path / "new") == rows(trace)


@pytest.mark.process
@pytest.mark.parametrize("golden", OLDER[:1], ids=lambda path: path.name)
def test_whoever_is_killed_when_each_file_is_one_or_the_other(golden, trace):
    before = rows(trace)
    code = """
        import os, signal, sys
        from pathlib import Path
        from kvtrace.schema import migration
        count, replace = int(sys.argv[1]), os.replace
        def step(*arguments, **named):
            global count
            count -= 1
            if not count:
                os.kill(os.getpid(), signal.SIGKILL)
            return replace(*arguments, **named)
        os.replace = step
        migration.migrate_trace(sys.argv[2])
    """
    for count in (1, 5, 9):
        assert run_child(code, count, trace).returncode != 0
        assert rows(trace) == before
    recover(trace)
    assert validate(trace) == []
    migrate_trace(trace)
    assert rows(trace) == before
    assert versions(trace) == {FORMAT_VERSION}


@pytest.mark.parametrize("golden", OLDER[-1:], ids=lambda path: path.name)
def test_what_cannot_be_migrated_is_left_and_said(golden, trace, capsys):
    (run_id,) = open_trace(trace).run_ids
    kernels, marks = (part_path(trace, name, run_id, 0) for name in ("kernels", "marks"))
    rewrite(marks, format_version="1.99")
    kernels.write_bytes(kernels.read_bytes()[:-9])
    before = {path: path.read_bytes() for path in (kernels, marks)}

    assert main(["trace", "migrate", str(trace)]) == 2

    printed = capsys.readouterr()
    assert f"left alone  {marks}: it has format version 1.99" in printed.out
    assert len(printed.err.splitlines()) == 1
    assert str(kernels) in printed.err
    assert {path: path.read_bytes() for path in (kernels, marks)} == before
    shutil.copytree(golden / "trace" / ".journal", trace / ".journal")
    done = migrate_trace(trace)
    assert any("has a journal" in reason for reason in done.left.values())


@pytest.mark.parametrize("golden", OLDER[-1:], ids=lambda path: path.name)
def test_the_command(golden, trace, tmp_path, capsys):
    number = len(files(trace))
    version = golden.name[1:]
    told = f"{number} files of format {version} as {FORMAT_VERSION}\n"
    assert main(["trace", "migrate", str(trace), "--dry-run"]) == 0
    assert capsys.readouterr().out == f"would write {told}"
    assert main(["trace", "migrate", str(trace), "-o", str(trace)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(["trace", "migrate", str(trace)]) == 0
    assert capsys.readouterr().out == f"wrote {told}"
    assert main(["trace", "migrate", str(trace), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"migrated": {}, "left": {}, "damaged": []}


def test_every_minor_version_up_to_the_newest_has_a_golden_trace():
    major, minor = version_numbers(FORMAT_VERSION)
    expected = {f"v{major}.{number}" for number in range(minor + 1)}
    assert {path.name for path in GOLDEN.iterdir()} >= expected
