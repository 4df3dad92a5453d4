"""Recording leaves pandas alone, which pyarrow would import into the program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.schema.trace import open_trace

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
PANDAS = 'raise RuntimeError("somebody imports pandas")\n'
PROGRAM = """
import sys, time
import kvtrace
from tests.capture.killed_program import launch_new_kernels

session = kvtrace.start(sys.argv[1])
call_of = launch_new_kernels(session)
calls = [call_of(number) for number in range(5)]
for number in range(300):
    with kvtrace.mark("step"):
        now = time.time_ns()
        session.add_launch(calls[number % 5], now, now + 1)
    if number == 200:
        session.flush()
kvtrace.stop()
"""


@pytest.mark.parametrize(
    ("limits", "launches"),
    [
        ({}, 300),
        ({"SAMPLE": "1/10"}, 44),
        ({"LIMIT": "100 launches"}, 100),
        ({"LIMIT": "ring:1MB"}, 300),
    ],
)
def test_no_recording_imports_it(limits, launches, tmp_path):
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas" / "__init__.py").write_text(PANDAS)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    environment |= {f"KVTRACE_{name}": text for name, text in limits.items()}

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "out"], env=environment, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "pandas" not in done.stderr
    assert open_trace(tmp_path / "out").table("launches").num_rows == launches
