"""Compilations by Inductor's worker processes, passed to the process that they compile for.

`torch.compile` compiles kernels in worker processes, which launch nothing and so record nothing.
With the variable `KVTRACE` set, workers observe their compilations as every process does, and write
each to a file, `out/.compilations/PID/HASH.json`, where PID is the parent process. The parent reads
the file when it records the kernel, and deletes the remaining files at its end.
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
#: Script of Inductor's workers, and the option with the parent's pid (torch 2.7 and newer).
_WORKER: Final = ("compile_worker", "__main__.py")
_PARENT: Final = "--parent="


def compiles_for(arguments: Sequence[str]) -> int | None:
    """Return the parent's pid if this process is a compile worker of Inductor's, else None."""
    file = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    if Path(file).parts[-2:] != _WORKER:
        return None
    pid = next((word[len(_PARENT) :] for word in arguments if word.startswith(_PARENT)), "")
    return int(pid) if pid.isdecimal() else None


def hand_over(out: str, process: int, cache_key: str, compilation: Compilation) -> None:
    """Write a compilation to a file, which the process with that pid reads; OSError on failure."""
    folder = Path(out, _FOLDER, str(process))
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{cache_key}.{os.getpid()}"
    unfinished.write_text(json.dumps(asdict(compilation)))
    unfinished.replace(_file(folder, cache_key))


def take(out: str, cache_key: str) -> Compilation | None:
    """Return a worker's compilation by kernel hash, and delete its file; None without a file."""
    file = _file(Path(out, _FOLDER, str(os.getpid())), cache_key)
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
        file.unlink()
        stages = tuple((str(name), int(ns)) for name, ns in fields.pop("stages"))
        return Compilation(stages=stages, **fields)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # no file, or another version's: the kernel is recorded without it


def clear(out: str) -> None:
    """Delete the files that workers wrote for this process and `take` did not read."""
    folder = Path(out, _FOLDER)
    shutil.rmtree(folder / str(os.getpid()), ignore_errors=True)
    try:
        folder.rmdir()
    except OSError:
        return  # there is no folder, or other processes have files there


def _file(folder: Path, cache_key: str) -> Path:
    return folder / f"{cache_key}.json"
