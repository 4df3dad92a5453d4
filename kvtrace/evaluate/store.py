"""The cache on disk: what was worked out for a kernel, found again by the next process.

`KVTRACE_CACHE` names its folder, 0 turns it off; else it is `kvtrace` in $XDG_CACHE_HOME or
~/.cache, on Windows in %LOCALAPPDATA%. Whatever cannot be read is not there: a cache never fails.

An entry is plain data (tuples, strings, numbers, bytes, code) in Python's marshal format behind its
SHA-256. It is found by a hash of what it was made from, of the versions of kvtrace, Python and
NumPy, and, in a checkout, of when the evaluator's files changed. marshal is not safe against
somebody who writes what we read, and code is code: so the folder counts only if it is the user's
own and nobody else may write to it, as with __pycache__. The hash is for what is damaged.
"""

from __future__ import annotations

import atexit
import hashlib
import marshal
import os
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from kvtrace import __version__
from kvtrace.forks import Lock

FORMAT = 1
"""Raised when entries of an earlier kvtrace of the same version mean something else."""

MOST_BYTES = 128 << 20
"""How large the folder may get; then what was not used for longest goes, down to three quarters."""

_MOST_ENTRY_BYTES = 16 << 20
_MOST_REMEMBERED = 128
_MOST_PENDING = 64
_PENDING_SECONDS = 5.0
_SWEEP_SECONDS = 3600.0
_DAY = 86400.0
_MAGIC = b"kvtrace\x01"
_SUFFIX = ".entry"

Plain = CodeType | tuple[Any, ...] | str | bytes | int | float | None
"""What marshal holds; of containers, tuples."""

_Key = tuple[str, bytes]
"""What kind of entry, and what it was made from."""


class Store:
    """Entries by a hash of what they were made from: in memory, and in a folder if there is one.

    Entries are made and written later (`flush`, at the latest when the process ends), so that no
    launch waits for a disk. May be used from several threads, and by several processes at once.
    """

    def __init__(self, folder: Path | None, *, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self._most_bytes = most_bytes
        self._lock = Lock(taken=True)
        self._remembered: dict[_Key, Plain] = {}
        self._pending: dict[_Key, Callable[[], Plain]] = {}
        self._pending_since = 0.0
        self._began = time.time_ns()

    def get(self, kind: str, content: bytes) -> Plain:
        """Give the entry that was made from a content; None if there is none."""
        key = (kind, content)
        with self._lock:
            if key in self._remembered:
                found = self._remembered[key] = self._remembered.pop(key)  # latest last
                return found
            make = self._pending.get(key)
        if make is not None:
            try:
                return make()
            except ValueError:
                return None  # no entry can be made of it, as `put` says
        if self.folder is None or not self.folder.is_dir():
            return None
        entry = _read(self.folder, _key(kind, content))
        if entry is not None:
            self._remember(key, entry)
        return entry

    def put(self, kind: str, content: bytes, make: Callable[[], Plain]) -> None:
        """Have an entry made and written, later. What `make` raises must be a ValueError: no entry.

        It must give the same whenever it is called.
        """
        now = time.monotonic()
        with self._lock:
            if not self._pending:
                self._pending_since = now
            self._pending[kind, content] = make
            late = now - self._pending_since > _PENDING_SECONDS
            due = late or len(self._pending) >= _MOST_PENDING
        if due:
            self.flush()

    def flush(self) -> None:
        """Write what is pending."""
        with self._lock:
            pending, self._pending = self._pending, {}
        if not pending:
            return
        usable = self.folder is not None and _is_ours(self.folder, make=True)
        if _changed_at() > self._began:  # what is pending was made by other code
            usable = False
        written = 0
        for key, make in pending.items():
            try:
                entry = make()
                size = _write(self.folder, _key(*key), entry) if usable and self.folder else 0
            except ValueError:  # what marshal cannot hold is not kept
                continue
            except OSError:  # a full disk, a folder that went away: the others would fail too
                usable = False
                continue
            written += size
            self._remember(key, entry)
        if written and self.folder is not None:
            _sweep(self.folder, self._most_bytes, now=time.time(), written=written)

    def forget(self) -> None:
        """Drop what is held in memory, what is pending too."""
        with self._lock:
            self._remembered.clear()
            self._pending.clear()

    def begin_in_child(self) -> None:
        """After a fork: the parent writes what is pending."""
        self._pending = {}

    def _remember(self, key: _Key, entry: Plain) -> None:
        with self._lock:
            self._remembered[key] = entry
            while len(self._remembered) > _MOST_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]


@lru_cache(maxsize=1)
def store() -> Store:
    """Give the store of this process, at the place that the environment says."""
    made = Store(_folder())
    atexit.register(made.flush)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made.begin_in_child)
    return made


def _folder() -> Path | None:
    asked = os.environ.get("KVTRACE_CACHE", "")
    if asked.lower() in ("0", "off", "no", "false"):
        return None
    if asked:
        return Path(asked)
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    if base and Path(base).is_absolute():  # as the XDG specification demands
        return Path(base, "kvtrace")
    try:
        return Path.home() / ".cache" / "kvtrace"
    except RuntimeError:  # a user without a home
        return None


def _key(kind: str, content: bytes) -> bytes:
    return hashlib.sha256(b"%s\0%s\0%s" % (_stamp(), kind.encode(), content)).digest()


@lru_cache(maxsize=1)
def _stamp() -> bytes:
    """Say what decides how entries are made and read, other than what they are made from."""
    facts = [FORMAT, __version__, sys.implementation.cache_tag, sys.hexversion, sys.byteorder]
    return repr([*facts, np.__version__, _changed_at()]).encode()


def _changed_at() -> int:
    """When the latest of our files changed, in a checkout; 0 where the version says it all."""
    here = Path(__file__).parent
    package = here.parent
    if not (package.parent / "pyproject.toml").is_file():
        return 0
    latest = 0
    folders = [str(here), str(package / "ir")]
    while folders:
        with os.scandir(folders.pop()) as listing:
            for found in listing:
                if found.name.endswith(".py"):
                    latest = max(latest, found.stat().st_mtime_ns)
                elif "." not in found.name and found.name != "__pycache__":
                    folders.append(found.path)
    return latest


def _is_ours(folder: Path, *, make: bool = False) -> bool:
    """Tell whether a folder is there, the user's own, and closed to writing by others."""
    if make:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
    try:
        facts = folder.stat()
    except OSError:
        return False
    if not hasattr(os, "geteuid"):  # Windows: folders of a user's profile are closed to others
        return folder.is_dir()
    return folder.is_dir() and facts.st_uid == os.geteuid() and not facts.st_mode & 0o022


def _path(folder: Path, key: bytes) -> Path:
    return folder / (key.hex() + _SUFFIX)


def _read(folder: Path, key: bytes) -> Plain:
    path = _path(folder, key)
    try:
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            if facts.st_size > _MOST_ENTRY_BYTES or not _is_ours(folder):
                return None
            text = file.read()
    except OSError:
        return None
    head = len(_MAGIC) + hashlib.sha256().digest_size
    if text[:head] != _MAGIC + hashlib.sha256(key + text[head:]).digest():
        return None  # damaged, foreign, or put under another name
    if time.time() - facts.st_mtime > _DAY:
        _touch(path)
    try:
        entry: Plain = marshal.loads(memoryview(text)[head:])  # noqa: S302  see the module's text
    except (EOFError, ValueError, TypeError):
        return None
    return entry


def _touch(path: Path) -> None:
    """Note that an entry is used still."""
    try:
        os.utime(path)
    except OSError:
        return  # a folder that may only be read: nobody sweeps it either


def _write(folder: Path, key: bytes, entry: Plain) -> int:
    """Write an entry, whole or not at all; give its size."""
    data = marshal.dumps(entry)
    if len(data) > _MOST_ENTRY_BYTES:
        return 0
    text = _MAGIC + hashlib.sha256(key + data).digest() + data
    part = folder / f".{key.hex()[:16]}-{os.getpid():x}-{os.urandom(4).hex()}.part"
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        part.replace(_path(folder, key))
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return len(text)


def _sweep(folder: Path, most_bytes: int, *, now: float, written: int) -> None:
    """Remove what was not used for longest, where there is too much; looked at now and then."""
    mark = folder / ".swept"
    try:
        if written * 8 < most_bytes and now - mark.stat().st_mtime < _SWEEP_SECONDS:
            return
    except OSError:
        pass  # never swept
    try:
        mark.touch(mode=0o600)
        with os.scandir(folder) as listing:
            files = [(found.stat(follow_symlinks=False), found.path) for found in listing]
        total = sum(facts.st_size for facts, _ in files)
        goal = most_bytes * 3 // 4 if total > most_bytes else total
        for facts, path in sorted(files, key=lambda file: file[0].st_mtime):
            left = path.endswith(".part") and now - facts.st_mtime > _SWEEP_SECONDS
            if left or (total > goal and path.endswith(_SUFFIX)):
                Path(path).unlink(missing_ok=True)
                total -= facts.st_size
    except OSError:
        return  # another process sweeps
