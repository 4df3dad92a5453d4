"""What an installed kvtrace can do: `python tests/packaging/check_wheel.py native` (or `pure`).

A program and no test, so that it needs kvtrace and its dependencies alone, and of the checkout no
more than a trace. Workflows run it with each wheel, on each system and Python that it is for.
Ends with 1 at the first thing that is not as it should be.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

import kvtrace

TRACE = Path(__file__).resolve().parents[1] / "fixtures" / "missing_mask"
GRAPHS = """
import numpy as np
from kvtrace.hlo import trace

@trace
def double(x):
    return x * 2

double(np.ones(8, np.float32))
"""


def kvtrace_command(*arguments: str, folder: Path, code: int = 0) -> str:
    """What the installed command prints."""
    name = "kvtrace.exe" if os.name == "nt" else "kvtrace"
    command = [str(Path(sysconfig.get_path("scripts")) / name), *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8",
        env=os.environ | {"PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    print("ok:", "kvtrace", *arguments[:2])
    return done.stdout


def check_reading(folder: Path) -> None:
    """A trace that was recorded elsewhere is read, judged, replayed, and made into other files."""
    shutil.copytree(TRACE, folder / "out")
    shutil.copytree(TRACE, folder / "again")
    assert "double" in kvtrace_command("info", "out", folder=folder)
    kvtrace_command("trace", "validate", "out", folder=folder)
    found = kvtrace_command("sanitize", "out", code=1, folder=folder)
    assert "error[out-of-bounds]: load ends 4 bytes past the end of source" in found, found
    assert "1 of 1 unique calls" in kvtrace_command("replay", "out", folder=folder)
    assert "double" in kvtrace_command("profile", "out", folder=folder)
    assert "double" in kvtrace_command("sql", "out", "SELECT name FROM kernels", folder=folder)
    for name, *command in (
        ("page.html", "report", "out"),
        ("out.perfetto-trace", "convert", "perfetto", "out"),
        ("out.json", "convert", "chrome", "out"),
    ):
        kvtrace_command(*command, "-o", name, folder=folder)
        assert (folder / name).stat().st_size > 1000
    kvtrace_command("diff", "out", "again", folder=folder)
    rules = {row["rule"] for row in kvtrace.open(folder / "out").findings}
    assert "out-of-bounds" in rules, rules


def check_recording(folder: Path) -> None:
    """Linux records, by the variable alone; other systems say in a sentence that they do not."""
    (folder / "graphs.py").write_text(GRAPHS)
    done = subprocess.run(
        [sys.executable, "graphs.py"], cwd=folder, env=os.environ | {"KVTRACE": "recorded"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if sys.platform == "linux":
        assert "1 launch" in kvtrace_command("info", "recorded", folder=folder)
    else:
        assert "recording works on Linux only" in done.stderr, done.stderr
        assert not (folder / "recorded").exists()


def main(kind: str) -> None:
    """Check the kvtrace that this Python has; `kind` is `native` or `pure`."""
    assert Path(kvtrace.__file__).is_relative_to(sysconfig.get_path("platlib")), kvtrace.__file__
    native = [find_spec(f"kvtrace.{name}") for name in ("capture._hot", "backends.cupti._buffers")]
    assert all(native) if kind == "native" else not any(native), native
    with tempfile.TemporaryDirectory() as folder:
        check_reading(Path(folder))
        check_recording(Path(folder))
    print(f"kvtrace {kvtrace.__version__} works on {sys.platform}, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["native"])
