"""Outputs of runs without steps, which say so with the line that marks them."""

import numpy as np
import pytest

from kvtrace.cli import main
from kvtrace.schema.writer import RunWriter

MS = 1_000_000


def run_without_steps(folder, executions):
    """Write executions of kernels in random order."""
    random = np.random.default_rng(0)
    writer = RunWriter(folder, run := "20260102T030405-0001")
    begins = MS + np.arange(executions) * MS
    writer.append("gpu_kernels", {
        "record": list(range(executions)), "requested": begins.tolist(),
        "name": [f"k{number}" for number in random.integers(0, 12, executions)],
        "start": (begins + 10_000).tolist(), "end": (begins + 900_000).tolist(),
    })  # fmt: skip
    writer.seal({"run_id": run, "started": 0, "ended": 10**10, "command": "python x.py"})
    return str(folder)


@pytest.mark.parametrize("command", ["profile", "info"])
@pytest.mark.parametrize(("executions", "expected"), [(400, True), (12, False)])
def test_command_says_how_to_mark_steps(tmp_path, capsys, command, executions, expected):
    folder = run_without_steps(tmp_path / "out", executions)
    assert main([command, folder]) == 0
    text = " ".join(capsys.readouterr().out.split())
    line = 'no steps found: mark them by kvtrace.mark("step") where each begins'
    assert (line in text) == expected
    assert ("the whole run, 400 ms" in text) == expected


def test_asked_steps_are_not_there(tmp_path, capsys):
    folder = run_without_steps(tmp_path / "out", 400)
    assert main(["profile", folder, "--steps", "3"]) == 2
    assert 'mark them by kvtrace.mark("step")' in " ".join(capsys.readouterr().err.split())
