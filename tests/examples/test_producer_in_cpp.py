"""The producer in C++ writes what kvtrace and the reader in C++ read."""

import json
import subprocess
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.schema.validation import validate
from tests.support.readers import built, python_reader

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The producer and the reader, built, and a trace of the producer in `out`."""
    folder = tmp_path_factory.mktemp("producer")
    subprocess.run([built("producer", folder), folder / "out"], check=True, timeout=60)
    return folder


def test_the_trace_is_valid_and_every_command_takes_it(folder: Path, capsys) -> None:
    out = folder / "out"
    assert validate(out, warnings=True) == []
    assert main(["profile", str(out)]) == 0
    assert "10.0 µs" in capsys.readouterr().out  # ten steps, a gemm of 700 ns and a bias of 300
    assert main(["sanitize", str(out)]) == 2
    assert "has kernels from cute without TTIR" in capsys.readouterr().err
    assert main(["report", str(out), "-o", str(folder / "report.html")]) == 0
    timeline = folder / "timeline"
    assert main(["convert", "perfetto", str(out), "-o", str(timeline)]) == 0
    assert b"gemm" in timeline.read_bytes()


def test_the_reader_in_cpp_counts_it_as_kvtrace_does(folder: Path) -> None:
    done = subprocess.run(
        [built("reader", folder), folder / "out"], capture_output=True, check=True, timeout=60
    )
    (run,), (own,) = (
        answer["runs"]
        for answer in (json.loads(done.stdout), python_reader().answer(str(folder / "out")))
    )
    assert run == own
    assert (run["launches"], run["executions"], run["device_ns"]) == (20, 20, 10_000)
