"""rocprofv3's Perfetto traces, read by the real engine: samples as rocprofiler-sdk writes them."""

import os

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.importers.registry import BadSource
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.engine.shell import executable
from tests.support.foreign_traces import GEMM, KERNEL_NS, write_rocprofv3_perfetto

pytestmark = pytest.mark.process  # the engine is a program


@pytest.fixture(autouse=True)
def _engine_on_path(tmp_path_factory, monkeypatch):
    folder = executable(tmp_path_factory.mktemp("engine")).parent
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_kernels_copies_calls_and_ranges_are_those_of_the_file(tmp_path, capsys):
    path, out = write_rocprofv3_perfetto(tmp_path), tmp_path / "out"
    assert main(["import", str(path), "-o", str(out)]) == 0
    trace = open_trace(out)
    assert validate(out) == []
    assert trace.runs[0].source == "rocprofv3"
    *kernels, copy = plain_rows(trace.table("gpu_kernels"))
    assert [row["name"] for row in kernels] == ["added", "added", GEMM]
    assert sum(row["end"] - row["start"] for row in kernels) == KERNEL_NS
    assert {(row["device"], row["stream"], row["shared_bytes"]) for row in kernels} == {(4, 3, 512)}
    assert [row["requested"] for row in kernels[:2]] == [10_000, 30_000]
    assert [row["launch_seq"] for row in kernels] == [0, 1, None]
    assert (copy["kind"], copy["bytes"], copy["stream"]) == ("copy", 4096, 3)
    assert [row["name"] for row in plain_rows(trace.table("marks"))] == ["forward"]
    capsys.readouterr()
    assert main(["profile", str(out)]) == 0
    assert "added" in capsys.readouterr().out


@pytest.mark.parametrize("kept", [0, 40, 400])
def test_truncated_file_raises_a_one_sentence_error_or_is_read_partly(kept, tmp_path):
    path, out = write_rocprofv3_perfetto(tmp_path), tmp_path / "out"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(BadSource) as found:
        import_files([path], out)
    assert "\n" not in str(found.value)
    assert not out.exists()
