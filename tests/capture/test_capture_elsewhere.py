"""What a program is told that asks to be recorded on another system than Linux."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ELSEWHERE = "recording works on Linux only; here traces can be read, replayed and reported"

PROGRAM = """
import sys
import kvtrace
from kvtrace.capture import api
from kvtrace.schema.errors import RecordingUnavailable

sys.platform = {system!r}
kvtrace.mark("an instant")
with kvtrace.mark("a range"):
    pass
for record in (kvtrace.start, lambda folder: kvtrace.capture(folder).__enter__()):
    try:
        record("asked")
    except RecordingUnavailable as error:
        print(error)
kvtrace.stop()
"""


@pytest.mark.process
@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_nothing_is_recorded_off_linux_and_one_sentence_says_so(system, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import kvtrace._boot\n" + PROGRAM.format(system=system)],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "KVTRACE": "by_variable"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [ELSEWHERE, ELSEWHERE]
    assert done.stderr.splitlines() == [f"kvtrace: {ELSEWHERE}"]
    assert list(tmp_path.iterdir()) == []
