"""`kvtrace.capture` is a function for users and a folder for us, whichever is imported first."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

USE = "with kvtrace.capture(sys.argv[1]) as session: assert session is not None"


@pytest.mark.process
@pytest.mark.parametrize(
    "first", ["import kvtrace", "import kvtrace.capture.session", "from kvtrace import start"]
)
def test_capture_can_be_called_after_any_import(first, tmp_path):
    program = (
        f"import sys\n{first}\nimport kvtrace\n{USE}\n{USE}\nimport kvtrace.capture.api\n{USE}"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
