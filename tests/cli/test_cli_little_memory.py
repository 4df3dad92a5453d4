"""A trace that does not fit into memory is told to be large, never to be damaged."""

import resource
import subprocess
import sys

import numpy as np
import pytest

from kvtrace.schema.writer import RunWriter, new_run_id

ROWS = 8_000_000
PROGRAM = "import sys; from kvtrace.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A trace of launches that take 400 MB in memory, and more on disk than a bomb does."""
    out = tmp_path_factory.mktemp("large") / "out"
    run_id = new_run_id()
    writer = RunWriter(str(out), run_id)
    times = np.cumsum(np.random.default_rng(1).integers(1, 1 << 40, ROWS)) % (1 << 62)
    columns = {"seq": np.arange(ROWS), "call_id": np.zeros(ROWS, np.int64)}
    writer.append("launches", columns | {"enter": times, "exit": times + 500})
    writer.seal({"run_id": run_id})
    return out


@pytest.mark.process
@pytest.mark.night("writes eight million launches; test_cli_row_bombs.py refuses too large files")
def test_too_little_memory_is_reported_in_a_sentence(large, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "convert", "csv", str(large), "-o", str(tmp_path / "csv")],
        env={"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"},
        preexec_fn=limit, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("kvtrace: the machine has not enough memory; ")
    assert len(done.stderr.splitlines()) == 1
