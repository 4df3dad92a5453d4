"""The comparison of imports with plain JSON, CSV and SQL, on small files of each tool."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.support.foreign_traces import WITH_TIMES

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ("kineto", "nsys-sqlite", "rocprofv3-json", "rocprofv3-csv", "proton-tree")


@pytest.fixture
def modules(monkeypatch):
    """The modules of the benchmark: what imports, and what counts."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("real_traces"), import_module("real_traces_counts")


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_import_equals_what_the_file_counts(modules, sample, tmp_path):
    real_traces, counting = modules
    tool, write = WITH_TIMES[sample]
    path = write(tmp_path)

    counts = counting.counts_of(tool, path)
    trace = real_traces.imported(path, tmp_path / "out")

    assert counts.executions() > 0
    assert [*counting.differences(counts, real_traces.counts_of_trace(trace, tool))] == []


def test_each_figure_that_differs_is_named(modules, tmp_path):
    _, counting = modules
    tool, write = WITH_TIMES["nsys-sqlite"]
    path = write(tmp_path)

    for figure, change in (
        ("executions", lambda counts: counts.add("kernel", "more", 10**18, 10**18 + 1, (0, 7))),
        ("time by kernel", lambda counts: counts.add_kernels(next(iter(counts.kernels)), 0, 1)),
        ("copies", lambda counts: counts.copies.__setitem__(2, -1)),
        ("fills", lambda counts: counts.fills.append(1)),
        ("streams", lambda counts: counts.streams.clear()),
        ("last", lambda counts: setattr(counts, "last", 0)),
        ("ranges", lambda counts: counts.ranges.update(["more"])),
    ):
        counts = counting.counts_of(tool, path)
        change(counts)
        named = [*counting.differences(counting.counts_of(tool, path), counts)]
        assert any(sentence.startswith(figure) for sentence in named), figure


def test_files_are_listed_once_with_commit_and_checksum(modules):
    real_traces, counting = modules

    listed = real_traces.sources(None)

    assert len({source.sha256 for source in listed}) == len(listed) >= 60
    assert {len(source.commit) for source in listed} == {40}
    assert {len(source.sha256) for source in listed} == {64}
    assert {source.tool for source in listed} <= counting._COUNTERS.keys()


def test_a_changed_file_is_refused(modules, tmp_path):
    real_traces, _ = modules
    directory = tmp_path / "owner+name" / "repo"
    real_traces.subprocess.run(["git", "init", "-q", "--bare", str(directory)], check=True)
    blob = real_traces.subprocess.run(
        ["git", f"--git-dir={directory}", "hash-object", "-w", "--stdin"],
        input=b"changed", capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip
    tree = real_traces.subprocess.run(
        ["git", f"--git-dir={directory}", "mktree"],
        input=f"100644 blob {blob}\tfile.json\n".encode(), capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip
    source = real_traces.Source("kineto", "owner/name", tree, "0" * 64, "file.json")

    with pytest.raises(ValueError, match="another checksum"):
        source.content(tmp_path, tmp_path)
