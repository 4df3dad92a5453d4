"""Triton's hash of its files, remembered between processes that run without a GPU.

Every key of Triton's cache begins with a hash of the compiler's sources and of libtriton, some 400
megabytes, which takes a process a quarter of a second before its first launch. The files rarely
change; while all of them have the sizes, times and inodes that they had, the hash is the one that
Triton computed then.
"""

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from kvtrace.backends.replacements import Replacements

#: What Triton hashes, in its folder, and what it cannot be hashed without.
_HASHED: Final = ("runtime/cache.py", "compiler", "backends", "language", "_C")
_ENDINGS: Final = (".py", ".so", ".pyd", ".dylib")
#: Folders of the backends with thousands of headers and no module.
_NO_MODULES: Final = frozenset({"__pycache__", "include", "lib", "bin"})


def install() -> Replacements:
    """Have Triton ask us for its key; nothing is replaced where it does not compute it so."""
    replaced = Replacements()
    cache: Any = sys.modules.get("triton.runtime.cache")
    compute = getattr(cache, "triton_key", None)
    if compute is None or not hasattr(compute, "cache_info") or compute.cache_info().currsize:
        return replaced
    found: list[str] = []

    def triton_key() -> str:
        if not found:
            found.append(_remembered(compute))
        return found[0]

    triton_key.__wrapped__ = compute  # type: ignore[attr-defined]
    triton_key.cache_info = compute.cache_info  # type: ignore[attr-defined]
    triton_key.cache_clear = compute.cache_clear  # type: ignore[attr-defined]
    replaced.put(cache, "triton_key", triton_key)
    return replaced


def _remembered(compute: Callable[[], str]) -> str:
    """Return the key that was computed when all files were as they are, else compute it."""
    try:
        import triton

        state = fingerprint(Path(triton.__file__).parent)
        path = cache_folder() / f"triton-key-{triton.__version__}-{state}"
        remembered = read_own(path)
        if remembered is not None:
            return remembered
    except OSError:
        return compute()
    key = compute()
    write_whole(path, key)
    return key


def fingerprint(folder: Path) -> str:
    """Hash which files Triton's key is made of, and their sizes, times and inodes."""
    lines = []
    for path in _files(folder):
        facts = path.stat()
        lines.append(
            f"{path}\0{facts.st_size}\0{facts.st_mtime_ns}\0{facts.st_ctime_ns}\0{facts.st_ino}"
        )
    return hashlib.sha256("\n".join(sorted(lines)).encode(errors="surrogateescape")).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for name in _HASHED:
        top = folder / name
        if top.is_file():
            yield top
        for place, folders, files in os.walk(top, followlinks=True):
            folders[:] = [each for each in folders if each not in _NO_MODULES]
            yield from (Path(place, each) for each in files if each.endswith(_ENDINGS))


def cache_folder() -> Path:
    """Return the folder of what is remembered between processes."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvtrace"


def read_own(path: Path) -> str | None:
    """Return the text of a file that this user wrote; None where there is none.

    Raises:
        OSError: it is there and cannot be read.

    """
    try:
        with path.open(encoding="utf-8") as file:
            facts = os.fstat(file.fileno())
            owned = not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()
            return file.read() if owned and stat.S_ISREG(facts.st_mode) else None
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def write_whole(path: Path, text: str) -> None:
    """Write a file in one step; where that cannot be, the next process makes its text again."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, delete=False
        ) as file:
            file.write(text)
        Path(file.name).replace(path)
    except OSError:
        return
