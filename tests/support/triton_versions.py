"""The versions of Triton to test with: the installed one, and those unpacked in a folder.

`KVTRACE_TEST_TRITONS` names a folder with one folder per version, each holding an unpacked Triton
(`pip install --target FOLDER/3.8.0 --no-deps triton==3.8.0`). Unset: the installed one only.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.warm_python import warm_python

INSTALLED: Final = "installed"
ROOT: Final = Path(__file__).parent.parent.parent


def versions() -> list[str]:
    folder = os.environ.get("KVTRACE_TEST_TRITONS")
    return (
        [INSTALLED, *sorted(path.name for path in Path(folder).iterdir())]
        if folder
        else [INSTALLED]
    )


def run_with(
    version: str, arguments: list[str], cache: Path, *, fresh: bool = False, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with that version of Triton and this checkout; fails with what it printed.

    fresh: in an interpreter of its own, for tests that look at every frame of a stack.
    """
    paths = [str(ROOT)]
    if version != INSTALLED:
        paths.insert(0, str(Path(os.environ["KVTRACE_TEST_TRITONS"]) / version))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "TRITON_CACHE_DIR": str(cache),
        **variables,
    }
    command = ["-W", "ignore", *arguments]
    if fresh:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=280,
        )
    else:
        done = warm_python().run(*command, folder=ROOT, environment=environment, timeout=280)
    assert done.returncode == 0, f"Triton {version}:\n{done.stdout}\n{done.stderr}"
    return done
