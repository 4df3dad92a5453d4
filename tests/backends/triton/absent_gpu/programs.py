"""Starts small programs that ask for a GPU as libraries do, on a machine without one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.triton_versions import ROOT
from tests.support.warm_python import warm_python

#: A kernel that programs below launch.
KERNEL = """
import triton, triton.language as tl

@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, lanes < n) + 1, lanes < n)
"""


class Ended(NamedTuple):
    """What a program printed as JSON, what it said, and how it ended."""

    seen: Any
    told: list[str]
    errors: str
    code: int


def run(folder: Path, text: str, *, fresh: bool = False, **variables: str) -> Ended:
    """Run a program that fills a dictionary `seen`, recording unless KVTRACE is empty.

    fresh: torch is imported after kvtrace, and not before.
    """
    script = folder / "program.py"
    script.write_text(f"import json\nseen = {{}}\n{text}\nprint(json.dumps(seen))\n")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")},
        "KVTRACE": str(folder / "out"),
        "KVTRACE_COMPILE": "ttir",
        "TRITON_CACHE_DIR": str(folder / "cache"),
        "XDG_CACHE_HOME": str(folder / "home"),
        "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))),
    } | variables
    if fresh:
        done = subprocess.run(
            [sys.executable, str(script)], env=environment, cwd=folder, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
    else:
        done = warm_python().run(script, folder=folder, environment=environment, timeout=300)
    seen = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
    lines = [line for line in done.stderr.splitlines() if line.startswith("kvtrace:")]
    told = [line for line in lines if "no kernel was launched" not in line]  # few of them do
    return Ended(seen, told, done.stderr, done.returncode)
