"""Triton's hash of its own files, cached between processes that run without a GPU.

Every key of Triton's cache begins with a hash of the compiler's sources and of libtriton, some 400
megabytes, which takes a process a quarter of a second before its first launch. The files rarely
change; while all of them have the same sizes, times and inodes, the cached hash is the one that
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
from kvtrace.capture.threads import without_size_signal

#: Files and folders that Triton hashes, and the endings of the files in these.
_HASHED: Final = ("runtime/cache.py", "compiler", "backends", "language", "_C")
_ENDINGS: Final = (".py", ".so", ".pyd", ".dylib")
#: Folders of the backends with thousands of headers and no module.
_NO_MODULES: Final = frozenset({"__pycache__", "include", "lib", "bin"})


def install() -> Replacements:
    """Make Triton use the cached key, unless it has computed one; return the replacements."""
    replaced = Replacements()
    cache: Any = sys.modules.get("triton.runtime.cache")
    compute = getattr(cache, "triton_key", None)
    if compute is None or not hasattr(compute, "cache_info") or compute.cache_info().currsize:
        return replaced
    keys: list[str] = []

    def triton_key() -> str:
        if not keys:
            keys.append(_cached_or_computed(compute))
        return keys[0]

    triton_key.__wrapped__ = compute  # type: ignore[attr-defined]
    triton_key.cache_info = compute.cache_info  # type: ignore[attr-defined]
    triton_key.cache_clear = compute.cache_clear  # type: ignore[attr-defined]
    replaced.put(cache, "triton_key", triton_key)
    return replaced


def _cached_or_computed(compute: Callable[[], str]) -> str:
    """Return the key cached for Triton's current files; without one, compute and cache it."""
    try:
        import triton

        state = fingerprint(Path(triton.__file__).parent)
        path = cache_folder() / f"triton-key-{triton.__version__}-{state}"
        cached = read_own(path)
        if cached is not None:
            return cached
    except OSError:
        return compute()
    key = compute()
    write_whole(path, key)
    return key


def fingerprint(folder: Path) -> str:
    """Return a hash of the paths, sizes, times and inodes of the files that Triton hashes."""
    lines = []
    for path in _files(folder):
        status = path.stat()
        lines.append(
            f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ctime_ns}\0{status.st_ino}"
        )
    return hashlib.sha256("\n".join(sorted(lines)).encode(errors="surrogateescape")).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for name in _HASHED:
        top = folder / name
        if top.is_file():
            yield top
        for folder_path, folders, files in os.walk(top, followlinks=True):
            folders[:] = [name for name in folders if name not in _NO_MODULES]
            yield from (Path(folder_path, file) for file in files if file.endswith(_ENDINGS))


def cache_folder() -> Path:
    """Return kvtrace's folder for data cached between processes."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvtrace"


def read_own(path: Path) -> str | None:
    """Return the text of a file that belongs to this user; None if there is no such file.

    Raises:
        OSError: the file exists and cannot be read.

    """
    try:
        with path.open(encoding="utf-8") as file:
            facts = os.fstat(file.fileno())
            owned = not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()
            return file.read() if owned and stat.S_ISREG(facts.st_mode) else None
    except (FileNotFoundError, UnicodeDecodeError):
        return None


@without_size_signal()
def write_whole(path: Path, text: str) -> None:
    """Write a file atomically; an error is ignored, and leaves no file."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file, name = tempfile.mkstemp(dir=path.parent)
    except OSError:
        return
    written = Path(name)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            stream.write(text)
        written.replace(path)
    except OSError:
        written.unlink(missing_ok=True)
