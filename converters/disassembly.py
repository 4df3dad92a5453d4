"""SASS: what a recorded cubin says, by `nvdisasm` or `cuobjdump`.

One on PATH is used, else the one that an installed Triton brings.
"""

import importlib.util
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

TOOLS: Final = ("nvdisasm", "cuobjdump")
_SECONDS: Final = 20


def disassembler() -> str | None:
    """Return the program that disassembles cubins; None where none is found."""
    spec = importlib.util.find_spec("triton")  # which imports nothing
    root = None if spec is None or spec.origin is None else Path(spec.origin).parent
    folders = [None] if root is None else [None, str(root / "backends" / "nvidia" / "bin")]
    found = (shutil.which(tool, path=folder) for folder in folders for tool in TOOLS)
    return next(filter(None, found), None)


def disassembled(tool: str, cubin: bytes, *, lines: bool = False) -> str | None:
    """Return a cubin's listing; None where the tool cannot read it.

    Args:
        tool: What `disassembler` found.
        cubin: The binary.
        lines: Whether comments tell source lines, which `cuobjdump` cannot.

    """
    options = ["-sass"] if Path(tool).stem == "cuobjdump" else ["-c", *(["-g"] if lines else [])]
    with TemporaryDirectory(prefix="kvtrace-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        try:
            done = subprocess.run(
                [tool, *options, str(path)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return done.stdout if done.returncode == 0 and done.stdout else None
