"""Disassembly of recorded cubins to SASS, by `nvdisasm` or `cuobjdump`.

The program is searched on PATH, then in an installed Triton.
"""

import importlib.util
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

TOOLS: Final = ("nvdisasm", "cuobjdump")
_SECONDS: Final = 20


def disassembler() -> str | None:
    """Return the path of a program that disassembles cubins, or None if none is installed."""
    spec = importlib.util.find_spec("triton")  # does not import triton
    root = None if spec is None or spec.origin is None else Path(spec.origin).parent
    folders = [None] if root is None else [None, str(root / "backends" / "nvidia" / "bin")]
    paths = (shutil.which(tool, path=folder) for folder in folders for tool in TOOLS)
    return next(filter(None, paths), None)


@lru_cache(maxsize=32)  # a run of the program takes a third of a second
def disassembled(tool: str, cubin: bytes, *, lines: bool = False) -> str | None:
    """Return a cubin's listing, or None if the tool cannot read the cubin.

    Args:
        tool: Path of the program, as `disassembler` returns it.
        cubin: The binary.
        lines: Add comments with source lines (`nvdisasm` only).

    """
    options = ["-sass"] if Path(tool).stem == "cuobjdump" else ["-c", *(["-g"] if lines else [])]
    with TemporaryDirectory(prefix="kvtrace-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        try:
            result = subprocess.run(
                [tool, *options, str(path)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return result.stdout if result.returncode == 0 and result.stdout else None
