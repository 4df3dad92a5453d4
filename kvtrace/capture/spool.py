"""Spool of a run: two files with records that the journal has not written yet (`_hot_spool.h`).

A process that is killed soon after its first launch, or between two rounds of the journal, leaves
its launches in the spool, which `kvtrace.schema.spooled` reads.
"""

import fcntl
import json
import os
import shutil
import time
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kvtrace.capture.hot import Recorder
from kvtrace.schema.content import UNKNOWN, Producer, content_hash
from kvtrace.schema.layout import first_run_id
from kvtrace.schema.spool import PLACE_BYTES, PLACE_OFFSET, memory_path, spool_folder

#: Larger artifacts, such as binaries with debug information, are left to the journal.
_ARTIFACT_BYTES: Final = 4 << 20
#: What killed runs left in memory waits this long for `kvtrace trace recover`: a week.
_KEPT_NS: Final = 7 * 24 * 3600 * 10**9
#: The same where the run's folder was deleted, or moved, which cannot be told apart: a day.
MOVED_KEPT_NS: Final = 24 * 3600 * 10**9
#: Most bytes that killed runs leave in memory together.
KEPT_BYTES: Final = 256 << 20
#: Values that JSON does not know become text, which the reader refuses if it does not fit.
_encoded: Final = json.JSONEncoder(default=str, skipkeys=True).encode


class Spool:
    """The spool of one run. Methods may be called from any thread; a thread in C writes the files.

    If no file can be made, all methods do nothing.
    """

    def __init__(self, recorder: Recorder, out: str, run_id: str, run: Mapping[str, Any]) -> None:
        """Begin to spool the recorder's launches; `run` is the first record, a row of `runs`."""
        self._folder = spool_folder(Path(os.path.abspath(out)), run_id)  # noqa: PTH100 - not resolved
        self._memory = memory_path(run_id)
        folder, memory = os.fsencode(self._folder), os.fsencode(self._memory)
        words = folder, memory, _place_of(folder), _frame("runs", run)
        self._native = recorder if recorder.spool_begin(*words) else None
        #: A round has switched files, and the journal does not have all of the former file yet.
        self.switched = False
        self._artifacts: set[str] = set()

    @property
    def is_written(self) -> bool:
        """There are files to write to."""
        return self._native is not None

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        """Add a row of a table, which may lack columns; the journal's row replaces it."""
        if self._native is not None:
            self._native.spool_add(_frame(table, row))

    def add_artifact(
        self, kind: str, content: bytes, producer: Producer = UNKNOWN, digest: str | None = None
    ) -> str:
        """Add an artifact, whose content the journal has yet to compress; return its SHA-256.

        One that was added before is in a file still, or in the journal. `digest` is the SHA-256 if
        it is known.
        """
        digest = digest or content_hash(content)
        is_new = digest not in self._artifacts
        if self._native is not None and is_new and len(content) <= _ARTIFACT_BYTES:
            self._artifacts.add(digest)
            encoded = b64encode(content).decode()
            row = {"sha256": digest, "kind": kind, "content": encoded, "producer": producer}
            self.add("artifacts", row)
        return digest

    def write(self) -> None:
        """Return once all that was added outlives the process, or after 20 ms on a slow disk."""
        if self._native is not None:
            self._native.spool_write()

    def switch(self) -> None:
        """Begin to write to the second of the two files; call `empty` before the next switch."""
        self.switched = True
        if self._native is not None:
            self._native.spool_switch()

    def empty(self) -> None:
        """Empty the file that was written before the switch; the journal has its records."""
        self.switched = False
        if self._native is not None:
            self._native.spool_empty()

    def end(self) -> None:
        """Write waiting records and close the files, which are deleted with the journal."""
        if self._native is not None:
            self._native.spool_end()
        self._native = None

    def remove(self) -> None:
        """Remove the files of an ended spool whose run has no journal."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._memory.unlink(missing_ok=True)


def remove_useless_memories(moved_kept_ns: int = MOVED_KEPT_NS) -> None:
    """Remove the memory of dead processes that `kvtrace trace recover` has no more use for.

    That is what runs left that were killed a week ago, or `moved_kept_ns` ago if the spool's folder
    is not where it was: it may have been moved. Of more than `KEPT_BYTES` the oldest goes.
    """
    now, kept_bytes = time.time_ns(), 0
    oldest, oldest_moved = (
        memory_path(first_run_id(now - ns)).name for ns in (_KEPT_NS, moved_kept_ns)
    )
    for memory, is_moved in reversed(dead_memories()):
        with suppress(OSError):
            # Not its size: most of the memory was never written, and so takes no place.
            kept_bytes += memory.stat().st_blocks * 512
            is_old = memory.name < (oldest_moved if is_moved else oldest)
            if is_old or kept_bytes > KEPT_BYTES:
                memory.unlink()


def dead_memories() -> list[tuple[Path, bool]]:
    """Return the memory of dead processes, oldest first, and whether its folder is elsewhere now.

    Not elsewhere, if that is not known: of another container, or another user.
    """
    found: list[tuple[Path, bool]] = []
    begin = memory_path("")
    with suppress(OSError):  # all file descriptors are in use
        # Not by `glob`, whose first use imports from Python 3.15 on: a program may refuse imports.
        memories = [path for path in begin.parent.iterdir() if path.name.startswith(begin.name)]
        for memory in sorted(memories):
            with suppress(OSError), memory.open("rb") as file:  # another user's, or a living one's
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.seek(PLACE_OFFSET)
                place = file.read(PLACE_BYTES).rstrip(b"\0")
                folder = place.partition(b"\n")[2]
                is_here = bool(place) and place == _place_of(folder)
                found.append((memory, is_here and not Path(os.fsdecode(folder)).exists()))
    return found


def _place_of(folder: bytes) -> bytes:
    """Return a spool's folder after the mount namespace that has it; b"" if it is not known."""
    try:
        namespace = os.readlink("/proc/self/ns/mnt")  # noqa: PTH115
    except OSError:  # without /proc, as within walls: another process cannot tell the folder either
        return b""
    place = os.fsencode(namespace) + b"\n" + folder
    return place if len(place) < PLACE_BYTES else b""


def _frame(table: str, row: Mapping[str, Any]) -> bytes:
    return _encoded((table, row)).encode()
