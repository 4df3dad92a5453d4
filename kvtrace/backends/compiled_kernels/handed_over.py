"""Compilations by Inductor's worker processes, handed to the process that they compile for.

`torch.compile` has kernels compiled in worker processes, which launch nothing and so record
nothing. With the variable `KVTRACE` set they observe their compilations as every process does; here
they leave what they observed in a file each, `out/.compilations/PID/HASH.json`, where PID is the
process that they work for. That one takes it when it records the kernel, and removes the rest in
the end.
"""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from kvtrace.backends.compiled_kernels.kernel_records import Compilation

_FOLDER: Final = ".compilations"
#: What Inductor's workers run, and how they learn whom they work for (torch 2.7 and newer).
_WORKER: Final = ("compile_worker", "__main__.py")
_PARENT: Final = "--parent="


def works_for(arguments: Sequence[str]) -> int | None:
    """Whom this process compiles for, by its command line; None if it is not a worker."""
    file = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    if Path(file).parts[-2:] != _WORKER:
        return None
    told = next((word[len(_PARENT) :] for word in arguments if word.startswith(_PARENT)), "")
    return int(told) if told.isdecimal() else None


def hand_over(out: str, process: int, cache_key: str, compilation: Compilation) -> None:
    """Leave a compilation for a process; OSError if it cannot be written."""
    folder = Path(out, _FOLDER, str(process))
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{cache_key}.{os.getpid()}"
    unfinished.write_text(json.dumps(asdict(compilation)))
    unfinished.replace(_file(folder, cache_key))


def take(out: str, cache_key: str) -> Compilation | None:
    """Take what a worker of this process left of the kernel with that hash, if one did."""
    file = _file(Path(out, _FOLDER, str(os.getpid())), cache_key)
    try:
        found = json.loads(file.read_text())
        file.unlink()
        stages = tuple((str(name), int(taken)) for name, taken in found.pop("stages"))
        return Compilation(stages=stages, **found)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none is there, or another version's: the kernel is recorded without it


def clear(out: str) -> None:
    """Remove what was left for this process and not taken."""
    folder = Path(out, _FOLDER)
    shutil.rmtree(folder / str(os.getpid()), ignore_errors=True)
    try:
        folder.rmdir()
    except OSError:
        return  # there is none, or other processes have theirs in it


def _file(folder: Path, cache_key: str) -> Path:
    return folder / f"{cache_key}.json"
