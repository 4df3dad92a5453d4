"""Fresh memory of recorded programs, filled as the environment asks."""

import os
import subprocess
import sys

import pytest

from kvtrace.addons.memory.fresh_memory import FILL

pytest.importorskip("triton")
pytestmark = pytest.mark.process

PROGRAM = """
import torch
y = torch.ones(100, device="cuda").new_empty(100)
count = torch.empty(100, dtype=torch.int32, device="cuda")
flags = torch.empty(100, dtype=torch.bool, device="cuda")
print(bool(y.isnan().all()), bool((count == 2**31 - 1).all()), bool(flags.all()))
print(bool((y == 0).all()), bool((count == 0).all()), bool((~flags).all()))
"""


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("nan", ["True True True", "False False False"]),
        ("zero", ["False False False", "True True True"]),
    ],
)
def test_fresh_memory_is_filled(tmp_path, how, expected):
    assert filled(tmp_path, how) == expected


@pytest.mark.parametrize(("line", "filled_one"), [(3, 0), (4, 1)])
def test_only_the_memory_of_a_line_is_filled(tmp_path, line, filled_one):
    are_filled = filled(tmp_path, f"nan@prog.py:{line}")[0].split()
    assert are_filled[filled_one] == "True"
    assert (
        are_filled[1 - filled_one] == "False"
    )  # not a hundred NaNs, or largest numbers, by chance


def filled(tmp_path, how):
    program = tmp_path / "prog.py"
    program.write_text(PROGRAM, encoding="utf-8")
    environment = os.environ | {
        "KVTRACE": str(tmp_path / "out"), "KVTRACE_DEVICE": "cpu", FILL: how,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, timeout=100,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
