"""The versions of Triton to test with: the installed one, and those unpacked in a folder.

`KVTRACE_TEST_TRITONS` names a folder with one folder per version, each holding an unpacked Triton
(`pip install --target FOLDER/3.8.0 --no-deps triton==3.8.0`). Unset: the installed one only, which
`requirements/bounds.py` varies.

A test that needs something of a version is marked `@since(3, 7, "squeeze")` or
`@before(3, 9, "block pointers")`; of cases, `missing_for` says what the installed Triton lacks.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.warm_python import warm_python

INSTALLED: Final = "installed"
ROOT: Final = Path(__file__).parent.parent.parent


def _installed() -> tuple[int, int]:
    try:
        found = re.match(r"(\d+)\.(\d+)", version("triton"))
    except PackageNotFoundError:
        return (0, 0)
    return (int(found[1]), int(found[2])) if found else (0, 0)


#: Major and minor version of the installed Triton; (0, 0) if there is none.
TRITON: Final = _installed()


def since(major: int, minor: int, what: str) -> pytest.MarkDecorator:
    """Skip a test where Triton is older and does not have what it needs."""
    reason = f"Triton has {what} from {major}.{minor} on, not in {_text()}"
    return pytest.mark.skipif((major, minor) > TRITON, reason=reason)


def before(major: int, minor: int, what: str) -> pytest.MarkDecorator:
    """Skip a test where Triton is that version or newer and no longer has what it needs."""
    reason = f"Triton has {what} before {major}.{minor}, not in {_text()}"
    return pytest.mark.skipif((major, minor) <= TRITON, reason=reason)


def missing_for(kernel: Any, constants: Mapping[str, Any]) -> str:
    """Say what a kernel needs that the installed Triton lacks; empty if that is nothing."""
    needed = (
        (before(3, 9, "block pointers"), "make_block_ptr" in kernel.src),
        (since(3, 6, "bf16x3 and bf16x6"), not {"bf16x3", "bf16x6"}.isdisjoint(constants.values())),
    )
    lacking = (mark for mark, is_needed in needed if is_needed and mark.args[0])
    return "; ".join(mark.kwargs["reason"] for mark in lacking)


def _text() -> str:
    return ".".join(map(str, TRITON))


def versions() -> list[str]:
    folder = os.environ.get("KVTRACE_TEST_TRITONS")
    return (
        [INSTALLED, *sorted(path.name for path in Path(folder).iterdir())]
        if folder
        else [INSTALLED]
    )


def run_with(
    version: str,
    arguments: list[str],
    cache: Path,
    *,
    fresh: bool = False,
    seconds: int = 280,
    **variables: str,
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
            timeout=seconds,
        )
    else:
        done = warm_python().run(*command, folder=ROOT, environment=environment, timeout=seconds)
    assert done.returncode == 0, f"Triton {version}:\n{done.stdout}\n{done.stderr}"
    return done
